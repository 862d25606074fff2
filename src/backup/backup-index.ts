import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { badInput, GatewayError } from '../model/error';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import { mapConcurrently } from '../model/map-concurrently';
import { toFileError } from '../files/file-error';
import { parseBackupManifest, type BackupManifest } from './manifest';
import { parseBackupFileName, parseManifestFileName, isBackupName } from './names';
import { openRegularFile } from '../files/open-regular-file';

/** Maximum number of manifests that are read at the same time, because other parts of the process need open files too. */
const CONCURRENCY = 16;
/** Maximum size of a manifest. A usual one has about two kilobytes. */
const MAX_MANIFEST_BYTES = 256 * 1024;

/** The manifests in a folder. */
export interface BackupIndex {
  /** Newest first. */
  readonly manifests: readonly BackupManifest[];
  /** Errors of manifests that cannot be read, by the name of the backup. */
  readonly faults: ReadonlyMap<string, GatewayError>;
  /** Names of backups that have files but no manifest. */
  readonly orphans: readonly string[];
}

/** Reads all manifests. Skips files that are not regular or not backups. Throws `BAD_INPUT` if the folder cannot be read. */
export async function readBackupIndex(folder: string): Promise<BackupIndex> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw toFileError(error, folder, 'read');
  });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const faults = new Map<string, GatewayError>();
  const parsed = await mapConcurrently(names, CONCURRENCY, async (name) => {
    try {
      return await readBackupManifest(folder, name);
    } catch (error) {
      faults.set(parseManifestFileName(name) ?? name, toFileError(error, join(folder, name), 'read'));
      return undefined;
    }
  });
  const manifests = parsed.filter((manifest) => manifest !== undefined).sort(compareNewestFirst);
  const knownBackups = new Set([...manifests.map(({ backup }) => backup), ...faults.keys()]);
  const backups = new Set(names.flatMap((name) => parseBackupFileName(name) ?? []));
  return { manifests, faults, orphans: [...backups].filter((backup) => !knownBackups.has(backup)) };
}

function compareNewestFirst(a: BackupManifest, b: BackupManifest): number {
  return ageKey(a) < ageKey(b) ? 1 : -1;
}

/** Sorts backups by time, then by name. Times have a fixed length. */
function ageKey({ time, backup }: BackupManifest): string {
  return time + backup;
}

/** Reads all manifests, newest first. Throws the first read error, because the newest backup may be the unreadable one. */
export async function readBackupManifests(folder: string): Promise<readonly BackupManifest[]> {
  const { manifests, faults } = await readBackupIndex(folder);
  for (const fault of faults.values()) {
    const others = faults.size > 1 ? safeMessage` ${faults.size - 1} more cannot be read either.` : trusted('');
    throw new GatewayError(fault.code, safeMessage`${fault}${others}`, fault.details);
  }
  return manifests;
}

/** Reads one manifest; undefined if it is gone or not a backup manifest. Throws `BAD_INPUT` if it cannot be read or is damaged. */
export async function readBackupManifest(
  folder: string,
  name: string,
  backup = parseManifestFileName(name),
): Promise<BackupManifest | undefined> {
  const path = join(folder, name);
  if (backup === undefined) return undefined;
  const text = await readManifestText(path);
  if (text === undefined) return undefined;
  try {
    return parseBackupManifest(text, backup);
  } catch (error) {
    throw damagedManifest(path, (error as Error).message);
  }
}

/** Finds a backup by its name, by a file name or path, or as `latest`. Throws like `findBackupByName` and `findLatestBackup`. */
export async function findBackup(folder: string, selector: string): Promise<BackupManifest> {
  return selector === 'latest' ? findLatestBackup(folder, await readBackupManifests(folder)) : findBackupByName(folder, selector);
}

/** Reads only the manifest of the named backup. Throws `BAD_INPUT` if it is missing or cannot be read. */
export async function findBackupByName(folder: string, selector: string): Promise<BackupManifest> {
  const name = selector.replace(/^.*[/\\]/, '');
  const backup = isBackupName(name) ? name : (parseBackupFileName(name) ?? parseManifestFileName(name));
  const manifest = backup === undefined ? undefined : await readBackupManifest(folder, `${backup}.json`);
  return manifest ?? throwNotFound(folder, safeMessage`no backup ${JSON.stringify(selector)}`);
}

/** Returns the latest matching backup. Throws `BAD_INPUT` if no backup matches. */
export function findLatestBackup(
  folder: string,
  newestFirst: readonly BackupManifest[],
  isMatch = (_: BackupManifest): boolean => true,
): BackupManifest {
  return newestFirst.find(isMatch) ?? throwNotFound(folder, trusted('no backup of this appliance'));
}

function throwNotFound(folder: string, missingItem: SafeMessage): never {
  throw badInput(safeMessage`There is ${missingItem} in ${folder}. List backups shows all backups.`);
}

/** Returns whether all files exist with the length in the manifest. */
export async function isBackupComplete(folder: string, { files }: BackupManifest): Promise<boolean> {
  const sizes = await Promise.all(files.map(({ file }) => fileSize(join(folder, file))));
  return files.every(({ bytes }, index) => sizes[index] === bytes);
}

async function fileSize(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isFile() ? stats.size : undefined;
}

/** Reads a manifest; undefined if another run removed it since the folder was read. */
async function readManifestText(path: string): Promise<string | undefined> {
  let handle;
  try {
    const file = await openRegularFile(path);
    handle = file.handle;
    if (file.stats.size > MAX_MANIFEST_BYTES) throw damagedManifest(path, 'it is too large for a manifest');
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof GatewayError && error.details.extra?.system === 'ENOENT') return undefined;
    throw toFileError(error, path, 'read');
  } finally {
    await handle?.close();
  }
}

function damagedManifest(path: string, reason: string): GatewayError {
  return badInput(
    safeMessage`${path} cannot be used: ${reason}. Its backup cannot be read without it. Restore the file, or move it out of the folder.`,
  );
}
