import type { Node, NodeAPI } from 'node-red';
import { asGatewayError } from '@gateway-admin/node-red';
import { failureEnvelope, onMessage, plainFailure, sayForOthers, type Message } from '@gateway-admin/node-red/nodes';
import { endTask, noTask, outcomeOf } from '../worker/tasks';
import { titleText } from './texts';

export const DONE = 'gateway-fleet-done';

/** The runtime of one `gateway-fleet-done` node: ends the task of the message that comes, well or, with an error on it, not. */
export class DoneNode {
  constructor(red: NodeAPI, node: Node) {
    onMessage(node, (message, _send, done) => {
      try {
        endTaskOf(message);
        done();
      } catch (thrown) {
        const fault = asGatewayError(thrown);
        fault.cause ??= failureEnvelope('fleet', '', fault, titleText(red, 'done.title'), sayForOthers(red));
        done(plainFailure(fault));
      }
      return Promise.resolve();
    });
  }
}

/** Errors: those of `noTask`. */
function endTaskOf(message: Message & { task?: unknown }): void {
  const { task } = message;
  if (typeof task !== 'string' || !endTask(task, outcomeOf(message))) throw noTask();
}
