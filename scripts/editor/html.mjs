// @ts-check
// gateway.html: one shared script, one form for all action nodes, and a registration for each node type.
import { createRegistration, createTemplate, removeIndentation, toScriptJson } from './dialog.mjs';
import { configDialogs, watchDialog } from './dialogs.mjs';
import { compactTable, firstOperation, mayWrite, secretsOf } from './table.mjs';

/** @import { Area } from '../../src/model/operation.js' */
/** @import { AreaInfo } from '../../nodes/editor/operation-table-types.js' */
/** @import { FormPart, Registration } from './dialog.mjs' */

/** Node-RED's runtime needs a template for each type. The script fills it from the shared form. @param {Area} area */
const createEmptyTemplate = (area) => `<script type="text/html" data-template-name="gateway-${area.name}">\n</script>`;

// Short names, because each node type repeats them in the page.
const validator = (/** @type {string} */ name) => `gatewayEditor.check.${name}`;
const handler = (/** @type {string} */ name) => `gatewayEditor.node.${name}`;

/**
 * `outputs` beside the defaults is the maximum: Node-RED cuts wires beyond it from a node whose flow entry has no number of outputs.
 * @param {Area} area @returns {Registration}
 */
function toActionRegistration(area) {
  const { events } = area;
  return {
    type: `gateway-${area.name}`,
    options: [
      ['category', `'gateway'`],
      ['color', `'${area.color}'`],
      ['icon', `'${area.icon}'`],
      ['paletteLabel', `function(){return this._('${area.name}.palette')}`],
      ['inputs', '1'],
      ['outputs', String(2 + Number(mayWrite(area)) + Number(events !== undefined))],
      ['autoedit', 'true'],
      ['inputLabels', handler('inputLabel')],
      ['outputLabels', handler('outputLabel')],
      ['label', handler('label')],
      ['labelStyle', handler('labelStyle')],
      ['onadd', handler('add')],
      ['oneditprepare', handler('prepare')],
      ['oneditsave', handler('save')],
      ['oneditcancel', handler('cancel')],
    ],
    defaults: [
      { name: 'name', value: '' },
      { name: 'appliance', value: '', type: 'gateway-appliance', validate: validator('appliance') },
      { name: 'applianceFrom', value: '' },
      { name: 'inventory', value: '', type: 'gateway-inventory', required: false, validate: validator('inventory') },
      { name: 'select', value: '', validate: validator('select') },
      { name: 'selectType', value: 'str' },
      { name: 'atOnce', value: 16, validate: validator('pace') },
      { name: 'canary', value: '', validate: validator('pace') },
      { name: 'batch', value: '', validate: validator('pace') },
      { name: 'maxFailures', value: '', validate: validator('pace') },
      { name: 'maxAppliances', value: '', validate: validator('pace') },
      { name: 'each', value: false },
      { name: 'data', value: 'all' },
      { name: 'operation', value: firstOperation(area), validate: validator('operation') },
      { name: 'operationType', value: 'op' },
      { name: 'fields', value: {}, validate: validator('fields') },
      { name: 'output', value: 'payload', validate: validator('output') },
      { name: 'failures', value: 'catch' },
      { name: 'dryRun', value: false },
      { name: 'allowDestroy', value: false },
      ...(mayWrite(area)
        ? [
            { name: 'approval', value: false },
            { name: 'approvalMinutes', value: 60, validate: validator('minutes') },
          ]
        : []),
      ...(events ? [{ name: 'every', value: events.every, validate: validator('every') }] : []),
      { name: 'outputs', value: events ? 2 : 1 },
    ],
    credentials: secretsOf(area).map((name) => ({ name, type: 'password' })),
  };
}

/** @param {{ form: readonly FormPart[], registration: Registration, isConfig: boolean }} dialog */
const createDialog = ({ form, registration, isConfig }) => [
  createTemplate(registration.type, form, isConfig),
  createRegistration(registration),
];

/**
 * Creates the file that Node-RED sends to the browser.
 * @param {{ areas: readonly Area[], table: Record<string, AreaInfo>, script: string, style: string, actionForm: string }} parts
 */
export function buildHtml({ areas, table, script, style, actionForm }) {
  const shared = `${script.trimEnd()}\ngatewayEditor.startEditor(${toScriptJson(compactTable(table))});`.replaceAll(
    '</script',
    '<\\/script',
  );
  const html = [
    `<style>\n${style.trim()}\n</style>`,
    `<script type="text/javascript">\n${shared}\n</script>`,
    ...configDialogs.flatMap(createDialog),
    `<script type="text/html" id="gateway-action-form">\n${actionForm.trim()}\n</script>`,
    ...areas.flatMap((area) => [createEmptyTemplate(area), createRegistration(toActionRegistration(area))]),
    ...createDialog(watchDialog),
  ];
  return `${removeIndentation(html.join('\n'))}\n`;
}
