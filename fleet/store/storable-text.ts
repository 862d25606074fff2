/** Matches each JSON escape as a whole, to find U+0000 and lone surrogates, which PostgreSQL cannot store. */
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const REPLACEMENT = '\ufffd';

/** Replaces the characters of a text that PostgreSQL cannot store. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', REPLACEMENT);
}

/** Replaces characters that PostgreSQL cannot store in text from `JSON.stringify`. */
export function toStorableJson(json: string): string {
  return json.replace(ESCAPES, (escape) => (escape.length > 2 ? REPLACEMENT : escape));
}

/** Responses may contain text that PostgreSQL rejects. A rejected outcome would start its item again and again. */
export const serializeForDatabase = (value: unknown): string => toStorableJson(JSON.stringify(value));

/**
 * Returns the value in the form in which PostgreSQL returns it. Sorts the keys at all levels, because PostgreSQL does not keep their order,
 * and rounds numbers to the digits that PostgreSQL keeps.
 */
export function normalizeForDatabase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeForDatabase);
  if (typeof value !== 'object' || value === null) return typeof value === 'number' ? Number(value.toPrecision(15)) : value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries.sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, item]) => [key, normalizeForDatabase(item)]),
  );
}
