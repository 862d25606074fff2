import { rejectOnAbort, type AbortSignalLike } from '../model/abort';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import type { SessionApiKey } from './session-api-key';

/** One login for all who wait for its key; its failure is theirs too. Whoever is cancelled leaves it without ending it. */
export class PendingLogin {
  /** Whoever waits gets its key all the same, but nobody after them. */
  isDiscarded = false;
  readonly #key: Promise<SessionApiKey>;
  #waiterCount = 0;
  /** Ends what is only done for those who wait. */
  #abandon: (() => void) | undefined;

  constructor(login: (self: PendingLogin) => Promise<SessionApiKey>) {
    this.#key = login(this);
  }

  /** Errors: those of the login, `ABORTED` when the signal says so. */
  async waitForKey(signal: AbortSignalLike | undefined): Promise<SessionApiKey> {
    this.#waiterCount++;
    try {
      return await rejectOnAbort(this.#key, signal, 'Cancelled before it was sent.');
    } finally {
      if (--this.#waiterCount === 0) this.#abandon?.();
    }
  }

  /** Does what would be in vain, such as waiting for a one-time code, when nobody waits for the key any more. Errors: `ABORTED`, then. */
  async runWhileAwaited<T>(closeSignal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abandonController = new AbortController();
    this.#abandon = () => {
      // Nobody joins it from here on.
      this.isDiscarded = true;
      abandonController.abort();
    };
    if (this.#waiterCount === 0) this.#abandon();
    const signal = AbortSignal.any([abandonController.signal, closeSignal]);
    try {
      return await work(signal);
    } catch (thrown) {
      if (closeSignal.aborted) throw new GatewayError('ABORTED', safeMessage`The gateway was closed during the login.`, { sent: false });
      if (signal.aborted) throw new GatewayError('ABORTED', safeMessage`Nobody waits for this login any more.`, { sent: false });
      throw thrown;
    } finally {
      this.#abandon = undefined;
    }
  }
}
