// @ts-check
// gateway.html: one shared script, one template and one registration for each node type.
import { firstOperation, mayWrite, secretsOf } from './table.mjs';

/** @import { Area } from '../../src/model/operation.js' */

/** Much of it stands there once for each node type. @param {string} html */
const unindented = (html) => html.replace(/\n +/g, '\n');
const json = (/** @type {unknown} */ value) => JSON.stringify(value).replaceAll('</', '<\\/');

/** @param {string} id @param {string} icon @param {string} key */
function label(id, icon, key) {
  return `<label for="${id}"><i class="fa ${icon}"></i> <span data-i18n="${key}"></span></label>`;
}

/** What Node-RED reads and stores by itself; the rows of the fields are made by the script. @param {Area} area */
function secretInputs(area) {
  return secretsOf(area)
    .map((name) => `\n    <input type="password" id="node-input-${name}" class="gateway-hidden">`)
    .join('');
}

const approvalRows = `
  <div class="gateway-approval">
  <div class="form-row gateway-row gateway-check">
    <input type="checkbox" id="node-input-approval">
    <label for="node-input-approval"><span data-i18n="action.approval"></span><span class="gateway-note" data-i18n="action.approval-help"></span></label>
  </div>
  <div class="form-row gateway-row gateway-approval-minutes">
    ${label('node-input-approvalMinutes', 'fa-clock-o', 'action.approval-minutes')}
    <div><input type="text" id="node-input-approvalMinutes" style="width: 6em"> <span data-i18n="action.minutes"></span></div>
  </div>
  </div>`;

const everyRow = `
  <div class="form-row gateway-row">
    ${label('node-input-every', 'fa-refresh', 'action.every')}
    <div>
      <input type="text" id="node-input-every" style="width: 6em"> <span data-i18n="action.seconds"></span>
      <div class="gateway-note" data-i18n="action.every-help"></div>
    </div>
  </div>`;

const dryRunRow = `
  <div class="form-row gateway-row gateway-check gateway-dry-run">
    <input type="checkbox" id="node-input-dryRun">
    <label for="node-input-dryRun"><span data-i18n="action.dry-run"></span><span class="gateway-note" data-i18n="action.dry-run-help"></span></label>
  </div>`;

const previewRow = `
  <div class="form-row gateway-preview">
    <button type="button" id="gateway-preview" class="red-ui-button"><i class="fa fa-eye"></i> <span data-i18n="preview.button"></span></button>
    <div class="gateway-preview-place"></div>
  </div>`;

/** A login would be one, and what events of its own come of is not told by one message. @param {Area} area */
const hasPreview = (area) => area.name !== 'login' && !area.events && mayWrite(area);

/** @param {Area} area */
function actionTemplate(area) {
  return `<script type="text/html" data-template-name="gateway-${area.name}">
<div class="gateway-form">
  <div class="form-row gateway-row">
    ${label('node-input-name', 'fa-tag', 'common.name')}
    <div><input type="text" id="node-input-name" data-i18n="[placeholder]common.name"></div>
  </div>
  <div class="form-row gateway-row">
    ${label('node-input-appliance', 'fa-server', 'action.appliance')}
    <div>
      <div class="gateway-appliance"><input type="text" id="node-input-appliance" style="width: 100%"></div>
      <input type="hidden" id="node-input-applianceFrom">
      <label class="gateway-inline"><input type="checkbox" id="gateway-by-message"> <span data-i18n="action.by-message"></span></label>
      <div class="gateway-note gateway-by-message-note" data-i18n="action.by-message-help"></div>
    </div>
  </div>
  <div class="form-row gateway-row">
    ${label('node-input-operation', 'fa-cog', 'action.operation')}
    <div>
      <input type="text" id="node-input-operation" style="width: 100%">
      <input type="hidden" id="node-input-operationType">
      <div class="gateway-error gateway-operation-error"></div>
      <div class="gateway-about"></div>
    </div>
  </div>
  <div class="form-row gateway-row gateway-check gateway-allow-destroy">
    <input type="checkbox" id="node-input-allowDestroy">
    <label for="node-input-allowDestroy"><span data-i18n="action.allow-destroy"></span><span class="gateway-note" data-i18n="action.allow-destroy-help"></span></label>
  </div>
  <hr class="gateway-line gateway-before-fields">
  <div class="gateway-fields">${secretInputs(area)}
  </div>
  <hr class="gateway-line">
  <div class="form-row gateway-row">
    ${label('node-input-output', 'fa-sign-out', 'action.output')}
    <div>
      <input type="text" id="node-input-output" style="width: 100%">
      <div class="gateway-error gateway-output-error"></div>
      <div class="gateway-note" data-i18n="action.output-help"></div>
    </div>
  </div>
  <div class="form-row gateway-row">
    ${label('node-input-failures', 'fa-exclamation-circle', 'action.failures')}
    <div>
      <select id="node-input-failures">
        <option value="catch" data-i18n="action.failures-catch"></option>
        <option value="output" data-i18n="action.failures-output"></option>
      </select>
      <input type="hidden" id="node-input-outputs">
    </div>
  </div>${area.events ? everyRow : ''}${area.dryRun === false ? '' : dryRunRow}${mayWrite(area) ? approvalRows : ''}${hasPreview(area) ? previewRow : ''}
</div>
</script>`;
}

