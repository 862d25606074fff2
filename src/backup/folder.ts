import { access, constants, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { badInput } from '../model/error';
import { Beside, leftovers, placeOfPartial, syncFolder } from '../transfer/beside';
import { fileFault } from '../transfer/file-fault';
import { isComplete, readManifest, readManifests, type Manifest } from './manifest';
import { backupOfFile, backupOfManifest } from './names';
import type { StoredOutput } from './store';

/** Whether backups can be written there, told before anything is sent. Errors: `BAD_INPUT`. */
export async function checkFolder(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw badInput(`${folder} is no folder.`);
    await access(folder, constants.W_OK);
  } catch (error) {
    throw fileFault(error, folder, 'written');
  }
}

/**
 * Brings a backup into the folder: its files, then its manifest, each renamed from beside. The manifest lies beside, whole, before the
 * first file gets its name; so whoever finds it after a crash knows what belongs together. Errors: as of `fileFault`; nothing stays.
 */
export async function commitBackup(folder: string, manifest: Manifest, outputs: readonly StoredOutput[]): Promise<string> {
  const place = join(folder, `${manifest.backup}.json`);
  let beside: Beside | undefined;
  try {
    beside = await Beside.create(place);
    await beside.write(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`, 'utf8'));
    await beside.close(true);
    for (const output of outputs) await output.beside.commit();
    await beside.commit();
    await syncFolder(folder);
    return place;
  } catch (error) {
    await removeFiles(folder, manifest);
    await beside?.discard();
    throw fileFault(error, place, 'written');
  }
}

/**
 * Tidies up after runs that were killed: a backup whose files all have their names gets its manifest, everything else that is not whole
 * goes. Only files with our own names are touched, and none that a living process writes. Gives the names that were removed.
 */
export async function recover(folder: string): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await leftovers(folder)) {
    const place = placeOfPartial(name) ?? '';
    const backup = backupOfManifest(place);
    if (backup === undefined && backupOfFile(place) === undefined) continue;
    const manifest = backup === undefined ? undefined : await readManifest(folder, name, backup);
    if (manifest && (await isComplete(folder, manifest))) {
      await rename(join(folder, name), join(folder, place));
      continue;
    }
    if (manifest) removed.push(...(await removeFiles(folder, manifest)));
    await rm(join(folder, name), { force: true });
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
export async function rotate(folder: string, newest: Manifest, keep: Keep, now: Date): Promise<string[]> {
  const { count = Infinity, days = Infinity } = keep;
  if (count === Infinity && days === Infinity) return [];
  const present = (await readManifests(folder)).filter((manifest) => isAlike(manifest, newest));
  // The one just made comes first whatever the clock says: it may have been set back since the others.
  const alike = [newest, ...present.filter(({ backup }) => backup !== newest.backup)];
  const complete = await Promise.all(alike.map((manifest) => isComplete(folder, manifest)));
  const lastGood = complete.indexOf(true);
  const oldest = now.getTime() - days * 86_400_000;
  // One that has lost a file is none of those that are to stay.
  const newer = (index: number): number => complete.slice(0, index).filter(Boolean).length;
  const old = alike.filter((manifest, index) => index !== lastGood && (newer(index) >= count || Date.parse(manifest.time) < oldest));
  for (const manifest of old) {
    await removeFiles(folder, manifest);
    // Last, so that what a crash leaves is still known to be ours.
    await rm(join(folder, `${manifest.backup}.json`), { force: true });
  }
  return old.map(({ backup }) => backup);
}

/** The newest complete backup that a new one can be compared with. */
export async function lastGood(folder: string, manifest: Manifest): Promise<Manifest | undefined> {
  const present = await readManifests(folder);
  // What claims to be younger than the one being made was made under another clock: only if there is nothing else.
  const later = present.filter(({ time }) => time > manifest.time);
  for (const candidate of [...present.filter(({ time }) => time <= manifest.time), ...later]) {
    if (candidate.backup !== manifest.backup && isAlike(candidate, manifest) && (await isComplete(folder, candidate))) return candidate;
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
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
  return names;
}
