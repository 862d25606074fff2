import { isObject, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';

/** An object of the configuration: a resource that holds its own name, the last segment of its path. */
export interface CollectionMember {
  readonly path: string;
  readonly name: string;
  /** Path of the collection. */
  readonly collection: string;
  /** The field that holds the name. */
  readonly key: string;
  readonly resource: JsonObject;
}

/** A field of one kind of resource: the path with `*` for names of objects, and the pointer with `*` for positions in a list. */
interface FieldUse {
  /** Resources that hold a value in the field. */
  holders: number;
  /** By collection: resources that hold the name of a member. */
  readonly byCollection: Map<string, number>;
}

/** A field that holds names of members, and the collections they are in. */
export interface DanglingReference {
  readonly path: string;
  readonly field: string;
  readonly value: string;
  readonly collection: string;
}

type Visit = (value: string, pattern: string, pointer: string) => void;

const MAX_DEPTH = 200;
/** Longer texts are not lists of names. */
const MAX_LIST_TEXT = 1_000_000;
const MIN_REFERENCES = 3;
const MAX_OTHER_SHARE = 0.1;
/** Values that do not name an object. */
const NO_OBJECT = new Set(['', 'none', 'any', 'all', '*', '-', 'default', 'true', 'false', 'enabled', 'disabled']);

/** Finds members, uses of their names and references in one pass over a configuration. Takes linear time. */
export class ConfigurationIndex {
  readonly resources: ReadonlyMap<string, JsonObject>;
  readonly paths: readonly string[];
  readonly members = new Map<string, CollectionMember>();
  readonly #membersByName = new Map<string, CollectionMember[]>();
  /** By name: the resource that holds it, or null if several do. */
  readonly #holderByName = new Map<string, string | null>();
  readonly #fields = new Map<string, FieldUse>();
  readonly #referencedCollections = new Set<string>();

  constructor(resources: ReadonlyMap<string, JsonObject>) {
    this.resources = resources;
    this.paths = [...resources.keys()].sort();
    for (const path of this.paths) this.#addMember(path);
    for (const path of this.paths) this.#countUses(path);
    for (const use of this.#fields.values()) for (const collection of findTargets(use)) this.#referencedCollections.add(collection);
  }

  /** Whether a resource other than the member itself holds its name. */
  isUsed({ name, path }: CollectionMember): boolean {
    const holder = this.#holderByName.get(name);
    return holder !== undefined && holder !== path;
  }

  /** Whether a field of the configuration refers to members of the collection. */
  isReferenced(collection: string): boolean {
    return this.#referencedCollections.has(collection);
  }

  /** Values of reference fields that are not the name of a member. */
  findDanglingReferences(): DanglingReference[] {
    const targets = new Map<string, string[]>();
    for (const [field, use] of this.#fields) {
      const collections = findTargets(use);
      if (collections.length > 0) targets.set(field, collections);
    }
    if (targets.size === 0) return [];
    const found: DanglingReference[] = [];
    for (const path of this.paths) {
      const kind = this.#toKind(path);
      const seen = new Set<string>();
      this.#visit(path, (value, pattern, pointer) => {
        const collections = targets.get(`${kind} ${pattern}`);
        if (!collections) return;
        for (const part of splitNames(value, (name) => this.#isMemberOf(name, collections))) {
          if (NO_OBJECT.has(part.toLowerCase()) || this.#isMemberOf(part, collections) || seen.has(`${pattern} ${part}`)) continue;
          seen.add(`${pattern} ${part}`);
          found.push({ path, field: pointer, value: part, collection: collections[0] ?? '' });
        }
      });
    }
    return found;
  }

  /** The resources below a path. */
  listBelow(path: string): readonly string[] {
    const prefix = `${path}/`;
    let low = 0;
    let high = this.paths.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.paths[middle] ?? '') < prefix) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (this.paths[end]?.startsWith(prefix)) end++;
    return this.paths.slice(low, end);
  }

  /** The object that a resource is, or is a part of. */
  findOwner(path: string): CollectionMember | undefined {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const member = this.members.get(path.slice(0, end));
      if (member) return member;
    }
    return undefined;
  }

  #addMember(path: string): void {
    const resource = this.resources.get(path) ?? {};
    const slash = path.lastIndexOf('/');
    const name = decodeSegment(path.slice(slash + 1));
    const key = findKeyField(resource, name);
    if (key === undefined) return;
    const member = { path, name, collection: path.slice(0, slash), key, resource };
    this.members.set(path, member);
    const sameName = this.#membersByName.get(name);
    if (sameName) sameName.push(member);
    else this.#membersByName.set(name, [member]);
  }

  #countUses(path: string): void {
    const kind = this.#toKind(path);
    const ownUses = new Map<string, Set<string>>();
    this.#visit(path, (value, pattern) => {
      let collections: Set<string> | undefined;
      for (const part of splitNames(value, (name) => this.#membersByName.has(name))) {
        if (NO_OBJECT.has(part) && !this.#membersByName.has(part)) continue;
        collections ??= ownUses.get(pattern);
        if (!collections) ownUses.set(pattern, (collections = new Set()));
        const named = this.#membersByName.get(part);
        if (!named) continue;
        const holder = this.#holderByName.get(part);
        if (holder === undefined) this.#holderByName.set(part, path);
        else if (holder !== path) this.#holderByName.set(part, null);
        for (const { collection } of named) collections.add(collection);
      }
    });
    for (const [pattern, collections] of ownUses) {
      const key = `${kind} ${pattern}`;
      let use = this.#fields.get(key);
      if (!use) this.#fields.set(key, (use = { holders: 0, byCollection: new Map() }));
      use.holders++;
      for (const collection of collections) use.byCollection.set(collection, (use.byCollection.get(collection) ?? 0) + 1);
    }
  }

  /** Visits every text of a resource, except the name of the member itself. */
  #visit(path: string, visit: Visit): void {
    const resource = this.resources.get(path) ?? {};
    const ownKey = this.members.get(path)?.key;
    for (const key of Object.keys(resource)) {
      if (key === ownKey) this.#visitOwnName(path, key);
      else visitTexts(resource[key], toPointerSegment(key), toPointerSegment(key), 0, visit);
    }
  }

  /** The name of a member is a use of other members with that name, but not a reference. */
  #visitOwnName(path: string, key: string): void {
    const name = this.members.get(path)?.resource[key];
    if (typeof name !== 'string' || (this.#membersByName.get(name)?.length ?? 0) < 2) return;
    const holder = this.#holderByName.get(name);
    if (holder === undefined) this.#holderByName.set(name, path);
    else if (holder !== path) this.#holderByName.set(name, null);
  }

  #isMemberOf(name: string, collections: readonly string[]): boolean {
    return this.#membersByName.get(name)?.some(({ collection }) => collections.includes(collection)) ?? false;
  }

  /** The path with `*` in place of the names of objects, so that all objects of a collection have the same fields. */
  #toKind(path: string): string {
    let kind = '';
    let start = 0;
    for (let end = path.indexOf('/', 1); start < path.length; end = path.indexOf('/', start + 1)) {
      const stop = end === -1 ? path.length : end;
      kind += this.members.has(path.slice(0, stop)) ? '/*' : path.slice(start, stop);
      start = stop;
    }
    return kind;
  }
}

