import { lstat, open, utimes } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { HOST_HASH, isProcessAlive } from './atomic-file';
import { readRegularFile } from './open-regular-file';
import { removeFile } from './retry-locked';

const OWN_HOLDER = `${HOST_HASH}-${process.pid}`;
const heldLocks = new Set<string>();
const RETRY_MS = 50;
const MAX_WAIT_MS = 60_000;
/** A holder touches its lock this often. A lock of another machine expires after HOLDER_TTL_MS. */
const HEARTBEAT_MS = 10_000;
const HOLDER_TTL_MS = 120_000;
const MAX_HOLDER_BYTES = 64;
/** A holder writes its name right after creating the file. An empty lock that is older belongs to a killed process. */
const EMPTY_LOCK_GRACE_MS = 5_000;

/**
 * Runs `work` while no other process does so for this file, on any machine that shares the folder. Takes over the lock of a killed process.
 * Runs without a lock when the file cannot be created. Errors: `CONFLICT` when a living process keeps the lock; those of `work`.
 */
export async function withLockFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  if (!(await acquireLock(file))) return work();
  const heartbeat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), HEARTBEAT_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await removeFile(file).catch(() => undefined);
    heldLocks.delete(file);
  }
}

async function acquireLock(file: string): Promise<boolean> {
  for (const deadline = performance.now() + MAX_WAIT_MS; ;) {
    try {
      const handle = await open(file, 'wx', 0o600);
      heldLocks.add(file);
      await handle.write(OWN_HOLDER).finally(() => handle.close());
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
    if (performance.now() > deadline) {
      throw new GatewayError('CONFLICT', safeMessage`Another process has held the lock ${file} for a minute. Try again later.`, {
        sent: false,
      });
    }
    // Waits for a lock that cannot be removed, too.
    if (await isStale(file)) await removeFile(file).catch(() => undefined);
    await wait(RETRY_MS * (0.5 + Math.random()));
  }
}

/** True when no process holds the lock. A fresh lock may still be empty. */
async function isStale(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(() => undefined);
  if (!stats) return false;
  const holder = (await readRegularFile(file, MAX_HOLDER_BYTES).catch(() => '')).toString();
  if (holder === OWN_HOLDER) return !heldLocks.has(file);
  const [host, pid] = holder.split('-');
  if (host === HOST_HASH && Number(pid) > 0) return !isProcessAlive(Number(pid));
  return Date.now() - stats.mtimeMs > (holder === '' ? EMPTY_LOCK_GRACE_MS : HOLDER_TTL_MS);
}
