import { compareResources, type Difference, type TreeComparison } from '../change/compare';
import { badInput } from '../model/error';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { safeMessage } from '../model/safe-message';
import { crawlConfiguration, addCrawlToEnvelope } from './crawl';
import { createSnapshotRules, type SnapshotRules } from './snapshot-rules';
import { SNAPSHOT_FORMAT } from './manifest';
import { isPathWithin, isPathWithinAny } from './resource-path';
import { createFolderReference, createMessageReference, createApplianceReference, type ComparisonReference } from './comparison-reference';
import { isEmptyResource, canonicalizeResource } from './resource';
import { resolveSnapshotRoot } from './take';
import { formatComparison } from './diff-text';

interface CompareSnapshotInput {
  readonly with?: JsonObject;
  readonly folder?: string;
  readonly other?: string;
  readonly path?: string | string[];
  readonly ignore?: string[];
  readonly unordered?: string[];
}

/**
 * Compares a snapshot or another appliance with the current configuration. Reads a snapshot folder one resource at a time. Throws
 * `BAD_INPUT` and read errors.
 */
export async function compareSnapshot(input: CompareSnapshotInput, call: OperationContext): Promise<TreeComparison> {
  const reference = await createReference(input, call);
  const root = input.path === undefined ? reference.path : resolveSnapshotRoot(input.path, call);
  if (!isPathWithin(root, reference.path))
    throw badInput(safeMessage`path is ${root}, but ${reference.label} begins at ${reference.path}.`);
  const comparer = new SnapshotComparer(reference, createSnapshotRules(input, reference));
  const comparison = await comparer.run(root, call);
  call.addToEnvelope({ text: formatComparison(comparison, call.settings.name, reference.label) });
  return comparison;
}

/** Selects the reference of the comparison. Throws `BAD_INPUT` unless exactly one is given. */
async function createReference(
  { with: snapshotInput, folder, other, path, ignore, unordered }: CompareSnapshotInput,
  call: OperationContext,
): Promise<ComparisonReference> {
  // With a folder or another appliance, a payload that is not a snapshot is ignored.
  const snapshot =
    snapshotInput?.['format'] === SNAPSHOT_FORMAT || (folder === undefined && other === undefined) ? snapshotInput : undefined;
  if ([snapshot, folder, other].filter((source) => source !== undefined).length !== 1)
    throw badInput('Enter exactly one of with (a snapshot), folder (of a snapshot) and other (the name of another appliance).');
  if (snapshot) return createMessageReference(snapshot);
  if (folder !== undefined) return createFolderReference(folder);
  return createApplianceReference(other ?? '', resolveSnapshotRoot(path, call), createSnapshotRules({ ignore, unordered }), call);
}

class SnapshotComparer {
  readonly #reference: ComparisonReference;
  readonly #rules: SnapshotRules;
  /** Results by path, because a resource may be read twice. */
  readonly #differencesByPath = new Map<string, 'added' | readonly Difference[]>();

  constructor(reference: ComparisonReference, rules: SnapshotRules) {
    this.#reference = reference;
    this.#rules = rules;
  }

  async run(root: string, call: OperationContext): Promise<TreeComparison> {
    const crawlResult = await crawlConfiguration(
      { root, ...this.#rules, onResource: (path, resource) => this.#compareResource(path, resource) },
      call,
    );
    addCrawlToEnvelope({ ...crawlResult, forbidden: new Set([...crawlResult.forbidden, ...this.#reference.unreadable]) }, call);
    for (const path of [...this.#differencesByPath.keys()])
      if (isPathWithinAny(path, crawlResult.vanished)) this.#differencesByPath.delete(path);
    const removed: string[] = [];
    for (const path of this.#reference.paths) {
      if (
        this.#differencesByPath.has(path) ||
        !isPathWithin(path, root) ||
        this.#rules.ignore.ignoresPath(path) ||
        isPathWithinAny(path, crawlResult.forbidden)
      )
        continue;
      if (!isEmptyResource(await this.#readReference(path))) removed.push(path);
    }
    const added: string[] = [];
    const changed: Difference[] = [];
    for (const [path, result] of [...this.#differencesByPath].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (result === 'added') added.push(path);
      else for (const difference of result) changed.push(difference);
    }
    return { equal: added.length + removed.length + changed.length === 0, added, removed: removed.sort(), changed };
  }

  async #compareResource(path: string, resource: JsonObject): Promise<void> {
    const before = await this.#reference.read(path);
    if (before !== undefined) {
      this.#differencesByPath.set(path, compareResources(path, this.#toCounted(path, before), canonicalizeResource(resource)));
    } else if (!isEmptyResource(resource) && !isPathWithinAny(path, this.#reference.unreadable)) this.#differencesByPath.set(path, 'added');
  }

  /** Reads the reference without its ignored parts. */
  async #readReference(path: string): Promise<JsonObject> {
    return this.#toCounted(path, (await this.#reference.read(path)) ?? {});
  }

  #toCounted(path: string, resource: JsonObject): JsonObject {
    const { ignore, unordered } = this.#rules;
    return unordered.sort(path, ignore.filterResource(path, resource));
  }
}
