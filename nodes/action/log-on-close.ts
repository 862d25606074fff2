import type { Node, NodeAPI } from 'node-red';
import type { GatewayError } from '../../src/model/error';
import { translateText } from '../common/i18n';

/** As the English catalogue has them. */
export const CLOSE_LOG_TEXTS = {
  done: '__operation__ at __appliance__ was under way when this node was closed. It was done.',
  ended: '__operation__ at __appliance__ was under way when this node was closed. It ended with __code__: __message__',
  'under-way': '__operation__ at __appliance__ was under way when this node was closed, and still is: its outcome is not known.',
} as const;

/** Logs the outcome of a write that is still running when its node closes. Its Catch nodes are already closed. */
export function logWriteAfterClose(
  red: NodeAPI,
  node: Node,
  { operation, appliance }: { readonly operation: string; readonly appliance: string },
  outcome: GatewayError | 'done' | 'under-way',
): void {
  const key = typeof outcome === 'string' ? outcome : 'ended';
  const errorValues = typeof outcome === 'string' ? {} : { code: outcome.code, message: outcome.message };
  node.warn(translateText(red, `closed.${key}`, CLOSE_LOG_TEXTS[key], { operation, appliance, ...errorValues }));
}
