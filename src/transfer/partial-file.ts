import { createHash } from 'node:crypto';
import { lstat, open, readdir, rename, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { inParallel } from '../model/in-parallel';
import { patiently, removeFile } from './patience';

/** Files of this process that are being written: never leftovers. */
const writing = new Set<string>();
let count = 0;

/** This machine, as it is called in names of files. */
export const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const SUFFIX = /\.([0-9a-f]{8})-(\d+)-\d+\.partial$/;
/** What another machine has not touched for so long, it does not write any more: the next nightly run clears it away. */
const FOREIGN_MS = 12 * 3_600_000;
const LOOKS_AT_ONCE = 16;

/**
 * A file that is written beside its target and takes that name only when it is whole: nobody ever sees half of it there, and what had
 * the name before stays until then. Methods reject with the errors of `node:fs`.
 */
export class PartialFile {
  readonly #handle: FileHandle;
  #open = true;

  private constructor(
    readonly target: string,
    readonly path: string,
    handle: FileHandle,
  ) {
    this.#handle = handle;
  }

  /** Creates it in the folder of its target, readable for its owner only: configurations hold secrets. */
  static async create(target: string): Promise<PartialFile> {
    const path = `${target}.${HOST}-${process.pid}-${++count}.partial`;
    writing.add(path);
    try {
      return new PartialFile(target, path, await open(path, 'wx', 0o600));
    } catch (error) {
      writing.delete(path);
      throw error;
    }
  }

  async write(bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length;) done += (await this.#handle.write(bytes, done, bytes.length - done)).bytesWritten;
  }

  /** Everything is on the disk, not only in the memory of the system; `durable: false` leaves that to the system. */
  async close(durable: boolean): Promise<void> {
    if (!this.#open) return;
    if (durable) await this.#handle.sync();
    this.#open = false;
    await this.#handle.close();
  }

  /** Takes the name of its target, at once for everyone who looks. `close` comes before. */
  async commit(): Promise<void> {
    await patiently(() => rename(this.path, this.target));
    writing.delete(this.path);
  }

  /** Removes what was written; after `commit` there is nothing to remove. Never rejects. */
  async discard(): Promise<void> {
    if (!writing.has(this.path)) return;
    await this.close(false).catch(() => undefined);
    await removeFile(this.path).catch(() => undefined);
    writing.delete(this.path);
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
export function targetOfPartial(name: string): string | undefined {
  return SUFFIX.test(name) ? name.replace(SUFFIX, '') : undefined;
}

/** Names of the partial files in a folder that nobody writes any more: their process has ended. */
export async function leftovers(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const abandoned = await inParallel(names, LOOKS_AT_ONCE, (name) => isAbandoned(folder, name));
  return names.filter((_name, index) => abandoned[index]);
}

/** Removes what a killed process left of this very file. Never rejects: it is not what the caller came for. */
export async function sweep(target: string): Promise<void> {
  const folder = dirname(target);
  const names = await leftovers(folder).catch(() => []);
  const own = names.filter((name) => targetOfPartial(name) === basename(target));
  await Promise.all(own.map((name) => removeFile(join(folder, name)).catch(() => undefined)));
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const [, host, pid] = SUFFIX.exec(name) ?? [];
  if (host === undefined) return false;
  const path = join(folder, name);
  return !writing.has(path) && (await isOver(path, host, Number(pid)));
}

/** Whether the process that made it has ended; of another machine's, whether it was not touched for half a day. */
export async function isOver(path: string, host: string, pid: number): Promise<boolean> {
  if (host === HOST && (pid === process.pid || !isAlive(pid))) return true;
  const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > FOREIGN_MS;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
