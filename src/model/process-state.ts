/** The maps that all gateways of this process share, by name. A test clears them to imitate a restart. */
export const processState = new Map<string, Map<string, unknown>>();

/** Creates a map that all gateways of this process share. */
export function createProcessMap<V>(name: string): Map<string, V> {
  const map = new Map<string, V>();
  processState.set(name, map);
  return map;
}
