import type { Node, NodeAPI } from 'node-red';
import type { Initiator } from '../src/journal/around';

/** A node and its flow, by name and id: a name alone may be that of several. */
export function placeOf(red: NodeAPI, { id, name, z }: Node): Required<Pick<Initiator, 'node' | 'flow'>> {
  let label: string | undefined;
  red.nodes.eachNode((other: { id: string; label?: unknown }) => {
    if (other.id === z && typeof other.label === 'string') label = other.label;
  });
  return { node: named(name, id), flow: named(label, z) };
}

function named(name: string | undefined, id: string): string {
  return name ? `${name} (${id})` : id;
}
