// @ts-check
// The dialogs of the nodes without operations: appliance, inventory and watch.

/** @import { FormPart, Property, Registration, Row } from './dialog.mjs' */

const LINE = '<hr class="gateway-line">';
/** @type {Row} */
const NAME = { name: 'name', kind: 'text', label: 'common.name', icon: 'tag', placeholderKey: 'common.name' };
/** @type {Row} */
const TLS = { name: 'tls', kind: 'config', label: 'appliance.tls', icon: 'certificate' };
/** @type {Row} */
const PROXY = { name: 'proxy', kind: 'config', label: 'appliance.proxy', icon: 'random' };

/** @param {string} check name of a validator of `gatewayEditor` @param {string} [property] its last argument */
const createCheck = (check, property) =>
  `function(value,opt){return gatewayEditor.${check}(this,value,${property === undefined ? 'opt' : `'${property}',opt`})}`;
const ITALIC_NAME = /** @type {const} */ (['labelStyle', `function () { return this.name ? 'node_label_italic' : ''; }`]);

/** @type {readonly FormPart[]} */
const applianceForm = [
  { ...NAME, help: 'appliance.name-help' },
  { name: 'url', kind: 'text', label: 'appliance.url', icon: 'globe', placeholder: 'https://vpn.example.com', error: true },
  {
    name: 'login',
    kind: 'choice',
    label: 'appliance.login',
    icon: 'sign-in',
    choices: [
      ['realm', 'appliance.login-realm'],
      ['legacy', 'appliance.login-legacy'],
      ['key', 'appliance.login-key'],
    ],
    noteId: 'gateway-login-note',
  },
  {
    name: 'realm',
    kind: 'text',
    label: 'appliance.realm',
    icon: 'university',
    placeholderKey: 'appliance.realm-hint',
    error: true,
    attributes: 'data-when="realm"',
  },
  { name: 'username', kind: 'text', label: 'appliance.username', icon: 'user', error: true, attributes: 'data-when="realm legacy"' },
  { name: 'password', kind: 'password', label: 'appliance.password', icon: 'lock', error: true, attributes: 'data-when="realm legacy"' },
  { name: 'apiKey', kind: 'password', label: 'appliance.api-key', icon: 'key', error: true, attributes: 'data-when="key"' },
  {
    name: 'secondFactor',
    kind: 'choice',
    label: 'appliance.second-factor',
    icon: 'mobile',
    choices: [
      ['none', 'appliance.second-none'],
      ['password', 'appliance.second-password-choice'],
      ['totp', 'appliance.second-totp'],
      ['flow', 'appliance.second-flow'],
    ],
    noteId: 'gateway-factor-note',
    attributes: 'data-when="realm"',
  },
  {
    name: 'secondUsername',
    kind: 'text',
    label: 'appliance.second-username',
    icon: 'user-o',
    placeholderKey: 'appliance.second-username-hint',
    error: true,
    attributes: 'data-when="realm" data-factor="password totp flow"',
  },
  {
    name: 'secondPassword',
    kind: 'password',
    label: 'appliance.second-password',
    icon: 'lock',
    error: true,
    attributes: 'data-when="realm" data-factor="password"',
  },
  {
    name: 'totpSecret',
    kind: 'password',
    label: 'appliance.totp-secret',
    icon: 'clock-o',
    help: 'appliance.totp-help',
    error: true,
    attributes: 'data-when="realm" data-factor="totp"',
  },
  LINE,
  { ...TLS, help: 'appliance.tls-help' },
  PROXY,
  {
    summary: 'appliance.advanced',
    className: 'gateway-advanced',
    rows: [
      {
        name: 'timeout',
        kind: 'number',
        label: 'appliance.timeout',
        icon: 'hourglass-half',
        help: 'appliance.timeout-help',
        error: true,
      },
      {
        name: 'transferTimeout',
        kind: 'number',
        label: 'appliance.transfer-timeout',
        icon: 'exchange',
        help: 'appliance.transfer-timeout-help',
        error: true,
      },
      {
        name: 'connections',
        kind: 'number',
        label: 'appliance.connections',
        icon: 'plug',
        help: 'appliance.connections-help',
        error: true,
      },
      {
        name: 'vendor',
        kind: 'text',
        label: 'appliance.vendor',
        icon: 'industry',
        placeholderKey: 'appliance.found-by-itself',
        help: 'appliance.vendor-help',
      },
      {
        name: 'brand',
        kind: 'text',
        label: 'appliance.brand',
        icon: 'trademark',
        placeholderKey: 'appliance.found-by-itself',
        help: 'appliance.brand-help',
      },
      {
        name: 'journal',
        kind: 'text',
        label: 'appliance.journal',
        icon: 'book',
        placeholderKey: 'appliance.no-journal',
        help: 'appliance.journal-help',
      },
      { name: 'signingKey', kind: 'password', label: 'appliance.signing-key', icon: 'key', help: 'appliance.signing-key-help' },
      { name: 'log', kind: 'check', label: 'appliance.log', help: 'appliance.log-help' },
      { name: 'dryRun', kind: 'check', label: 'appliance.dry-run', help: 'appliance.dry-run-help' },
      {
        name: 'rehearsal',
        kind: 'text',
        label: 'appliance.rehearsal',
        icon: 'clone',
        placeholderKey: 'appliance.no-rehearsal',
        help: 'appliance.rehearsal-help',
      },
    ],
  },
  {
    summary: 'appliance.guards',
    className: 'gateway-guards',
    rows: [
      {
        name: 'permissions',
        kind: 'choice',
        label: 'appliance.permissions',
        icon: 'shield',
        choices: [
          ['full', 'appliance.permissions-full'],
          ['no-destroy', 'appliance.permissions-no-destroy'],
          ['read-only', 'appliance.permissions-read-only'],
        ],
        help: 'appliance.permissions-help',
      },
      {
        name: 'pin',
        kind: 'text',
        label: 'appliance.pin',
        icon: 'thumb-tack',
        placeholderKey: 'appliance.no-pin',
        help: 'appliance.pin-help',
      },
      {
        name: 'rate',
        kind: 'number',
        decimal: true,
        label: 'appliance.rate',
        icon: 'tachometer',
        placeholderKey: 'appliance.no-ceiling',
        help: 'appliance.rate-help',
        error: true,
      },
      {
        name: 'waiting',
        kind: 'number',
        label: 'appliance.waiting',
        icon: 'users',
        placeholderKey: 'appliance.no-ceiling',
        help: 'appliance.waiting-help',
        error: true,
      },
    ],
  },
  `<div class="form-row gateway-rehearsal">
<button type="button" id="gateway-rehearsal-reset" class="red-ui-button"><i class="fa fa-undo"></i> <span data-i18n="rehearsal.reset"></span></button>
<a href="#" id="gateway-rehearsal-compare" data-i18n="rehearsal.compare"></a>
<div class="gateway-note gateway-rehearsal-result" role="status" aria-live="polite"></div>
<pre class="gateway-rehearsal-text"></pre>
</div>`,
  LINE,
  `<div class="form-row gateway-test">
<button type="button" id="gateway-test" class="red-ui-button"><i class="fa fa-plug"></i> <span data-i18n="test.button"></span></button>
<button type="button" id="gateway-recipes" class="red-ui-button"><i class="fa fa-book"></i> <span data-i18n="recipe.use"></span></button>
<div class="gateway-note" data-i18n="test.hint"></div>
<div class="gateway-note gateway-test-target" role="status" aria-live="polite"></div>
<div class="gateway-test-result" role="status" aria-live="polite"></div>
</div>`,
];

