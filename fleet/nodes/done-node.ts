import type { Node, NodeAPI } from 'node-red';
import { asGatewayError } from '@gateway-admin/node-red';
import { failureEnvelope, plainFailure, sayForOthers, type Done, type Message } from '@gateway-admin/node-red/nodes';
import { endTask, noTask, outcomeOf } from '../worker/tasks';
import { titleText } from './texts';

export const DONE = 'gateway-fleet-done';

/** The runtime of one `gateway-fleet-done` node: ends the task of the message that comes, well or, with an error on it, not. */
export class DoneNode {
  constructor(red: NodeAPI, node: Node) {
    node.on('input', (message, _send, done) => {
      try {
        const { task } = message as Message & { task?: unknown };
        if (typeof task !== 'string' || !endTask(task, outcomeOf(message))) throw noTask();
        done();
      } catch (thrown) {
        const fault = asGatewayError(thrown);
        fault.cause ??= failureEnvelope('fleet', '', fault, titleText(red, 'done.title'), sayForOthers(red));
        (done as Done)(plainFailure(fault));
      }
    });
  }
}
