import { mayBeWhole, portsOf, type Port } from '../rules';
import { checkOperation, checkOutput } from './check';
import { FieldRow } from './field';
import { isFleet, openFleet, saveFleet } from './fleet';
import { helpFor } from './help';
import { closePreview, openPreview } from './preview';
import { defaultWords, entriesIn, type Entries } from './sources';
import { nameForm, nameTypedInput } from './row';
import { live, setOpen, wasPlaced } from './state';
import { Tools } from './tools';
import { areaNameOf, everyField, hasEvents, operationOf, operationsOf, portsOfNode, type FieldInfo, type OperationInfo } from './table';
import { prose, tell, textOf } from './words';

/** A dialog slides in; its menus open where they stand at the end of that. */
const SLIDE_MS = 350;

let rows: FieldRow[] = [];
let tools: Tools | undefined;
/** The operation whose rows are shown; every one that is only known later shows the same. */
let shown: OperationInfo | 'later' | undefined;

/** Fills the dialog of an action node; the rows themselves stand in gateway.html. */
export function openAction(node: RedNode): void {
  setOpen(node);
  const entries = entriesIn(node.fields);
  const help = (tools = new Tools(node, givenTexts, changedBody));
  const changed = (): void => describeDefaults(node);
  rows = Object.keys(everyField(node)).map((name) => new FieldRow(node, name, entries[name], changed, help));
  openAppliance(node);
  openOperation(node);
  openOutput(node);
  openFailures(node);
  nameForm();
  openPreview(node, entriesNow);
  if (wasPlaced(node)) setTimeout(offerOperations, SLIDE_MS);
}

/** What a new node is to do is the first question. */
function offerOperations(): void {
  const trigger = $('#node-input-operation').next('.red-ui-typedInput-container').find('.red-ui-typedInput-option-trigger');
  // Somebody may have gone on meanwhile.
  if (trigger.is(':visible') && $('.red-ui-typedInput-options:visible, .gateway-late').length === 0) trigger.trigger('click');
}

/** Node-RED stores what has an input of its own; `fields` and the secrets are ours. */
export function saveAction(node: RedNode): void {
  const entries: Entries = {};
  for (const row of inOrder(node)) {
    const entry = row.get();
    if (entry) entries[row.name] = entry;
    row.store();
  }
  if (live(node, 'applianceFrom') === 'msg') $('#node-input-appliance').val('_ADD_');
  const operation = operationOf(node, live(node, 'operation'), live(node, 'operationType'));
  if (operation && !selectsByMessage(node, operation)) $('#node-input-allowDestroy').prop('checked', false);
  saveFleet(node);
  closeAction();
  node.fields = entries;
}

/** As they were stored: the same map in another order would count as a change. */
function inOrder(node: RedNode): FieldRow[] {
  const names = Object.keys(entriesIn(node.fields));
  const place = (row: FieldRow): number => (names.includes(row.name) ? names.indexOf(row.name) : names.length);
  return [...rows].sort((a, b) => place(a) - place(b));
}

export function closeAction(): void {
  tools?.close();
  tools = undefined;
  rows = [];
  shown = undefined;
  helpFor(undefined);
  setOpen(undefined);
}

function entriesNow(): Entries {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const entry = row.get();
      return entry ? [[row.name, entry]] : [];
    }),
  );
}

/** Operations whose body takes the place of what is at their path. */
const CHANGING = ['update', 'ensure', 'put'];

function changedBody(): FieldRow | undefined {
  const changes = CHANGING.includes(String($('#node-input-operation').val()));
  return changes ? rows.find(({ shown: field }) => field?.editor === 'resource') : undefined;
}

/** What stands in the rows as text: by some of it others are listed. */
function givenTexts(): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap((row) => {
      const entry = row.get();
      return entry?.type === 'str' && entry.value !== '' ? [[row.name, entry.value]] : [];
    }),
  );
}

function openAppliance(node: RedNode): void {
  const byMessage = $('#gateway-by-message').prop('checked', node.applianceFrom === 'msg');
  let many = false;
  const show = (): void => {
    const checked = byMessage.prop('checked') === true;
    $('#node-input-applianceFrom').val(checked ? 'msg' : '');
    $('.gateway-one').toggle(!many);
    $('.gateway-appliance').toggle(!checked && !many);
    $('.gateway-by-message-note').toggle(checked && !many);
    $('#node-input-appliance').trigger('change');
  };
  byMessage.on('change', show);
  openFleet(node, (now) => {
    many = now;
    show();
    showAllowDestroy(node);
  });
}

/** What a message may choose needs a word of the flow's author: an operation that destroys, or the appliances that one changes. */
function showAllowDestroy(node: RedNode): void {
  const type = live(node, 'operationType');
  const operation = operationOf(node, live(node, 'operation'), type);
  const dynamic = operation === undefined && type !== 'op';
  const destroys = dynamic && Object.values(operationsOf(node)).some(({ effect }) => effect === 'destroy');
  $('.gateway-allow-destroy').toggle(destroys || selectsByMessage(node, operation));
}

