let openNode: RedNode | undefined;
let openConfigNode: RedNode | undefined;

/** Node-RED validates other nodes too while a dialog is open; only the open one has its values in the form. */
export function setOpenNode(node: RedNode | undefined): void {
  openNode = node;
}

/** The appliance has a dialog of its own, opened on top of an action's. */
export function setOpenConfigNode(node: RedNode | undefined): void {
  openConfigNode = node;
}

let placedNodeId: string | undefined;

/** A node that was placed from the palette a moment ago: its dialog opens for the first time. */
export function markJustPlaced(node: RedNode): void {
  placedNodeId = node.id;
}

/** Whether that is this one; it is so once. */
export function consumeJustPlaced(node: RedNode): boolean {
  const isPlaced = placedNodeId === node.id;
  placedNodeId = undefined;
  return isPlaced;
}

export function isBeingEdited(node: RedNode): boolean {
  return openNode === node;
}

/** A property as it stands now: in the open dialog, or in the node. */
export function getCurrentValue(node: RedNode, property: string): unknown {
  return isBeingEdited(node) ? $(`#node-input-${property}`).val() : node[property];
}

export function getCurrentConfigValue(node: RedNode, property: string): unknown {
  return openConfigNode === node ? findConfigInput(property).val() : node[property];
}

/** An input of the open dialog of a configuration node. */
export const findConfigInput = (property: string): JQuery => $(`#node-config-input-${property}`);

/** What it holds; of a choice of nodes none while none is chosen. */
export function readConfigText(property: string): string {
  const value = findConfigInput(property).val();
  return value === undefined || value === null || value === '_ADD_' ? '' : String(value).trim();
}
