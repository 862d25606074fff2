import type { BulkResult } from '../model/envelope';
import { badInput } from '../model/error';
import { isObject, describeKind, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { toConfigurationPath, CONFIGURATION_ROOT } from '../model/path';
import { trusted, safeMessage } from '../model/safe-message';
import { compareDesired } from './compare';
import { ensureResource, ensureResourceAbsent, addEnsureResults, type EnsureResult } from './ensure';
import { expandLinkedParts } from './linked-parts';
import { readIfExists } from './read-if-exists';
import { OrderedTasks } from './ordered-tasks';

/** One resource of a desired state. */
interface DesiredResource {
  /** As it was given. */
  readonly givenPath: string;
  readonly path: string;
  /** Undefined: it is not to be there. */
  readonly body: JsonObject | undefined;
}

/**
 * Makes each resource so, or absent. All are looked at first, on all connections; what differs is written in the order given, since one may
 * need another: a user its server, a role what it refers to. An item that fails does not stop the others.
 * Errors: `BAD_INPUT` naming the item, before anything is sent.
 */
export async function ensureAll(resources: readonly unknown[], allowAbsent: boolean, call: OperationContext): Promise<BulkResult> {
  const items = readItems(resources, allowAbsent, call.settings.prefix);
  const outcomes = new Map<DesiredResource, EnsureResult>();
  const orderedTasks = new OrderedTasks(items);
  try {
    return await call.runEach(
      items,
      async (item, itemCall) => {
        try {
          const unchanged = await checkUnchanged(item, itemCall);
          if (!unchanged) await orderedTasks.waitForPrevious(item);
          outcomes.set(item, unchanged ?? (await ensureItem(item, itemCall)));
        } finally {
          orderedTasks.markDone(item);
        }
      },
      ({ givenPath }) => givenPath,
    );
  } finally {
    addEnsureResults(
      items.flatMap((item) => outcomes.get(item) ?? []),
      call,
    );
  }
}

function ensureItem({ path, body }: DesiredResource, call: OperationContext): Promise<EnsureResult> {
  return body ? ensureResource({ path, body }, call) : ensureResourceAbsent(path, call);
}

/** What is as it should be need not wait for its turn. */
async function checkUnchanged({ path, body }: DesiredResource, call: OperationContext): Promise<EnsureResult | undefined> {
  const read = await readIfExists(path, call);
  if (!body !== !read) return undefined;
  const resource = read && body && (await expandLinkedParts(read, body, call)).resource;
  const { diff, notCompared } = body ? compareDesired(path, body, resource) : { diff: [], notCompared: [] };
  if (diff.length > 0) return undefined;
  call.reportUnchanged();
  return { resource, hasDifferences: false, diff, notCompared, implicit: [] };
}

function readItems(resources: readonly unknown[], allowAbsent: boolean, prefix: string): DesiredResource[] {
  const items = resources.map((resource, index) => readItem(resource, `resources[${index}]`, allowAbsent, prefix));
  const indexByPath = new Map<string, number>();
  items.forEach(({ path }, index) => {
    const other = indexByPath.get(path);
    if (other !== undefined) throw badInput(safeMessage`resources[${other}] and resources[${index}] have the same path. Nothing was sent.`);
    indexByPath.set(path, index);
  });
  return items;
}

function readItem(resource: unknown, name: string, allowAbsent: boolean, prefix: string): DesiredResource {
  if (!isObject(resource))
    throw badInput(safeMessage`${trusted(name)} has to be an object with path and body; ${trusted(describeKind(resource))} came.`);
  const { path: givenPath, body, absent, ...rest } = resource;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw badInput(safeMessage`${trusted(name)} has ${JSON.stringify(unknown)}, which means nothing here: path, body and absent do.`);
  const path = parsePath(givenPath, name, prefix);
  const displayPath = typeof givenPath === 'string' ? givenPath : path;
  if (absent !== undefined && absent !== false) {
    if (absent !== true || body !== undefined) throw badInput(safeMessage`${trusted(name)}.absent has to be true, without a body.`);
    if (!allowAbsent)
      throw badInput(
        safeMessage`${trusted(name)} is to be absent, but this is not allowed here: allow-absent (May delete) has to be set. Nothing was sent.`,
      );
    return { givenPath: displayPath, path, body: undefined };
  }
  if (!isObject(body)) throw badInput(safeMessage`${trusted(name)}.body has to be an object; ${trusted(describeKind(body))} came.`);
  return { givenPath: displayPath, path, body };
}

function parsePath(givenPath: unknown, name: string, prefix: string): string {
  if (typeof givenPath !== 'string' && !Array.isArray(givenPath))
    throw badInput(safeMessage`${trusted(name)}.path has to be text or an array; ${trusted(describeKind(givenPath))} came.`);
  return toResourcePath(givenPath as string | string[], prefix);
}

/** A path below the configuration that can be written, without the slash at its end: two ways to write it are one resource. */
export function toResourcePath(givenPath: string | readonly string[], prefix: string): string {
  const path = toConfigurationPath(givenPath, prefix).replace(/\/$/, '');
  if (path === CONFIGURATION_ROOT) throw badInput('path is the root of the configuration, which can only be read.');
  return path;
}
