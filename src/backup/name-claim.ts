import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { HOST_NAME_HASH, isOwnerProcessGone } from '../files/atomic-file';
import { readRegularFile } from '../files/open-regular-file';
import { removeFile } from '../files/retry-locked';
import { createBackupName, isNameClaimFileName, createUniqueTimestamp } from './names';

const MAX_CLAIM_BYTES = 64;

/** A name reserved for one backup across processes and machines. */
export interface BackupNameClaim {
  readonly backup: string;
  readonly time: Date;
  /** Ends the reservation when the manifest exists or the backup has failed. Never rejects. */
  release(): Promise<void>;
}

const ownClaims = new Set<string>();

/** Reserves the first free millisecond by creating `<backup>.claim`. Throws errors of `node:fs`. */
export async function claimBackupName(folder: string, appliance: string, serial: string): Promise<BackupNameClaim> {
  for (;;) {
    const time = createUniqueTimestamp();
    const backup = createBackupName(appliance, serial, time);
    const path = join(folder, `${backup}.claim`);
    if (!(await createClaimFile(path))) continue;
    const release = async (): Promise<void> => {
      await removeFile(path).catch(() => undefined);
      ownClaims.delete(path);
    };
    // Another process used and released this name, or has another clock.
    if (!(await isNameUsed(join(folder, backup)))) return { backup, time, release };
    await release();
  }
}

/** Removes claims of killed processes. A claim blocks only its own millisecond. */
export async function removeStaleNameClaims(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter(isNameClaimFileName)) {
    const path = join(folder, name);
    if (ownClaims.has(path)) continue;
    const stats = await lstat(path).catch(() => undefined);
    if (!stats?.isFile() || stats.size > MAX_CLAIM_BYTES) continue;
    const [host = '', pid] = (await readRegularFile(path, MAX_CLAIM_BYTES).catch(() => '')).toString().split('-');
    if (await isOwnerProcessGone(path, host, Number(pid))) await removeFile(path);
  }
}

async function createClaimFile(path: string): Promise<boolean> {
  ownClaims.add(path);
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.write(`${HOST_NAME_HASH}-${process.pid}`);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    ownClaims.delete(path);
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    await removeFile(path).catch(() => undefined);
    throw error;
  }
}

async function isNameUsed(base: string): Promise<boolean> {
  const extensions = ['.xml', '.bin'].flatMap((kind) => ['', '.gz', '.enc', '.gz.enc'].map((more) => kind + more));
  const existing = await Promise.all(['.json', ...extensions].map((ending) => lstat(base + ending).then(Boolean, () => false)));
  return existing.includes(true);
}
