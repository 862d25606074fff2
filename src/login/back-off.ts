import { createHash } from 'node:crypto';
import { GatewayError } from '../model/error';
import type { CheckedSettings } from '../model/settings';
import type { ErrorCode } from '../model/error-codes';

const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 15 * 60_000;

interface Refusal {
  count: number;
  until: number;
  code: ErrorCode;
  resumeId: string | undefined;
}

/** For the whole process, so that a redeploy with the same settings does not try a refused password again: accounts lock. */
const refusals = new Map<string, Refusal>();

/** Remembers refusals of one set of credentials; any change of the settings that a login uses is another account. */
export class Account {
  readonly #id: string;

  constructor(settings: CheckedSettings) {
    const { origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret } = settings;
    const parts = [origin, prefix, login, realm, secondFactor, username, password, secondUsername, secondPassword, totpSecret];
    this.#id = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  }

  /** Throws while logins pause: `LOGIN_PAUSED`, or again that a second factor is required. */
  refuseWhilePaused(now = Date.now()): void {
    const refusal = refusals.get(this.#id);
    if (!refusal || now >= refusal.until) return;
    const seconds = Math.ceil((refusal.until - now) / 1000);
    if (refusal.code === 'SECOND_FACTOR_REQUIRED') {
      throw new GatewayError(
        'SECOND_FACTOR_REQUIRED',
        `The appliance asked for a step that the configuration cannot answer. No login is tried for another ${seconds} s; change the second factor in the appliance node.`,
        {
          sent: false,
          ...(refusal.resumeId !== undefined && { resumeId: refusal.resumeId }),
        },
      );
    }
    throw new GatewayError(
      'LOGIN_PAUSED',
      `The appliance refused these credentials moments ago. To keep the account from being locked, no login is tried for another ${seconds} s, or until the appliance node is changed.`,
      { sent: false },
    );
  }

  /** Pauses logins: 60 s after the first refusal, doubling up to 15 minutes. */
  refused(code: ErrorCode, resumeId?: string, now = Date.now()): void {
    const count = (refusals.get(this.#id)?.count ?? 0) + 1;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), LONGEST_PAUSE_MS);
    refusals.set(this.#id, { count, until: now + pause, code, resumeId });
  }

  accepted(): void {
    refusals.delete(this.#id);
  }
}

/** For tests: as if the process had just started. */
export function forgetRefusals(): void {
  refusals.clear();
}
