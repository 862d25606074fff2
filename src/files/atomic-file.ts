import { createHash } from 'node:crypto';
import { lstat, open, readdir, rename, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { mapConcurrently } from '../model/map-concurrently';
import { retryWhileLocked, removeFile } from './retry-locked';

/** Files that this process is writing and that are therefore not stale. */
const openPaths = new Set<string>();
let count = 0;

/** Identifies this machine in file names. */
export const HOST_NAME_HASH = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const SUFFIX = /\.([0-9a-f]{8})-(\d+)-\d+\.partial$/;
/** Time after which a file of another machine counts as stale. The next nightly run removes it. */
const FOREIGN_STALE_MS = 12 * 3_600_000;
const CHECK_CONCURRENCY = 16;

/**
 * A file that is written beside its target and renamed when complete. Readers never see a partial file, and a previous file stays until
 * then. Methods reject with errors of `node:fs`.
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

  /** Creates the file with access for its owner only, because configurations hold secrets. */
  static async create(target: string): Promise<AtomicFile> {
    const path = `${target}.${HOST_NAME_HASH}-${process.pid}-${++count}.partial`;
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

  /** `shouldSync` flushes the file to disk first. */
  async close(shouldSync: boolean): Promise<void> {
    if (!this.#isOpen) return;
    if (shouldSync) await this.#handle.sync();
    this.#isOpen = false;
    await this.#handle.close();
  }

  /** Renames the file to its target atomically. Call `close` first. */
  async commit(): Promise<void> {
    await retryWhileLocked(() => rename(this.path, this.target));
    openPaths.delete(this.path);
  }

  /** Removes the partial file. Does nothing after `commit`. Never rejects. */
  async discard(): Promise<void> {
    if (!openPaths.has(this.path)) return;
    await this.close(false).catch(() => undefined);
    await removeFile(this.path).catch(() => undefined);
    openPaths.delete(this.path);
  }
}

/** Makes renames durable. Windows and some network shares cannot sync folders. */
export async function syncFolderToDisk(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch {
    // A file system without folder sync is acceptable.
  } finally {
    await handle?.close();
  }
}

/** Returns the target name of a partial file, or undefined for other names. */
export function parsePartialFileTarget(name: string): string | undefined {
  return SUFFIX.test(name) ? name.replace(SUFFIX, '') : undefined;
}

/** Lists the partial files in a folder whose process has ended. */
export async function findStalePartialFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const isStale = await mapConcurrently(names, CHECK_CONCURRENCY, (name) => isStalePartial(folder, name));
  return names.filter((_name, index) => isStale[index]);
}

/** Removes partial files of a killed process for this target. Never rejects, because cleaning up is optional. */
export async function removeStalePartialFiles(target: string): Promise<void> {
  const folder = dirname(target);
  const names = await findStalePartialFiles(folder).catch(() => []);
  const stale = names.filter((name) => parsePartialFileTarget(name) === basename(target));
  await Promise.all(stale.map((name) => removeFile(join(folder, name)).catch(() => undefined)));
}

async function isStalePartial(folder: string, name: string): Promise<boolean> {
  const [, host, pid] = SUFFIX.exec(name) ?? [];
  if (host === undefined) return false;
  const path = join(folder, name);
  return !openPaths.has(path) && (await isOwnerProcessGone(path, host, Number(pid)));
}

/** True when the writing process has ended. For another machine: when the file has not changed for half a day. */
export async function isOwnerProcessGone(path: string, host: string, pid: number): Promise<boolean> {
  if (host === HOST_NAME_HASH && (pid === process.pid || !isProcessAlive(pid))) return true;
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
