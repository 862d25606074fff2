import { rejectOnAbort, LightAbortController, type AbortSignalLike } from '../../src/model/abort';
import type { SendCallback } from '../message/on-input';
import type { Message } from '../message/typed-value';

/** One message that a node is processing. */
export class MessageRun {
  readonly abort = new LightAbortController();
  appliance = '';
  applianceId: string | undefined;
  /** Whether the run changes the appliance. False in a dry run. */
  isWriting = false;
  /** Names of payload properties that the write does not use. */
  ignored: string[] | undefined;
  sentCount = 0;
  /** Position in the list of runs, or -1 after the run has ended. */
  index = 0;

  constructor(
    readonly message: Message,
    readonly send: SendCallback,
    public operation: string,
  ) {}
}

/** Waits for a value, or until the message is canceled. So a context store that never answers cannot block a message. */
export function waitOrCancel<T>(promise: Promise<T>, signal: AbortSignalLike): Promise<T> {
  return rejectOnAbort(promise, signal, 'Canceled before anything was sent.');
}
