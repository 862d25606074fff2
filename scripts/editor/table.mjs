// @ts-check
// Converts the operation table into data for the dialogs and texts for the catalog.

/** @import { Area, Field } from '../../src/model/operation.js' */
/** @import { AreaInfo, FieldInfo } from '../../nodes/editor/operation-table-types.js' */
/** @typedef {{ [key: string]: string | Texts }} Texts the catalog, as it is nested */

/** Names become keys of the catalog, where these two characters have a meaning. @param {string} name */
function checkName(name) {
  if (/[.:]/.test(name)) throw new Error(`${name}: a name in the operation table must not have a dot or a colon.`);
  return name;
}

const sameTexts = (/** @type {Field} */ a, /** @type {Field | undefined} */ b) => a.label === b?.label && a.help === b.help;

/**
 * A field that reads alike in every operation has one text; where an operation words it differently, that one has its own.
 * @param {string} operationName @param {string} name @param {Field} field @param {Map<string, Field>} shared
 */
function keyOf(operationName, name, field, shared) {
  return sameTexts(field, shared.get(name)) ? `field.${name}` : `operation.${operationName}.field.${name}`;
}

/** @param {Area} area */
function firstFields(area) {
  /** @type {Map<string, Field>} */
  const shared = new Map();
  for (const operation of Object.values(area.operations)) {
    for (const [name, field] of Object.entries(operation.fields)) if (!shared.has(name)) shared.set(checkName(name), field);
  }
  return shared;
}

/**
 * Sets a text under a dotted key, as i18next looks it up.
 * @param {Texts} texts @param {string} key @param {string} value
 */
function put(texts, key, value) {
  const parts = key.split('.');
  const last = parts.pop() ?? '';
  const place = parts.reduce((at, part) => /** @type {Texts} */ (at[part] ??= {}), texts);
  place[last] = value;
}

/** @param {unknown} value */
function example(value) {
  if (value === undefined) return {};
  return { example: typeof value === 'string' ? value : JSON.stringify(value) };
}

const flags = /** @type {const} */ (['required', 'subject', 'guard', 'filter', 'secret']);

/** @param {Field} field @param {string} key @returns {FieldInfo} */
function fieldInfo(field, key) {
  return {
    kind: field.kind,
    text: key,
    ...Object.fromEntries(flags.filter((flag) => field[flag]).map((flag) => [flag, true])),
    ...(field.choices && { choices: field.choices }),
    ...(field.range && { range: field.range }),
    ...(field.rule && { rule: field.rule }),
    ...(field.known && { known: field.known }),
    ...(field.names && { names: field.names }),
    ...(field.editor && { editor: field.editor }),
    ...(field.default !== undefined && { default: field.default }),
    ...example(field.example),
  };
}

/**
 * In the palette the category says already whose nodes they are. Node-RED breaks words that are longer than its labels.
 * @param {Area} area
 */
function paletteName(area) {
  const name = area.label.replace(/^Gateway /, '');
  return { administrators: 'admins', configuration: 'config' }[name] ?? name;
}

/** @param {Area} area @param {Texts} texts @returns {AreaInfo} */
function areaInfo(area, texts) {
  const shared = firstFields(area);
  /** @type {AreaInfo['operations']} */
  const operations = {};
  put(texts, `${area.name}.label`, area.label);
  put(texts, `${area.name}.palette`, paletteName(area));
  for (const [name, operation] of Object.entries(area.operations)) {
    put(texts, `${area.name}.operation.${checkName(name)}.label`, operation.label);
    put(texts, `${area.name}.operation.${name}.help`, operation.help);
    for (const [key, words] of Object.entries(operation.summary ?? {})) put(texts, `${area.name}.operation.${name}.summary.${key}`, words);
    /** @type {Record<string, FieldInfo>} */
    const fields = {};
    for (const [fieldName, field] of Object.entries(operation.fields)) {
      const key = keyOf(name, fieldName, field, shared);
      put(texts, `${area.name}.${key}.label`, field.label);
      put(texts, `${area.name}.${key}.help`, field.help);
      fields[fieldName] = fieldInfo(field, key);
    }
    operations[name] = { effect: operation.effect, fields };
  }
  return {
    ...(area.events && { events: /** @type {const} */ (true) }),
    ...(area.dryRun === false && { dryRun: area.dryRun }),
    operations,
  };
}

/** The table for the script in the browser, and its texts for the catalog. @param {readonly Area[]} areas */
export function buildTable(areas) {
  /** @type {Texts} */
  const texts = {};
  const table = Object.fromEntries(areas.map((area) => [checkName(area.name), areaInfo(area, texts)]));
  return { table, texts };
}

/** Omits what `setOperationTable` of the editor adds again: every page loads the table. @param {Record<string, AreaInfo>} table */
export function compactTable(table) {
  return JSON.parse(JSON.stringify(table), (_key, value) => {
    if (typeof value?.text !== 'string' || typeof value.kind !== 'string') return value;
    const { kind, text, ...rest } = value;
    return { ...(kind !== 'text' && { kind }), ...(!text.startsWith('field.') && { text }), ...rest };
  });
}

/** The operation that a new node begins with: the first that destroys nothing. @param {Area} area */
export function firstOperation(area) {
  const names = Object.keys(area.operations);
  return names.find((name) => area.operations[name]?.effect !== 'destroy') ?? names[0] ?? '';
}

/** Whether there can be something to approve. @param {Area} area */
export function mayWrite(area) {
  return area.dryRun !== false && Object.values(area.operations).some(({ effect }) => effect !== 'read');
}

/** Names of the fields that are credentials of the node. @param {Area} area */
export function secretsOf(area) {
  /** @type {Set<string>} */
  const secret = new Set();
  for (const operation of Object.values(area.operations)) {
    for (const [name, field] of Object.entries(operation.fields)) if (field.secret) secret.add(name);
  }
  return [...secret];
}
