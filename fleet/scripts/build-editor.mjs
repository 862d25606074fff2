// @ts-check
// Builds the editor files of this package: fleet.html from nodes/dialogs.mjs, catalogs and help in every language, and the icons.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../scripts/editor/bundle.mjs';
import { createRegistration, createTemplate, removeIndentation, toScriptJson } from '../../scripts/editor/dialog.mjs';
import { lineText, translateAll } from '../../scripts/editor/translate.mjs';
import { dialogs } from '../nodes/dialogs.mjs';

/** @import { FormPart, Registration, Row } from '../../scripts/editor/dialog.mjs' */
/** @import { Dialog, Property } from '../nodes/dialogs.mjs' */

const folder = fileURLToPath(new URL('..', import.meta.url));
const typeOf = (/** @type {Dialog} */ { name }) => `gateway-fleet-${name}`;
const isConfig = (/** @type {Dialog} */ { name }) => name === 'engine';
/** @type {Row} */
const NAME = { name: 'name', kind: 'text', label: 'common.name', icon: 'tag', placeholderKey: 'common.name' };

/** Turns a property into a row of the form. @param {Dialog} dialog @param {Property} property @returns {Row | string} */
function toRow(dialog, { name, kind, icon, placeholder, choices, pace }) {
  const key = `${dialog.name}.${name}`;
  /** @type {Omit<Row, 'kind'>} */
  const row = {
    name,
    label: `${key}.label`,
    help: `${key}.help`,
    error: true,
    ...(icon !== undefined && { icon }),
    ...(placeholder !== undefined && { placeholder }),
  };
  switch (kind) {
    case 'hidden':
      return { name, kind };
    case 'check':
      return { ...row, kind, attributes: `data-row="${name}"` };
    case 'choice':
      return { ...row, kind, choices: (choices ?? []).map((choice) => /** @type {const} */ ([choice, `${key}.${choice}`])) };
    case 'operation':
      return {
        ...row,
        kind: 'html',
        html: `<select id="fleet-operation"></select><input type="hidden" id="node-input-${name}"><div class="gateway-about"></div>`,
      };
    case 'fields':
      return '<hr class="gateway-line"><div class="gateway-fields"></div><hr class="gateway-line">';
    case 'credential':
      return { ...row, kind: 'password' };
    case 'share':
      return { ...row, kind: pace ? 'number' : 'text', decimal: true };
    case 'number':
      return { ...row, kind };
    case 'selection':
      return { ...row, kind: 'typed', noteId: 'gateway-matches' };
    default:
      return { ...row, kind };
  }
}

/** @param {Dialog} dialog @returns {FormPart[]} */
function createForm(dialog) {
  const rows = dialog.properties.filter(({ pace }) => !pace).map((property) => toRow(dialog, property));
  const rolloutRows = dialog.properties.filter(({ pace }) => pace).map((property) => /** @type {Row} */ (toRow(dialog, property)));
  const about = dialog.about ? [`<div class="form-row gateway-about" data-i18n="${dialog.name}.about"></div>`] : [];
  return [
    NAME,
    ...about,
    ...rows,
    ...(rolloutRows.length > 0 ? [{ summary: 'common.pace', className: 'fleet-pace', rows: rolloutRows }] : []),
  ];
}

const CHECKED_KINDS = ['number', 'share', 'selection', 'operation', 'fields'];

/** @param {Dialog} dialog @returns {Registration} */
function toRegistration(dialog) {
  /** @type {Registration['options']} */
  const nodeOptions = [
    ['color', `'${dialog.color}'`],
    ['icon', `'gateway-fleet-${dialog.name}.svg'`],
    ['inputs', String(dialog.inputs)],
    ['outputs', String(dialog.outputs.length)],
    ['outputLabels', 'function (index) { return gatewayFleet.getOutputLabel(this, index); }'],
  ];
  return {
    type: typeOf(dialog),
    options: [
      ['category', isConfig(dialog) ? `'config'` : `'gateway'`],
      ['paletteLabel', `function () { return this._('${dialog.name}.palette'); }`],
      ...(isConfig(dialog) ? [] : nodeOptions),
      ['label', 'function () { return gatewayFleet.getNodeLabel(this); }'],
      ['labelStyle', `function () { return this.name ? 'node_label_italic' : ''; }`],
      ['oneditprepare', 'function () { gatewayFleet.openDialog(this); }'],
      ['oneditsave', 'function () { gatewayFleet.saveDialog(this); }'],
      ['oneditcancel', 'function () { gatewayFleet.closeDialog(); }'],
    ],
    defaults: [
      { name: 'name', value: '' },
      ...dialog.properties
        .filter(({ kind }) => kind !== 'credential')
        .map(({ name, kind, value, type, required }) => ({
          name,
          value: kind === 'config' ? '' : value,
          ...(kind === 'config' && type !== undefined && { type, required: required === true }),
          ...(CHECKED_KINDS.includes(kind) && {
            validate: `function (value, opt) { return gatewayFleet.checkProperty(this, value, '${name}', opt); }`,
          }),
        })),
    ],
    credentials: dialog.properties.filter(({ kind }) => kind === 'credential').map(({ name }) => ({ name, type: 'password' })),
  };
}

/** The dialogs as the script in the browser needs them. */
const table = Object.fromEntries(
  dialogs.map((dialog) => [typeOf(dialog), { name: dialog.name, outputs: dialog.outputs, properties: dialog.properties }]),
);

/** @param {Dialog} dialog */
function createHelp(dialog) {
  const text = readFileSync(`${folder}nodes/locales/${dialog.name}.en-US.md`, 'utf8').trim();
  const lines = text.replace(
    /^(: \S+ \([^)]*\) : )(.*)$/gm,
    (_line, /** @type {string} */ mark, /** @type {string} */ words) => mark + lineText(words),
  );
  return `<script type="text/markdown" data-help-name="${typeOf(dialog)}">\n${lines}\n</script>`;
}

const out = `${folder}dist/nodes`;
mkdirSync(out, { recursive: true });
const script = (await bundle(folder, 'index.ts', 'gatewayFleet')).trimEnd();
const code = `${script}\ngatewayFleet.registerDialogs(${toScriptJson(table)});`.replaceAll('</script', '<\\/script');
const html = [
  `<script type="text/javascript">\n${code}\n</script>`,
  ...dialogs.flatMap((dialog) => [
    createTemplate(typeOf(dialog), createForm(dialog), isConfig(dialog)),
    createRegistration(toRegistration(dialog)),
  ]),
];
writeFileSync(`${out}/fleet.html`, `${removeIndentation(html.join('\n'))}\n`);
const english = JSON.parse(readFileSync(`${folder}nodes/locales/en-US.json`, 'utf8'));
for (const [language, catalog, help] of translateAll(folder, english, dialogs.map(createHelp).join('\n\n'))) {
  const locale = `${out}/locales/${language}`;
  mkdirSync(locale, { recursive: true });
  writeFileSync(`${locale}/fleet.json`, `${JSON.stringify(catalog, null, 2)}\n`);
  writeFileSync(`${locale}/fleet.html`, `${help}\n`);
}
cpSync(`${folder}icons`, `${out}/icons`, { recursive: true });
