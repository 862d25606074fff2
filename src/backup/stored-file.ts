import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { pipeline, Transform, Writable, type Readable, type TransformCallback } from 'node:stream';
import { finished, pipeline as runPipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { badInput, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { CheckedUploadStream } from '../transfer/checked-upload-stream';
import { toFileError } from '../files/file-error';
import { AtomicFile } from '../files/atomic-file';
import type { ConfigurationOutput } from '../transfer/configuration-receiver';
import { DecryptionStream, EncryptionStream } from './encryption';
import type { BackupFile } from './manifest';
import type { RegularFile } from '../files/open-regular-file';

const READ_BYTES = 512 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** What is in the folder, as opposed to what is in the configuration. */
export interface StoredFileInfo {
  readonly bytes: number;
  readonly sha256: string;
  readonly mac: string | undefined;
}

/** Compresses and encrypts on the way into a partial file. `end` leaves it there; the caller commits it. */
export class StoredOutput implements ConfigurationOutput<StoredFileInfo> {
  readonly #first: Writable;
  readonly #done: Promise<void>;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  private constructor(
    readonly partial: AtomicFile,
    gzip: boolean,
    readonly encryption: EncryptionStream | undefined,
  ) {
    const file = new Writable({
      highWaterMark: CHUNK_BYTES,
      write: (chunk: Buffer, _encoding, done) => {
        this.#hash.update(chunk);
        this.#bytes += chunk.length;
        partial.write(chunk).then(() => done(), done);
      },
    });
    const stages = [...(gzip ? [createGzip({ chunkSize: CHUNK_BYTES })] : []), ...(encryption ? [encryption] : [])];
    this.#first = stages[0] ?? file;
    this.#done = stages.length > 0 ? runPipeline([...stages, file]) : finished(file);
    // Whoever writes or ends learns of it.
    this.#done.catch(() => undefined);
  }

  /** Errors: as of `fileFault`. */
  static async create(target: string, gzip: boolean, passphrase: string | undefined): Promise<StoredOutput> {
    const encryption = passphrase === undefined ? undefined : await EncryptionStream.create(passphrase);
    try {
      return new StoredOutput(await AtomicFile.create(target), gzip, encryption);
    } catch (error) {
      throw toFileError(error, target, 'written');
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
      throw toFileError(cause, this.partial.target, 'written');
    }
  }

  async end(): Promise<StoredFileInfo> {
    try {
      this.#first.end();
      await this.#done;
      await this.partial.close(true);
    } catch (error) {
      throw toFileError(error, this.partial.target, 'written');
    }
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex'), mac: this.encryption?.mac };
  }

  async discard(): Promise<void> {
    this.#first.destroy();
    await this.#done.catch(() => undefined);
    await this.partial.discard();
  }
}

/**
 * The configuration in a stored file, decrypted and decompressed while it is read; `hash` gets the bytes of the file itself. The stream
 * ends with an error when the passphrase is missing or wrong, or the file was changed. The file stays open: it can be read again.
 */
export function openStoredContent(handle: FileHandle, file: BackupFile, passphrase: string | undefined, hash?: Hash): Readable {
  const stages: Transform[] = hash ? [new HashTap(hash)] : [];
  if (file.encryption !== null) {
    if (passphrase === undefined) throw badInput(safeMessage`${file.file} is encrypted: give the passphrase.`);
    stages.push(new DecryptionStream(passphrase, file['hmac-sha256']));
  }
  if (file.compression !== null) stages.push(createGunzip({ chunkSize: CHUNK_BYTES }));
  const source = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES });
  // The last stream carries the error of any.
  const last = stages.at(-1);
  if (!last) return source;
  pipeline([source, ...stages], () => undefined);
  return last;
}

/** The same on its way to an appliance. What was changed meanwhile ends the stream with `BAD_INPUT`, before its end was sent. */
export function openCheckedContent({ path, handle }: RegularFile, file: BackupFile, passphrase: string | undefined): CheckedUploadStream {
  const stored = createHash('sha256');
  const changedError = (): GatewayError =>
    badInput(safeMessage`${path} was changed while it was sent, so it was cut off before its end. Nothing was restored.`);
  // The end comes after the code of the file was checked, where it has one.
  const content = new CheckedUploadStream({
    ...file.content,
    createChangedError: changedError,
    isComplete: () => stored.digest('hex') === file.sha256,
  });
  const source = openStoredContent(handle, file, passphrase, stored);
  // It was whole a moment ago: what cannot be decrypted or unpacked any more was changed.
  source.once('error', (error) => content.destroy(isContentError(error) ? changedError() : toFileError(error, path, 'read')));
  content.once('close', () => source.destroy());
  return source.pipe(content);
}

function isContentError(error: Error): boolean {
  return error instanceof GatewayError || ((error as NodeJS.ErrnoException).code?.startsWith('Z_') ?? false);
}

class HashTap extends Transform {
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
