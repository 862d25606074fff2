import { resolve } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { SnapshotFolder } from './snapshot-folder';
import type { IgnoreRules } from './ignore-rules';
import { SNAPSHOT_FORMAT, isResourcePath, parseOrigin } from './manifest';
import { isPathWithin } from './resource-path';
import { readTree } from './take';

/** What the configuration is compared with. */
export interface ComparisonReference {
  /** How people call it. */
  readonly label: SafeMessage;
  /** Where it begins. */
  readonly path: string;
  /** What did not count when it was taken. */
  readonly ignore: readonly string[];
  readonly paths: Iterable<string>;
  /** What could not be read of it: nothing is known of that. */
  readonly unreadable: ReadonlySet<string>;
  read(path: string): Promise<JsonObject | undefined>;
}

const NO_PATHS: ReadonlySet<string> = new Set();

/** One that a message carries. Errors: `BAD_INPUT` for whatever else it is. */
export function createMessageReference(snapshot: JsonObject): ComparisonReference {
  const origin = parseOrigin(snapshot);
  const { resources } = snapshot;
  if (!origin || !isObject(resources))
    throw badInput(safeMessage`with is no snapshot: it has to be what Take a snapshot gives, with the format ${trusted(SNAPSHOT_FORMAT)}.`);
  const resourcesByPath = new Map(Object.entries(resources));
  for (const [path, resource] of resourcesByPath) {
    if (!isResourcePath(path) || !isPathWithin(path, origin.path) || !isObject(resource))
      throw badInput(safeMessage`with is damaged: ${path} is no resource of it.`);
  }
  const { time } = snapshot;
  return {
    label: safeMessage`the snapshot of ${origin.appliance}${typeof time === 'string' ? ` at ${time}` : ''}`,
    path: origin.path,
    ignore: origin.ignore,
    paths: resourcesByPath.keys(),
    unreadable: NO_PATHS,
    read: (path) => Promise.resolve(resourcesByPath.get(path) as JsonObject | undefined),
  };
}

/** One in a folder: its files are read one by one, as they are needed. */
export async function createFolderReference(folderPath: string): Promise<ComparisonReference> {
  const folder = await SnapshotFolder.openExisting(resolve(folderPath));
  const { path, ignore } = folder.manifest;
  const files = new Map(await folder.entries(path));
  return {
    label: safeMessage`the snapshot in ${folder.folder}`,
    path,
    ignore,
    paths: files.keys(),
    unreadable: NO_PATHS,
    read: async (resourcePath) => {
      const names = files.get(resourcePath);
      return names && folder.read(names);
    },
  };
}

/** The configuration of another appliance, as it is now. */
export async function createApplianceReference(
  name: string,
  root: string,
  ignore: IgnoreRules,
  call: OperationContext,
): Promise<ComparisonReference> {
  const { resources, crawlResult } = await call.onAppliance(name, (other) => readTree(root, ignore, other));
  return {
    label: safeMessage`${name}`,
    path: root,
    ignore: [],
    paths: resources.keys(),
    unreadable: crawlResult.forbidden,
    read: (path) => Promise.resolve(resources.get(path)),
  };
}
