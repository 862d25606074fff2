import { createHash } from 'node:crypto';
import type { Reply } from '../http/exchange';
import { toAbortSignal, type AbortSignalLike } from '../model/abort';
import { emptyResultLists, type BulkResult, type BulkItemResult, type ResultLists, type WriteResult } from '../model/envelope';
import { badInput, type GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { RawBody, ExclusiveCallOptions, SupportInfo } from '../model/operation-context';
import type { Progress, OperationContext, LoginState, ReadOptions } from '../model/operation';
import { AnyResponse, ACCEPT_ANY_TYPE } from './any-response';
import type { HostPort } from '../http/peer-certificate';
import type { Counters } from '../model/counters';
import type { Request } from '../model/request';
import type { PeerCertificateInfo } from '../model/peer-certificate';
import type { Download, Upload } from '../model/stream';
import { toBulkOutcome, type Masker } from './bulk';
import type { CheckPermission } from './permissions';
import { DryRunPlan } from './dry-run-plan';
import { RunRecord, type ExchangeRole } from './run-record';
import { createNotContentError, readDocument } from './reply';
import { Sender } from './sender';
import { CONFIGURATION_ROOT } from '../model/path';
import { coordinationKey } from '../model/coordination';
import { HeldLeases, getLeaseSeconds } from './held-leases';
import { memoizedLookup, toOperationSettings, getSupportInfo, type GatewayContext } from './gateway-context';
import { WriteRunner, type WriteInterceptor } from './write-runner';
import type { WriteGate } from './pending-write';

export interface RunContextOptions {
  readonly dryRun: boolean;
  readonly signal?: AbortSignalLike | undefined;
  readonly onEmit?: ((data: unknown, part: { index: number; count?: number }, call: RunContext) => void) | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly masker: Masker;
  readonly interceptWrite?: WriteInterceptor | undefined;
  readonly onAppliance?: OperationContext['onAppliance'] | undefined;
  readonly gate?: WriteGate | undefined;
  /** Somebody may stand around its writes who has to know what was there. */
  readonly shouldCacheReads?: boolean | undefined;
  /** Whether a write may leave at all; undefined: all may. */
  readonly checkPermission?: CheckPermission | undefined;
  /** Awaited before each write leaves. */
  readonly beforeWrite?: (() => Promise<void>) | undefined;
  /** That of the run which this is a part of: it counts what is sent. */
  readonly sender?: Sender | undefined;
}

/** What one run of one operation works with: sends or plans its exchanges, and keeps a record of them for the envelope. */
export class RunContext implements OperationContext {
  readonly sender: Sender;
  readonly plan: DryRunPlan | undefined;
  readonly record: RunRecord;
  readonly #context: GatewayContext;
  readonly #options: RunContextOptions;
  readonly #writeRunner: WriteRunner;
  /** That of the operation: its items share what they know. */
  readonly #root: RunContext;
  readonly #leases: HeldLeases;
  /** Made for those who ask: a real one is not cheap. */
  #signal: AbortSignal | undefined;

  /** With `parent`, for the work on one of its items: counted, sent and planned with it, on a record of its own. */
  constructor(context: GatewayContext, options: RunContextOptions, parent?: RunContext) {
    this.#context = context;
    this.#options = options;
    this.#leases = new HeldLeases(parent ? parent.#leases : undefined);
    this.#root = parent ? parent.#root : this;
    this.record = new RunRecord(parent?.record);
    this.sender = parent?.sender ?? options.sender ?? new Sender(context, options.signal);
    this.plan = parent ? parent.plan : options.dryRun ? new DryRunPlan(options.masker) : undefined;
    this.#writeRunner = new WriteRunner({
      sender: this.sender,
      record: this.record,
      plan: this.plan,
      masker: options.masker,
      interceptWrite: options.interceptWrite,
      gate: options.gate,
      readCache: context.readCache,
      checkPermission: options.checkPermission,
      beforeWrite: () => (this.#leases.hasAny ? this.#assertHeld() : options.beforeWrite?.()),
      onItemDone: options.onProgress && ((done, total) => this.reportProgress({ state: 'items', done, total })),
    });
  }

  get settings(): OperationContext['settings'] {
    return toOperationSettings(this.#context);
  }

  get dryRun(): boolean {
    return this.#options.dryRun;
  }

  get signal(): AbortSignal | undefined {
    const { signal } = this.#options;
    return signal && (this.#signal ??= toAbortSignal(signal));
  }

  read(request: Request, { signal, isLookup = false }: ReadOptions = {}): Promise<JsonObject> {
    const role: ExchangeRole = isLookup ? 'look-up' : 'read';
    this.record.recordRequest(role, request);
    const answer = this.sender.read(async (send) => {
      const reply = await send(request);
      this.record.recordStatus(role, reply.status);
      return readDocument(reply);
    }, signal);
    if (this.#options.shouldCacheReads && isPlainResourceRead(request)) this.#context.readCache.set(this.#root, request.path, answer);
    return answer;
  }

  cachedRead(path: string): Promise<JsonObject> | undefined {
    return this.#context.readCache.get(this.#root, path);
  }

  /** It is over: nobody asks any more what it has read. */
  end(): void {
    if (this.#options.shouldCacheReads) this.#context.readCache.clearRun(this.#root);
  }

  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T> {
    this.record.recordRequest('read', request);
    return this.sender.read(async (send) => {
      const download = await open();
      try {
        const { accept, sink } = download;
        const more = { headers: { accept }, sink, timeoutSeconds: this.#context.settings.transferTimeout };
        const reply = await send(request, () => Promise.resolve(more));
        this.record.recordStatus('read', reply.status);
        if (!reply.streamed) throw createNotContentError(reply);
        return await download.finish();
      } catch (thrown) {
        await download.discard();
        throw thrown;
      }
    });
  }

  async upload(
    request: Request,
    plannedBody: JsonObject,
    open: () => Promise<Upload>,
    digest?: () => Promise<string>,
  ): Promise<WriteResult> {
    const opened: Upload[] = [];
    const openExchange = async () => {
      const upload = await open();
      opened.push(upload);
      return { body: upload.body, headers: upload.headers, timeoutSeconds: this.#context.settings.transferTimeout };
    };
    try {
      return await this.#writeRunner.writeOne({ request, plannedBody, openExchange, ...(digest && { digest }) });
    } finally {
      // An exchange that was cut off leaves its file open.
      for (const upload of opened) upload.close();
    }
  }

  write(request: Request, plannedBody?: JsonObject): Promise<WriteResult> {
    return this.#writeRunner.writeOne({ request, ...(plannedBody && { plannedBody }) });
  }

  readAny(request: Request): Promise<unknown> {
    this.record.recordRequest('read', request);
    return this.sender.read(async (send) => {
      const response = new AnyResponse();
      const reply = await send(request, () => Promise.resolve({ sink: response, headers: { accept: ACCEPT_ANY_TYPE } }));
      this.record.recordStatus('read', reply.status);
      return response.readBody(reply);
    });
  }

  async writeAny(request: Request, content?: RawBody): Promise<unknown> {
    let response = new AnyResponse();
    const openExchange = () => {
      response = new AnyResponse();
      const headers = { accept: ACCEPT_ANY_TYPE, ...(content && { 'content-type': content.type }) };
      return Promise.resolve({ sink: response, headers, ...(content && { body: content.bytes }) });
    };
    const plannedBody = content && { 'content-type': content.type, bytes: content.bytes.length };
    const digest = content && (() => Promise.resolve(createHash('sha256').update(content.bytes).digest('hex')));
    const parseResult = (reply: Reply): ResultLists => response.readWriteResult(reply);
    const writeResult = await this.#writeRunner.writeOne({
      request,
      openExchange,
      parseResult,
      ...(plannedBody && { plannedBody }),
      ...(digest && { digest }),
    });
    return response.document ?? writeResult;
  }

  reportUnchanged(): WriteResult {
    this.record.markUnchanged();
    return { result: emptyResultLists() };
  }

  writeEach<T>(items: readonly T[], request: (item: T) => Request, describeItem: (item: T) => unknown): Promise<BulkResult> {
    return this.#writeRunner.writeEach(items, request, describeItem, this.#concurrency);
  }

  runEach<T>(
    items: readonly T[],
    work: (item: T, call: OperationContext) => Promise<unknown>,
    describeItem: (item: T) => unknown,
  ): Promise<BulkResult> {
    return this.#writeRunner.runEach(items, describeItem, this.#concurrency, async (item) => {
      const call = new RunContext(this.#context, this.#options, this);
      await work(item, call);
      return call.record;
    });
  }

  collectResults(items: readonly unknown[], failures: ReadonlyMap<number, GatewayError>): BulkResult {
    const { masker } = this.#options;
    const results = items.map((original, index): BulkItemResult => {
      const item = masker.value(original);
      const error = failures.get(index);
      return error ? { item, ok: false, error: { code: error.code, message: masker.message(error) } } : { item, ok: true, status: null };
    });
    const { many, failure } = toBulkOutcome(results, failures);
    this.record.many = many;
    if (failure) throw failure;
    return many;
  }

  reportProgress(progress: Progress): void {
    try {
      this.#options.onProgress?.(progress);
    } catch {
      // Whoever only watches changes no outcome: a part may be done at the appliance already.
    }
  }

  addToEnvelope(fields: Record<string, unknown>): void {
    Object.assign(this.record.envelopeFields, fields);
  }

  startStream(): void {
    if (!this.#options.onEmit) throw badInput('emit asks for parts, but nobody takes them here: give onPart, or emit "array".');
    this.record.emittedParts = 0;
  }

  emitPart(data: unknown, part: { index: number; count?: number }): void {
    this.record.emittedParts = (this.record.emittedParts ?? 0) + 1;
    this.record.emittedItems += countRecords(data);
    this.#options.onEmit?.(data, part, this);
  }

  runExclusive<T>(name: string, work: () => Promise<T>, { isBrief, ...options }: ExclusiveCallOptions = {}): Promise<T> {
    if (this.dryRun) return work();
    const { coordination, settings } = this.#context;
    const leaseMs = getLeaseSeconds(settings, isBrief === true) * 1000;
    const key = coordinationKey('exclusive', this.settings.base, name);
    return coordination.runExclusive(key, (assertHeld) => this.#leases.run(assertHeld, work), {
      ...options,
      signal: this.#options.signal,
      leaseMs,
    });
  }

  /** Last of all before a write leaves: what comes before may have to wait. */
  async #assertHeld(): Promise<void> {
    await this.#options.beforeWrite?.();
    await this.#leases.assertHeld();
  }

  fetchPeerCertificate(target?: HostPort): Promise<PeerCertificateInfo> {
    return this.#context.transport.fetchPeerCertificate(target, this.#options.signal);
  }

  get counters(): Counters {
    return this.#context.transport.counters;
  }

  get supportInfo(): SupportInfo {
    return getSupportInfo(this.#context);
  }

  async onAppliance<T>(name: string, work: (call: OperationContext) => Promise<T>): Promise<T> {
    const { onAppliance } = this.#options;
    if (!onAppliance) throw badInput('No other appliance is known here: give the gateway others.');
    return onAppliance(name, work);
  }

  memoize(fact: string, find: () => Promise<string>): Promise<string> {
    return memoizedLookup(this.#context, { sender: this.sender, signal: this.#options.signal }, fact, find);
  }

  get login(): OperationContext['login'] {
    const { session } = this.#context;
    const { sender, record } = this;
    const recordChange = async (state: Promise<LoginState>): Promise<LoginState> => {
      const loginState = await sender.waitFor(state);
      // A key that was there, or a step that was pending already, is no change.
      record.changed = sender.logins > 0;
      return loginState;
    };
    return {
      start: () => recordChange(session.login(sender.onLogin, this.#options.signal)),
      resume: (code, resumeId) => recordChange(session.resume(code, resumeId, sender.onLogin)),
      forget: () => {
        record.changed = session.currentKey !== undefined;
        return session.forget();
      },
    };
  }

  /** As many again as there are connections wait for one: one that is free has something to do at once. With a journal, more wait for that. */
  get #concurrency(): number {
    const { connections, journal } = this.#context.settings;
    return (journal ? 4 : 2) * connections;
  }
}

/** Of a page its records, and of a record one. */
export function countRecords(part: unknown): number {
  return Array.isArray(part) ? part.length : 1;
}

/** A resource of the configuration as it is; a query may ask for something else. */
function isPlainResourceRead({ path, query, rawQuery }: Request): boolean {
  return !query && !rawQuery && path.startsWith(CONFIGURATION_ROOT);
}
