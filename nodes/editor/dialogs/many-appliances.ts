import { postJson } from '../api';
import { labelTypedInput } from '../fields/row-elements';
import { getDialogValue } from '../dialog-state';
import { createSelectionSuggestions, type InventoryNamesAndTags, type SelectionSuggestion } from './selection-suggestions';
import { formatPlural, isVariableReference, renderMarkup, showError, readTextProperty } from '../text';

const COUNT_PROPERTIES = ['atOnce', 'canary', 'maxAppliances'];
const SHARE_PROPERTIES = ['batch', 'maxFailures'];
/** Values of a new node. The section is open if a value differs from them. */
const DEFAULTS: Record<string, string> = { atOnce: '16', canary: '', batch: '', maxFailures: '', maxAppliances: '', data: 'all' };

const PROPERTIES = ['inventory', 'select', 'selectType', 'each', ...Object.keys(DEFAULTS)];

/** Returns whether a node runs on an inventory, in its open dialog or as stored. */
export function isForManyAppliances(node: RedNode): boolean {
  const inventory = readTextProperty(getDialogValue(node, 'inventory'));
  return inventory !== '' && inventory !== '_ADD_';
}

export function checkInventoryChoice(node: RedNode, value: unknown): true | string {
  if (!isForManyAppliances(node)) return true;
  const inventory = RED.nodes.node(readTextProperty(value));
  if (!inventory) return node._('many.check.gone');
  return inventory.valid === false ? node._('many.check.invalid') : true;
}

export function checkApplianceSelection(node: RedNode, value: unknown): true | string {
  return !isForManyAppliances(node) || readTextProperty(value).trim() !== '' || node._('many.check.select');
}

/** Checks a rollout option: a number, or a percentage such as 10%. */
export function checkRolloutOption(node: RedNode, value: unknown): true | string {
  const text = readTextProperty(value).trim();
  return (
    !isForManyAppliances(node) ||
    text === '' ||
    isVariableReference(text) ||
    /^\d{1,9}(\.\d+)?\s*%?$/.test(text) ||
    node._('many.check.pace')
  );
}

/** Shows the rows for many appliances when the checkbox is on, and calls `onChange` with its state. */
export function showManyAppliancesRows(node: RedNode, onChange: (many: boolean) => void): void {
  const box = $('#gateway-many').prop('checked', isForManyAppliances(node));
  const inventory = $('#node-input-inventory');
  const select = $('#node-input-select');
  for (const [property, defaultValue] of Object.entries(DEFAULTS))
    if (node[property] === undefined) $(`#node-input-${property}`).val(defaultValue);
  createSelectionInput(node, node._('many.selection'), () => getDialogValue(node, 'inventory'));
  const check = (): void => {
    const isMany = box.prop('checked') === true;
    showError($('.gateway-select-error'), isMany ? checkApplianceSelection(node, select.typedInput('value')) : true);
    const error = [...COUNT_PROPERTIES, ...SHARE_PROPERTIES]
      .map((name) => checkRolloutOption(node, $(`#node-input-${name}`).val()))
      .find((verdict) => verdict !== true);
    showError($('.gateway-pace-error'), error);
  };
  const updateMatches = debounce(() => void showMatches(node));
  const show = (): void => {
    const isMany = box.prop('checked') === true;
    $('.gateway-many').toggle(isMany);
    if (!isMany) inventory.val('_ADD_');
    else if (!isForManyAppliances(node)) inventory.val(guessInventory() ?? '_ADD_');
    $('.gateway-select').toggle(isMany);
    onChange(isMany);
    check();
    updateMatches();
  };
  box.on('change', show);
  inventory.on('change', updateMatches);
  select.on('change keyup paste', () => {
    onChange(box.prop('checked') === true);
    check();
    updateMatches();
  });
  for (const name of [...COUNT_PROPERTIES, ...SHARE_PROPERTIES]) $(`#node-input-${name}`).on('change input', check);
  const hasOwnSettings = Object.entries(DEFAULTS).some(
    ([name, defaultValue]) => node[name] !== undefined && readTextProperty(node[name]) !== defaultValue,
  );
  $('.gateway-pace').prop('open', hasOwnSettings || node.each === true);
  show();
}

/** Makes *Select* a typed input that suggests names and tags. Shared with the fleet package. */
export function createSelectionInput(node: RedNode, label: string, getInventory: () => unknown): void {
  const select = $('#node-input-select');
  const textType = { value: 'str', label, icon: 'fa fa-filter', autoComplete: createSuggester(node, getInventory) } as TypedInputType;
  select.typedInput({ types: [textType, 'msg', 'flow', 'global', 'env', 'jsonata'], typeField: '#node-input-selectType' });
  labelTypedInput(select);
}

/**
 * Clears the inventory of a node for one appliance, so that Node-RED does not count the inventory as used. Handwritten nodes get no new
 * properties from opening the dialog.
 */
export function saveManyAppliancesRows(node: RedNode): void {
  if ($('#gateway-many').prop('checked') === true) return;
  $('#node-input-inventory').val('_ADD_');
  for (const property of PROPERTIES) if (node[property] === undefined) $(`#node-input-${property}`).removeAttr('id');
}

/** Returns the id of the inventory if there is exactly one. */
function guessInventory(): string | undefined {
  const ids: string[] = [];
  RED.nodes.eachConfig(({ id, type }) => void (type === 'gateway-inventory' && ids.push(id)));
  return ids.length === 1 ? ids[0] : undefined;
}

function showMatches(node: RedNode): Promise<void> {
  return showSelectionMatches(node, isForManyAppliances(node) ? getDialogValue(node, 'inventory') : undefined);
}

/** Shows how many appliances of an inventory match *Select*, and the first five names. */
export async function showSelectionMatches(node: RedNode, inventory: unknown): Promise<void> {
  const container = $('.gateway-matches, #gateway-matches');
  const type = readTextProperty($('#node-input-selectType').val()) || 'str';
  const select = $('#node-input-select').typedInput('value');
  if (inventory === undefined || type !== 'str' || select.trim() === '' || isVariableReference(select)) return void container.empty();
  const answer = await postJson(node, 'gateway-inventory/list', { id: inventory, select });
  if (select !== $('#node-input-select').typedInput('value')) return;
  if (!answer.ok) return void renderMarkup(container, answer.message);
  const names = (answer.entries as { value: string }[]).slice(0, 5).map(({ value }) => value);
  const more = Number(answer.selected) > names.length ? ' …' : '';
  renderMarkup(
    container,
    `${formatPlural(node, 'many.matches', Number(answer.total), { selected: Number(answer.selected) })} ${names.join(', ')}${more}`,
  );
}

/** Suggests names and tags for the word that the user types. */
function createSuggester(node: RedNode, getInventory: () => unknown) {
  return (text: string, done: (found: SelectionSuggestion[]) => void): void => {
    const [, prefix = '', negation = '', word = ''] = /^(.*?[\s|]|)(!?)([^\s|]*)$/.exec(text) ?? [];
    void postJson(node, 'gateway-inventory/list', { id: getInventory(), search: word.startsWith('tag:') ? '' : word }).then((answer) => {
      if (!answer.ok) return done([]);
      done(
        createSelectionSuggestions(word, answer as unknown as InventoryNamesAndTags).map(({ value, label }) => ({
          value: `${prefix}${negation}${value}`,
          label,
        })),
      );
    });
  };
}

/** Delays work until the user stops typing. */
function debounce(work: () => void): () => void {
  let timer: number | undefined;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(work, 250);
  };
}
