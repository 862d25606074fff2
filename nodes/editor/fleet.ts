import { askRoute } from './asking';
import { nameTypedInput } from './row';
import { live } from './state';
import { counted, isVariable, prose, tell, textOf } from './words';

const COUNTS = ['atOnce', 'canary', 'maxAppliances'];
const SHARES = ['batch', 'maxFailures'];
/** What a new node has; a fold opens by itself where something in it is another. */
const USUAL: Record<string, string> = { atOnce: '16', canary: '', batch: '', maxFailures: '', maxAppliances: '', data: 'all' };

const PROPERTIES = ['inventory', 'select', 'selectType', 'each', ...Object.keys(USUAL)];

/** Whether a node is set to many appliances, in its open dialog or as it stands. */
export function isFleet(node: RedNode): boolean {
  const inventory = textOf(live(node, 'inventory'));
  return inventory !== '' && inventory !== '_ADD_';
}

export function checkInventoryOf(node: RedNode, value: unknown): true | string {
  if (!isFleet(node)) return true;
  const inventory = RED.nodes.node(textOf(value));
  if (!inventory) return node._('many.check.gone');
  return inventory.valid === false ? node._('many.check.invalid') : true;
}

export function checkSelect(node: RedNode, value: unknown): true | string {
  return !isFleet(node) || textOf(value).trim() !== '' || node._('many.check.select');
}

/** How it goes over them: counts, and shares such as 10%. */
export function checkPace(node: RedNode, value: unknown): true | string {
  const text = textOf(value).trim();
  return !isFleet(node) || text === '' || isVariable(text) || /^\d{1,9}(\.\d+)?\s*%?$/.test(text) || node._('many.check.pace');
}

/** The rows of many appliances: shown when the box beside the appliance is ticked. `changed` shows the others. */
export function openFleet(node: RedNode, changed: (many: boolean) => void): void {
  const box = $('#gateway-many').prop('checked', isFleet(node));
  const inventory = $('#node-input-inventory');
  const select = $('#node-input-select');
  for (const [property, usual] of Object.entries(USUAL)) if (node[property] === undefined) $(`#node-input-${property}`).val(usual);
  const plain = { value: 'str', label: node._('many.selection'), icon: 'fa fa-filter', autoComplete: suggest(node) } as TypedInputType;
  select.typedInput({ types: [plain, 'msg', 'flow', 'global', 'env', 'jsonata'], typeField: '#node-input-selectType' });
  nameTypedInput(select);
  const check = (): void => {
    const many = box.prop('checked') === true;
    tell($('.gateway-select-error'), many ? checkSelect(node, select.typedInput('value')) : true);
    const wrong = [...COUNTS, ...SHARES].map((name) => checkPace(node, $(`#node-input-${name}`).val())).find((verdict) => verdict !== true);
    tell($('.gateway-pace-error'), wrong);
  };
  const count = delayed(() => void showMatches(node));
  const show = (): void => {
    const many = box.prop('checked') === true;
    $('.gateway-many').toggle(many);
    if (!many) inventory.val('_ADD_');
    else if (!isFleet(node)) inventory.val(likelyInventory() ?? '_ADD_');
    $('.gateway-select').toggle(many);
    changed(many);
    check();
    count();
  };
  box.on('change', show);
  inventory.on('change', count);
  select.on('change keyup paste', () => {
    changed(box.prop('checked') === true);
    check();
    count();
  });
  for (const name of [...COUNTS, ...SHARES]) $(`#node-input-${name}`).on('change input', check);
  const own = Object.entries(USUAL).some(([name, usual]) => node[name] !== undefined && textOf(node[name]) !== usual);
  $('.gateway-pace').prop('open', own || node.each === true);
  show();
}

/**
 * Empty where one appliance is meant, so that Node-RED does not count the inventory as used. A node of an earlier flow that has none of
 * these properties gets none: it was only looked at.
 */
export function saveFleet(node: RedNode): void {
  if ($('#gateway-many').prop('checked') === true) return;
  $('#node-input-inventory').val('_ADD_');
  for (const property of PROPERTIES) if (node[property] === undefined) $(`#node-input-${property}`).removeAttr('id');
}

/** The only one there is. */
function likelyInventory(): string | undefined {
  const ids: string[] = [];
  RED.nodes.eachConfig(({ id, type }) => void (type === 'gateway-inventory' && ids.push(id)));
  return ids.length === 1 ? ids[0] : undefined;
}

/** How many the selection fits now, and the first of them: nothing is easier to get wrong, and nothing as costly. */
async function showMatches(node: RedNode): Promise<void> {
  const place = $('.gateway-matches');
  const type = textOf($('#node-input-selectType').val()) || 'str';
  const select = $('#node-input-select').typedInput('value');
  if (!isFleet(node) || type !== 'str' || select.trim() === '' || isVariable(select)) return void place.empty();
  const answer = await askRoute(node, 'gateway-inventory/list', { id: live(node, 'inventory'), select });
  if (select !== $('#node-input-select').typedInput('value')) return;
  if (!answer.ok) return void prose(place, answer.message);
  const names = (answer.entries as { value: string }[]).slice(0, 5).map(({ value }) => value);
  const more = Number(answer.selected) > names.length ? ' …' : '';
  prose(place, `${counted(node, 'many.matches', Number(answer.total), { selected: Number(answer.selected) })} ${names.join(', ')}${more}`);
}

/** Names and tags for the word that is being typed. */
function suggest(node: RedNode) {
  return (text: string, done: (found: { value: string; label: string }[]) => void): void => {
    const [, before = '', not = '', word = ''] = /^(.*?[\s|]|)(!?)([^\s|]*)$/.exec(text) ?? [];
    void askRoute(node, 'gateway-inventory/list', { id: live(node, 'inventory'), search: word.startsWith('tag:') ? '' : word }).then(
      (answer) => {
        if (!answer.ok) return done([]);
        const tags = (answer.tags as { value: string }[]).map(({ value }) => `tag:${value}`).filter((tag) => tag.startsWith(word));
        const names = word.startsWith('tag:')
          ? []
          : (answer.entries as { value: string }[]).map(({ value }) => (value.includes(' ') ? `"${value}"` : value));
        done([...tags, ...names].slice(0, 20).map((one) => ({ value: `${before}${not}${one}`, label: one })));
      },
    );
  };
}

/** While somebody types, nobody is asked. */
function delayed(work: () => void): () => void {
  let timer: number | undefined;
  return () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(work, 250);
  };
}