/** The collections that a field refers to (contract, section 6, "Audit"); empty if it is not a reference. */
function findTargets({ holders, byCollection }: FieldUse): string[] {
  return [...byCollection]
    .filter(([, count]) => count >= MIN_REFERENCES && holders - count <= holders * MAX_OTHER_SHARE)
    .sort(([, a], [, b]) => b - a)
    .map(([collection]) => collection);
}

function findKeyField(resource: JsonObject, name: string): string | undefined {
  if (resource['name'] !== undefined) return resource['name'] === name ? 'name' : undefined;
  if (resource['username'] !== undefined) return resource['username'] === name ? 'username' : undefined;
  return undefined;
}

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The whole value if it is a name, else the elements of a text with commas. */
function splitNames(value: string, isName: (text: string) => boolean): readonly string[] {
  if (!value.includes(',') || value.length > MAX_LIST_TEXT || isName(value)) return [value];
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function visitTexts(value: unknown, pattern: string, pointer: string, depth: number, visit: Visit): void {
  if (typeof value === 'string') visit(value, pattern, pointer);
  else if (depth > MAX_DEPTH) return;
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) visitTexts(item, `${pattern}/*`, `${pointer}/${index}`, depth + 1, visit);
  else if (isObject(value))
    for (const key of Object.keys(value)) {
      const segment = toPointerSegment(key);
      visitTexts(value[key], pattern + segment, pointer + segment, depth + 1, visit);
    }
}
