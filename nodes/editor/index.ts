import { fillFormTemplates } from './dialogs/shared-form';
import { addCredentialSetsToTemplate } from './dialogs/inventory';
import { installHelpLoader } from './help';
import { completeAddedNodes } from './complete-nodes';
import { registerNodeMarks } from './node-marks';
import { addSearchWords } from './palette-search';
import { addSidebarTab } from './sidebar-tab';
import { hasArea, setOperationTable, type AreaInfo } from './operation-table';

/** The members of the global `gatewayEditor` that gateway.html calls. */
export { applianceLabel, closeAppliance, openAppliance, saveAppliance } from './dialogs/appliance';
export {
  checkConnections,
  checkCredential,
  checkRate,
  checkRealm,
  checkSeconds,
  checkUrl,
  checkMaxQueued,
} from './dialogs/appliance-validators';
export { checkAppliance } from './dialogs/action-validators';
export { actionNodeHandlers as handlers, actionNodeValidators as validators } from './dialogs/action-definition';
export { checkInventory, closeInventory, inventoryCredentials, inventoryLabel, openInventory, saveInventory } from './dialogs/inventory';
export { presetAppliance } from './dialogs/action-label';
export { checkWatch, closeWatch, openWatch, watchLabel } from './dialogs/watch';

/** Members that the dialogs of the fleet package use. */
export { checkFields } from './dialogs/action-validators';
export { FieldRow, showFieldRows } from './fields/field-row';
export { describeDefaultSource, readValueSources } from './fields/value-types';
export { setEditedNode } from './dialog-state';
export { getOperations, getAllFields, getAreaNames } from './operation-table';
export { FieldTools } from './fields/field-tools';
export { openSelection, showSelectionMatches } from './dialogs/many-appliances';
export { labelFormButtons } from './fields/row-elements';
export { showError } from './text';

/** Starts the editor part. The build adds the one call with the operation table. */
export function start(table: Record<string, AreaInfo>): void {
  setOperationTable(table);
  fillFormTemplates();
  addCredentialSetsToTemplate();
  completeAddedNodes();
  addSearchWords();
  installHelpLoader();
  registerNodeMarks();
  addSidebarTab();
  revalidateOnWireChange();
}

/** Validates a node again after its wires changed, because they can supply missing fields. */
function revalidateOnWireChange(): void {
  const revalidateTarget = (link: unknown): void => {
    const { target } = link as { target?: RedNode };
    // While a flow is loaded, nodes are validated when all of it is there.
    if (!target || !hasArea(target.type) || typeof target.valid !== 'boolean') return;
    RED.editor.validateNode(target);
    // Its badge shows what is missing.
    target.dirty = true;
  };
  RED.events.on('links:add', revalidateTarget);
  RED.events.on('links:remove', revalidateTarget);
}
