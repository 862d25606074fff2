import { entriesIn } from './sources';
import { hasArea, operationOf, type FieldInfo } from './table';

/** The appliance that a node of this tab most likely means: the only one there is, else the one that the tab uses most. */
export function likelyAppliance(node: RedNode): string | undefined {
  const appliances: RedNode[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type === 'gateway-appliance' && config.d !== true && (!config.z || config.z === node.z)) appliances.push(config);
  });
  if (appliances.length <= 1) return appliances[0]?.id;
  const uses = new Map<unknown, number>();
  RED.nodes.eachNode((other) => {
    if (other.z === node.z && hasArea(other.type)) uses.set(other.appliance, (uses.get(other.appliance) ?? 0) + 1);
  });
  const [most] = appliances.filter(({ id }) => uses.has(id)).sort((a, b) => (uses.get(b.id) ?? 0) - (uses.get(a.id) ?? 0));
  return most?.id;
}

/** Types of an Inject node whose value may be an object, whatever it is now. */
const OPEN = ['json', 'jsonata', 'msg', 'flow', 'global', 'env', 'bin', 'cred'];

/**
 * Required fields that no message can be expected to bring: nothing is wired to the node, or only Inject nodes whose payload cannot hold
 * them. Of any other node nobody knows what it sends.
 */
export function likelyMissing(node: RedNode): string[] {
  const operation = operationOf(node, node.operation, node.operationType);
  if (!operation) return [];
  const entries = entriesIn(node.fields);
  const needed = Object.entries(operation.fields).filter(
    ([name, { required, guard }]) => required && !guard && !Object.hasOwn(entries, name),
  );
  if (needed.length === 0) return [];
  const sources = sourcesTo(node);
  return needed.flatMap(([name, field]) => (sources.some((source) => mayBring(source, field)) ? [] : [name]));
}

/** What is wired to a node. By id: which of node and its proxy a link holds differs from one way of wiring to the next. */
export function sourcesTo(node: RedNode): RedNode[] {
  const sources: RedNode[] = [];
  RED.nodes.eachLink(({ source, target }) => {
    if (target.id === node.id) sources.push(source);
  });
  return sources;
}

function mayBring(source: RedNode, field: FieldInfo): boolean {
  if (source.type !== 'inject') return true;
  const properties = Array.isArray(source.props) ? (source.props as { p?: unknown; vt?: unknown; v?: unknown }[]) : [];
  return properties.some(({ p, vt, v }) => {
    if (p !== 'payload') return typeof p === 'string' && p.startsWith('payload.');
    // Older Inject nodes keep the type of the payload beside it.
    const type = typeof vt === 'string' ? vt : source.payloadType;
    if (OPEN.includes(String(type))) return true;
    return type === 'str' && field.subject === true && (v ?? source.payload) !== '';
  });
}
