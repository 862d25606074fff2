import type { Inputs } from './sources';
import { hasArea } from './table';

/*
 * The property `inputs` of the flow file has the name under which Node-RED's editor counts a node's input ports: it draws the port only
 * where `node.inputs === 1`, and reads an imported value with parseInt. So in the editor the property has two faces. Whoever goes through
 * the declared properties one by one, as export, import, validation, comparison and search do, gets the map; whoever asks for
 * `node.inputs` by itself, as view and wires do, gets the number of ports. The first kind calls `defaults.hasOwnProperty(name)` before it
 * reads each property, in 4.1 as in 5.0; that is how they are told apart.
 */

const maps = new WeakMap<object, Inputs>();
let iterating = false;

interface Declared {
  [name: string]: unknown;
}

/** Makes the definition's declared properties tell when `inputs` is read as one of them. */
function watch(defaults: Declared): void {
  Object.defineProperty(defaults, 'hasOwnProperty', {
    enumerable: false,
    configurable: true,
    value(name: string): boolean {
      iterating = name === 'inputs';
      if (iterating) queueMicrotask(() => (iterating = false));
      return Object.prototype.hasOwnProperty.call(this, name);
    },
  });
}

/** Gives a node its two-faced property, with what Node-RED has kept of the imported one. */
export function install(node: RedNode): void {
  const target = node.__node__ ?? node;
  if (maps.has(target)) return;
  maps.set(target, imported(node));
  // A flow that was written by hand need not tell the number of ports.
  if (node._config?.outputs === undefined) target.outputs = node.failures === 'output' ? 2 : 1;
  Object.defineProperty(target, 'inputs', {
    enumerable: true,
    configurable: true,
    get: () => (iterating ? maps.get(target) : 1),
    set: (value: unknown) => {
      if (isMap(value)) maps.set(target, value);
    },
  });
}

function imported(node: RedNode): Inputs {
  if (isMap(node.inputs)) return node.inputs;
  try {
    const kept: unknown = JSON.parse(node._config?.inputs ?? '{}');
    return isMap(kept) ? kept : {};
  } catch {
    return {};
  }
}

function isMap(value: unknown): value is Inputs {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function inputsOf(node: RedNode): Inputs {
  return maps.get(node.__node__ ?? node) ?? (isMap(node.inputs) ? node.inputs : {});
}

/**
 * Stores what the dialog holds. Node-RED's own undo restores the old map, but its redo reads `inputs` by itself, so that step is ours:
 * the answer of `oneditsave` when something changed.
 */
export function setInputs(node: RedNode, after: Inputs): { history: object[] } | undefined {
  const before = inputsOf(node);
  node.inputs = after;
  if (JSON.stringify(before) === JSON.stringify(after)) return undefined;
  let done = true;
  const callback = (): void => {
    done = !done;
    node.inputs = done ? after : before;
    RED.editor.validateNode(node);
  };
  return { history: [{ t: 'multi', events: [], callback }] };
}

/** Called once, before the types are registered and the flows are loaded. */
export function watchInputs(): void {
  RED.events.on('registry:node-type-added', (type) => {
    const definition = typeof type === 'string' && hasArea(type) ? RED.nodes.getType(type) : undefined;
    if (definition?.defaults) watch(definition.defaults);
  });
  RED.events.on('nodes:add', (node) => {
    if (hasArea((node as RedNode).type)) install(node as RedNode);
  });
}
