/** A backslash before a non-ASCII character is invalid JSON. Escaping the character would hide that. */
const BACKSLASH = 0x5c;
/** Matches the high bit of each of four bytes, which is never set in ASCII. */
const HIGH_BITS = 0x80808080 | 0;
/** Limits above which escaping non-ASCII bytes costs more than it saves. */
const MIN_BYTES_PER_NON_ASCII_BYTE = 16;
const MIN_BYTES_PER_NON_ASCII_RUN = 512;
/** Size of the reused buffer, which avoids garbage collection. Longer bodies are decoded instead. */
const SCRATCH_BYTES = 1 << 20;
let scratch: Buffer | undefined;

/**
 * Parses UTF-8 as JSON. A single character outside Latin-1 makes V8 decode and parse a page of sessions half as slow again. Rare non-ASCII
 * characters are therefore replaced by `\u` escapes first. Errors: those of `JSON.parse`.
 */
export function parseJson(bytes: Buffer): unknown {
  const body = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  return JSON.parse(toEscapedAscii(body) ?? body.toString('utf8'));
}

/** Returns the text as ASCII, or undefined when that is impossible or too costly. */
function toEscapedAscii(bytes: Buffer): string | undefined {
  // In the worst case, one invalid byte becomes a six-byte escape.
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

/** Returns start and end of each non-ASCII run as a flat list, or undefined when there are too many. */
function findNonAsciiRuns(bytes: Buffer): number[] | undefined {
  // Reads four 32-bit words at a time when the bytes are aligned.
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
