import {
  checkMaxConnections,
  checkCredential,
  checkRateLimit,
  checkRealm,
  checkTimeoutSeconds,
  checkUrl,
  checkMaxQueued,
} from './appliance-validators';
import { labelFormButtons } from '../fields/row-elements';
import { createSigningKey, getConfigDialogValue, setEditedConfigNode } from '../dialog-state';
import { attachRehearsalButtons } from './rehearsal-buttons';
import { finishConnectionTest, attachTestButton } from './test-connection-button';
import { openRecipes } from '../sidebar-tab';
import { isVariableReference, renderMarkup, showError } from '../text';

type Check = (node: RedNode, value: unknown, property: string) => true | string;

const checkByProperty: Record<string, Check> = {
  url: checkUrl,
  realm: checkRealm,
  timeout: checkTimeoutSeconds,
  transferTimeout: checkTimeoutSeconds,
  connections: checkMaxConnections,
  rate: checkRateLimit,
  waiting: checkMaxQueued,
  username: checkCredential,
  password: checkCredential,
  secondUsername: checkCredential,
  secondPassword: checkCredential,
  totpSecret: checkCredential,
  apiKey: checkCredential,
};
/** A new dialog shows no errors for empty inputs until they were used. */
const touchedProperties = new Set<string>();

/** Secrets that are stored for another address than the one in the dialog. */
const propertiesToReenter = new Set<string>();
const STORED_SECRET = '__PWRD__';

const input = (property: string): JQuery => $(`#node-config-input-${property}`);

/** Shows the rows for the selected login, and the error below each input. */
export function openApplianceDialog(node: RedNode): void {
  setEditedConfigNode(node);
  labelFormButtons();
  if (!input('login').val()) input('login').val('realm');
  if (!input('secondFactor').val()) input('secondFactor').val('none');
  if (!input('permissions').val()) input('permissions').val('full');
  touchedProperties.clear();
  propertiesToReenter.clear();
  input('login')
    .add(input('secondFactor'))
    .on('change', () => showRows(node));
  for (const property of Object.keys(checkByProperty)) {
    input(property).on('change input', function () {
      // Node-RED sets this attribute on the events with which it fills the form.
      if (!$(this).attr('skipValidation')) touchedProperties.add(property);
      showPropertyError(node, property);
    });
  }
  input('url').on('change input', () => requireSecretsAgain(node));
  showRows(node);
  openFolds(node);
  attachTestButton(node);
  // A recipe refers to the appliance, so it must be there.
  $('#gateway-recipes')
    .toggle(RED.nodes.node(node.id) !== null)
    .on('click', () => openRecipes(node));
  attachRehearsalButtons(node);
}

/** Trims the address, because a copied address often has spaces around it, and creates a signing key for a new appliance. */
export function saveApplianceDialog(_node: RedNode): void {
  input('url').val(String(input('url').val() ?? '').trim());
  if (!input('signingKey').val()) input('signingKey').val(createSigningKey());
  finishConnectionTest(true);
  setEditedConfigNode(undefined);
}

export function closeApplianceDialog(): void {
  finishConnectionTest(false);
  setEditedConfigNode(undefined);
}

export function getApplianceLabel(node: RedNode): string {
  if (node.name) return node.name;
  const url = typeof node.url === 'string' ? node.url : '';
  return url.replace(/^https?:\/\//, '').replace(/\/+$/, '') || node._('appliance.label');
}

/** Stored secrets are sent only to the address that they were entered for. Clears them for another address. */
function requireSecretsAgain(node: RedNode): void {
  const isSameOrigin = toOrigin(input('url').val()) === toOrigin(node.url);
  for (const property of ['password', 'secondPassword', 'totpSecret', 'apiKey']) {
    const value = input(property).val();
    if (!isSameOrigin && value === STORED_SECRET) propertiesToReenter.add(property);
    else if (!(isSameOrigin && value === '' && propertiesToReenter.delete(property))) continue;
    input(property).val(isSameOrigin ? STORED_SECRET : '');
    touchedProperties.add(property);
    showPropertyError(node, property);
  }
}

function toOrigin(url: unknown): unknown {
  return typeof url === 'string' && URL.canParse(url.trim()) ? new URL(url.trim()).origin : url;
}

function showPropertyError(node: RedNode, property: string): void {
  const value = String(input(property).val() ?? '');
  const verdict =
    isVariableReference(value) || (value === '' && !touchedProperties.has(property))
      ? true
      : checkByProperty[property]?.(node, value, property);
  if (value === '' && verdict !== true && propertiesToReenter.has(property))
    showError($(`[data-error="${property}"]`), node._('check.again'));
  else showError($(`[data-error="${property}"]`), verdict);
}

function showRows(node: RedNode): void {
  const login = String(getConfigDialogValue(node, 'login'));
  const factor = String(getConfigDialogValue(node, 'secondFactor'));
  $('.gateway-form-config [data-when]').each((_index, element) => {
    const { when = '', factor: factors } = element.dataset;
    const isShown = when.split(' ').includes(login) && (factors === undefined || factors.split(' ').includes(factor));
    $(element).toggle(isShown);
  });
  renderMarkup($('#gateway-login-note'), node._(`appliance.login-${login}-help`));
  renderMarkup($('#gateway-factor-note'), factor === 'none' ? '' : node._(`appliance.second-${factor}-help`));
  for (const property of Object.keys(checkByProperty)) showPropertyError(node, property);
}

const ADVANCED_DEFAULTS = {
  timeout: 30,
  transferTimeout: 600,
  connections: 8,
  vendor: '',
  brand: '',
  journal: '',
  log: false,
  dryRun: false,
  rehearsal: '',
};
const GUARD_DEFAULTS = { permissions: 'full', pin: '', rate: '', waiting: '' };

/** Opens a collapsible section if one of its values is not the default. */
function openFolds(node: RedNode): void {
  const isChanged = (defaults: Readonly<Record<string, unknown>>): boolean =>
    Object.entries(defaults).some(([property, value]) => Boolean(node[property]) && node[property] != value);
  $('.gateway-advanced').prop('open', isChanged(ADVANCED_DEFAULTS));
  $('.gateway-guards').prop('open', isChanged(GUARD_DEFAULTS));
}
