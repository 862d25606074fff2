import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { asGatewayError, badInput } from '../model/error';
import { mapConcurrently } from '../model/map-concurrently';
import type { JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { safeMessage } from '../model/safe-message';
import { readIdentity } from '../run/identity';
import { toFileError } from '../files/file-error';
import { checkFolderWritable } from '../files/file-error';
import { crawlConfiguration, addCrawlToEnvelope, type CrawlResult } from './crawl';
import { SnapshotFolder } from './snapshot-folder';
import { createSnapshotRules, compileSnapshotPatterns, type SnapshotRules } from './snapshot-rules';
import { SNAPSHOT_FORMAT, sortByKey, type EmptyResources, type SnapshotOrigin } from './manifest';
import { findCaseCollisions, toFileSegments } from './resource-file-names';
import { splitResourcePath } from '../model/path';
import { isPathWithin, isPathWithinAny, normalizePath } from './resource-path';
import { canonicalizeResource } from './resource';

export interface TakeSnapshotInput {
  readonly path?: string | string[];
  readonly folder?: string;
  readonly ignore?: string[];
  readonly unordered?: string[];
}

/** A snapshot in a message. `resources` is keyed by path. */
export interface Snapshot {
  readonly format: 'gateway-snapshot/1';
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly release: string | null;
  /** Path of the topmost resource of the snapshot. */
  readonly path: string;
  readonly time: string;
  readonly ignore?: readonly string[];
  readonly unordered?: readonly string[];
  readonly resources: Readonly<Record<string, JsonObject>>;
  /** Paths of resources that hold nothing, with the names of their empty lists. */
  readonly empty?: EmptyResources;
}

/** The result of a snapshot into a folder. Counts are resources; `bytes` is the size of their files. */
export interface SnapshotFolderResult {
  readonly folder: string;
  readonly resources: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly bytes: number;
}

const REMOVAL_CONCURRENCY = 16;
const CANCELLED_WHILE_WAITING = 'Canceled while waiting for another snapshot of the same appliance.';

/** Returns the requested path, or the root if none is given. Throws `BAD_INPUT`. */
export function resolveSnapshotRoot(path: string | readonly string[] | undefined, call: OperationContext): string {
  return normalizePath(path ?? '/', call.settings.prefix);
}

/** Reads which appliance a snapshot is of. An account without access to the system information can still read the configuration. */
export async function readSnapshotOrigin(
  call: OperationContext,
  root: string,
  { ignore, unordered }: SnapshotRules = createSnapshotRules({}),
): Promise<SnapshotOrigin> {
  const identity = await readIdentity(call).catch((thrown: unknown) => {
    const { requestCode } = asGatewayError(thrown);
    if (requestCode !== 'FORBIDDEN' && requestCode !== 'NOT_FOUND') throw thrown;
    return undefined;
  });
  return {
    appliance: call.settings.name,
    'serial-number': identity?.['serial-number'] ?? null,
    release: identity?.release ?? null,
    path: root,
    ignore: ignore.patterns,
    ...(!unordered.isEmpty && { unordered: unordered.patterns }),
  };
}

/** Takes a snapshot, into a folder if one is given. Throws read errors and those of `toFileError`; then the folder keeps its content. */
export async function takeSnapshot(input: TakeSnapshotInput, call: OperationContext): Promise<Snapshot | SnapshotFolderResult> {
  const root = resolveSnapshotRoot(input.path, call);
  const rules = createSnapshotRules(input);
  const { folder } = input;
  if (folder === undefined) return takeToMessage(root, rules, call);
  const path = resolve(folder);
  await createFolder(path);
  return call.runExclusive(`snapshot ${path}`, () => takeToFolder(path, root, rules, call), { abortMessage: CANCELLED_WHILE_WAITING });
}

/** Reads all resources below a path in their stored form. */
export async function readConfigurationTree(
  root: string,
  rules: SnapshotRules,
  call: OperationContext,
): Promise<{ resources: Map<string, JsonObject>; empty: Map<string, readonly string[]>; crawlResult: CrawlResult }> {
  const resources = new Map<string, JsonObject>();
  const empty = new Map<string, readonly string[]>();
  const onResource = (resourcePath: string, resource: JsonObject): Promise<void> => {
    resources.set(resourcePath, canonicalizeResource(resource));
    return Promise.resolve();
  };
  const onEmpty = (resourcePath: string, lists: readonly string[]): void => void empty.set(resourcePath, lists);
  const crawlResult = await crawlConfiguration({ root, ...rules, onResource, onEmpty }, call);
  for (const resourcePath of resources.keys()) if (isPathWithinAny(resourcePath, crawlResult.vanished)) resources.delete(resourcePath);
  return { resources, empty, crawlResult };
}

async function takeToMessage(root: string, rules: SnapshotRules, call: OperationContext): Promise<Snapshot> {
  const { ignore: ignored, ...origin } = await readSnapshotOrigin(call, root, rules);
  const time = new Date().toISOString();
  const { resources, empty, crawlResult } = await readConfigurationTree(root, rules, call);
  addCrawlToEnvelope(crawlResult, call);
  const sorted = [...resources].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    format: SNAPSHOT_FORMAT,
    ...origin,
    time,
    ...(ignored.length > 0 && { ignore: ignored }),
    resources: Object.fromEntries(sorted),
    ...(empty.size > 0 && { empty: sortByKey(Object.fromEntries(empty)) }),
  };
}

