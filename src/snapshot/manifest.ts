import { join } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { CONFIGURATION_ROOT } from '../model/path';
import { safeMessage } from '../model/safe-message';
import { readJsonFile } from '../files/read-json-file';
import { isPathWithin, normalizePath } from './resource-path';
import { toResourceFileText } from './resource';

export const SNAPSHOT_FORMAT = 'gateway-snapshot/1';
/** File name of the manifest. No resource has this name, because no segment starts with a dot. */
export const MANIFEST_FILE_NAME = '.gateway-snapshot.json';

/** The appliance and the scope of a snapshot. */
export interface SnapshotOrigin {
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly release: string | null;
  /** Path of the topmost resource of the snapshot. */
  readonly path: string;
  /** Patterns that were ignored. */
  readonly ignore: readonly string[];
  /** Patterns of lists that were sorted, if there were any. */
  readonly unordered?: readonly string[];
}

/** The manifest of a snapshot folder. It contains no time, so that Git shows only changes of the configuration. */
export interface SnapshotManifest extends SnapshotOrigin {
  /** First path segments of the snapshot's files. Everything else in the folder is foreign. */
  readonly roots: readonly string[];
  /** Paths of files whose names do not contain the path. */
  readonly names: Readonly<Record<string, string>>;
  /** Paths of resources that have no file because they hold nothing, with the names of their empty lists. */
  readonly empty?: EmptyResources;
}

export type EmptyResources = Readonly<Record<string, readonly string[]>>;

export function serializeManifest({
  appliance,
  release,
  path,
  ignore,
  unordered = [],
  roots,
  names,
  empty = {},
  ...otherFields
}: SnapshotManifest): string {
  const content = {
    format: SNAPSHOT_FORMAT,
    appliance,
    'serial-number': otherFields['serial-number'],
    release,
    path,
    ...(ignore.length > 0 && { ignore }),
    ...(unordered.length > 0 && { unordered }),
    roots: [...roots].sort(),
    ...(Object.keys(names).length > 0 && {
      names: sortByKey(names),
    }),
    ...(Object.keys(empty).length > 0 && { empty: sortByKey(empty) }),
  };
  return toResourceFileText(content);
}

export function sortByKey<T>(values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Reads the manifest; undefined if there is none. Throws `BAD_INPUT` if it is damaged. */
export async function readSnapshotManifest(folder: string): Promise<SnapshotManifest | undefined> {
  const file = join(folder, MANIFEST_FILE_NAME);
  const found = await readJsonFile(file);
  if (!found) return undefined;
  const manifest = isObject(found.value) ? parseManifest(found.value) : undefined;
  if (!manifest)
    throw badInput(
      safeMessage`${file} is damaged or from another version of this package. Restore the file, or take the snapshot into an empty folder.`,
    );
  return manifest;
}

function parseManifest(value: JsonObject): SnapshotManifest | undefined {
  const origin = parseSnapshotOrigin(value);
  const { roots, names = {}, empty } = value;
  if (!origin || !isStringArray(roots) || !isObject(names)) return undefined;
  const paths = Object.entries(names);
  if (!paths.every(([, resourcePath]) => isResourcePath(resourcePath) && isPathWithin(resourcePath, origin.path))) return undefined;
  const emptyPaths = Object.entries(isObject(empty) ? empty : {}).filter((entry): entry is [string, string[]] => isStringArray(entry[1]));
  return {
    ...origin,
    roots,
    names: names as Record<string, string>,
    ...(emptyPaths.length > 0 && { empty: Object.fromEntries(emptyPaths) }),
  };
}

/** Parses the header of a snapshot; undefined if it is not one. */
export function parseSnapshotOrigin(value: JsonObject): SnapshotOrigin | undefined {
  const { format, appliance, release, path, ignore = [], unordered = [], 'serial-number': serial } = value;
  if (format !== SNAPSHOT_FORMAT || typeof appliance !== 'string' || !isResourcePath(path)) return undefined;
  if (!isStringArray(ignore) || !isStringArray(unordered)) return undefined;
  const lists = unordered.length > 0 ? { unordered } : {};
  return { appliance, 'serial-number': stringOrNull(serial), release: stringOrNull(release), path, ignore, ...lists };
}

export function isResourcePath(value: unknown): value is string {
  try {
    return typeof value === 'string' && value.startsWith(CONFIGURATION_ROOT) && normalizePath(value, '') === value;
  } catch {
    return false;
  }
}

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
