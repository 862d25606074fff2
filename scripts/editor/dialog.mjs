// @ts-check
// Generates the dialog forms and the type registrations of both packages.

/**
 * @typedef {object} Row one row of a form
 * @property {string} name the node property, or the credential
 * @property {'text' | 'number' | 'password' | 'choice' | 'config' | 'typed' | 'check' | 'hidden' | 'html'} kind
 * @property {string} [label] key of the label in the catalog
 * @property {string} [icon] without `fa-`
 * @property {string} [help] key of the note below the input
 * @property {string} [noteId] id of a note that the script fills
 * @property {string} [placeholder] a literal placeholder
 * @property {string} [placeholderKey] key of a placeholder in the catalog
 * @property {readonly (readonly [value: string, key: string])[]} [choices]
 * @property {boolean} [error] whether the row has a place for an error
 * @property {boolean} [decimal] for a number that is not whole
 * @property {string} [attributes] more attributes of the row
 * @property {string} [html] the input, for the kind `html`
 *
 * @typedef {object} Fold rows that are closed at first
 * @property {string} summary key of the summary in the catalog
 * @property {string} className
 * @property {readonly Row[]} rows
 *
 * @typedef {Row | Fold | string} FormPart a string is HTML
 *
 * @typedef {object} Property a default or a credential of a registration
 * @property {string} name
 * @property {unknown} [value] of a new node
 * @property {string} [type] of a configuration node, or of a credential
 * @property {boolean} [required]
 * @property {string} [validate] code of the validator
 *
 * @typedef {object} Registration
 * @property {string} type
 * @property {readonly (readonly [name: string, code: string])[]} options
 * @property {readonly Property[]} defaults
 * @property {readonly Property[] | string} credentials a string is code
 */

/** Encodes a value for a script element. @param {unknown} value */
export const toScriptJson = (value) => JSON.stringify(value).replaceAll('</', '<\\/');

/** Removes indentation, because every editor page loads the file. A line that continues a text keeps its spaces. @param {string} html */
export const removeIndentation = (html) => html.replace(/(?<!\\)\n +/g, '\n');

/** @param {Row} row @param {string} id */
function createInput({ kind, placeholder, placeholderKey, choices = [], decimal, html = '' }, id) {
  const hint =
    placeholder !== undefined
      ? ` placeholder="${placeholder.replaceAll('"', '&quot;')}"`
      : placeholderKey
        ? ` data-i18n="[placeholder]${placeholderKey}"`
        : '';
  switch (kind) {
    case 'html':
      return html;
    case 'hidden':
      return `<input type="hidden" id="${id}">`;
    case 'password':
      return `<input type="password" id="${id}"${hint}>`;
    case 'number':
      return `<input type="text" inputmode="${decimal ? 'decimal' : 'numeric'}" id="${id}" class="gateway-short"${hint}>`;
    case 'choice':
      return `<select id="${id}">${choices.map(([value, key]) => `<option value="${value}" data-i18n="${key}"></option>`).join('')}</select>`;
    case 'config':
    case 'typed':
      return `<input type="text" id="${id}" style="width: 100%"${hint}>`;
    default:
      return `<input type="text" id="${id}"${hint}>`;
  }
}

/** @param {Row} row @param {string} prefix of the ids of inputs */
function createRow(row, prefix) {
  const { name, kind, label = '', icon, help, noteId, error, attributes = '' } = row;
  const id = `${prefix}${name}`;
  const more = attributes === '' ? '' : ` ${attributes}`;
  if (kind === 'hidden') return createInput(row, id);
  const note = help ? `<span class="gateway-note" data-i18n="${help}"></span>` : '';
  if (kind === 'check')
    return `<div class="form-row gateway-row gateway-check"${more}><input type="checkbox" id="${id}"><label for="${id}"><span data-i18n="${label}"></span>${note}</label></div>`;
  const parts = [
    createInput(row, id),
    error ? `<div class="gateway-error" data-error="${name}"></div>` : '',
    help ? `<div class="gateway-note" data-i18n="${help}"></div>` : '',
    noteId ? `<div class="gateway-note" id="${noteId}"></div>` : '',
  ];
  const iconElement = icon ? `<i class="fa fa-${icon}"></i> ` : '';
  return `<div class="form-row gateway-row"${more}><label for="${id}">${iconElement}<span data-i18n="${label}"></span></label><div>${parts.join('')}</div></div>`;
}

/** Creates the rows of a form. @param {readonly FormPart[]} parts @param {string} prefix of the ids of inputs @returns {string} */
export function createFormParts(parts, prefix) {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      if (!('summary' in part)) return createRow(part, prefix);
      const rows = part.rows.map((row) => createRow(row, prefix)).join('\n');
      return `<details class="gateway-fold ${part.className}"><summary data-i18n="${part.summary}"></summary>\n${rows}\n</details>`;
    })
    .join('\n');
}

/** Creates the form template of a type. @param {string} type @param {readonly FormPart[]} parts @param {boolean} isConfig */
export function createTemplate(type, parts, isConfig) {
  const form = createFormParts(parts, isConfig ? 'node-config-input-' : 'node-input-');
  return `<script type="text/html" data-template-name="${type}">\n<div class="gateway-form${isConfig ? ' gateway-form-config' : ''}">\n${form}\n</div>\n</script>`;
}

/** Without spaces: there are hundreds of properties, and every editor page loads them. @param {Property} property */
function createProperty({ name, value, type, required, validate }) {
  const parts = [
    ...(value === undefined ? [] : [`value:${typeof value === 'string' ? `'${value}'` : toScriptJson(value)}`]),
    ...(type === undefined ? [] : [`type:'${type}'`]),
    ...(required === undefined ? [] : [`required:${required}`]),
    ...(validate === undefined ? [] : [`validate:${validate}`]),
  ];
  return `${/^\w+$/.test(name) ? name : JSON.stringify(name)}:{${parts.join(',')}}`;
}

const createObject = (/** @type {readonly string[]} */ members) => `{\n${members.join(',\n')}\n}`;

/** Creates a registration: a literal call with a literal object, so that tools can read it without running it. @param {Registration} registration */
export function createRegistration({ type, options, defaults, credentials }) {
  const members = [
    ...options.filter(([name]) => !isLateOption(name)).map(([name, code]) => `${name}: ${code}`),
    `defaults: ${createObject(defaults.map(createProperty))}`,
    `credentials: ${typeof credentials === 'string' ? credentials : createObject(credentials.map(createProperty))}`,
    ...options.filter(([name]) => isLateOption(name)).map(([name, code]) => `${name}: ${code}`),
  ];
  return `<script type="text/javascript">\nRED.nodes.registerType('${type}', ${createObject(members)});\n</script>`;
}

/** Handlers and ports follow the properties, as in Node-RED's own nodes. @param {string} name */
const isLateOption = (name) => !['category', 'color', 'icon', 'paletteLabel', 'hasUsers'].includes(name);
