import type * as Editor from '../../../nodes/editor/index';

/** The editor code of the main package on the same page. It provides fields, selections and operations. */
declare const gatewayEditor: typeof Editor;

interface Property {
  readonly name: string;
  readonly kind: string;
  readonly value?: unknown;
  readonly required?: boolean;
  readonly pace?: boolean;
}

interface Dialog {
  readonly name: string;
  readonly outputs: readonly string[];
  readonly properties: readonly Property[];
}

type FieldRow = InstanceType<typeof Editor.FieldRow>;
type Verdict = true | string | string[];

let dialogs: Record<string, Dialog> = {};
let rows: FieldRow[] = [];
let tools: InstanceType<typeof Editor.FieldTools> | undefined;
let area = '';

export function registerDialogs(table: Record<string, Dialog>): void {
  dialogs = table;
}

const getDialog = (node: RedNode): Dialog => dialogs[node.type] ?? { name: '', outputs: [], properties: [] };
const findInput = (node: RedNode, name: string): JQuery => $(`#node-${node.type === 'gateway-fleet-engine' ? 'config-' : ''}input-${name}`);
const toTrimmedText = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '');
const isVariable = (value: string): boolean => /^\$[({].+[)}]$/.test(value);

/** Validates a property. Returns `true` or the error text. */
export function checkProperty(node: RedNode, value: unknown, name: string, _options?: unknown): Verdict {
  const dialog = getDialog(node);
  const property = dialog.properties.find((one) => one.name === name);
  const text = toTrimmedText(value);
  if (!property || isVariable(text)) return true;
  switch (property.kind) {
    case 'number':
      // A flow without the property gets the default, in the runtime and in the dialog.
      return value === undefined || (text === '' && property.value === '') || /^[1-9]\d{0,8}$/.test(text) || node._('check.count');
    case 'share':
      return /^(\d{1,9}(\.\d+)?\s*%?)?$/.test(text) || node._('check.share');
    case 'selection':
      return text !== '' || node._('check.select');
    case 'operation':
      return findOperationInfo(text) !== undefined || node._('check.operation');
    case 'fields':
      return (
        findOperationInfo(toTrimmedText(node['operation'])) === undefined ||
        gatewayEditor.checkFields(asActionNode(node, toTrimmedText(node['operation'])), value)
      );
    default:
      return true;
  }
}

export function getNodeLabel(node: RedNode): string {
  const dialog = getDialog(node);
  if (node.name) return node.name;
  const operation = toTrimmedText(node['operation']);
  const verb =
    dialog.name === 'run' && findOperationInfo(operation)
      ? asActionNode(node, operation)._(`${getAreaOfOperation(operation)}.operation.${getShortOperationName(operation)}.label`)
      : '';
  const select = toTrimmedText(node['select']);
  return verb ? `${verb}: ${select}` : node._(`${dialog.name}.title`);
}

export function getOutputLabel(node: RedNode, index: number): string {
  const dialog = getDialog(node);
  return node._(`${dialog.name}.port.${dialog.outputs[index] ?? ''}`);
}

export function openDialog(node: RedNode): void {
  const dialog = getDialog(node);
  for (const { name, kind, value } of dialog.properties) {
    const input = findInput(node, name);
    if (node[name] === undefined && typeof value !== 'object' && kind !== 'check' && kind !== 'credential' && kind !== 'config')
      input.val(toTrimmedText(value));
    if (kind === 'selection') createSelectionInput(node);
    const show = (): void => {
      const verdict = checkProperty(node, input.val(), name);
      gatewayEditor.showError($(`[data-error="${name}"]`), kind === 'fields' || Array.isArray(verdict) ? true : verdict);
    };
    input.on('change keyup paste', show);
    // An empty selection is not an error before somebody edits it.
    if (kind !== 'selection' || toTrimmedText(node[name]) !== '') show();
    else window.setTimeout(() => input.next('.red-ui-typedInput-container').removeClass('input-error'));
  }
  const hasOwnRollout = dialog.properties.some(
    ({ name, pace, value }) => pace === true && node[name] !== undefined && toTrimmedText(node[name]) !== toTrimmedText(value),
  );
  $('.fleet-pace').prop('open', hasOwnRollout);
  if (dialog.name === 'run') openOperation(node);
  gatewayEditor.labelFormButtons();
}

/** Suggests the names and tags in the inventory of the engine, and shows what a selection matches. */
function createSelectionInput(node: RedNode): void {
  // The texts about a selection are in the catalog of the main package.
  const mainNode = asActionNode(node, 'sessions.list');
  const getInventory = (): unknown => RED.nodes.node(toTrimmedText($('#node-input-engine').val()))?.['inventory'];
  gatewayEditor.createSelectionInput(mainNode, mainNode._('many.selection'), getInventory);
  let timer: number | undefined;
  const showMatches = (): void => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void gatewayEditor.showSelectionMatches(mainNode, getInventory()), 250);
  };
  $('#node-input-select').on('change keyup paste', showMatches);
  $('#node-input-engine').on('change', showMatches);
  showMatches();
}

