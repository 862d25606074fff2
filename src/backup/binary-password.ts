/** Releases that are known to import a binary configuration with a password (field-notes.md, "Binary configuration"). */
const FIRST_RELEASE = [22, 7, 2, 3];
const LAST_RELEASE = [22, 8, 2, 2];

/** Whether the release is known to import a binary configuration with a password. Otherwise such a backup could not be restored. */
export function canImportBinaryPassword(release: string | null): boolean {
  const [, ...parts] = /^(\d{1,4})\.(\d{1,4})R(\d{1,4})(?:\.(\d{1,4}))?/i.exec(release ?? '') ?? [];
  if (parts.length === 0) return false;
  const numbers = parts.map((part: string | undefined) => Number(part ?? 0));
  return compareReleases(numbers, FIRST_RELEASE) >= 0 && compareReleases(numbers, LAST_RELEASE) <= 0;
}

function compareReleases(first: readonly number[], second: readonly number[]): number {
  const index = first.findIndex((number, position) => number !== second[position]);
  return index < 0 ? 0 : (first[index] ?? 0) - (second[index] ?? 0);
}
