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
import type { ConfigurationDestination } from '../transfer/configuration-receiver';
import { DecryptionStream, EncryptionStream } from './encryption';
import type { BackupFile } from './manifest';
import type { RegularFile } from '../files/open-regular-file';

const READ_BYTES = 512 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Describes the stored file, not the configuration in it. */
export interface StoredBackupFileInfo {
  readonly bytes: number;
  readonly sha256: string;
  readonly mac: string | undefined;
}

/** Compresses and encrypts into a partial file. The caller commits it after `end`. */
export class BackupFileOutput implements ConfigurationDestination<StoredBackupFileInfo> {
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
    // `write` and `end` report the error.
    this.#done.catch(() => undefined);
  }

  /** Creates the partial file. Throws the errors of `toFileError`. */
  static async create(target: string, gzip: boolean, passphrase: string | undefined): Promise<BackupFileOutput> {
    const encryption = passphrase === undefined ? undefined : await EncryptionStream.create(passphrase);
    try {
      return new BackupFileOutput(await AtomicFile.create(target), gzip, encryption);
    } catch (error) {
      throw toFileError(error, target, 'written');
    }
  }

  async write(batch: Buffer): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#first.write(batch, (error) => (error ? reject(error) : resolve()));
    });
    try {
      // A stream that is destroyed during a write never calls back.
      await Promise.race([written, this.#done]);
    } catch (error) {
      written.catch(() => undefined);
      // The pipeline knows the cause; the write may only report a destroyed stream.
      const cause = await this.#done.then(
        () => error,
        (fault: unknown) => fault,
      );
      throw toFileError(cause, this.partial.target, 'written');
    }
  }

  async end(): Promise<StoredBackupFileInfo> {
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
 * Decrypts and decompresses a stored file while it is read. `hash` gets the stored bytes. Ends with an error if the passphrase is missing
 * or wrong, or if the file was changed. The file stays open for another read.
 */
export function openBackupContent(handle: FileHandle, file: BackupFile, passphrase: string | undefined, hash?: Hash): Readable {
  const stages: Transform[] = hash ? [new HashTap(hash)] : [];
  if (file.encryption !== null) {
    if (passphrase === undefined) throw badInput(safeMessage`${file.file} is encrypted. Enter the passphrase.`);
    stages.push(new DecryptionStream(passphrase, file['hmac-sha256']));
  }
  if (file.compression !== null) stages.push(createGunzip({ chunkSize: CHUNK_BYTES }));
  const source = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES });
  // The last stream emits the errors of all.
  const last = stages.at(-1);
  if (!last) return source;
  pipeline([source, ...stages], () => undefined);
  return last;
}

/** Opens the content for an import. If the file changes meanwhile, the stream ends with `BAD_INPUT` before its last byte. */
export function openVerifiedBackupContent(
  { path, handle }: RegularFile,
  file: BackupFile,
  passphrase: string | undefined,
): CheckedUploadStream {
  const stored = createHash('sha256');
  const changedError = (): GatewayError =>
    badInput(safeMessage`${path} was changed while it was sent, so it was not sent to its end. Nothing was restored.`);
  // The end is sent after the MAC of the file was checked.
  const content = new CheckedUploadStream({
    ...file.content,
    createChangedError: changedError,
    isComplete: () => stored.digest('hex') === file.sha256,
  });
  const source = openBackupContent(handle, file, passphrase, stored);
  // The file was valid a moment ago, so a decryption or decompression error means that it changed.
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
