import type { Node, NodeAPI, NodeDef } from 'node-red';
import { hideCredentials } from '@gateway-admin/node-red/nodes';
import { CONTROL_NODE_TYPE, ControlNode } from './control-node';
import { DONE_NODE_TYPE, DoneNode } from './done-node';
import { ENGINE_NODE_TYPE, ENGINE_CREDENTIALS, EngineNode } from './engine-node';
import { RUN_NODE_TYPE, RunNode } from './run-node';
import { TASK_NODE_TYPE, TaskNode } from './task-node';

type AnyNode = Node<Record<string, unknown>>;

/** Registers the five fleet nodes. Node-RED calls it once. */
export default function fleetNodes(red: NodeAPI): void {
  red.nodes.registerType(
    ENGINE_NODE_TYPE,
    function (this: Node<Record<string, unknown>>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new EngineNode(red, this, definition);
    },
    { credentials: ENGINE_CREDENTIALS },
  );
  const register = (type: string, start: (node: AnyNode, definition: NodeDef) => void): void =>
    red.nodes.registerType(type, function (this: AnyNode, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      start(this, definition);
    });
  register(RUN_NODE_TYPE, (node, definition) => void new RunNode(red, node, definition));
  register(TASK_NODE_TYPE, (node, definition) => void new TaskNode(red, node, definition));
  register(DONE_NODE_TYPE, (node) => void new DoneNode(red, node));
  register(CONTROL_NODE_TYPE, (node, definition) => void new ControlNode(red, node, definition));
}
