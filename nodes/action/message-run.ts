import { rejectOnAbort, type AbortSignalLike, type LightAbortController } from '../../src/model/abort';
import type { SendCallback } from '../message/on-input';
import type { Message } from '../message/typed-value';

/** One message under way. */
export interface MessageRun {
  readonly message: Message;
  readonly send: SendCallback;
  readonly abort: LightAbortController;
  operation: string;
  appliance: string;
  /** It changes the appliance, and no dry run is asked for. */
  isWriting: boolean;
  /** Names of the payload's properties that nothing reads; of a write. */
  ignored?: string[];
  sentCount: number;
  /** Of the bag of runs. */
  index: number;
  applianceId?: string | undefined;
}

/** What is waited for before anything is sent: a context store that never answers must not keep a message from its outcome. */
export function awaitBeforeSending<T>(promise: Promise<T>, signal: AbortSignalLike): Promise<T> {
  return rejectOnAbort(promise, signal, 'Cancelled before anything was sent.');
}
