import { isObject, readText, type JsonObject } from '../model/json';
import { toPointerSegment } from '../change/compare';
import { ResourceKinds, type ReferenceFieldPattern } from './reference-field-pattern';

/** An object of the configuration: a resource whose name field equals the last segment of its path. */
export interface CollectionMember {
  readonly path: string;
  readonly name: string;
  /** Path of the collection. */
  readonly collection: string;
  /** The field with the name of the object. */
  readonly key: string;
  readonly resource: JsonObject;
}

/** A field that contains names of members, and the collections of these members. */
export interface DanglingReference {
  readonly path: string;
  readonly field: string;
  readonly value: string;
  readonly collection: string;
}

/** Who holds the name of a member: nobody, several resources, or the resource with this number. */
const NOBODY = -1;
const SEVERAL = -2;

/** A member, the next member of the same name, and for the first of them the holder of the name. */
interface IndexedMember extends CollectionMember {
  readonly sameName: IndexedMember | undefined;
  /** Number of members of this name so far. */
  readonly sameNameCount: number;
  holder: number;
}

const MAX_DEPTH = 200;
/** Maximum length of a text that can be a list of names. */
const MAX_LIST_TEXT = 1_000_000;
/** Names of more members are counted by name, or the time would grow with the square of their number. */
const MAX_SAME_NAME = 16;
const NUMBER = /^-?\d/;
/** Values that never name an object, whatever their case: appliances write `none` and `None`. */
const NO_OBJECT = new Set(['', 'none', 'any', 'all', '*', '-', 'default', 'true', 'false', 'enabled', 'disabled']);

/**
 * Finds members, uses of their names and references in one pass over a configuration. Takes linear time. Shares texts with the configuration
 * and refers to resources by number, so that it takes less than half of the memory of the configuration.
 */
export class ConfigurationIndex {
  readonly resources: ReadonlyMap<string, JsonObject>;
  /** Sorted. */
  readonly paths: readonly string[];
  readonly #members = new Map<string, IndexedMember>();
  readonly #membersByName = new Map<string, IndexedMember>();
  readonly #kinds: ResourceKinds;
  /** The collections that each reference field refers to. */
  readonly #targets: ReadonlyMap<ReferenceFieldPattern, ReadonlySet<string>>;
  readonly #referencedCollections: ReadonlySet<string>;
  #hasNumberNames = false;

  constructor(resources: ReadonlyMap<string, JsonObject>) {
    this.resources = resources;
    this.paths = [...resources.keys()].sort();
    const collections = new Map<string, string>();
    for (const path of this.paths) this.#addMember(path, collections);
    this.#kinds = new ResourceKinds(this.paths, (path) => this.#members.has(path) || isKeyedByField(path, this.resources.get(path)));
    for (const [number, path] of this.paths.entries()) this.#countUses(path, number);
    this.#targets = this.#kinds.collectTargets((name) => this.#listCollections(name));
    this.#referencedCollections = new Set([...this.#targets.values()].flatMap((collections) => [...collections]));
  }

  get members(): ReadonlyMap<string, CollectionMember> {
    return this.#members;
  }

  /** Whether a resource other than the member itself contains its name. */
  isUsed({ name, path }: CollectionMember): boolean {
    const holder = this.#membersByName.get(name)?.holder ?? NOBODY;
    return holder === SEVERAL || (holder !== NOBODY && this.paths[holder] !== path);
  }

  /** Whether a field of the configuration refers to members of the collection. */
  isReferenced(collection: string): boolean {
    return this.#referencedCollections.has(collection);
  }

  /** Values of reference fields that name no member. */
  findDanglingReferences(): DanglingReference[] {
    if (this.#targets.size === 0) return [];
    const found: DanglingReference[] = [];
    for (const [number, path] of this.paths.entries()) {
      const fields = this.#kinds.findFields(number);
      if (fields) this.#addDanglingReferences(path, fields, found);
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

  /** Returns the object that a resource is, or is a part of. */
  findOwner(path: string): CollectionMember | undefined {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const member = this.#members.get(path.slice(0, end));
      if (member) return member;
    }
    return undefined;
  }

  /** Returns the path with `*` in place of the names of objects, so that a name cannot look like a part of the interface. */
  maskNames(path: string): string {
    let masked = '';
    for (let start = 0; start < path.length;) {
      const slash = path.indexOf('/', start + 1);
      const end = slash === -1 ? path.length : slash;
      masked += this.#members.has(path.slice(0, end)) ? '/*' : path.slice(start, end);
      start = end;
    }
    return masked;
  }

  #addMember(path: string, collections: Map<string, string>): void {
    const resource = this.resources.get(path) ?? {};
    const slash = path.lastIndexOf('/');
    const key = findKeyField(resource, path.slice(slash + 1));
    if (key === undefined) return;
    const name = readText(resource[key]);
    this.#hasNumberNames ||= NUMBER.test(name);
    const parent = path.slice(0, slash);
    let collection = collections.get(parent);
    if (collection === undefined) collections.set(parent, (collection = parent));
    const sameName = this.#membersByName.get(name);
    const sameNameCount = (sameName?.sameNameCount ?? 0) + 1;
    const member = { path, name, collection, key, resource, sameName, sameNameCount, holder: NOBODY };
    this.#members.set(path, member);
    this.#membersByName.set(name, member);
  }

  #countUses(path: string, number: number): void {
    const onText = (value: string, field: ReferenceFieldPattern | undefined): void => {
      // A name with a comma is also a list of the names in it, so those are used too.
      if (value.includes(',') && this.#membersByName.has(value))
        this.#addHolders(
          splitNames(value, () => false),
          number,
        );
      for (const part of splitNames(value, (name) => this.#membersByName.has(name))) {
        const first = this.#membersByName.get(part);
        if (!first && NO_OBJECT.has(part.toLowerCase())) continue;
        field?.countHolder(number);
        if (first) addHolder(first, number);
        if (field && first) this.#countReference(first, field, number);
      }
    };
    const fields = this.#kinds.findFields(number);
    const resource = this.resources.get(path) ?? {};
    const member = this.#members.get(path);
    // Some releases return the name of an object as a number.
    const isName = (value: number): boolean => this.#hasNumberNames && this.#membersByName.has(String(value));
    for (const key of Object.keys(resource)) if (key !== member?.key) countTexts(resource[key], fields, key, 0, { onText, isName });
    // The name of a member is a use of other members with that name, but not a reference.
    const first = member && this.#membersByName.get(member.name);
    if (first?.sameName) addHolder(first, number);
  }

  #countReference(first: IndexedMember, field: ReferenceFieldPattern, number: number): void {
    if (first.sameNameCount > MAX_SAME_NAME) field.countCommonName(first.name, number);
    else for (const collection of this.#listCollections(first.name)) field.countReference(collection, number);
  }

  *#listCollections(name: string): Generator<string> {
    for (let member = this.#membersByName.get(name); member; member = member.sameName) yield member.collection;
  }

  #addHolders(names: readonly string[], number: number): void {
    for (const name of names) {
      const member = this.#membersByName.get(name);
      if (member) addHolder(member, number);
    }
  }

