import { checkConnections, checkCredential, checkRate, checkRealm, checkSeconds, checkUrl, checkWaiting } from './appliance-check';
import { nameForm } from './row';
import { liveConfig, setOpenConfig } from './state';
import { closeTest, openTest } from './test-connection';
import { isVariable, prose, tell } from './words';

type Check = (node: RedNode, value: unknown, property: string) => true | string;

const checks: Record<string, Check> = {
  url: checkUrl,
  realm: checkRealm,
  timeout: checkSeconds,
  transferTimeout: checkSeconds,
  connections: checkConnections,
  rate: checkRate,
  waiting: checkWaiting,
  username: checkCredential,
  password: checkCredential,
  secondUsername: checkCredential,
  secondPassword: checkCredential,
  totpSecret: checkCredential,
  apiKey: checkCredential,
};
/** A form that was just opened for a new appliance is not full of reproaches: empty inputs are told of once they were used. */
const touched = new Set<string>();

/** Secrets that are stored for another address than the one that stands in the dialog. */
const again = new Set<string>();
const STORED = '__PWRD__';

const input = (property: string): JQuery => $(`#node-config-input-${property}`);

/** Shows the rows that the chosen login needs and says beneath an input what is wrong with it. */
export function openAppliance(node: RedNode): void {
  setOpenConfig(node);
  nameForm();
  if (!input('login').val()) input('login').val('realm');
  if (!input('secondFactor').val()) input('secondFactor').val('none');
  if (!input('permissions').val()) input('permissions').val('full');
  touched.clear();
  again.clear();
  input('login')
    .add(input('secondFactor'))
    .on('change', () => showRows(node));
  for (const property of Object.keys(checks)) {
    input(property).on('change input', function () {
      // So Node-RED marks the events by which it only fills the form.
      if (!$(this).attr('skipValidation')) touched.add(property);
      showComplaint(node, property);
    });
  }
  input('url').on('change input', () => askAgain(node));
  showRows(node);
  openFolds(node);
  openTest(node);
}

/** Spaces around an address come from copying it. */
export function saveAppliance(_node: RedNode): void {
  input('url').val(String(input('url').val() ?? '').trim());
  closeTest(true);
  setOpenConfig(undefined);
}

export function closeAppliance(): void {
  closeTest(false);
  setOpenConfig(undefined);
}

export function applianceLabel(node: RedNode): string {
  if (node.name) return node.name;
  const url = typeof node.url === 'string' ? node.url : '';
  return url.replace(/^https?:\/\//, '').replace(/\/+$/, '') || node._('appliance.label');
}

/** What is stored goes where it was entered for: for another address it is asked for again. */
function askAgain(node: RedNode): void {
  const same = originOf(input('url').val()) === originOf(node.url);
  for (const property of ['password', 'secondPassword', 'totpSecret', 'apiKey']) {
    const value = input(property).val();
    if (!same && value === STORED) again.add(property);
    else if (!(same && value === '' && again.delete(property))) continue;
    input(property).val(same ? STORED : '');
    touched.add(property);
    showComplaint(node, property);
  }
}

function originOf(url: unknown): unknown {
  return typeof url === 'string' && URL.canParse(url.trim()) ? new URL(url.trim()).origin : url;
}

function showComplaint(node: RedNode, property: string): void {
  const value = String(input(property).val() ?? '');
  const verdict = isVariable(value) || (value === '' && !touched.has(property)) ? true : checks[property]?.(node, value, property);
  if (value === '' && verdict !== true && again.has(property)) tell($(`[data-error="${property}"]`), node._('check.again'));
  else tell($(`[data-error="${property}"]`), verdict);
}

function showRows(node: RedNode): void {
  const login = String(liveConfig(node, 'login'));
  const factor = String(liveConfig(node, 'secondFactor'));
  $('.gateway-form-config [data-when]').each((_index, element) => {
    const { when = '', factor: factors } = element.dataset;
    const shown = when.split(' ').includes(login) && (factors === undefined || factors.split(' ').includes(factor));
    $(element).toggle(shown);
  });
  prose($('#gateway-login-note'), node._(`appliance.login-${login}-help`));
  prose($('#gateway-factor-note'), factor === 'none' ? '' : node._(`appliance.second-${factor}-help`));
  for (const property of Object.keys(checks)) showComplaint(node, property);
}

const ADVANCED = { timeout: 30, transferTimeout: 600, connections: 8, vendor: '', brand: '', journal: '', log: false, dryRun: false };
const GUARDS = { permissions: 'full', pin: '', rate: '', waiting: '' };

/** A fold opens by itself where something in it is not as it comes. */
function openFolds(node: RedNode): void {
  const changed = (usual: Readonly<Record<string, unknown>>): boolean =>
    Object.entries(usual).some(([property, value]) => Boolean(node[property]) && node[property] != value);
  $('.gateway-advanced').prop('open', changed(ADVANCED));
  $('.gateway-guards').prop('open', changed(GUARDS));
}