export function saveDialog(node: RedNode): void {
  if (getDialog(node).name === 'run') node['fields'] = Object.fromEntries(collectValueSources());
  closeDialog();
}

export function closeDialog(): void {
  tools?.close();
  tools = undefined;
  rows = [];
  area = '';
  gatewayEditor.setEditedNode(undefined);
}

const getAreaOfOperation = (operation: string): string => operation.split('.')[0] ?? '';
const getShortOperationName = (operation: string): string => operation.split('.').slice(1).join('.');

/** Presents a fleet node as an action node to the dialog code of the main package, with the table and texts of that node. */
function asActionNode(node: RedNode, operation: string): RedNode {
  const type = `gateway-${getAreaOfOperation(operation)}`;
  const translate = RED.nodes.getType(type)?._ ?? node._;
  const overrides = { type, _: translate, operation: getShortOperationName(operation), operationType: 'op', inventory: '' };
  // Node-RED gives a proxy. An assignment to an inheriting object would change the node itself, so define properties instead.
  return Object.create(node, Object.getOwnPropertyDescriptors(overrides)) as RedNode;
}

function findOperationInfo(operation: string): ReturnType<typeof gatewayEditor.getOperations>[string] | undefined {
  return gatewayEditor.getOperations({ type: `gateway-${getAreaOfOperation(operation)}` } as RedNode)[getShortOperationName(operation)];
}

function* collectValueSources(): Generator<[string, { type: string; value: string }]> {
  for (const row of rows) {
    const source = row.get();
    if (source) yield [row.name, source];
  }
}

/** Fills the menu with all operations by area, and marks destructive operations. */
function openOperation(node: RedNode): void {
  const menu = $('#fleet-operation');
  menu.closest('.gateway-row').children('label').attr('for', 'fleet-operation');
  const stored = toTrimmedText(node['operation']);
  menu.append($('<option value="">').text('…'));
  for (const name of gatewayEditor.getAreaNames()) {
    if (name === 'login') continue;
    const actionNode = asActionNode(node, `${name}.`);
    const group = $('<optgroup>').attr('label', actionNode._(`${name}.label`));
    for (const [shortName, { effect }] of Object.entries(gatewayEditor.getOperations(actionNode))) {
      const label = `${actionNode._(`${name}.operation.${shortName}.label`)}${effect === 'destroy' ? ' ⚠' : ''}`;
      group.append($('<option>').val(`${name}.${shortName}`).text(label));
    }
    menu.append(group);
  }
  if (stored !== '' && !findOperationInfo(stored)) menu.append($('<option>').val(stored).text(stored));
  menu.val(stored);
  menu.on('change', () => {
    $('#node-input-operation').val(toTrimmedText(menu.val())).trigger('change');
    showOperation(node, toTrimmedText(menu.val()));
  });
  showOperation(node, stored);
}

function showOperation(node: RedNode, operation: string): void {
  const info = findOperationInfo(operation);
  const actionNode = asActionNode(node, operation);
  if (getAreaOfOperation(operation) !== area) createRows(node, actionNode, getAreaOfOperation(operation));
  $('.gateway-about')
    .text(info ? actionNode._(`${area}.operation.${getShortOperationName(operation)}.help`).replaceAll('`', '') : '')
    .toggleClass('gateway-destroys', info?.effect === 'destroy');
  const fields = Object.entries(info?.fields ?? {});
  // Secrets come only from a credential set.
  const plainFields = Object.fromEntries(fields.filter(([, { secret }]) => secret !== true));
  gatewayEditor.showFieldRows(actionNode, rows, plainFields);
  for (const row of rows) {
    const field = plainFields[row.name];
    if (field) row.setDefault(gatewayEditor.describeDefaultSource(actionNode, row.name, field, false));
  }
  findInput(node, 'credentialSet')
    .closest('.form-row')
    .toggle(fields.some(([, { secret }]) => secret === true));
  RED.tray.resize();
}

/** Creates the rows of an area. Values that were entered for one operation are kept for the next one. */
function createRows(node: RedNode, actionNode: RedNode, newArea: string): void {
  const previousSources = { ...gatewayEditor.readValueSources(node['fields']), ...Object.fromEntries(collectValueSources()) };
  area = newArea;
  tools?.close();
  $('.gateway-fields').empty();
  gatewayEditor.setEditedNode(actionNode);
  const newTools = (tools = new gatewayEditor.FieldTools(
    actionNode,
    () => ({}),
    () => undefined,
  ));
  rows = Object.keys(gatewayEditor.getFieldsOfAllOperations(actionNode)).map(
    (field) => new gatewayEditor.FieldRow(actionNode, field, previousSources[field], () => undefined, newTools),
  );
}
