import type { Transport } from '../http/transport';
import type { Exchange, Reply } from '../http/exchange';
import type { SessionApiKey, Session } from '../login/session';
import { rejectOnAbort, type AbortSignalLike } from '../model/abort';
import type { ResultLists } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { toJsonText } from '../model/json-text';
import { encodeQuery } from '../model/path';
import type { Request } from '../model/request';
import { safeMessage } from '../model/safe-message';
import type { CheckedSettings } from '../model/settings';
import { isOutcomeUnknown, isRetryable, RETRY_DELAYS_MS } from './retry-policy';
import { IDENTITY_REQUEST, type IdentityPin } from './identity-pin';
import { isForbiddenWithoutResult, readDocument, readWriteResult } from './reply';

/** Further options of a streaming exchange. It is called again before a replay, because a stream can be read only once. */
export type OpenExchange = () => Promise<Partial<Exchange>>;

/** Sends one request of a read, once. */
export type SendRequest = (request: Request, stream?: OpenExchange) => Promise<Reply>;

/** The response to a successful write; a planned write has no status. */
export interface WriteResponse {
  readonly status: number | null;
  readonly result: ResultLists;
  /** Whether the write changed something, if a comparison of the states before and after shows it. */
  readonly changed?: boolean;
}

export interface SenderDependencies {
  readonly settings: CheckedSettings;
  readonly session: Session;
  readonly transport: Transport;
  /** Undefined when any appliance may be written to. */
  readonly pin?: IdentityPin | undefined;
}

/** State of one attempt. Before `isSent`, at most a login was sent. */
interface AttemptState {
  isSent: boolean;
  /** The API key of the attempt. */
  key?: SessionApiKey;
  readonly isWrite?: boolean;
  readonly signal: AbortSignalLike | undefined;
}

/** Sends and counts the exchanges of one run: with the API key, with a login and a replay for an expired key, with retries for reads. */
export class Sender {
  /** Exchanges with retries and replays, without logins. */
  requests = 0;
  retries = 0;
  /** True after a streamed response whose end could not be verified. */
  hasUnverifiedEnd = false;
  logins = 0;
  readonly #dependencies: SenderDependencies;
  readonly #signal: AbortSignalLike | undefined;
  #onLogin: (() => void) | undefined;

  constructor(dependencies: SenderDependencies, signal: AbortSignalLike | undefined) {
    this.#dependencies = dependencies;
    this.#signal = signal;
  }

