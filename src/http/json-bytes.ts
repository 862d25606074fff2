/** No JSON is valid where a backslash comes right before something that is not ASCII, and an escape in its place would make it so. */
const BACKSLASH = 0x5c;
/** The high bits of four bytes, which ASCII does not have. */
const HIGH_BITS = 0x80808080 | 0;
/** With more than one byte in so many that is not ASCII, or more than one run of such bytes, escaping costs more than it saves. */
const BYTES_FOR_ONE = 16;
const BYTES_FOR_A_RUN = 512;
/** Where texts are escaped, one at a time: a new buffer for each page would make V8 collect more often. Longer ones are decoded. */
const SCRATCH_BYTES = 1 << 20;
let scratch: Buffer | undefined;

/**
 * `JSON.parse` of UTF-8. One character that is not Latin-1, anywhere in a page of sessions, makes V8 decode all of it byte by byte
 * into twice the room, and parse that: a page then takes half as long again. So where few characters are not ASCII they become
 * `\u` escapes, which JSON has in the same places, and what is left to decode is a copy. Errors: as `JSON.parse`.
 */
export function parseJson(bytes: Buffer): unknown {
  const body = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  return JSON.parse(escaped(body) ?? body.toString('utf8'));
}

/** The same text in ASCII; undefined where that is not possible, or not worth it. */
function escaped(bytes: Buffer): string | undefined {
  // A byte that is no UTF-8 becomes six of an escape, at worst; a character of two or four bytes three times as many.
  if (bytes.length * (1 + 5 / BYTES_FOR_ONE) > SCRATCH_BYTES) return undefined;
  const runs = highRuns(bytes);
  if (!runs) return undefined;
  if (runs.length === 0) return bytes.toString('latin1');
  const ascii = (scratch ??= Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  let to = 0;
  let done = 0;
  for (let at = 0; at < runs.length; at += 2) {
    const from = runs[at] as number;
    const end = runs[at + 1] as number;
    if (bytes[from - 1] === BACKSLASH) return undefined;
    to += bytes.copy(ascii, to, done, from);
    to += ascii.write(escapes(bytes.toString('utf8', from, end)), to, 'latin1');
    done = end;
  }
  to += bytes.copy(ascii, to, done);
  return ascii.toString('latin1', 0, to);
}

function escapes(text: string): string {
  let all = '';
  for (let at = 0; at < text.length; at++) all += `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return all;
}

/** Begin and end of each run of bytes that are not ASCII, one after the other; undefined if they are not few. */
function highRuns(bytes: Buffer): number[] | undefined {
  // Four words of four bytes at a time, where words can be laid over the bytes.
  const blocks = bytes.byteOffset % 4 === 0 ? bytes.length >>> 4 : 0;
  const words = new Int32Array(bytes.buffer, blocks > 0 ? bytes.byteOffset : 0, blocks * 4);
  const runs: number[] = [];
  const mostRuns = Math.max(8, bytes.length / BYTES_FOR_A_RUN);
  const most = bytes.length / BYTES_FOR_ONE;
  let high = 0;
  let at = 0;
  const look = (from: number, end: number): boolean => {
    for (at = Math.max(at, from); at < end; at++) {
      if ((bytes[at] as number) < 0x80) continue;
      const begin = at;
      while ((bytes[at] ?? 0) >= 0x80) at++;
      runs.push(begin, at);
      high += at - begin;
      if (high > most || runs.length > 2 * mostRuns) return false;
    }
    return true;
  };
  for (let word = 0; word < words.length; word += 4) {
    let four = words[word] as number;
    four |= words[word + 1] as number;
    four |= words[word + 2] as number;
    four |= words[word + 3] as number;
    if ((four & HIGH_BITS) !== 0 && !look(word * 4, word * 4 + 16)) return undefined;
  }
  return look(blocks * 16, bytes.length) ? runs : undefined;
}
