const MIN_REFERENCES = 3;
const MAX_OTHER_SHARE = 0.1;
const UNIQUE = -1;

/** Counts resources. The number of the last one avoids a set of those already counted. */
interface ResourceCount {
  count: number;
  last: number;
}

/**
 * A field of one kind of resource: a node of a tree of keys, with `*` for names of objects and for positions in a list. Holds counts only, so
 * its size depends on the number of kinds, not of resources.
 */
export class FieldPattern {
  #children: Map<string, FieldPattern> | undefined;
  /** Resources that hold a value in the field. */
  #holders: ResourceCount | undefined;
  /** By collection: resources that hold the name of a member in the field. */
  #collections: Map<string, ResourceCount> | undefined;

  /** Returns the field of that key, or undefined if nothing was counted below it. */
  find(key: string): FieldPattern | undefined {
    return this.#children?.get(key);
  }

  findOrAdd(key: string): FieldPattern {
    this.#children ??= new Map();
    let child = this.#children.get(key);
    if (!child) this.#children.set(key, (child = new FieldPattern()));
    return child;
  }

  countHolder(resourceNumber: number): void {
    this.#holders ??= { count: 0, last: -1 };
    countOnce(this.#holders, resourceNumber);
  }

  countReference(collection: string, resourceNumber: number): void {
    this.#collections ??= new Map();
    let counted = this.#collections.get(collection);
    if (!counted) this.#collections.set(collection, (counted = { count: 0, last: -1 }));
    countOnce(counted, resourceNumber);
  }

  /** The collections that the field refers to (contract, section 6, "Audit"); empty if it is not a reference. */
  findTargets(): string[] {
    if (!this.#collections || !this.#holders) return [];
    const { count: holders } = this.#holders;
    return [...this.#collections]
      .filter(([, { count }]) => count >= MIN_REFERENCES && holders - count <= holders * MAX_OTHER_SHARE)
      .sort(([, a], [, b]) => b.count - a.count)
      .map(([collection]) => collection);
  }

  /** Adds the targets of all fields at and below this one to `found`. Returns whether there are any. */
  collectTargets(found: Map<FieldPattern, string[]>): boolean {
    const targets = this.findTargets();
    if (targets.length > 0) found.set(this, targets);
    let hasTargets = targets.length > 0;
    for (const child of this.#children?.values() ?? []) if (child.collectTargets(found)) hasTargets = true;
    return hasTargets;
  }
}

function countOnce(counted: ResourceCount, resourceNumber: number): void {
  if (counted.last === resourceNumber) return;
  counted.last = resourceNumber;
  counted.count++;
}

/** The kinds of resources: paths with `*` for names of objects, so that all objects of a collection have the same fields. */
export class ResourceKinds {
  /** The kind of each path, by its index; `UNIQUE` for a path that shares its kind with no other. */
  readonly #kinds: Int32Array;
  readonly #fields: (FieldPattern | undefined)[] = [];

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
    for (const [number, count] of counts.entries()) this.#fields[number] = count >= MIN_REFERENCES ? new FieldPattern() : undefined;
  }

  /** The fields of the kind that the path with this index has, if one of them can be a reference. */
  findFields(index: number): FieldPattern | undefined {
    return this.#fields[this.#kinds[index] ?? UNIQUE];
  }

  /** Finds the fields that are references, with the collections they refer to. Forgets the fields of kinds without any. */
  collectTargets(): Map<FieldPattern, string[]> {
    const found = new Map<FieldPattern, string[]>();
    for (const [number, fields] of this.#fields.entries()) if (!fields?.collectTargets(found)) this.#fields[number] = undefined;
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
