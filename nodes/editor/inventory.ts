import { askRoute, draftNodes, type Answer } from './asking';
import { nameForm, nameTypedInput } from './row';
import { form, liveConfig, setOpenConfig, textIn } from './state';
import { counted, isVariable, prose, tell, textOf } from './words';

/** Sets beside the default one that the node keeps itself; the runtime has as many. */
const MOST_SETS = 7;
const VALUES = [
  ['username', 'text', 'appliance.username'],
  ['password', 'password', 'appliance.password'],
  ['secondUsername', 'text', 'appliance.second-username'],
  ['secondPassword', 'password', 'appliance.second-password'],
  ['totpSecret', 'password', 'appliance.totp-secret'],
  ['apiKey', 'password', 'appliance.api-key'],
] as const;
/** What most logins need; the rest is in a fold. */
const USUAL = 2;

const credentialOf = (name: string, set: number): string => (set === 0 ? name : `${name}_${set}`);
const everySet = Array.from({ length: MOST_SETS + 1 }, (_, set) => set);

/** For the definition: the default set and the numbered ones. */
export const inventoryCredentials: Record<string, { type: string }> = Object.fromEntries(
  everySet.flatMap((set) => VALUES.map(([name, type]) => [credentialOf(name, set), { type }] as const)),
);

/** What a test takes from the dialog as it stands. */
const TESTED = ['source', 'file', 'list', 'defaults', 'secrets', 'prefix', 'secretsFolder', 'sets', 'tls', 'proxy'];
const CHECKED = ['file', 'list', 'defaults', 'secretsFolder', 'sets'] as const;

/** What is wrong with a property; one that the chosen source has no use for is never wrong. */
export function checkInventory(node: RedNode, value: unknown, property: string): true | string {
  const text = textOf(value).trim();
  if (isVariable(text)) return true;
  switch (property) {
    case 'file':
      return liveConfig(node, 'source') === 'list' || /\.(json|ya?ml|csv)$/i.test(text) || node._('inventory.check.file');
    case 'list':
      return liveConfig(node, 'source') !== 'list' || kindOfJson(text) === 'list' || node._('inventory.check.list');
    case 'defaults':
      return text === '' || kindOfJson(text) === 'object' || node._('inventory.check.defaults');
    case 'secretsFolder':
      return liveConfig(node, 'secrets') !== 'folder' || text !== '' || node._('inventory.check.folder');
    case 'sets':
      return checkSets(node, text);
    default:
      return true;
  }
}

function checkSets(node: RedNode, text: string): true | string {
  const names = setsIn(text);
  if (names.length > MOST_SETS) return node._('inventory.check.sets-many', { n: MOST_SETS });
  return (
    (names.every((name) => /^[\w.-]+$/.test(name)) && new Set(['default', ...names]).size === names.length + 1) ||
    node._('inventory.check.sets')
  );
}

const setsIn = (text: string): string[] => text.split(/[\s,;]+/).filter((name) => name !== '');

function kindOfJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? 'list' : typeof value === 'object' && value !== null ? 'object' : 'other';
  } catch {
    return 'none';
  }
}

/** The inputs of all sets stand in the template before Node-RED fills it. As text: mostly no such dialog is opened. */
export function shareSets(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (type !== 'gateway-inventory') return;
    const template = $('script[data-template-name="gateway-inventory"]');
    template.text((template.html() ?? '').replace(SETS, () => SETS + everySet.map(setOf).join('')));
  });
}

const SETS = '<div data-secrets="node" class="gateway-sets">';

function setOf(set: number): string {
  const rows = VALUES.map(([name, type, words]) => {
    const id = `node-config-input-${credentialOf(name, set)}`;
    return `<div class="form-row gateway-row"><label for="${id}"><span data-i18n="${words}"></span></label><div><input type="${type}" id="${id}"></div></div>`;
  });
  const more = `<details class="gateway-fold"><summary data-i18n="inventory.set-more"></summary>${rows.slice(USUAL).join('')}</details>`;
  return `<fieldset class="gateway-set" data-set="${set}"><legend></legend>${rows.slice(0, USUAL).join('')}${more}</fieldset>`;
}

