import { GatewayError } from '../../src/model/error';
import { safeMessage } from '../../src/model/safe-message';

/** Maximum number of rejected logins in the time window; after them, tests pause. */
const MAX_REFUSED_ATTEMPTS = 3;
const ATTEMPT_WINDOW_MS = 60_000;

/** Limits the logins of the connection test for all users together, because the appliance locks accounts. */
export const loginAttemptLimit = {
  refusedAt: [] as number[],
  assertAllowed(): void {
    const [first] = (this.refusedAt = this.refusedAt.filter((at) => at > performance.now() - ATTEMPT_WINDOW_MS));
    if (first === undefined || this.refusedAt.length < MAX_REFUSED_ATTEMPTS) return;
    const seconds = Math.ceil((first + ATTEMPT_WINDOW_MS - performance.now()) / 1000);
    throw new GatewayError(
      'LOGIN_PAUSED',
      safeMessage`${MAX_REFUSED_ATTEMPTS} logins were rejected within ${ATTEMPT_WINDOW_MS / 1000} s, and more can lock the account. Try again in ${seconds} s.`,
    );
  },
  recordRefusals(times = 1): void {
    this.refusedAt.push(...Array.from({ length: times }, () => performance.now()));
  },
};
