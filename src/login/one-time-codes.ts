import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { coordinationKey, type Coordination, type CoordinationValue } from '../model/coordination';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { createTotpCode, parseTotpSecret } from '../model/totp';

const MAX_SPENT_STEPS = 64;
const SPENT_STEPS_TTL_MS = 24 * 3_600_000;
/** The longest wait for a code that may be sent, in time steps. */
const MAX_WAIT_STEPS = 2;
/** Timers are early at times. */
const TIMER_MARGIN_MS = 50;

/** A code whose step is spent from now on. */
export interface OneTimeCode {
  readonly code: string;
  /** By how much the clock of this machine was set back since a code was sent, if it was. Milliseconds. */
  readonly clockSetBackMs: number | undefined;
  /** For a code that certainly was not sent after all. */
  release(): Promise<void>;
}

/** The step is spent, or one to wait for comes before it. */
type StepReservation = { readonly latest: number } | { readonly waitFor: number };

/**
 * The code of now (RFC 6238), or of the next step whose code may be sent: a code never goes out twice, in no process that shares the
 * coordination, and never before its time. Call it right before sending: whoever is cancelled while it waits spends nothing.
 * `secret` is base32 (spaces and case do not matter) or an `otpauth://` address.
 *
 * Appliances refuse codes of before the latest one that they took. After the clock was set back a little, the step after that one is
 * waited for; after it was set back further, the code of now is sent, because no wait is longer than two steps.
 * Errors: `BAD_CONFIG` when the secret cannot be read, `LOGIN_PAUSED` when others take each step, what `signal` aborts with.
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
  // What was waited counts, whoever sets the clock meanwhile: else there would be no end to it.
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

/** Spends a step, unless it is spent or behind one that is, but not so far behind that the clock has to be taken at its word. */
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
    safeMessage`Every one-time code of now was sent already (waited for ${seconds} s), and no code is sent twice: other logins use the same secret, or the clock of this machine was set back. Try again later.`,
    { sent: false },
  );
}
