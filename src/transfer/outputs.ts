import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { badInput, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { PartialFile, sweep, syncFolder } from './partial-file';
import { fileFault } from './file-fault';
import type { Output } from './receiver';

/** A message with more would not get far in Node-RED; a file takes any amount. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Keeps the configuration for the message. Errors: `LIMIT` when it is larger than 256 MiB. */
export class MemoryOutput implements Output<Buffer> {
  #parts: Buffer[] = [];
  #bytes = 0;

  write(batch: Buffer): Promise<void> {
    this.#bytes += batch.length;
    if (this.#bytes > MOST_BYTES) {
      const message = sentence`The configuration is larger than ${MOST_BYTES / 1024 / 1024} MiB. Export it to a file.`;
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

/** A file that appears, or changes, only when it is whole. Errors as of `fileFault`. */
export class FileOutput implements Output<string> {
  readonly #partial: PartialFile;
  readonly #durable: boolean;

  private constructor(partial: PartialFile, durable: boolean) {
    this.#partial = partial;
    this.#durable = durable;
  }

  /** `durable`: on the disk before it takes its name. */
  static async create(file: string, durable: boolean): Promise<FileOutput> {
    const target = await targetOf(file);
    await sweep(target);
    try {
      return new FileOutput(await PartialFile.create(target), durable);
    } catch (error) {
      throw fileFault(error, file, 'written');
    }
  }

  write(batch: Buffer): Promise<void> {
    return this.#faulty(() => this.#partial.write(batch));
  }

  async end(): Promise<string> {
    await this.#faulty(async () => {
      await this.#partial.close(this.#durable);
      await this.#partial.commit();
      if (this.#durable) await syncFolder(dirname(this.#partial.target));
    });
    return this.#partial.target;
  }

  discard(): Promise<void> {
    return this.#partial.discard();
  }

  async #faulty(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw fileFault(error, this.#partial.target, 'written');
    }
  }
}

/** The real file behind links, which stay. Only files are replaced: never a folder, a device or a pipe. */
async function targetOf(file: string): Promise<string> {
  const target = await realpath(file).catch(() => resolve(file));
  const present = await stat(target).catch(() => undefined);
  if (present && !present.isFile()) throw badInput(sentence`${file} cannot be written: it is there already and no ordinary file.`);
  return target;
}
