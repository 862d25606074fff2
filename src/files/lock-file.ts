import { lstat, open, utimes } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import type { RecordSigner } from '../model/record-signer';
import { HOST_NAME_HASH, isProcessAlive } from './atomic-file';
import { readRegularFile } from './open-regular-file';
import { removeFile } from './retry-locked';

const OWN_HOLDER = `${HOST_NAME_HASH}-${process.pid}`;
const heldLocks = new Set<string>();
const RETRY_MS = 50;
const MAX_WAIT_MS = 60_000;
/** A holder touches its lock this often. A lock of another machine expires after HOLDER_TTL_MS. */
const HEARTBEAT_MS = 10_000;
const HOLDER_TTL_MS = 120_000;
const MAX_HOLDER_BYTES = 256;
/** Age after which an empty lock belongs to a killed process. A holder writes its name right after creating the file. */
const EMPTY_LOCK_GRACE_MS = 5_000;

/**
 * Runs `work` while no other process does so for this file, on any machine that shares the folder. Takes over the lock of a killed process.
 * Runs without a lock when the file cannot be created. With `signer`, a lock without a valid code is reported by a warning of the process and
 * removed. Errors: `CONFLICT` when a living process keeps the lock; those of `work`.
 */
export async function withLockFile<T>(file: string, work: () => Promise<T>, signer?: RecordSigner): Promise<T> {
  if (!(await acquireLock(file, signer))) return work();
  const heartbeat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), HEARTBEAT_MS).unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await removeFile(file).catch(() => undefined);
    heldLocks.delete(file);
  }
}

async function acquireLock(file: string, signer: RecordSigner | undefined): Promise<boolean> {
  const startedAt = performance.now();
  for (const deadline = performance.now() + MAX_WAIT_MS; ;) {
    try {
      const handle = await open(file, 'wx', 0o600);
      heldLocks.add(file);
      try {
        await handle.write(signer ? `${OWN_HOLDER} ${signCode(file, OWN_HOLDER, signer)}` : OWN_HOLDER);
      } finally {
        await handle.close();
      }
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
    else if (signer && performance.now() - startedAt > EMPTY_LOCK_GRACE_MS && (await isForged(file, signer))) {
      process.emitWarning(`The lock ${file} has no valid code of the signing key, so it was removed. Check who can write to the folder.`);
      await removeFile(file).catch(() => undefined);
    }
    await wait(RETRY_MS * (0.5 + Math.random()));
  }
}

/** True when no process holds the lock. A fresh lock may still be empty. */
async function isStale(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(() => undefined);
  if (!stats) return false;
  const holder = (await readHolder(file)).split(' ')[0] ?? '';
  if (holder === OWN_HOLDER) return !heldLocks.has(file);
  const [host, pid] = holder.split('-');
  if (host === HOST_NAME_HASH && Number(pid) > 0) return !isProcessAlive(Number(pid));
  return Date.now() - stats.mtimeMs > (holder === '' ? EMPTY_LOCK_GRACE_MS : HOLDER_TTL_MS);
}

function readHolder(file: string): Promise<string> {
  return readRegularFile(file, MAX_HOLDER_BYTES).then(String, () => '');
}

/** Creates the signature of a lock file. It covers only the file name, because a shared folder can have another path on each machine. */
function signCode(file: string, holder: string, signer: RecordSigner): string {
  return signer.sign('lock', `${basename(file)}\n${holder}`);
}

/** Whether somebody without the key wrote the lock. */
async function isForged(file: string, signer: RecordSigner): Promise<boolean> {
  const [holder = '', code] = (await readHolder(file)).split(' ');
  return !signer.isValid('lock', `${basename(file)}\n${holder}`, code) && (await lstat(file).catch(() => undefined)) !== undefined;
}
