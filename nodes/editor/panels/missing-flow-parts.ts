import { isFailureUnanswered, type FlowNodeConfig, type WireBetweenNodes } from './http-answer';
import type { MissingFlowPartsOptions } from './types';

/** Rules of a change node. They answer an HTTP request with the reason of the failure and the HTTP status that fits it. */
const FAILURE_RULES = [
  {
    t: 'set',
    p: 'statusCode',
    pt: 'msg',
    to: '($status := $lookup({ "BAD_INPUT": 400, "LIMIT": 409, "LOGIN_PAUSED": 503, "TIMEOUT": 504 }, error.code); $status ? $status : 502)',
    tot: 'jsonata',
  },
  { t: 'set', p: 'payload', pt: 'msg', to: '{ "message": error.message }', tot: 'jsonata' },
];

const NIGHTLY_OPERATIONS: Readonly<Record<string, string>> = { 'gateway-backup': 'run', 'gateway-snapshot': 'take' };
/** 02:00, as *Inject* writes it. */
const NIGHTLY = '00 02 * * *';
const GRID = 20;

/** Offers to add the missing parts of a flow: a node that starts it, and a response to the caller of a webhook. */
export function offerMissingFlowParts(options: MissingFlowPartsOptions): void {
  const { node, container, isNew } = options;
  container.empty();
  const { parts, wires } = readFlows();
  const self = RED.nodes.node(node.id);
  if (!self) return;
  const offer = (text: string, actions: Readonly<Record<string, () => void>>): void => {
    const row = $('<div class="gateway-offer" role="status">').append($('<span>').text(node._(text)));
    for (const [action, insert] of Object.entries(actions)) {
      const button = $('<button type="button" class="red-ui-button red-ui-button-small">').text(node._(action));
      button.on('click', () => {
        insert();
        offerMissingFlowParts(options);
      });
      row.append(button);
    }
    row.appendTo(container);
  };
  if (isNew && !wires.some(({ to }) => to === node.id))
    offer('offer.no-start', {
      'offer.add-inject': () => insertInject(self),
      ...(isNightly(node) && { 'offer.add-nightly': () => insertInject(self, NIGHTLY, node._('recipe.node-nightly', { time: '02:00' })) }),
    });
  const hasFailureOutput = options.hasFailureOutput();
  // The output for failures exists when the dialog has been saved.
  const isStored = hasFailureOutput === (self.failures === 'output');
  if (!isFailureUnanswered(node.id, hasFailureOutput ? 1 : undefined, parts, wires)) return;
  offer('offer.no-answer', isStored ? { 'offer.add-answer': () => insertAnswer(self, hasFailureOutput, parts) } : {});
}

function readFlows(): { parts: FlowNodeConfig[]; wires: WireBetweenNodes[] } {
  const parts: FlowNodeConfig[] = [];
  const wires: WireBetweenNodes[] = [];
  RED.nodes.eachNode(({ id, type, z, scope, links }) => parts.push({ id, type, z, scope, links }));
  RED.nodes.eachLink(({ source, sourcePort = 0, target }) => wires.push({ from: source.id, port: sourcePort, to: target.id }));
  return { parts, wires };
}

/** Whether the selected operation usually runs every night. */
function isNightly({ type }: RedNode): boolean {
  return NIGHTLY_OPERATIONS[type] === $('#node-input-operation').val();
}

function insertInject(node: RedNode, crontab = '', name = ''): void {
  const { x, y } = readPosition(node);
  // A long name needs more room on its left, where its button is.
  const isRoom = x >= (name === '' ? 300 : 400);
  const inject = {
    ...{ id: RED.nodes.id(), type: 'inject', z: node.z, name, props: [{ p: 'payload' }], repeat: '', crontab, once: false },
    ...{
      onceDelay: 0.1,
      topic: '',
      payload: '',
      payloadType: 'date',
      x: isRoom ? x - (name === '' ? 220 : 260) : Math.max(x, 160),
      y: isRoom ? y : y + (y > 5 * GRID ? -4 : 4) * GRID,
    },
    wires: [[]],
  };
  insertNodes([inject], [[inject.id, 0, node.id]]);
}

/** Wires the failures of the node to an `http response` node of the tab, with a text that explains the failure. */
function insertAnswer(node: RedNode, hasFailureOutput: boolean, parts: readonly FlowNodeConfig[]): void {
  const { x, y } = readPosition(node);
  const below = y + 3 * GRID;
  const common = { z: node.z, name: '', y: below };
  const existing = parts.find(({ type, z }) => type === 'http response' && z === node.z);
  const change = {
    ...{ ...common, id: RED.nodes.id(), type: 'change', x: x + 200, rules: FAILURE_RULES, wires: [[]] },
    ...{ action: '', property: '', from: '', to: '', reg: false },
  };
  const trap = { ...common, id: RED.nodes.id(), type: 'catch', x, scope: [node.id], uncaught: false, wires: [[]] };
  const response = { ...common, id: RED.nodes.id(), type: 'http response', x: x + 400, statusCode: '', headers: {}, wires: [] };
  insertNodes(
    [change, ...(hasFailureOutput ? [] : [trap]), ...(existing ? [] : [response])],
    [hasFailureOutput ? [node.id, 1, change.id] : [trap.id, 0, change.id], [change.id, 0, existing?.id ?? response.id]],
  );
}

/** Inserts nodes and wires as one step that *Undo* removes. */
function insertNodes(definitions: readonly { id: string }[], wires: readonly (readonly [from: string, port: number, to: string])[]): void {
  const isDirty = RED.nodes.dirty();
  RED.nodes.import(definitions, { generateIds: false });
  for (const { id } of definitions) Object.assign(RED.nodes.node(id) ?? {}, { changed: true, dirty: true });
  const links = wires.flatMap(([from, sourcePort, to]) => {
    const [source, target] = [RED.nodes.node(from), RED.nodes.node(to)];
    return source && target ? [{ source, sourcePort, target }] : [];
  });
  for (const link of links) RED.nodes.addLink(link);
  RED.history.push({ t: 'add', nodes: definitions.map(({ id }) => id), links, dirty: isDirty });
  RED.nodes.dirty(true);
  RED.view.redraw(true);
}

function readPosition({ x, y }: RedNode): { x: number; y: number } {
  return { x: Number(x) || 200, y: Number(y) || 100 };
}