/** Creates the folder if its parent exists. */
async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toFileError(error, folder, 'written');
  }
  await checkFolderWritable(folder);
}

async function takeToFolder(
  path: string,
  root: string,
  requestedRules: SnapshotRules,
  call: OperationContext,
): Promise<SnapshotFolderResult> {
  const folder = await SnapshotFolder.open(path);
  const previous = folder.manifest;
  // A snapshot of a part keeps the rest, and inherits the ignored patterns.
  const isPart = previous !== undefined && root !== previous.path && isPathWithin(root, previous.path);
  const rules = isPart ? createSnapshotRules(compileSnapshotPatterns(requestedRules), previous) : requestedRules;
  const origin = await readSnapshotOrigin(call, root, rules);
  if (previous) refuseOtherRoot(previous, origin, path);
  const writer = new FolderSnapshotWriter(folder);
  const empty = new Map(Object.entries(previous?.empty ?? {}).filter(([resourcePath]) => !isPathWithin(resourcePath, root)));
  const crawlResult = await crawlConfiguration(
    {
      root,
      ...rules,
      onResource: (resourcePath, resource) => writer.write(resourcePath, resource),
      onLinks: (resourcePaths) => writer.recordLinks(resourcePaths),
      onEmpty: (resourcePath, lists) => void empty.set(resourcePath, lists),
    },
    call,
  );
  const remaining = await writer.removeStaleFiles(root, crawlResult);
  addCrawlToEnvelope(crawlResult, call);
  await folder.writeManifest(
    {
      ...origin,
      path: isPart ? previous.path : root,
      ignore: isPart ? previous.ignore : rules.ignore.patterns,
      unordered: isPart ? (previous.unordered ?? []) : rules.unordered.patterns,
      roots: writer.roots(remaining, isPart ? previous.roots : []),
      empty: Object.fromEntries(empty),
    },
    Object.entries(previous?.names ?? {}).filter(([, resourcePath]) => !isPathWithin(resourcePath, root) || remaining.has(resourcePath)),
  );
  return { folder: path, ...writer.counts() };
}

/** Throws `BAD_INPUT` if the folder is of an appliance with another name and another serial number. */
export function assertSameAppliance(previous: SnapshotOrigin, current: SnapshotOrigin, folder: string): void {
  const isSame =
    previous.appliance === current.appliance ||
    (previous['serial-number'] !== null && previous['serial-number'] === current['serial-number']);
  if (!isSame)
    throw badInput(safeMessage`${folder} holds the snapshot of ${previous.appliance}. Use another folder for ${current.appliance}.`);
}

