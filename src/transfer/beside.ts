import { createHash } from 'node:crypto';
import { open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** Files of this process that are being written: never leftovers. */
const writing = new Set<string>();
let count = 0;

const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
const SUFFIX = /\.([0-9a-f]{8})-(\d+)-\d+\.partial$/;
/** What another machine has not touched for so long, it does not write any more: the next nightly run clears it away. */
const FOREIGN_MS = 12 * 3_600_000;

/**
 * A file that is written beside its place and takes it only when it is whole: nobody ever sees half of it under its name, and what
 * had the name before stays until then. Methods reject with the errors of `node:fs`.
 */
export class Beside {
  readonly #handle: FileHandle;
  #open = true;

  private constructor(
    readonly place: string,
    readonly path: string,
    handle: FileHandle,
  ) {
    this.#handle = handle;
  }

  /** Creates it in the folder of its place, readable for its owner only: configurations hold secrets. */
  static async create(place: string): Promise<Beside> {
    const path = `${place}.${HOST}-${process.pid}-${++count}.partial`;
    writing.add(path);
    try {
      return new Beside(place, path, await open(path, 'wx', 0o600));
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

  /** Takes its place, at once for everyone who looks. `close` comes before. */
  async commit(): Promise<void> {
    await rename(this.path, this.place);
    writing.delete(this.path);
  }

  /** Removes what was written; after `commit` there is nothing to remove. Never rejects. */
  async discard(): Promise<void> {
    if (!writing.has(this.path)) return;
    await this.close(false).catch(() => undefined);
    await rm(this.path, { force: true }).catch(() => undefined);
    writing.delete(this.path);
  }
}

/** Makes renames durable. Not every system can sync a folder; those that cannot do not need it. */
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

/** The place that a leftover name was meant for, or undefined for every other name. */
export function placeOfPartial(name: string): string | undefined {
  return SUFFIX.test(name) ? name.replace(SUFFIX, '') : undefined;
}

/** Names of the partial files in a folder that nobody writes any more: their process has ended. */
export async function leftovers(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  const old = await Promise.all(
    names.filter((name) => SUFFIX.test(name)).map(async (name) => ((await isAbandoned(folder, name)) ? [name] : [])),
  );
  return old.flat();
}

/** Removes what a killed process left of this very file. Never rejects: it is not what the caller came for. */
export async function sweep(place: string): Promise<void> {
  const folder = dirname(place);
  const names = await leftovers(folder).catch(() => []);
  const own = names.filter((name) => placeOfPartial(name) === basename(place));
  await Promise.all(own.map((name) => rm(join(folder, name), { force: true }).catch(() => undefined)));
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const path = join(folder, name);
  const [, host, pid] = SUFFIX.exec(name) ?? [];
  if (writing.has(path)) return false;
  if (host === HOST && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true;
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > FOREIGN_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
