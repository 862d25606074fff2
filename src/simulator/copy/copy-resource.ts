import type { Json, JsonObject } from '../body-shape';
import { Resource, type TreeNode } from '../tree';

/** The one field of local users that an appliance stores and never shows. */
const WRITE_ONLY_FIELD = 'password-cleartext';

/**
 * A resource of a copied configuration. It takes any field, because only the original knows which ones there are. Its fields stay JSON text
 * until something changes them: a copy has many thousand resources.
 */
export class CopyResource extends Resource {
  private source: string | undefined;
  private ownChildren: Map<string, TreeNode> | undefined;

  static from(fields: JsonObject): CopyResource {
    const resource = new CopyResource();
    resource.setSource(JSON.stringify(fields));
    return resource;
  }

  setSource(source: string): void {
    this.source = source;
  }

  addChild(name: string, node: TreeNode): void {
    if (!this.ownChildren) this.children = this.ownChildren = new Map();
    this.ownChildren.set(name, node);
  }

  removeChild(name: string): void {
    this.ownChildren?.delete(name);
  }

  override fields(): Iterable<[string, Json]> {
    return this.source === undefined ? super.fields() : Object.entries(JSON.parse(this.source) as JsonObject);
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
    this.source = undefined;
    return values;
  }
}