/** Two snapshots in one folder would overwrite each other. */
function refuseOtherRoot(previous: SnapshotOrigin, current: SnapshotOrigin, folder: string): void {
  assertSameAppliance(previous, current, folder);
  if (!isPathWithin(current.path, previous.path) && !isPathWithin(previous.path, current.path))
    throw badInput(safeMessage`${folder} holds the snapshot of ${previous.path}. Use another folder for ${current.path}.`);
}

/** One snapshot run into a folder. */
class FolderSnapshotWriter {
  readonly #folder: SnapshotFolder;
  /** File sizes of this run by path. */
  readonly #written = new Map<string, number>();
  readonly #added = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #caseCollisions = new Set<string>();
  #removed = 0;

  constructor(folder: SnapshotFolder) {
    this.#folder = folder;
  }

  /** Records paths that a file system could confuse, before any of them is read. */
  recordLinks(resourcePaths: readonly string[]): void {
    for (const resourcePath of findCaseCollisions(resourcePaths)) this.#caseCollisions.add(resourcePath);
  }

  async write(resourcePath: string, resource: JsonObject): Promise<void> {
    const { change, bytes } = await this.#folder.write(resourcePath, resource, this.#caseCollisions);
    this.#written.set(resourcePath, bytes);
    // A resource that is read twice counts once.
    if (change === 'added') this.#added.add(resourcePath);
    else if (change === 'changed' && !this.#added.has(resourcePath)) this.#changed.add(resourcePath);
  }

  /** Removes files of deleted resources. Unreadable resources keep their files. Returns the paths of retained files. */
  async removeStaleFiles(root: string, { forbidden, vanished }: CrawlResult): Promise<ReadonlySet<string>> {
    for (const resourcePath of [...this.#written.keys()])
      if (isPathWithinAny(resourcePath, vanished)) await this.#discardVanished(resourcePath);
    const entries = await this.#folder.entries(root);
    const remaining = new Set<string>();
    const present = new Set(entries.map(([, names]) => names.join('/')));
    const files = new Map(
      [...this.#written.keys()].map((resourcePath) => [toFileSegments(resourcePath, this.#caseCollisions).join('/'), resourcePath]),
    );
    const filesByLowerCase = new Map([...files.keys()].map((file) => [file.toLowerCase(), file]));
    await mapConcurrently(entries, REMOVAL_CONCURRENCY, async ([resourcePath, names]) => {
      const file = names.join('/');
      if (files.get(file) === resourcePath) return;
      const differentCase = filesByLowerCase.get(file.toLowerCase());
      if (!this.#written.has(resourcePath) && isPathWithinAny(resourcePath, forbidden)) remaining.add(resourcePath);
      else if (differentCase !== undefined && !present.has(differentCase)) await this.#folder.renameFile(names, differentCase.split('/'));
      else {
        await this.#folder.remove(names);
        if (!this.#written.has(resourcePath)) this.#removed++;
      }
    });
    return remaining;
  }

  /** Removes a resource that was written in this run but deleted before its end. */
  async #discardVanished(resourcePath: string): Promise<void> {
    await this.#folder.remove(toFileSegments(resourcePath, this.#caseCollisions));
    this.#written.delete(resourcePath);
    this.#changed.delete(resourcePath);
    if (!this.#added.delete(resourcePath)) this.#removed++;
  }

  /** Returns the first path segments of all files in the snapshot. */
  roots(remaining: ReadonlySet<string>, previous: readonly string[]): readonly string[] {
    const roots = new Set(previous);
    for (const resourcePaths of [this.#written.keys(), remaining]) {
      for (const resourcePath of resourcePaths) {
        const [first] = splitResourcePath(resourcePath);
        if (first !== undefined) roots.add(first);
      }
    }
    return [...roots];
  }

  counts(): Omit<SnapshotFolderResult, 'folder'> {
    let bytes = 0;
    for (const size of this.#written.values()) bytes += size;
    const { size: added } = this.#added;
    return { resources: this.#written.size, added, changed: this.#changed.size, removed: this.#removed, bytes };
  }
}
