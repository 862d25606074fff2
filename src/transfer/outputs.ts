import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { badInput, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { AtomicFile, removeStalePartialFiles, syncFolderToDisk } from '../files/atomic-file';
import { toFileError } from '../files/file-error';
import type { ConfigurationDestination } from './configuration-receiver';

/** Maximum size in a message, because Node-RED cannot pass on larger ones. A file has no limit. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/** Keeps the configuration for the message. Errors: `LIMIT` above 256 MiB. */
export class MemoryOutput implements ConfigurationDestination<Buffer> {
  #parts: Buffer[] = [];
  #bytes = 0;

  write(batch: Buffer): Promise<void> {
    this.#bytes += batch.length;
    if (this.#bytes > MAX_MESSAGE_BYTES) {
      const message = safeMessage`The configuration is larger than ${MAX_MESSAGE_BYTES / 1024 / 1024} MiB. Export it to a file.`;
      return Promise.reject(new GatewayError('LIMIT', message, { sent: true }));
    }
    this.#parts.push(Buffer.from(batch));
    return Promise.resolve();
  }

  end(): Promise<Buffer> {
    return Promise.resolve(Buffer.concat(this.#parts));
  }

  discard(): Promise<void> {
    this.#parts = [];
    return Promise.resolve();
  }
}

/** Writes a file that appears or changes only when it is complete. Errors: those of `toFileError`. */
export class FileOutput implements ConfigurationDestination<string> {
  readonly #partial: AtomicFile;
  readonly #shouldSync: boolean;

  private constructor(partial: AtomicFile, shouldSync: boolean) {
    this.#partial = partial;
    this.#shouldSync = shouldSync;
  }

  /** `shouldSync` flushes the file to disk before the rename. */
  static async create(file: string, shouldSync: boolean): Promise<FileOutput> {
    const target = await resolveTarget(file);
    await removeStalePartialFiles(target);
    try {
      return new FileOutput(await AtomicFile.create(target), shouldSync);
    } catch (error) {
      throw toFileError(error, file, 'written');
    }
  }

  write(batch: Buffer): Promise<void> {
    return this.#withFileErrors(() => this.#partial.write(batch));
  }

  async end(): Promise<string> {
    await this.#withFileErrors(async () => {
      await this.#partial.close(this.#shouldSync);
      await this.#partial.commit();
      if (this.#shouldSync) await syncFolderToDisk(dirname(this.#partial.target));
    });
    return this.#partial.target;
  }

  discard(): Promise<void> {
    return this.#partial.discard();
  }

  async #withFileErrors(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw toFileError(error, this.#partial.target, 'written');
    }
  }
}

/** Resolves links, which stay. Refuses to replace folders, devices and pipes. */
async function resolveTarget(file: string): Promise<string> {
  const target = await realpath(file).catch(() => resolve(file));
  const existing = await stat(target).catch(() => undefined);
  if (existing && !existing.isFile()) throw badInput(safeMessage`${file} cannot be written: it exists and is not a regular file.`);
  return target;
}
