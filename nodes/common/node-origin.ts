import type { Node, NodeAPI } from 'node-red';
import type { Initiator } from '../../src/journal/record-writes';

/** Returns the names and ids of a node and its flow, because a name alone can be ambiguous. */
export function describeNodeAndFlow(red: NodeAPI, { id, name, z }: Node): Required<Pick<Initiator, 'node' | 'flow'>> {
  let flowLabel: string | undefined;
  red.nodes.eachNode((other: { id: string; label?: unknown }) => {
    if (other.id === z && typeof other.label === 'string') flowLabel = other.label;
  });
  return { node: formatNameAndId(name, id), flow: formatNameAndId(flowLabel, z) };
}

function formatNameAndId(name: string | undefined, id: string): string {
  return name ? `${name} (${id})` : id;
}
