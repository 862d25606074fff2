import type { JsonObject } from '../../model/json';

export type Directory = 'ad' | 'ldap';

const IDENTITIES = { ad: ['sid', 'name'], ldap: ['dn'] } as const;

/** Whether anything of a group tells it from others. */
export function hasIdentity(group: JsonObject, directory: Directory): boolean {
  return identities(group, directory).length > 0;
}

function identities(group: JsonObject, directory: Directory): [string, string][] {
  return IDENTITIES[directory].flatMap((key): [string, string][] => {
    const value = group[key];
    return typeof value === 'string' && value !== '' ? [[key, folded(key, value)]] : [];
  });
}

/** Directories do not tell upper from lower case, nor `cn=a, dc=b` from `cn=a,dc=b`. */
function folded(key: string, value: string): string {
  const lower = value.toLowerCase();
  return key === 'dn' ? withoutSpaces(lower) : lower;
}

/** Of a distinguished name, without the spaces around its separators. Character by character: names come from outside, at any length. */
function withoutSpaces(name: string): string {
  let kept = '';
  let spaces = '';
  for (let at = 0; at < name.length; at++) {
    const char = name.charAt(at);
    if (',=+'.includes(char)) {
      // Spaces before it go.
      kept += char;
      spaces = '';
      while (isSpace(name.charAt(at + 1))) at++;
    } else if (isSpace(char)) spaces += char;
    else {
      kept += spaces + char;
      spaces = '';
      // What is escaped separates nothing.
      if (char === '\\') kept += name.charAt(++at);
    }
  }
  return kept + spaces;
}

function isSpace(char: string): boolean {
  return char !== '' && char.trim() === '';
}

/** The groups of a list by their identities: by `sid` where both have one, else by name, because the appliance assigns the sid. */
export class Identities {
  readonly #directory: Directory;
  /** By the key that goes before the others. */
  readonly #first = new Map<string, JsonObject>();
  /** By name, with a sid or without. */
  readonly #names = new Map<string, JsonObject>();
  readonly #namesAlone = new Map<string, JsonObject>();

  constructor(groups: readonly JsonObject[], directory: Directory) {
    this.#directory = directory;
    for (const group of groups) this.add(group);
  }

  add(group: JsonObject): void {
    const { first, name } = this.#read(group);
    if (first !== undefined) this.#first.set(first, group);
    if (name === undefined) return;
    this.#names.set(name, group);
    if (first === undefined) this.#namesAlone.set(name, group);
  }

  has(group: JsonObject): boolean {
    return this.find(group) !== undefined;
  }

  /** The one of the list that this group is. */
  find(group: JsonObject): JsonObject | undefined {
    const { first, name } = this.#read(group);
    if (first === undefined) return name === undefined ? undefined : this.#names.get(name);
    return this.#first.get(first) ?? (name === undefined ? undefined : this.#namesAlone.get(name));
  }

  #read(group: JsonObject): { first: string | undefined; name: string | undefined } {
    const found = new Map(identities(group, this.#directory));
    return { first: found.get(IDENTITIES[this.#directory][0]), name: found.get('name') };
  }
}
