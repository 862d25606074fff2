import { postJson, collectDraftNodes, type ApiResult } from '../api';
import { labelFormButtons, labelTypedInput } from '../fields/row-elements';
import { createSigningKey, findConfigDialogInput, getConfigDialogValue, setEditedConfigNode, readConfigDialogText } from '../dialog-state';
import { formatPlural, isVariableReference, renderMarkup, showError, readTextProperty } from '../text';

/** Number of credential sets besides the default set. The runtime has the same limit. */
const MAX_SETS = 7;
const SET_FIELDS = [
  ['username', 'text', 'appliance.username'],
  ['password', 'password', 'appliance.password'],
  ['secondUsername', 'text', 'appliance.second-username'],
  ['secondPassword', 'password', 'appliance.second-password'],
  ['totpSecret', 'password', 'appliance.totp-secret'],
  ['apiKey', 'password', 'appliance.api-key'],
  ['signingKey', 'password', 'appliance.signing-key'],
] as const;
/** Number of visible fields of a credential set. The others are in a collapsible section. */
const VISIBLE_FIELDS = 2;

const toCredentialName = (name: string, set: number): string => (set === 0 ? name : `${name}_${set}`);
const setNumbers = Array.from({ length: MAX_SETS + 1 }, (_, set) => set);

/** Credentials of the registration: the default set and the numbered sets. */
export const inventoryCredentials: Record<string, { type: string }> = Object.fromEntries(
  setNumbers.flatMap((set) => SET_FIELDS.map(([name, type]) => [toCredentialName(name, set), { type }] as const)),
);

/** Properties that the connection test sends from the dialog. */
const TESTED_PROPERTIES = ['source', 'file', 'list', 'defaults', 'secrets', 'prefix', 'secretsFolder', 'sets', 'tls', 'proxy', 'rehearsal'];
const CHECKED_PROPERTIES = ['file', 'list', 'defaults', 'secretsFolder', 'sets'] as const;

/** Checks a property. Properties of an unselected source are always valid. */
export function checkInventory(node: RedNode, value: unknown, property: string): true | string {
  const text = readTextProperty(value).trim();
  if (isVariableReference(text)) return true;
  switch (property) {
    case 'file':
      return getConfigDialogValue(node, 'source') === 'list' || /\.(json|ya?ml|csv)$/i.test(text) || node._('inventory.check.file');
    case 'list':
      return getConfigDialogValue(node, 'source') !== 'list' || getJsonKind(text) === 'list' || node._('inventory.check.list');
    case 'defaults':
      return text === '' || getJsonKind(text) === 'object' || node._('inventory.check.defaults');
    case 'secretsFolder':
      return getConfigDialogValue(node, 'secrets') !== 'folder' || text !== '' || node._('inventory.check.folder');
    case 'sets':
      return checkSets(node, text);
    default:
      return true;
  }
}

function checkSets(node: RedNode, text: string): true | string {
  const names = parseSetNames(text);
  if (names.length > MAX_SETS) return node._('inventory.check.sets-many', { n: MAX_SETS });
  return (
    (names.every((name) => /^[\w.-]+$/.test(name)) && new Set(['default', ...names]).size === names.length + 1) ||
    node._('inventory.check.sets')
  );
}

const parseSetNames = (text: string): string[] => text.split(/[\s,;]+/).filter((name) => name !== '');

function getJsonKind(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? 'list' : typeof value === 'object' && value !== null ? 'object' : 'other';
  } catch {
    return 'none';
  }
}

/** Adds the inputs of all sets to the template as text, because most pages never open this dialog. */
export function addCredentialSetsToTemplate(): void {
  RED.events.on('registry:node-type-added', (type) => {
    if (type !== 'gateway-inventory') return;
    const template = $('script[data-template-name="gateway-inventory"]');
    template.text((template.html() ?? '').replace(SETS_TAG, () => SETS_TAG + setNumbers.map(createSetForm).join('')));
  });
}

const SETS_TAG = '<div data-secrets="node" class="gateway-sets">';

function createSetForm(set: number): string {
  const rows = SET_FIELDS.map(([name, type, labelKey]) => {
    const id = `node-config-input-${toCredentialName(name, set)}`;
    return `<div class="form-row gateway-row"><label for="${id}"><span data-i18n="${labelKey}"></span></label><div><input type="${type}" id="${id}"></div></div>`;
  });
  const moreFields = `<details class="gateway-fold"><summary data-i18n="inventory.set-more"></summary>${rows.slice(VISIBLE_FIELDS).join('')}</details>`;
  return `<fieldset class="gateway-set" data-set="${set}"><legend></legend>${rows.slice(0, VISIBLE_FIELDS).join('')}${moreFields}</fieldset>`;
}

