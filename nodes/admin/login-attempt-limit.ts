import { GatewayError } from '../../src/model/error';
import { safeMessage } from '../../src/model/safe-message';

/** So many refusals within that time, and tests pause. */
const MAX_REFUSED_ATTEMPTS = 3;
const ATTEMPT_WINDOW_MS = 60_000;

/** The button must be no way to try passwords, whoever presses it: every one is a login, and accounts lock. */
export const loginAttempts = {
  refusedAt: [] as number[],
  assertAllowed(): void {
    const [first] = (this.refusedAt = this.refusedAt.filter((at) => at > performance.now() - ATTEMPT_WINDOW_MS));
    if (first === undefined || this.refusedAt.length < MAX_REFUSED_ATTEMPTS) return;
    const seconds = Math.ceil((first + ATTEMPT_WINDOW_MS - performance.now()) / 1000);
    throw new GatewayError(
      'LOGIN_PAUSED',
      safeMessage`${MAX_REFUSED_ATTEMPTS} tests were refused within ${ATTEMPT_WINDOW_MS / 1000} s, and accounts lock. Try again in ${seconds} s.`,
    );
  },
  recordRefusals(times = 1): void {
    this.refusedAt.push(...Array.from({ length: times }, () => performance.now()));
  },
};

/** For tests: as if none had been refused. */
export function resetLoginAttempts(): void {
  loginAttempts.refusedAt = [];
}
