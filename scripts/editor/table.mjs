// What the dialogs need of the operation table, as data, and the table's texts as part of the locale catalogue.

/** Names become keys of the catalogue, where these two characters have a meaning. */
function checkName(name) {
  if (/[.:]/.test(name)) throw new Error(`${name}: a name in the operation table must not have a dot or a colon.`);
  return name;
}

const sameTexts = (a, b) => a.label === b.label && a.help === b.help;

/** A field that reads alike in every operation has one text; where an operation words it differently, that one has its own. */
function fieldTexts(area, operationName, name, shared) {
  const field = area.operations[operationName].fields[name];
  const key = sameTexts(field, shared.get(name)) ? `field.${name}` : `operation.${operationName}.field.${name}`;
  return { key, field };
}

function firstFields(area) {
  const shared = new Map();
  for (const operation of Object.values(area.operations)) {
    for (const [name, field] of Object.entries(operation.fields)) if (!shared.has(name)) shared.set(checkName(name), field);
  }
  return shared;
}

/** Sets a text under a dotted key, as i18next looks it up. */
function put(texts, key, value) {
  const parts = key.split('.');
  const last = parts.pop();
  const place = parts.reduce((at, part) => (at[part] ??= {}), texts);
  place[last] = value;
}

function example(value) {
  if (value === undefined) return {};
  return { example: typeof value === 'string' ? value : JSON.stringify(value) };
}

const flags = ['required', 'subject', 'guard', 'filter', 'secret'];

function fieldInfo(field, key) {
  return {
    kind: field.kind,
    text: key,
    ...Object.fromEntries(flags.filter((flag) => field[flag]).map((flag) => [flag, true])),
    ...(field.choices && { choices: field.choices }),
    ...(field.range && { range: field.range }),
    ...(field.default !== undefined && { default: field.default }),
    ...example(field.example),
  };
}

/** In the palette the category says already whose nodes they are. Node-RED breaks words that are longer than its labels. */
function paletteName(area) {
  const name = area.label.replace(/^Gateway /, '');
  return name === 'administrators' ? 'admins' : name;
}

function areaInfo(area, texts) {
  const shared = firstFields(area);
  const operations = {};
  put(texts, `${area.name}.label`, area.label);
  put(texts, `${area.name}.palette`, paletteName(area));
  for (const [name, operation] of Object.entries(area.operations)) {
    put(texts, `${area.name}.operation.${checkName(name)}.label`, operation.label);
    put(texts, `${area.name}.operation.${name}.help`, operation.help);
    const fields = {};
    for (const fieldName of Object.keys(operation.fields)) {
      const { key, field } = fieldTexts(area, name, fieldName, shared);
      put(texts, `${area.name}.${key}.label`, field.label);
      put(texts, `${area.name}.${key}.help`, field.help);
      fields[fieldName] = fieldInfo(field, key);
    }
    operations[name] = { effect: operation.effect, fields };
  }
  return { operations };
}

/** `{ table, texts }`: the table for the script in the browser, and its texts for the catalogue. */
export function buildTable(areas) {
  const texts = {};
  const table = Object.fromEntries(areas.map((area) => [checkName(area.name), areaInfo(area, texts)]));
  return { table, texts };
}

/** The operation that a new node begins with: the first that destroys nothing. */
export function firstOperation(area) {
  const entries = Object.entries(area.operations);
  return (entries.find(([, operation]) => operation.effect !== 'destroy') ?? entries[0])[0];
}

/** Every field of an area once, in the order of the table. */
export function fieldsOf(area) {
  return [...firstFields(area)].map(([name, field]) => ({ name, field }));
}

/** Names of the fields that are credentials of the node. */
export function secretsOf(area) {
  const secret = new Set();
  for (const operation of Object.values(area.operations)) {
    for (const [name, field] of Object.entries(operation.fields)) if (field.secret) secret.add(name);
  }
  return [...secret];
}
