import { createHash } from 'node:crypto';
import type { Reply } from '../http/exchange';
import { abortSignalOf, type Cancellable } from '../model/cancelling';
import { emptyResult, type Many, type ManyItem, type ResultLists, type WriteResult } from '../model/envelope';
import { badInput, type GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Content, Exclusively, SupportFacts } from '../model/call';
import type { Advance, Call, LoginState, ReadOptions } from '../model/operation';
import { AnyAnswer, ANYTHING } from './any-answer';
import type { ServedAt } from '../http/served';
import type { Counters } from '../model/counters';
import type { Request } from '../model/request';
import type { ServedCertificate } from '../model/served';
import type { Download, Upload } from '../model/stream';
import { outcomeOf, type Masking } from './many';
import type { Permit } from './permissions';
import { Plan } from './plan';
import { RunRecord, type Role } from './record';
import { notContent, readDocument } from './reply';
import { Sender } from './sender';
import { CONFIGURATION } from '../model/path';
import { coordinationKey } from '../model/coordination';
import { Holds, leaseOf } from './holds';
import { factOf, settingsSeen, supportFacts, type Shared } from './shared';
import { Writes, type AroundWrite } from './writes';
import type { Gate } from './write';

export interface CallOptions {
  readonly dryRun: boolean;
  readonly signal?: Cancellable | undefined;
  readonly onEmit?: ((data: unknown, part: { index: number; count?: number }, call: OperationCall) => void) | undefined;
  readonly onProgress?: ((advance: Advance) => void) | undefined;
  readonly masking: Masking;
  readonly around?: AroundWrite | undefined;
  readonly other?: Call['other'] | undefined;
  readonly gate?: Gate | undefined;
  /** Somebody may stand around its writes who has to know what was there. */
  readonly remembers?: boolean | undefined;
  /** Whether a write may leave at all; undefined: all may. */
  readonly permit?: Permit | undefined;
  /** Awaited before each write leaves. */
  readonly before?: (() => Promise<void>) | undefined;
  /** That of the run which this is a part of: it counts what is sent. */
  readonly sender?: Sender | undefined;
}

/** What one run of one operation works with: sends or plans its exchanges, and keeps a record of them for the envelope. */
export class OperationCall implements Call {
  readonly sender: Sender;
  readonly plan: Plan | undefined;
  readonly record: RunRecord;
  readonly #shared: Shared;
  readonly #options: CallOptions;
  readonly #writes: Writes;
  /** That of the operation: its items share what they know. */
  readonly #root: OperationCall;
  readonly #holds: Holds;
  /** Made for those who ask: a real one is not cheap. */
  #signal: AbortSignal | undefined;

