import type { NodeAPI } from 'node-red';
import { areas } from '../../src/areas';
import type { Finding } from '../../src/model/operation-context';

/** A node of the flow file. */
interface FlowNode {
  readonly id: string;
  readonly type: string;
  readonly d?: boolean;
  readonly [property: string]: unknown;
}

/** Node types that accept requests from the network, with a check of their settings. */
const LISTENERS: Readonly<Record<string, (node: FlowNode) => boolean>> = {
  'http in': () => true,
  'websocket in': ({ server }) => typeof server === 'string' && server !== '',
  'tcp in': ({ server }) => server === 'server',
  'udp in': () => true,
};
/** Node types that forward every message. Any other node might reject some. */
const PASS_THROUGH_TYPES = new Set([
  ...'change template json xml csv yaml html delay debug split join batch sort range junction comment'.split(' '),
  ...['link in', 'link out', 'link call', 'http response'],
]);
/** Maximum number of findings in a report. */
const MAX_FINDINGS = 20;

/** Returns findings about the security settings of Node-RED. */
export function findInsecureSettings({ settings }: NodeAPI): Finding[] {
  const { adminAuth, credentialSecret } = settings as { adminAuth?: unknown; credentialSecret?: unknown };
  const found: Finding[] = [];
  if (!adminAuth) {
    const text =
      'The editor has no login: everybody who reaches it can use the stored credentials. Set adminAuth in the settings of Node-RED.';
    found.push({ code: 'editor-without-login', text });
  }
  if (credentialSecret === false) {
    const text =
      'Credentials are stored in clear text (credentialSecret is false). Set credentialSecret to your own text in the settings of Node-RED.';
    found.push({ code: 'credentials-in-clear', text });
  }
  return found;
}

/**
 * Returns flows in which nothing can reject a message between a listening node and a node of this package. `appliance` undefined means
 * inventories.
 */
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

/** Returns the nodes of this package that a message from the network reaches without passing a node that can reject it. */
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
  // The links of a `link in` node point backwards.
  const linked = Array.isArray(links) && type !== 'link in' ? (links as unknown[]) : [];
  return [...ids, ...linked].filter((id) => typeof id === 'string');
}

function toFinding(
  listener: FlowNode,
  { id, type, operation, operationType, ...properties }: FlowNode,
  appliance: string | undefined,
): Finding | undefined {
  // Undefined stands for the appliances of inventories.
  const isChosen = appliance === undefined ? Boolean(properties['inventory']) : properties['appliance'] === appliance;
  if (!isChosen && properties['applianceFrom'] !== 'msg') return undefined;
  const knownOperation = areas.find(({ name }) => `gateway-${name}` === type)?.operations[String(operation)];
  const isRead = (operationType ?? 'op') === 'op' && knownOperation?.effect === 'read';
  const description = `${listener.type} (${listener.id}) leads to ${type} (${id}) with no node between them that can reject a message`;
  return isRead
    ? {
        code: 'reads-without-secret',
        text: `${description}: everybody who reaches it can read from the appliance. Check a secret in a switch node, or set httpNodeAuth.`,
      }
    : {
        code: 'listens-without-secret',
        text: `${description}: everybody who reaches it can change the appliance. Check a secret in a switch node, as the webhook example does, or set httpNodeAuth.`,
      };
}
