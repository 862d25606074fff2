const MIN_REFERENCES = 3;
const MAX_OTHER_SHARE = 0.1;
const UNIQUE = -1;

/** The collections that have a member of this name. */
export type CollectionLister = (name: string) => Iterable<string>;

/** Counts resources, each once. Remembers only the last one, because resources are visited in order. */
interface ResourceCount {
  count: number;
  last: number;
}

/**
 * A field of one kind of resource: a node of a tree of keys, with `*` for names of objects and for positions in a list. Holds counts only, so
 * its size depends on the number of kinds, not of resources.
 */
export class ReferenceFieldPattern {
  #children: Map<string, ReferenceFieldPattern> | undefined;
  /** Resources that hold a value in the field. */
  #holders: ResourceCount | undefined;
  /** By collection: resources that hold the name of a member in the field. */
  #collections: Map<string, ResourceCount> | undefined;
  /** Resources that hold the same name, for names of members in many collections. */
  #commonNames: Map<string, ResourceCount> | undefined;

  /** Returns the counted field with this key, or undefined. */
  find(key: string): ReferenceFieldPattern | undefined {
    return this.#children?.get(key);
  }

  findOrAdd(key: string): ReferenceFieldPattern {
    this.#children ??= new Map();
    let child = this.#children.get(key);
    if (!child) this.#children.set(key, (child = new ReferenceFieldPattern()));
    return child;
  }

  countHolder(resourceNumber: number): void {
    this.#holders ??= { count: 0, last: -1 };
    countOnce(this.#holders, resourceNumber);
  }

  countReference(collection: string, resourceNumber: number): void {
    this.#collections ??= new Map();
    countIn(this.#collections, collection, resourceNumber);
  }

  /** Counts a name that is in many collections. To count each of them for each resource takes too long. */
  countCommonName(name: string, resourceNumber: number): void {
    this.#commonNames ??= new Map();
    countIn(this.#commonNames, name, resourceNumber);
  }

  /** The collections that the field refers to (contract, section 6, "Audit"); empty if it is not a reference. */
  findTargets(listCollections: CollectionLister): string[] {
    const holders = this.#holders?.count ?? 0;
    return [...this.#countByCollection(listCollections)]
      .filter(([, count]) => count >= MIN_REFERENCES && holders - count <= holders * MAX_OTHER_SHARE)
      .sort(([, a], [, b]) => b - a)
      .map(([collection]) => collection);
  }

  /** Adds the targets of all fields at and below this one to `found`. Returns whether there are any. */
  collectTargets(found: Map<ReferenceFieldPattern, ReadonlySet<string>>, listCollections: CollectionLister): boolean {
    const targets = this.findTargets(listCollections);
    if (targets.length > 0) found.set(this, new Set(targets));
    let hasTargets = targets.length > 0;
    for (const child of this.#children?.values() ?? []) if (child.collectTargets(found, listCollections)) hasTargets = true;
    return hasTargets;
  }

  #countByCollection(listCollections: CollectionLister): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [collection, { count }] of this.#collections ?? []) counts.set(collection, count);
    for (const [name, { count }] of this.#commonNames ?? [])
      for (const collection of listCollections(name)) counts.set(collection, (counts.get(collection) ?? 0) + count);
    return counts;
  }
}

function countIn(counts: Map<string, ResourceCount>, key: string, resourceNumber: number): void {
  let counted = counts.get(key);
  if (!counted) counts.set(key, (counted = { count: 0, last: -1 }));
  countOnce(counted, resourceNumber);
}

function countOnce(counted: ResourceCount, resourceNumber: number): void {
  if (counted.last === resourceNumber) return;
  counted.last = resourceNumber;
  counted.count++;
}

/** Assigns each resource path a kind: the path with `*` for object names. All objects of a collection have one kind and the same fields. */
export class ResourceKinds {
  /** The kind of each path, by the index of the path; `UNIQUE` if no other path has this kind. */
  readonly #kinds: Int32Array;
  readonly #fields: (ReferenceFieldPattern | undefined)[] = [];

  constructor(paths: readonly string[], isMember: (path: string) => boolean) {
    this.#kinds = new Int32Array(paths.length).fill(UNIQUE);
    const numbers = new Map<string, number>();
    const counts: number[] = [];
    const finder = new KindFinder(isMember);
    for (const [index, path] of paths.entries()) {
      const kind = finder.find(path);
      // Without a name of an object, the kind is the path itself.
      if (kind === path) continue;
      let number = numbers.get(kind);
      if (number === undefined) numbers.set(kind, (number = numbers.size));
      this.#kinds[index] = number;
      counts[number] = (counts[number] ?? 0) + 1;
    }
    // Fewer resources cannot make a field a reference.
    for (const [number, count] of counts.entries())
      this.#fields[number] = count >= MIN_REFERENCES ? new ReferenceFieldPattern() : undefined;
  }

  /** The fields of the kind that the path with this index has, if one of them can be a reference. */
  findFields(index: number): ReferenceFieldPattern | undefined {
    return this.#fields[this.#kinds[index] ?? UNIQUE];
  }

  /** Finds the fields that are references, with the collections they refer to. Forgets the fields of kinds without any. */
  collectTargets(listCollections: CollectionLister): Map<ReferenceFieldPattern, ReadonlySet<string>> {
    const found = new Map<ReferenceFieldPattern, ReadonlySet<string>>();
    for (const [number, fields] of this.#fields.entries())
      if (!fields?.collectTargets(found, listCollections)) this.#fields[number] = undefined;
    return found;
  }
}

/** Finds the kinds of sorted paths. Keeps the kinds of the segments that a path shares with the path before it. */
class KindFinder {
  readonly #isMember: (path: string) => boolean;
  /** Ends of the segments of the last path, and the kind up to each of them. */
  readonly #segments: { readonly end: number; readonly kind: string; readonly isPath: boolean }[] = [];
  #last = '';

  constructor(isMember: (path: string) => boolean) {
    this.#isMember = isMember;
  }

  find(path: string): string {
    const shared = countSharedCharacters(path, this.#last);
    const segments = this.#segments;
    while (segments.length > 0 && !endsSegment(path, segments.at(-1)?.end ?? 0, shared)) segments.pop();
    let { end: start, kind, isPath } = segments.at(-1) ?? { end: 0, kind: '', isPath: true };
    while (start < path.length) {
      const slash = path.indexOf('/', start + 1);
      const end = slash === -1 ? path.length : slash;
      const prefix = path.slice(0, end);
      const isMember = this.#isMember(prefix);
      isPath &&= !isMember;
      kind = isPath ? prefix : kind + (isMember ? '/*' : path.slice(start, end));
      segments.push({ end, kind, isPath });
      start = end;
    }
    this.#last = path;
    return kind;
  }
}

function endsSegment(path: string, end: number, shared: number): boolean {
  return end <= shared && (end === path.length || path.charAt(end) === '/');
}

function countSharedCharacters(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let shared = 0;
  while (shared < length && a.charCodeAt(shared) === b.charCodeAt(shared)) shared++;
  return shared;
}
