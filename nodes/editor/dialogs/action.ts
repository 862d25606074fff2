import { canBeWholePayload, listOutputPorts, type OutputPort } from '../../common/rules';
import { checkOperation, checkOutput } from './action-validators';
import { FieldRow } from '../fields/field-row';
import { isForManyAppliances, openManyAppliances, saveManyAppliances } from './many-appliances';
import { setHelpNode } from '../help';
import { clearPreview, attachPreviewButton } from './preview-button';
import { describeDefaultSource, readValueSources, type ValueSources } from '../fields/value-types';
import { labelFormButtons, labelTypedInput } from '../fields/row-elements';
import { getCurrentValue, setOpenNode, consumeJustPlaced } from '../dialog-state';
import { FieldTools } from '../fields/field-tools';
import {
  getAreaName,
  getAllFields,
  hasEvents,
  findOperation,
  getOperations,
  getNodePorts,
  type FieldInfo,
  type OperationInfo,
} from '../operation-table';
import { renderMarkup, showError, toPropertyText } from '../text';

/** A dialog slides in; its menus open where they stand at the end of that. */
const DIALOG_SLIDE_MS = 350;

let rows: FieldRow[] = [];
let tools: FieldTools | undefined;
/** The operation whose rows are shown; every one that is only known later shows the same. */
let shownOperation: OperationInfo | 'later' | undefined;

/** Fills the dialog of an action node; the rows themselves stand in gateway.html. */
export function openAction(node: RedNode): void {
  setOpenNode(node);
  const entries = readValueSources(node.fields);
  const help = (tools = new FieldTools(node, collectLiteralTexts, findBodyRow));
  const changed = (): void => describeDefaults(node);
  rows = Object.keys(getAllFields(node)).map((name) => new FieldRow(node, name, entries[name], changed, help));
  openApplianceChoice(node);
  openOperation(node);
  openOutput(node);
  openFailures(node);
  labelFormButtons();
  attachPreviewButton(node, collectValueSources);
  if (consumeJustPlaced(node)) setTimeout(offerOperations, DIALOG_SLIDE_MS);
}

/** What a new node is to do is the first question. */
function offerOperations(): void {
  const trigger = $('#node-input-operation').next('.red-ui-typedInput-container').find('.red-ui-typedInput-option-trigger');
  // Somebody may have gone on meanwhile.
  if (trigger.is(':visible') && $('.red-ui-typedInput-options:visible, .gateway-panel').length === 0) trigger.trigger('click');
}

/** Node-RED stores what has an input of its own; `fields` and the secrets are ours. */
export function saveAction(node: RedNode): void {
  const entries: ValueSources = {};
  for (const row of sortAsStored(node)) {
    const entry = row.get();
    if (entry) entries[row.name] = entry;
    row.storeSecret();
  }
  if (getCurrentValue(node, 'applianceFrom') === 'msg') $('#node-input-appliance').val('_ADD_');
  const operation = findOperation(node, getCurrentValue(node, 'operation'), getCurrentValue(node, 'operationType'));
  if (operation && !isSelectedByMessage(node, operation)) $('#node-input-allowDestroy').prop('checked', false);
  saveManyAppliances(node);
  closeAction();
  node.fields = entries;
}

/** As they were stored: the same map in another order would count as a change. */
function sortAsStored(node: RedNode): FieldRow[] {
  const names = Object.keys(readValueSources(node.fields));
  const position = (row: FieldRow): number => (names.includes(row.name) ? names.indexOf(row.name) : names.length);
  return [...rows].sort((a, b) => position(a) - position(b));
}

export function closeAction(): void {
  tools?.close();
  tools = undefined;
  rows = [];
  shownOperation = undefined;
  setHelpNode(undefined);
  setOpenNode(undefined);
}

function collectValueSources(): ValueSources {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const entry = row.get();
      return entry ? [[row.name, entry]] : [];
    }),
  );
}

/** Operations whose body takes the place of what is at their path. */
const REPLACING_OPERATIONS = ['update', 'ensure', 'put'];

function findBodyRow(): FieldRow | undefined {
  const changes = REPLACING_OPERATIONS.includes(String($('#node-input-operation').val()));
  return changes ? rows.find(({ currentField: field }) => field?.editor === 'resource') : undefined;
}

/** What stands in the rows as text: by some of it others are listed. */
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
  openManyAppliances(node, (value) => {
    isMany = value;
    show();
    showAllowDestroy(node);
  });
}

