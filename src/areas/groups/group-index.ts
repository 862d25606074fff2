import type { JsonObject } from '../../model/json';

export type DirectoryKind = 'ad' | 'ldap';

const IDENTITY_KEYS = { ad: ['sid', 'name'], ldap: ['dn'] } as const;

/** Whether a group has a field that identifies it. */
export function hasGroupIdentity(group: JsonObject, directory: DirectoryKind): boolean {
  return readIdentities(group, directory).length > 0;
}

function readIdentities(group: JsonObject, directory: DirectoryKind): [string, string][] {
  return IDENTITY_KEYS[directory].flatMap((key): [string, string][] => {
    const value = group[key];
    return typeof value === 'string' && value !== '' ? [[key, normalizeIdentity(key, value)]] : [];
  });
}

/** Directories ignore case and the spaces in `cn=a, dc=b`. */
function normalizeIdentity(key: string, value: string): string {
  const lower = value.toLowerCase();
  return key === 'dn' ? normalizeDistinguishedName(lower) : lower;
}

/** Removes the spaces around separators in one pass, because untrusted names can have any length. */
function normalizeDistinguishedName(name: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < name.length;) {
    const start = at;
    if (isSpace(name, at)) {
      at = endOfSpaces(name, at);
      if (!isSeparator(name, at)) pieces.push(name.slice(start, at));
    } else if (isSeparator(name, at)) {
      pieces.push(name.charAt(at));
      at = endOfSpaces(name, at + 1);
    } else {
      // An escaped character is not a separator.
      while (at < name.length && !isSpace(name, at) && !isSeparator(name, at)) at += name[at] === '\\' ? 2 : 1;
      pieces.push(name.slice(start, at));
    }
  }
  return pieces.join('');
}

function isSeparator(name: string, at: number): boolean {
  const char = name[at];
  return char === ',' || char === '=' || char === '+';
}

function isSpace(name: string, at: number): boolean {
  return at < name.length && name.charAt(at).trim() === '';
}

function endOfSpaces(name: string, at: number): number {
  let end = at;
  while (isSpace(name, end)) end++;
  return end;
}

/** Finds groups by `sid` if both have one, otherwise by name, because the appliance assigns the sid. */
export class GroupIndex {
  readonly #directory: DirectoryKind;
  readonly #byPrimaryKey = new Map<string, JsonObject>();
  /** Groups by name, with or without a sid. */
  readonly #byName = new Map<string, JsonObject>();
  readonly #byNameOnly = new Map<string, JsonObject>();

  constructor(groups: readonly JsonObject[], directory: DirectoryKind) {
    this.#directory = directory;
    for (const group of groups) this.add(group);
  }

  add(group: JsonObject): void {
    const { primary, name } = this.#read(group);
    if (primary !== undefined) this.#byPrimaryKey.set(primary, group);
    if (name === undefined) return;
    this.#byName.set(name, group);
    if (primary === undefined) this.#byNameOnly.set(name, group);
  }

  has(group: JsonObject): boolean {
    return this.find(group) !== undefined;
  }

  /** Returns the group of the index with the same identity. */
  find(group: JsonObject): JsonObject | undefined {
    const { primary, name } = this.#read(group);
    if (primary === undefined) return name === undefined ? undefined : this.#byName.get(name);
    return this.#byPrimaryKey.get(primary) ?? (name === undefined ? undefined : this.#byNameOnly.get(name));
  }

  #read(group: JsonObject): { primary: string | undefined; name: string | undefined } {
    const identities = new Map(readIdentities(group, this.#directory));
    return { primary: identities.get(IDENTITY_KEYS[this.#directory][0]), name: identities.get('name') };
  }
}
