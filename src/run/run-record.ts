import { emptyResultLists, type BulkResult, type ResultLists } from '../model/envelope';
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
  /** Null while it is unknown: for reads and plans. */
  changed: boolean | null = null;
  /** The data of an operation on several items. */
  many: BulkResult | undefined;
  /** Number of parts sent; undefined when the data is returned as a whole. */
  emittedParts: number | undefined;
  /** Number of records in those parts. */
  emittedItems = 0;
  #result: ResultLists | undefined;
  #fields: Record<string, unknown> | undefined;
  #role: ExchangeRole | undefined;
  readonly #parent: RunRecord | undefined;

  /** With `parent`, the record of one item; the parent records its exchanges too. */
  constructor(parent?: RunRecord) {
    this.#parent = parent;
  }

  /** The lists of the last successful write; empty ones before it. */
  get result(): ResultLists {
    return (this.#result ??= emptyResultLists());
  }

  /** The operation's own fields of the envelope. */
  get envelopeFields(): Readonly<Record<string, unknown>> {
    return this.#fields ?? NO_FIELDS;
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

  /** Records a successful write. */
  recordWrite(status: number | null, result: ResultLists): void {
    this.recordStatus('write', status);
    this.changed = true;
    this.#result = result;
  }

  /** Records the end of a bulk operation. An earlier change stays recorded. */
  recordBulk(many: BulkResult, changed: boolean | null): void {
    this.many = many;
    if (this.changed !== true) this.changed = changed;
  }

  /** Records that nothing had to be written. */
  markUnchanged(): void {
    this.changed ??= false;
  }
}
