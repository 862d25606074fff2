/** The properties of a flow node that decide where its failures go. */
export interface FlowNodeConfig {
  readonly id: string;
  readonly type: string;
  /** The tab. */
  readonly z?: unknown;
  /** For a Catch node: the nodes that it watches, or null for all nodes of the tab. */
  readonly scope?: unknown;
  /** For a link node: the nodes at the other end of the link. */
  readonly links?: unknown;
}

export interface WireBetweenNodes {
  readonly from: string;
  readonly port: number;
  readonly to: string;
}

/**
 * Returns whether an `http in` leads to the node while its failures reach no `http response`, so that the caller would wait in vain.
 * `failurePort` is the output for failures; without it, Catch nodes receive them.
 */
export function isFailureUnanswered(
  id: string,
  failurePort: number | undefined,
  parts: readonly FlowNodeConfig[],
  wires: readonly WireBetweenNodes[],
): boolean {
  const partsById = new Map(parts.map((part) => [part.id, part]));
  const isType = (ids: ReadonlySet<string>, type: string): boolean => [...ids].some((found) => partsById.get(found)?.type === type);
  const links = parts.filter(({ type }) => type === 'link out').flatMap((part) => readIds(part.links).map((to) => [part.id, to] as const));
  const upstream = collect([id], (at) => [
    ...wires.filter(({ to }) => to === at).map(({ from }) => from),
    ...links.filter(([, to]) => to === at).map(([from]) => from),
  ]);
  if (!isType(upstream, 'http in')) return false;
  const starts =
    failurePort === undefined
      ? findCatchNodes(partsById.get(id), parts)
      : wires.filter(({ from, port }) => from === id && port === failurePort).map(({ to }) => to);
  const downstream = collect(starts, (at) => [
    ...wires.filter(({ from }) => from === at).map(({ to }) => to),
    ...links.filter(([from]) => from === at).map(([, to]) => to),
  ]);
  return !isType(downstream, 'http response');
}

function findCatchNodes(node: FlowNodeConfig | undefined, parts: readonly FlowNodeConfig[]): string[] {
  if (!node) return [];
  const isCatching = ({ type, z, scope }: FlowNodeConfig): boolean =>
    type === 'catch' && z === node.z && (Array.isArray(scope) ? scope.includes(node.id) : scope !== 'group');
  return parts.filter(isCatching).map(({ id }) => id);
}

/** Collects all nodes that can be reached from the start nodes, including these. */
function collect(starts: readonly string[], next: (id: string) => string[]): Set<string> {
  const found = new Set(starts);
  for (const id of found) for (const other of next(id)) found.add(other);
  return found;
}

function readIds(value: unknown): string[] {
  return Array.isArray(value) ? (value as unknown[]).filter((id) => typeof id === 'string') : [];
}
