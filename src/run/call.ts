import { emptyResult, type Many, type PlannedRequest, type ResultLists, type WriteResult } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { writeEach } from './many';
import type { Advance, Call, LoginState } from '../model/operation';
import { encodeQuery } from '../model/path';
import { leavesUnknown, mayRepeat, PAUSES_MS } from './repeat';
import { consume, notContent, readDocument, readResult } from './reply';
import type { Key, Session } from '../login/session';
import type { CheckedSettings } from '../model/settings';
import type { Download, Upload } from '../model/stream';
import type { Exchange, Reply, Transport } from '../http/transport';
import { unlessAborted, abortSignalOf, type Cancellable } from '../model/cancelling';
import { type JsonObject } from '../model/json';
import type { Request } from '../model/request';
import { jsonText } from '../model/json-text';
import { coordinationKey, type Coordination, type ExclusiveOptions } from '../model/coordination';

/** What all calls of one gateway share. */
export interface Shared {
  readonly settings: CheckedSettings;
  readonly session: Session;
  readonly transport: Transport;
  readonly facts: Map<string, Promise<string>>;
  readonly coordination: Coordination;
}

export interface CallOptions {
  readonly dryRun: boolean;
  readonly signal: Cancellable | undefined;
  readonly onEmit: ((data: unknown, part: { index: number; count?: number }, call: Exchanges) => void) | undefined;
  readonly onProgress: ((advance: Advance) => void) | undefined;
  /** Masks secrets in a plan. */
  readonly mask: <T>(value: T) => T;
}

/** What a streaming exchange has beyond its request; asked for again before a replay, because a stream is used up. */
type Stream = () => Promise<Partial<Exchange>>;

/** The exchanges of one run of one operation, and what its envelope will say of them. */
export class Exchanges implements Call {
  first: Request | undefined;
  status: number | null = null;
  result: ResultLists = emptyResult();
  changed: boolean | null = null;
  requests = 0;
  retries = 0;
  logins = 0;
  /** How many parts went out; undefined when the data goes back whole. */
  emitted: number | undefined;
  readonly notes: Record<string, unknown> = {};
  readonly plan: PlannedRequest[] = [];
  readonly #shared: Shared;
  readonly #options: CallOptions;
  /** Made for those who ask: a real one is not cheap. */
  #signal: AbortSignal | undefined;
  readonly #onLogin = (): void => void this.logins++;

  constructor(shared: Shared, options: CallOptions) {
    this.#shared = shared;
    this.#options = options;
  }

  get settings(): Call['settings'] {
    const { name, vendor = '', brand = '', connections, origin, prefix } = this.#shared.settings;
    return { name, vendor, brand, connections, base: origin + prefix };
  }

  get dryRun(): boolean {
    return this.#options.dryRun;
  }

  get signal(): AbortSignal | undefined {
    const { signal } = this.#options;
    return signal && (this.#signal ??= abortSignalOf(signal));
  }

  read(request: Request, signal?: Cancellable): Promise<JsonObject> {
    const attempt = async (progress: Progress): Promise<JsonObject> => {
      const reply = await this.#authorized(request, progress);
      // What a write answered stands, even when it is read back.
      if (this.changed === null) this.status = reply.status;
      return consume(reply, readDocument);
    };
    return this.#repeated(request, attempt, signal);
  }

  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T> {
    return this.#repeated(request, async (progress) => {
      const target = await open();
      try {
        const { accept, sink } = target;
        const more = { headers: { accept }, sink, seconds: this.#shared.settings.transferTimeout };
        const reply = await this.#authorized(request, progress, () => Promise.resolve(more));
        this.status = reply.status;
        if (!reply.streamed) throw notContent(reply);
        return await target.finish();
      } catch (thrown) {
        await target.discard();
        throw thrown;
      }
    });
  }

