import { hasArea, getNodePorts } from './operation-table';

/** Adds missing properties to nodes of handwritten flows. Called once, before flows are loaded. */
export function completeAddedNodes(): void {
  RED.events.on('nodes:add', (node) => {
    if (hasArea((node as RedNode).type)) completeNode(node as RedNode);
  });
}

function completeNode(proxy: RedNode): void {
  // The proxy refuses changes to a node of a locked flow.
  const node = proxy.__node__ ?? proxy;
  const imported = node._config;
  if (!imported) return;
  if (RED.nodes.getType(node.type)?.defaults?.approval) {
    // A missing value must not look like a change when the dialog is closed.
    node.approval ??= false;
    node.approvalMinutes ??= 60;
  }
  if (RED.nodes.getType(node.type)?.defaults?.every) node.every ??= 10;
  if (imported.outputs === undefined) node.outputs = getNodePorts(node).length;
  if (imported.fields !== undefined) return;
  node.fields = {};
  // After a deletion is undone the node is added again, with fields that may have changed since.
  imported.fields = '{}';
}
