import type { ApiResult } from '../api';
import { findPollingSeconds } from './polling-interval';
import { trustCertificate, type TrustProposal } from './trust-certificate';
import { describePin } from './pin-appliance';
import { formatPlural, renderMarkup } from '../text';
import type { ConnectionTestOptions } from './types';

interface CertificateInfo {
  subject: string;
  issuer: string;
  fingerprint256: string;
  days: number;
  'valid-to': string;
}

interface UntrustedCertificateChain {
  chain: CertificateInfo[];
  names: string[];
  trust?: TrustProposal;
  hinders?: 'dates' | 'names';
}

/** Number of the latest run. Responses to earlier runs are ignored. */
let latestRun = 0;

/** Tests the values of the dialog and shows the system, or the error and its remedy. */
export async function runConnectionTest(options: ConnectionTestOptions): Promise<void> {
  const { node, button, container, post, getValues } = options;
  const run = (latestRun += 1);
  const isLatest = (): boolean => run === latestRun && container[0]?.isConnected === true;
  button.prop('disabled', true).addClass('disabled');
  const resultBox = new ResultBox(container);
  resultBox.title('', 'fa-circle-o-notch fa-spin', node._('test.running'));
  const answer = await post(node, 'test', getValues());
  if (!isLatest()) return;
  button.prop('disabled', false).removeClass('disabled');
  if (!answer.ok) {
    showFailure(options, resultBox, answer);
    return;
  }
  showSystem(node, resultBox, answer);
  resultBox.reveal();
  const account = await post(node, 'account', { appliance: getValues() });
  if (isLatest() && account.ok) showAccount(options, resultBox, account);
  resultBox.reveal();
}

/** Shows the result below the button as plain text, never HTML, because parts come from the network. */
class ResultBox {
  constructor(private readonly container: JQuery) {}

  title(style: string, icon: string, text: string): void {
    this.container.empty().removeClass('gateway-good gateway-bad').addClass(`gateway-shown ${style}`);
    $('<div class="gateway-test-heading">')
      .append($('<i aria-hidden="true">').addClass(`fa ${icon}`), ' ', document.createTextNode(text))
      .appendTo(this.container);
  }

  text(markup: string, style = ''): void {
    if (markup !== '') renderMarkup($('<div class="gateway-test-text">'), markup).addClass(style).appendTo(this.container);
  }

  add(element: JQuery): void {
    element.appendTo(this.container);
  }

  reveal(): void {
    RED.tray.resize();
    this.container[0]?.scrollIntoView({ block: 'nearest' });
  }
}

function showSystem(node: RedNode, box: ResultBox, answer: ApiResult & { ok: true }): void {
  const system = answer.system as Partial<Record<'host-name' | 'hardware-model' | 'os-version' | 'serial-number' | 'machine-id', string>>;
  const host = system['host-name'] || node._('test.the-appliance');
  box.title('gateway-good', 'fa-check-circle', node._('test.good', { host, ms: Math.round(Number(answer.ms)) }));
  box.text([system['hardware-model'], system['os-version']].filter(Boolean).join(', '));
  box.text(system['serial-number'] ? node._('test.serial', { serial: system['serial-number'] }) : '');
  const { text, isWarning, button } = describePin(
    node,
    [system['serial-number'], system['machine-id']].filter((name): name is string => Boolean(name)),
  );
  box.text(text, isWarning ? 'gateway-warning' : '');
  if (button) box.add($('<div class="gateway-test-text">').append(button));
}

/** Largest difference of clocks that does not affect one-time codes. */
const MAX_SAME_CLOCK_SECONDS = 5;
const MIN_FAR_CLOCK_SECONDS = 30;

function showAccount({ node, getValues }: ConnectionTestOptions, box: ResultBox, answer: Record<string, unknown>): void {
  const { clock, role, writes, idle, reads, denied } = answer as {
    clock?: number;
    role?: string;
    writes?: boolean;
    idle?: number;
    reads: string[];
    denied: string[];
  };
  const parts = (names: string[]): string => names.map((name) => node._(`test.part.${name}`)).join(', ');
  if (clock !== undefined) {
    const isFarOff = Math.abs(clock) >= MIN_FAR_CLOCK_SECONDS && getValues().secondFactor === 'totp';
    const clockState = Math.abs(clock) <= MAX_SAME_CLOCK_SECONDS ? 'same' : clock > 0 ? 'ahead' : 'behind';
    box.text(node._(`test.clock.${clockState}`, { s: Math.abs(clock) }));
    if (isFarOff) box.text(node._('test.clock.codes'), 'gateway-warning');
  }
  if (role !== undefined) box.text(node._(`test.role.${writes === undefined ? 'some' : writes ? 'writes' : 'reads'}`, { role }));
  else box.text(node._('test.role.unknown'));
  if (reads.length > 0) box.text(node._('test.may-read', { parts: parts(reads) }));
  if (denied.length > 0) box.text(node._('test.may-not-read', { parts: parts(denied) }), 'gateway-warning');
  if (idle === undefined) return;
  const pollingSeconds = findPollingSeconds(node.id);
  const isTooShort = pollingSeconds !== undefined && pollingSeconds > idle * 60;
  box.text(
    formatPlural(node, isTooShort ? 'test.idle.short' : 'test.idle.limit', idle, { every: pollingSeconds ?? 0 }),
    isTooShort ? 'gateway-warning' : '',
  );
}

function showFailure(options: ConnectionTestOptions, box: ResultBox, answer: ApiResult & { ok: false }): void {
  const { node, heading } = options;
  box.title('gateway-bad', 'fa-times-circle', heading(node, answer));
  box.text(answer.message);
  const { shown } = answer as { shown?: UntrustedCertificateChain };
  if (shown) showChain(options, box, shown);
  else if (answer.code === 'TLS') box.text(node._('test.advice-tls'));
  box.reveal();
}

/** Shows the certificate chain, so that a person can compare fingerprints. */
function showChain(options: ConnectionTestOptions, box: ResultBox, { chain, names, trust, hinders }: UntrustedCertificateChain): void {
  const { node, undoSteps } = options;
  const list = $('<ol class="gateway-chain">');
  for (const { subject, issuer, fingerprint256, days, 'valid-to': until } of chain) {
    const validity = formatPlural(node, days < 0 ? 'trust.expired' : 'trust.days', Math.abs(days), { until: until.slice(0, 10) });
    const lines = [node._('trust.issuer', { issuer: issuer === subject ? node._('trust.itself') : issuer }), validity];
    const item = $('<li>').append($('<b>').text(subject), ...lines.map((line) => $('<div>').text(line)));
    item.append($('<div>').text(node._('trust.fingerprint')), $('<code>').text(fingerprint256)).appendTo(list);
  }
  box.add(list);
  if (hinders) box.text(node._(`trust.hinders.${hinders}`, { names: names.join(', ') }), 'gateway-warning');
  if (!trust) return;
  if (trust.servername !== undefined) box.text(node._('trust.other-name', { name: trust.servername }), 'gateway-warning');
  box.text(node._('trust.compare'));
  const button = $('<button type="button" class="red-ui-button gateway-trust">').text(node._('trust.button'));
  button.on('click', () => {
    void trustCertificate(node, trust, undoSteps).then((id) => {
      if (id !== undefined) void runConnectionTest(options);
      else box.text(node._('trust.files'), 'gateway-warning');
    });
  });
  box.add($('<div class="gateway-test-text">').append(button));
  box.text(node._(trust.itself ? 'trust.makes-itself' : 'trust.makes'));
}
