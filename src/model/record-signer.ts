import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The purpose of a signature, so that the signature of one kind of record is not valid for another kind. */
export type SignedPurpose = 'journal' | 'containment' | 'watch' | 'lock';

const CODE = /^[0-9a-f]{64}$/;

/** Signs and checks the records that the package keeps in folders. The key comes from the credentials and is never written there. */
export class RecordSigner {
  readonly #key: Buffer;
  /** Tells keys apart without showing them. */
  readonly keyId: string;

  constructor(key: string) {
    this.#key = createHash('sha256').update(`gateway-admin records\n${key}`).digest();
    this.keyId = createHmac('sha256', this.#key).update('id').digest('hex').slice(0, 16);
  }

  /** Returns the HMAC of a record as 64 hexadecimal digits. */
  sign(purpose: SignedPurpose, record: string | Buffer): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n`).update(record).digest('hex');
  }

  isValid(purpose: SignedPurpose, record: string | Buffer, code: unknown): boolean {
    if (typeof code !== 'string' || !CODE.test(code)) return false;
    return timingSafeEqual(Buffer.from(code, 'hex'), Buffer.from(this.sign(purpose, record), 'hex'));
  }
}
