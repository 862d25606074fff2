import type { Json, JsonObject } from '../body-shape';
import type { SimulatorSettings } from '../options';
import { Refusal } from '../reply';
import { seedConfiguration } from '../seed';
import { Collection, Resource, type TreeNode } from '../tree';
import { CopyResource } from './copy-resource';
import { JsonStore } from './json-store';
import { type CopySource, type CopyListener, type ResourceCallback, readCopy } from './read-copy';

/** The fields that name an item, the most frequent first. */
const KEY_FIELDS = ['name', 'username'];
const KEY_FIELD = /(?:^|-)(?:name|id|version|pattern|address|number|key)$/;

/** The fields that may name the items of a resource, and the number of items so far. */
interface KeyCandidates {
  fields: readonly string[];
  count: number;
}

/** The configuration of another appliance, with a way to create new items. */
export interface ConfigurationCopy {
  readonly source: CopySource;
  readonly root: CopyResource;
  /** A new, empty collection at a path of the copy. */
  createCollection(path: readonly string[], body: JsonObject): Collection;
}

/** Builds the tree of a copy. Throws a plain sentence if a file cannot be read. */
export function buildCopy(from: readonly (string | JsonObject)[], settings: SimulatorSettings): ConfigurationCopy {
  const builder = new CopyBuilder(settings);
  const source = readCopy(from, { onResource: builder.add, onEmpty: builder.addEmpty });
  const root = builder.finish();
  root.unlisted.add('uac');
  return { source, root, createCollection: (path, body) => builder.createCollection(path, readKeyField(path, body, builder)) };
}

/** The field that names the first item of a new collection. */
function readKeyField(path: readonly string[], body: JsonObject, builder: CopyBuilder): string {
  const known = builder.findTemplate(path)?.keyField;
  const fields = Object.keys(body).filter((field) => typeof body[field] === 'string' && body[field] !== '');
  return known ?? [...KEY_FIELDS, ...fields.filter((field) => KEY_FIELD.test(field))].find((field) => fields.includes(field)) ?? 'name';
}

class CopyBuilder {
  private readonly root = new CopyResource();
  private readonly store = new JsonStore();
  private readonly candidates = new Map<CopyResource, KeyCandidates>();
  /** Paths of linked collections without items. */
  private readonly empty: (readonly string[])[] = [];
  private seed: Resource | undefined;

  constructor(private readonly settings: SimulatorSettings) {}

  readonly add: ResourceCallback = (segments, fields) => {
    let node = this.root;
    let parent: CopyResource | undefined;
    for (const segment of segments) {
      const child = node.children.get(segment);
      const next = child instanceof CopyResource ? child : new CopyResource();
      if (next !== child) node.addChild(segment, next);
      parent = node;
      node = next;
    }
    node.setSource(this.store, fields);
    if (parent) this.recordKeys(parent, segments.at(-1) ?? '', fields);
  };

  readonly addEmpty: CopyListener['onEmpty'] = (segments, lists) => {
    this.add(segments, Object.fromEntries(lists.map((name) => [name, []])));
    if (lists.length === 1 && lists[0] === segments.at(-1)) this.empty.push(segments);
  };

  finish(): CopyResource {
    this.convertChildren(this.root, []);
    for (const path of this.empty) this.convertEmpty(path);
    this.candidates.clear();
    return this.root;
  }

  private recordKeys(parent: CopyResource, segment: string, fields: JsonObject): void {
    const known = this.candidates.get(parent);
    if (!known) this.candidates.set(parent, { fields: Object.keys(fields).filter((name) => isNameOf(segment, fields[name])), count: 1 });
    else {
      known.count++;
      if (!known.fields.every((name) => isNameOf(segment, fields[name])))
        known.fields = known.fields.filter((name) => isNameOf(segment, fields[name]));
    }
  }

  private findKeyField(node: CopyResource): string | undefined {
    const { fields = [], count = 0 } = this.candidates.get(node) ?? {};
    const known = [...KEY_FIELDS, ...fields.filter((field) => KEY_FIELD.test(field))].find((field) => fields.includes(field));
    return known ?? (count > 1 ? fields[0] : undefined);
  }

  /** Turns every resource whose children are named by one of their fields into a collection. */
  private convertChildren(node: CopyResource, path: readonly string[], holdsItems = false): void {
    for (const [name, child] of node.children) {
      if (!(child instanceof CopyResource)) continue;
      const childPath = [...path, name];
      // An item is not a collection, even if its children are named by a field.
      const keyField = holdsItems ? undefined : this.findKeyField(child);
      this.convertChildren(child, childPath, keyField !== undefined);
      if (keyField !== undefined) {
        const collection = this.createCollection(childPath, keyField);
        collection.fields = Object.fromEntries(child.fields());
        for (const [key, item] of child.children) if (item instanceof Resource) collection.items.set(key, item);
        node.addChild(name, collection);
      }
    }
    if (path.length === AUTH_SERVER_DEPTH && path[1] === 'auth-servers') this.addLocalUsers(node, path);
  }

  private convertEmpty(path: readonly string[]): void {
    const parent = findTreeNode(this.root, path.slice(0, -1));
    if (!(parent instanceof CopyResource)) return;
    const collection = this.createCollection(path, this.findTemplate(path)?.keyField ?? 'name');
    collection.isLinked = true;
    parent.addChild(path.at(-1) ?? '', collection);
  }

