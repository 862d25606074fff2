import type { NodeAPI } from 'node-red';
import { areas } from '../src/areas';
import type { Finding } from '../src/model/call';

/** A node as it stands in the flow file. */
interface Placed {
  readonly id: string;
  readonly type: string;
  readonly d?: boolean;
  readonly [property: string]: unknown;
}

/** What waits for whoever calls, as far as it listens itself. */
const LISTENERS: Readonly<Record<string, (node: Placed) => boolean>> = {
  'http in': () => true,
  'websocket in': ({ server }) => typeof server === 'string' && server !== '',
  'tcp in': ({ server }) => server === 'server',
  'udp in': () => true,
};
/** Nodes that let everything through: none of them can refuse. Of any other it is thought that it may. */
const THROUGH = new Set([
  ...'change template json xml csv yaml html delay debug split join batch sort range junction comment'.split(' '),
  ...['link in', 'link out', 'link call', 'http response'],
]);
/** One is as good as many to whoever has to look. */
const MOST = 20;

/** Who may use this Node-RED, as its settings tell. */
export function settingFindings({ settings }: NodeAPI): Finding[] {
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
export function flowFindings(red: NodeAPI, appliance: string | undefined): Finding[] {
  const nodes = new Map<string, Placed>();
  red.nodes.eachNode((node) => void nodes.set(node.id, { ...node }));
  const { httpNodeAuth, httpNodeMiddleware } = red.settings as { httpNodeAuth?: unknown; httpNodeMiddleware?: unknown };
  const guarded = Boolean(httpNodeAuth) || Boolean(httpNodeMiddleware);
  const found: Finding[] = [];
  for (const node of nodes.values()) {
    if (node.d === true || !LISTENERS[node.type]?.(node) || (node.type === 'http in' && guarded)) continue;
    for (const reached of reachedFrom(node, nodes)) {
      const finding = findingOf(node, reached, appliance);
      if (finding && found.length < MOST) found.push(finding);
    }
  }
  return found;
}

/** Every node of ours that a message of this one comes to without passing anything that could refuse it. */
function reachedFrom(start: Placed, nodes: ReadonlyMap<string, Placed>): Placed[] {
  const seen = new Set<string>();
  const open = nextOf(start);
  const reached: Placed[] = [];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const node = nodes.get(id);
    if (!node || seen.has(id) || node.d === true) continue;
    seen.add(id);
    if (node.type.startsWith('gateway-')) reached.push(node);
    else if (THROUGH.has(node.type)) open.push(...nextOf(node));
  }
  return reached;
}

function nextOf({ wires, links, type }: Placed): string[] {
  const ids = Array.isArray(wires) ? (wires as unknown[]).flat() : [];
  // Of a link in, the links are those that lead to it.
  const linked = Array.isArray(links) && type !== 'link in' ? (links as unknown[]) : [];
  return [...ids, ...linked].filter((id) => typeof id === 'string');
}

function findingOf(
  listener: Placed,
  { id, type, operation, operationType, ...of }: Placed,
  appliance: string | undefined,
): Finding | undefined {
  // Without an appliance node it is one of an inventory.
  const chosen = appliance === undefined ? Boolean(of['inventory']) : of['appliance'] === appliance;
  if (!chosen && of['applianceFrom'] !== 'msg') return undefined;
  const known = areas.find(({ name }) => `gateway-${name}` === type)?.operations[String(operation)];
  const reads = (operationType ?? 'op') === 'op' && known?.effect === 'read';
  const what = `${listener.type} (${listener.id}) leads to ${type} (${id}) with nothing between them that could refuse a message`;
  return reads
    ? {
        code: 'reads-without-secret',
        text: `${what}: whoever reaches it reads what the appliance tells. Ask for a secret in a switch node, or set httpNodeAuth.`,
      }
    : {
        code: 'listens-without-secret',
        text: `${what}: whoever reaches it acts on the appliance. Ask for a secret in a switch node, as the example of a webhook does, or set httpNodeAuth.`,
      };
}