/** @type {readonly Property[]} */
const applianceCredentials = [
  { name: 'username', type: 'text' },
  { name: 'password', type: 'password' },
  { name: 'secondUsername', type: 'text' },
  { name: 'secondPassword', type: 'password' },
  { name: 'totpSecret', type: 'password' },
  { name: 'apiKey', type: 'password' },
  { name: 'signingKey', type: 'password' },
].map((credential) => ({ ...credential, validate: createCheck('checkCredential', credential.name) }));

/** @type {Registration} */
const applianceRegistration = {
  type: 'gateway-appliance',
  options: [
    ['category', `'config'`],
    ['paletteLabel', `function () { return this._('appliance.palette'); }`],
    // A message can name any appliance, so Node-RED must not report one as unused.
    ['hasUsers', 'false'],
    ['label', 'function () { return gatewayEditor.getApplianceLabel(this); }'],
    ITALIC_NAME,
    ['oneditprepare', 'function () { gatewayEditor.openApplianceDialog(this); }'],
    ['oneditsave', 'function () { gatewayEditor.saveApplianceDialog(this); }'],
    ['oneditcancel', 'function () { gatewayEditor.closeApplianceDialog(); }'],
  ],
  defaults: [
    { name: 'name', value: '' },
    { name: 'url', value: '', required: true, validate: createCheck('checkUrl') },
    { name: 'login', value: 'realm' },
    { name: 'realm', value: '', validate: createCheck('checkRealm') },
    { name: 'secondFactor', value: 'none' },
    { name: 'tls', value: '', type: 'tls-config', required: false },
    { name: 'proxy', value: '', type: 'http proxy', required: false },
    { name: 'timeout', value: 30, validate: createCheck('checkTimeoutSeconds') },
    { name: 'journal', value: '' },
    { name: 'transferTimeout', value: 600, validate: createCheck('checkTimeoutSeconds') },
    { name: 'connections', value: 8, validate: createCheck('checkMaxConnections') },
    { name: 'vendor', value: '' },
    { name: 'brand', value: '' },
    { name: 'dryRun', value: false },
    { name: 'rehearsal', value: '' },
    { name: 'log', value: false },
    { name: 'permissions', value: 'full' },
    { name: 'pin', value: '' },
    { name: 'rate', value: '', validate: createCheck('checkRateLimit') },
    { name: 'waiting', value: '', validate: createCheck('checkMaxQueued') },
  ],
  credentials: applianceCredentials,
};

