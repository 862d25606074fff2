import { shareForm } from './form';
import { shareSets } from './inventory';
import { followHelp } from './help';
import { readOldFlows } from './old-flows';
import { addSearchWords } from './palette';
import { hasArea, use, type AreaInfo } from './table';

/** Everything that gateway.html calls, as members of the global `gatewayEditor`. */
export { applianceLabel, closeAppliance, openAppliance, saveAppliance } from './appliance';
export { checkConnections, checkCredential, checkRate, checkRealm, checkSeconds, checkUrl, checkWaiting } from './appliance-check';
export { checkAppliance } from './check';
export { on, valid } from './definition';
export { checkInventory, closeInventory, inventoryCredentials, inventoryLabel, openInventory } from './inventory';
export { addAction } from './label';
export { checkWatch, closeWatch, openWatch, watchLabel } from './watch';

/** What the dialogs of another package of this project are made of. */
export { checkFields } from './check';
export { FieldRow } from './field';
export { defaultWords, entriesIn } from './sources';
export { setOpen } from './state';
export { operationsOf, everyField, areaNames } from './table';
export { Tools } from './tools';
export { tell } from './words';

/** Called once, by the line that the build adds, with the operation table. */
export function start(table: Record<string, AreaInfo>): void {
  use(table);
  shareForm();
  shareSets();
  readOldFlows();
  addSearchWords();
  followHelp();
  followWires();
}

/** Whether a field comes from nowhere depends on what is wired to the node. */
function followWires(): void {
  const look = (link: unknown): void => {
    const { target } = link as { target?: RedNode };
    // While a flow is loaded, nodes are validated when all of it is there.
    if (!target || !hasArea(target.type) || typeof target.valid !== 'boolean') return;
    RED.editor.validateNode(target);
    // Its label tells what is missing.
    target.dirty = true;
  };
  RED.events.on('links:add', look);
  RED.events.on('links:remove', look);
}
