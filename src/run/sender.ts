import type { Transport } from '../http/transport';
import type { Exchange, Reply } from '../http/exchange';
import type { Key, Session } from '../login/session';
import { unlessAborted, type Cancellable } from '../model/cancelling';
import type { ResultLists } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { jsonText } from '../model/json-text';
import { encodeQuery } from '../model/path';
import type { Request } from '../model/request';
import { sentence } from '../model/sentence';
import type { CheckedSettings } from '../model/settings';
import { leavesUnknown, mayRepeat, PAUSES_MS } from './repeat';
import { IDENTITY, type Pin } from './pin';
import { isBareRefusal, readDocument, readResult } from './reply';

/** What a streaming exchange has beyond its request; asked for again before a replay, because a stream is used up. */
export type Stream = () => Promise<Partial<Exchange>>;

/** Sends one request of a read, once. */
export type Send = (request: Request, stream?: Stream) => Promise<Reply>;

/** The answer to a write that succeeded; a plan has no status. */
export interface Written {
  readonly status: number | null;
  readonly result: ResultLists;
}

export interface SenderParts {
  readonly settings: CheckedSettings;
  readonly session: Session;
  readonly transport: Transport;
  /** Undefined where any appliance may be written to. */
  readonly pin?: Pin | undefined;
}

/** Whether the request itself is on its way: what failed before was at most a login. */
interface Progress {
  sent: boolean;
  /** The key that it goes by. */
  key?: Key;
  readonly writes?: boolean;
  readonly signal: Cancellable | undefined;
}

/** Sends the exchanges of one run: with the key, a login and a replay where it has died, repeats of reads; and counts them. */
export class Sender {
  /** Exchanges, repeats and replays included, logins not. */
  requests = 0;
  retries = 0;
  logins = 0;
  readonly #parts: SenderParts;
  readonly #signal: Cancellable | undefined;
  readonly onLogin = (): void => {
    this.logins++;
    this.#parts.transport.counters.logins++;
  };

  constructor(parts: SenderParts, signal: Cancellable | undefined) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /** A read: tried again after connection faults and 5xx, with a growing pause. */
  read<T>(attempt: (send: Send) => Promise<T>, signal = this.#signal): Promise<T> {
    return this.#repeated((progress) => attempt((request, stream) => this.#authorized(request, progress, stream)), signal);
  }

