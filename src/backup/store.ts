import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Transform, Writable, type Readable, type TransformCallback } from 'node:stream';
import { finished, pipeline as whole } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { badInput } from '../model/error';
import { Beside } from '../transfer/beside';
import { fileFault } from '../transfer/file-fault';
import type { Output } from '../transfer/receiver';
import { Decryption, Encryption } from './encryption';
import type { BackupFile } from './manifest';

const READ_BYTES = 512 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** What is in the folder, as opposed to what is in the configuration. */
export interface Stored {
  readonly bytes: number;
  readonly sha256: string;
  readonly mac: string | undefined;
}

/** Compresses and encrypts on the way into a file beside its place. `end` leaves it there; the caller commits it. */
export class StoredOutput implements Output<Stored> {
  readonly #first: Writable;
  readonly #done: Promise<void>;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  private constructor(
    readonly beside: Beside,
    gzip: boolean,
    readonly encryption: Encryption | undefined,
  ) {
    const file = new Writable({
      highWaterMark: CHUNK_BYTES,
      write: (chunk: Buffer, _encoding, done) => {
        this.#hash.update(chunk);
        this.#bytes += chunk.length;
        beside.write(chunk).then(() => done(), done);
      },
    });
    const stages = [...(gzip ? [createGzip({ chunkSize: CHUNK_BYTES })] : []), ...(encryption ? [encryption] : [])];
    this.#first = stages[0] ?? file;
    this.#done = stages.length > 0 ? whole([...stages, file]) : finished(file);
    // Whoever writes or ends learns of it.
    this.#done.catch(() => undefined);
  }

  /** Errors: as of `fileFault`. */
  static async create(place: string, gzip: boolean, passphrase: string | undefined): Promise<StoredOutput> {
    const encryption = passphrase === undefined ? undefined : await Encryption.create(passphrase);
    try {
      return new StoredOutput(await Beside.create(place), gzip, encryption);
    } catch (error) {
      throw fileFault(error, place, 'written');
    }
  }

  async write(batch: Buffer): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#first.write(batch, (error) => (error ? reject(error) : resolve()));
    });
    try {
      // A stage that is destroyed while it waits for the next one never says what became of its write.
      await Promise.race([written, this.#done]);
    } catch (error) {
      written.catch(() => undefined);
      // What broke it stands at the end of the pipeline; the write itself may only say that the stream is gone.
      const cause = await this.#done.then(
        () => error,
        (fault: unknown) => fault,
      );
      throw fileFault(cause, this.beside.place, 'written');
    }
  }

  async end(): Promise<Stored> {
    try {
      this.#first.end();
      await this.#done;
      await this.beside.close(true);
    } catch (error) {
      throw fileFault(error, this.beside.place, 'written');
    }
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex'), mac: this.encryption?.mac };
  }

  async discard(): Promise<void> {
    this.#first.destroy();
    await this.#done.catch(() => undefined);
    await this.beside.discard();
  }
}

/**
 * The configuration in a stored file, decrypted and decompressed while it is read; `hash` gets the bytes of the file itself. The stream
 * ends with an error when the passphrase is missing or wrong, or the file was changed.
 */
export function openStored(path: string, file: BackupFile, passphrase: string | undefined, hash?: Hash): Readable {
  const stages: Transform[] = hash ? [new Tap(hash)] : [];
  if (file.encryption !== null) {
    if (passphrase === undefined) throw badInput(`${file.file} is encrypted: give the passphrase.`);
    stages.push(new Decryption(passphrase, file['hmac-sha256']));
  }
  if (file.compression !== null) stages.push(createGunzip({ chunkSize: CHUNK_BYTES }));
  const source = createReadStream(path, { highWaterMark: READ_BYTES });
  // The last stream carries the error of any.
  return stages.length === 0 ? source : (pipeline([source, ...stages], () => undefined) as unknown as Readable);
}

class Tap extends Transform {
  readonly #hash: Hash;

  constructor(hash: Hash) {
    super();
    this.#hash = hash;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#hash.update(chunk);
    done(null, chunk);
  }
}
