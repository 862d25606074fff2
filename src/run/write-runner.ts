import { emptyResultLists, type BulkResult, type WriteResult } from '../model/envelope';
import type { Request } from '../model/request';
import { runBulk, type BulkItemOutcome, type Masker } from './bulk';
import type { CheckPermission } from './permissions';
import type { DryRunPlan } from './dry-run-plan';
import type { ReadCache } from './read-cache';
import type { RunRecord } from './run-record';
import type { Sender, WriteResponse } from './sender';
import type { WriteGate, PendingWrite } from './pending-write';

export type { PendingWrite } from './pending-write';

/**
 * Stands around every write of a run, dry runs included: it may read before, compare, hold or record the write, let it proceed, read
 * back, put back. It gives what the write is taken to have answered; what it throws, the write ends with.
 */
export type WriteInterceptor = (write: PendingWrite, next: () => Promise<WriteResponse>) => Promise<WriteResponse>;

export interface WriteRunnerOptions {
  readonly sender: Sender;
  readonly record: RunRecord;
  readonly masker: Masker;
  /** Undefined where writes are sent. */
  readonly plan: DryRunPlan | undefined;
  readonly interceptWrite: WriteInterceptor | undefined;
  /** Lets through what was approved; undefined where nothing has to be. */
  readonly gate: WriteGate | undefined;
  readonly readCache: ReadCache;
  /** Undefined where every write is allowed. */
  readonly checkPermission: CheckPermission | undefined;
  /** Awaited before each write leaves; what it rejects with, the write ends with, unsent. */
  readonly beforeWrite: (() => Promise<void> | undefined) | undefined;
  /** Told how many of several items are done. */
  readonly onItemDone: ((done: number, total: number) => void) | undefined;
}

/** The one way that every write takes, whichever operation it is of. */
export class WriteRunner {
  readonly #options: WriteRunnerOptions;

  constructor(options: WriteRunnerOptions) {
    this.#options = options;
  }

  async writeOne(write: PendingWrite): Promise<WriteResult> {
    await this.#options.gate?.assertAllowed(write);
    const { status, result } = await this.#runWrite(write);
    this.#options.record.recordWrite(status, result);
    return { result };
  }

  /** One write per item. They are all made before the first is sent: an item that cannot be is the end of it while nothing has happened. */
  async writeEach<T>(
    items: readonly T[],
    request: (item: T) => Request,
    describeItem: (item: T) => unknown,
    concurrency: number,
  ): Promise<BulkResult> {
    const { record } = this.#options;
    const describeWrite = ({ item }: { item: T }): unknown => describeItem(item);
    const writes = this.#dropUnapproved(
      items.map((item) => ({ item, request: request(item) })),
      describeWrite,
    );
    return this.runEach(writes, describeWrite, concurrency, async ({ request }) => {
      const { status } = await this.#runWrite({ request });
      record.recordStatus('write', status);
      return { status, changed: true };
    });
  }

  /** Whatever work there is on each item. Errors: that of the first item when all of them failed. */
  async runEach<T>(
    items: readonly T[],
    describeItem: (item: T) => unknown,
    concurrency: number,
    work: (item: T, index: number) => Promise<BulkItemOutcome>,
  ): Promise<BulkResult> {
    const { record, plan, masker, onItemDone } = this.#options;
    const total = items.length;
    const progressOption = onItemDone && !plan && total > 1 ? { onItemDone: (done: number) => onItemDone(done, total) } : {};
    const { many, changed, failure } = await runBulk(items, {
      describeItem,
      work,
      concurrency,
      masker,
      isPlanned: plan !== undefined,
      ...progressOption,
    });
    record.recordBulk(many, changed);
    if (failure) throw failure;
    return many;
  }

  /** Without the items whose write was not approved: they were not there when the others were. */
  #dropUnapproved<W extends { readonly request: Request }>(writes: readonly W[], describeWrite: (write: W) => unknown): readonly W[] {
    const { gate, record, masker } = this.#options;
    if (!gate) return writes;
    const unapproved: W[] = [];
    const approved = writes.filter((write) => gate.isAllowed(write.request) || void unapproved.push(write));
    if (unapproved.length > 0) record.envelopeFields['notApproved'] = unapproved.map((write) => masker.value(describeWrite(write)));
    return approved;
  }

  async #runWrite(write: PendingWrite): Promise<WriteResponse> {
    const { record, interceptWrite, checkPermission, plan, sender } = this.#options;
    checkPermission?.(write.request);
    // A write that will be refused is neither announced nor looked at before.
    if (!plan && sender.isPinned) await sender.verifyIdentity();
    record.recordRequest('write', write.request);
    return interceptWrite ? interceptWrite(write, () => this.#sendWrite(write)) : this.#sendWrite(write);
  }

  async #sendWrite({ request, plannedBody, openExchange, parseResult }: PendingWrite): Promise<WriteResponse> {
    const { plan, sender, readCache, beforeWrite } = this.#options;
    if (plan) {
      plan.add(request, plannedBody);
      return { status: null, result: emptyResultLists() };
    }
    await beforeWrite?.();
    readCache.invalidate(request.path);
    try {
      return await sender.write(request, openExchange, parseResult);
    } finally {
      // What was read meanwhile may be of before.
      readCache.invalidate(request.path);
    }
  }
}
