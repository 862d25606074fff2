// @ts-check
// gateway.html: one shared script and one form of all action nodes, and a registration for each node type.
import { firstOperation, mayWrite, secretsOf } from './table.mjs';

/** @import { Area } from '../../src/model/operation.js' */

/** Every page of the editor has it. A line that a text goes on from begins with what belongs to the text. @param {string} html */
const unindented = (html) => html.replace(/(?<!\\)\n +/g, '\n');
const json = (/** @type {unknown} */ value) => JSON.stringify(value).replaceAll('</', '<\\/');

/**
 * The template of a type by its name alone, which is what Node-RED's runtime looks for: `form.ts` fills it from the one form of them all.
 * @param {Area} area
 */
const actionTemplate = (area) => `<script type="text/html" data-template-name="gateway-${area.name}">\n</script>`;

/**
 * A literal call with a literal object: tools that judge packages read it without running it. `outputs` outside of the defaults is the
 * most ports there can be: Node-RED cuts the wires beyond it off a node that does not tell its number (see `old-flows.ts`).
 * @param {Area} area
 */
function actionRegistration(area) {
  const secrets = secretsOf(area);
  const approval = mayWrite(area)
    ? `      approval: { value: false },
      approvalMinutes: { value: 60, validate: gatewayEditor.validators.minutes },\n`
    : '';
  const every = area.events ? `      every: { value: ${area.events.every}, validate: gatewayEditor.validators.every },\n` : '';
  const credentials = secrets.map((name) => `      ${json(name)}: { type: 'password' }`).join(',\n');
  return `<script type="text/javascript">
  RED.nodes.registerType('gateway-${area.name}', {
    category: 'gateway',
    color: '${area.color}',
    icon: '${area.icon}',
    paletteLabel: function () { return this._('${area.name}.palette'); },
    defaults: {
      name: { value: '' },
      appliance: { value: '', type: 'gateway-appliance', validate: gatewayEditor.validators.appliance },
      applianceFrom: { value: '' },
      inventory: { value: '', type: 'gateway-inventory', required: false, validate: gatewayEditor.validators.inventory },
      select: { value: '', validate: gatewayEditor.validators.select },
      selectType: { value: 'str' },
      atOnce: { value: 16, validate: gatewayEditor.validators.pace },
      canary: { value: '', validate: gatewayEditor.validators.pace },
      batch: { value: '', validate: gatewayEditor.validators.pace },
      maxFailures: { value: '', validate: gatewayEditor.validators.pace },
      maxAppliances: { value: '', validate: gatewayEditor.validators.pace },
      each: { value: false },
      data: { value: 'all' },
      operation: { value: '${firstOperation(area)}', validate: gatewayEditor.validators.operation },
      operationType: { value: 'op' },
      fields: { value: {}, validate: gatewayEditor.validators.fields },
      output: { value: 'payload', validate: gatewayEditor.validators.output },
      failures: { value: 'catch' },
      dryRun: { value: false },
      allowDestroy: { value: false },
${approval}${every}      outputs: { value: ${area.events ? 2 : 1} }
    },
    credentials: {${credentials ? `\n${credentials}\n    ` : ''}},
    inputs: 1,
    outputs: ${2 + Number(mayWrite(area)) + Number(area.events !== undefined)},
    autoedit: true,
    inputLabels: gatewayEditor.handlers.inputLabel,
    outputLabels: gatewayEditor.handlers.outputLabel,
    label: gatewayEditor.handlers.label,
    labelStyle: gatewayEditor.handlers.labelStyle,
    onadd: gatewayEditor.handlers.add,
    oneditprepare: gatewayEditor.handlers.prepare,
    oneditsave: gatewayEditor.handlers.save,
    oneditcancel: gatewayEditor.handlers.cancel
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
      dryRun: { value: false },
      log: { value: false },
      permissions: { value: 'full' },
      pin: { value: '' },
      rate: { value: '', validate: function (value, opt) { return gatewayEditor.checkRate(this, value, opt); } },
      waiting: { value: '', validate: function (value, opt) { return gatewayEditor.checkMaxQueued(this, value, opt); } }
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

const inventoryCheck = (/** @type {string} */ property) =>
  `validate: function (value, opt) { return gatewayEditor.checkInventory(this, value, '${property}', opt); }`;

const inventoryRegistration = `<script type="text/javascript">
  RED.nodes.registerType('gateway-inventory', {
    category: 'config',
    hasUsers: false,
    defaults: {
      name: { value: '' },
      source: { value: 'file' },
      file: { value: '', ${inventoryCheck('file')} },
      list: { value: '[]', ${inventoryCheck('list')} },
      defaults: { value: '{"realm": "Admin Users"}', ${inventoryCheck('defaults')} },
      tls: { value: '', type: 'tls-config', required: false },
      proxy: { value: '', type: 'http proxy', required: false },
      secrets: { value: 'node' },
      sets: { value: '', ${inventoryCheck('sets')} },
      prefix: { value: 'GATEWAY' },
      secretsFolder: { value: '', ${inventoryCheck('secretsFolder')} }
    },
    credentials: gatewayEditor.inventoryCredentials,
    label: function () { return gatewayEditor.inventoryLabel(this); },
    labelStyle: function () { return this.name ? 'node_label_italic' : ''; },
    oneditprepare: function () { gatewayEditor.openInventory(this); },
    oneditsave: function () { gatewayEditor.closeInventory(); },
    oneditcancel: function () { gatewayEditor.closeInventory(); }
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
      path: { value: '' },
      ignore: { value: '' },
      remember: { value: '' }
    },
    inputs: 1,
    outputs: 1,
    label: function () { return gatewayEditor.watchLabel(this); },
    labelStyle: function () { return this.name ? 'node_label_italic' : ''; },
    onadd: function () { gatewayEditor.presetAppliance(this); },
    oneditprepare: function () { gatewayEditor.openWatch(this); },
    oneditsave: function () { gatewayEditor.closeWatch(); },
    oneditcancel: function () { gatewayEditor.closeWatch(); }
  });
</script>`;

/**
 * The whole file that Node-RED sends to the browser.
 * @param {{ areas: readonly Area[], table: object, script: string, style: string, action: string, appliance: string, inventory: string, watch: string }} parts
 */
export function buildHtml({ areas, table, script, style, action, appliance, inventory, watch }) {
  const shared = `${script.trimEnd()}\ngatewayEditor.start(${json(table)});`.replaceAll('</script', '<\\/script');
  const html = [
    `<style>\n${style.trim()}\n</style>`,
    `<script type="text/javascript">\n${shared}\n</script>`,
    `<script type="text/html" data-template-name="gateway-appliance">\n${appliance.trim()}\n</script>`,
    applianceRegistration,
    `<script type="text/html" data-template-name="gateway-inventory">\n${inventory.trim()}\n</script>`,
    inventoryRegistration,
    `<script type="text/html" id="gateway-action-form">\n${action.trim()}\n</script>`,
    ...areas.flatMap((area) => [actionTemplate(area), actionRegistration(area)]),
    `<script type="text/html" data-template-name="gateway-watch">\n${unindented(watch.trim())}\n</script>`,
    watchRegistration,
  ];
  return `${unindented(html.join('\n'))}\n`;
}
