export interface Suggestion {
  value: string;
  label: string;
}
export interface InventoryList {
  readonly tags: readonly { value: string; count: number }[];
  readonly entries: readonly { value: string }[];
}

/** Returns the tags with their counts, and the names. Names with spaces are quoted. */
export function createSuggestions(word: string, { tags, entries }: InventoryList): Suggestion[] {
  const matchingTags = tags
    .map(({ value, count }) => ({ value: `tag:${value}`, label: `tag:${value} (${count})` }))
    .filter(({ value }) => value.startsWith(word));
  const names = word.startsWith('tag:') ? [] : entries.map(({ value }) => (value.includes(' ') ? `"${value}"` : value));
  return [...matchingTags, ...names.map((name) => ({ value: name, label: name }))].slice(0, 20);
}
