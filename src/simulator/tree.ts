import { type BodyField, type Json, type JsonObject, type BodyShape, isObject, inferField, findProblems } from './body-shape';
import { Refusal } from './reply';
import { encodePathSegment } from './url';
import type { Variants } from './variants';

/** The configuration tree as state (appliance-api.md, "Generic configuration tree"): resources, and collections of them. */
export type TreeNode = Resource | Collection;

export interface ResourceHooks {
  /** Returns a sentence if the values break referential integrity, or undefined. */
  verify?: (values: JsonObject) => string | undefined;
  /** Changes the values before they are stored, e.g. in a directory that assigns ids. */
  prepare?: (values: JsonObject) => JsonObject;
  onChange?: (fields: readonly string[]) => void;
}

const NO_CHILDREN: ReadonlyMap<string, TreeNode> = new Map();
const NO_SHAPE: BodyShape = {};
const NO_HOOKS: ResourceHooks = {};

export class Resource {
  readonly shape: BodyShape;
  /** Served, but not listed in the parent until something is written to it. */
  isImplied = false;
  private valueMap: Map<string, Json> | undefined;
  private unlistedNames: Set<string> | undefined;

  /** Fields without a shape keep the kind of their first value. */
  constructor(
    values: JsonObject = {},
    public children: ReadonlyMap<string, TreeNode> = NO_CHILDREN,
    shape: BodyShape = NO_SHAPE,
    readonly hooks: ResourceHooks = NO_HOOKS,
  ) {
    const entries = Object.entries(values);
    if (entries.length === 0) {
      this.shape = shape;
      return;
    }
    const inferred: Record<string, BodyField> = { ...shape };
    for (const [name, value] of entries) {
      inferred[name] ??= inferField(value);
      this.values.set(name, value);
    }
    this.shape = inferred;
  }

  get values(): Map<string, Json> {
    return (this.valueMap ??= this.loadValues());
  }

  /** Children that are served but not listed in the parent (the policy appliance's `uac`). */
  get unlisted(): Set<string> {
    return (this.unlistedNames ??= new Set());
  }

  /** Reads the fields without keeping them. */
  fields(): Iterable<[string, Json]> {
    return this.valueMap ?? [];
  }

  hasField(name: string): boolean {
    return Object.hasOwn(this.shape, name);
  }

  /** Whether a field is stored but never shown. */
  isSecret(name: string): boolean {
    return this.shape[name]?.isSecret === true;
  }

  findProblems(values: JsonObject, isPartial: boolean): string[] {
    return findProblems(values, this.shape, isPartial);
  }

  isListed(name: string): boolean {
    return this.unlistedNames?.has(name) !== true;
  }

  protected loadValues(): Map<string, Json> {
    return new Map();
  }

  resource(...path: string[]): Resource {
    const current = path.reduce<TreeNode | undefined>(
      (at, name) => (at instanceof Resource ? at.children.get(name) : at?.items.get(name)),
      this,
    );
    if (!(current instanceof Resource)) throw new Error(`No resource ${path.join('/')}`);
    return current;
  }

  collection(...path: string[]): Collection {
    const found = this.resource(...path.slice(0, -1)).children.get(path.at(-1) ?? '');
    if (!(found instanceof Collection)) throw new Error(`No collection ${path.join('/')}`);
    return found;
  }

  text(field: string): string {
    const value = this.values.get(field);
    return typeof value === 'string' ? value : '';
  }
}

export class Collection {
  readonly items = new Map<string, Resource>();
  /** Fields of the collection besides its items. */
  fields: JsonObject = {};
  /** The parent has a link to it, also if the variant `collectionInParent` shows lists. */
  isLinked = false;
  /** Not listed in the parent until it has an item. */
  isImplied = false;

  constructor(
    readonly itemName: string,
    /** The field that identifies an item: `name`, `username`, `address`. */
    readonly keyField: string,
    /** A new item with its defaults; what it holds may depend on the body (an AD server has a catalog). */
    readonly createItem: (body: JsonObject) => Resource,
    /** Returns a sentence if something still refers to an item, which then cannot be deleted. */
    readonly findReference: (name: string) => string | undefined = () => undefined,
  ) {}

