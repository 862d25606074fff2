import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { badInput } from '../model/error';
import type { Kind, Verified } from '../transfer/content';
import { fileFault } from '../transfer/file-fault';
import { backupOfFile, backupOfManifest } from './names';
import { isObject } from '../model/json';

export const FORMAT = 'gateway-backup/1';

/** One file of a backup. `bytes` and `sha256` are those of the file as it lies there, `content` is what was exported. */
export interface BackupFile {
  readonly file: string;
  readonly kind: Kind;
  readonly bytes: number;
  readonly sha256: string;
  readonly compression: 'gzip' | null;
  readonly encryption: string | null;
  readonly 'hmac-sha256'?: string;
  readonly content: {
    readonly bytes: number;
    readonly sha256: string;
    readonly verified: Verified;
    /** The same as long as the configuration is, whatever the time of the export. */
    readonly fingerprint: string;
  };
}

/** What stands in `<backup>.json`. It holds no secret. Times are ISO 8601 in UTC. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly backup: string;
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly 'host-name': string | null;
  readonly 'hardware-model': string | null;
  readonly release: string | null;
  readonly time: string;
  /** Whether the XML export was protected with a password, which its import needs. */
  readonly 'password-protected': boolean;
  readonly files: readonly BackupFile[];
}

/** All backups in a folder, the newest first. What is no manifest of ours is passed over. Errors: `BAD_INPUT` for the folder. */
export async function readManifests(folder: string): Promise<Manifest[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw fileFault(error, folder, 'read');
  });
  const manifests = await Promise.all(
    names.filter((name) => backupOfManifest(name) !== undefined).map((name) => readManifest(folder, name)),
  );
  return manifests.filter((manifest) => manifest !== undefined).sort((a, b) => (a.time < b.time ? 1 : -1));
}

/** Undefined when it cannot be read or is none of ours. */
export async function readManifest(folder: string, name: string, backup = backupOfManifest(name)): Promise<Manifest | undefined> {
  try {
    const parsed: unknown = JSON.parse(await readFile(join(folder, name), 'utf8'));
    return isManifest(parsed) && parsed.backup === backup ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Whether all files are there, with the length that they should have. */
export async function isComplete(folder: string, { files }: Manifest): Promise<boolean> {
  const sizes = await Promise.all(
    files.map(({ file }) =>
      stat(join(folder, file)).then(
        ({ size }) => size,
        () => -1,
      ),
    ),
  );
  return files.every(({ bytes }, index) => sizes[index] === bytes);
}

/**
 * One backup by its name, the name or path of one of its files, or `latest`. `serial` narrows what `latest` may be. Errors:
 * `BAD_INPUT` when there is none.
 */
export function findBackup(manifests: readonly Manifest[], wanted: string, serial?: string | null): Manifest {
  const name = wanted.replace(/^.*[/\\]/, '');
  const found =
    wanted === 'latest'
      ? manifests.find((manifest) => serial === undefined || manifest['serial-number'] === serial)
      : manifests.find(({ backup }) => [name, backupOfFile(name), backupOfManifest(name)].includes(backup));
  if (found) return found;
  const which = wanted === 'latest' ? 'no backup of this appliance' : `no backup ${JSON.stringify(wanted)}`;
  throw badInput(`There is ${which} in the folder. List backups shows those that there are.`);
}

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value) || value.format !== FORMAT || !Array.isArray(value.files)) return false;
  const { backup, time, appliance } = value;
  if (typeof backup !== 'string' || typeof time !== 'string' || typeof appliance !== 'string') return false;
  // A manifest that was tampered with must not lead to a file outside of the folder, nor to one that is not ours.
  return (value.files as unknown[]).every(
    (file) => isObject(file) && typeof file.file === 'string' && backupOfFile(file.file) === backup && isContent(file.content),
  );
}

function isContent(content: unknown): boolean {
  return (
    isObject(content) && typeof content.sha256 === 'string' && typeof content.bytes === 'number' && typeof content.fingerprint === 'string'
  );
}