/** @type {readonly FormPart[]} */
const inventoryForm = [
  NAME,
  {
    name: 'source',
    kind: 'choice',
    label: 'inventory.source',
    icon: 'list',
    choices: [
      ['file', 'inventory.source-file'],
      ['list', 'inventory.source-list'],
    ],
  },
  {
    name: 'file',
    kind: 'text',
    label: 'inventory.file',
    icon: 'file-text-o',
    placeholder: '/etc/node-red/appliances.csv',
    help: 'inventory.file-help',
    error: true,
    attributes: 'data-source="file"',
  },
  {
    name: 'list',
    kind: 'typed',
    label: 'inventory.list',
    icon: 'list-ul',
    help: 'inventory.list-help',
    error: true,
    attributes: 'data-source="list"',
  },
  { name: 'defaults', kind: 'typed', label: 'inventory.defaults', icon: 'clone', help: 'inventory.defaults-help', error: true },
  TLS,
  PROXY,
  LINE,
  {
    name: 'secrets',
    kind: 'choice',
    label: 'inventory.secrets',
    icon: 'lock',
    choices: [
      ['node', 'inventory.secrets-node'],
      ['environment', 'inventory.secrets-environment'],
      ['folder', 'inventory.secrets-folder'],
    ],
    noteId: 'gateway-secrets-note',
  },
  {
    name: 'prefix',
    kind: 'text',
    label: 'inventory.prefix',
    icon: 'font',
    placeholder: 'GATEWAY',
    attributes: 'data-secrets="environment"',
  },
  {
    name: 'secretsFolder',
    kind: 'text',
    label: 'inventory.secrets-folder-path',
    icon: 'folder-open-o',
    placeholder: '/run/secrets/gateway',
    error: true,
    attributes: 'data-secrets="folder"',
  },
  {
    name: 'sets',
    kind: 'text',
    label: 'inventory.sets',
    icon: 'tags',
    placeholder: 'eu lab',
    help: 'inventory.sets-help',
    error: true,
    attributes: 'data-secrets="node"',
  },
  '<div data-secrets="node" class="gateway-sets"></div>',
  {
    name: 'allowedHosts',
    kind: 'text',
    label: 'inventory.allowed-hosts',
    icon: 'shield',
    placeholder: '*.example.com',
    help: 'inventory.allowed-hosts-help',
    attributes: 'data-source="file"',
  },
  {
    name: 'rehearsal',
    kind: 'text',
    label: 'appliance.rehearsal',
    icon: 'clone',
    placeholderKey: 'appliance.no-rehearsal',
    help: 'inventory.rehearsal-help',
  },
  LINE,
  '<div class="gateway-inventory-state gateway-note" role="status"></div>',
  `<div class="form-row">
<button type="button" id="gateway-test-all" class="red-ui-button"><i class="fa fa-plug"></i> <span data-i18n="inventory.test"></span></button>
<div class="gateway-test-all-place" aria-live="polite"></div>
</div>`,
];

