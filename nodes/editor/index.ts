import { fillFormTemplates } from './dialogs/shared-form';
import { addCredentialSetsToTemplate } from './dialogs/inventory';
import { installHelpLoader } from './help';
import { completeAddedNodes } from './complete-nodes';
import { registerNodeMarks } from './node-marks';
import { addSearchWords } from './palette-search';
import { addSidebarTab } from './sidebar-tab';
import { hasArea, setOperationTable, type AreaInfo } from './operation-table';

/** The members of the global `gatewayEditor` that gateway.html calls. */
export { getApplianceLabel, closeApplianceDialog, openApplianceDialog, saveApplianceDialog } from './dialogs/appliance';
export {
  checkMaxConnections,
  checkCredential,
  checkRateLimit,
  checkRealm,
  checkTimeoutSeconds,
  checkUrl,
  checkMaxQueued,
} from './dialogs/appliance-validators';
export { checkAppliance } from './dialogs/action-validators';
export { actionNodeHandlers as node, actionNodeValidators as check } from './dialogs/action-definition';
export {
  checkInventory,
  closeInventoryDialog,
  inventoryCredentials,
  getInventoryLabel,
  openInventoryDialog,
  saveInventoryDialog,
} from './dialogs/inventory';
export { presetApplianceOfNewNode } from './dialogs/action-label';
export { checkWatch, closeWatchDialog, openWatchDialog, getWatchLabel } from './dialogs/watch';

/** Functions of `gatewayEditor` that the dialogs of the fleet package use. */
export { checkFields } from './dialogs/action-validators';
export { FieldRow, showFieldRows } from './fields/field-row';
export { describeDefaultSource, readValueSources } from './fields/value-types';
export { setEditedNode } from './dialog-state';
export { getOperations, getFieldsOfAllOperations, getAreaNames } from './operation-table';
export { FieldTools } from './fields/field-tools';
export { createSelectionInput, showSelectionMatches } from './dialogs/many-appliances';
export { labelFormButtons } from './fields/row-elements';
export { showError } from './text';

/** Starts the editor part. The build adds the one call with the operation table. */
export function startEditor(table: Record<string, AreaInfo>): void {
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
