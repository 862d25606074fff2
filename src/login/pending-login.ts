import { rejectOnAbort, type AbortSignalLike } from '../model/abort';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { createBasicAuthorizationHeader } from '../http/exchange';

/** One login shared by all callers that wait for its key, including its failure. A canceled caller leaves without ending it. */
export class PendingLogin {
  /** Whether the login was discarded: its present callers still get the key, and later callers start a new login. */
  isDiscarded = false;
  readonly #key: Promise<SessionApiKey>;
  #waiterCount = 0;
  /** Ends work that only serves waiting callers. */
  #abandon: (() => void) | undefined;

  constructor(login: (self: PendingLogin) => Promise<SessionApiKey>) {
    this.#key = login(this);
  }

  /** Waits for the key. Errors: those of the login, and `ABORTED` when the signal fires. */
  async waitForKey(signal: AbortSignalLike | undefined): Promise<SessionApiKey> {
    this.#waiterCount++;
    try {
      return await rejectOnAbort(this.#key, signal, 'Canceled before it was sent.');
    } finally {
      if (--this.#waiterCount === 0) this.#abandon?.();
    }
  }

  /** Runs work such as waiting for a one-time code, and aborts it when no caller waits for the key. Errors: `ABORTED`. */
  async runWhileAwaited<T>(closeSignal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abandonController = new AbortController();
    this.#abandon = () => {
      // No further caller may join an abandoned login.
      this.isDiscarded = true;
      abandonController.abort();
    };
    if (this.#waiterCount === 0) this.#abandon();
    const signal = AbortSignal.any([abandonController.signal, closeSignal]);
    try {
      return await work(signal);
    } catch (thrown) {
      if (closeSignal.aborted) throw new GatewayError('ABORTED', safeMessage`The gateway was closed during the login.`, { sent: false });
      if (signal.aborted)
        throw new GatewayError('ABORTED', safeMessage`Every message that waited for this login was canceled.`, { sent: false });
      throw thrown;
    } finally {
      this.#abandon = undefined;
    }
  }
}

/** An API key as an Authorization header. Compare keys by identity. */
export class SessionApiKey {
  /** Whether the appliance has answered a request with this key. */
  isAccepted = false;
  /** Whether the appliance refused this key before it was ever accepted. */
  rejectedWhenFresh = false;
  readonly authorization: string;

  constructor(readonly apiKey: string) {
    this.authorization = createBasicAuthorizationHeader(apiKey, '');
  }
}