/** @type {Registration} */
const inventoryRegistration = {
  type: 'gateway-inventory',
  options: [
    ['category', `'config'`],
    ['paletteLabel', `function () { return this._('inventory.palette'); }`],
    ['hasUsers', 'false'],
    ['label', 'function () { return gatewayEditor.getInventoryLabel(this); }'],
    ITALIC_NAME,
    ['oneditprepare', 'function () { gatewayEditor.openInventoryDialog(this); }'],
    ['oneditsave', 'function () { gatewayEditor.saveInventoryDialog(); }'],
    ['oneditcancel', 'function () { gatewayEditor.closeInventoryDialog(); }'],
  ],
  defaults: [
    { name: 'name', value: '' },
    { name: 'source', value: 'file' },
    { name: 'file', value: '', validate: createCheck('checkInventory', 'file') },
    { name: 'list', value: '[]', validate: createCheck('checkInventory', 'list') },
    { name: 'defaults', value: '{"realm": "Admin Users"}', validate: createCheck('checkInventory', 'defaults') },
    { name: 'tls', value: '', type: 'tls-config', required: false },
    { name: 'proxy', value: '', type: 'http proxy', required: false },
    { name: 'secrets', value: 'node' },
    { name: 'sets', value: '', validate: createCheck('checkInventory', 'sets') },
    { name: 'prefix', value: 'GATEWAY' },
    { name: 'allowedHosts', value: '' },
    { name: 'rehearsal', value: '' },
    { name: 'secretsFolder', value: '', validate: createCheck('checkInventory', 'secretsFolder') },
  ],
  credentials: 'gatewayEditor.inventoryCredentials',
};

