import { unlessAborted, type Cancellable } from '../model/cancelling';
import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import type { Key } from './key';

/** One login for all who wait for its key; its failure is theirs too. Whoever is cancelled leaves it without ending it. */
export class LoginUnderWay {
  /** Whoever waits gets its key all the same, but nobody after them. */
  forgotten = false;
  readonly #key: Promise<Key>;
  #waiting = 0;
  /** Ends what is only done for those who wait. */
  #abandon: (() => void) | undefined;

  constructor(login: (self: LoginUnderWay) => Promise<Key>) {
    this.#key = login(this);
  }

  /** Errors: those of the login, `ABORTED` when the signal says so. */
  async key(signal: Cancellable | undefined): Promise<Key> {
    this.#waiting++;
    try {
      return await unlessAborted(this.#key, signal, 'Cancelled before it was sent.');
    } finally {
      if (--this.#waiting === 0) this.#abandon?.();
    }
  }

  /** Does what would be in vain, such as waiting for a one-time code, when nobody waits for the key any more. Errors: `ABORTED`, then. */
  async whileWanted<T>(closing: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abandoned = new AbortController();
    this.#abandon = () => {
      // Nobody joins it from here on.
      this.forgotten = true;
      abandoned.abort();
    };
    if (this.#waiting === 0) this.#abandon();
    const signal = AbortSignal.any([abandoned.signal, closing]);
    try {
      return await work(signal);
    } catch (thrown) {
      if (closing.aborted) throw new GatewayError('ABORTED', sentence`The gateway was closed during the login.`, { sent: false });
      if (signal.aborted) throw new GatewayError('ABORTED', sentence`Nobody waits for this login any more.`, { sent: false });
      throw thrown;
    } finally {
      this.#abandon = undefined;
    }
  }
}
