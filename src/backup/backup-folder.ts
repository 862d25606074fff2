import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { mapConcurrently } from '../model/map-concurrently';
import { toFileError } from '../files/file-error';
import { findStalePartials, AtomicFile, syncFolder, parsePartialTarget } from '../files/atomic-file';
import { retryWhileLocked, removeFile } from '../files/retry-locked';
import { isBackupComplete, readBackupManifest } from './backup-index';
import { removeStaleClaims } from './name-claim';
import type { BackupManifest } from './manifest';
import { parseBackupFileName, parseManifestFileName } from './names';
import type { StoredOutput } from './stored-file';

const CHECK_CONCURRENCY = 16;

/**
 * Brings a backup into the folder: its files, then its manifest, each renamed from beside. The manifest lies beside, whole, before the
 * first file gets its name; so whoever finds it after a crash knows what belongs together. Errors: as of `fileFault`; nothing stays.
 */
export async function commitBackup(folder: string, manifest: BackupManifest, outputs: readonly StoredOutput[]): Promise<string> {
  const target = join(folder, `${manifest.backup}.json`);
  let partial: AtomicFile | undefined;
  try {
    partial = await AtomicFile.create(target);
    await partial.write(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`, 'utf8'));
    await partial.close(true);
    for (const output of outputs) await output.partial.commit();
    await partial.commit();
    await syncFolder(folder);
    return target;
  } catch (error) {
    await removeFiles(folder, manifest).catch(() => undefined);
    await partial?.discard();
    throw toFileError(error, target, 'written');
  }
}

/**
 * Tidies up after runs that were killed: a backup whose files all have their names gets its manifest, everything else that is not whole
 * goes. Only files with our own names are touched, and none that a living process writes. Gives the names that were removed.
 */
export async function recoverBackupFolder(folder: string): Promise<string[]> {
  await removeStaleClaims(folder);
  const removed: string[] = [];
  for (const name of await findStalePartials(folder)) {
    const target = parsePartialTarget(name) ?? '';
    const backup = parseManifestFileName(target);
    if (backup === undefined && parseBackupFileName(target) === undefined) continue;
    // One that is damaged tells nothing, and is removed like the half of a file.
    const manifest = backup === undefined ? undefined : await readBackupManifest(folder, name, backup).catch(() => undefined);
    if (manifest && (await isBackupComplete(folder, manifest))) {
      await retryWhileLocked(() => rename(join(folder, name), join(folder, target))).catch((error: unknown) => {
        // Another one that tidies up was faster.
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

/** How many backups stay, and for how many days. */
export interface RetentionPolicy {
  readonly count: number | undefined;
  readonly days: number | undefined;
}

/**
 * Removes old backups of the same appliance and kind as the newest, by count and by age. The newest that is complete stays whatever its
 * age, and so does every file without a manifest of ours. Gives the names of the backups that went.
 */
export async function rotateBackups(
  folder: string,
  newest: BackupManifest,
  existing: readonly BackupManifest[],
  { count = Infinity, days = Infinity }: RetentionPolicy,
  now: Date,
): Promise<string[]> {
  if (count === Infinity && days === Infinity) return [];
  // The one just made comes first whatever the clock says: it may have been set back since the others.
  const sameSeries = [newest, ...existing.filter((manifest) => manifest.backup !== newest.backup && isSameSeries(manifest, newest))];
  const complete = await mapConcurrently(sameSeries, CHECK_CONCURRENCY, (manifest) => isBackupComplete(folder, manifest));
  const lastGoodIndex = complete.indexOf(true);
  const oldest = now.getTime() - days * 86_400_000;
  // One that has lost a file is none of those that are to stay.
  let newer = 0;
  const expired = sameSeries.filter((manifest, index) => {
    const isExpired = index !== lastGoodIndex && (newer >= count || Date.parse(manifest.time) < oldest);
    if (complete[index]) newer++;
    return isExpired;
  });
  for (const manifest of expired) {
    await removeFiles(folder, manifest);
    // Last, so that what a crash leaves is still known to be ours.
    await removeFile(join(folder, `${manifest.backup}.json`));
  }
  return expired.map(({ backup }) => backup);
}

/** The newest complete backup that a new one can be compared with: with a passphrase, only one that has a code. */
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
  // What claims to be younger than the one being made was made under another clock: only if there is nothing else.
  for (const candidate of [...candidates.filter(isEarlier), ...candidates.filter((other) => !isEarlier(other))]) {
    if (await isBackupComplete(folder, candidate)) return candidate;
  }
  return undefined;
}

/** Of the same appliance, and of the same kinds: nightly XML must not push out the weekly binary. */
function isSameSeries(one: BackupManifest, other: BackupManifest): boolean {
  const kinds = ({ files }: BackupManifest): string => files.map(({ kind }) => kind).join();
  const identity = (manifest: BackupManifest): string => manifest['serial-number'] ?? manifest.appliance;
  return identity(one) === identity(other) && kinds(one) === kinds(other);
}

async function removeFiles(folder: string, { files }: BackupManifest): Promise<string[]> {
  const names = files.map(({ file }) => file);
  await Promise.all(names.map((name) => removeFile(join(folder, name))));
  return names;
}
