import { isObject } from '../model/json';

type ValueKind = 'null' | 'boolean' | 'number' | 'text' | 'object' | 'array';

/** Paths of keys with their kinds, such as `users/[]/name: text`. `|` separates kinds; `?` marks a key that some items lack. */
export type ProfileKeys = Readonly<Record<string, string>>;

const MAX_DEPTH = 12;
const MAX_ITEMS = 500;

function getValueKind(value: unknown): ValueKind {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean' || typeof value === 'number') return typeof value as 'boolean' | 'number';
  return isObject(value) ? 'object' : 'text';
}

/** The kinds of a value and of everything below it, merged from all added values. It stores no value itself. */
export class ResponseShape {
  readonly #kinds = new Set<ValueKind>();
  #objects = 0;
  readonly #seen = new Map<string, number>();
  readonly #children = new Map<string, ResponseShape>();
  #items: ResponseShape | undefined;

  add(value: unknown, depth = 0): void {
    const kind = getValueKind(value);
    this.#kinds.add(kind);
    if (depth >= MAX_DEPTH) return;
    if (Array.isArray(value)) for (const item of value.slice(0, MAX_ITEMS)) (this.#items ??= new ResponseShape()).add(item, depth + 1);
    if (!isObject(value)) return;
    this.#objects++;
    for (const [key, child] of Object.entries(value)) {
      const shape = this.#children.get(key) ?? new ResponseShape();
      this.#children.set(key, shape);
      this.#seen.set(key, (this.#seen.get(key) ?? 0) + 1);
      shape.add(child, depth + 1);
    }
  }

  /** `nameKey` returns what may be shown of a key. Two keys with the same name are merged. */
  toKeys(nameKey: (key: string) => string, path = '', into: Record<string, string> = {}): ProfileKeys {
    for (const [key, shape] of this.#children) {
      const childPath = joinPath(path, nameKey(key));
      const isOptional = (this.#seen.get(key) ?? 0) < this.#objects;
      into[childPath] ??= shape.#describe(isOptional);
      shape.toKeys(nameKey, childPath, into);
    }
    if (this.#items) {
      const itemPath = joinPath(path, '[]');
      into[itemPath] ??= this.#items.#describe(false);
      this.#items.toKeys(nameKey, itemPath, into);
    }
    return into;
  }

  #describe(isOptional: boolean): string {
    return [...this.#kinds].sort().join('|') + (isOptional ? '?' : '');
  }
}

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`;
}

/** Returns the kinds of an entry without `null`, because a key may have no value at the moment. */
export function parseKindsWithoutNull(entry: string): string[] {
  return entry
    .replace('?', '')
    .split('|')
    .filter((kind) => kind !== 'null');
}
