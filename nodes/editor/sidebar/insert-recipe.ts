import type { RecipeFlow } from './recipes/recipe';
import { toImportableFlow } from './recipes/to-flow';

/** Inserts a flow below the nodes of the visible tab, or in a new tab if the visible tab accepts no nodes. */
export function insertRecipe(flow: RecipeFlow, title: string): void {
  const active = RED.workspaces.active();
  const isUsable = RED.nodes.workspace(active) !== null && !RED.workspaces.isLocked(active);
  const tab = isUsable ? active : RED.nodes.id();
  const nodes = toImportableFlow(flow, { tab, title, top: isUsable ? findBottom(tab) : 0, createId: () => RED.nodes.id() });
  const [group] = nodes;
  const newTab = isUsable ? [] : [{ id: tab, type: 'tab', label: title, disabled: false, info: '', env: [] }];
  RED.view.importNodes([...newTab, ...nodes], { generateIds: false, addFlow: false, touchImport: true, notify: false });
  if (!isUsable) RED.workspaces.show(tab);
  const id = String(group?.id);
  const inserted = RED.nodes.group(id);
  // An import takes no credentials of a group.
  if (inserted && flow.secret) inserted.credentials = { [flow.secret.name]: flow.secret.value, [`has_${flow.secret.name}`]: true };
  RED.nodes.dirty(true);
  RED.view.reveal(nodes.map((node) => String(node.id)));
}

/** Returns the lower edge of the lowest node of a tab. */
function findBottom(tab: string): number {
  let bottom = 0;
  const visit = ({ z, y }: RedNode, height: number): void => {
    if (z === tab && typeof y === 'number') bottom = Math.max(bottom, y + height);
  };
  RED.nodes.eachNode((node) => visit(node, 30));
  RED.nodes.eachGroup((group) => visit(group, typeof group.h === 'number' ? group.h : 0));
  return bottom;
}
