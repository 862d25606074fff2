import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { coordinationKey, type Coordination, type Remembered } from '../model/coordination';
import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { code, readSecret } from '../model/totp';

const STEPS_KEPT = 64;
const MEMORY_MS = 24 * 3_600_000;
/** The longest wait for a code that may be sent, in time steps. */
const LONGEST_WAIT = 2;
/** Timers are early at times. */
const MARGIN_MS = 50;

/** A code whose step is spent from now on. */
export interface OneTimeCode {
  readonly code: string;
  /** By how much the clock of this machine was set back since a code was sent, if it was. Milliseconds. */
  readonly setBackMs: number | undefined;
  /** For a code that certainly was not sent after all. */
  release(): Promise<void>;
}

/** The step is spent, or one to wait for comes before it. */
type Taken = { readonly latest: number } | { readonly waitFor: number };

/**
 * The code of now (RFC 6238), or of the next step whose code may be sent: a code never goes out twice, in no process that shares the
 * coordination, and never before its time. Call it right before sending: whoever is cancelled while it waits spends nothing.
 * `secret` is base32 (spaces and case do not matter) or an `otpauth://` address.
 *
 * Appliances refuse codes of before the latest one that they took. After the clock was set back a little, the step after that one is
 * waited for; after it was set back further, the code of now is sent, because no wait is longer than two steps.
 * Errors: `BAD_CONFIG` when the secret cannot be read, `LOGIN_PAUSED` when others take each step, what `signal` aborts with.
 */
export async function nextCode(
  secret: string,
  coordination: Coordination,
  signal?: AbortSignal,
  now: () => number = Date.now,
): Promise<OneTimeCode> {
  const { key, digits, period, algorithm } = readSecret(secret);
  const spent = coordinationKey('one-time-codes', createHash('sha256').update(key).digest('hex'));
  const begun = performance.now();
  // What was waited counts, whoever sets the clock meanwhile: else there would be no end to it.
  const start = now();
  for (;;) {
    signal?.throwIfAborted();
    const waited = performance.now() - begun;
    const step = Math.floor((start + waited) / 1000 / period);
    const taken = await take(coordination, spent, step);
    if ('latest' in taken) {
      const release = (): Promise<void> => giveBack(coordination, spent, step);
      if (signal?.aborted) await release();
      signal?.throwIfAborted();
      const setBackMs = taken.latest > step ? (taken.latest - step) * period * 1000 : undefined;
      return { code: code(key, step, digits, algorithm), setBackMs, release };
    }
    const wait = taken.waitFor * period * 1000 - (start + waited);
    if (waited + wait > LONGEST_WAIT * period * 1000) throw allTaken(waited);
    await sleep(wait + MARGIN_MS, undefined, { signal });
  }
}

/** Spends a step, unless it is spent or behind one that is, but not so far behind that the clock has to be taken at its word. */
async function take(coordination: Coordination, key: string, step: number): Promise<Taken> {
  let outcome: Taken = { waitFor: step + 1 };
  const change = (present: Remembered | undefined): Remembered => {
    const steps = stepsOf(present);
    const latest = Math.max(...steps, -Infinity);
    const near = latest >= step && latest < step + LONGEST_WAIT;
    if (near || steps.includes(step)) {
      outcome = { waitFor: near ? latest + 1 : step + 1 };
      return steps;
    }
    outcome = { latest };
    return [...steps, step].slice(-STEPS_KEPT);
  };
  await coordination.update(key, change, MEMORY_MS);
  return outcome;
}

async function giveBack(coordination: Coordination, key: string, step: number): Promise<void> {
  await coordination.update(key, (present) => stepsOf(present).filter((spent) => spent !== step), MEMORY_MS);
}

function stepsOf(value: Remembered | undefined): number[] {
  return Array.isArray(value) ? value.filter((step) => typeof step === 'number') : [];
}

function allTaken(waited: number): GatewayError {
  const seconds = Math.round(waited / 1000);
  return new GatewayError(
    'LOGIN_PAUSED',
    sentence`Every one-time code of now was sent already (waited for ${seconds} s), and no code is sent twice: other logins use the same secret, or the clock of this machine was set back. Try again later.`,
    { sent: false },
  );
}
