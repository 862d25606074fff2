import type * as Editor from '../../../nodes/editor/index';

/** The editor half of the main package, which is on the same page: fields, selections and operations have one dialog. */
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
let tools: InstanceType<typeof Editor.Tools> | undefined;
let area = '';

export function use(table: Record<string, Dialog>): void {
  dialogs = table;
}

const dialogOf = (node: RedNode): Dialog => dialogs[node.type] ?? { name: '', outputs: [], properties: [] };
const inputOf = (node: RedNode, name: string): JQuery => $(`#node-${node.type === 'gateway-fleet-engine' ? 'config-' : ''}input-${name}`);
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '');
const isVariable = (value: string): boolean => /^\$[({].+[)}]$/.test(value);

/** What is wrong with a property, in words. */
export function check(node: RedNode, value: unknown, name: string, _options?: unknown): Verdict {
  const dialog = dialogOf(node);
  const property = dialog.properties.find((one) => one.name === name);
  const given = text(value);
  if (!property || isVariable(given)) return true;
  switch (property.kind) {
    case 'number':
      // A flow that was written by hand may leave it out: the runtime takes the usual one, and so does the dialog.
      return value === undefined || (given === '' && property.value === '') || /^[1-9]\d{0,8}$/.test(given) || node._('check.count');
    case 'share':
      return /^(\d{1,9}(\.\d+)?\s*%?)?$/.test(given) || node._('check.share');
    case 'selection':
      return given !== '' || node._('check.select');
    case 'operation':
      return infoOf(given) !== undefined || node._('check.operation');
    case 'fields':
      return infoOf(text(node['operation'])) === undefined || gatewayEditor.checkFields(as(node, text(node['operation'])), value);
    default:
      return true;
  }
}

export function label(node: RedNode): string {
  const dialog = dialogOf(node);
  if (node.name) return node.name;
  const operation = text(node['operation']);
  const verb =
    dialog.name === 'run' && infoOf(operation) ? as(node, operation)._(`${areaOf(operation)}.operation.${ownOf(operation)}.label`) : '';
  const select = text(node['select']);
  return verb ? `${verb}: ${select}` : node._(`${dialog.name}.title`);
}

export function outputLabel(node: RedNode, index: number): string {
  const dialog = dialogOf(node);
  return node._(`${dialog.name}.port.${dialog.outputs[index] ?? ''}`);
}

export function open(node: RedNode): void {
  const dialog = dialogOf(node);
  for (const { name, kind, value } of dialog.properties) {
    const input = inputOf(node, name);
    if (node[name] === undefined && typeof value !== 'object' && kind !== 'check' && kind !== 'credential' && kind !== 'config')
      input.val(text(value));
    if (kind === 'selection')
      input.typedInput({ types: ['str', 'msg', 'flow', 'global', 'env', 'jsonata'], typeField: '#node-input-selectType' });
    const show = (): void => {
      const verdict = check(node, input.val(), name);
      gatewayEditor.tell($(`[data-error="${name}"]`), kind === 'fields' || Array.isArray(verdict) ? true : verdict);
    };
    input.on('change keyup paste', show);
    show();
  }
  const own = dialog.properties.some(
    ({ name, pace, value }) => pace === true && node[name] !== undefined && text(node[name]) !== text(value),
  );
  $('.fleet-pace').prop('open', own);
  if (dialog.name === 'run') openOperation(node);
}

export function save(node: RedNode): void {
  if (dialogOf(node).name === 'run') node['fields'] = Object.fromEntries(entries());
  close();
}

export function close(): void {
  tools?.close();
  tools = undefined;
  rows = [];
  area = '';
  gatewayEditor.setOpen(undefined);
}

const areaOf = (operation: string): string => operation.split('.')[0] ?? '';
const ownOf = (operation: string): string => operation.split('.').slice(1).join('.');

/** A node of this package as the dialog of an area's own node sees it: that one's table and words. */
function as(node: RedNode, operation: string): RedNode {
  const type = `gateway-${areaOf(operation)}`;
  const words = RED.nodes.getType(type)?._ ?? node._;
  const own = { type, _: words, operation: ownOf(operation), operationType: 'op', inventory: '' };
  // Node-RED hands out a proxy: what is assigned to something that inherits from it would be assigned to the node itself.
  return Object.create(node, Object.getOwnPropertyDescriptors(own)) as RedNode;
}

function infoOf(operation: string): ReturnType<typeof gatewayEditor.operationsOf>[string] | undefined {
  return gatewayEditor.operationsOf({ type: `gateway-${areaOf(operation)}` } as RedNode)[ownOf(operation)];
}

function* entries(): Generator<[string, { type: string; value: string }]> {
  for (const row of rows) {
    const entry = row.get();
    if (entry) yield [row.name, entry];
  }
}

/** One menu of all operations, by area; what destroys is marked. */
function openOperation(node: RedNode): void {
  const menu = $('#fleet-operation');
  const stored = text(node['operation']);
  menu.append($('<option value="">').text('…'));
  for (const name of gatewayEditor.areaNames()) {
    if (name === 'login') continue;
    const like = as(node, `${name}.`);
    const group = $('<optgroup>').attr('label', like._(`${name}.label`));
    for (const [own, { effect }] of Object.entries(gatewayEditor.operationsOf(like))) {
      const words = `${like._(`${name}.operation.${own}.label`)}${effect === 'destroy' ? ' ⚠' : ''}`;
      group.append($('<option>').val(`${name}.${own}`).text(words));
    }
    menu.append(group);
  }
  if (stored !== '' && !infoOf(stored)) menu.append($('<option>').val(stored).text(stored));
  menu.val(stored);
  menu.on('change', () => {
    $('#node-input-operation').val(text(menu.val())).trigger('change');
    showOperation(node, text(menu.val()));
  });
  showOperation(node, stored);
}

function showOperation(node: RedNode, operation: string): void {
  const info = infoOf(operation);
  const like = as(node, operation);
  if (areaOf(operation) !== area) makeRows(node, like, areaOf(operation));
  $('.gateway-about')
    .text(info ? like._(`${area}.operation.${ownOf(operation)}.help`).replaceAll('`', '') : '')
    .toggleClass('gateway-destroys', info?.effect === 'destroy');
  const fields = Object.entries(info?.fields ?? {});
  // What is secret comes from a credential set, never from here.
  const own = Object.fromEntries(fields.filter(([, { secret }]) => secret !== true));
  for (const row of rows) if (!(row.name in own)) row.hide();
  for (const [name, field] of Object.entries(own)) {
    const row = rows.find((one) => one.name === name);
    row?.show(field);
    row?.setDefault(gatewayEditor.defaultWords(like, name, field, false));
  }
  inputOf(node, 'credentialSet')
    .closest('.form-row')
    .toggle(fields.some(([, { secret }]) => secret === true));
  RED.tray.resize();
}

/** The rows of an area: what was entered for one operation is there for the next. */
function makeRows(node: RedNode, like: RedNode, name: string): void {
  const before = { ...gatewayEditor.entriesIn(node['fields']), ...Object.fromEntries(entries()) };
  area = name;
  tools?.close();
  $('.gateway-fields').empty();
  gatewayEditor.setOpen(like);
  const help = (tools = new gatewayEditor.Tools(
    like,
    () => ({}),
    () => undefined,
  ));
  rows = Object.keys(gatewayEditor.everyField(like)).map(
    (field) => new gatewayEditor.FieldRow(like, field, before[field], () => undefined, help),
  );
}