function selectsByMessage(node: RedNode, operation: OperationInfo | undefined): boolean {
  return isFleet(node) && !['', 'str', 'env'].includes(textOf(live(node, 'selectType'))) && operation?.effect !== 'read';
}

function openOperation(node: RedNode): void {
  const input = $('#node-input-operation');
  input.typedInput({ types: [operationType(node), 'msg', 'flow', 'global', 'env', 'jsonata'], typeField: '#node-input-operationType' });
  input.on('change keyup paste', () => {
    tell($('.gateway-operation-error'), checkOperation(node, input.typedInput('value')));
    showOperation(node);
  });
  nameTypedInput(input);
}

/** The table's operations, what they destroy marked; a name that the table does not have stays what it is. */
function operationType(node: RedNode): TypedInputType {
  const operations = operationsOf(node);
  const options = Object.entries(operations).map(([value, { effect }]) => ({
    value,
    label: `${node._(`${areaNameOf(node)}.operation.${value}.label`)}${effect === 'destroy' ? ' ⚠' : ''}`,
  }));
  const stored =
    typeof node.operation === 'string' && !node.operationType?.toString().match(/^(msg|flow|global|env|jsonata)$/) ? node.operation : '';
  if (stored && !(stored in operations)) options.push({ value: stored, label: stored });
  return { value: 'op', label: node._('action.operation'), icon: 'fa fa-list-ul', options };
}

/** Rows, description and notes for the operation that is chosen now. */
function showOperation(node: RedNode): void {
  const type = live(node, 'operationType');
  const name = String(live(node, 'operation'));
  const operation = operationOf(node, name, type);
  const dynamic = operation === undefined && type !== 'op';
  const fields = currentFields(node);
  if (shown !== undefined && shown === (dynamic ? 'later' : operation)) return;
  shown = dynamic ? 'later' : operation;
  showRows(fields);
  describeDefaults(node);
  const about = operation ? node._(`${areaNameOf(node)}.operation.${name}.help`) : dynamic ? node._('action.dynamic-help') : '';
  prose($('.gateway-about'), about).toggleClass('gateway-destroys', operation?.effect === 'destroy');
  $('.gateway-before-fields').toggle(Object.keys(fields).length > 0);
  showAllowDestroy(node);
  $('.gateway-dry-run, .gateway-approval').toggle(operation?.effect !== 'read');
  closePreview();
  helpFor(node);
  RED.tray.resize();
}

/** In the order of the operation, not of the area. */
function showRows(fields: Record<string, FieldInfo>): void {
  for (const row of rows) if (!(row.name in fields)) row.hide();
  for (const [name, field] of Object.entries(fields)) rows.find((row) => row.name === name)?.show(field);
}

function currentFields(node: RedNode): Record<string, FieldInfo> {
  const type = live(node, 'operationType');
  const operation = operationOf(node, live(node, 'operation'), type);
  return operation?.fields ?? (type === 'op' ? {} : everyField(node));
}

function describeDefaults(node: RedNode): void {
  const fields = currentFields(node);
  const entries = Object.fromEntries(rows.flatMap((row) => (row.get() ? [[row.name, { type: '', value: '' }]] : [])));
  for (const row of rows) {
    const field = fields[row.name];
    if (field)
      row.setDefault(
        defaultWords(
          node,
          row.name,
          field,
          mayBeWhole(row.name, fields, (name) => name in entries),
        ),
      );
  }
}

function openOutput(node: RedNode): void {
  const input = $('#node-input-output');
  // Absent from a flow that was written by hand: then it is the payload, while empty would be none.
  if (node.output === undefined) input.val('payload');
  input.typedInput({ types: [{ value: 'msg', label: 'msg.' }] });
  const check = (): void => tell($('.gateway-output-error'), checkOutput(node, input.typedInput('value')));
  input.on('change keyup paste', check);
  check();
  nameTypedInput(input);
}

function openFailures(node: RedNode): void {
  const select = $('#node-input-failures');
  if (node.failures === undefined) select.val('catch');
  const approval = $('#node-input-approval');
  const show = (): void => {
    const approved = approval.prop('checked') === true;
    $('#node-input-outputs').val(outputs(portsOfNode(node), portsOf(select.val() === 'output', approved, hasEvents(node))));
    $('.gateway-approval-minutes').toggle(approved);
  };
  select.on('change', show);
  approval.on('change', show);
  show();
}

/** For Node-RED: how many outputs there are now, or, where one moves, which becomes which, so that its wires go with it. */
function outputs(before: readonly Port[], after: readonly Port[]): string {
  if (before.every((port, index) => index >= after.length || after[index] === port)) return String(after.length);
  const moved = before.map((port, index) => [index, after.indexOf(port)]);
  // A key that is no number is an output that was not there.
  const fresh = after.filter((port) => !before.includes(port)).map((port) => [port, after.indexOf(port)]);
  return JSON.stringify(Object.fromEntries([...moved, ...fresh]));
}
