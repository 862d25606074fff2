import { unlessAborted, type Cancellable, type Canceller } from '../src/model/cancelling';
import type { Send } from './receive';
import type { Message } from './sources';

/** One message under way. */
export interface Run {
  readonly message: Message;
  readonly send: Send;
  readonly abort: Canceller;
  operation: string;
  appliance: string;
  /** It changes the appliance, and no dry run is asked for. */
  writes: boolean;
  /** Names of the payload's properties that nothing reads; of a write. */
  ignored?: string[];
  sent: number;
  /** Of the bag of runs. */
  index: number;
  applianceId?: string | undefined;
}

/** What is waited for before anything is sent: a context store that never answers must not keep a message from its outcome. */
export function beforeSending<T>(promise: Promise<T>, signal: Cancellable): Promise<T> {
  return unlessAborted(promise, signal, 'Cancelled before anything was sent.');
}
