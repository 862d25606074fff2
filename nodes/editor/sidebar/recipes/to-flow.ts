import type { RecipeFlow } from './recipe';

/** Where a recipe goes. */
interface RecipePosition {
  readonly tab: string;
  /** Lower edge of the nodes that the tab already has. */
  readonly top: number;
  readonly title: string;
  readonly createId: () => string;
}

/** Space between the nodes of a group and its frame. */
const MARGIN = 26;
const TITLE_HEIGHT = 20;
const NODE = { width: 220, height: 40 };

/** Creates the nodes for an import, the group first. The secret is not included, because an import ignores the credentials of a group. */
export function toImportableFlow({ nodes, secret }: RecipeFlow, { tab, top, title, createId }: RecipePosition): Record<string, unknown>[] {
  const ids = new Map(nodes.map(({ id }) => [id, createId()]));
  const toId = (name: string): string => ids.get(name) ?? name;
  const group = createId();
  const highest = Math.min(...nodes.map(({ y }) => y));
  const shift = top + MARGIN + TITLE_HEIGHT + NODE.height / 2 - highest;
  const placed = nodes.map(({ id, x, y, wires = [], ...more }) => ({
    ...{ ...more, id: toId(id), z: tab, g: group, x: x + MARGIN, y: y + shift },
    wires: wires.map((port) => port.map(toId)),
  }));
  const xs = placed.map(({ x }) => x);
  const ys = placed.map(({ y }) => y);
  const left = Math.min(...xs) - NODE.width / 2 - MARGIN / 2;
  const frame = {
    x: Math.max(10, left),
    y: Math.min(...ys) - NODE.height / 2 - MARGIN,
    w: Math.max(...xs) - Math.max(10, left) + NODE.width / 2 + MARGIN,
    h: Math.max(...ys) - Math.min(...ys) + NODE.height + 2 * MARGIN,
  };
  const env = secret ? [{ name: secret.name, value: '', type: 'cred' }] : [];
  return [{ id: group, type: 'group', z: tab, name: title, style: { label: true }, nodes: [...ids.values()], env, ...frame }, ...placed];
}
