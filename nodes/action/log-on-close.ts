import type { Node, NodeAPI } from 'node-red';
import type { GatewayError } from '../../src/model/error';
import { translateText } from '../common/i18n';
import { RUNTIME_TEXTS } from '../common/runtime-texts';

/** Logs the outcome of a write that is still running when its node closes, because the Catch nodes are already closed. */
export function logWriteAfterClose(
  red: NodeAPI,
  node: Node,
  { operation, appliance }: { readonly operation: string; readonly appliance: string },
  outcome: GatewayError | 'done' | 'under-way',
): void {
  const key = typeof outcome === 'string' ? outcome : 'ended';
  const errorValues = typeof outcome === 'string' ? {} : { code: outcome.code, message: outcome.message };
  node.warn(translateText(red, `closed.${key}`, RUNTIME_TEXTS.closed[key], { operation, appliance, ...errorValues }));
}
