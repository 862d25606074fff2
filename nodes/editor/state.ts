let open: RedNode | undefined;
let openConfig: RedNode | undefined;

/** Node-RED validates other nodes too while a dialog is open; only the open one has its values in the form. */
export function setOpen(node: RedNode | undefined): void {
  open = node;
}

/** The appliance has a dialog of its own, opened on top of an action's. */
export function setOpenConfig(node: RedNode | undefined): void {
  openConfig = node;
}

let placed: string | undefined;

/** A node that was placed from the palette a moment ago: its dialog opens for the first time. */
export function setPlaced(node: RedNode): void {
  placed = node.id;
}

/** Whether that is this one; it is so once. */
export function wasPlaced(node: RedNode): boolean {
  const was = placed === node.id;
  placed = undefined;
  return was;
}

export function editing(node: RedNode): boolean {
  return open === node;
}

/** A property as it stands now: in the open dialog, or in the node. */
export function live(node: RedNode, property: string): unknown {
  return editing(node) ? $(`#node-input-${property}`).val() : node[property];
}

export function liveConfig(node: RedNode, property: string): unknown {
  return openConfig === node ? form(property).val() : node[property];
}

/** An input of the open dialog of a configuration node. */
export const form = (property: string): JQuery => $(`#node-config-input-${property}`);

/** What it holds; of a choice of nodes none while none is chosen. */
export function textIn(property: string): string {
  const value = form(property).val();
  return value === undefined || value === null || value === '_ADD_' ? '' : String(value).trim();
}
