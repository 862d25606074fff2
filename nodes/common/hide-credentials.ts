import type { Node } from 'node-red';

/** Hides the clear-text credentials that Node-RED puts on a node from logging and inspection. */
export function hideCredentials(node: Node<object>): void {
  let { credentials } = node;
  Object.defineProperty(node, 'credentials', {
    configurable: true,
    enumerable: false,
    get: () => credentials,
    set: (value: object) => {
      credentials = value;
    },
  });
}
