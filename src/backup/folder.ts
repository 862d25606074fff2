import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel } from '../model/in-parallel';
import { fileFault } from '../transfer/file-fault';
import { leftovers, PartialFile, syncFolder, targetOfPartial } from '../transfer/partial-file';
import { patiently, removeFile } from '../transfer/patience';
import { isComplete, readManifest } from './catalogue';
import { removeOldClaims } from './claim';
import type { Manifest } from './manifest';
import { backupOfFile, backupOfManifest } from './names';
import type { StoredOutput } from './store';

const LOOKS_AT_ONCE = 16;

/**
 * Brings a backup into the folder: its files, then its manifest, each renamed from beside. The manifest lies beside, whole, before the
 * first file gets its name; so whoever finds it after a crash knows what belongs together. Errors: as of `fileFault`; nothing stays.
 */
export async function commitBackup(folder: string, manifest: Manifest, outputs: readonly StoredOutput[]): Promise<string> {
  const target = join(folder, `${manifest.backup}.json`);
  let partial: PartialFile | undefined;
  try {
    partial = await PartialFile.create(target);
    await partial.write(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`, 'utf8'));
    await partial.close(true);
    for (const output of outputs) await output.partial.commit();
    await partial.commit();
    await syncFolder(folder);
    return target;
  } catch (error) {
    await removeFiles(folder, manifest).catch(() => undefined);
    await partial?.discard();
    throw fileFault(error, target, 'written');
  }
}

/**
 * Tidies up after runs that were killed: a backup whose files all have their names gets its manifest, everything else that is not whole
 * goes. Only files with our own names are touched, and none that a living process writes. Gives the names that were removed.
 */
export async function recover(folder: string): Promise<string[]> {
  await removeOldClaims(folder);
  const removed: string[] = [];
  for (const name of await leftovers(folder)) {
    const target = targetOfPartial(name) ?? '';
    const backup = backupOfManifest(target);
    if (backup === undefined && backupOfFile(target) === undefined) continue;
    // One that is damaged tells nothing, and is removed like the half of a file.
    const manifest = backup === undefined ? undefined : await readManifest(folder, name, backup).catch(() => undefined);
    if (manifest && (await isComplete(folder, manifest))) {
      await patiently(() => rename(join(folder, name), join(folder, target))).catch((error: unknown) => {
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
export interface Keep {
  readonly count: number | undefined;
  readonly days: number | undefined;
}

/**
 * Removes old backups of the same appliance and kind as the newest, by count and by age. The newest that is complete stays whatever its
 * age, and so does every file without a manifest of ours. Gives the names of the backups that went.
 */
export async function rotate(
  folder: string,
  newest: Manifest,
  present: readonly Manifest[],
  { count = Infinity, days = Infinity }: Keep,
  now: Date,
): Promise<string[]> {
  if (count === Infinity && days === Infinity) return [];
  // The one just made comes first whatever the clock says: it may have been set back since the others.
  const alike = [newest, ...present.filter((manifest) => manifest.backup !== newest.backup && isAlike(manifest, newest))];
  const complete = await inParallel(alike, LOOKS_AT_ONCE, (manifest) => isComplete(folder, manifest));
  const lastGood = complete.indexOf(true);
  const oldest = now.getTime() - days * 86_400_000;
  // One that has lost a file is none of those that are to stay.
  let newer = 0;
  const old = alike.filter((manifest, index) => {
    const goes = index !== lastGood && (newer >= count || Date.parse(manifest.time) < oldest);
    if (complete[index]) newer++;
    return goes;
  });
  for (const manifest of old) {
    await removeFiles(folder, manifest);
    // Last, so that what a crash leaves is still known to be ours.
    await removeFile(join(folder, `${manifest.backup}.json`));
  }
  return old.map(({ backup }) => backup);
}

/** The newest complete backup that a new one can be compared with: with a passphrase, only one that has a code. */
export async function lastGood(folder: string, manifest: Manifest, present: readonly Manifest[]): Promise<Manifest | undefined> {
  const candidates = present.filter(
    (candidate) =>
      candidate.backup !== manifest.backup && isAlike(candidate, manifest) && (!manifest.authentication || candidate.authentication),
  );
  const isEarlier = ({ time }: Manifest): boolean => time <= manifest.time;
  // What claims to be younger than the one being made was made under another clock: only if there is nothing else.
  for (const candidate of [...candidates.filter(isEarlier), ...candidates.filter((other) => !isEarlier(other))]) {
    if (await isComplete(folder, candidate)) return candidate;
  }
  return undefined;
}

/** Of the same appliance, and of the same kinds: nightly XML must not push out the weekly binary. */
function isAlike(one: Manifest, other: Manifest): boolean {
  const kinds = ({ files }: Manifest): string => files.map(({ kind }) => kind).join();
  const identity = (manifest: Manifest): string => manifest['serial-number'] ?? manifest.appliance;
  return identity(one) === identity(other) && kinds(one) === kinds(other);
}

async function removeFiles(folder: string, { files }: Manifest): Promise<string[]> {
  const names = files.map(({ file }) => file);
  await Promise.all(names.map((name) => removeFile(join(folder, name))));
  return names;
}