  #addDanglingReferences(path: string, fields: ReferenceFieldPattern, found: DanglingReference[]): void {
    const resource = this.resources.get(path) ?? {};
    const ownKey = this.#members.get(path)?.key;
    const seen = new Map<ReferenceFieldPattern, Set<string>>();
    const onText = (value: string, field: ReferenceFieldPattern, pointer: string): void => {
      const collections = this.#targets.get(field);
      if (!collections) return;
      for (const part of splitNames(value, (name) => this.#isMemberOf(name, collections))) {
        if (NO_OBJECT.has(part.toLowerCase()) || this.#isMemberOf(part, collections)) continue;
        let parts = seen.get(field);
        if (!parts) seen.set(field, (parts = new Set()));
        if (parts.has(part)) continue;
        parts.add(part);
        const [collection = ''] = collections;
        found.push({ path, field: pointer, value: part, collection });
      }
    };
    for (const key of Object.keys(resource))
      if (key !== ownKey) visitTexts(resource[key], fields.find(key), toPointerSegment(key), 0, onText);
  }

  #isMemberOf(name: string, collections: ReadonlySet<string>): boolean {
    for (let member = this.#membersByName.get(name); member; member = member.sameName) if (collections.has(member.collection)) return true;
    return false;
  }
}

function addHolder(member: IndexedMember, number: number): void {
  if (member.holder === NOBODY) member.holder = number;
  else if (member.holder !== number) member.holder = SEVERAL;
}

function findKeyField(resource: JsonObject, segment: string): string | undefined {
  if (resource['name'] === undefined && resource['username'] === undefined) return undefined;
  const name = decodePathSegment(segment);
  if (name !== '' && readText(resource['name']) === name) return 'name';
  return name !== '' && readText(resource['username']) === name ? 'username' : undefined;
}

/** Whether a text of the resource equals the last segment of its path. Not every collection calls this field `name`. */
function isKeyedByField(path: string, resource: JsonObject | undefined): boolean {
  if (!resource) return false;
  const name = decodePathSegment(path.slice(path.lastIndexOf('/') + 1));
  return Object.values(resource).includes(name);
}

/** Returns the name that a segment of a path encodes, or the segment if it encodes none. */
export function decodePathSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the whole value if it is a name, or else the parts of a text with commas. */
function splitNames(value: string, isName: (text: string) => boolean): readonly string[] {
  if (!value.includes(',') || value.length > MAX_LIST_TEXT || isName(value)) return [value];
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

interface TextVisitor {
  readonly onText: (value: string, field: ReferenceFieldPattern | undefined) => void;
  readonly isName: (value: number) => boolean;
}

/** Calls the visitor for each text of a value, and each number that is a name, with its field if `parent` is given. */
function countTexts(value: unknown, parent: ReferenceFieldPattern | undefined, key: string, depth: number, visitor: TextVisitor): void {
  if (typeof value === 'string') visitor.onText(value, parent?.findOrAdd(key));
  else if (typeof value === 'number') {
    if (visitor.isName(value)) visitor.onText(String(value), parent?.findOrAdd(key));
  } else if (depth > MAX_DEPTH) return;
  else if (Array.isArray(value)) {
    const field = parent?.findOrAdd(key);
    for (const item of value) countTexts(item, field, '*', depth + 1, visitor);
  } else if (isObject(value)) {
    const field = parent?.findOrAdd(key);
    for (const name of Object.keys(value)) countTexts(value[name], field, name, depth + 1, visitor);
  }
}

/** Calls `onText` for each text of a value, with its field and its JSON pointer. */
function visitTexts(
  value: unknown,
  field: ReferenceFieldPattern | undefined,
  pointer: string,
  depth: number,
  onText: (value: string, field: ReferenceFieldPattern, pointer: string) => void,
): void {
  if (!field) return;
  if (typeof value === 'string') onText(value, field, pointer);
  else if (depth > MAX_DEPTH) return;
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) visitTexts(item, field.find('*'), `${pointer}/${index}`, depth + 1, onText);
  else if (isObject(value))
    for (const key of Object.keys(value)) visitTexts(value[key], field.find(key), pointer + toPointerSegment(key), depth + 1, onText);
}
