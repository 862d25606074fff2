import { randomInt } from 'node:crypto';
import { GatewayError } from '../model/error';

/** Maximum number of values. Parsing blocks the process for a microsecond or more per value; a session record has 27 values. */
export const MAX_JSON_VALUES = 1_000_000;
/** Each different key takes several microseconds. The interface has a few hundred. */
export const MAX_JSON_KEYS = 100_000;
/** Minimum size of a body that is checked. A smaller one cannot block for long, whatever it contains. */
const MIN_CHECKED_BYTES = 1 << 20;

const COMMA = 0x2c;
const COLON = 0x3a;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** A random factor of the hash, so that nobody can construct different keys with the same hash. */
const HASH_FACTOR = randomInt(1 << 24, 1 << 30) * 2 + 1;
/** Number of bits in the hash of a key. With 100,000 keys, one in 80 is mistaken for another one. */
const HASH_BITS = 22;

/** Errors: `LIMIT` for a JSON document with so many values or keys that parsing it would block the process for seconds. */
export function assertParsableJson(bytes: Buffer): void {
  // The first count is quick, but includes the texts. A document has at least as many separators as keys.
  if (bytes.length < MIN_CHECKED_BYTES || countSeparators(bytes) <= MAX_JSON_KEYS) return;
  const scan = scanOutsideTexts(bytes);
  if (scan.values > MAX_JSON_VALUES) throw createLimitError(MAX_JSON_VALUES, 'values');
  if (scan.keys > MAX_JSON_KEYS) throw createLimitError(MAX_JSON_KEYS, 'different keys');
}

function createLimitError(max: number, what: 'values' | 'different keys'): GatewayError {
  return new GatewayError(
    'LIMIT',
    `The appliance answered JSON with more than ${max} ${what}. Node-RED would stand still while it reads them. Ask for a smaller part of it.`,
    { sent: true },
  );
}

/** Each value follows a comma or an opening bracket. An empty object or array counts twice. */
function countSeparators(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === COMMA || byte === BRACE || byte === BRACKET) count++;
  }
  return count;
}

interface JsonElementOffsets {
  /** Number of separators outside texts. */
  readonly values: number;
  /** Number of different keys, by their hashes. */
  readonly keys: number;
}

function scanOutsideTexts(bytes: Buffer): JsonElementOffsets {
  const seen = new Uint8Array(1 << (HASH_BITS - 3));
  let values = 0;
  let keys = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === COMMA || byte === BRACE || byte === BRACKET) values++;
    if (byte !== QUOTE) continue;
    let hash = 0;
    for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) {
      if (bytes[at] === BACKSLASH) at++;
      hash = Math.imul(hash ^ (bytes[at] ?? 0), HASH_FACTOR);
      hash ^= hash >>> 15;
    }
    if (!isBeforeColon(bytes, at + 1)) continue;
    const place = hash >>> (32 - HASH_BITS);
    const cell = place >>> 3;
    const bit = 1 << (place & 7);
    const known = seen[cell] ?? 0;
    if ((known & bit) !== 0) continue;
    seen[cell] = known | bit;
    keys++;
  }
  return { values, keys };
}

/** Whether the text that ends at this position is a key. */
function isBeforeColon(bytes: Buffer, end: number): boolean {
  let at = end;
  while ((bytes[at] ?? COLON) <= SPACE) at++;
  return bytes[at] === COLON;
}
