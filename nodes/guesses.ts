import { GatewayError } from '../src/model/error';
import { sentence } from '../src/model/sentence';

/** So many refusals within that time, and tests pause. */
const GUESSES = 3;
const GUESSES_MS = 60_000;

/** The button must be no way to try passwords, whoever presses it: every one is a login, and accounts lock. */
export const guesses = {
  refused: [] as number[],
  check(): void {
    const [first] = (this.refused = this.refused.filter((at) => at > performance.now() - GUESSES_MS));
    if (first === undefined || this.refused.length < GUESSES) return;
    const seconds = Math.ceil((first + GUESSES_MS - performance.now()) / 1000);
    throw new GatewayError(
      'LOGIN_PAUSED',
      sentence`${GUESSES} tests were refused within ${GUESSES_MS / 1000} s, and accounts lock. Try again in ${seconds} s.`,
    );
  },
  count(times = 1): void {
    this.refused.push(...Array.from({ length: times }, () => performance.now()));
  },
};

/** For tests: as if none had been refused. */
export function forgetTests(): void {
  guesses.refused = [];
}
