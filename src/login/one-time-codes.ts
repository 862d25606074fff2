import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { code, readSecret } from '../model/totp';

/** The last time step whose code was sent, by secret, for the whole process: a code must not go out twice, redeploy or not. */
const spent = new Map<string, number>();

/**
 * The next code that has not been sent yet (RFC 6238). `secret` is base32 (spaces and case do not matter) or an `otpauth://`
 * address. Waits for the next time step when this one's code is spent. Errors: `BAD_CONFIG` when the secret cannot be read.
 */
export async function nextCode(secret: string, signal?: AbortSignal, now: () => number = Date.now): Promise<string> {
  const { key, digits, period, algorithm } = readSecret(secret);
  const id = createHash('sha256').update(key).digest('hex');
  const step = Math.floor(now() / 1000 / period);
  const last = spent.get(id) ?? -1;
  const next = Math.max(step, last + 1);
  spent.set(id, next);
  const wait = next * period * 1000 - now();
  if (wait > 0) await sleep(wait + 50, undefined, { signal });
  return code(key, next, digits, algorithm);
}
