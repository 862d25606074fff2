import { rejectOnAbort, type AbortSignalLike, type LightAbortController } from '../../src/model/abort';
import type { SendCallback } from '../message/on-input';
import type { Message } from '../message/typed-value';

/** One message that a node is processing. */
export interface MessageRun {
  readonly message: Message;
  readonly send: SendCallback;
  readonly abort: LightAbortController;
  operation: string;
  appliance: string;
  /** Whether the run changes the appliance. False in a dry run. */
  isWriting: boolean;
  /** Names of payload properties that a write does not use. */
  ignored?: string[];
  sentCount: number;
  /** Position in the list of runs, or -1 after the run has ended. */
  index: number;
  applianceId?: string | undefined;
}

/** Awaits something before anything is sent. An abort ends the wait, so a context store that never answers cannot block a message. */
export function awaitBeforeSending<T>(promise: Promise<T>, signal: AbortSignalLike): Promise<T> {
  return rejectOnAbort(promise, signal, 'Canceled before anything was sent.');
}