  async #repeated<T>(attempt: (progress: Progress) => Promise<T>, signal: Cancellable | undefined): Promise<T> {
    for (let repeats = 0; ; repeats++) {
      const progress: Progress = { sent: false, signal };
      try {
        return await attempt(progress);
      } catch (thrown) {
        const error = asGatewayError(thrown);
        const pause = PAUSES_MS[repeats];
        // A login that failed is not a read: it is not repeated.
        if (!progress.sent || pause === undefined || !mayRepeat(error)) throw error;
        await this.waitFor(new Promise((resolve) => setTimeout(resolve, pause)), signal);
        this.retries++;
        this.#parts.transport.counters.retries++;
      }
    }
  }

  /** A write, sent once: every end without a complete, readable answer, once a byte has left, is `OUTCOME_UNKNOWN`. */
  async write(request: Request, stream?: Stream, read: (reply: Reply) => ResultLists = readResult): Promise<Written> {
    const progress: Progress = { sent: false, writes: true, signal: this.#signal };
    try {
      const reply = await this.#authorized(request, progress, stream);
      return { status: reply.status, result: read(reply) };
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // Before the write itself, there was at most a login.
      if (!progress.sent || !leavesUnknown(error)) throw error;
      throw new GatewayError('OUTCOME_UNKNOWN', sentence`It may or may not have happened, look before you send it again. ${error}`, {
        ...error.details,
        reason: error.code,
      });
    }
  }

  get isPinned(): boolean {
    return this.#parts.pin !== undefined;
  }

  /**
   * Before anything is done for the sake of a write. Errors: `BAD_CONFIG` when another appliance answers than the pinned one. `write` sees to
   * it by itself, for each key that it uses.
   */
  async identify(): Promise<void> {
    const { pin, session } = this.#parts;
    if (pin) await this.#pinned(session.present ?? (await session.key(this.onLogin, this.#signal)), pin);
  }

  /** A promise that others share, left early when this run is cancelled. */
  waitFor<T>(shared: Promise<T>, signal = this.#signal): Promise<T> {
    return unlessAborted(shared, signal, 'Cancelled before it was sent.');
  }

  /**
   * Sends with the present key. One that has died is answered 401, by some releases 403 without a result envelope: then one new login
   * and one replay, reads and writes alike, since it was refused unread.
   */
  async #authorized(request: Request, progress: Progress, stream?: Stream): Promise<Reply> {
    const { session } = this.#parts;
    const body = request.body && jsonText(request.body);
    // The key that there is, without a promise: nearly every request has it.
    const key = (progress.key = (this.#isGuarded(progress) ? undefined : session.present) ?? (await this.#keyFor(progress)));
    const more = stream && (await stream());
    progress.sent = true;
    const reply = await this.#send(request, body, key, progress.signal, more);
    session.answered(key, reply.status);
    if ((reply.status !== 401 && reply.status !== 403) || !(await this.#mayRenew(key, reply))) return reply;
    // What fails until the replay is the login, and the request is as good as unsent.
    progress.sent = false;
    const fresh = (progress.key = await this.#keyFor(progress));
    const again = stream && (await stream());
    progress.sent = true;
    const replay = await this.#send(request, body, fresh, progress.signal, again);
    session.answered(fresh, replay.status);
    if (replay.status === 401) await session.refusedAgain(fresh);
    // Whether the key had died or not, a login does not help here.
    else if (isBareRefusal(replay) && isBareRefusal(reply)) await session.renewedInVain();
    return replay;
  }

  #isGuarded({ writes }: Progress): boolean {
    return writes === true && this.#parts.pin !== undefined;
  }

  async #keyFor(progress: Progress): Promise<Key> {
    const { session, pin } = this.#parts;
    const key = session.present ?? (await session.key(this.onLogin, progress.signal));
    return pin && this.#isGuarded(progress) ? this.#pinned(key, pin) : key;
  }

  /** This key, or one that came meanwhile, if it is of the pinned appliance. */
  async #pinned(key: Key, pin: Pin): Promise<Key> {
    const { transport } = this.#parts;
    if (pin.holds(key, transport.opened)) return key;
    // Others wait for the answer too, so it is not cancelled with this run.
    const ask = (): Promise<{ key: Key; document: JsonObject }> =>
      this.#repeated(async (progress) => {
        const document = readDocument(await this.#authorized(IDENTITY, progress));
        return { key: progress.key ?? key, document };
      }, undefined);
    return this.waitFor(pin.find(ask, () => transport.opened));
  }

  /** Whether another key may answer the request; this one is given up then. */
  async #mayRenew(key: Key, reply: Reply): Promise<boolean> {
    const { session, settings } = this.#parts;
    if (reply.status === 401) return session.refused(key);
    // Only somebody with a code could log in again, and the key may be good for everything else.
    if (!isBareRefusal(reply) || settings.secondFactor === 'flow' || !(await session.mayHaveDied(key))) return false;
    try {
      return await session.refused(key);
    } catch (thrown) {
      if (asGatewayError(thrown).code === 'LOGIN_PAUSED') return false;
      throw thrown;
    }
  }

  #send(
    request: Request,
    body: string | undefined,
    { authorization }: Key,
    signal: Cancellable | undefined,
    more?: Partial<Exchange>,
  ): Promise<Reply> {
    this.requests++;
    const { settings, transport } = this.#parts;
    const query = request.rawQuery ? `?${request.rawQuery}` : encodeQuery(request.query);
    const exchange: Exchange = { method: request.method, path: settings.prefix + request.path + query, authorization, signal };
    if (body !== undefined) exchange.body = body;
    return transport.send(more ? { ...exchange, ...more } : exchange);
  }
}