/** Shows the rows for the selected sources, the error below each input, and the deployed state. */
export function openInventoryDialog(node: RedNode): void {
  setEditedConfigNode(node);
  for (const [property, defaultValue] of [
    ['source', 'file'],
    ['secrets', 'node'],
  ] as const)
    if (!findConfigDialogInput(property).val()) findConfigDialogInput(property).val(defaultValue);
  for (const property of ['list', 'defaults']) {
    findConfigDialogInput(property).typedInput({ types: ['json'] });
    labelTypedInput(findConfigDialogInput(property));
  }
  labelFormButtons();
  const show = (): void => {
    for (const property of ['source', 'secrets']) {
      $(`[data-${property}]`).each(
        (_index, element) => void $(element).toggle(element.dataset[property] === findConfigDialogInput(property).val()),
      );
    }
    const secrets = String(findConfigDialogInput('secrets').val());
    renderMarkup($('#gateway-secrets-note'), node._(`inventory.secrets-${secrets}-help`));
    const names = ['default', ...parseSetNames(String(findConfigDialogInput('sets').val() ?? ''))];
    $('.gateway-set').each((set, element) => {
      const name = names[set];
      $(element)
        .toggle(name !== undefined)
        .find('legend')
        .text(name === undefined ? '' : node._('inventory.set', { name }));
    });
    for (const property of CHECKED_PROPERTIES)
      showError($(`[data-error="${property}"]`), checkInventory(node, findConfigDialogInput(property).val(), property));
    RED.tray.resize();
  };
  for (const property of ['source', 'secrets', ...CHECKED_PROPERTIES]) findConfigDialogInput(property).on('change input', show);
  show();
  void showDeployedState(node);
  $('#gateway-test-all').on('click', () => void testAllAppliances(node));
}

/** Creates signing keys for the sets that the node stores. */
export function saveInventoryDialog(): void {
  if (findConfigDialogInput('secrets').val() !== 'folder' && findConfigDialogInput('secrets').val() !== 'environment') {
    const names = ['default', ...parseSetNames(String(findConfigDialogInput('sets').val() ?? ''))];
    for (const set of setNumbers.slice(0, names.length)) {
      const input = findConfigDialogInput(toCredentialName('signingKey', set));
      if (!input.val()) input.val(createSigningKey());
    }
  }
  closeInventoryDialog();
}

export function closeInventoryDialog(): void {
  setEditedConfigNode(undefined);
}

export function getInventoryLabel(node: RedNode): string {
  return node.name || readTextProperty(node.file).split(/[\\/]/).pop() || node._('inventory.label');
}

/** Shows the number of deployed appliances, or the error in the file. */
async function showDeployedState(node: RedNode): Promise<void> {
  const container = $('.gateway-inventory-state');
  const answer = await postJson(node, 'gateway-inventory/list', { id: node.id });
  if (!answer.ok) return void renderMarkup(container, node._('inventory.not-deployed'));
  const tags = (answer.tags as { value: string; count: number }[]).map(({ value, count }) => `${value} (${count})`).join(', ');
  const count = formatPlural(node, 'inventory.there', Number(answer.total));
  const text = tags ? `${count} ${node._('inventory.tags', { tags })}` : count;
  renderMarkup(container, typeof answer.fault === 'string' ? `${answer.fault} ${text}` : text).toggleClass(
    'gateway-error',
    answer.fault !== undefined,
  );
}

interface TestRow {
  appliance: string;
  ok: boolean;
  code?: string;
  message?: string;
  system?: { host?: string; release?: string; serial?: string };
  same?: string;
}

/** Collects the values of the dialog. Unchanged secrets are the placeholder of Node-RED. */
function collectValues(node: RedNode): Record<string, unknown> {
  const properties = Object.fromEntries(TESTED_PROPERTIES.map((property) => [property, readConfigDialogText(property)]));
  const credentials = Object.fromEntries(
    Object.keys(inventoryCredentials).map((name) => [name, String(findConfigDialogInput(name).val() ?? '')]),
  );
  return { id: node.id, ...properties, credentials, nodes: collectDraftNodes(properties['tls'], properties['proxy']) };
}

async function testAllAppliances(node: RedNode): Promise<void> {
  const button = $('#gateway-test-all').prop('disabled', true);
  const container = $('.gateway-test-all-place').text(node._('inventory.testing'));
  const answer = await postJson(node, 'gateway-inventory/test', collectValues(node));
  button.prop('disabled', false);
  container.empty();
  if (answer.ok) showTable(node, container, answer);
  else showError($('<div class="gateway-error">').appendTo(container), answer.message);
  RED.tray.resize();
  // The result is below the visible part of a long dialog.
  container[0]?.scrollIntoView({ block: 'nearest' });
}

/** Shows the results as plain text, never HTML, because parts of them come from the network. */
function showTable(node: RedNode, container: JQuery, answer: Extract<ApiResult, { ok: true }>): void {
  const { total, well } = answer;
  $('<div class="gateway-note">')
    .text(formatPlural(node, 'inventory.tested', Number(total), { well: Number(well) }))
    .appendTo(container);
  const table = $('<table class="gateway-table">').appendTo(container);
  for (const { appliance, ok, code, message, system, same } of answer.rows as TestRow[]) {
    const text = ok
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
      .append($('<th scope="row">').text(appliance), $('<td>').text(text))
      .appendTo(table);
  }
}
