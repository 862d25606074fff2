import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { isHyperlink, readLinkPath } from './hyperlinks';
import { readIfExists } from './if-exists';

/** A resource together with the linked parts that the desired body also contains. */
interface ExpandedResource {
  /** The resource with each part in place of its link. */
  readonly resource: JsonObject;
  /** The parts by path, as the appliance shows them. */
  readonly parts: Readonly<Record<string, JsonObject>>;
}

/**
 * Reads the parts that the desired body contains but that the appliance shows only as links, at any depth. `allowCached` accepts reads of
 * the same run.
 */
export async function expandLinkedParts(
  current: JsonObject,
  desired: JsonObject,
  call: OperationContext,
  allowCached = false,
): Promise<ExpandedResource> {
  const parts: Record<string, JsonObject> = {};
  const resource: [string, unknown][] = [];
  for (const [key, value] of Object.entries(current)) {
    const desiredPart = Object.hasOwn(desired, key) ? desired[key] : undefined;
    const partPath = isHyperlink(value) && isObject(desiredPart) && !isHyperlink(desiredPart) ? readLinkPath(value) : undefined;
    const part = partPath === undefined ? undefined : await readIfExists(partPath, call, allowCached);
    if (partPath === undefined || !part || !isObject(desiredPart)) {
      resource.push([key, value]);
      continue;
    }
    const expanded = await expandLinkedParts(part, desiredPart, call, allowCached);
    Object.assign(parts, { [partPath]: part }, expanded.parts);
    resource.push([key, expanded.resource]);
  }
  return { resource: Object.fromEntries(resource), parts };
}