  /** With `parent`, for the work on one of its items: counted, sent and planned with it, on a record of its own. */
  constructor(shared: Shared, options: CallOptions, parent?: OperationCall) {
    this.#shared = shared;
    this.#options = options;
    this.#holds = new Holds(parent ? parent.#holds : undefined);
    this.#root = parent ? parent.#root : this;
    this.record = new RunRecord(parent?.record);
    this.sender = parent?.sender ?? options.sender ?? new Sender(shared, options.signal);
    this.plan = parent ? parent.plan : options.dryRun ? new Plan(options.masking) : undefined;
    this.#writes = new Writes({
      sender: this.sender,
      record: this.record,
      plan: this.plan,
      masking: options.masking,
      around: options.around,
      gate: options.gate,
      recent: shared.recent,
      permit: options.permit,
      before: () => (this.#holds.any ? this.#stillHeld() : options.before?.()),
      advance: options.onProgress && ((done, total) => this.report({ state: 'items', done, total })),
    });
  }

  get settings(): Call['settings'] {
    return settingsSeen(this.#shared);
  }

  get dryRun(): boolean {
    return this.#options.dryRun;
  }

  get signal(): AbortSignal | undefined {
    const { signal } = this.#options;
    return signal && (this.#signal ??= abortSignalOf(signal));
  }

  read(request: Request, { signal, lookUp = false }: ReadOptions = {}): Promise<JsonObject> {
    const role: Role = lookUp ? 'look-up' : 'read';
    this.record.begins(role, request);
    const answer = this.sender.read(async (send) => {
      const reply = await send(request);
      this.record.answered(role, reply.status);
      return readDocument(reply);
    }, signal);
    if (this.#options.remembers && isPlain(request)) this.#shared.recent.keep(this.#root, request.path, answer);
    return answer;
  }

  known(path: string): Promise<JsonObject> | undefined {
    return this.#shared.recent.of(this.#root, path);
  }

  /** It is over: nobody asks any more what it has read. */
  end(): void {
    if (this.#options.remembers) this.#shared.recent.leave(this.#root);
  }

  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T> {
    this.record.begins('read', request);
    return this.sender.read(async (send) => {
      const target = await open();
      try {
        const { accept, sink } = target;
        const more = { headers: { accept }, sink, seconds: this.#shared.settings.transferTimeout };
        const reply = await send(request, () => Promise.resolve(more));
        this.record.answered('read', reply.status);
        if (!reply.streamed) throw notContent(reply);
        return await target.finish();
      } catch (thrown) {
        await target.discard();
        throw thrown;
      }
    });
  }

  async upload(request: Request, shown: JsonObject, open: () => Promise<Upload>, digest?: () => Promise<string>): Promise<WriteResult> {
    const opened: Upload[] = [];
    const stream = async () => {
      const upload = await open();
      opened.push(upload);
      return { body: upload.body, headers: upload.headers, seconds: this.#shared.settings.transferTimeout };
    };
    try {
      return await this.#writes.one({ request, shown, stream, ...(digest && { digest }) });
    } finally {
      // An exchange that was cut off leaves its file open.
      for (const upload of opened) upload.close();
    }
  }

  write(request: Request, shown?: JsonObject): Promise<WriteResult> {
    return this.#writes.one({ request, ...(shown && { shown }) });
  }

  readAny(request: Request): Promise<unknown> {
    this.record.begins('read', request);
    return this.sender.read(async (send) => {
      const answer = new AnyAnswer();
      const reply = await send(request, () => Promise.resolve({ sink: answer, headers: { accept: ANYTHING } }));
      this.record.answered('read', reply.status);
      return answer.read(reply);
    });
  }

  async writeAny(request: Request, content?: Content): Promise<unknown> {
    let answer = new AnyAnswer();
    const stream = () => {
      answer = new AnyAnswer();
      const headers = { accept: ANYTHING, ...(content && { 'content-type': content.type }) };
      return Promise.resolve({ sink: answer, headers, ...(content && { body: content.bytes }) });
    };
    const shown = content && { 'content-type': content.type, bytes: content.bytes.length };
    const digest = content && (() => Promise.resolve(createHash('sha256').update(content.bytes).digest('hex')));
    const read = (reply: Reply): ResultLists => answer.readWritten(reply);
    const written = await this.#writes.one({ request, stream, read, ...(shown && { shown }), ...(digest && { digest }) });
    return answer.document ?? written;
  }

  unchanged(): WriteResult {
    this.record.unchanged();
    return { result: emptyResult() };
  }

  each<T>(items: readonly T[], request: (item: T) => Request, shown: (item: T) => unknown): Promise<Many> {
    return this.#writes.each(items, request, shown, this.#atOnce);
  }

  eachBy<T>(items: readonly T[], work: (item: T, call: Call) => Promise<unknown>, shown: (item: T) => unknown): Promise<Many> {
    return this.#writes.many(items, shown, this.#atOnce, async (item) => {
      const call = new OperationCall(this.#shared, this.#options, this);
      await work(item, call);
      return call.record;
    });
  }

  gather(items: readonly unknown[], failures: ReadonlyMap<number, GatewayError>): Many {
    const { masking } = this.#options;
    const results = items.map((shown, index): ManyItem => {
      const item = masking.value(shown);
      const error = failures.get(index);
      return error ? { item, ok: false, error: { code: error.code, message: masking.message(error) } } : { item, ok: true, status: null };
    });
    const { many, failure } = outcomeOf(results, failures);
    this.record.many = many;
    if (failure) throw failure;
    return many;
  }

  report(advance: Advance): void {
    try {
      this.#options.onProgress?.(advance);
    } catch {
      // Whoever only watches changes no outcome: a part may be done at the appliance already.
    }
  }

  note(fields: Record<string, unknown>): void {
    Object.assign(this.record.notes, fields);
  }

  stream(): void {
    if (!this.#options.onEmit) throw badInput('emit asks for parts, but nobody takes them here: give onPart, or emit "array".');
    this.record.emitted = 0;
  }

  emit(data: unknown, part: { index: number; count?: number }): void {
    this.record.emitted = (this.record.emitted ?? 0) + 1;
    this.record.emittedItems += countOf(data);
    this.#options.onEmit?.(data, part, this);
  }

  exclusive<T>(name: string, work: () => Promise<T>, { brief, ...options }: Exclusively = {}): Promise<T> {
    if (this.dryRun) return work();
    const { coordination, settings } = this.#shared;
    const leaseMs = leaseOf(settings, brief === true) * 1000;
    const key = coordinationKey('exclusive', this.settings.base, name);
    return coordination.exclusive(key, (held) => this.#holds.during(held, work), { ...options, signal: this.#options.signal, leaseMs });
  }

  /** Last of all before a write leaves: what comes before may have to wait. */
  async #stillHeld(): Promise<void> {
    await this.#options.before?.();
    await this.#holds.check();
  }

  served(elsewhere?: ServedAt): Promise<ServedCertificate> {
    return this.#shared.transport.served(elsewhere, this.#options.signal);
  }

  get counters(): Counters {
    return this.#shared.transport.counters;
  }

  get support(): SupportFacts {
    return supportFacts(this.#shared);
  }

  async other<T>(name: string, work: (call: Call) => Promise<T>): Promise<T> {
    const { other } = this.#options;
    if (!other) throw badInput('No other appliance is known here: give the gateway others.');
    return other(name, work);
  }

  once(fact: string, find: () => Promise<string>): Promise<string> {
    return factOf(this.#shared, { sender: this.sender, signal: this.#options.signal }, fact, find);
  }

  get login(): Call['login'] {
    const { session } = this.#shared;
    const { sender, record } = this;
    const told = async (state: Promise<LoginState>): Promise<LoginState> => {
      const reached = await sender.waitFor(state);
      // A key that was there, or a step that was pending already, is no change.
      record.changed = sender.logins > 0;
      return reached;
    };
    return {
      start: () => told(session.login(sender.onLogin, this.#options.signal)),
      resume: (code, resumeId) => told(session.resume(code, resumeId, sender.onLogin)),
      forget: () => {
        record.changed = session.present !== undefined;
        return session.forget();
      },
    };
  }

  /** As many again as there are connections wait for one: one that is free has something to do at once. With a journal, more wait for that. */
  get #atOnce(): number {
    const { connections, journal } = this.#shared.settings;
    return (journal ? 4 : 2) * connections;
  }
}

/** Of a page its records, and of a record one. */
export function countOf(part: unknown): number {
  return Array.isArray(part) ? part.length : 1;
}

/** A resource of the configuration as it is; a query may ask for something else. */
function isPlain({ path, query, rawQuery }: Request): boolean {
  return !query && !rawQuery && path.startsWith(CONFIGURATION);
}
