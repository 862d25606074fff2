import type { Node } from 'node-red';
import type { Failure } from './failure';
import type { Message } from './sources';

export type Send = (message: Message | (Message | null)[]) => void;

/** By which Node-RED is told that a message is done with. */
export type Done = (error?: Failure) => void;

/** Gives a node its messages. What `receive` rejects with is logged: an input handler that rejects would end Node-RED. */
export function onMessage(node: Node, receive: (message: Message, send: Send, done: Done) => Promise<void>): void {
  node.on('input', (message, send, done) => {
    // Node-RED takes any object as an error; its types know Errors alone.
    receive(message, send, done as Done).catch((fault: unknown) => node.error(fault));
  });
}
