import type { Json, JsonObject } from '../body-shape';
import { Resource, type TreeNode } from '../tree';
import type { JsonStore } from './json-store';

/** The one field of local users that an appliance stores and never shows. */
const WRITE_ONLY_FIELD = 'password-cleartext';

/** Children that belong to one resource, unlike the empty map that all others share. */
class OwnChildren extends Map<string, TreeNode> {}

/**
 * A resource of a copied configuration. It takes any field, because only the original knows which ones there are. Its fields stay JSON text
 * until something changes them: a copy has many thousand resources.
 */
export class CopyResource extends Resource {
  /** Undefined when the fields are values, or when there are none. */
  private store: JsonStore | undefined;
  private position = 0;

  static from(fields: JsonObject): CopyResource {
    const resource = new CopyResource();
    for (const [name, value] of Object.entries(fields)) resource.values.set(name, value);
    return resource;
  }

  setSource(store: JsonStore, fields: JsonObject): void {
    this.store = store;
    this.position = store.add(fields);
  }

  addChild(name: string, node: TreeNode): void {
    if (this.children instanceof OwnChildren) this.children.set(name, node);
    else this.children = new OwnChildren([[name, node]]);
  }

  removeChild(name: string): void {
    if (this.children instanceof OwnChildren) this.children.delete(name);
  }

  override fields(): Iterable<[string, Json]> {
    return this.store ? Object.entries(this.store.read(this.position)) : super.fields();
  }

  override hasField(name: string): boolean {
    for (const [field] of this.fields()) if (field === name) return true;
    return false;
  }

  override isSecret(name: string): boolean {
    return name === WRITE_ONLY_FIELD;
  }

  override findProblems(): string[] {
    return [];
  }

  protected override loadValues(): Map<string, Json> {
    const values = new Map(this.fields());
    this.store = undefined;
    return values;
  }
}
