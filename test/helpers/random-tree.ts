import { encodePathSegment } from '../../src/model/path';
import { CONFIGURATION_PATH } from './snapshot';

export type Document = Record<string, unknown>;

/** Documents with links, by path: what an appliance answers. */
export type RandomTree = Map<string, Document>;

const NAMES = [
  'Users',
  'users',
  'Büro #1/EU & 50%',
  '.Administrators',
  'con',
  'a~b',
  'trailing.',
  'role.json',
  '山田',
  'x'.repeat(200),
  '*',
];
const WORDS = ['general', 'session-options', 'web', 'policy', 'network', 'overview', 'ports', 'settings'];

/** A random configuration: branches, collections in two forms, and fields of all kinds. The same seed gives the same tree. */
export function createRandomTree(seed: number, size: number): RandomTree {
  return new RandomTreeBuilder(seed, size).build();
}

class RandomTreeBuilder {
  readonly #tree: RandomTree = new Map();
  readonly #size: number;
  #state: number;

  constructor(seed: number, size: number) {
    this.#state = seed >>> 0;
    this.#size = size;
  }

  build(): RandomTree {
    const root: Document = {};
    this.#tree.set(CONFIGURATION_PATH, root);
    const open: { path: string; document: Document; depth: number }[] = [{ path: CONFIGURATION_PATH, document: root, depth: 0 }];
    for (let at = 0; this.#tree.size < this.#size; at = (at + 1) % open.length) {
      const parent = open[at];
      if (!parent || parent.depth > 7) continue;
      const name = `${this.#pick(WORDS)}-${this.#next(1000)}`;
      if (name in parent.document) continue;
      const path = `${parent.path}/${name}`;
      const isCollection = this.#next(3) === 0;
      const added = isCollection ? this.#addCollection(parent.document, path, name) : [this.#addBranch(parent.document, path, name)];
      open.push(...added.map(([below, document]) => ({ path: below, document, depth: parent.depth + 1 })));
    }
    return this.#tree;
  }

  #addBranch(parent: Document, path: string, name: string): [string, Document] {
    const document = this.#next(4) === 0 ? {} : this.#fields();
    parent[name] = { href: path };
    this.#tree.set(path, document);
    return [path, document];
  }

  #addCollection(parent: Document, path: string, name: string): [string, Document][] {
    const key = this.#pick(['name', 'name', 'username', 'address']);
    const count = this.#next(5) === 0 ? 0 : 1 + this.#next(12);
    const items: [string, Document][] = [];
    const entries: Document[] = [];
    for (let index = 0; index < count; index++) {
      const itemName = this.#next(3) === 0 ? `${this.#pick(NAMES)}${index}` : `Item ${index}`;
      const href = `${path}/${encodePathSegment(itemName)}`;
      if (this.#tree.has(href)) continue;
      entries.push({ name: itemName, href });
      const document = { ...this.#fields(), [key]: itemName };
      this.#tree.set(href, document);
      items.push([href, document]);
    }
    parent[name] = entries;
    this.#tree.set(path, { [name]: entries });
    return items;
  }

  #fields(): Document {
    const fields: Document = {};
    for (let count = 1 + this.#next(5); count > 0; count--) fields[`field-${this.#next(500)}`] = this.#value(0);
    return fields;
  }

  #value(depth: number): unknown {
    const kind = this.#next(depth > 2 ? 6 : 8);
    if (kind === 6) return Array.from({ length: this.#next(3) }, () => ({ id: this.#next(9), part: this.#value(depth + 1) }));
    if (kind === 7) return { enabled: 'true', part: this.#value(depth + 1) };
    return [this.#next(1e6), 'true', `text ${this.#next(1e6)} ü`, null, false, ['a', 'b']][kind];
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#next(list.length)] as T;
  }

  /** Mulberry32. */
  #next(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }
}
