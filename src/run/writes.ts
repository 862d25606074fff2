import { emptyResult, type Many, type WriteResult } from '../model/envelope';
import type { Request } from '../model/request';
import { workOnEach, type ItemDone, type Masking } from './many';
import type { Permit } from './permissions';
import type { Plan } from './plan';
import type { Recent } from './recent';
import type { RunRecord } from './record';
import type { Sender, Written } from './sender';
import type { Gate, Write } from './write';

export type { Write } from './write';

/**
 * Stands around every write of a run, dry runs included: it may read before, compare, hold or record the write, let it proceed, read
 * back, put back. It gives what the write is taken to have answered; what it throws, the write ends with.
 */
export type AroundWrite = (write: Write, proceed: () => Promise<Written>) => Promise<Written>;

export interface WritesParts {
  readonly sender: Sender;
  readonly record: RunRecord;
  readonly masking: Masking;
  /** Undefined where writes are sent. */
  readonly plan: Plan | undefined;
  readonly around: AroundWrite | undefined;
  /** Lets through what was approved; undefined where nothing has to be. */
  readonly gate: Gate | undefined;
  readonly recent: Recent;
  /** Undefined where every write is allowed. */
  readonly permit: Permit | undefined;
  /** Awaited before each write leaves; what it rejects with, the write ends with, unsent. */
  readonly before: (() => Promise<void> | undefined) | undefined;
  /** Told how many of several items are done. */
  readonly advance: ((done: number, total: number) => void) | undefined;
}

/** The one way that every write takes, whichever operation it is of. */
export class Writes {
  readonly #parts: WritesParts;

  constructor(parts: WritesParts) {
    this.#parts = parts;
  }

  async one(write: Write): Promise<WriteResult> {
    await this.#parts.gate?.pass(write);
    const { status, result } = await this.#pass(write);
    this.#parts.record.wrote(status, result);
    return { result };
  }

  /** One write per item. They are all made before the first is sent: an item that cannot be is the end of it while nothing has happened. */
  async each<T>(items: readonly T[], request: (item: T) => Request, shown: (item: T) => unknown, atOnce: number): Promise<Many> {
    const { record } = this.#parts;
    const shownOf = ({ item }: { item: T }): unknown => shown(item);
    const writes = this.#admitted(
      items.map((item) => ({ item, request: request(item) })),
      shownOf,
    );
    return this.many(writes, shownOf, atOnce, async ({ request }) => {
      const { status } = await this.#pass({ request });
      record.answered('write', status);
      return { status, changed: true };
    });
  }

  /** Whatever work there is on each item. Errors: that of the first item when all of them failed. */
  async many<T>(
    items: readonly T[],
    shown: (item: T) => unknown,
    atOnce: number,
    work: (item: T, index: number) => Promise<ItemDone>,
  ): Promise<Many> {
    const { record, plan, masking, advance } = this.#parts;
    const total = items.length;
    const told = advance && !plan && total > 1 ? { advance: (done: number) => advance(done, total) } : {};
    const { many, changed, failure } = await workOnEach(items, { shown, work, atOnce, masking, planned: plan !== undefined, ...told });
    record.wroteMany(many, changed);
    if (failure) throw failure;
    return many;
  }

  /** Without the items whose write was not approved: they were not there when the others were. */
  #admitted<W extends { readonly request: Request }>(writes: readonly W[], shown: (write: W) => unknown): readonly W[] {
    const { gate, record, masking } = this.#parts;
    if (!gate) return writes;
    const beyond: W[] = [];
    const admitted = writes.filter((write) => gate.admits(write.request) || void beyond.push(write));
    if (beyond.length > 0) record.notes['notApproved'] = beyond.map((write) => masking.value(shown(write)));
    return admitted;
  }

  async #pass(write: Write): Promise<Written> {
    const { record, around, permit, plan, sender } = this.#parts;
    permit?.(write.request);
    // A write that will be refused is neither announced nor looked at before.
    if (!plan && sender.isPinned) await sender.identify();
    record.begins('write', write.request);
    return around ? around(write, () => this.#proceed(write)) : this.#proceed(write);
  }

  async #proceed({ request, shown, stream, read }: Write): Promise<Written> {
    const { plan, sender, recent, before } = this.#parts;
    if (plan) {
      plan.add(request, shown);
      return { status: null, result: emptyResult() };
    }
    await before?.();
    recent.forget(request.path);
    try {
      return await sender.write(request, stream, read);
    } finally {
      // What was read meanwhile may be of before.
      recent.forget(request.path);
    }
  }
}
