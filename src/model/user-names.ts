/** How a user name is compared: `ignore-domain` also ignores the case. */
export type NameMatchMode = (typeof NAME_MATCH_MODES)[number];

export const NAME_MATCH_MODES = ['exact', 'ignore-case', 'ignore-domain'] as const;

/** The maximum number of similar names that are reported. */
const MAX_SIMILAR_NAMES = 20;

/** Creates the test for a name. Spaces around a name never count. */
export function createNameMatcher(name: string, match: NameMatchMode = 'exact'): (value: unknown) => boolean {
  const normalize = NORMALIZERS[match];
  const wanted = normalize(name);
  return (value) => typeof value === 'string' && normalize(value) === wanted;
}

const NORMALIZERS: Readonly<Record<NameMatchMode, (name: string) => string>> = {
  exact: (name) => name.trim(),
  'ignore-case': (name) => name.trim().toLowerCase(),
  'ignore-domain': (name) => withoutDomain(name.trim().toLowerCase()),
};

/** Removes a domain in front (`CORP\`) or behind (`@corp.example`). */
function withoutDomain(name: string): string {
  const account = name.slice(name.lastIndexOf('\\') + 1);
  const at = account.indexOf('@');
  return (at > 0 ? account.slice(0, at) : account) || name;
}

/** Lists the names that differ from a name only in case, domain or spaces, each once. */
export function findSimilarNames(name: string, values: Iterable<unknown>): string[] {
  const isSimilar = createNameMatcher(name, 'ignore-domain');
  const names = new Set<string>();
  for (const value of values) if (typeof value === 'string' && value !== name && isSimilar(value)) names.add(value);
  return [...names].sort().slice(0, MAX_SIMILAR_NAMES);
}