/** @type {readonly FormPart[]} */
const watchForm = [
  NAME,
  { name: 'appliance', kind: 'config', label: 'action.appliance', icon: 'server' },
  {
    name: 'watch',
    kind: 'choice',
    label: 'watch.watch',
    icon: 'eye',
    choices: [],
    noteId: 'gateway-watch-about',
  },
  { name: 'every', kind: 'number', label: 'watch.every', icon: 'clock-o', error: true },
  {
    name: 'limits',
    kind: 'text',
    label: 'watch.limits',
    icon: 'line-chart',
    help: 'watch.limits-help',
    error: true,
    attributes: 'data-watch="health license sessions"',
  },
  {
    name: 'filter',
    kind: 'text',
    label: 'watch.filter',
    icon: 'filter',
    placeholder: '{ "authentication-realm": "Contractors" }',
    help: 'watch.filter-help',
    error: true,
    attributes: 'data-watch="sessions"',
  },
  {
    name: 'days',
    kind: 'text',
    label: 'watch.days',
    icon: 'calendar',
    placeholder: '30,14,7,3,1',
    help: 'watch.days-help',
    error: true,
    attributes: 'data-watch="certificate"',
  },
  {
    name: 'path',
    kind: 'text',
    label: 'watch.path',
    icon: 'sitemap',
    placeholder: 'users/user-roles',
    attributes: 'data-watch="configuration"',
  },
  {
    name: 'ignore',
    kind: 'text',
    label: 'watch.ignore',
    icon: 'filter',
    placeholder: 'last-*, /system/log',
    help: 'watch.ignore-help',
    attributes: 'data-watch="configuration"',
  },
  {
    name: 'unordered',
    kind: 'text',
    label: 'watch.unordered',
    icon: 'random',
    placeholder: 'roles',
    help: 'watch.unordered-help',
    attributes: 'data-watch="configuration"',
  },
  {
    name: 'rules',
    kind: 'text',
    label: 'watch.rules',
    icon: 'list-ol',
    placeholder: '/data/rules.yaml',
    help: 'watch.rules-help',
    attributes: 'data-watch="audit"',
  },
  {
    name: 'exceptions',
    kind: 'text',
    label: 'watch.exceptions',
    icon: 'ban',
    placeholder: '/data/exceptions.yaml',
    help: 'watch.exceptions-help',
    attributes: 'data-watch="audit"',
  },
  {
    name: 'off',
    kind: 'text',
    label: 'watch.off',
    icon: 'toggle-off',
    placeholder: 'duplicate-object',
    help: 'watch.off-help',
    attributes: 'data-watch="audit"',
  },
  { name: 'remember', kind: 'text', label: 'watch.remember', icon: 'folder-open-o', help: 'watch.remember-help' },
];

/** @type {Registration} */
const watchRegistration = {
  type: 'gateway-watch',
  options: [
    ['category', `'gateway'`],
    ['color', `'#E2D96E'`],
    ['icon', `'gateway-watch.svg'`],
    ['paletteLabel', `function () { return this._('watch.palette'); }`],
    ['inputs', '1'],
    ['outputs', '1'],
    ['label', 'function () { return gatewayEditor.getWatchLabel(this); }'],
    ITALIC_NAME,
    ['onadd', 'function () { gatewayEditor.presetApplianceOfNewNode(this); }'],
    ['oneditprepare', 'function () { gatewayEditor.openWatchDialog(this); }'],
    ['oneditsave', 'function () { gatewayEditor.closeWatchDialog(); }'],
    ['oneditcancel', 'function () { gatewayEditor.closeWatchDialog(); }'],
  ],
  defaults: [
    { name: 'name', value: '' },
    { name: 'appliance', value: '', type: 'gateway-appliance', validate: createCheck('checkAppliance') },
    { name: 'watch', value: 'sessions' },
    { name: 'every', value: 60, validate: createCheck('checkWatch', 'every') },
    { name: 'limits', value: '', validate: createCheck('checkWatch', 'limits') },
    { name: 'filter', value: '', validate: createCheck('checkWatch', 'filter') },
    { name: 'days', value: '', validate: createCheck('checkWatch', 'days') },
    { name: 'path', value: '' },
    { name: 'ignore', value: '' },
    { name: 'unordered', value: '' },
    { name: 'rules', value: '' },
    { name: 'exceptions', value: '' },
    { name: 'off', value: '' },
    { name: 'remember', value: '' },
  ],
  credentials: [],
};

export const configDialogs = /** @type {const} */ ([
  { form: applianceForm, registration: applianceRegistration, isConfig: true },
  { form: inventoryForm, registration: inventoryRegistration, isConfig: true },
]);
export const watchDialog = { form: watchForm, registration: watchRegistration, isConfig: false };
