import { createHmac } from 'node:crypto';
import { GatewayError } from './error';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

interface TotpParameters {
  key: Buffer;
  digits: number;
  period: number;
  algorithm: string;
}

/** Computes the code of one time step. */
export function createTotpCode(key: Buffer, step: number, digits = 6, algorithm = 'sha1'): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac(algorithm, key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0x0f;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, '0');
}

/** Parses a TOTP secret: base32 or an `otpauth://` address. Errors: `BAD_CONFIG` that does not quote the secret. */
export function parseTotpSecret(secret: string): TotpParameters {
  if (!secret.startsWith('otpauth:')) return { key: decodeBase32(secret), digits: 6, period: 30, algorithm: 'sha1' };
  if (!URL.canParse(secret)) throw createUnreadableError();
  const query = new URL(secret).searchParams;
  const digits = Number(query.get('digits') ?? 6);
  const period = Number(query.get('period') ?? 30);
  const algorithm = (query.get('algorithm') ?? 'SHA1').toLowerCase().replace('-', '');
  if (![6, 7, 8].includes(digits) || !(period >= 5 && period <= 300) || !['sha1', 'sha256', 'sha512'].includes(algorithm))
    throw createUnreadableError();
  return { key: decodeBase32(query.get('secret') ?? ''), digits, period, algorithm };
}

function decodeBase32(text: string): Buffer {
  const letters = text.toUpperCase().replace(/[\s=-]/g, '');
  if (letters === '') throw createUnreadableError();
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const letter of letters) {
    const digit = BASE32.indexOf(letter);
    if (digit < 0) throw createUnreadableError();
    value = ((value << 5) | digit) & 0xfff;
    bits += 5;
    if (bits >= 8) bytes.push((value >> (bits -= 8)) & 0xff);
  }
  return Buffer.from(bytes);
}

function createUnreadableError(): GatewayError {
  return new GatewayError(
    'BAD_CONFIG',
    'totpSecret cannot be read. Enter the base32 text that the authenticator was set up with, or its otpauth:// address.',
  );
}
