import type { Node } from 'node-red';
import type { Failure } from './failure';
import type { Message } from './typed-value';

export type SendCallback = (message: Message | (Message | null)[]) => void;

/** By which Node-RED is told that a message is done with. */
export type DoneCallback = (error?: Failure) => void;

/** Gives a node its messages. What `receive` rejects with is logged: an input handler that rejects would end Node-RED. */
export function onInput(node: Node, receive: (message: Message, send: SendCallback, done: DoneCallback) => Promise<void>): void {
  node.on('input', (message, send, done) => {
    // Node-RED takes any object as an error; its types know Errors alone.
    receive(message, send, done as DoneCallback).catch((fault: unknown) => node.error(fault));
  });
}
