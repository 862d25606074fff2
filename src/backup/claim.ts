import { lstat, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HOST, isOver } from '../transfer/partial-file';
import { removeFile } from '../transfer/patience';
import { backupName, isClaim, uniqueTime } from './names';

/** A name that no other backup has or gets, in this process or another one, on this machine or another one. */
export interface Claim {
  readonly backup: string;
  readonly time: Date;
  /** When the manifest has the name, or nothing will. Never rejects. */
  release(): Promise<void>;
}

const held = new Set<string>();

/** Takes the first millisecond that is free: whoever can create the file `<backup>.claim` has it. Errors: those of `node:fs`. */
export async function claimName(folder: string, appliance: string, serial: string): Promise<Claim> {
  for (;;) {
    const time = uniqueTime();
    const backup = backupName(appliance, serial, time);
    const path = join(folder, `${backup}.claim`);
    if (!(await create(path))) continue;
    const release = async (): Promise<void> => {
      await removeFile(path).catch(() => undefined);
      held.delete(path);
    };
    // Claimed and used by a process that was through before this one looked at its clock again, or that has another clock.
    if (!(await isUsed(join(folder, backup)))) return { backup, time, release };
    await release();
  }
}

/** Removes what killed processes left; a claim stands in nobody's way but for its own millisecond. */
export async function removeOldClaims(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter(isClaim)) {
    const path = join(folder, name);
    if (held.has(path)) continue;
    const stats = await lstat(path).catch(() => undefined);
    if (!stats?.isFile() || stats.size > 64) continue;
    const [host = '', pid] = (await readFile(path, 'utf8').catch(() => '')).split('-');
    if (await isOver(path, host, Number(pid))) await removeFile(path);
  }
}

async function create(path: string): Promise<boolean> {
  held.add(path);
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      await handle.write(`${HOST}-${process.pid}`);
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    held.delete(path);
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    await removeFile(path).catch(() => undefined);
    throw error;
  }
}

async function isUsed(base: string): Promise<boolean> {
  const endings = ['.xml', '.bin'].flatMap((kind) => ['', '.gz', '.enc', '.gz.enc'].map((more) => kind + more));
  const present = await Promise.all(['.json', ...endings].map((ending) => lstat(base + ending).then(Boolean, () => false)));
  return present.includes(true);
}
