import type { Node, NodeAPI } from 'node-red';
import type { Initiator } from '../../src/journal/record-writes';

/** A node and its flow, by name and id: a name alone may be that of several. */
export function getNodeOrigin(red: NodeAPI, { id, name, z }: Node): Required<Pick<Initiator, 'node' | 'flow'>> {
  let flowLabel: string | undefined;
  red.nodes.eachNode((other: { id: string; label?: unknown }) => {
    if (other.id === z && typeof other.label === 'string') flowLabel = other.label;
  });
  return { node: formatNameAndId(name, id), flow: formatNameAndId(flowLabel, z) };
}

function formatNameAndId(name: string | undefined, id: string): string {
  return name ? `${name} (${id})` : id;
}
