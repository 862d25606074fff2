// @ts-check
// The editor half: fleet.html with forms and registrations made of nodes/dialogs.mjs, catalogue and help in every language, and the icons.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundle, inEveryLanguage } from '../../scripts/build-editor.mjs';
import { lineText } from '../../scripts/editor/translate.mjs';
import { dialogs } from '../nodes/dialogs.mjs';

/** @import { Dialog, Property } from '../nodes/dialogs.mjs' */

const folder = fileURLToPath(new URL('..', import.meta.url));
const json = (/** @type {unknown} */ value) => JSON.stringify(value).replaceAll('</', '<\\/');
const typeOf = (/** @type {Dialog} */ { name }) => `gateway-fleet-${name}`;
const isConfig = (/** @type {Dialog} */ { name }) => name === 'engine';

/** @param {Dialog} dialog @param {Property} property */
function row(dialog, { name, kind, icon, placeholder, choices, pace }) {
  const id = `node-${isConfig(dialog) ? 'config-' : ''}input-${name}`;
  const key = `${dialog.name}.${name}`;
  const label = `<label for="${id}">${icon ? `<i class="fa fa-${icon}"></i> ` : ''}<span data-i18n="${key}.label"></span></label>`;
  const note = `<div class="gateway-note" data-i18n="${key}.help"></div><div class="gateway-error" data-error="${name}"></div>`;
  const line = (/** @type {string} */ input) => `<div class="form-row gateway-row">${label}<div>${input}${note}</div></div>`;
  const hint = placeholder ? ` placeholder="${placeholder}"` : '';
  switch (kind) {
    case 'hidden':
      return `<input type="hidden" id="${id}">`;
    case 'check':
      return `<div class="form-row gateway-row gateway-check" data-row="${name}"><input type="checkbox" id="${id}"><label for="${id}"><span data-i18n="${key}.label"></span><span class="gateway-note" data-i18n="${key}.help"></span></label></div>`;
    case 'choice':
      return line(
        `<select id="${id}">${(choices ?? []).map((choice) => `<option value="${choice}" data-i18n="${key}.${choice}"></option>`).join('')}</select>`,
      );
    case 'operation':
      return line(`<select id="fleet-operation"></select><input type="hidden" id="${id}"><div class="gateway-about"></div>`);
    case 'fields':
      return '<hr class="gateway-line"><div class="gateway-fields"></div><hr class="gateway-line">';
    case 'credential':
      return line(`<input type="password" id="${id}"${hint}>`);
    case 'number':
    case 'share':
      return line(`<input type="text"${pace || kind === 'number' ? ' class="gateway-short"' : ''} id="${id}"${hint}>`);
    default:
      return line(`<input type="text" id="${id}" style="width: 100%"${hint}>`);
  }
}

/** @param {Dialog} dialog */
function template(dialog) {
  const id = `node-${isConfig(dialog) ? 'config-' : ''}input-name`;
  const name = `<div class="form-row gateway-row"><label for="${id}"><i class="fa fa-tag"></i> <span data-i18n="common.name"></span></label><div><input type="text" id="${id}" data-i18n="[placeholder]common.name"></div></div>`;
  const rows = dialog.properties.filter(({ pace }) => !pace).map((property) => row(dialog, property));
  const inFold = dialog.properties.filter(({ pace }) => pace).map((property) => row(dialog, property));
  const fold =
    inFold.length > 0
      ? [`<details class="gateway-fold fleet-pace"><summary data-i18n="common.pace"></summary>${inFold.join('\n')}</details>`]
      : [];
  return `<script type="text/html" data-template-name="${typeOf(dialog)}">\n<div class="gateway-form">\n${[name, ...rows, ...fold].join('\n')}\n</div>\n</script>`;
}

/** A literal call with a literal object: tools that judge packages read it without running it. @param {Dialog} dialog */
function registration(dialog) {
  const credentials = dialog.properties.filter(({ kind }) => kind === 'credential');
  const defaults = dialog.properties
    .filter(({ kind }) => kind !== 'credential')
    .map(({ name, kind, value, type, required }) => {
      const check = `validate: function (value, opt) { return gatewayFleet.checkProperty(this, value, '${name}', opt); }`;
      const parts = kind === 'config' ? [`value: ''`, `type: '${type}'`, `required: ${required === true}`] : [`value: ${json(value)}`];
      const checked = ['number', 'share', 'selection', 'operation', 'fields'].includes(kind) ? [check] : [];
      return `      ${name}: { ${[...parts, ...checked].join(', ')} }`;
    });
  const category = isConfig(dialog) ? `category: 'config'` : `category: 'gateway'`;
  const ports = isConfig(dialog) ? '' : `\n    inputs: ${dialog.inputs},\n    outputs: ${dialog.outputs.length},`;
  const look = isConfig(dialog)
    ? ''
    : `\n    color: '${dialog.color}',\n    icon: 'gateway-fleet.svg',\n    paletteLabel: function () { return this._('${dialog.name}.palette'); },\n    outputLabels: function (index) { return gatewayFleet.getOutputLabel(this, index); },`;
  return `<script type="text/javascript">
  RED.nodes.registerType('${typeOf(dialog)}', {
    ${category},${look}
    defaults: {
${[`      name: { value: '' }`, ...defaults].join(',\n')}
    },
    credentials: {${credentials.map(({ name }) => ` ${name}: { type: 'password' } `).join(',')}},${ports}
    label: function () { return gatewayFleet.getNodeLabel(this); },
    labelStyle: function () { return this.name ? 'node_label_italic' : ''; },
    oneditprepare: function () { gatewayFleet.openDialog(this); },
    oneditsave: function () { gatewayFleet.saveDialog(this); },
    oneditcancel: function () { gatewayFleet.closeDialog(); }
  });
</script>`;
}

/** What the script has to know of the table. */
const table = Object.fromEntries(
  dialogs.map((dialog) => [typeOf(dialog), { name: dialog.name, outputs: dialog.outputs, properties: dialog.properties }]),
);

/** @param {Dialog} dialog */
function helpOf(dialog) {
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
const code = `${script}\ngatewayFleet.setDialogs(${json(table)});`.replaceAll('</script', '<\\/script');
const html = [
  `<script type="text/javascript">\n${code}\n</script>`,
  ...dialogs.flatMap((dialog) => [template(dialog), registration(dialog)]),
];
writeFileSync(`${out}/fleet.html`, `${html.join('\n')}\n`);
const english = JSON.parse(readFileSync(`${folder}nodes/locales/en-US.json`, 'utf8'));
for (const [language, catalogue, help] of inEveryLanguage(folder, english, dialogs.map(helpOf).join('\n\n'))) {
  const locale = `${out}/locales/${language}`;
  mkdirSync(locale, { recursive: true });
  writeFileSync(`${locale}/fleet.json`, `${JSON.stringify(catalogue, null, 2)}\n`);
  writeFileSync(`${locale}/fleet.html`, `${help}\n`);
}
cpSync(`${folder}icons`, `${out}/icons`, { recursive: true });
