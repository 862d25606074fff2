import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { coordinationKey, type Coordination, type CoordinationValue } from '../model/coordination';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { createTotpCode, parseTotpSecret } from '../model/totp';

const MAX_SPENT_STEPS = 64;
const SPENT_STEPS_TTL_MS = 24 * 3_600_000;
/** Maximum wait for an unused code, in time steps. */
const MAX_WAIT_STEPS = 2;
/** Tolerance, because timers may fire slightly early. */
const TIMER_MARGIN_MS = 50;

/** A code whose time step is reserved. */
export interface OneTimeCode {
  readonly code: string;
  /** How far this machine's clock was set back since the latest code, in milliseconds; undefined if it was not. */
  readonly clockSetBackMs: number | undefined;
  /** Frees the step of a code that was certainly not sent. */
  release(): Promise<void>;
}

/** `latest` is the reserved step; `waitFor` is the step whose code may be sent next. */
type StepReservation = { readonly latest: number } | { readonly waitFor: number };

/**
 * Reserves the current one-time code (RFC 6238) or the next unused one. No process that shares the coordination sends a code twice. Call it
 * right before sending: a canceled wait reserves nothing. `secret` is base32 or an `otpauth://` address. Appliances refuse codes older than
 * the latest one that they accepted. After a small clock change the wait covers the gap; after a larger one the current code is sent,
 * because no wait exceeds two steps. Errors: `BAD_CONFIG` for an unreadable secret, `LOGIN_PAUSED` when others take every step, and the
 * reason of `signal`.
 */
export async function reserveOneTimeCode(
  secret: string,
  coordination: Coordination,
  signal?: AbortSignal,
  now: () => number = Date.now,
): Promise<OneTimeCode> {
  const { key, digits, period, algorithm } = parseTotpSecret(secret);
  const spentStepsKey = coordinationKey('one-time-codes', createHash('sha256').update(key).digest('hex'));
  const startedAt = performance.now();
  // The elapsed time counts instead of the clock, so that setting the clock cannot prolong the wait.
  const startTime = now();
  for (;;) {
    signal?.throwIfAborted();
    const waitedMs = performance.now() - startedAt;
    const step = Math.floor((startTime + waitedMs) / 1000 / period);
    const reservation = await reserveStep(coordination, spentStepsKey, step);
    if ('latest' in reservation) {
      const release = (): Promise<void> => releaseStep(coordination, spentStepsKey, step);
      if (signal?.aborted) await release();
      signal?.throwIfAborted();
      const clockSetBackMs = reservation.latest > step ? (reservation.latest - step) * period * 1000 : undefined;
      return { code: createTotpCode(key, step, digits, algorithm), clockSetBackMs, release };
    }
    const waitMs = reservation.waitFor * period * 1000 - (startTime + waitedMs);
    if (waitedMs + waitMs > MAX_WAIT_STEPS * period * 1000) throw allCodesUsed(waitedMs);
    await sleep(waitMs + TIMER_MARGIN_MS, undefined, { signal });
  }
}

/** Reserves a step unless it or a later one is spent. A step far behind the spent ones means that the clock was set back. */
async function reserveStep(coordination: Coordination, key: string, step: number): Promise<StepReservation> {
  let outcome: StepReservation = { waitFor: step + 1 };
  const change = (stored: CoordinationValue | undefined): CoordinationValue => {
    const steps = readSteps(stored);
    const latest = Math.max(...steps, -Infinity);
    const isNearLatest = latest >= step && latest < step + MAX_WAIT_STEPS;
    if (isNearLatest || steps.includes(step)) {
      outcome = { waitFor: isNearLatest ? latest + 1 : step + 1 };
      return steps;
    }
    outcome = { latest };
    return [...steps, step].slice(-MAX_SPENT_STEPS);
  };
  await coordination.update(key, change, SPENT_STEPS_TTL_MS);
  return outcome;
}

async function releaseStep(coordination: Coordination, key: string, step: number): Promise<void> {
  await coordination.update(key, (stored) => readSteps(stored).filter((spent) => spent !== step), SPENT_STEPS_TTL_MS);
}

function readSteps(value: CoordinationValue | undefined): number[] {
  return Array.isArray(value) ? value.filter((step) => typeof step === 'number') : [];
}

function allCodesUsed(waitedMs: number): GatewayError {
  const seconds = Math.round(waitedMs / 1000);
  return new GatewayError(
    'LOGIN_PAUSED',
    safeMessage`All current one-time codes have been used (waited ${seconds} s), and no code is sent twice. Other logins use the same secret, or the clock of this machine was set back. Try again later.`,
    { sent: false },
  );
}
