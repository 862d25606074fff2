import { coordinationKey, type Coordination, type Remembered } from '../model/coordination';
import { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import { isObject } from '../model/json';
import type { CheckedSettings } from '../model/settings';
import { accountOf } from './account';

/** Refused credentials: accounts lock. */
const REFUSED_MS = 60_000;
/** A login that ended in anything else but a key that works. */
const FAILED_MS = 5_000;
const LONGEST_MS = 15 * 60_000;
/** How long the length of a pause is known, for the next to be twice as long. */
const MEMORY_MS = 24 * 3_600_000;
const FORBIDDEN_MS = 10 * 60_000;

const REFUSALS = new Set<ErrorCode>(['LOGIN_REJECTED', 'FORBIDDEN', 'SECOND_FACTOR_REQUIRED']);

/** What is remembered of a pause. */
interface Pause {
  /** Epoch, milliseconds; for the words only, since clocks are set. */
  readonly until: number;
  readonly code: string;
  readonly status: number | null;
}

/**
 * Pauses between logins of one account, remembered beyond redeploys, so that none of them ever becomes a loop. It doubles from one
 * failure to the next, up to 15 minutes, and starts afresh with the first key that the appliance takes.
 */
export class BackOff {
  readonly #coordination: Coordination;
  readonly #pause: string;
  readonly #length: string;
  readonly #forbidden: string;

  constructor(settings: CheckedSettings, coordination: Coordination) {
    const account = accountOf(settings);
    this.#coordination = coordination;
    this.#pause = coordinationKey('login-pause', account);
    this.#length = coordinationKey('login-pause-length', account);
    this.#forbidden = coordinationKey('login-forbidden', settings.origin, settings.prefix);
  }

  /** Throws while logins pause: `LOGIN_PAUSED`, or again that a second factor is required, with the step that waits for it. */
  async refuseWhilePaused(resumeId?: string): Promise<void> {
    const pause = readPause(await this.#coordination.remembered(this.#pause));
    if (!pause) return;
    const ms = Math.min(Math.max(pause.until - Date.now(), 1000), LONGEST_MS);
    const until = new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '');
    const wait = `No login is tried for another ${Math.ceil(ms / 1000)} s (until ${until})`;
    const extra = { pausedUntil: until, pausedBecause: pause.code };
    if (pause.code === 'SECOND_FACTOR_REQUIRED') {
      const words = `The appliance asked for a step that the configuration cannot answer. ${wait}; change the second factor in its settings.`;
      throw new GatewayError('SECOND_FACTOR_REQUIRED', words, { sent: false, extra, ...(resumeId !== undefined && { resumeId }) });
    }
    throw new GatewayError('LOGIN_PAUSED', `${reasonOf(pause)} ${wait}, or until the settings of its login are changed.`, {
      sent: false,
      extra,
    });
  }

  /** After a login that failed. Nothing pauses where nothing was sent, or where somebody ended it. */
  async failed(error: GatewayError): Promise<void> {
    const { code, details } = error;
    if (code !== 'ABORTED' && details.sent !== false) await this.pause(code, details.status, details.retryAfterMs);
  }

  /** Pauses logins: 60 s after a refusal and 5 s after anything else, twice the last one if that is longer, and as long as `Retry-After` says. */
  async pause(code: ErrorCode, status: number | undefined, retryAfterMs = 0): Promise<void> {
    const first = REFUSALS.has(code) ? REFUSED_MS : FAILED_MS;
    const doubled = (last: Remembered | undefined): number => Math.max(first, typeof last === 'number' ? 2 * last : 0);
    const length = await this.#coordination.update(this.#length, (last) => Math.min(doubled(last), LONGEST_MS), MEMORY_MS);
    const ms = Math.min(Math.max(Number(length), retryAfterMs), LONGEST_MS);
    await this.#coordination.remember(this.#pause, { until: Date.now() + ms, code, status: status ?? null }, ms);
  }

  /** The appliance took a key of this account: the next failure is a first one again. */
  async accepted(): Promise<void> {
    const forget = (): undefined => undefined;
    await Promise.all([this.#pause, this.#length].map((key) => this.#coordination.update(key, forget, 0)));
  }

  /** Whether a 403 without a result envelope may lead to a login: not while one that did not help is less than ten minutes ago. */
  async mayRenewForbidden(): Promise<boolean> {
    return (await this.#coordination.remembered(this.#forbidden)) === undefined;
  }

  /** A login that was made because of such a 403 did not help: the account really may not. */
  async renewalDidNotHelp(): Promise<void> {
    await this.#coordination.remember(this.#forbidden, true, FORBIDDEN_MS);
  }
}

function readPause(value: Remembered | undefined): Pause | undefined {
  if (!isObject(value)) return undefined;
  const { until, code, status } = value;
  return { until: Number(until), code: typeof code === 'string' ? code : '', status: typeof status === 'number' ? status : null };
}

function reasonOf({ code, status }: Pause): string {
  if (REFUSALS.has(code as ErrorCode))
    return `The appliance refused these credentials moments ago${status === null ? '' : ` (${status})`}, and accounts lock.`;
  if (code === 'UNAUTHORIZED') return 'The appliance refused a key that it had issued just before.';
  return `The last login ended without a key (${status === null ? code : `${code}, status ${status}`}).`;
}

/** `Retry-After` in milliseconds, as seconds or as an HTTP date; undefined when it says neither. */
export function retryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  // Every form of an HTTP date begins with the day of the week.
  const date = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