/**
 * A literal call with a literal object: tools that judge packages read it without running it. `outputs` outside of the defaults is the
 * most ports there can be: Node-RED cuts the wires beyond it off a node that does not tell its number (see `old-flows.ts`).
 * @param {Area} area
 */
function actionRegistration(area) {
  const secrets = secretsOf(area);
  const approval = mayWrite(area)
    ? `      approval: { value: false },
      approvalMinutes: { value: 60, validate: function (value, opt) { return gatewayEditor.checkMinutes(this, value, opt); } },\n`
    : '';
  const every = area.events
    ? `      every: { value: ${area.events.every}, validate: function (value, opt) { return gatewayEditor.checkEvery(this, value, opt); } },\n`
    : '';
  const credentials = secrets.map((name) => `      ${json(name)}: { type: 'password' }`).join(',\n');
  return `<script type="text/javascript">
  RED.nodes.registerType('gateway-${area.name}', {
    category: 'gateway',
    color: '${area.color}',
    icon: '${area.icon}',
    paletteLabel: function () { return this._('${area.name}.palette'); },
    defaults: {
      name: { value: '' },
      appliance: { value: '', type: 'gateway-appliance', validate: function (value, opt) { return gatewayEditor.checkAppliance(this, value, opt); } },
      applianceFrom: { value: '' },
      operation: { value: '${firstOperation(area)}', validate: function (value, opt) { return gatewayEditor.checkOperation(this, value, opt); } },
      operationType: { value: 'op' },
      fields: { value: {}, validate: function (value, opt) { return gatewayEditor.checkFields(this, value, opt); } },
      output: { value: 'payload', validate: function (value, opt) { return gatewayEditor.checkOutput(this, value, opt); } },
      failures: { value: 'catch' },
      dryRun: { value: false },
      allowDestroy: { value: false },
${approval}${every}      outputs: { value: ${area.events ? 2 : 1} }
    },
    credentials: {${credentials ? `\n${credentials}\n    ` : ''}},
    inputs: 1,
    outputs: ${2 + Number(mayWrite(area)) + Number(area.events !== undefined)},
    inputLabels: function () { return gatewayEditor.inputLabel(this); },
    outputLabels: function (index) { return gatewayEditor.outputLabel(this, index); },
    label: function () { return gatewayEditor.label(this); },
    labelStyle: function () { return this.name ? 'node_label_italic' : ''; },
    onadd: function () { gatewayEditor.addAction(this); },
    oneditprepare: function () { gatewayEditor.openAction(this); },
    oneditsave: function () { return gatewayEditor.saveAction(this); },
    oneditcancel: function () { gatewayEditor.closeAction(); }
  });
</script>`;
}

