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

/** What a streaming exchange has beyond its request; asked for again before a replay, because a stream is used up. */
export type OpenExchange = () => Promise<Partial<Exchange>>;

/** Sends one request of a read, once. */
export type SendRequest = (request: Request, stream?: OpenExchange) => Promise<Reply>;

/** The answer to a write that succeeded; a plan has no status. */
export interface WriteResponse {
  readonly status: number | null;
  readonly result: ResultLists;
}

export interface SenderDependencies {
  readonly settings: CheckedSettings;
  readonly session: Session;
  readonly transport: Transport;
  /** Undefined where any appliance may be written to. */
  readonly pin?: IdentityPin | undefined;
}

/** Whether the request itself is on its way: what failed before was at most a login. */
interface AttemptState {
  isSent: boolean;
  /** The key that it goes by. */
  key?: SessionApiKey;
  readonly isWrite?: boolean;
  readonly signal: AbortSignalLike | undefined;
}

/** Sends the exchanges of one run: with the key, a login and a replay where it has died, repeats of reads; and counts them. */
export class Sender {
  /** Exchanges, repeats and replays included, logins not. */
  requests = 0;
  retries = 0;
  logins = 0;
  readonly #dependencies: SenderDependencies;
  readonly #signal: AbortSignalLike | undefined;
  readonly onLogin = (): void => {
    this.logins++;
    this.#dependencies.transport.counters.logins++;
  };

  constructor(dependencies: SenderDependencies, signal: AbortSignalLike | undefined) {
    this.#dependencies = dependencies;
    this.#signal = signal;
  }

  /** A read: tried again after connection faults and 5xx, with a growing pause. */
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
        // A login that failed is not a read: it is not repeated.
        if (!attemptState.isSent || pause === undefined || !isRetryable(error)) throw error;
        await this.waitFor(new Promise((resolve) => setTimeout(resolve, pause)), signal);
        this.retries++;
        this.#dependencies.transport.counters.retries++;
      }
    }
  }

  /** A write, sent once: every end without a complete, readable answer, once a byte has left, is `OUTCOME_UNKNOWN`. */
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
      // Before the write itself, there was at most a login.
      if (!attemptState.isSent || !isOutcomeUnknown(error)) throw error;
      throw new GatewayError('OUTCOME_UNKNOWN', safeMessage`It may or may not have happened, look before you send it again. ${error}`, {
        ...error.details,
        reason: error.code,
      });
    }
  }

  get isPinned(): boolean {
    return this.#dependencies.pin !== undefined;
  }

  /**
   * Before anything is done for the sake of a write. Errors: `BAD_CONFIG` when another appliance answers than the pinned one. `write` sees to
   * it by itself, for each key that it uses.
   */
  async verifyIdentity(): Promise<void> {
    const { pin, session } = this.#dependencies;
    if (pin) await this.#verifyPin(session.currentKey ?? (await session.key(this.onLogin, this.#signal)), pin);
  }

  /** A promise that others share, left early when this run is cancelled. */
  waitFor<T>(shared: Promise<T>, signal = this.#signal): Promise<T> {
    return rejectOnAbort(shared, signal, 'Canceled before it was sent.');
  }

  /**
   * Sends with the present key. One that has died is answered 401, by some releases 403 without a result envelope: then one new login
   * and one replay, reads and writes alike, since it was refused unread.
   */
  async #sendAuthorized(request: Request, attemptState: AttemptState, openExchange?: OpenExchange): Promise<Reply> {
    const { session } = this.#dependencies;
    const body = request.body && toJsonText(request.body);
    // The key that there is, without a promise: nearly every request has it.
    const key = (attemptState.key =
      (this.#requiresPin(attemptState) ? undefined : session.currentKey) ?? (await this.#getKey(attemptState)));
    const extras = openExchange && (await openExchange());
    attemptState.isSent = true;
    const reply = await this.#send(request, body, key, attemptState.signal, extras);
    session.recordResponse(key, reply.status);
    if ((reply.status !== 401 && reply.status !== 403) || !(await this.#shouldRenewKey(key, reply))) return reply;
    // What fails until the replay is the login, and the request is as good as unsent.
    attemptState.isSent = false;
    const freshKey = (attemptState.key = await this.#getKey(attemptState));
    const replayExtras = openExchange && (await openExchange());
    attemptState.isSent = true;
    const replay = await this.#send(request, body, freshKey, attemptState.signal, replayExtras);
    session.recordResponse(freshKey, replay.status);
    if (replay.status === 401) await session.rejectReplay(freshKey);
    // Whether the key had died or not, a login does not help here.
    else if (isForbiddenWithoutResult(replay) && isForbiddenWithoutResult(reply)) await session.recordFutileRenewal();
    return replay;
  }

  #requiresPin({ isWrite }: AttemptState): boolean {
    return isWrite === true && this.#dependencies.pin !== undefined;
  }

  async #getKey(attemptState: AttemptState): Promise<SessionApiKey> {
    const { session, pin } = this.#dependencies;
    const key = session.currentKey ?? (await session.key(this.onLogin, attemptState.signal));
    return pin && this.#requiresPin(attemptState) ? this.#verifyPin(key, pin) : key;
  }

  /** This key, or one that came meanwhile, if it is of the pinned appliance. */
  async #verifyPin(key: SessionApiKey, pin: IdentityPin): Promise<SessionApiKey> {
    const { transport } = this.#dependencies;
    if (pin.isVerified(key, transport.opened)) return key;
    // Others wait for the answer too, so it is not cancelled with this run.
    const readIdentity = (): Promise<{ key: SessionApiKey; document: JsonObject }> =>
      this.#withRetries(async (attemptState) => {
        const document = readDocument(await this.#sendAuthorized(IDENTITY_REQUEST, attemptState));
        return { key: attemptState.key ?? key, document };
      }, undefined);
    return this.waitFor(pin.verify(readIdentity, () => transport.opened));
  }

  /** Whether another key may answer the request; this one is given up then. */
  async #shouldRenewKey(key: SessionApiKey, reply: Reply): Promise<boolean> {
    const { session, settings } = this.#dependencies;
    if (reply.status === 401) return session.handleUnauthorized(key);
    // Only somebody with a code could log in again, and the key may be good for everything else.
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
