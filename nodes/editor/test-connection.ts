import { headingOf } from './asking';
import { prose } from './words';

/** Answer of `POST gateway-appliance/test`. */
type Answer =
  | { ok: true; system: Partial<Record<'host-name' | 'hardware-model' | 'os-version' | 'serial-number', string>>; ms: number }
  | { ok: false; code: string; reason?: string; message: string };

const properties = [
  'name',
  'url',
  'login',
  'realm',
  'secondFactor',
  'tls',
  'proxy',
  'timeout',
  'transferTimeout',
  'connections',
  'vendor',
  'brand',
];
const credentials = ['username', 'password', 'secondUsername', 'secondPassword', 'totpSecret', 'apiKey'];

/** Latest press of the button; the answer to an earlier one comes too late. */
let latest = 0;

export function openTest(node: RedNode): void {
  latest += 1;
  $('#gateway-test').on('click', () => test(node));
}

function test(node: RedNode): void {
  const run = (latest += 1);
  const button = $('#gateway-test').prop('disabled', true).addClass('disabled');
  show('', 'fa-circle-o-notch fa-spin', node._('test.running'), []);
  $.ajax({
    url: 'gateway-appliance/test',
    method: 'POST',
    contentType: 'application/json',
    data: JSON.stringify(values(node)),
    dataType: 'json',
  })
    .done((answer: Answer) => run === latest && showAnswer(node, answer))
    .fail((request) => run === latest && showFailure(node, request))
    .always(() => {
      if (run === latest) button.prop('disabled', false).removeClass('disabled');
    });
}

/** What the dialog holds now. Secrets that were not touched travel as Node-RED's placeholder. */
function values(node: RedNode): Record<string, unknown> {
  const read = (property: string): string => {
    const value = $(`#node-config-input-${property}`).val();
    return value === undefined || value === '_ADD_' ? '' : String(value);
  };
  return {
    id: node.id,
    ...Object.fromEntries(properties.map((property) => [property, read(property)])),
    url: read('url').trim(),
    dryRun: $('#node-config-input-dryRun').prop('checked') === true,
    credentials: Object.fromEntries(credentials.map((name) => [name, read(name)])),
  };
}

function showAnswer(node: RedNode, answer: Answer): void {
  if (!answer.ok) {
    show('gateway-bad', 'fa-times-circle', headingOf(node, answer), [answer.message, advice(node, answer.code)]);
    return;
  }
  const { system } = answer;
  const model = [system['hardware-model'], system['os-version']].filter(Boolean).join(', ');
  const serial = system['serial-number'] ? node._('test.serial', { serial: system['serial-number'] }) : '';
  const good = node._('test.good', { host: system['host-name'] || node._('test.the-appliance'), ms: Math.round(answer.ms) });
  show('gateway-good', 'fa-check-circle', good, [model, serial]);
}

function advice(node: RedNode, code: string): string {
  return code === 'TLS' ? node._('test.advice-tls') : '';
}

function showFailure(node: RedNode, request: JQuery.jqXHR): void {
  const denied = request.status === 401 || request.status === 403;
  const text = denied ? node._('test.denied-help') : node._('test.unreachable-help');
  show('gateway-bad', 'fa-times-circle', node._(denied ? 'test.denied' : 'test.unreachable'), [text]);
}

/** Everything as text: parts of it come from the network. */
function show(style: string, icon: string, title: string, texts: string[]): void {
  const box = $('.gateway-test-result').empty().removeClass('gateway-good gateway-bad').addClass(`gateway-shown ${style}`);
  $('<div class="gateway-test-heading">')
    .append($('<i>', { class: `fa ${icon}` }), ' ', document.createTextNode(title))
    .appendTo(box);
  for (const text of texts.filter(Boolean)) prose($('<div class="gateway-test-text">'), text).appendTo(box);
  RED.tray.resize();
  box[0]?.scrollIntoView({ block: 'nearest' });
}
