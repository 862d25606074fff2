// @ts-check
// Declares the input of each operation for the package: named types that an editor can show, with the help of each field.

/** @import { Area, Field, Operation } from '../src/model/operation.js' */

/** What `run` accepts for each kind of field, as `RawInput` in src/model/field.ts infers it. A test compares the two. */
const TYPE_BY_KIND = {
  text: 'string | number',
  number: 'number | `${number}`',
  amount: 'NumberOrPercent | `${number}`',
  boolean: "boolean | 'true' | 'false'",
  object: 'JsonObject',
  list: 'readonly string[] | string',
  path: 'string | string[]',
  records: 'string | JsonObject | (string | JsonObject)[]',
  names: 'string | JsonObject | (string | JsonObject)[]',
  content: 'JsonObject | string | Buffer',
  data: 'Buffer | string',
};

/** @param {string} text @param {string} [indent] */
const toComment = (text, indent = '') => `${indent}/** ${text.replaceAll('*/', '*\\/')} */`;

/** @param {Field} field */
const toType = ({ kind, choices = [] }) => (kind === 'choice' ? choices.map((choice) => `'${choice}'`).join(' | ') : TYPE_BY_KIND[kind]);

/** @param {Field} field */
function toDocumentation({ label, help, default: value }) {
  return `**${label}.** ${help}${value === undefined ? '' : ` Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`}`;
}

/** @param {string} name @param {Field} field */
function toMember(name, field) {
  const type = toType(field);
  const isRequired = field.required && !field.perItem;
  return `${toComment(toDocumentation(field), '  ')}\n  readonly '${name}'${isRequired ? `: ${type}` : `?: ${type} | undefined`};`;
}

/** `sessions.kill-user` becomes `SessionsKillUserInput`. @param {string} name */
const toTypeName = (name) => `${name.replace(/(?:^|[.-])([a-z])/g, (_match, letter) => letter.toUpperCase())}Input`;

/** @param {string} name @param {Operation} operation */
function toInterface(name, { help, fields }) {
  const members = Object.entries(fields).map(([fieldName, field]) => toMember(fieldName, field));
  return `${toComment(`Input of \`${name}\`: ${help}`)}\nexport interface ${toTypeName(name)} {\n${members.join('\n')}\n}\n`;
}

/** @param {readonly Area[]} areas @returns {string} the text of operation-inputs.d.ts */
export function createOperationInputs(areas) {
  const operations = areas.flatMap((area) =>
    Object.entries(area.operations).map(([name, operation]) => /** @type {const} */ ([`${area.name}.${name}`, operation])),
  );
  const entries = operations.map(([name, { help }]) => `${toComment(help, '  ')}\n  readonly '${name}': ${toTypeName(name)};`);
  return [
    "import type { NumberOrPercent } from '../model/field';\nimport type { JsonObject } from '../model/json';\n",
    ...operations.map(([name, operation]) => toInterface(name, operation)),
    `/** Input of each operation by its full name. */\nexport interface OperationInputs {\n${entries.join('\n')}\n}\n`,
  ].join('\n');
}
