import { readValueSources } from './fields/value-types';
import { hasArea, findOperation, type FieldInfo } from './operation-table';

/** Returns the only appliance, or the one that the tab uses most. */
export function guessAppliance(node: RedNode): string | undefined {
  const appliances: RedNode[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type === 'gateway-appliance' && config.d !== true && (!config.z || config.z === node.z)) appliances.push(config);
  });
  if (appliances.length <= 1) return appliances[0]?.id;
  const uses = new Map<unknown, number>();
  RED.nodes.eachNode((other) => {
    if (other.z === node.z && hasArea(other.type)) uses.set(other.appliance, (uses.get(other.appliance) ?? 0) + 1);
  });
  const [mostUsed] = appliances.filter(({ id }) => uses.has(id)).sort((a, b) => (uses.get(b.id) ?? 0) - (uses.get(a.id) ?? 0));
  return mostUsed?.id;
}

/** Types of an Inject node whose value can be an object. */
const OBJECT_VALUE_TYPES = ['json', 'jsonata', 'msg', 'flow', 'global', 'env', 'bin', 'cred'];

/** Returns required fields that no wired node can supply. Only Inject nodes are known; any other node might supply fields. */
export function findMissingFields(node: RedNode): string[] {
  const operation = findOperation(node, node.operation, node.operationType);
  if (!operation) return [];
  const entries = readValueSources(node.fields);
  const needed = Object.entries(operation.fields).filter(
    ([name, { required, guard }]) => required && !guard && !Object.hasOwn(entries, name),
  );
  if (needed.length === 0) return [];
  const upstreamNodes = findUpstreamNodes(node);
  return needed.flatMap(([name, field]) => (upstreamNodes.some((source) => canSupply(source, field)) ? [] : [name]));
}

/** Returns the nodes that are wired to a node. Compares ids, because a link can hold a node or its proxy. */
export function findUpstreamNodes(node: RedNode): RedNode[] {
  const upstreamNodes: RedNode[] = [];
  RED.nodes.eachLink(({ source, target }) => {
    if (target.id === node.id) upstreamNodes.push(source);
  });
  return upstreamNodes;
}

function canSupply(source: RedNode, field: FieldInfo): boolean {
  if (source.type !== 'inject') return true;
  const properties = Array.isArray(source.props) ? (source.props as { p?: unknown; vt?: unknown; v?: unknown }[]) : [];
  return properties.some(({ p, vt, v }) => {
    if (p !== 'payload') return typeof p === 'string' && p.startsWith('payload.');
    // Older Inject nodes store the type in `payloadType`.
    const type = typeof vt === 'string' ? vt : source.payloadType;
    if (OBJECT_VALUE_TYPES.includes(String(type))) return true;
    return type === 'str' && field.subject === true && (v ?? source.payload) !== '';
  });
}
