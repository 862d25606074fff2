import type { X509Certificate } from 'node:crypto';
import type { HostAndPort } from '../http/peer-certificate';
import { toAbortSignal } from '../model/abort';
import type { Counters } from '../model/counters';
import { createEmptyMessageLists, type BulkResult, type WriteResult } from '../model/envelope';
import { badInput, type GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Progress, LoginState, OperationContext, ReadOptions } from '../model/operation';
import type { ExclusiveCallOptions, RawBody, SupportInfo } from '../model/operation-context';
import type { PeerCertificateInfo } from '../model/peer-certificate';
import type { RawConnection } from '../model/raw-exchange';
import type { Request } from '../model/request';
import type { Download, Upload } from '../model/stream';
import { collectResults, runEach, writeEach } from './batches';
import { getSupportInfo, memoizeLookup, toOperationSettings } from './gateway-context';
import { runExclusive } from './locks';
import { emitPart, reportProgress, startStream } from './output';
import { createRawConnection, toReadOnlyConnection } from './raw-exchange';
import { download, readAny, readJson } from './reads';
import { RunState, type StreamPartInfo } from './run-state';
import { upload, writeAny, writeAndRecord } from './writes';

export type { RunContextOptions } from './run-state';

/** The state of one run with the methods that operations use; each delegates to the file of its subject. */
export class RunContext extends RunState implements OperationContext {
  /** Created on demand, because a real signal is expensive. */
  #signal: AbortSignal | undefined;

  read(request: Request, options: ReadOptions = {}): Promise<JsonObject> {
    return readJson(this, request, options);
  }

  cachedRead(path: string): Promise<JsonObject> | undefined {
    return this.gatewayContext.readCache.get(this.root, path);
  }

  readAny(request: Request): Promise<unknown> {
    return readAny(this, request);
  }

  download<T>(request: Request, open: () => Promise<Download<T>>): Promise<T> {
    return download(this, request, open);
  }

  write(request: Request, plannedBody?: JsonObject, describeItem?: () => unknown): Promise<WriteResult> {
    return writeAndRecord(this, { request, ...(plannedBody && { plannedBody }), ...(describeItem && { describeItem }) });
  }

  writeAny(request: Request, content?: RawBody): Promise<unknown> {
    return writeAny(this, request, content);
  }

  upload(request: Request, plannedBody: JsonObject, open: () => Promise<Upload>, digest?: () => Promise<string>): Promise<WriteResult> {
    return upload(this, request, plannedBody, open, digest);
  }

  reportUnchanged(): WriteResult {
    this.record.markUnchanged();
    return { result: createEmptyMessageLists() };
  }

  reportDifference(isDifferent = true): void {
    this.record.markDifference(isDifferent);
  }

  writeEach<T>(items: readonly T[], request: (item: T) => Request, describeItem: (item: T) => unknown): Promise<BulkResult> {
    return writeEach(this, items, request, describeItem);
  }

  runEach<T>(
    items: readonly T[],
    work: (item: T, call: OperationContext) => Promise<unknown>,
    describeItem: (item: T) => unknown,
  ): Promise<BulkResult> {
    return runEach(this, items, describeItem, async (item) => {
      const itemContext = new RunContext(this.gatewayContext, this.options, this);
      await work(item, itemContext);
      return itemContext.record;
    });
  }

  collectResults(items: readonly unknown[], failures: ReadonlyMap<number, GatewayError>): BulkResult {
    return collectResults(this, items, failures);
  }

  addToEnvelope(fields: Record<string, unknown>): void {
    this.record.addFields(fields);
  }

  startStream(): void {
    startStream(this);
  }

  emitPart(data: unknown, part: StreamPartInfo): void {
    emitPart(this, data, part);
  }

  reportProgress(progress: Progress): void {
    reportProgress(this, progress);
  }

  runExclusive<T>(name: string, work: () => Promise<T>, options: ExclusiveCallOptions = {}): Promise<T> {
    return runExclusive(this, name, work, options);
  }

  memoize(fact: string, find: () => Promise<string>): Promise<string> {
    return memoizeLookup(this.gatewayContext, { sender: this.sender, signal: this.options.signal }, fact, find);
  }

  async onAppliance<T>(name: string, work: (call: OperationContext) => Promise<T>): Promise<T> {
    if (!this.options.onAppliance)
      throw badInput('This gateway knows no other appliance. Create it with the option resolveAppliance. Nothing was sent.');
    return this.options.onAppliance(name, work);
  }

  fetchPeerCertificate(target?: HostAndPort): Promise<PeerCertificateInfo> {
    return this.gatewayContext.transport.fetchPeerCertificate(target, this.options.signal);
  }

  async readPeerCertificate(): Promise<X509Certificate> {
    return (await this.gatewayContext.transport.handshake(this.options.signal)).certificates[0];
  }

  /** Drops the cached reads of the finished run. */
  end(): void {
    if (this.options.shouldCacheReads) this.gatewayContext.readCache.clearRun(this.root);
  }

  get settings(): OperationContext['settings'] {
    return toOperationSettings(this.gatewayContext);
  }

  get dryRun(): boolean {
    return this.options.dryRun;
  }

  get signal(): AbortSignal | undefined {
    const { signal } = this.options;
    return signal && (this.#signal ??= toAbortSignal(signal));
  }

  get raw(): RawConnection {
    const { gatewayContext, sender, options } = this;
    return toReadOnlyConnection(createRawConnection(gatewayContext, () => void sender.requests++, sender.onLogin, options.signal));
  }

  get clockOffsetSeconds(): number | undefined {
    return this.gatewayContext.transport.clockOffsetSeconds;
  }

  get counters(): Counters {
    return this.gatewayContext.transport.counters;
  }

  get supportInfo(): SupportInfo {
    return getSupportInfo(this.gatewayContext);
  }

  get login(): OperationContext['login'] {
    const { session } = this.gatewayContext;
    const { sender, record, options } = this;
    const recordChange = async (state: Promise<LoginState>): Promise<LoginState> => {
      const loginState = await sender.waitFor(state);
      // An existing key or a pending login step is not a change.
      record.changed = sender.logins > 0;
      return loginState;
    };
    return {
      start: () => recordChange(session.login(sender.onLogin, options.signal)),
      resume: (code, resumeId) => recordChange(session.resume(code, resumeId, sender.onLogin)),
      forget: () => {
        record.changed = session.currentKey !== undefined;
        return session.forget();
      },
    };
  }
}