  /** Counts a login. Created on demand, because most runs need no login. */
  get onLogin(): () => void {
    return (this.#onLogin ??= () => {
      this.logins++;
      this.#dependencies.transport.counters.logins++;
    });
  }

  /** Sends a read and retries it after connection faults and 5xx. */
  read<T>(attempt: (send: SendRequest) => Promise<T>, signal = this.#signal): Promise<T> {
    return this.#withRetries(
      (attemptState) => attempt((request, openExchange) => this.#sendAuthorized(request, attemptState, openExchange)),
      signal,
    );
  }

  async #withRetries<T>(attempt: (attemptState: AttemptState) => Promise<T>, signal: AbortSignalLike | undefined): Promise<T> {
    for (let repeats = 0; ; repeats++) {
      const attemptState: AttemptState = { isSent: false, signal };
      try {
        return await attempt(attemptState);
      } catch (thrown) {
        const error = asGatewayError(thrown);
        const pause = RETRY_DELAYS_MS[repeats];
        // A failed login is not retried.
        if (!attemptState.isSent || pause === undefined || !isRetryable(error)) throw error;
        await this.waitFor(new Promise((resolve) => setTimeout(resolve, pause)), signal);
        this.retries++;
        this.#dependencies.transport.counters.retries++;
      }
    }
  }

  /** Sends a write once. After the first byte was sent, every end without a complete, readable response is `OUTCOME_UNKNOWN`. */
  async write(
    request: Request,
    openExchange?: OpenExchange,
    parseResult: (reply: Reply) => ResultLists = readWriteResult,
  ): Promise<WriteResponse> {
    const attemptState: AttemptState = { isSent: false, isWrite: true, signal: this.#signal };
    try {
      const reply = await this.#sendAuthorized(request, attemptState, openExchange);
      return { status: reply.status, result: parseResult(reply) };
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // Only a login was sent before this error.
      if (!attemptState.isSent || !isOutcomeUnknown(error)) throw error;
      throw new GatewayError('OUTCOME_UNKNOWN', safeMessage`The write may or may not have happened. Check before you repeat it. ${error}`, {
        ...error.details,
        reason: error.code,
      });
    }
  }

  get isPinned(): boolean {
    return this.#dependencies.pin !== undefined;
  }

  /**
   * Checks the pin before any preparation of a write. Errors: `BAD_CONFIG` when another appliance answers. `write` checks it again for each
   * key.
   */
  async verifyIdentity(): Promise<void> {
    const { pin, session } = this.#dependencies;
    if (pin) await this.#verifyPin(session.currentKey ?? (await session.key(this.onLogin, this.#signal)), pin);
  }

  get hasKey(): boolean {
    return this.#dependencies.session.currentKey !== undefined;
  }

  /** Gets a key for a later write. Errors: those of a login; nothing else was sent. */
  async logIn(): Promise<void> {
    await this.#dependencies.session.key(this.onLogin, this.#signal);
  }

  /** Waits for a promise that other runs share, until this run is canceled. */
  waitFor<T>(shared: Promise<T>, signal = this.#signal): Promise<T> {
    return rejectOnAbort(shared, signal, 'Canceled before it was sent.');
  }

  /**
   * Sends a request with the current key. An expired key gets 401, from some releases 403 without a result envelope. Then it logs in once
   * and replays the request, reads and writes alike, because the appliance refused it unread.
   */
  async #sendAuthorized(request: Request, attemptState: AttemptState, openExchange?: OpenExchange): Promise<Reply> {
    const { session } = this.#dependencies;
    const body = request.body && toJsonText(request.body);
    // Reads the key without a promise, because nearly every request has one.
    const key = (attemptState.key =
      (this.#requiresPin(attemptState) ? undefined : session.currentKey) ?? (await this.#getKey(attemptState)));
    const extras = openExchange && (await openExchange());
    attemptState.isSent = true;
    const reply = await this.#send(request, body, key, attemptState.signal, extras);
    this.#recordReply(session, key, reply);
    if ((reply.status !== 401 && reply.status !== 403) || !(await this.#shouldRenewKey(key, reply))) return reply;
    // Until the replay is sent, only the login can fail.
    attemptState.isSent = false;
    const freshKey = (attemptState.key = await this.#getKey(attemptState));
    const replayExtras = openExchange && (await openExchange());
    attemptState.isSent = true;
    const replay = await this.#send(request, body, freshKey, attemptState.signal, replayExtras);
    this.#recordReply(session, freshKey, replay);
    if (replay.status === 401) await session.rejectReplay(freshKey);
    // A login does not help here, whether the key had expired or not.
    else if (isForbiddenWithoutResult(replay) && isForbiddenWithoutResult(reply)) await session.recordFutileRenewal();
    return replay;
  }

  #recordReply(session: Session, key: SessionApiKey, { status, streamed, hasUnverifiedEnd }: Reply): void {
    session.recordResponse(key, status);
    if (streamed && hasUnverifiedEnd) this.hasUnverifiedEnd = true;
  }

  #requiresPin({ isWrite }: AttemptState): boolean {
    return isWrite === true && this.#dependencies.pin !== undefined;
  }

  async #getKey(attemptState: AttemptState): Promise<SessionApiKey> {
    const { session, pin } = this.#dependencies;
    const key = session.currentKey ?? (await session.key(this.onLogin, attemptState.signal));
    return pin && this.#requiresPin(attemptState) ? this.#verifyPin(key, pin) : key;
  }

  /** Returns this key, or a newer one, when it belongs to the pinned appliance. */
  async #verifyPin(key: SessionApiKey, pin: IdentityPin): Promise<SessionApiKey> {
    const { transport } = this.#dependencies;
    if (pin.isVerified(key, transport.opened)) return key;
    // Other runs wait for this request too, so it has no signal.
    const readIdentity = (): Promise<{ key: SessionApiKey; document: JsonObject }> =>
      this.#withRetries(async (attemptState) => {
        const document = readDocument(await this.#sendAuthorized(IDENTITY_REQUEST, attemptState));
        return { key: attemptState.key ?? key, document };
      }, undefined);
    return this.waitFor(pin.verify(readIdentity, () => transport.opened));
  }

  /** Whether a new key may help. Then the old key is discarded. */
  async #shouldRenewKey(key: SessionApiKey, reply: Reply): Promise<boolean> {
    const { session, settings } = this.#dependencies;
    if (reply.status === 401) return session.handleUnauthorized(key);
    // Only a person with a code could log in again, and the key may still be good for other requests.
    if (!isForbiddenWithoutResult(reply) || settings.secondFactor === 'flow' || !(await session.mayBeExpired(key))) return false;
    try {
      return await session.handleUnauthorized(key);
    } catch (thrown) {
      if (asGatewayError(thrown).code === 'LOGIN_PAUSED') return false;
      throw thrown;
    }
  }

  #send(
    request: Request,
    body: string | undefined,
    { authorization }: SessionApiKey,
    signal: AbortSignalLike | undefined,
    extras?: Partial<Exchange>,
  ): Promise<Reply> {
    this.requests++;
    const { settings, transport } = this.#dependencies;
    const query = request.rawQuery ? `?${request.rawQuery}` : encodeQuery(request.query);
    const exchange: Exchange = { method: request.method, path: settings.prefix + request.path + query, authorization, signal };
    if (body !== undefined) exchange.body = body;
    return transport.send(extras ? { ...exchange, ...extras } : exchange);
  }
}
