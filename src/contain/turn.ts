import { lstat, open, readFile, utimes } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { HOST, isAlive } from '../transfer/partial-file';
import { removeFile } from '../transfer/patience';

const OWN = `${HOST}-${process.pid}`;
const held = new Set<string>();
const LOOK_MS = 50;
const PATIENCE_MS = 60_000;
/** Whoever has the turn says so this often; another machine that has been silent for longer is gone. */
const SIGN_MS = 10_000;
const SILENT_MS = 120_000;
/** Its name is written right after it is created: who has not done so by then was killed in between. */
const NAMELESS_MS = 5_000;

/**
 * Runs `work` while no other process does at this file, on this machine or another one that shares the folder: whoever can create it has
 * the turn. What a killed process leaves is taken over. Where nothing can be created, nothing can be changed either: then it just runs.
 * Errors: `CONFLICT` when a living process does not end; those of `work`.
 */
export async function inTurn<T>(file: string, work: () => Promise<T>): Promise<T> {
  if (!(await take(file))) return work();
  const sign = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), SIGN_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(sign);
    await removeFile(file).catch(() => undefined);
    held.delete(file);
  }
}

async function take(file: string): Promise<boolean> {
  for (const until = performance.now() + PATIENCE_MS; ;) {
    try {
      const handle = await open(file, 'wx', 0o600);
      held.add(file);
      await handle.write(OWN).finally(() => handle.close());
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
    if (performance.now() > until) {
      throw new GatewayError(
        'CONFLICT',
        sentence`Another process has been changing who is contained for a minute (${file}). Try again later.`,
        { sent: false },
      );
    }
    // One that cannot be removed is waited for as well.
    if (await isLeft(file)) await removeFile(file).catch(() => undefined);
    await wait(LOOK_MS * (0.5 + Math.random()));
  }
}

/** Whether nobody has it any more. One that was just created may still be empty. */
async function isLeft(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(() => undefined);
  if (!stats) return false;
  const holder = await readFile(file, 'utf8').catch(() => '');
  if (holder === OWN) return !held.has(file);
  const [host, pid] = holder.split('-');
  if (host === HOST && Number(pid) > 0) return !isAlive(Number(pid));
  return Date.now() - stats.mtimeMs > (holder === '' ? NAMELESS_MS : SILENT_MS);
}