  async upload(request: Request, shown: JsonObject, open: () => Promise<Upload>): Promise<WriteResult> {
    // Not what was read or exported before it.
    this.first = request;
    if (this.dryRun) {
      this.#planned({ ...request, body: shown });
      return { result: emptyResult() };
    }
    const opened: Upload[] = [];
    try {
      return await this.#written(request, async () => {
        const upload = await open();
        opened.push(upload);
        return { body: upload.body, headers: upload.headers, seconds: this.#shared.settings.transferTimeout };
      });
    } finally {
      // An exchange that was cut off leaves its file open.
      for (const upload of opened) upload.close();
    }
  }

  report(advance: Advance): void {
    this.#options.onProgress?.(advance);
  }

  /** A read: repeated after connection faults and 5xx, with a growing pause. */
  async #repeated<T>(request: Request, attempt: (progress: Progress) => Promise<T>, signal = this.#options.signal): Promise<T> {
    this.first ??= request;
    for (let repeats = 0; ; repeats++) {
      const progress: Progress = { sent: false, signal };
      try {
        return await attempt(progress);
      } catch (thrown) {
        const error = asGatewayError(thrown);
        const pause = PAUSES_MS[repeats];
        // A login that failed is not a read: it is not repeated.
        if (!progress.sent || pause === undefined || !mayRepeat(error)) throw error;
        await this.#waitFor(new Promise((resolve) => setTimeout(resolve, pause)), signal);
        this.retries++;
      }
    }
  }

  async write(request: Request): Promise<WriteResult> {
    // Not what had to be read for it.
    if (!this.first || this.first.method === 'GET') this.first = request;
    if (this.dryRun) {
      this.#planned(request);
      return { result: emptyResult() };
    }
    return this.#written(request);
  }

  async #written(request: Request, stream?: Stream): Promise<WriteResult> {
    const { status, result } = await this.#write(request, stream);
    this.status = status;
    this.changed = true;
    this.result = result;
    return { result };
  }

  async each<T>(items: readonly T[], request: (item: T) => Request, shown: (item: T) => unknown): Promise<Many> {
    // All of them before the first is sent: an item that cannot be is the end of it while nothing has happened yet.
    const requests = items.map(request);
    this.first = requests[0] ?? this.first;
    if (this.dryRun) {
      for (const planned of requests) this.#planned(planned);
      return { total: items.length, ok: 0, failed: 0, results: items.map((item) => ({ item: shown(item), planned: true })) };
    }
    const write = async (request: Request): Promise<number> => (this.status = (await this.#write(request)).status);
    // As many again wait for a connection: one that is free has something to do at once.
    const atOnce = 2 * this.settings.connections;
    const { many, changed, failure } = await writeEach(items, requests, { shown, write, atOnce });
    this.changed = changed;
    if (failure) throw failure;
    return many;
  }

  note(fields: Record<string, unknown>): void {
    Object.assign(this.notes, fields);
  }

  stream(): void {
    if (!this.#options.onEmit) throw badInput('emit asks for parts, but nobody takes them here: give onPart, or emit "array".');
    this.emitted = 0;
  }

  emit(data: unknown, part: { index: number; count?: number }): void {
    this.emitted = (this.emitted ?? 0) + 1;
    this.#options.onEmit?.(data, part, this);
  }

  exclusive<T>(name: string, work: () => Promise<T>, options: ExclusiveOptions = {}): Promise<T> {
    if (this.dryRun) return work();
    const { coordination, settings } = this.#shared;
    // What was sent can go on at the appliance for as long as an exchange may take.
    const leaseMs = (Math.max(settings.timeout, settings.transferTimeout) + 60) * 1000;
    const key = coordinationKey('exclusive', this.settings.base, name);
    return coordination.exclusive(key, work, { ...options, signal: this.#options.signal, leaseMs });
  }

  async once(fact: string, find: () => Promise<string>): Promise<string> {
    const { facts } = this.#shared;
    const known = facts.get(fact);
    if (known) {
      try {
        return await this.#waitFor(known);
      } catch (error) {
        // Whoever was looking was cancelled; this call was not and looks itself.
        if (asGatewayError(error).code !== 'ABORTED' || this.#options.signal?.aborted) throw error;
        return this.once(fact, find);
      }
    }
    const before = this.first;
    const found = find().then((value) => {
      // The envelope tells of the operation itself, the first time as every other.
      this.first = before;
      return value;
    });
    facts.set(fact, found);
    // What could not be found this time may be found the next.
    found.catch(() => facts.delete(fact));
    return found;
  }

  get login(): Call['login'] {
    const { session } = this.#shared;
    const told = async (state: Promise<LoginState>): Promise<LoginState> => {
      const reached = await this.#waitFor(state);
      // A key that was there, or a step that was pending already, is no change.
      this.changed = this.logins > 0;
      return reached;
    };
    return {
      start: () => told(session.login(this.#onLogin)),
      resume: (code, resumeId) => told(session.resume(code, resumeId, this.#onLogin)),
      forget: () => session.forget(),
    };
  }

  /** A write: every end without a complete, readable answer, once a byte has left, is `OUTCOME_UNKNOWN`. */
  async #write(request: Request, stream?: Stream): Promise<{ status: number; result: ResultLists }> {
    const progress: Progress = { sent: false, signal: this.#options.signal };
    try {
      const reply = await this.#authorized(request, progress, stream);
      return { status: reply.status, result: consume(reply, readResult) };
    } catch (thrown) {
      const error = asGatewayError(thrown);
      // Before the write itself, there was at most a login.
      if (!progress.sent || !leavesUnknown(error)) throw error;
      throw new GatewayError('OUTCOME_UNKNOWN', `It may or may not have happened, look before you send it again. ${error.message}`, {
        ...error.details,
        reason: error.code,
      });
    }
  }

  /** Sends with the present key; a 401 is answered by one new login and one replay, reads and writes alike: it was refused unread. */
  async #authorized(request: Request, progress: Progress, stream?: Stream): Promise<Reply> {
    const { session } = this.#shared;
    const body = request.body && jsonText(request.body);
    const key = session.present ?? (await this.#waitFor(session.key(this.#onLogin), progress.signal));
    const more = stream && (await stream());
    progress.sent = true;
    const reply = await this.#send(request, body, key, progress.signal, more);
    if (reply.status !== 401) return reply;
    session.refused(key);
    // What fails until the replay is the login, and the request is as good as unsent.
    progress.sent = false;
    const fresh = session.present ?? (await this.#waitFor(session.key(this.#onLogin), progress.signal));
    const again = stream && (await stream());
    progress.sent = true;
    const replay = await this.#send(request, body, fresh, progress.signal, again);
    if (replay.status === 401) session.refused(fresh);
    return replay;
  }

  #send(
    request: Request,
    body: string | undefined,
    { authorization }: Key,
    signal: Cancellable | undefined,
    more?: Partial<Exchange>,
  ): Promise<Reply> {
    this.requests++;
    const query = request.rawQuery === undefined ? encodeQuery(request.query) : `?${request.rawQuery}`;
    const path = this.#shared.settings.prefix + request.path + query;
    const exchange: Exchange = { method: request.method, path, authorization, signal };
    if (body !== undefined) exchange.body = body;
    return this.#shared.transport.send(more ? { ...exchange, ...more } : exchange);
  }

  #planned(request: Request): void {
    const { method, path, query, rawQuery, body } = request;
    // A plan that could not be sent is none.
    if (body) jsonText(body);
    this.plan.push(
      this.#options.mask({ method, path, ...(query && { query }), ...(rawQuery !== undefined && { rawQuery }), ...(body && { body }) }),
    );
  }

  /** A promise that others share, left early when this call is cancelled. */
  #waitFor<T>(shared: Promise<T>, signal = this.#options.signal): Promise<T> {
    return unlessAborted(shared, signal, 'Cancelled before it was sent.');
  }
}

/** Whether the request itself is on its way: what failed before was at most a login. */
interface Progress {
  sent: boolean;
  readonly signal: Cancellable | undefined;
}
