import { createEmptyMessageLists, type BulkResult, type ResultMessageLists } from '../model/envelope';
import type { Request } from '../model/request';

/** The role of an exchange in its operation: a lookup before it, a read, or a write. */
export type ExchangeRole = 'look-up' | 'read' | 'write';

const NO_FIELDS: Readonly<Record<string, unknown>> = Object.freeze({});
const ROLE_PRIORITY: Readonly<Record<ExchangeRole, number>> = { 'look-up': 1, read: 2, write: 3 };

/**
 * Collects the facts about the exchanges of a run for its envelope. The request of an operation is its first write, else its first read,
 * else its first lookup. The status is that of the last response to an exchange of the same role.
 */
export class RunRecord {
  request: Request | undefined;
  status: number | null = null;
  /** Null while it is unknown: for reads and plans, and after a write whose difference is unknown. */
  changed: boolean | null = null;
  /** Whether a write was successful, or was planned. */
  hasWritten = false;
  /** The data of an operation on several items. */
  many: BulkResult | undefined;
  /** Number of parts sent; undefined when the data is returned as a whole. */
  emittedParts: number | undefined;
  /** Number of records in those parts. */
  emittedItems = 0;
  #result: ResultMessageLists | undefined;
  #fields: Record<string, unknown> | undefined;
  #role: ExchangeRole | undefined;
  readonly #parent: RunRecord | undefined;

  /** With `parent`, the record of one item; the parent records its exchanges too. */
  constructor(parent?: RunRecord) {
    this.#parent = parent;
  }

  /** The lists of the last successful write; empty ones before it. */
  get result(): ResultMessageLists {
    return (this.#result ??= createEmptyMessageLists());
  }

  /** The operation's own fields of the envelope. */
  get envelopeFields(): Readonly<Record<string, unknown>> {
    return this.#fields ?? NO_FIELDS;
  }

  get hasFields(): boolean {
    return this.#fields !== undefined;
  }

  addFields(fields: Readonly<Record<string, unknown>>): void {
    if (this.#fields) Object.assign(this.#fields, fields);
    else this.#fields = { ...fields };
  }

  /** Whether a write was sent or planned. */
  get hasWrite(): boolean {
    return this.#role === 'write';
  }

  /** Call it before an exchange is sent or planned. */
  recordRequest(role: ExchangeRole, request: Request): void {
    this.#parent?.recordRequest(role, request);
    if (this.#role && ROLE_PRIORITY[role] <= ROLE_PRIORITY[this.#role]) return;
    this.#role = role;
    this.request = request;
    // The status belongs to another request.
    this.status = null;
  }

  recordStatus(role: ExchangeRole, status: number | null): void {
    this.#parent?.recordStatus(role, status);
    if (ROLE_PRIORITY[role] >= ROLE_PRIORITY[this.#role ?? role]) this.status = status;
  }

  /** Records a successful write. `changed` is null if the write may have sent what the appliance had already. */
  recordWrite(status: number | null, result: ResultMessageLists, changed: boolean | null): void {
    this.recordStatus('write', status);
    this.changed = this.hasWritten || this.changed === true ? combineChanges(this.changed, changed) : changed;
    this.hasWritten = true;
    this.#result = result;
  }

  /** Records whether the only write so far has changed something. An earlier change stays recorded. */
  markDifference(isDifferent: boolean): void {
    if (this.changed !== true) this.changed = isDifferent;
  }

  /** Records the end of a bulk operation. An earlier change stays recorded. */
  recordBulk(many: BulkResult, changed: boolean | null): void {
    this.many = many;
    if (this.changed !== true) this.changed = changed;
  }

  /** Records that nothing had to be written. */
  markUnchanged(): void {
    if (!this.hasWritten) this.changed ??= false;
  }
}

/** A change wins, then an unknown difference. */
function combineChanges(first: boolean | null, second: boolean | null): boolean | null {
  if (first === true || second === true) return true;
  return first === null || second === null ? null : false;
}
