export interface SelectionSuggestion {
  value: string;
  label: string;
}
export interface InventoryNamesAndTags {
  readonly tags: readonly { value: string; count: number }[];
  readonly entries: readonly { value: string }[];
}

/** Returns the tags with their counts, and the names. Names with spaces are quoted. */
export function createSelectionSuggestions(word: string, { tags, entries }: InventoryNamesAndTags): SelectionSuggestion[] {
  const matchingTags = tags
    .map(({ value, count }) => ({ value: `tag:${value}`, label: `tag:${value} (${count})` }))
    .filter(({ value }) => value.startsWith(word));
  const names = word.startsWith('tag:') ? [] : entries.map(({ value }) => (value.includes(' ') ? `"${value}"` : value));
  return [...matchingTags, ...names.map((name) => ({ value: name, label: name }))].slice(0, 20);
}
