import { MalformedContentError } from './malformed-content-error';

const [QUOTE, APOSTROPHE, LESS, GREATER, OPENING, CLOSING] = [0x22, 0x27, 0x3c, 0x3e, 0x5b, 0x5d];

/**
 * Reads a document type declaration in one pass. Returns undefined when it is incomplete. `mayDeclareEntities` is true for an internal
 * subset. Errors: `MalformedContentError` for invalid declarations and for HTML pages.
 */
export function readDoctype(buffer: Buffer, start: number, end: number): { length: number; mayDeclareEntities: boolean } | undefined {
  if (/^<!DOCTYPE\s+html/i.test(buffer.toString('latin1', start, Math.min(end, start + 64))))
    throw new MalformedContentError('it is a page of HTML');
  let inside: 'nothing' | 'subset' | 'behind' = 'nothing';
  for (let at = start + 2; at < end; at++) {
    const byte = buffer[at];
    const subset = inside === 'subset';
    if (byte === QUOTE || byte === APOSTROPHE) at = findMarkEnd(buffer, at + 1, end, byte === QUOTE ? '"' : "'");
    else if (byte === GREATER && !subset) return { length: at + 1 - start, mayDeclareEntities: inside !== 'nothing' };
    else if (byte === OPENING && inside === 'nothing') inside = 'subset';
    else if (byte === CLOSING && subset) inside = 'behind';
    else if (byte === LESS && subset) at = findDeclarationEnd(buffer, at, end);
    else if (byte === LESS || (byte === OPENING && !subset) || (byte === CLOSING && !subset)) {
      throw new MalformedContentError('it is not well-formed XML: a malformed document type declaration');
    }
  }
  return undefined;
}

/** Skips comments and processing instructions, which may contain unpaired quotes. The returned position is never beyond `end`. */
function findDeclarationEnd(buffer: Buffer, at: number, end: number): number {
  const words = buffer.toString('latin1', at, Math.min(end, at + 4));
  if ('<!--'.startsWith(words) && words.length < 4) return end;
  if (words === '<!--') return findMarkEnd(buffer, at + 4, end, '-->');
  return words.startsWith('<?') ? findMarkEnd(buffer, at + 2, end, '?>') : at;
}

/** Returns the end of the mark, or `end` when it is missing. */
function findMarkEnd(buffer: Buffer, from: number, end: number, mark: string): number {
  const found = buffer.subarray(0, end).indexOf(mark, from, 'latin1');
  return found < 0 ? end : found + mark.length - 1;
}

/** True when the XML declaration names UTF-8 or no encoding. */
export function isDeclaredUtf8(declaration: string): boolean {
  const encoding = /\sencoding\s*=\s*["']([^"']+)/.exec(declaration)?.[1]?.toLowerCase() ?? 'utf-8';
  return encoding === 'utf-8' || encoding === 'us-ascii' || encoding === 'ascii';
}

/** True when `&#…;` is a valid XML character. Named references are not checked here. */
export function isValidCharacterReference(reference: string): boolean {
  const [, hexadecimal, decimal] = /^&#(?:x([0-9a-f]+)|([0-9]+));$/i.exec(reference) ?? [];
  if (hexadecimal === undefined && decimal === undefined) return true;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d;
  return code <= 0xd7ff || (code >= 0xe000 && code <= 0x10ffff && code !== 0xfffe && code !== 0xffff);
}
