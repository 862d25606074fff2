import { coordinationKey, type Coordination, type CoordinationValue } from '../model/coordination';
import { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { isObject } from '../model/json';
import { trusted, safeMessage } from '../model/safe-message';
import type { CheckedSettings } from '../model/settings';
import { hashAccount } from './account-state';

/** Pause after a refused login, because repeated refusals lock the account. */
const REFUSED_PAUSE_MS = 60_000;
/** Pause after a login that failed for another reason. */
const FAILED_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 15 * 60_000;
/** How long the previous pause length is remembered, so that the next pause doubles it. */
const PAUSE_LENGTH_TTL_MS = 24 * 3_600_000;
/** The length is forgotten after this many pauses, because a single request that is always refused must not delay logins for long. */
const KEY_PAUSE_LENGTH_TTL_FACTOR = 4;
const FORBIDDEN_TTL_MS = 10 * 60_000;

const REFUSAL_CODES = new Set<ErrorCode>(['LOGIN_REJECTED', 'FORBIDDEN', 'SECOND_FACTOR_REQUIRED']);
/** Outcomes that start a pause. Canceled logins and those that sent nothing start none. */
const PAUSE_CODES = new Set<ErrorCode>([
  'LOGIN_REJECTED',
  'FORBIDDEN',
  'NOT_FOUND',
  'APPLIANCE_ERROR',
  'BAD_RESPONSE',
  'TIMEOUT',
  'CONNECTION',
  'TLS',
  'LIMIT',
]);

/** A stored pause. */
interface Pause {
  /** Milliseconds since 1970. Used in messages only, because clocks can be set. */
  readonly until: number;
  /** Length in milliseconds. */
  readonly ms: number;
  readonly code: string;
  readonly status: number | null;
}

interface PauseKeys {
  readonly pause: string;
  readonly length: string;
}

/**
 * Pauses between logins of one account, which survive redeploys. A pause doubles with each failure, up to 15 minutes, and resets when the
 * appliance accepts a key.
 */
export class BackOff {
  readonly #coordination: Coordination;
  /** The pause after a failed login. An accepted key ends it. */
  readonly #loginPauseKeys: PauseKeys;
  /** The pause after a refused new key. Other successful requests do not end it, because only one kind of request may be refused. */
  readonly #keyPauseKeys: PauseKeys;
  readonly #forbiddenKey: string;

  constructor(settings: CheckedSettings, coordination: Coordination) {
    const account = hashAccount(settings);
    this.#coordination = coordination;
    const createKeys = (kind: string): PauseKeys => ({
      pause: coordinationKey(`${kind}-pause`, account),
      length: coordinationKey(`${kind}-pause-length`, account),
    });
    this.#loginPauseKeys = createKeys('login');
    this.#keyPauseKeys = createKeys('key');
    this.#forbiddenKey = coordinationKey('login-forbidden', settings.origin, settings.prefix);
  }

  /** Checks that no pause forbids a login. Errors: `LOGIN_PAUSED`, or `SECOND_FACTOR_REQUIRED` with the step that waits for an answer. */
  async throwIfPaused(resumeId?: string): Promise<void> {
    const storedPauses = await Promise.all([this.#loginPauseKeys, this.#keyPauseKeys].map((keys) => this.#coordination.get(keys.pause)));
    const pause = readPause(storedPauses[0] ?? storedPauses[1]);
    if (!pause) return;
    const ms = Math.min(Math.max(pause.until - Date.now(), 1000), pause.ms);
    const until = new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '');
    const waitMessage = safeMessage`No login is tried for another ${Math.ceil(ms / 1000)} s (until ${trusted(until)})`;
    const extra = { pausedUntil: trusted(until), pausedBecause: trusted(pause.code) };
    if (pause.code === 'SECOND_FACTOR_REQUIRED') {
      const words = safeMessage`The appliance asked for a step that the settings cannot answer. ${waitMessage}; change the second factor there.`;
      throw new GatewayError('SECOND_FACTOR_REQUIRED', words, { sent: false, extra, ...(resumeId !== undefined && { resumeId }) });
    }
    throw new GatewayError(
      'LOGIN_PAUSED',
      safeMessage`${trusted(describeReason(pause))} ${waitMessage}, or until you change the login settings.`,
      {
        sent: false,
        retryAfterMs: ms,
        extra,
      },
    );
  }

  /** Starts a pause when the failure of the login requires one. */
  async recordFailure(error: GatewayError): Promise<void> {
    const { code, details } = error;
    if (PAUSE_CODES.has(code) && details.sent !== false) await this.pause(code, details.status, details.retryAfterMs);
  }

  /**
   * Pauses for 60 s after a refusal and 5 s after another failure, or twice the previous pause, or the time of `Retry-After`, whichever is
   * longest.
   */
  async pause(code: ErrorCode, status: number | undefined, retryAfterMs = 0): Promise<void> {
    const minPauseMs = REFUSAL_CODES.has(code) ? REFUSED_PAUSE_MS : FAILED_PAUSE_MS;
    const doubled = (last: CoordinationValue | undefined): number => Math.max(minPauseMs, typeof last === 'number' ? 2 * last : 0);
    const keys = code === 'UNAUTHORIZED' ? this.#keyPauseKeys : this.#loginPauseKeys;
    const lengthMs = Number(
      await this.#coordination.update(keys.length, (last) => Math.min(doubled(last), MAX_PAUSE_MS), PAUSE_LENGTH_TTL_MS),
    );
    if (keys === this.#keyPauseKeys) await this.#coordination.set(keys.length, lengthMs, KEY_PAUSE_LENGTH_TTL_FACTOR * lengthMs);
    const ms = Math.min(Math.max(lengthMs, retryAfterMs), MAX_PAUSE_MS);
    await this.#coordination.set(keys.pause, { until: Date.now() + ms, ms, code, status: status ?? null }, ms);
  }

  /** Records that the appliance accepted a key, so the next failed login counts as the first. */
  async recordSuccess(): Promise<void> {
    const forget = (): undefined => undefined;
    await Promise.all([this.#loginPauseKeys.pause, this.#loginPauseKeys.length].map((key) => this.#coordination.update(key, forget, 0)));
  }

  /** Whether a login may resolve a 403. False for ten minutes after a login that did not. */
  async canRenewAfterForbidden(): Promise<boolean> {
    return (await this.#coordination.get(this.#forbiddenKey)) === undefined;
  }

  /** Records that a login did not resolve a 403 without a result envelope: the account lacks the permission. */
  async recordFutileRenewal(): Promise<void> {
    await this.#coordination.set(this.#forbiddenKey, true, FORBIDDEN_TTL_MS);
  }
}

function readPause(value: CoordinationValue | undefined): Pause | undefined {
  if (!isObject(value)) return undefined;
  const { until, ms, code, status } = value;
  return {
    // Another version or process may have stored a different shape.
    until: Number(until) || 0,
    ms: Number(ms) || FAILED_PAUSE_MS,
    code: typeof code === 'string' ? code : '',
    status: typeof status === 'number' ? status : null,
  };
}

function describeReason({ code, status }: Pause): string {
  if (REFUSAL_CODES.has(code as ErrorCode))
    return `The appliance refused these credentials moments ago${status === null ? '' : ` (${status})`}, and accounts lock.`;
  if (code === 'UNAUTHORIZED') return 'The appliance refused a key that it had issued just before.';
  return `The last login ended without a key (${status === null ? code : `${code}, status ${status}`}).`;
}

/** Parses a Retry-After header, in seconds or as an HTTP date, to milliseconds. */
export function parseRetryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  // Every HTTP date starts with the day of the week.
  const date = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
