import type { Node } from 'node-red';
import type { NodeFailure } from './failure';
import type { Message } from './typed-value';

export type SendCallback = (message: Message | (Message | null)[]) => void;

/** Tells Node-RED that a message has ended. */
export type DoneCallback = (error?: NodeFailure) => void;

/** Passes messages to `receive` and logs its errors, because a rejecting input handler would end Node-RED. */
export function onInput(node: Node, receive: (message: Message, send: SendCallback, done: DoneCallback) => Promise<void>): void {
  const reportFault = (fault: unknown): void => node.error(fault);
  node.on('input', (message, send, done) => {
    // Node-RED accepts any object as an error, but its types allow only `Error`.
    try {
      receive(message, send, done as DoneCallback).catch(reportFault);
    } catch (fault) {
      reportFault(fault);
    }
  });
}