/** What a message may choose needs a word of the flow's author: an operation that destroys, or the appliances that one changes. */
function showAllowDestroy(node: RedNode): void {
  const type = getCurrentValue(node, 'operationType');
  const operation = findOperation(node, getCurrentValue(node, 'operation'), type);
  const isDynamic = operation === undefined && type !== 'op';
  const canDestroy = isDynamic && Object.values(getOperations(node)).some(({ effect }) => effect === 'destroy');
  $('.gateway-allow-destroy').toggle(canDestroy || isSelectedByMessage(node, operation));
}

function isSelectedByMessage(node: RedNode, operation: OperationInfo | undefined): boolean {
  return (
    isForManyAppliances(node) &&
    !['', 'str', 'env'].includes(toPropertyText(getCurrentValue(node, 'selectType'))) &&
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
  });
  labelTypedInput(input);
}

/** The table's operations, what they destroy marked; a name that the table does not have stays what it is. */
function createOperationType(node: RedNode): TypedInputType {
  const operations = getOperations(node);
  const options = Object.entries(operations).map(([value, { effect }]) => ({
    value,
    label: `${node._(`${getAreaName(node)}.operation.${value}.label`)}${effect === 'destroy' ? ' ⚠' : ''}`,
  }));
  const stored =
    typeof node.operation === 'string' && !node.operationType?.toString().match(/^(msg|flow|global|env|jsonata)$/) ? node.operation : '';
  if (stored && !(stored in operations)) options.push({ value: stored, label: stored });
  return { value: 'op', label: node._('action.operation'), icon: 'fa fa-list-ul', options };
}

/** Rows, description and notes for the operation that is chosen now. */
function showOperation(node: RedNode): void {
  const type = getCurrentValue(node, 'operationType');
  const name = String(getCurrentValue(node, 'operation'));
  const operation = findOperation(node, name, type);
  const isDynamic = operation === undefined && type !== 'op';
  const fields = currentFields(node);
  if (shownOperation !== undefined && shownOperation === (isDynamic ? 'later' : operation)) return;
  shownOperation = isDynamic ? 'later' : operation;
  showRows(fields);
  describeDefaults(node);
  const helpText = operation ? node._(`${getAreaName(node)}.operation.${name}.help`) : isDynamic ? node._('action.dynamic-help') : '';
  renderMarkup($('.gateway-about'), helpText).toggleClass('gateway-destroys', operation?.effect === 'destroy');
  $('.gateway-before-fields').toggle(Object.keys(fields).length > 0);
  showAllowDestroy(node);
  $('.gateway-dry-run, .gateway-approval').toggle(operation?.effect !== 'read');
  clearPreview();
  setHelpNode(node);
  RED.tray.resize();
}

/** In the order of the operation, not of the area. */
function showRows(fields: Record<string, FieldInfo>): void {
  for (const row of rows) if (!(row.name in fields)) row.hide();
  for (const [name, field] of Object.entries(fields)) rows.find((row) => row.name === name)?.show(field);
}

function currentFields(node: RedNode): Record<string, FieldInfo> {
  const type = getCurrentValue(node, 'operationType');
  const operation = findOperation(node, getCurrentValue(node, 'operation'), type);
  return operation?.fields ?? (type === 'op' ? {} : getAllFields(node));
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
          canBeWholePayload(row.name, fields, (name) => name in entries),
        ),
      );
  }
}

function openOutput(node: RedNode): void {
  const input = $('#node-input-output');
  // Absent from a flow that was written by hand: then it is the payload, while empty would be none.
  if (node.output === undefined) input.val('payload');
  input.typedInput({ types: [{ value: 'msg', label: 'msg.' }] });
  const check = (): void => showError($('.gateway-output-error'), checkOutput(node, input.typedInput('value')));
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
      toOutputsProperty(getNodePorts(node), listOutputPorts(select.val() === 'output', needsApproval, hasEvents(node))),
    );
    $('.gateway-approval-minutes').toggle(needsApproval);
  };
  select.on('change', show);
  approval.on('change', show);
  show();
}

/** For Node-RED: how many outputs there are now, or, where one moves, which becomes which, so that its wires go with it. */
function toOutputsProperty(before: readonly OutputPort[], after: readonly OutputPort[]): string {
  if (before.every((port, index) => index >= after.length || after[index] === port)) return String(after.length);
  const moved = before.map((port, index) => [index, after.indexOf(port)]);
  // A key that is no number is an output that was not there.
  const added = after.filter((port) => !before.includes(port)).map((port) => [port, after.indexOf(port)]);
  return JSON.stringify(Object.fromEntries([...moved, ...added]));
}
