/** The escapes of JSON, each whole; of them PostgreSQL cannot keep U+0000 and half of a character. */
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const REPLACEMENT = '\ufffd';

/** A text from outside as a table can keep it. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** The same for JSON, as `JSON.stringify` writes it. */
export function toStorableJson(json: string): string {
  return json.replace(ESCAPES, (escape) => (escape.length > 2 ? REPLACEMENT : escape));
}
