import type { Node, NodeAPI } from 'node-red';
import { asGatewayError, isSecretName } from '@gateway-admin/node-red';
import { failureEnvelope, plainFailure, sayIn, type Message } from '@gateway-admin/node-red/nodes';
import { endTask, failedBy, noTask } from '../worker/tasks';

export const DONE = 'gateway-fleet-done';

/** The runtime of one `gateway-fleet-done` node: ends the task of the message that comes, well or, with an error on it, not. */
export class DoneNode {
  constructor(red: NodeAPI, node: Node) {
    node.on('input', (message, _send, done) => {
      try {
        const { task, error, payload } = message as Message & { task?: unknown; error?: unknown };
        const isFailed = error !== undefined && error !== null;
        const outcome = isFailed ? failedBy(error) : { state: 'ok' as const, changed: null, data: kept(payload) };
        if (typeof task !== 'string' || !endTask(task, outcome)) throw noTask();
        done();
      } catch (thrown) {
        const fault = asGatewayError(thrown);
        fault.cause ??= failureEnvelope('fleet', '', fault, 'fleet', sayIn(red));
        done(plainFailure(fault) as never);
      }
    });
  }
}

/** JSON without what stands under a secret's name; nothing where it is none. */
function kept(payload: unknown): unknown {
  try {
    const text = JSON.stringify(payload, (name, value: unknown) => (isSecretName(name) && typeof value === 'string' ? '***' : value));
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
