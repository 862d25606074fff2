import { canFieldTakeWholePayload, listOutputPorts, type OutputPortName } from '../../common/rules';
import { checkOperation, checkOutputProperty } from './action-validators';
import { FieldRow, showFieldRows } from '../fields/field-row';
import { isForManyAppliances, showManyAppliancesRows, saveManyAppliancesRows } from './many-appliances';
import { setHelpNode } from '../help';
import { clearPreview, attachPreviewButtons } from './preview-button';
import { describeDefaultSource, readValueSources, type ValueSources } from '../fields/value-types';
import { labelFormButtons, labelTypedInput } from '../fields/row-elements';
import { getDialogValue, setEditedNode, takeJustPlacedMark } from '../dialog-state';
import { FieldTools, loadPanels } from '../fields/field-tools';
import {
  getAreaName,
  getFieldsOfAllOperations,
  hasEventOutput,
  findOperation,
  getOperations,
  getNodePorts,
  type FieldInfo,
  type OperationInfo,
} from '../operation-table';
import { renderMarkup, showError, readTextProperty } from '../text';

/** Time in which a dialog slides in. A menu that opens earlier has the wrong position. */
const DIALOG_SLIDE_MS = 350;

let rows: FieldRow[] = [];
/** Whether the dialog guides the user through the required fields of a new node. */
let isGuided = false;
let tools: FieldTools | undefined;
/** The operation whose rows are visible; 'later' if only a message selects it. */
let shownOperation: OperationInfo | 'later' | undefined;

/** Fills the dialog of an action node. */
export function openActionDialog(node: RedNode): void {
  setEditedNode(node);
  const entries = readValueSources(node.fields);
  isGuided = false;
  const fieldTools = (tools = new FieldTools(node, collectLiteralTexts, findBodyRow, () => setTimeout(() => startNextField(node))));
  const updateDefaults = (): void => describeDefaults(node);
  rows = Object.keys(getFieldsOfAllOperations(node)).map((name) => new FieldRow(node, name, entries[name], updateDefaults, fieldTools));
  openApplianceChoice(node);
  openOperation(node);
  openOutput(node);
  openFailures(node);
  labelFormButtons();
  attachPreviewButtons(node, collectValueSources);
  const isNew = takeJustPlacedMark(node);
  attachFlowOffers(node, isNew);
  if (isNew) setTimeout(offerOperations, DIALOG_SLIDE_MS);
}

/** Offers to wire a new node, and to add an HTTP response node if an HTTP In node leads to it. */
function attachFlowOffers(node: RedNode, isNew: boolean): void {
  let hasHttp = false;
  // The loop of Node-RED ends when the callback returns false.
  RED.nodes.eachNode(({ type }) => {
    hasHttp ||= type === 'http in';
  });
  if (!(isNew || hasHttp) || !RED.user.hasPermission('gateway-appliance.write')) return;
  const select = $('#node-input-failures');
  const show = (): void => {
    const options = { node, container: $('.gateway-offers'), isNew, hasFailureOutput: () => select.val() === 'output' };
    loadPanels().then(
      ({ offers }) => offers(options),
      () => undefined,
    );
  };
  select.add('#node-input-operation').on('change', show);
  show();
}

/** Opens the picker of the next required field of a new node, until the user does something else. */
function startNextField(node: RedNode): void {
  if (!isGuided || $('.gateway-panel:visible, .red-ui-typedInput-options:visible').length > 0) return;
  const next = rows.find((row) => row.currentField?.required && row.get() === undefined && tools?.hasPicker(row));
  if (!next || getDialogValue(node, 'appliance') === '_ADD_') isGuided = false;
  else tools?.startPicker(next);
}

/** Opens the menu of operations in the dialog of a new node. */
function offerOperations(): void {
  const trigger = $('#node-input-operation').next('.red-ui-typedInput-container').find('.red-ui-typedInput-option-trigger');
  isGuided = true;
  // The user may have opened another menu by now.
  if (trigger.is(':visible') && $('.red-ui-typedInput-options:visible, .gateway-panel').length === 0) trigger.trigger('click');
}

/** Stores the fields and secrets. Node-RED itself stores all other inputs. */
export function saveActionDialog(node: RedNode): void {
  const entries: ValueSources = {};
  for (const row of sortAsStored(node)) {
    const entry = row.get();
    if (entry) entries[row.name] = entry;
    row.storeSecret();
  }
  if (getDialogValue(node, 'applianceFrom') === 'msg') $('#node-input-appliance').val('_ADD_');
  const operation = findOperation(node, getDialogValue(node, 'operation'), getDialogValue(node, 'operationType'));
  if (operation && !isSelectedByMessage(node, operation)) $('#node-input-allowDestroy').prop('checked', false);
  saveManyAppliancesRows(node);
  closeActionDialog();
  node.fields = entries;
}

