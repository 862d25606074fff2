import { resolve } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { SnapshotFolder } from './snapshot-folder';
import type { SnapshotRules } from './snapshot-rules';
import { SNAPSHOT_FORMAT, isResourcePath, parseSnapshotOrigin } from './manifest';
import { isPathWithin } from './resource-path';
import { readConfigurationTree } from './take';

/** The state that the current configuration is compared with. */
export interface ComparisonReference {
  /** Name for people. */
  readonly label: SafeMessage;
  /** Path of the topmost resource of the snapshot. */
  readonly path: string;
  /** Patterns that were ignored when it was taken. */
  readonly ignore: readonly string[];
  /** Patterns of the lists that were sorted. */
  readonly unordered?: readonly string[] | undefined;
  readonly paths: Iterable<string>;
  /** Paths that could not be read, so nothing is known about them. */
  readonly unreadable: ReadonlySet<string>;
  read(path: string): Promise<JsonObject | undefined>;
}

const NO_PATHS: ReadonlySet<string> = new Set();

/** Reads the snapshot in a message as the state to compare with. Throws `BAD_INPUT` for anything else. */
export function createMessageReference(snapshot: JsonObject, field = 'with'): ComparisonReference {
  const origin = parseSnapshotOrigin(snapshot);
  const { resources } = snapshot;
  if (!origin || !isObject(resources))
    throw badInput(
      safeMessage`${trusted(field)} is not a snapshot. It must be the result of Take a snapshot, with the format ${trusted(SNAPSHOT_FORMAT)}.`,
    );
  const resourcesByPath = new Map(Object.entries(resources));
  for (const [path, resource] of resourcesByPath) {
    if (!isResourcePath(path) || !isPathWithin(path, origin.path) || !isObject(resource))
      throw badInput(safeMessage`${trusted(field)} is damaged: ${path} is not one of its resources.`);
  }
  const { time } = snapshot;
  return {
    label: safeMessage`the snapshot of ${origin.appliance}${typeof time === 'string' ? ` at ${time}` : ''}`,
    path: origin.path,
    ignore: origin.ignore,
    ...(origin.unordered && { unordered: origin.unordered }),
    paths: resourcesByPath.keys(),
    unreadable: NO_PATHS,
    read: (path) => Promise.resolve(resourcesByPath.get(path) as JsonObject | undefined),
  };
}

/** Creates a reference from a folder. Files are read when they are needed. */
export async function createFolderReference(folderPath: string): Promise<ComparisonReference> {
  const folder = await SnapshotFolder.openExisting(resolve(folderPath));
  const { path, ignore, unordered } = folder.manifest;
  const files = new Map(await folder.entries(path));
  return {
    label: safeMessage`the snapshot in ${folder.folder}`,
    path,
    ignore,
    ...(unordered && { unordered }),
    paths: files.keys(),
    unreadable: NO_PATHS,
    read: async (resourcePath) => {
      const names = files.get(resourcePath);
      return names && folder.read(names);
    },
  };
}

/** Creates a reference from the current configuration of another appliance. */
export async function createApplianceReference(
  name: string,
  root: string,
  rules: SnapshotRules,
  call: OperationContext,
): Promise<ComparisonReference> {
  const { resources, crawlResult } = await call.onAppliance(name, (other) => readConfigurationTree(root, rules, other));
  return {
    label: safeMessage`${name}`,
    path: root,
    ignore: [],
    paths: resources.keys(),
    unreadable: crawlResult.forbidden,
    read: (path) => Promise.resolve(resources.get(path)),
  };
}
