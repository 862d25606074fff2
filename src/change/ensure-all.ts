import type { BulkResult } from '../model/envelope';
import { badInput } from '../model/error';
import { isObject, describeValueKind, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { toConfigurationPath, CONFIGURATION_ROOT } from '../model/path';
import { trusted, safeMessage } from '../model/safe-message';
import { compareWithDesired } from './compare';
import { assertDeletionLimit } from './deletion-limit';
import { ensureResource, ensureResourceAbsent, addEnsureResults, type EnsureResult } from './ensure';
import { expandLinkedParts } from './linked-parts';
import { readIfExists } from './if-exists';
import type { UnorderedLists } from './unordered-lists';
import { OrderedTasks } from './ordered-tasks';

/** One item of a desired state. */
interface DesiredResource {
  /** The path as the user wrote it. */
  readonly givenPath: string;
  readonly path: string;
  /** The desired body; undefined if the resource must be absent. */
  readonly body: JsonObject | undefined;
}

interface EnsureAllOptions {
  /** Whether items may be deleted. */
  readonly allowAbsent: boolean;
  /** The maximum number of resources that all deletions together remove. */
  readonly maxDeletions: number;
  /** Lists in which the order of the items does not count. */
  readonly unordered: UnorderedLists;
}

/**
 * Brings each resource into its desired state. All are read first, in parallel. Those that differ are written in the given order, because
 * one may refer to an earlier one. An item that fails does not stop the others. Throws `BAD_INPUT` with the index of the item, or `LIMIT`
 * for too many deletions, before anything is written.
 */
export async function ensureAll(
  resources: readonly unknown[],
  { allowAbsent, maxDeletions, unordered }: EnsureAllOptions,
  call: OperationContext,
): Promise<BulkResult> {
  const items = readItems(resources, allowAbsent, call.settings.prefix);
  const absentPaths = items.filter(({ body }) => !body).map(({ path }) => path);
  if (absentPaths.length > 0) await assertDeletionLimit(absentPaths, maxDeletions, call);
  const outcomes = new Map<DesiredResource, EnsureResult>();
  const orderedTasks = new OrderedTasks(items);
  try {
    return await call.runEach(
      items,
      async (item, itemCall) => {
        try {
          const unchanged = await checkUnchanged(item, unordered, itemCall);
          if (!unchanged) await orderedTasks.waitForPrevious(item);
          outcomes.set(item, unchanged ?? (await ensureItem(item, unordered, itemCall)));
        } finally {
          orderedTasks.markDone(item);
        }
      },
      ({ givenPath: requestedPath }) => requestedPath,
    );
  } finally {
    addEnsureResults(
      items.flatMap((item) => outcomes.get(item) ?? []),
      call,
    );
  }
}

function ensureItem({ path, body }: DesiredResource, unordered: UnorderedLists, call: OperationContext): Promise<EnsureResult> {
  return body ? ensureResource({ path, body, unordered }, call) : ensureResourceAbsent(path, call);
}

/** Returns a result if nothing differs. Such an item does not wait for the items before it. */
async function checkUnchanged(
  { path, body }: DesiredResource,
  unordered: UnorderedLists,
  call: OperationContext,
): Promise<EnsureResult | undefined> {
  // The count of the deletions has just read an absent item.
  const read = await readIfExists(path, call, !body);
  if (!body !== !read) return undefined;
  const resource = read && body && (await expandLinkedParts(read, body, call)).resource;
  const { diff, notCompared } = body
    ? compareWithDesired(path, unordered.align(path, body, resource), resource)
    : { diff: [], notCompared: [] };
  if (diff.length > 0) return undefined;
  call.reportUnchanged();
  return { resource, hasDifferences: false, diff, notCompared, implicit: [] };
}

function readItems(resources: readonly unknown[], allowAbsent: boolean, prefix: string): DesiredResource[] {
  const items = resources.map((resource, index) => readItem(resource, `resources[${index}]`, allowAbsent, prefix));
  const indexByPath = new Map<string, number>();
  items.forEach(({ path }, index) => {
    const firstIndex = indexByPath.get(path);
    if (firstIndex !== undefined)
      throw badInput(safeMessage`resources[${firstIndex}] and resources[${index}] have the same path. Nothing was sent.`);
    indexByPath.set(path, index);
  });
  rejectChildrenOfAbsent(items);
  return items;
}

/** Checks the list of desired states. Throws `BAD_INPUT` if a resource must exist below one that must be absent. */
function rejectChildrenOfAbsent(items: readonly DesiredResource[]): void {
  const absentIndexes = new Map(items.flatMap(({ path, body }, index) => (body ? [] : [[path, index] as const])));
  items.forEach(({ path, body }, index) => {
    for (let end = path.lastIndexOf('/'); body && end > 0; end = path.lastIndexOf('/', end - 1)) {
      const parent = absentIndexes.get(path.slice(0, end));
      if (parent !== undefined)
        throw badInput(
          safeMessage`resources[${parent}] has absent: true, but resources[${index}] is below it and must exist. Nothing was sent.`,
        );
    }
  });
}

function readItem(resource: unknown, name: string, allowAbsent: boolean, prefix: string): DesiredResource {
  if (!isObject(resource))
    throw badInput(
      safeMessage`${trusted(name)} must be an object with path and body, but is ${trusted(describeValueKind(resource))}. Nothing was sent.`,
    );
  const { path: requestedPath, body, absent, ...rest } = resource;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw badInput(
      safeMessage`${trusted(name)} has ${JSON.stringify(unknown)}, which is unknown. The known keys are path, body and absent. Nothing was sent.`,
    );
  const path = parsePath(requestedPath, name, prefix);
  const displayPath = typeof requestedPath === 'string' ? requestedPath : path;
  if (absent !== undefined && absent !== false) {
    if (absent !== true || body !== undefined)
      throw badInput(safeMessage`${trusted(name)}.absent must be true, and body must be missing. Nothing was sent.`);
    if (!allowAbsent)
      throw badInput(safeMessage`${trusted(name)} has absent: true, which needs allow-absent (May delete). Nothing was sent.`);
    return { givenPath: displayPath, path, body: undefined };
  }
  if (!isObject(body))
    throw badInput(safeMessage`${trusted(name)}.body must be an object, but is ${trusted(describeValueKind(body))}. Nothing was sent.`);
  return { givenPath: displayPath, path, body };
}

function parsePath(requestedPath: unknown, name: string, prefix: string): string {
  if (typeof requestedPath !== 'string' && !Array.isArray(requestedPath))
    throw badInput(
      safeMessage`${trusted(name)}.path must be text or an array, but is ${trusted(describeValueKind(requestedPath))}. Nothing was sent.`,
    );
  return toResourcePath(requestedPath as string | string[], prefix);
}

/** Returns a writable configuration path without a trailing slash, so that each resource has exactly one path. */
export function toResourcePath(requestedPath: string | readonly string[], prefix: string): string {
  const path = toConfigurationPath(requestedPath, prefix).replace(/\/$/, '');
  if (path === CONFIGURATION_ROOT) throw badInput('path is the root of the configuration, which can only be read.');
  return path;
}
