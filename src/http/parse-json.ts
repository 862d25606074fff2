/** No JSON is valid where a backslash comes right before something that is not ASCII, and an escape in its place would make it so. */
const BACKSLASH = 0x5c;
/** The high bits of four bytes, which ASCII does not have. */
const HIGH_BITS = 0x80808080 | 0;
/** With more than one byte in so many that is not ASCII, or more than one run of such bytes, escaping costs more than it saves. */
const MIN_BYTES_PER_NON_ASCII_BYTE = 16;
const MIN_BYTES_PER_NON_ASCII_RUN = 512;
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
  return JSON.parse(toEscapedAscii(body) ?? body.toString('utf8'));
}

/** The same text in ASCII; undefined where that is not possible, or not worth it. */
function toEscapedAscii(bytes: Buffer): string | undefined {
  // A byte that is no UTF-8 becomes six of an escape, at worst; a character of two or four bytes three times as many.
  if (bytes.length * (1 + 5 / MIN_BYTES_PER_NON_ASCII_BYTE) > SCRATCH_BYTES) return undefined;
  const nonAsciiRuns = findNonAsciiRuns(bytes);
  if (!nonAsciiRuns) return undefined;
  if (nonAsciiRuns.length === 0) return bytes.toString('latin1');
  const ascii = (scratch ??= Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  let to = 0;
  let copiedTo = 0;
  for (let at = 0; at < nonAsciiRuns.length; at += 2) {
    const from = nonAsciiRuns[at] as number;
    const end = nonAsciiRuns[at + 1] as number;
    if (bytes[from - 1] === BACKSLASH) return undefined;
    to += bytes.copy(ascii, to, copiedTo, from);
    to += ascii.write(toUnicodeEscapes(bytes.toString('utf8', from, end)), to, 'latin1');
    copiedTo = end;
  }
  to += bytes.copy(ascii, to, copiedTo);
  return ascii.toString('latin1', 0, to);
}

function toUnicodeEscapes(text: string): string {
  let escaped = '';
  for (let at = 0; at < text.length; at++) escaped += `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return escaped;
}

/** Begin and end of each run of bytes that are not ASCII, one after the other; undefined if they are not few. */
function findNonAsciiRuns(bytes: Buffer): number[] | undefined {
  // Four words of four bytes at a time, where words can be laid over the bytes.
  const blocks = bytes.byteOffset % 4 === 0 ? bytes.length >>> 4 : 0;
  const words = new Int32Array(bytes.buffer, blocks > 0 ? bytes.byteOffset : 0, blocks * 4);
  const runs: number[] = [];
  const maxRuns = Math.max(8, bytes.length / MIN_BYTES_PER_NON_ASCII_RUN);
  const maxNonAsciiBytes = bytes.length / MIN_BYTES_PER_NON_ASCII_BYTE;
  let nonAsciiBytes = 0;
  let at = 0;
  const scan = (from: number, end: number): boolean => {
    for (at = Math.max(at, from); at < end; at++) {
      if ((bytes[at] as number) < 0x80) continue;
      const begin = at;
      while ((bytes[at] ?? 0) >= 0x80) at++;
      runs.push(begin, at);
      nonAsciiBytes += at - begin;
      if (nonAsciiBytes > maxNonAsciiBytes || runs.length > 2 * maxRuns) return false;
    }
    return true;
  };
  for (let word = 0; word < words.length; word += 4) {
    let combined = words[word] as number;
    combined |= words[word + 1] as number;
    combined |= words[word + 2] as number;
    combined |= words[word + 3] as number;
    if ((combined & HIGH_BITS) !== 0 && !scan(word * 4, word * 4 + 16)) return undefined;
  }
  return scan(blocks * 16, bytes.length) ? runs : undefined;
}
