import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { coordinationKey, type Coordination, type Remembered } from '../model/coordination';
import { GatewayError } from '../model/error';
import { code, readSecret } from '../model/totp';

/** Steps are remembered by number, not as the latest: after the clock was set back, an earlier step is not spent yet. */
const STEPS_KEPT = 64;
const MEMORY_MS = 24 * 3_600_000;
/** How often somebody else may take the step that was waited for. */
const MOST_WAITS = 2;
/** Timers are early at times. */
const MARGIN_MS = 50;

/** A code whose step is spent from now on. */
export interface OneTimeCode {
  readonly code: string;
  /** By how much the clock of this machine went back since a code was sent, if it did. Milliseconds. */
  readonly setBackMs: number | undefined;
  /** For a code that certainly was not sent after all. */
  release(): Promise<void>;
}

/**
 * The code of now (RFC 6238), if it has not been sent yet, else of the next step: a code never goes out twice, in no process that
 * shares the coordination, and never before its time. Call it right before sending: whoever is cancelled while it waits spends
 * nothing. `secret` is base32 (spaces and case do not matter) or an `otpauth://` address.
 * Errors: `BAD_CONFIG` when the secret cannot be read, `LOGIN_PAUSED` when others take each step that was waited for, what `signal`
 * aborts with.
 */
export async function nextCode(
  secret: string,
  coordination: Coordination,
  signal?: AbortSignal,
  now: () => number = Date.now,
): Promise<OneTimeCode> {
  const { key, digits, period, algorithm } = readSecret(secret);
  const spent = coordinationKey('one-time-codes', createHash('sha256').update(key).digest('hex'));
  // What was waited counts, whoever sets the clock meanwhile: else there would be no end to it.
  const start = now() - performance.now();
  for (let waits = 0; ; waits++) {
    const time = start + performance.now();
    const step = Math.floor(time / 1000 / period);
    signal?.throwIfAborted();
    const taken = await take(coordination, spent, step);
    if (taken) {
      const setBackMs = taken.latest > step ? (taken.latest - step) * period * 1000 : undefined;
      const release = (): Promise<void> => giveBack(coordination, spent, step);
      return { code: code(key, step, digits, algorithm), setBackMs, release };
    }
    if (waits === MOST_WAITS) throw allTaken(waits * period);
    await sleep((step + 1) * period * 1000 - time + MARGIN_MS, undefined, { signal });
  }
}

/** Spends a step. Undefined when it was spent before. */
async function take(coordination: Coordination, key: string, step: number): Promise<{ latest: number } | undefined> {
  let mine = false;
  let latest = -Infinity;
  const change = (present: Remembered | undefined): Remembered => {
    const steps = stepsOf(present);
    mine = !steps.includes(step);
    latest = Math.max(...steps, -Infinity);
    return mine ? [...steps, step].slice(-STEPS_KEPT) : steps;
  };
  await coordination.update(key, change, MEMORY_MS);
  return mine ? { latest } : undefined;
}

async function giveBack(coordination: Coordination, key: string, step: number): Promise<void> {
  await coordination.update(key, (present) => stepsOf(present).filter((spent) => spent !== step), MEMORY_MS);
}

function stepsOf(value: Remembered | undefined): number[] {
  return Array.isArray(value) ? value.filter((step) => typeof step === 'number') : [];
}

function allTaken(seconds: number): GatewayError {
  return new GatewayError(
    'LOGIN_PAUSED',
    `For ${seconds} s each one-time code was sent by another login with the same secret, and no code is sent twice. Try again later, or give each appliance an account of its own.`,
    { sent: false },
  );
}