const applianceRegistration = `<script type="text/javascript">
  RED.nodes.registerType('gateway-appliance', {
    category: 'config',
    hasUsers: false,
    defaults: {
      name: { value: '' },
      url: { value: '', required: true, validate: function (value, opt) { return gatewayEditor.checkUrl(this, value, opt); } },
      login: { value: 'realm' },
      realm: { value: '', validate: function (value, opt) { return gatewayEditor.checkRealm(this, value, opt); } },
      secondFactor: { value: 'none' },
      tls: { value: '', type: 'tls-config', required: false },
      proxy: { value: '', type: 'http proxy', required: false },
      timeout: { value: 30, validate: function (value, opt) { return gatewayEditor.checkSeconds(this, value, opt); } },
      journal: { value: '' },
      transferTimeout: { value: 600, validate: function (value, opt) { return gatewayEditor.checkSeconds(this, value, opt); } },
      connections: { value: 8, validate: function (value, opt) { return gatewayEditor.checkConnections(this, value, opt); } },
      vendor: { value: '' },
      brand: { value: '' },
      dryRun: { value: false }
    },
    credentials: {
      username: { type: 'text', validate: function (value, opt) { return gatewayEditor.checkCredential(this, value, 'username'); } },
      password: { type: 'password', validate: function (value, opt) { return gatewayEditor.checkCredential(this, value, 'password'); } },
      secondUsername: { type: 'text', validate: function (value, opt) { return gatewayEditor.checkCredential(this, value, 'secondUsername'); } },
      secondPassword: { type: 'password', validate: function (value, opt) { return gatewayEditor.checkCredential(this, value, 'secondPassword'); } },
      totpSecret: { type: 'password', validate: function (value, opt) { return gatewayEditor.checkCredential(this, value, 'totpSecret'); } },
      apiKey: { type: 'password', validate: function (value, opt) { return gatewayEditor.checkCredential(this, value, 'apiKey'); } }
    },
    label: function () { return gatewayEditor.applianceLabel(this); },
    labelStyle: function () { return this.name ? 'node_label_italic' : ''; },
    oneditprepare: function () { gatewayEditor.openAppliance(this); },
    oneditsave: function () { gatewayEditor.saveAppliance(this); },
    oneditcancel: function () { gatewayEditor.closeAppliance(); }
  });
</script>`;

const watchCheck = (/** @type {string} */ property) =>
  `validate: function (value, opt) { return gatewayEditor.checkWatch(this, value, '${property}', opt); }`;

const watchRegistration = `<script type="text/javascript">
  RED.nodes.registerType('gateway-watch', {
    category: 'gateway',
    color: '#E2D96E',
    icon: 'gateway-watch.svg',
    paletteLabel: function () { return this._('watch.palette'); },
    defaults: {
      name: { value: '' },
      appliance: { value: '', type: 'gateway-appliance', validate: function (value, opt) { return gatewayEditor.checkAppliance(this, value, opt); } },
      watch: { value: 'sessions' },
      every: { value: 60, ${watchCheck('every')} },
      limits: { value: '', ${watchCheck('limits')} },
      filter: { value: '', ${watchCheck('filter')} },
      days: { value: '', ${watchCheck('days')} },
      remember: { value: '' }
    },
    inputs: 1,
    outputs: 1,
    label: function () { return gatewayEditor.watchLabel(this); },
    labelStyle: function () { return this.name ? 'node_label_italic' : ''; },
    onadd: function () { gatewayEditor.addAction(this); },
    oneditprepare: function () { gatewayEditor.openWatch(this); },
    oneditsave: function () { gatewayEditor.closeWatch(); },
    oneditcancel: function () { gatewayEditor.closeWatch(); }
  });
</script>`;

/**
 * The whole file that Node-RED sends to the browser.
 * @param {{ areas: readonly Area[], table: object, script: string, style: string, appliance: string, watch: string }} parts
 */
export function buildHtml({ areas, table, script, style, appliance, watch }) {
  const shared = `${script.trimEnd()}\ngatewayEditor.start(${json(table)});`.replaceAll('</script', '<\\/script');
  const html = [
    `<style>\n${style.trim()}\n</style>`,
    `<script type="text/javascript">\n${shared}\n</script>`,
    `<script type="text/html" data-template-name="gateway-appliance">\n${appliance.trim()}\n</script>`,
    applianceRegistration,
    ...areas.flatMap((area) => [actionTemplate(area), actionRegistration(area)]),
    `<script type="text/html" data-template-name="gateway-watch">\n${unindented(watch.trim())}\n</script>`,
    watchRegistration,
  ];
  return `${unindented(html.join('\n'))}\n`;
}
