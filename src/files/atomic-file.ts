import { createHash } from 'node:crypto';
import { lstat, open, readdir, rename, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { mapConcurrently } from '../model/map-concurrently';
import { retryWhileLocked, removeFile } from './retry-locked';

/** Files of this process that are being written: never leftovers. */
const openPaths = new Set<string>();
let count = 0;

/** This machine, as it is called in names of files. */
export const HOST_HASH = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const SUFFIX = /\.([0-9a-f]{8})-(\d+)-\d+\.partial$/;
/** What another machine has not touched for so long, it does not write any more: the next nightly run clears it away. */
const FOREIGN_STALE_MS = 12 * 3_600_000;
const CHECK_CONCURRENCY = 16;

/**
 * A file that is written beside its target and takes that name only when it is whole: nobody ever sees half of it there, and what had
 * the name before stays until then. Methods reject with the errors of `node:fs`.
 */
export class AtomicFile {
  readonly #handle: FileHandle;
  #isOpen = true;

  private constructor(
    readonly target: string,
    readonly path: string,
    handle: FileHandle,
  ) {
    this.#handle = handle;
  }

  /** Creates it in the folder of its target, readable for its owner only: configurations hold secrets. */
  static async create(target: string): Promise<AtomicFile> {
    const path = `${target}.${HOST_HASH}-${process.pid}-${++count}.partial`;
    openPaths.add(path);
    try {
      return new AtomicFile(target, path, await open(path, 'wx', 0o600));
    } catch (error) {
      openPaths.delete(path);
      throw error;
    }
  }

  async write(bytes: Buffer): Promise<void> {
    for (let written = 0; written < bytes.length;)
      written += (await this.#handle.write(bytes, written, bytes.length - written)).bytesWritten;
  }

  /** Everything is on the disk, not only in the memory of the system; `durable: false` leaves that to the system. */
  async close(shouldSync: boolean): Promise<void> {
    if (!this.#isOpen) return;
    if (shouldSync) await this.#handle.sync();
    this.#isOpen = false;
    await this.#handle.close();
  }

  /** Takes the name of its target, at once for everyone who looks. `close` comes before. */
  async commit(): Promise<void> {
    await retryWhileLocked(() => rename(this.path, this.target));
    openPaths.delete(this.path);
  }

  /** Removes what was written; after `commit` there is nothing to remove. Never rejects. */
  async discard(): Promise<void> {
    if (!openPaths.has(this.path)) return;
    await this.close(false).catch(() => undefined);
    await removeFile(this.path).catch(() => undefined);
    openPaths.delete(this.path);
  }
}

/** Makes renames durable. Windows cannot sync a folder, and neither can some network shares; there it is left to the system. */
export async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch {
    // A convenience of the file system, not a condition.
  } finally {
    await handle?.close();
  }
}

/** The target that a leftover was meant for, or undefined for every other name. */
export function parsePartialTarget(name: string): string | undefined {
  return SUFFIX.test(name) ? name.replace(SUFFIX, '') : undefined;
}

/** Names of the partial files in a folder that nobody writes any more: their process has ended. */
export async function findStalePartials(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const isStale = await mapConcurrently(names, CHECK_CONCURRENCY, (name) => isStalePartial(folder, name));
  return names.filter((_name, index) => isStale[index]);
}

/** Removes what a killed process left of this very file. Never rejects: it is not what the caller came for. */
export async function removeStalePartials(target: string): Promise<void> {
  const folder = dirname(target);
  const names = await findStalePartials(folder).catch(() => []);
  const stale = names.filter((name) => parsePartialTarget(name) === basename(target));
  await Promise.all(stale.map((name) => removeFile(join(folder, name)).catch(() => undefined)));
}

async function isStalePartial(folder: string, name: string): Promise<boolean> {
  const [, host, pid] = SUFFIX.exec(name) ?? [];
  if (host === undefined) return false;
  const path = join(folder, name);
  return !openPaths.has(path) && (await isOwnerGone(path, host, Number(pid)));
}

/** Whether the process that made it has ended; of another machine's, whether it was not touched for half a day. */
export async function isOwnerGone(path: string, host: string, pid: number): Promise<boolean> {
  if (host === HOST_HASH && (pid === process.pid || !isProcessAlive(pid))) return true;
  const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > FOREIGN_STALE_MS;
}

export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
