let openNode: RedNode | undefined;
let openConfigNode: RedNode | undefined;

/** Sets the node whose dialog is open. Node-RED validates other nodes too, but only the open node has its values in the form. */
export function setEditedNode(node: RedNode | undefined): void {
  openNode = node;
}

/** Sets the configuration node whose dialog is open on top of the dialog of an action node. */
export function setEditedConfigNode(node: RedNode | undefined): void {
  openConfigNode = node;
}

let placedNodeId: string | undefined;

/** Remembers a new node from the palette until its dialog opens for the first time. */
export function markNodeAsJustPlaced(node: RedNode): void {
  placedNodeId = node.id;
}

/** Returns whether a node is new from the palette, and forgets it. */
export function takeJustPlacedMark(node: RedNode): boolean {
  const isPlaced = placedNodeId === node.id;
  placedNodeId = undefined;
  return isPlaced;
}

export function isNodeBeingEdited(node: RedNode): boolean {
  return openNode === node;
}

/** Returns a property from the open dialog, or else from the node. */
export function getDialogValue(node: RedNode, property: string): unknown {
  return isNodeBeingEdited(node) ? $(`#node-input-${property}`).val() : node[property];
}

export function getConfigDialogValue(node: RedNode, property: string): unknown {
  return openConfigNode === node ? findConfigDialogInput(property).val() : node[property];
}

/** Finds an input in the open dialog of a configuration node. */
export const findConfigDialogInput = (property: string): JQuery => $(`#node-config-input-${property}`);

/** Returns the trimmed text of an input, or '' if no configuration node is selected. */
export function readConfigDialogText(property: string): string {
  const value = findConfigDialogInput(property).val();
  return value === undefined || value === null || value === '_ADD_' ? '' : String(value).trim();
}

/** Returns a random key of 256 bits as hexadecimal digits. */
export function createSigningKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
