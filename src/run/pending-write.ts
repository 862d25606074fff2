import type { Reply } from '../http/exchange';
import type { ResultLists } from '../model/envelope';
import type { JsonObject } from '../model/json';
import type { Request } from '../model/request';
import type { OpenExchange } from './sender';

/** One write, as it is about to be sent or planned. */
export interface PendingWrite {
  readonly request: Request;
  /** What a plan shows of a body that streams. */
  readonly plannedBody?: JsonObject;
  readonly openExchange?: OpenExchange;
  /** Hash of what streams, for those who have to know it before. */
  readonly digest?: () => Promise<string>;
  /** Of an answer that may be something else than a result envelope. */
  readonly parseResult?: (reply: Reply) => ResultLists;
}

/** What every write of a run has to pass before it is sent or planned. */
export interface WriteGate {
  assertAllowed(write: PendingWrite): Promise<void>;
  /** Of one write for each of many items: false leaves the item out. */
  isAllowed(request: Request): boolean;
}