  /** The list of local users is lost in a snapshot if it is empty and linked. */
  private addLocalUsers(server: CopyResource, path: readonly string[]): void {
    const { 'auth-server-type': type } = Object.fromEntries(server.fields());
    if (type !== 'local') return;
    let node = server;
    for (const name of ['local', 'users']) {
      const child = node.children.get(name) ?? new CopyResource();
      if (!(child instanceof CopyResource)) return;
      if (!node.children.has(name)) child.isImplied = true;
      node.addChild(name, child);
      node = child;
    }
    if (node.children.has('user') || node.hasField('user')) return;
    const users = this.createCollection([...path, 'local', 'users', 'user'], 'username');
    users.isImplied = true;
    node.addChild('user', users);
  }

  createCollection(path: readonly string[], keyField: string): Collection {
    return new Collection(
      path.at(-1) ?? '',
      keyField,
      (body) => this.createItem(path, body),
      (name) => this.findReference(path, name),
    );
  }

  /** A new item has the defaults that this simulator knows, and needs the fields that it requires. */
  private createItem(path: readonly string[], body: JsonObject): Resource {
    const template = this.findTemplate(path)?.createItem(body);
    const missing = template?.findProblems(body, false).filter((problem) => problem.endsWith(' is missing')) ?? [];
    if (missing.length > 0) throw new Refusal(422, `Validation failed: ${missing.join('; ')}`);
    return template ? this.copyTemplate(template, [...path, '']) : new CopyResource();
  }

  private copyTemplate(template: Resource, path: readonly string[]): CopyResource {
    const copy = CopyResource.from(Object.fromEntries(template.fields()));
    for (const [name, child] of template.children) {
      const childPath = [...path, name];
      const node: TreeNode =
        child instanceof Resource ? this.copyTemplate(child, childPath) : this.createCollection(childPath, child.keyField);
      node.isImplied = true;
      copy.addChild(name, node);
    }
    return copy;
  }

  /** The collection that a fresh simulator has at this path. */
  findTemplate(path: readonly string[]): Collection | undefined {
    this.seed ??= seedConfiguration(this.settings, () => undefined);
    let node: TreeNode | undefined = this.seed;
    let copied: TreeNode | undefined = this.root;
    for (const segment of path) {
      copied = copied instanceof Collection ? copied.items.get(segment) : copied?.children.get(segment);
      if (node instanceof Collection) {
        const fields: JsonObject = copied instanceof Resource ? Object.fromEntries(copied.fields()) : {};
        node = node.createItem({ ...fields, [node.keyField]: segment });
      } else node = node?.children.get(segment);
    }
    return node instanceof Collection ? node : undefined;
  }

  /** Roles and auth servers that a realm uses cannot be deleted. */
  private findReference(path: readonly string[], name: string): string | undefined {
    const place = path.join('/');
    const isServer = place === 'authentication/auth-servers/auth-server';
    const realmPaths = isServer ? [ADMIN_REALMS, USER_REALMS] : REALMS_BY_ROLES[place];
    for (const realmPath of realmPaths ?? []) {
      for (const [realm, item] of findCollection(this.root, realmPath)?.items ?? []) {
        const isUsed = isServer ? item.text('authentication-server') === name : findMappedRoles(item).includes(name);
        if (isUsed) return `Reference error: ${isServer ? 'the auth server' : 'the role'} ${name} is used by the realm ${realm}.`;
      }
    }
    return undefined;
  }
}

const AUTH_SERVER_DEPTH = 4;
export const ADMIN_REALMS = ['administrators', 'admin-realms', 'realm'];
export const USER_REALMS = ['users', 'user-realms', 'realm'];
const REALMS_BY_ROLES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'administrators/admin-roles/admin-role': [ADMIN_REALMS],
  'users/user-roles/user-role': [USER_REALMS],
};

/** The collection at a path, if the copy has it. */
export function findCollection(root: Resource, path: readonly string[]): Collection | undefined {
  const node = findTreeNode(root, path);
  return node instanceof Collection ? node : undefined;
}

export function findTreeNode(root: Resource, path: readonly string[]): TreeNode | undefined {
  let node: TreeNode | undefined = root;
  for (const segment of path) node = node instanceof Collection ? node.items.get(segment) : node?.children.get(segment);
  return node;
}

/** The roles that the rules of a realm give. */
export function findMappedRoles(realm: Resource): string[] {
  const rules = realm.children.get('role-mapping-rules');
  if (!(rules instanceof Resource)) return [];
  const { rule } = Object.fromEntries(rules.fields());
  const list: readonly Json[] = Array.isArray(rule) ? rule : [];
  return list.flatMap((one) => {
    const roles = typeof one === 'object' && one !== null && !Array.isArray(one) ? one.roles : undefined;
    return Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [];
  });
}

/** Some appliances trim a name, or change its case, before they file an item under it. */
function isNameOf(segment: string, value: Json | undefined): boolean {
  if (typeof value !== 'string' && typeof value !== 'number') return false;
  const text = String(value);
  return text === segment || text.trim().toLowerCase() === segment.trim().toLowerCase();
}