/** Returns the rows in their stored order, because another order would count as a change. */
function sortAsStored(node: RedNode): FieldRow[] {
  const names = Object.keys(readValueSources(node.fields));
  const position = (row: FieldRow): number => (names.includes(row.name) ? names.indexOf(row.name) : names.length);
  return [...rows].sort((a, b) => position(a) - position(b));
}

export function closeActionDialog(): void {
  tools?.close();
  tools = undefined;
  rows = [];
  shownOperation = undefined;
  setHelpNode(undefined);
  setEditedNode(undefined);
}

function collectValueSources(): ValueSources {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const entry = row.get();
      return entry ? [[row.name, entry]] : [];
    }),
  );
}

/** Operations whose body replaces the resource at a path. */
const REPLACING_OPERATIONS = ['update', 'ensure', 'put'];

function findBodyRow(): FieldRow | undefined {
  const changes = REPLACING_OPERATIONS.includes(String($('#node-input-operation').val()));
  return changes ? rows.find(({ currentField: field }) => field?.editor === 'resource') : undefined;
}

/** Collects the literal texts of the rows, because some pickers depend on other fields. */
function collectLiteralTexts(): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const entry = row.get();
      return entry?.type === 'str' && entry.value !== '' ? [[row.name, entry.value]] : [];
    }),
  );
}

function openApplianceChoice(node: RedNode): void {
  const byMessage = $('#gateway-by-message').prop('checked', node.applianceFrom === 'msg');
  let isMany = false;
  const show = (): void => {
    const checked = byMessage.prop('checked') === true;
    $('#node-input-applianceFrom').val(checked ? 'msg' : '');
    $('.gateway-one').toggle(!isMany);
    $('.gateway-appliance').toggle(!checked && !isMany);
    $('.gateway-by-message-note').toggle(checked && !isMany);
    $('#node-input-appliance').trigger('change');
  };
  byMessage.on('change', show);
  showManyAppliancesRows(node, (value) => {
    isMany = value;
    show();
    showAllowDestroy(node);
  });
}

/** Shows the checkbox that lets a message select a destructive operation or the appliances of a change. */
function showAllowDestroy(node: RedNode): void {
  const type = getDialogValue(node, 'operationType');
  const operation = findOperation(node, getDialogValue(node, 'operation'), type);
  const isDynamic = operation === undefined && type !== 'op';
  const canDestroy = isDynamic && Object.values(getOperations(node)).some(({ effect }) => effect === 'destroy');
  $('.gateway-allow-destroy').toggle(canDestroy || isSelectedByMessage(node, operation));
}

function isSelectedByMessage(node: RedNode, operation: OperationInfo | undefined): boolean {
  return (
    isForManyAppliances(node) &&
    !['', 'str', 'env'].includes(readTextProperty(getDialogValue(node, 'selectType'))) &&
    operation?.effect !== 'read'
  );
}

function openOperation(node: RedNode): void {
  const input = $('#node-input-operation');
  input.typedInput({
    types: [createOperationType(node), 'msg', 'flow', 'global', 'env', 'jsonata'],
    typeField: '#node-input-operationType',
  });
  input.on('change keyup paste', () => {
    showError($('.gateway-operation-error'), checkOperation(node, input.typedInput('value')));
    showOperation(node);
    setTimeout(() => startNextField(node));
  });
  labelTypedInput(input);
}

/** Creates the menu of operations and marks destructive ones. A stored unknown name stays selectable. */
function createOperationType(node: RedNode): TypedInputType {
  const operations = getOperations(node);
  const options = sortByGroup(node, Object.keys(operations)).map((value) => ({ value, label: createOperationLabel(node, value) }));
  const stored =
    typeof node.operation === 'string' && !node.operationType?.toString().match(/^(msg|flow|global|env|jsonata)$/) ? node.operation : '';
  if (stored && !(stored in operations)) options.push({ value: stored, label: stored });
  return { value: 'op', label: node._('action.operation'), icon: 'fa fa-list-ul', options };
}

/** Groups the operations of the configuration by what a user wants to do. The first of a group is the usual one. */
const CONFIG_GROUPS: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list'],
  change: ['ensure', 'ensure-all', 'update'],
  add: ['create'],
  remove: ['delete'],
};

