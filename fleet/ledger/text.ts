/** The escapes of JSON, each whole; of them PostgreSQL cannot keep U+0000 and half of a character. */
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const INSTEAD = '\ufffd';

/** A text from outside as a table can keep it. */
export function keptText(text: string): string {
  return text.toWellFormed().replaceAll('\0', INSTEAD);
}

/** The same for JSON, as `JSON.stringify` writes it. */
export function keptJson(json: string): string {
  return json.replace(ESCAPES, (escape) => (escape.length > 2 ? INSTEAD : escape));
}
