import type { NodeAPI } from 'node-red';
import { areas } from '../../src/areas';
import type { Finding } from '../../src/model/operation-context';

/** A node as it stands in the flow file. */
interface FlowNode {
  readonly id: string;
  readonly type: string;
  readonly d?: boolean;
  readonly [property: string]: unknown;
}

/** What waits for whoever calls, as far as it listens itself. */
const LISTENERS: Readonly<Record<string, (node: FlowNode) => boolean>> = {
  'http in': () => true,
  'websocket in': ({ server }) => typeof server === 'string' && server !== '',
  'tcp in': ({ server }) => server === 'server',
  'udp in': () => true,
};
/** Nodes that let everything through: none of them can refuse. Of any other it is thought that it may. */
const PASS_THROUGH_TYPES = new Set([
  ...'change template json xml csv yaml html delay debug split join batch sort range junction comment'.split(' '),
  ...['link in', 'link out', 'link call', 'http response'],
]);
/** One is as good as many to whoever has to look. */
const MAX_FINDINGS = 20;

/** Who may use this Node-RED, as its settings tell. */
export function findInsecureSettings({ settings }: NodeAPI): Finding[] {
  const { adminAuth, credentialSecret } = settings as { adminAuth?: unknown; credentialSecret?: unknown };
  const found: Finding[] = [];
  if (!adminAuth) {
    const text =
      'The editor asks nobody who they are: whoever reaches it acts with the stored credentials. Set adminAuth in the settings of Node-RED.';
    found.push({ code: 'editor-without-login', text });
  }
  if (credentialSecret === false) {
    const text = 'Credentials are stored in clear (credentialSecret is false). Set a text of your own in the settings of Node-RED.';
    found.push({ code: 'credentials-in-clear', text });
  }
  return found;
}

/** Flows that let anybody who reaches this Node-RED act on the appliance of that node, or of an inventory: nothing stands between who listens and our node that could refuse. */
export function findUnguardedFlows(red: NodeAPI, appliance: string | undefined): Finding[] {
  const nodes = new Map<string, FlowNode>();
  red.nodes.eachNode((node) => void nodes.set(node.id, { ...node }));
  const { httpNodeAuth, httpNodeMiddleware } = red.settings as { httpNodeAuth?: unknown; httpNodeMiddleware?: unknown };
  const isHttpGuarded = Boolean(httpNodeAuth) || Boolean(httpNodeMiddleware);
  const found: Finding[] = [];
  for (const node of nodes.values()) {
    if (node.d === true || !LISTENERS[node.type]?.(node) || (node.type === 'http in' && isHttpGuarded)) continue;
    for (const reached of findReachableGatewayNodes(node, nodes)) {
      const finding = toFinding(node, reached, appliance);
      if (finding && found.length < MAX_FINDINGS) found.push(finding);
    }
  }
  return found;
}

/** Every node of ours that a message of this one comes to without passing anything that could refuse it. */
function findReachableGatewayNodes(start: FlowNode, nodes: ReadonlyMap<string, FlowNode>): FlowNode[] {
  const visitedIds = new Set<string>();
  const pendingIds = getNextNodeIds(start);
  const reached: FlowNode[] = [];
  for (let id = pendingIds.pop(); id !== undefined; id = pendingIds.pop()) {
    const node = nodes.get(id);
    if (!node || visitedIds.has(id) || node.d === true) continue;
    visitedIds.add(id);
    if (node.type.startsWith('gateway-')) reached.push(node);
    else if (PASS_THROUGH_TYPES.has(node.type)) pendingIds.push(...getNextNodeIds(node));
  }
  return reached;
}

function getNextNodeIds({ wires, links, type }: FlowNode): string[] {
  const ids = Array.isArray(wires) ? (wires as unknown[]).flat() : [];
  // Of a link in, the links are those that lead to it.
  const linked = Array.isArray(links) && type !== 'link in' ? (links as unknown[]) : [];
  return [...ids, ...linked].filter((id) => typeof id === 'string');
}

function toFinding(
  listener: FlowNode,
  { id, type, operation, operationType, ...properties }: FlowNode,
  appliance: string | undefined,
): Finding | undefined {
  // Without an appliance node it is one of an inventory.
  const isChosen = appliance === undefined ? Boolean(properties['inventory']) : properties['appliance'] === appliance;
  if (!isChosen && properties['applianceFrom'] !== 'msg') return undefined;
  const knownOperation = areas.find(({ name }) => `gateway-${name}` === type)?.operations[String(operation)];
  const isRead = (operationType ?? 'op') === 'op' && knownOperation?.effect === 'read';
  const description = `${listener.type} (${listener.id}) leads to ${type} (${id}) with nothing between them that could refuse a message`;
  return isRead
    ? {
        code: 'reads-without-secret',
        text: `${description}: whoever reaches it reads what the appliance tells. Ask for a secret in a switch node, or set httpNodeAuth.`,
      }
    : {
        code: 'listens-without-secret',
        text: `${description}: whoever reaches it acts on the appliance. Ask for a secret in a switch node, as the example of a webhook does, or set httpNodeAuth.`,
      };
}