  /** Adds an item without checks, for seeds and tests. */
  add(values: JsonObject): Resource {
    const item = this.createItem(values);
    for (const [name, value] of Object.entries(values)) item.values.set(name, value);
    const name = values[this.keyField];
    if (typeof name !== 'string') throw new Error(`An item of ${this.itemName} needs ${this.keyField}`);
    this.items.set(name, item);
    return item;
  }
}

export const toChildMap = (entries: Record<string, TreeNode>): ReadonlyMap<string, TreeNode> => new Map(Object.entries(entries));
export const createBranch = (entries: Record<string, TreeNode>): Resource => new Resource({}, toChildMap(entries));

/** An implied node is visible after a write to it or below it. */
export function isVisible(node: TreeNode): boolean {
  if (!node.isImplied) return true;
  return node instanceof Collection ? node.items.size > 0 : [...node.children.values()].some(isVisible);
}

/** Renders a resource for GET: its fields except secrets, hyperlinks for sub-resources, entries for collections. */
export function renderResource(resource: Resource, href: string, variants: Variants, isExpanded = false): JsonObject {
  const rendered: JsonObject = {};
  for (const [name, value] of resource.fields()) if (!resource.isSecret(name)) rendered[name] = value;
  for (const [name, child] of resource.children) {
    if (!resource.isListed(name) || !isVisible(child)) continue;
    const link = `${href}/${encodePathSegment(name)}`;
    const inline = child instanceof Collection && !child.isLinked && (variants.collectionInParent === 'list' || isExpanded);
    rendered[name] = inline ? renderEntries(child, link, variants, isExpanded) : { href: link };
  }
  return rendered;
}

/** `[{ name, href }]` (field notes, "Tree"), or complete items if the caller asked to expand. */
export function renderEntries(collection: Collection, href: string, variants: Variants, isExpanded = false): Json[] {
  const users = collection.keyField === 'username' ? variants.userEntries : 'name';
  return [...collection.items].map(([name, item]) => {
    const link = `${href}/${encodePathSegment(name)}`;
    if (isExpanded || users === 'whole') return renderResource(item, link, variants);
    if (variants.entryLinks === 'text') return name;
    return variants.entryLinks === 'none' ? { [users]: name } : { [users]: name, href: link };
  });
}

/** Checks a body against a resource and its children, and returns a function that stores it. Nothing is stored unless all of it is valid. */
export function planUpdate(resource: Resource, body: JsonObject, isPartial: boolean): () => void {
  const own: JsonObject = {};
  const commits: (() => void)[] = [];
  for (const [name, value] of Object.entries(body)) {
    const child = resource.children.get(name);
    if (!child) own[name] = value;
    else if (child instanceof Resource && isObject(value) && typeof value.href !== 'string')
      commits.push(planUpdate(child, value, isPartial));
    else if (!isUnchangedLink(value)) throw new Refusal(422, `Validation failed: ${name} is a sub-resource and is changed at its own path`);
  }
  const wrong = resource.findProblems(own, isPartial);
  if (wrong.length > 0) throw new Refusal(422, `Validation failed: ${wrong.join('; ')}`);
  const refused = resource.hooks.verify?.(own);
  if (refused !== undefined) throw new Refusal(422, refused);
  return () => {
    resource.isImplied = false;
    for (const [name, value] of Object.entries(resource.hooks.prepare?.(own) ?? own)) resource.values.set(name, value);
    for (const commit of commits) commit();
    resource.hooks.onChange?.(Object.keys(own));
  };
}

/** Hyperlinks and entries that a client sends back unchanged are not a change. */
function isUnchangedLink(value: Json): boolean {
  const links = Array.isArray(value) ? value : [value];
  return links.every((link) => isObject(link) && typeof link.href === 'string');
}
