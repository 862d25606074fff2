/** Matches each JSON escape as a whole. PostgreSQL cannot store U+0000 and lone surrogates. */
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const REPLACEMENT = '\ufffd';

/** Replaces characters that PostgreSQL cannot store. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** The same for text from `JSON.stringify`. */
export function toStorableJson(json: string): string {
  return json.replace(ESCAPES, (escape) => (escape.length > 2 ? REPLACEMENT : escape));
}
