import type { Reply } from '../http/exchange';
import type { ResultLists } from '../model/envelope';
import type { JsonObject } from '../model/json';
import type { Request } from '../model/request';
import type { Stream } from './sender';

/** One write, as it is about to be sent or planned. */
export interface Write {
  readonly request: Request;
  /** What a plan shows of a body that streams. */
  readonly shown?: JsonObject;
  readonly stream?: Stream;
  /** Hash of what streams, for those who have to know it before. */
  readonly digest?: () => Promise<string>;
  /** Of an answer that may be something else than a result envelope. */
  readonly read?: (reply: Reply) => ResultLists;
}

/** What every write of a run has to pass before it is sent or planned. */
export interface Gate {
  pass(write: Write): Promise<void>;
  /** Of one write for each of many items: false leaves the item out. */
  admits(request: Request): boolean;
}
