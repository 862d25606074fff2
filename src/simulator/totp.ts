import { createHmac } from 'node:crypto';

/** One-time codes of RFC 6238: SHA-1, 30 seconds, 6 digits. */
const STEP_MS = 30_000;

function base32(text: string): Buffer {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bytes: number[] = [];
  let bits = 0;
  let buffer = 0;
  for (const character of text.toUpperCase().replace(/[\s=-]/g, '')) {
    const value = alphabet.indexOf(character);
    if (value < 0) throw new Error('The TOTP secret is not base32.');
    buffer = (buffer << 5) | value;
    bits += 5;
    if (bits >= 8) bytes.push((buffer >> (bits -= 8)) & 0xff);
    buffer &= (1 << bits) - 1;
  }
  return Buffer.from(bytes);
}

export function computeTotpCode(secret: string, counter: number): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const digest = createHmac('sha1', base32(secret)).update(message).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** Accepts the code of this step and of the one before and after (clocks differ), each code once only. */
export class TotpVerifier {
  private lastUsed = -1;

  accept(secret: string, code: string, now = Date.now()): boolean {
    const current = Math.floor(now / STEP_MS);
    for (const counter of [current - 1, current, current + 1]) {
      if (counter <= this.lastUsed || computeTotpCode(secret, counter) !== code) continue;
      this.lastUsed = counter;
      return true;
    }
    return false;
  }
}
