import { createCipheriv, createDecipheriv, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import { promisify } from 'node:util';
import { badInput } from '../model/error';

/**
 * The format of `openssl enc -aes-256-cbc -pbkdf2 -iter 600000 -md sha256`: `Salted__`, 8 bytes of salt, the ciphertext. Key and
 * initialization vector are the first 48 bytes of PBKDF2-HMAC-SHA256. The format does not detect changes, so the manifest holds an
 * HMAC-SHA256 of the file with the next 32 bytes as key.
 */
export const ENCRYPTION_METHOD = 'openssl-enc-aes-256-cbc-pbkdf2-sha256-600000';

export const DECRYPTION_FAILED_MESSAGE = 'The backup cannot be decrypted: the passphrase is wrong, or the file was changed.';
const CIPHER = 'aes-256-cbc';
export const PBKDF2_ITERATIONS = 600_000;
const MAGIC = Buffer.from('Salted__', 'latin1');
const SALT_BYTES = 8;
const HEADER_BYTES = MAGIC.length + SALT_BYTES;

interface DerivedKeys {
  readonly key: Buffer;
  readonly iv: Buffer;
  readonly mac: Buffer;
}

async function deriveKeys(passphrase: string, salt: Buffer): Promise<DerivedKeys> {
  const bytes = await promisify(pbkdf2)(passphrase, salt, PBKDF2_ITERATIONS, 80, 'sha256');
  return { key: bytes.subarray(0, 32), iv: bytes.subarray(32, 48), mac: bytes.subarray(48) };
}

/** Encrypts a stream. `mac` is set after the end. */
export class EncryptionStream extends Transform {
  readonly #cipher: ReturnType<typeof createCipheriv>;
  readonly #hmac: ReturnType<typeof createHmac>;
  mac: string | undefined;

  private constructor({ key, iv, mac }: DerivedKeys, header: Buffer) {
    super();
    this.#cipher = createCipheriv(CIPHER, key, iv);
    this.#hmac = createHmac('sha256', mac);
    this.#pushBytes(header);
  }

  static async create(passphrase: string): Promise<EncryptionStream> {
    const salt = randomBytes(SALT_BYTES);
    return new EncryptionStream(await deriveKeys(passphrase, salt), Buffer.concat([MAGIC, salt]));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#pushBytes(this.#cipher.update(chunk));
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#pushBytes(this.#cipher.final());
    this.mac = this.#hmac.digest('hex');
    done();
  }

  #pushBytes(bytes: Buffer): void {
    this.#hmac.update(bytes);
    this.push(bytes);
  }
}

/** The cipher and MAC of a decryption, which need the salt from the beginning of the file. */
interface DecryptionState {
  readonly decipher: ReturnType<typeof createDecipheriv>;
  readonly hmac: ReturnType<typeof createHmac>;
}

/** Decrypts a stream. Ends with `BAD_INPUT` if the passphrase is wrong or the file was changed. */
export class DecryptionStream extends Transform {
  readonly #passphrase: string;
  readonly #expectedMac: string | undefined;
  #head = Buffer.alloc(0);
  #state: DecryptionState | undefined;

  constructor(passphrase: string, expectedMac: string | undefined) {
    super();
    this.#passphrase = passphrase;
    this.#expectedMac = expectedMac;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#state) {
      this.#pushBytes(this.#state, chunk);
      done();
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    if (this.#head.length < HEADER_BYTES) done();
    else this.#readHeader(this.#head).then(() => done(), done);
  }

  override _flush(done: TransformCallback): void {
    const state = this.#state;
    if (!state || !this.#isMacExpected(state)) return done(badInput(DECRYPTION_FAILED_MESSAGE));
    try {
      this.push(state.decipher.final());
      done();
    } catch {
      done(badInput(DECRYPTION_FAILED_MESSAGE));
    }
  }

  async #readHeader(head: Buffer): Promise<void> {
    if (!head.subarray(0, MAGIC.length).equals(MAGIC))
      throw badInput('The backup cannot be decrypted: it was not encrypted by openssl enc.');
    const { key, iv, mac } = await deriveKeys(this.#passphrase, head.subarray(MAGIC.length, HEADER_BYTES));
    this.#state = {
      decipher: createDecipheriv(CIPHER, key, iv),
      hmac: createHmac('sha256', mac).update(head.subarray(0, HEADER_BYTES)),
    };
    this.#pushBytes(this.#state, head.subarray(HEADER_BYTES));
  }

  #isMacExpected({ hmac }: DecryptionState): boolean {
    return this.#expectedMac === undefined || areMacsEqual(hmac.digest('hex'), this.#expectedMac);
  }

  #pushBytes({ decipher, hmac }: DecryptionState, bytes: Buffer): void {
    hmac.update(bytes);
    this.push(decipher.update(bytes));
  }
}

/** Compares two MACs in constant time. */
export function areMacsEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
