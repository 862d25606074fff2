import { resolve } from 'node:path';
import { compareResources, containsOnlyLinks, SECRET_MASK, toPointerSegment, type FieldLocation } from '../change/compare';
import { ensureResource, addEnsureResults, type EnsureResult } from '../change/ensure';
import { readIfExists } from '../change/if-exists';
import type { BulkResult } from '../model/envelope';
import { badInput } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { safeMessage } from '../model/safe-message';
import { isSecretKey } from '../model/secrets';
import { SnapshotFolder, type SnapshotEntry } from './snapshot-folder';
import { IgnoreRules } from './ignore-rules';
import { isPathWithin, isPathWithinAny } from './resource-path';
import { isEmptyResource, canonicalize } from './resource';
import { readOrigin, refuseOtherAppliance, resolveRootPath } from './take';
import { DependencyScheduler } from './dependency-scheduler';

export interface RevertSnapshotInput {
  readonly folder: string;
  readonly path: readonly string[];
}

const READ_CONCURRENCY = 16;

/**
 * Restores the resources that the folder holds at and below the given paths. Each one is compared first and written only if it differs;
 * parents come before children. Resources that were added since stay. Throws `BAD_INPUT` before anything is written, also if the folder
 * holds nothing for a path.
 */
export async function revertSnapshot({ folder: folderPath, path }: RevertSnapshotInput, call: OperationContext): Promise<BulkResult> {
  const folder = await SnapshotFolder.openExisting(resolve(folderPath));
  const entries = await selectEntries(
    folder,
    path.map((requestedPath) => resolveRootPath(requestedPath, call)),
  );
  // A damaged file must be found before anything is written.
  await mapConcurrently(entries, READ_CONCURRENCY, ([, names]) => folder.read(names).then(() => undefined));
  if (entries.length > 0)
    refuseOtherAppliance(folder.manifest, await readOrigin(call, folder.manifest.path, new IgnoreRules()), folder.folder);
  return new SnapshotReverter(folder, call).run(entries);
}

async function selectEntries(
  folder: SnapshotFolder & { readonly manifest: { readonly path: string } },
  roots: readonly string[],
): Promise<readonly SnapshotEntry[]> {
  const requestedRoots = new Set(roots);
  const all = await folder.entries(folder.manifest.path);
  const found = new Map(all.filter(([resourcePath]) => isPathWithinAny(resourcePath, requestedRoots)));
  const missingRoot = roots.find((root) => ![...found.keys()].some((resourcePath) => isPathWithin(resourcePath, root)));
  if (missingRoot !== undefined)
    throw badInput(safeMessage`${folder.folder} has no resource at or below ${missingRoot}. Nothing was sent.`);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

class SnapshotReverter {
  readonly #folder: SnapshotFolder;
  readonly #call: OperationContext;
  readonly #ensured = new Map<string, EnsureResult>();
  readonly #incomplete = new Map<string, readonly FieldLocation[]>();

  constructor(folder: SnapshotFolder, call: OperationContext) {
    this.#folder = folder;
    this.#call = call;
  }

  async run(entries: readonly SnapshotEntry[]): Promise<BulkResult> {
    const resourcePaths = entries.map(([resourcePath]) => resourcePath);
    const scheduler = new DependencyScheduler(resourcePaths, 2 * this.#call.settings.connections);
    const work = async ([resourcePath, names]: SnapshotEntry, itemCall: OperationContext): Promise<void> => {
      await scheduler.run(resourcePath, async () => this.#revertResource(resourcePath, await this.#folder.read(names), itemCall));
    };
    try {
      return await this.#call.runEach(entries, work, ([resourcePath]) => resourcePath);
    } finally {
      addEnsureResults([...this.#ensured.values()], this.#call);
      const incomplete = [...this.#incomplete.values()].flat();
      if (incomplete.length > 0) this.#call.addToEnvelope({ incomplete });
    }
  }

  async #revertResource(resourcePath: string, stored: JsonObject, call: OperationContext): Promise<void> {
    // An empty list equals a missing resource.
    if (isEmptyResource(stored) && !(await readIfExists(resourcePath, call))) return void call.reportUnchanged();
    const incomplete: FieldLocation[] = [];
    const body = (present: JsonObject | undefined): JsonObject => {
      incomplete.length = 0;
      return buildBody(stored, present ?? {}, (field) => incomplete.push({ path: resourcePath, field }), '');
    };
    const ensured = await ensureResource({ path: resourcePath, body }, call);
    this.#ensured.set(resourcePath, ensured);
    if (ensured.hasDifferences)
      this.#incomplete.set(resourcePath, [...incomplete, ...findAddedFields(resourcePath, stored, ensured.resource ?? {})]);
  }
}

/** Returns fields that were added since. A PUT does not remove them. */
function findAddedFields(resourcePath: string, stored: JsonObject, current: JsonObject): FieldLocation[] {
  return compareResources(resourcePath, stored, canonicalize(current))
    .filter(({ before, after }) => before === null && after !== SECRET_MASK)
    .map(({ path, field }) => ({ path, field }));
}

/** Returns the body to send, without the masked secrets. The appliance keeps its own. */
function buildBody(stored: JsonObject, present: JsonObject, onMissingSecret: (field: string) => void, field: string): JsonObject {
  const body: [string, unknown][] = [];
  for (const [key, value] of Object.entries(stored)) {
    const fieldPath = field + toPointerSegment(key);
    const presentValue = Object.hasOwn(present, key) ? present[key] : undefined;
    if (value === SECRET_MASK && isSecretKey(key, stored)) onMissingSecret(fieldPath);
    else if (isObject(value)) body.push([key, buildBody(value, isObject(presentValue) ? presentValue : {}, onMissingSecret, fieldPath)]);
    else if (!Array.isArray(value)) body.push([key, value]);
    // A list of nothing where links are now: they are resources of their own.
    else if (value.length > 0 || !containsOnlyLinks(presentValue))
      body.push([key, buildItems(value, presentValue, onMissingSecret, fieldPath)]);
  }
  return Object.fromEntries(body);
}

/** An unchanged item is sent as the appliance shows it, with its secrets. */
function buildItems(stored: readonly unknown[], presentValue: unknown, onMissingSecret: (field: string) => void, field: string): unknown[] {
  const present: unknown[] = Array.isArray(presentValue) ? presentValue : [];
  return stored.map((item, index) => {
    const current = present[index];
    if (!isObject(item)) return item;
    if (isObject(current) && compareResources('', item, canonicalize(current)).length === 0) return current;
    return buildBody(item, {}, onMissingSecret, `${field}/${index}`);
  });
}
