import type { Node, NodeAPI, NodeDef } from 'node-red';
import { hideCredentials } from '@gateway-admin/node-red/nodes';
import { CONTROL, ControlNode } from './control-node';
import { DONE, DoneNode } from './done-node';
import { ENGINE, ENGINE_CREDENTIALS, EngineNode } from './engine-node';
import { RUN, RunNode } from './run-node';
import { TASK, TaskNode } from './task-node';

type Plain = Node<Record<string, unknown>>;

/** Registers the five nodes; called by Node-RED once. */
export default function fleetNodes(red: NodeAPI): void {
  red.nodes.registerType(
    ENGINE,
    function (this: Node<Record<string, unknown>>, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      hideCredentials(this);
      new EngineNode(red, this, definition);
    },
    { credentials: ENGINE_CREDENTIALS },
  );
  const register = (type: string, start: (node: Plain, definition: NodeDef) => void): void =>
    red.nodes.registerType(type, function (this: Plain, definition: NodeDef) {
      red.nodes.createNode(this, definition);
      start(this, definition);
    });
  register(RUN, (node, definition) => void new RunNode(red, node, definition));
  register(TASK, (node, definition) => void new TaskNode(red, node, definition));
  register(DONE, (node) => void new DoneNode(red, node));
  register(CONTROL, (node, definition) => void new ControlNode(red, node, definition));
}
