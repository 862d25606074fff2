import { GatewayError } from '../model/error';

/** Parsing takes a microsecond or more for each value, and blocks the process meanwhile. A session record has 27 values. */
export const MAX_JSON_VALUES = 1_000_000;
/** A smaller body cannot block for long, whatever it contains. */
const MIN_CHECKED_BYTES = 1 << 20;

const COMMA = 0x2c;
const BRACE = 0x7b;
const BRACKET = 0x5b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Errors: `LIMIT` for a JSON document with so many values that parsing it would block the process for seconds. */
export function assertParsableJson(bytes: Buffer): void {
  // The first count is quick, but includes the texts.
  if (
    bytes.length < MIN_CHECKED_BYTES ||
    countSeparators(bytes) <= MAX_JSON_VALUES ||
    countSeparatorsOutsideTexts(bytes) <= MAX_JSON_VALUES
  )
    return;
  throw new GatewayError(
    'LIMIT',
    `The appliance answered JSON with more than ${MAX_JSON_VALUES} values. Node-RED would stand still while it reads them. Ask for a smaller part of it.`,
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

function countSeparatorsOutsideTexts(bytes: Buffer): number {
  let count = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isInText = !isInText;
    else if (isInText) {
      if (byte === BACKSLASH) at++;
    } else if (byte === COMMA || byte === BRACE || byte === BRACKET) count++;
  }
  return count;
}
