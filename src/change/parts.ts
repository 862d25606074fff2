import { isObject, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { CONFIGURATION } from '../model/path';
import { isHyperlink } from './compare';
import { readIfThere } from './read';

/** A resource, and those parts of it that have a path of their own and are given with it. */
export interface Whole {
  /** With the parts in the place of their links. */
  readonly resource: JsonObject;
  /** The parts by path, as they were read. */
  readonly parts: Readonly<Record<string, JsonObject>>;
}

/**
 * What is given may hold what the appliance shows as a link: an appliance takes both together, and a comparison needs what the link leads to.
 * Reads those parts, and theirs. `known`: as the run has just read them.
 */
export async function withParts(present: JsonObject, given: JsonObject, call: Call, known = false): Promise<Whole> {
  const parts: Record<string, JsonObject> = {};
  const resource: [string, unknown][] = [];
  for (const [key, value] of Object.entries(present)) {
    const wanted = Object.hasOwn(given, key) ? given[key] : undefined;
    const place = isHyperlink(value) && isObject(wanted) && !isHyperlink(wanted) ? hrefOf(value) : undefined;
    const part = place === undefined ? undefined : await readIfThere(place, call, known);
    if (place === undefined || !part || !isObject(wanted)) {
      resource.push([key, value]);
      continue;
    }
    const whole = await withParts(part, wanted, call, known);
    Object.assign(parts, { [place]: part }, whole.parts);
    resource.push([key, whole.resource]);
  }
  return { resource: Object.fromEntries(resource), parts };
}

/** Where a hyperlink leads, below the address of the interface. An href may carry the path of the base URL. */
export function hrefOf(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['href'] !== 'string') return undefined;
  const start = value['href'].indexOf(`${CONFIGURATION}/`);
  return start < 0 ? undefined : value['href'].slice(start).replace(/\/$/, '');
}
