import type { Transport } from '../http/transport';
import type { Exchange, Reply } from '../http/exchange';
import type { SessionApiKey, Session } from '../login/session';
import { rejectOnAbort, type AbortSignalLike } from '../model/abort';
import type { ResultMessageLists } from '../model/envelope';
import { asGatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { toJsonText } from '../model/json-text';
import { encodeQuery } from '../model/path';
import type { Request } from '../model/request';
import type { CheckedSettings } from '../model/settings';
import { isRetryable, RETRY_DELAYS_MS, toWriteError } from './retry-policy';
import { EntityTags, type EntityTagSupport } from './entity-tags';
import { IDENTITY_REQUEST, type IdentityPin } from './identity-pin';
import type { ReadCache } from './read-cache';
import { isForbiddenWithoutEnvelope, readDocument, readWriteResult } from './reply';

/** Further options of a streaming exchange. It is called again before a replay, because a stream can be read only once. */
export type CreateStreamOptions = () => Promise<Partial<Exchange>>;

/** Sends one request of a read, once. */
type SendRequest = (request: Request, stream?: CreateStreamOptions) => Promise<Reply>;

/** The response to a successful write; a planned write has no status. */
export interface WriteResponse {
  readonly status: number | null;
  readonly result: ResultMessageLists;
  /** Whether the write changed something, if a comparison of the states before and after shows it. */
  readonly changed?: boolean;
}

export interface SenderDependencies {
  readonly settings: CheckedSettings;
  readonly session: Session;
  readonly transport: Transport;
  /** The identity pin; undefined when writes may go to any appliance. */
  readonly pin?: IdentityPin | undefined;
  readonly readCache: ReadCache;
  readonly entityTagSupport: EntityTagSupport;
}

/** State of one attempt. Before `isSent`, at most a login was sent. */
interface AttemptState {
  isSent: boolean;
  /** The API key that the attempt uses. */
  key?: SessionApiKey;
  readonly isWrite?: boolean;
  readonly signal: AbortSignalLike | undefined;
}

/** A failed attempt and its error. */
interface FailedAttempt {
  readonly thrown: unknown;
  readonly attemptState: AttemptState;
}

/** Sends and counts the exchanges of one run: with the API key, with a login and a replay for an expired key, with retries for reads. */
export class Sender {
  /** Exchanges with retries and replays, without logins. */
  requests = 0;
  retries = 0;
  /** True after a streamed response whose end could not be verified. */
  hasUnverifiedEnd = false;
  logins = 0;
  /** Created on demand, because most appliances send no ETag. */
  #entityTags: EntityTags | undefined;
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

  /**
   * Sends a read and retries it after connection faults and 5xx. `parse` runs for each response. A read that succeeds at once waits for its
   * response only.
   */
  readReply<T>(request: Request, parse: (reply: Reply) => T, signal = this.#signal): Promise<T> {
    const attemptState: AttemptState = { isSent: false, signal };
    return this.#exchange(request, attemptState, parse, (thrown) =>
      this.#withRetries((state) => this.#sendAuthorized(request, state).then(parse), signal, { thrown, attemptState }),
    );
  }

  /** Like `readReply` for a read whose attempts do more, such as open a file. */
  read<T>(attempt: (send: SendRequest) => Promise<T>, signal = this.#signal): Promise<T> {
    return this.#withRetries(
      (attemptState) => attempt((request, openExchange) => this.#sendAuthorized(request, attemptState, openExchange)),
      signal,
    );
  }

  /** `failed` is a first attempt that was made already. */
  async #withRetries<T>(
    attempt: (attemptState: AttemptState) => Promise<T>,
    signal: AbortSignalLike | undefined,
    failed?: FailedAttempt,
  ): Promise<T> {
    let lastFailure = failed;
    for (let repeats = 0; ;) {
      if (lastFailure) await this.#pauseBeforeRetry(lastFailure, RETRY_DELAYS_MS[repeats++], signal);
      const attemptState: AttemptState = { isSent: false, signal };
      try {
        return await attempt(attemptState);
      } catch (thrown) {
        lastFailure = { thrown, attemptState };
      }
    }
  }

  /** Errors: that of the attempt when it cannot be retried. A failed login is not retried. */
  async #pauseBeforeRetry(
    { thrown, attemptState }: FailedAttempt,
    pauseMs: number | undefined,
    signal: AbortSignalLike | undefined,
  ): Promise<void> {
    const error = asGatewayError(thrown);
    if (!attemptState.isSent || pauseMs === undefined || !isRetryable(error)) throw error;
    await this.waitFor(new Promise((resolve) => setTimeout(resolve, pauseMs)), signal);
    this.retries++;
    this.#dependencies.transport.counters.retries++;
  }

  /** Sends a write once. After the first byte was sent, every end without a complete, readable response is `OUTCOME_UNKNOWN`. */
  write(
    request: Request,
    openExchange?: CreateStreamOptions,
    parseResult: (reply: Reply) => ResultMessageLists = readWriteResult,
  ): Promise<WriteResponse> {
    const { readCache } = this.#dependencies;
    const attemptState: AttemptState = { isSent: false, isWrite: true, signal: this.#signal };
    readCache.invalidate(request.path);
    return this.#exchange<WriteResponse>(
      request,
      attemptState,
      (reply) => {
        const result = parseResult(reply);
        this.#entityTags?.recordWrite(request);
        // A read during the write may have the old state.
        readCache.invalidate(request.path);
        return { status: reply.status, result };
      },
      async (thrown) => {
        const error = asGatewayError(thrown);
        const explained = await this.#entityTags?.explainRefusal(request, error, (read) => this.readReply(read, () => undefined));
        this.#entityTags?.recordWrite(request);
        readCache.invalidate(request.path);
        throw toWriteError(explained ?? error, attemptState.isSent);
      },
      openExchange,
    );
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

  #sendAuthorized(request: Request, attemptState: AttemptState, openExchange?: CreateStreamOptions): Promise<Reply> {
    return this.#exchange(request, attemptState, (reply) => reply, rethrow, openExchange);
  }

  /**
   * Sends a request with the current key. An expired key gets 401, from some releases 403 without a result envelope. Then it logs in once
   * and replays the request, reads and writes alike, because the appliance refused it unread. `fail` gets every error, also that of `parse`.
   * Nearly every request has a key and no stream; it waits for its response only.
   */
  #exchange<T>(
    request: Request,
    attemptState: AttemptState,
    parse: (reply: Reply) => T,
    fail: (thrown: unknown) => T | Promise<T>,
    openExchange?: CreateStreamOptions,
  ): Promise<T> {
    try {
      const body = request.body && toJsonText(request.body);
      const key = this.#requiresPin(attemptState) ? undefined : this.#dependencies.session.currentKey;
      if (!key || openExchange) return this.#sendPrepared(request, body, attemptState, openExchange).then(parse).catch(fail);
      const complete = (reply: Reply): T | Promise<T> => {
        try {
          this.#recordReply(request, key, reply);
          if (reply.status !== 401 && reply.status !== 403) return parse(reply);
        } catch (thrown) {
          return fail(thrown);
        }
        return this.#replayRefused(request, body, attemptState, key, reply).then(parse).catch(fail);
      };
      return this.#send(request, body, attemptState, key).then(complete, fail);
    } catch (thrown) {
      return Promise.reject(asGatewayError(thrown)).catch(fail);
    }
  }

  /** Gets a key and opens the stream before it sends. */
  async #sendPrepared(
    request: Request,
    body: string | undefined,
    attemptState: AttemptState,
    openExchange: CreateStreamOptions | undefined,
  ): Promise<Reply> {
    const key = (this.#requiresPin(attemptState) ? undefined : this.#dependencies.session.currentKey) ?? (await this.#getKey(attemptState));
    const reply = await this.#send(request, body, attemptState, key, openExchange && (await openExchange()));
    this.#recordReply(request, key, reply);
    if (reply.status !== 401 && reply.status !== 403) return reply;
    return this.#replayRefused(request, body, attemptState, key, reply, openExchange);
  }

  /** Sends the request again with a new key, if one may help. */
  async #replayRefused(
    request: Request,
    body: string | undefined,
    attemptState: AttemptState,
    key: SessionApiKey,
    reply: Reply,
    openExchange?: CreateStreamOptions,
  ): Promise<Reply> {
    const { session } = this.#dependencies;
    if (!(await this.#shouldRenewKey(key, reply))) return reply;
    // Until the replay is sent, only the login can fail.
    attemptState.isSent = false;
    const freshKey = await this.#getKey(attemptState);
    const replay = await this.#send(request, body, attemptState, freshKey, openExchange && (await openExchange()));
    this.#recordReply(request, freshKey, replay);
    if (replay.status === 401) await session.rejectReplay(freshKey);
    // A login does not help here, whether the key had expired or not.
    else if (isForbiddenWithoutEnvelope(replay) && isForbiddenWithoutEnvelope(reply)) await session.recordFutileRenewal();
    return replay;
  }

  #recordReply(request: Request, key: SessionApiKey, reply: Reply): void {
    const { status, streamed, hasUnverifiedEnd, etag } = reply;
    if (etag !== undefined) this.#entityTags ??= new EntityTags(this.#dependencies.entityTagSupport);
    this.#entityTags?.recordRead(request, reply);
    this.#dependencies.session.recordResponse(key, status);
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
    if (!isForbiddenWithoutEnvelope(reply) || settings.secondFactor === 'flow' || !(await session.mayBeExpired(key))) return false;
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
    attemptState: AttemptState,
    key: SessionApiKey,
    extras?: Partial<Exchange>,
  ): Promise<Reply> {
    attemptState.key = key;
    attemptState.isSent = true;
    this.requests++;
    const { settings, transport } = this.#dependencies;
    const query = request.rawQuery ? `?${request.rawQuery}` : encodeQuery(request.query);
    const exchange: Exchange = {
      method: request.method,
      path: settings.prefix + request.path + query,
      authorization: key.authorization,
      signal: attemptState.signal,
      body,
    };
    const ifMatch = this.#entityTags?.headersFor(request);
    if (ifMatch) exchange.headers = ifMatch;
    return transport.send(extras ? { ...exchange, ...extras } : exchange);
  }
}

function rethrow(thrown: unknown): never {
  throw thrown;
}