function findGroup(node: RedNode, operation: string): string | undefined {
  if (getAreaName(node) !== 'config') return undefined;
  return Object.keys(CONFIG_GROUPS).find((group) => CONFIG_GROUPS[group]?.includes(operation));
}

function sortByGroup(node: RedNode, names: readonly string[]): string[] {
  if (getAreaName(node) !== 'config') return [...names];
  const grouped = Object.values(CONFIG_GROUPS)
    .flat()
    .filter((name) => names.includes(name));
  return [...grouped, ...names.filter((name) => !grouped.includes(name))];
}

function createOperationLabel(node: RedNode, name: string): string {
  const group = findGroup(node, name);
  const label = node._(`${getAreaName(node)}.operation.${name}.label`);
  const mark = getOperations(node)[name]?.effect === 'destroy' ? ' ⚠' : '';
  return `${group === undefined ? '' : `${node._(`action.group-${group}`)}: `}${label}${mark}`;
}

/** Shows the rows and the description of the selected operation. */
function showOperation(node: RedNode): void {
  const type = getDialogValue(node, 'operationType');
  const name = String(getDialogValue(node, 'operation'));
  const operation = findOperation(node, name, type);
  const isDynamic = operation === undefined && type !== 'op';
  const fields = currentFields(node);
  if (shownOperation !== undefined && shownOperation === (isDynamic ? 'later' : operation)) return;
  shownOperation = isDynamic ? 'later' : operation;
  showFieldRows(node, rows, fields);
  describeDefaults(node);
  const helpText = operation ? node._(`${getAreaName(node)}.operation.${name}.help`) : isDynamic ? node._('action.dynamic-help') : '';
  renderMarkup($('.gateway-about'), helpText).toggleClass('gateway-destroys', operation?.effect === 'destroy');
  $('.gateway-before-fields').toggle(Object.keys(fields).length > 0);
  showAllowDestroy(node);
  $('.gateway-dry-run, .gateway-approval').toggle(operation?.effect !== 'read');
  $('#gateway-try').toggle(operation?.effect === 'read');
  clearPreview();
  setHelpNode(node);
  RED.tray.resize();
}

function currentFields(node: RedNode): Record<string, FieldInfo> {
  const type = getDialogValue(node, 'operationType');
  const operation = findOperation(node, getDialogValue(node, 'operation'), type);
  return operation?.fields ?? (type === 'op' ? {} : getFieldsOfAllOperations(node));
}

function describeDefaults(node: RedNode): void {
  const fields = currentFields(node);
  const entries = Object.fromEntries(rows.flatMap((row) => (row.get() ? [[row.name, { type: '', value: '' }]] : [])));
  for (const row of rows) {
    const field = fields[row.name];
    if (field)
      row.setDefault(
        describeDefaultSource(
          node,
          row.name,
          field,
          canFieldTakeWholePayload(row.name, fields, (name) => name in entries),
        ),
      );
  }
}

function openOutput(node: RedNode): void {
  const input = $('#node-input-output');
  // A handwritten flow may have no `output`. Then the runtime uses the payload, while an empty value means none.
  if (node.output === undefined) input.val('payload');
  input.typedInput({ types: [{ value: 'msg', label: 'msg.' }] });
  const check = (): void => showError($('.gateway-output-error'), checkOutputProperty(node, input.typedInput('value')));
  input.on('change keyup paste', check);
  check();
  labelTypedInput(input);
}

function openFailures(node: RedNode): void {
  const select = $('#node-input-failures');
  if (node.failures === undefined) select.val('catch');
  const approval = $('#node-input-approval');
  const show = (): void => {
    const needsApproval = approval.prop('checked') === true;
    $('#node-input-outputs').val(
      toOutputsProperty(getNodePorts(node), listOutputPorts(select.val() === 'output', needsApproval, hasEventOutput(node))),
    );
    $('.gateway-approval-minutes').toggle(needsApproval);
  };
  select.on('change', show);
  approval.on('change', show);
  show();
}

/** Returns the number of outputs, or a JSON map from old to new outputs with which Node-RED moves the wires. */
function toOutputsProperty(before: readonly OutputPortName[], after: readonly OutputPortName[]): string {
  if (before.every((port, index) => index >= after.length || after[index] === port)) return String(after.length);
  const moved = before.map((port, index) => [index, after.indexOf(port)]);
  // Node-RED treats a key that is not a number as a new output.
  const added = after.filter((port) => !before.includes(port)).map((port) => [port, after.indexOf(port)]);
  return JSON.stringify(Object.fromEntries([...moved, ...added]));
}
