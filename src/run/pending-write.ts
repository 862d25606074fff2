import type { Reply } from '../http/exchange';
import type { ResultMessageLists } from '../model/envelope';
import type { JsonObject } from '../model/json';
import type { Request } from '../model/request';
import type { OpenExchange, WriteResponse } from './sender';

/** One write before it is sent or planned. */
export interface PendingWrite {
  readonly request: Request;
  /** Stands for a streaming body in a plan. */
  readonly plannedBody?: JsonObject;
  readonly openExchange?: OpenExchange;
  /** Hash of the body of an upload, so that an approval can be checked before the body is sent. */
  readonly digest?: () => Promise<string>;
  /** Reads a response that may not be a result envelope. */
  readonly parseResult?: (reply: Reply) => ResultMessageLists;
  /** Describes the item that is written, one of many. */
  readonly describeItem?: () => unknown;
  /** True for one of many writes that passed the gate together. */
  readonly isApproved?: boolean;
  /** True for requests that the interface description does not explain. */
  readonly hasUnknownEffect?: boolean;
}

/** Checks every write of a run before it is sent or planned. */
export interface WriteGate {
  assertAllowed(write: PendingWrite): Promise<void>;
  /** Checks one of many writes. False skips its item. */
  isAllowed(request: Request): boolean;
}

/**
 * Middleware around every write of a run. It may read before, compare, lock or record the write, call `next`, read back and restore. The
 * write ends with what it returns or throws.
 */
export type WriteInterceptor = (write: PendingWrite, next: () => Promise<WriteResponse>) => Promise<WriteResponse>;