/** Shows the rows that the chosen sources need, says beneath an input what is wrong with it, and what there is now. */
export function openInventory(node: RedNode): void {
  setOpenConfig(node);
  for (const [property, usual] of [
    ['source', 'file'],
    ['secrets', 'node'],
  ] as const)
    if (!form(property).val()) form(property).val(usual);
  for (const property of ['list', 'defaults']) {
    form(property).typedInput({ types: ['json'] });
    nameTypedInput(form(property));
  }
  nameForm();
  const show = (): void => {
    for (const property of ['source', 'secrets']) {
      $(`[data-${property}]`).each((_index, element) => void $(element).toggle(element.dataset[property] === form(property).val()));
    }
    const secrets = String(form('secrets').val());
    prose($('#gateway-secrets-note'), node._(`inventory.secrets-${secrets}-help`));
    const names = ['default', ...setsIn(String(form('sets').val() ?? ''))];
    $('.gateway-set').each((set, element) => {
      const name = names[set];
      $(element)
        .toggle(name !== undefined)
        .find('legend')
        .text(name === undefined ? '' : node._('inventory.set', { name }));
    });
    for (const property of CHECKED) tell($(`[data-error="${property}"]`), checkInventory(node, form(property).val(), property));
    RED.tray.resize();
  };
  for (const property of ['source', 'secrets', ...CHECKED]) form(property).on('change input', show);
  show();
  void showState(node);
  $('#gateway-test-all').on('click', () => void testAll(node));
}

export function closeInventory(): void {
  setOpenConfig(undefined);
}

export function inventoryLabel(node: RedNode): string {
  return node.name || textOf(node.file).split(/[\\/]/).pop() || node._('inventory.label');
}

/** What the deployed one has, or what is wrong with its file now. */
async function showState(node: RedNode): Promise<void> {
  const place = $('.gateway-inventory-state');
  const answer = await askRoute(node, 'gateway-inventory/list', { id: node.id });
  if (!answer.ok) return void prose(place, node._('inventory.not-deployed'));
  const tags = (answer.tags as { value: string; count: number }[]).map(({ value, count }) => `${value} (${count})`).join(', ');
  const count = counted(node, 'inventory.there', Number(answer.total));
  const there = tags ? `${count} ${node._('inventory.tags', { tags })}` : count;
  prose(place, typeof answer.fault === 'string' ? `${answer.fault} ${there}` : there).toggleClass(
    'gateway-error',
    answer.fault !== undefined,
  );
}

interface Row {
  appliance: string;
  ok: boolean;
  code?: string;
  message?: string;
  system?: { host?: string; release?: string; serial?: string };
  same?: string;
}

/** What the dialog holds now. Secrets that were not touched travel as Node-RED's placeholder. */
function values(node: RedNode): Record<string, unknown> {
  const properties = Object.fromEntries(TESTED.map((property) => [property, textIn(property)]));
  const credentials = Object.fromEntries(Object.keys(inventoryCredentials).map((name) => [name, String(form(name).val() ?? '')]));
  return { id: node.id, ...properties, credentials, nodes: draftNodes(properties['tls'], properties['proxy']) };
}

async function testAll(node: RedNode): Promise<void> {
  const button = $('#gateway-test-all').prop('disabled', true);
  const place = $('.gateway-test-all-place').text(node._('inventory.testing'));
  const answer = await askRoute(node, 'gateway-inventory/test', values(node));
  button.prop('disabled', false);
  place.empty();
  if (answer.ok) showTable(node, place, answer);
  else tell($('<div class="gateway-error">').appendTo(place), answer.message);
  RED.tray.resize();
  // It is the last of a long dialog: what comes is below what can be seen.
  place[0]?.scrollIntoView({ block: 'nearest' });
}

/** Everything as text: parts of it come from the network. */
function showTable(node: RedNode, place: JQuery, answer: Extract<Answer, { ok: true }>): void {
  const { total, well } = answer;
  $('<div class="gateway-note">')
    .text(counted(node, 'inventory.tested', Number(total), { well: Number(well) }))
    .appendTo(place);
  const table = $('<table class="gateway-table">').appendTo(place);
  for (const { appliance, ok, code, message, system, same } of answer.rows as Row[]) {
    const words = ok
      ? [same === undefined ? '' : node._('inventory.same', { name: same }), system?.host, system?.release, system?.serial]
          .filter(Boolean)
          .join(', ')
      : `${code ?? ''}: ${message ?? ''}`;
    const icon = ok ? (same === undefined ? 'fa-check' : 'fa-exclamation-triangle') : 'fa-times';
    $('<tr>')
      .append(
        $('<td>').append(
          $('<i>')
            .addClass(`fa ${icon}`)
            .attr({ role: 'img', 'aria-label': ok ? 'ok' : (code ?? '') }),
        ),
      )
      .append($('<th scope="row">').text(appliance), $('<td>').text(words))
      .appendTo(table);
  }
}
