import type { Node, NodeAPI } from 'node-red';
import { asGatewayError } from '@gateway-admin/node-red';
import { createEarlyFailureEnvelope, onInput, toPlainFailure, translatorForPackage, type Message } from '@gateway-admin/node-red/nodes';
import { completeFleetTask, createUnknownFleetTaskError, toFleetTaskOutcome } from '../worker/task-runner';
import { getTitleText } from './i18n';

export const DONE_NODE_TYPE = 'gateway-fleet-done';

/** The runtime of a `gateway-fleet-done` node. It ends the task that a message belongs to; the task has failed if the message has an error. */
export class DoneNode {
  constructor(red: NodeAPI, node: Node) {
    onInput(node, (message, _send, done) => {
      try {
        endTaskOfMessage(message);
        done();
      } catch (thrown) {
        const fault = asGatewayError(thrown);
        fault.cause ??= createEarlyFailureEnvelope('fleet', '', fault, getTitleText(red, 'done.title'), translatorForPackage(red));
        done(toPlainFailure(fault));
      }
      return Promise.resolve();
    });
  }
}

/** Ends the task of a message. Errors: `BAD_INPUT` if the message does not belong to an open task. */
function endTaskOfMessage(message: Message & { task?: unknown }): void {
  const { task } = message;
  if (typeof task !== 'string' || !completeFleetTask(task, toFleetTaskOutcome(message))) throw createUnknownFleetTaskError();
}
