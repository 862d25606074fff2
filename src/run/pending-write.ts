import type { Reply } from '../http/exchange';
import type { ResultMessageLists } from '../model/envelope';
import type { JsonObject } from '../model/json';
import type { Request } from '../model/request';
import type { CreateStreamOptions, WriteResponse } from './sender';

/** One write before it is sent or planned. */
export interface PendingWrite {
  readonly request: Request;
  /** The body that a plan shows in place of a streaming body. */
  readonly plannedBody?: JsonObject;
  readonly openExchange?: CreateStreamOptions;
  /** Hash of the body of an upload, so that an approval can be checked before the body is sent. */
  readonly digest?: () => Promise<string>;
  /** Reads a response that may not be a result envelope. */
  readonly parseResult?: (reply: Reply) => ResultMessageLists;
  /** Describes the item to write, for a write that is one of many. */
  readonly describeItem?: () => unknown;
  /** Whether the write was already checked together with other writes. */
  readonly isApproved?: boolean;
  /** Whether the effect of the request is unknown because the interface description does not explain the request. */
  readonly hasUnknownEffect?: boolean;
}

/** Checks every write of a run before it is sent or planned. */
export interface WriteGuard {
  assertAllowed(write: PendingWrite): Promise<void>;
  /** Checks one of many writes. If false, its item is skipped. */
  isAllowed(request: Request): boolean;
}

/**
 * Middleware around every write of a run. It may read before, compare, lock or record the write, call `next`, read back and restore. The
 * write ends with what it returns or throws.
 */
export type WriteInterceptor = (write: PendingWrite, next: () => Promise<WriteResponse>) => Promise<WriteResponse>;
