import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { badInput, GatewayError } from '../model/error';
import { Beside, sweep, syncFolder } from './beside';
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
      const words = `The configuration is larger than ${MOST_BYTES / 1024 / 1024} MiB. Export it to a file.`;
      return Promise.reject(new GatewayError('LIMIT', words, { sent: true }));
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
  readonly #beside: Beside;
  readonly #durable: boolean;

  private constructor(beside: Beside, durable: boolean) {
    this.#beside = beside;
    this.#durable = durable;
  }

  /** `durable`: on the disk before it takes its place. */
  static async create(file: string, durable: boolean): Promise<FileOutput> {
    const place = await placeOf(file);
    await sweep(place);
    try {
      return new FileOutput(await Beside.create(place), durable);
    } catch (error) {
      throw fileFault(error, file, 'written');
    }
  }

  write(batch: Buffer): Promise<void> {
    return this.#faulty(() => this.#beside.write(batch));
  }

  async end(): Promise<string> {
    await this.#faulty(async () => {
      await this.#beside.close(this.#durable);
      await this.#beside.commit();
      if (this.#durable) await syncFolder(dirname(this.#beside.place));
    });
    return this.#beside.place;
  }

  discard(): Promise<void> {
    return this.#beside.discard();
  }

  async #faulty(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw fileFault(error, this.#beside.place, 'written');
    }
  }
}

/** The real place behind links, which stay. Only files are replaced: never a folder, a device or a pipe. */
async function placeOf(file: string): Promise<string> {
  const place = await realpath(file).catch(() => resolve(file));
  const present = await stat(place).catch(() => undefined);
  if (present && !present.isFile()) throw badInput(`${file} cannot be written: it is there already and no ordinary file.`);
  return place;
}
