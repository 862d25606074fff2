import { resolve } from 'node:path';
import { compareResources, SECRET_MASK, toPointerSegment, type FieldLocation } from '../change/compare';
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
import { findMatchingItem } from '../change/merge-for-put';
import { findEntryLists } from '../change/resource-state';
import { createSnapshotRules, type SnapshotPatterns, type SnapshotRules } from './snapshot-rules';
import { isPathWithin, isPathWithinAny } from './resource-path';
import { isEmptyResource, canonicalizeResource } from './resource';
import { readSnapshotOrigin, assertSameAppliance, resolveSnapshotRoot } from './take';
import { DependencyScheduler } from './dependency-scheduler';
import { containsOnlyLinks } from '../change/hyperlinks';

interface RevertSnapshotInput {
  readonly folder: string;
  readonly path: readonly string[];
}

/** `incomplete` is the number of resources that still differ from the snapshot. */
export interface RevertResult extends BulkResult {
  readonly incomplete: number;
}

const READ_CONCURRENCY = 16;

/**
 * Restores the resources that the folder holds at and below the given paths. Each one is compared first and written only if it differs;
 * parents come before children. Resources that were added since stay. Throws `BAD_INPUT` before anything is written, also if the folder
 * holds nothing for a path.
 */
export async function revertSnapshot({ folder: folderPath, path }: RevertSnapshotInput, call: OperationContext): Promise<RevertResult> {
  const folder = await SnapshotFolder.openExisting(resolve(folderPath));
  const entries = await selectEntries(
    folder,
    path.map((requestedPath) => resolveSnapshotRoot(requestedPath, call)),
  );
  // A damaged file must be found before anything is written.
  await mapConcurrently(entries, READ_CONCURRENCY, ([, names]) => folder.read(names).then(() => undefined));
  if (entries.length > 0) assertSameAppliance(folder.manifest, await readSnapshotOrigin(call, folder.manifest.path), folder.folder);
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
  readonly #rules: SnapshotRules;

  constructor(folder: SnapshotFolder & { readonly manifest: SnapshotPatterns }, call: OperationContext) {
    this.#folder = folder;
    this.#call = call;
    this.#rules = createSnapshotRules(folder.manifest);
  }

  async run(entries: readonly SnapshotEntry[]): Promise<RevertResult> {
    const resourcePaths = entries.map(([resourcePath]) => resourcePath);
    const scheduler = new DependencyScheduler(resourcePaths, 2 * this.#call.settings.connections);
    const work = async ([resourcePath, names]: SnapshotEntry, itemCall: OperationContext): Promise<void> => {
      await scheduler.run(resourcePath, async () => this.#revertResource(resourcePath, await this.#folder.read(names), itemCall));
    };
    try {
      const result = await this.#call.runEach(entries, work, ([resourcePath]) => resourcePath);
      return { ...result, incomplete: [...this.#incomplete.values()].filter(({ length }) => length > 0).length };
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
      const aligned = this.#rules.unordered.align(resourcePath, stored, present);
      return buildBody(aligned, present ?? {}, (field) => incomplete.push({ path: resourcePath, field }), '');
    };
    const ensured = await ensureResource({ path: resourcePath, body, unordered: this.#rules.unordered }, call);
    this.#ensured.set(resourcePath, ensured);
    const remaining = this.#findRemaining(resourcePath, stored, ensured.resource ?? {});
    this.#incomplete.set(resourcePath, uniqueByField([...(ensured.hasDifferences ? incomplete : []), ...remaining]));
  }

  /** Returns fields that still differ: added since, or not taken. A plan knows only those that were added. */
  #findRemaining(resourcePath: string, stored: JsonObject, current: JsonObject): FieldLocation[] {
    // Name lists stand for resources of their own.
    const listKeys = new Set(findEntryLists(resourcePath, current).map(({ key }) => key));
    const own = Object.fromEntries(Object.entries(current).filter(([key]) => !listKeys.has(key) || Object.hasOwn(stored, key)));
    const { ignore, unordered } = this.#rules;
    const counted = unordered.sort(resourcePath, ignore.filterResource(resourcePath, own));
    return compareResources(resourcePath, unordered.sort(resourcePath, stored), canonicalizeResource(counted))
      .filter(({ before }) => before === null || !this.#call.dryRun)
      .map(({ path, field }) => ({ path, field }));
  }
}

function uniqueByField(locations: readonly FieldLocation[]): FieldLocation[] {
  return [...new Map(locations.map((location) => [location.field, location])).values()];
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
    const current = findMatchingItem(present, item, index);
    if (!isObject(item)) return item;
    if (isObject(current) && compareResources('', item, canonicalizeResource(current)).length === 0) return current;
    return buildBody(item, isObject(current) ? current : {}, onMissingSecret, `${field}/${index}`);
  });
}
