/** The first fault of a JSON text. `reason` continues a sentence such as "The inventory cannot be read: …". */
interface JsonFault {
  readonly offset: number;
  readonly reason: string;
}

export interface JsonElementOffsets {
  /** The offsets at which the elements of the outermost array start. */
  readonly elementOffsets: readonly number[];
  readonly fault: JsonFault | undefined;
}

type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing';

const INVALID = 'it is not valid JSON';
const UNFINISHED_TEXT = 'a text has no end, or contains a line end or an invalid escape sequence';
const SPACES = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/**
 * Scans a JSON text in one loop without recursion. It finds positions, which `JSON.parse` reports only for some faults, and faults of nesting,
 * which must not reach a recursive function.
 */
export function locateJsonElements(text: string, maxDepth: number): JsonElementOffsets {
  const elementOffsets: number[] = [];
  const closers: string[] = [];
  let expected = 'value' as Expected;
  let offset = 0;
  let lastSeparator = '';
  const scan = (fault?: string): JsonElementOffsets => ({
    elementOffsets,
    fault: fault === undefined ? undefined : { offset, reason: fault },
  });
  const endValue = (end: number): void => {
    offset = end;
    expected = closers.length === 0 ? 'nothing' : 'comma-or-end';
  };
  for (;;) {
    offset = matchEnd(SPACES, text, offset) ?? offset;
    const character = text[offset];
    const isKey = expected === 'key' || expected === 'key-or-end';
    if (character === undefined) return scan(expected === 'nothing' ? undefined : 'it ends too early');
    if (character === ']' || character === '}') {
      const isClosing = character === closers.at(-1);
      if (isClosing && (expected === 'value' || expected === 'key') && lastSeparator === ',')
        return scan(`a comma precedes ${character}; remove the comma`);
      if (!isClosing || !expected.endsWith('-or-end')) return scan(INVALID);
      closers.pop();
      endValue(offset + 1);
    } else if (expected === 'comma-or-end' || expected === 'colon') {
      const separator = expected === 'colon' ? ':' : ',';
      if (character !== separator) return scan(INVALID);
      lastSeparator = separator;
      expected = separator === ',' && closers.at(-1) === '}' ? 'key' : 'value';
      offset++;
    } else if (expected === 'nothing') return scan(INVALID);
    else if (character === "'") return scan('it uses single quotation marks; use double quotation marks');
    else if (isKey) {
      const end = character === '"' ? findStringEnd(text, offset + 1) : undefined;
      if (end === undefined) return scan(character === '"' ? UNFINISHED_TEXT : INVALID);
      offset = end;
      expected = 'colon';
    } else {
      if (closers.length === 1 && closers[0] === ']') elementOffsets.push(offset);
      if (character === '[' || character === '{') {
        if (closers.push(character === '[' ? ']' : '}') > maxDepth) return scan(`it is nested deeper than ${maxDepth} levels`);
        expected = character === '[' ? 'value-or-end' : 'key-or-end';
        offset++;
        continue;
      }
      const isText = character === '"';
      const end = isText ? findStringEnd(text, offset + 1) : (matchEnd(NUMBER, text, offset) ?? matchEnd(WORD, text, offset));
      if (end === undefined) return scan(isText ? UNFINISHED_TEXT : INVALID);
      endValue(end);
    }
  }
}

/** The line of an offset, starting at 1, and its column. */
export function toLineAndColumn(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', end + 1)) {
    line++;
    lineStart = end + 1;
  }
  return { line, column: offset - lineStart + 1 };
}

function matchEnd(pattern: RegExp, text: string, offset: number): number | undefined {
  pattern.lastIndex = offset;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** A loop in place of a regular expression, which would need stack for each character of a long text. */
function findStringEnd(text: string, start: number): number | undefined {
  for (let offset = start; offset < text.length; offset++) {
    const code = text.charCodeAt(offset);
    if (code === 0x22) return offset + 1;
    if (code < 0x20) return undefined;
    if (code !== 0x5c) continue;
    offset++;
    if (text[offset] === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(offset + 1, offset + 5))) offset += 4;
    else if (!'"\\/bfnrt'.includes(text[offset] ?? ' ')) return undefined;
  }
  return undefined;
}
