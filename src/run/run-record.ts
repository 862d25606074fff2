import { emptyResultLists, type BulkResult, type ResultLists } from '../model/envelope';
import type { Request } from '../model/request';

/** What an exchange is to its operation: something that has to be known first, what is read, or what is written. */
export type ExchangeRole = 'look-up' | 'read' | 'write';

const ROLE_PRIORITY: Readonly<Record<ExchangeRole, number>> = { 'look-up': 1, read: 2, write: 3 };

/**
 * What the envelope of one run will say of its exchanges. *The* request of an operation is the first write if there is one, else the
 * first read, else what was looked up; the status is that of the last answer to an exchange of the same role.
 */
export class RunRecord {
  request: Request | undefined;
  status: number | null = null;
  result: ResultLists = emptyResultLists();
  /** Null as long as nothing can be said: for reads and plans. */
  changed: boolean | null = null;
  /** The data of an operation that tells of several items. */
  many: BulkResult | undefined;
  /** How many parts went out; undefined when the data goes back whole. */
  emittedParts: number | undefined;
  /** What was in them. */
  emittedItems = 0;
  readonly envelopeFields: Record<string, unknown> = {};
  #role: ExchangeRole | undefined;
  readonly #parent: RunRecord | undefined;

  /** `whole`: that of the operation, of which this one has the work on one item. */
  constructor(parent?: RunRecord) {
    this.#parent = parent;
  }

  /** Whether a write was sent or planned. */
  get hasWrite(): boolean {
    return this.#role === 'write';
  }

  /** Before an exchange is sent or planned. */
  recordRequest(role: ExchangeRole, request: Request): void {
    this.#parent?.recordRequest(role, request);
    if (this.#role && ROLE_PRIORITY[role] <= ROLE_PRIORITY[this.#role]) return;
    this.#role = role;
    this.request = request;
    // That of something else.
    this.status = null;
  }

  recordStatus(role: ExchangeRole, status: number | null): void {
    this.#parent?.recordStatus(role, status);
    if (ROLE_PRIORITY[role] >= ROLE_PRIORITY[this.#role ?? role]) this.status = status;
  }

  /** A write succeeded. */
  recordWrite(status: number | null, result: ResultLists): void {
    this.recordStatus('write', status);
    this.changed = true;
    this.result = result;
  }

  /** Several writes are over. What was changed before them stays changed. */
  recordBulk(many: BulkResult, changed: boolean | null): void {
    this.many = many;
    if (this.changed !== true) this.changed = changed;
  }

  /** Nothing had to be written. */
  markUnchanged(): void {
    this.changed ??= false;
  }
}
