import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { CONFIGURATION_ROOT } from '../model/path';
import { isHyperlink } from './compare';
import { readIfExists } from './read-if-exists';

/** A resource, and those parts of it that have a path of their own and are given with it. */
export interface ExpandedResource {
  /** With the parts in the place of their links. */
  readonly resource: JsonObject;
  /** The parts by path, as they were read. */
  readonly parts: Readonly<Record<string, JsonObject>>;
}

/**
 * What is given may hold what the appliance shows as a link: an appliance takes both together, and a comparison needs what the link leads to.
 * Reads those parts, and theirs. `known`: as the run has just read them.
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

/** Where a hyperlink leads, below the address of the interface. An href may carry the path of the base URL. */
export function readLinkPath(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['href'] !== 'string') return undefined;
  const start = value['href'].indexOf(`${CONFIGURATION_ROOT}/`);
  return start < 0 ? undefined : value['href'].slice(start).replace(/\/$/, '');
}
