import { readValueSources } from './fields/value-types';
import { hasArea, getNodePorts } from './operation-table';

/*
 * Flows of 0.1 hold `fields` under the name `inputs`, under which Node-RED counts a node's input ports. Of an imported property Node-RED
 * keeps what the type declares: so `inputs` is declared, but not to be gone through with the others, or an export would write it back.
 * What was imported then stands in `_config.inputs`, and in `inputs` what Node-RED took for a number of ports.
 */

/** Called once, before the types are registered and the flows are loaded. */
export function migrateOldFlows(): void {
  RED.events.on('registry:node-type-added', (type) => {
    const definition = typeof type === 'string' && hasArea(type) ? RED.nodes.getType(type) : undefined;
    if (definition?.defaults) Object.defineProperty(definition.defaults, 'inputs', { value: { value: 1 }, enumerable: false });
  });
  RED.events.on('nodes:add', (node) => {
    if (hasArea((node as RedNode).type)) completeNode(node as RedNode);
  });
}

/** Sees to it that a node that was written by hand, or by an older release, has what one of today has. */
function completeNode(proxy: RedNode): void {
  // Behind the proxy: that one refuses any change to a node of a locked flow.
  const node = proxy.__node__ ?? proxy;
  node.inputs = 1;
  const imported = node._config;
  if (!imported) return;
  if (RED.nodes.getType(node.type)?.defaults?.approval) {
    // Older ones have none: that must not look like a change when the dialog is closed.
    node.approval ??= false;
    node.approvalMinutes ??= 60;
  }
  if (RED.nodes.getType(node.type)?.defaults?.every) node.every ??= 10;
  // Such a flow need not tell the number of its ports.
  if (imported.outputs === undefined) node.outputs = getNodePorts(node).length;
  if (imported.fields !== undefined) return;
  node.fields = readValueSources(JSON.parse(imported.inputs ?? 'null'));
  // After a deletion is undone the node comes by again, with fields that may have been changed since.
  imported.fields = JSON.stringify(node.fields);
}
