import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { mapConcurrently } from '../model/map-concurrently';
import { toFileError } from '../files/file-error';
import { findStalePartialFiles, AtomicFile, syncFolderToDisk, parsePartialFileTarget } from '../files/atomic-file';
import { retryWhileLocked, removeFile } from '../files/retry-locked';
import { isBackupComplete, readBackupManifest } from './backup-index';
import { removeStaleNameClaims } from './name-claim';
import type { BackupManifest } from './manifest';
import { parseBackupFileName, parseManifestFileName } from './names';
import type { BackupFileOutput } from './stored-file';

const CHECK_CONCURRENCY = 16;

/**
 * Commits a backup: its files first, then its manifest, each by a rename. The complete manifest lies beside its target before the first
 * file is renamed, so a crash can be repaired. Throws the errors of `toFileError`; then nothing stays.
 */
export async function commitBackup(folder: string, manifest: BackupManifest, outputs: readonly BackupFileOutput[]): Promise<string> {
  const target = join(folder, `${manifest.backup}.json`);
  let partial: AtomicFile | undefined;
  try {
    partial = await AtomicFile.create(target);
    await partial.write(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`, 'utf8'));
    await partial.close(true);
    for (const output of outputs) await output.partial.commit();
    await partial.commit();
    await syncFolderToDisk(folder);
    return target;
  } catch (error) {
    await removeFiles(folder, manifest).catch(() => undefined);
    await partial?.discard();
    throw toFileError(error, target, 'written');
  }
}

/**
 * Cleans up after killed runs. A backup with all its files gets its manifest; other partial files are removed. Leaves foreign files and
 * files of living processes alone. Returns the removed names.
 */
export async function recoverBackupFolder(folder: string): Promise<string[]> {
  await removeStaleNameClaims(folder);
  const removed: string[] = [];
  for (const name of await findStalePartialFiles(folder)) {
    const target = parsePartialFileTarget(name) ?? '';
    const backup = parseManifestFileName(target);
    if (backup === undefined && parseBackupFileName(target) === undefined) continue;
    // A damaged manifest is removed like a partial file.
    const manifest = backup === undefined ? undefined : await readBackupManifest(folder, name, backup).catch(() => undefined);
    if (manifest && (await isBackupComplete(folder, manifest))) {
      await retryWhileLocked(() => rename(join(folder, name), join(folder, target))).catch((error: unknown) => {
        // Another run repaired it first.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      });
      continue;
    }
    if (manifest) removed.push(...(await removeFiles(folder, manifest)));
    await removeFile(join(folder, name));
    removed.push(name);
  }
  return removed;
}

/** How many backups to keep, and for how many days. */
interface RetentionPolicy {
  readonly count: number | undefined;
  readonly days: number | undefined;
}

/**
 * Removes old backups of the same appliance and kind, by count and by age. The newest complete backup always stays, and so does every file
 * without a manifest. Returns the removed backups.
 */
export async function rotateBackups(
  folder: string,
  newest: BackupManifest,
  existing: readonly BackupManifest[],
  { count = Infinity, days = Infinity }: RetentionPolicy,
  now: Date,
): Promise<string[]> {
  if (count === Infinity && days === Infinity) return [];
  // The new backup comes first even if the clock was set back.
  const sameSeries = [newest, ...existing.filter((manifest) => manifest.backup !== newest.backup && isSameSeries(manifest, newest))];
  const complete = await mapConcurrently(sameSeries, CHECK_CONCURRENCY, (manifest) => isBackupComplete(folder, manifest));
  const lastGoodIndex = complete.indexOf(true);
  const oldest = now.getTime() - days * 86_400_000;
  // A backup with a missing file does not count as kept.
  let newer = 0;
  const expired = sameSeries.filter((manifest, index) => {
    const isExpired = index !== lastGoodIndex && (newer >= count || Date.parse(manifest.time) < oldest);
    if (complete[index]) newer++;
    return isExpired;
  });
  for (const manifest of expired) {
    await removeFiles(folder, manifest);
    // The manifest goes last, so that a crash leaves files that are still recognized.
    await removeFile(join(folder, `${manifest.backup}.json`));
  }
  return expired.map(({ backup }) => backup);
}

/** Finds the newest complete backup to compare with. With a passphrase, it must have a MAC. */
export async function findLastGoodBackup(
  folder: string,
  manifest: BackupManifest,
  existing: readonly BackupManifest[],
): Promise<BackupManifest | undefined> {
  const candidates = existing.filter(
    (candidate) =>
      candidate.backup !== manifest.backup && isSameSeries(candidate, manifest) && (!manifest.authentication || candidate.authentication),
  );
  const isEarlier = ({ time }: BackupManifest): boolean => time <= manifest.time;
  // A backup with a later time comes from another clock and is used only if there is no other.
  for (const candidate of [...candidates.filter(isEarlier), ...candidates.filter((other) => !isEarlier(other))]) {
    if (await isBackupComplete(folder, candidate)) return candidate;
  }
  return undefined;
}

/** Whether two backups are of the same appliance and kinds: a nightly XML backup must not remove the weekly binary one. */
function isSameSeries(first: BackupManifest, other: BackupManifest): boolean {
  const kinds = ({ files }: BackupManifest): string => files.map(({ kind }) => kind).join();
  const identity = (manifest: BackupManifest): string => manifest['serial-number'] ?? manifest.appliance;
  return identity(first) === identity(other) && kinds(first) === kinds(other);
}

async function removeFiles(folder: string, { files }: BackupManifest): Promise<string[]> {
  const names = files.map(({ file }) => file);
  await Promise.all(names.map((name) => removeFile(join(folder, name))));
  return names;
}
