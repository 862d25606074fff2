import type { Answer } from './asking';
import { polling } from './late-polling';
import { makeTls, type Trust } from './late-trust';
import { aboutPin } from './late-pin';
import { counted, prose } from './words';

/** What the test of one appliance's dialog is made with. */
export interface TestOpening {
  readonly node: RedNode;
  /** Takes how to undo what is made here besides the appliance. */
  readonly made: (() => void)[];
  readonly place: JQuery;
  readonly button: JQuery;
  /** What the dialog holds now. */
  readonly values: () => Record<string, unknown>;
  readonly ask: (node: RedNode, route: string, body: Record<string, unknown>) => Promise<Answer>;
  readonly heading: (node: RedNode, answer: { code: string; reason?: string }) => string;
}

interface Certificate {
  subject: string;
  issuer: string;
  fingerprint256: string;
  days: number;
  'valid-to': string;
}

interface Shown {
  chain: Certificate[];
  names: string[];
  trust?: Trust;
  hinders?: 'dates' | 'names';
}

/** Latest press of the button; the answer to an earlier one comes too late. */
let latest = 0;

/** Tries what stands in the dialog, and tells what came of it: what the appliance is, or what to do. */
export async function openTest(opening: TestOpening): Promise<void> {
  const { node, button, place, ask, values } = opening;
  const run = (latest += 1);
  const isLatest = (): boolean => run === latest && place[0]?.isConnected === true;
  button.prop('disabled', true).addClass('disabled');
  const box = new Box(place);
  box.title('', 'fa-circle-o-notch fa-spin', node._('test.running'));
  const answer = await ask(node, 'test', values());
  if (!isLatest()) return;
  button.prop('disabled', false).removeClass('disabled');
  if (!answer.ok) {
    tellFault(opening, box, answer);
    return;
  }
  tellSystem(node, box, answer);
  box.seen();
  const account = await ask(node, 'account', { appliance: values() });
  if (isLatest() && account.ok) tellAccount(opening, box, account);
  box.seen();
}

/** The place below the button. Everything goes into it as text: parts of it come from the network. */
class Box {
  constructor(private readonly place: JQuery) {}

  title(style: string, icon: string, words: string): void {
    this.place.empty().removeClass('gateway-good gateway-bad').addClass(`gateway-shown ${style}`);
    $('<div class="gateway-test-heading">')
      .append($('<i aria-hidden="true">').addClass(`fa ${icon}`), ' ', document.createTextNode(words))
      .appendTo(this.place);
  }

  text(words: string, style = ''): void {
    if (words !== '') prose($('<div class="gateway-test-text">'), words).addClass(style).appendTo(this.place);
  }

  add(element: JQuery): void {
    element.appendTo(this.place);
  }

  seen(): void {
    RED.tray.resize();
    this.place[0]?.scrollIntoView({ block: 'nearest' });
  }
}

function tellSystem(node: RedNode, box: Box, answer: Answer & { ok: true }): void {
  const system = answer.system as Partial<Record<'host-name' | 'hardware-model' | 'os-version' | 'serial-number' | 'machine-id', string>>;
  const host = system['host-name'] || node._('test.the-appliance');
  box.title('gateway-good', 'fa-check-circle', node._('test.good', { host, ms: Math.round(Number(answer.ms)) }));
  box.text([system['hardware-model'], system['os-version']].filter(Boolean).join(', '));
  box.text(system['serial-number'] ? node._('test.serial', { serial: system['serial-number'] }) : '');
  const { words, warns, button } = aboutPin(
    node,
    [system['serial-number'], system['machine-id']].filter((name): name is string => Boolean(name)),
  );
  box.text(words, warns ? 'gateway-warning' : '');
  if (button) box.add($('<div class="gateway-test-text">').append(button));
}

/** Of a clock: seconds that make no difference to a one-time code. */
const CLOSE = 5;
const FAR = 30;

function tellAccount({ node, values }: TestOpening, box: Box, answer: Record<string, unknown>): void {
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
    const far = Math.abs(clock) >= FAR && values().secondFactor === 'totp';
    const which = Math.abs(clock) <= CLOSE ? 'same' : clock > 0 ? 'ahead' : 'behind';
    box.text(node._(`test.clock.${which}`, { s: Math.abs(clock) }));
    if (far) box.text(node._('test.clock.codes'), 'gateway-warning');
  }
  if (role !== undefined) box.text(node._(`test.role.${writes === undefined ? 'some' : writes ? 'writes' : 'reads'}`, { role }));
  else box.text(node._('test.role.unknown'));
  if (reads.length > 0) box.text(node._('test.may-read', { parts: parts(reads) }));
  if (denied.length > 0) box.text(node._('test.may-not-read', { parts: parts(denied) }), 'gateway-warning');
  if (idle === undefined) return;
  const every = polling(node.id);
  const short = every !== undefined && every > idle * 60;
  box.text(counted(node, short ? 'test.idle.short' : 'test.idle.limit', idle, { every: every ?? 0 }), short ? 'gateway-warning' : '');
}

function tellFault(opening: TestOpening, box: Box, answer: Answer & { ok: false }): void {
  const { node, heading } = opening;
  box.title('gateway-bad', 'fa-times-circle', heading(node, answer));
  box.text(answer.message);
  const { shown } = answer as { shown?: Shown };
  if (shown) tellChain(opening, box, shown);
  else if (answer.code === 'TLS') box.text(node._('test.advice-tls'));
  box.seen();
}

/** Who says that it is the appliance, so that a person can compare that with what the appliance's own pages show. */
function tellChain(opening: TestOpening, box: Box, { chain, names, trust, hinders }: Shown): void {
  const { node, made } = opening;
  const list = $('<ol class="gateway-chain">');
  for (const { subject, issuer, fingerprint256, days, 'valid-to': until } of chain) {
    const left = counted(node, days < 0 ? 'trust.expired' : 'trust.days', Math.abs(days), { until: until.slice(0, 10) });
    const lines = [node._('trust.issuer', { issuer: issuer === subject ? node._('trust.itself') : issuer }), left];
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
    void makeTls(node, trust, made).then((id) => {
      if (id !== undefined) void openTest(opening);
      else box.text(node._('trust.files'), 'gateway-warning');
    });
  });
  box.add($('<div class="gateway-test-text">').append(button));
  box.text(node._(trust.itself ? 'trust.makes-itself' : 'trust.makes'));
}
