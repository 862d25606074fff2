import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { badInput, GatewayError } from '../model/error';
import { ours, sentence, type Sentence } from '../model/sentence';
import { inParallel } from '../model/in-parallel';
import { fileFault } from '../transfer/file-fault';
import { parseManifest, type Manifest } from './manifest';
import { backupOfFile, backupOfManifest, isBackupName } from './names';
import { openRegular } from './regular-file';

/** So many files are open at once: a process may have a thousand, and others in it need theirs. */
const AT_ONCE = 16;
/** A manifest of ours has two kilobytes. */
const MOST_BYTES = 256 * 1024;

/** What the manifests in a folder tell. */
export interface Catalogue {
  /** The newest first. */
  readonly manifests: readonly Manifest[];
  /** Of the manifests that cannot be read, by the name of the backup. */
  readonly faults: ReadonlyMap<string, GatewayError>;
  /** Names of backups of which files lie there, but no manifest. */
  readonly orphans: readonly string[];
}

/** Reads all manifests. What is no regular file or claims to be nothing of ours is passed over. Errors: `BAD_INPUT` for the folder. */
export async function readCatalogue(folder: string): Promise<Catalogue> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw fileFault(error, folder, 'read');
  });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const faults = new Map<string, GatewayError>();
  const found = await inParallel(names, AT_ONCE, async (name) => {
    try {
      return await readManifest(folder, name);
    } catch (error) {
      faults.set(backupOfManifest(name) ?? name, fileFault(error, join(folder, name), 'read'));
      return undefined;
    }
  });
  const manifests = found.filter((manifest) => manifest !== undefined).sort(byAge);
  const known = new Set([...manifests.map(({ backup }) => backup), ...faults.keys()]);
  const backups = new Set(names.flatMap((name) => backupOfFile(name) ?? []));
  return { manifests, faults, orphans: [...backups].filter((backup) => !known.has(backup)) };
}

function byAge(one: Manifest, other: Manifest): number {
  return ageOf(one) < ageOf(other) ? 1 : -1;
}

/** By the time, which is always as long as any other; of the same time by the name. */
function ageOf({ time, backup }: Manifest): string {
  return time + backup;
}

/** All of them, the newest first. Errors: that of the first that cannot be read: the newest may be the one that is missing. */
export async function readManifests(folder: string): Promise<readonly Manifest[]> {
  const { manifests, faults } = await readCatalogue(folder);
  for (const fault of faults.values()) {
    const others = faults.size > 1 ? sentence` The same goes for ${faults.size - 1} more.` : ours('');
    throw new GatewayError(fault.code, sentence`${fault}${others}`, fault.details);
  }
  return manifests;
}

/** Undefined when it is gone or none of ours. Errors: `BAD_INPUT` when it cannot be read or is damaged. */
export async function readManifest(folder: string, name: string, backup = backupOfManifest(name)): Promise<Manifest | undefined> {
  const path = join(folder, name);
  if (backup === undefined) return undefined;
  const text = await readSmall(path);
  if (text === undefined) return undefined;
  try {
    return parseManifest(text, backup);
  } catch (error) {
    throw damaged(path, (error as Error).message);
  }
}

/** One backup by its name, the name or path of one of its files, or `latest`. Errors: as of `namedBackup` and `latestBackup`. */
export async function findBackup(folder: string, wanted: string): Promise<Manifest> {
  return wanted === 'latest' ? latestBackup(folder, await readManifests(folder)) : namedBackup(folder, wanted);
}

/** Looks at its manifest alone. Errors: `BAD_INPUT` when there is none, or it cannot be read. */
export async function namedBackup(folder: string, wanted: string): Promise<Manifest> {
  const name = wanted.replace(/^.*[/\\]/, '');
  const backup = isBackupName(name) ? name : (backupOfFile(name) ?? backupOfManifest(name));
  const manifest = backup === undefined ? undefined : await readManifest(folder, `${backup}.json`);
  return manifest ?? missing(folder, sentence`no backup ${JSON.stringify(wanted)}`);
}

/** Errors: `BAD_INPUT` when there is none. */
export function latestBackup(folder: string, newestFirst: readonly Manifest[], isMeant = (_: Manifest): boolean => true): Manifest {
  return newestFirst.find(isMeant) ?? missing(folder, ours('no backup of this appliance'));
}

function missing(folder: string, which: Sentence): never {
  throw badInput(sentence`There is ${which} in ${folder}. List backups shows those that there are.`);
}

/** Whether all files are there, with the length that they should have. */
export async function isComplete(folder: string, { files }: Manifest): Promise<boolean> {
  const sizes = await Promise.all(files.map(({ file }) => sizeOf(join(folder, file))));
  return files.every(({ bytes }, index) => sizes[index] === bytes);
}

async function sizeOf(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isFile() ? stats.size : undefined;
}

/** Undefined when it is gone: another run may have rotated it away since the folder was read. */
async function readSmall(path: string): Promise<string | undefined> {
  let handle;
  try {
    const file = await openRegular(path);
    handle = file.handle;
    if (file.stats.size > MOST_BYTES) throw damaged(path, 'it is far too large for a manifest');
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof GatewayError && error.details.extra?.system === 'ENOENT') return undefined;
    throw fileFault(error, path, 'read');
  } finally {
    await handle?.close();
  }
}

function damaged(path: string, why: string): GatewayError {
  return badInput(
    sentence`${path} cannot be used: ${why}. What belongs to it is not known without it: restore it, or move it out of the folder.`,
  );
}
