// @ts-check
// Generates the sidebar help of every node type, in the order of Node-RED's help style guide.

import { sampleOf } from './samples.mjs';
import { mayWrite } from './table.mjs';
import { lineText } from './translate.mjs';

/** @import { Area, Field, Operation } from '../../src/model/operation.js' */

/** @type {Record<Operation['effect'], string>} */
const EFFECTS = { read: 'reads', write: 'changes', destroy: 'ends, deletes, or replaces' };
/** @type {Partial<Record<Field['kind'], string>>} */
const KINDS = {
  text: 'string',
  path: 'string | array',
  records: 'string | object | array',
  list: 'array',
  choice: 'string',
  names: 'string | object | array',
  data: 'buffer | string',
  content: 'object | string | buffer',
};

export const kindOf = (/** @type {Field} */ field) => KINDS[field.kind] ?? field.kind;
const value = (/** @type {unknown} */ given) => `\`${typeof given === 'string' ? given : JSON.stringify(given)}\``;

/** @param {Field} field */
function fieldNotes(field) {
  const notes = [];
  if (field.choices) notes.push(`One of ${field.choices.map(value).join(', ')}.`);
  if (field.secret) notes.push('A secret, stored with the credentials.');
  if (field.default !== undefined) notes.push(`${value(field.default)} by default.`);
  if (field.guard) notes.push('Never read from `msg.payload` by default.');
  else if (field.subject) notes.push('Can also be `msg.payload` itself.');
  return notes;
}

/** One line of a list of properties. @param {string} name @param {string} type @param {string} text */
const line = (name, type, text) => `: ${name} (${type}) : ${lineText(text)}`;

/** @param {[string, Field]} entry */
function fieldLine([name, field]) {
  const type = `${field.required ? '' : 'optional '}${kindOf(field)}`;
  return line(name, type, [`“${field.label}”.`, field.help, ...fieldNotes(field)].join(' '));
}

const fence = (/** @type {string} */ code, language = 'json') => `\`\`\`${language}\n${code}\n\`\`\``;

/** @param {string} area @param {[string, Operation]} entry */
function operationHelp(area, [name, operation]) {
  const sample = sampleOf(area, name, operation);
  const fields = Object.entries(operation.fields).map(fieldLine);
  return [
    `#### ${operation.label}`,
    `\`${name}\` (${EFFECTS[operation.effect]}). ${operation.help}`,
    ...(fields.length > 0 ? [fields.join('\n')] : ['No fields.']),
    `Gives: ${operation.data}.`,
    'Sample, in:',
    fence(sample.before),
    'Sample, out:',
    fence(sample.after),
  ].join('\n\n');
}

const inputs = `Select the operation in the dialog, or let a message, a context, or an expression name it. A field that is set to \`default\` comes from the source that its row shows. A field with another type comes only from that source.`;

const more = [
  line('appliance', 'string', 'The name of the appliance, for a node with `Each message names its appliance`.'),
  line('dryRun', 'boolean', '`true` plans a change in `msg.envelope.plan` and sends nothing.'),
  line('cancel', 'boolean | string', '`true` cancels everything that this node is doing. A `_msgid` cancels the run of that message.'),
].join('\n');

const approvalInputs = [
  line('approve', 'string', 'The ID of a waiting plan that you approve.'),
  line('reject', 'string', 'The ID of a waiting plan that you decline.'),
  line('actor', 'string', 'The person who decides, for the record.'),
].join('\n');

const approvalOutputs = [
  '',
  '3. To approve (the last output, if Approval is on)',
  line(
    'payload',
    'object',
    'The plan, with `id`, `operation`, `appliance`, `summary`, `plan`, `expires`, and, if the message has it, `actor`.',
  ),
].join('\n');

const eventOutputs = [
  '',
  '2. Event (the output after result and failure; no input message is needed)',
  line('topic', 'string', '`contain/ended` or `contain/released`.'),
  line('payload', 'object', 'An ended session, as `{ event, id, name, session, appliance }`, or an expired containment, with `enabled`.'),
].join('\n');

const outputs = [
  '1. Result',
  line('payload', 'any', 'The data of the operation, or in another property as set in the dialog.'),
  line(
    'envelope',
    'object',
    'The outcome, with `ok`, `operation`, `appliance`, `request`, `status`, `result`, `changed`, `requests`, `ms`, and more.',
  ),
  '',
  '2. Failure (if Failures leave by a second output)',
  line('error', 'object', '`message`, `code` and `cause`.'),
  line('envelope', 'object', 'The same with `ok: false`. The payload does not change.'),
].join('\n');

const details = `The node passes on the received message with all its other properties. Every message has exactly one outcome. A success leaves by the first output. A failure goes to Catch nodes or to the second output.

The error codes are \`BAD_INPUT\` and \`BAD_CONFIG\` (nothing was sent), \`LOGIN_REJECTED\`, \`LOGIN_PAUSED\`, \`SECOND_FACTOR_REQUIRED\`, \`UNAUTHORIZED\`, \`FORBIDDEN\`, \`INVALID_REQUEST\`, \`NOT_FOUND\`, \`REJECTED\`, \`APPLIANCE_ERROR\`, \`BAD_RESPONSE\`, \`TIMEOUT\`, \`CONNECTION\`, \`TLS\`, \`LIMIT\` (a guard stopped it), \`ABORTED\`, \`CONFLICT\` (someone else changed the resource), \`DECLINED\`, \`EXPIRED\`, \`LOCKED_OUT\` (the account could not log in after the change; see \`cause.restored\`), and \`OUTCOME_UNKNOWN\` (the change was sent, but no response came, so it may have happened).

After a connection error, the node repeats reads, but never changes.`;

const dryRun = `A dry run sends reads, but no changes. \`msg.envelope.plan\` lists the requests that would be sent, with secrets masked.`;

const approving = `With Approval, the node plans and holds a message that would change something. The plan leaves by the last output. To decide, send this node a message with the ID in \`msg.approve\` or \`msg.reject\`. That message has no output. The node never does more than what was approved. If the plan is different by then, the message fails with \`CONFLICT\`. Of many items, the node processes the approved ones that still exist. Without an approval, the held message fails with \`DECLINED\` or \`EXPIRED\`. After a deploy, it fails with \`ABORTED\`.`;

const destroying = `A message can select a destructive operation only if the dialog allows it.`;

const many = `With a result for each item, the payload is \`{ total, ok, failed, results }\`. A run without items succeeds. The run fails only if every item fails.`;

const paths = {
  configuration:
    'A path begins below `/api/v1/configuration`, such as `users/user-roles`. You can also use the complete `href` of a response.',
  any: 'A path begins below `/api/v1/`, such as `system/status/overview`.',
  tags: 'In a path that you type into the dialog, `{{payload.name}}` stands for one name. The node encodes it. An empty name is an error. A path in a message cannot have tags.',
};

/** What a path may be, and what a filter may name. @param {Area} area @param {readonly string[]} sessionFields */
function fieldsHelp(area, sessionFields) {
  const fields = Object.values(area.operations).flatMap((operation) => Object.values(operation.fields));
  return [
    ...(fields.some(({ kind }) => kind === 'path') ? [area.name === 'request' ? paths.any : paths.configuration, paths.tags] : []),
    ...(fields.some(({ editor }) => editor === 'session-filter')
      ? ['The fields of a session, for records and filters:', fence(sessionFields.join('\n'), 'text')]
      : []),
  ];
}

/** @param {Area} area @param {readonly string[]} sessionFields */
function areaHelp(area, sessionFields) {
  const operations = Object.entries(area.operations);
  const effects = operations.map(([, { effect }]) => effect);
  const isMany = operations.some(([, { data }]) => data.startsWith('a result for each item'));
  const notes = [
    ...fieldsHelp(area, sessionFields),
    details,
    ...(isMany ? [many] : []),
    ...(effects.some((effect) => effect !== 'read') && area.dryRun !== false ? [dryRun] : []),
    ...(mayWrite(area) ? [approving] : []),
    ...(effects.includes('destroy') ? [destroying] : []),
  ];
  return [
    area.help,
    '### Inputs',
    inputs,
    ...operations.map((entry) => operationHelp(area.name, entry)),
    '#### Every operation',
    mayWrite(area) ? `${more}\n${approvalInputs}` : more,
    '### Outputs',
    [outputs, ...(area.events ? [eventOutputs] : []), ...(mayWrite(area) ? [approvalOutputs] : [])].join('\n'),
    '### Details',
    ...notes,
    fleet,
    ...references,
  ].join('\n\n');
}

const fleet = `With \`Many appliances of an inventory\`, one message runs the operation on all appliances that match the selection: names with \`*\`, \`tag:eu\`, \`!tag:lab\`. Separate words that must all match by spaces, and alternatives by \`|\`. The result is \`{ total, ok, failed, skipped, results }\` with \`{ appliance, ok, data, changed, error }\` for each appliance. \`msg.envelope.summary\` and \`msg.envelope.text\` are readable texts, for example for a mail. While the node reads the fields for an appliance, \`msg.appliance\` is its name. The run fails only if it fails on all appliances.`;

const references = ['### References', '- [Documentation and example flows](https://github.com/gateway-admin/node-red#readme)'];

/** @param {string} type @param {string} markdown */
function script(type, markdown) {
  return `<script type="text/markdown" data-help-name="${type}">\n${markdown.trim()}\n</script>`;
}

/** What the texts of the nodes without operations are called. @typedef {Readonly<Record<string, string>>} Pages by type */

/**
 * Help of all types as one file, which comes at the first look into it.
 * @param {readonly Area[]} areas @param {Pages} pages @param {readonly string[]} sessionFields
 */
export function buildHelp(areas, pages, sessionFields) {
  return joined([
    ...Object.entries(pages).map(([type, page]) => script(type, page)),
    ...areas.map((area) => script(`gateway-${area.name}`, areaHelp(area, sessionFields))),
  ]);
}

/**
 * What every page of the editor has of it: enough for the palette, and to know that there is more. As HTML: the palette asks for all of
 * them while the page loads, and Markdown takes Node-RED a millisecond each.
 * @param {string} help
 */
export function buildStubs(help) {
  const parts = [...help.matchAll(/<script[^>]*data-help-name="([^"]+)">\n([^]*?)(?:\n\n|\n<\/script>)/g)];
  return joined(parts.map(([, type = '', first = '']) => stub(type, first)));
}

/** @param {string} type @param {string} text */
function stub(type, text) {
  const html = text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replace(/`([^`]*)`/g, '<code>$1</code>');
  return `<script type="text/html" data-help-name="${type}">\n<p>${html}</p>\n<span class="gateway-more" data-type="${type}"></span>\n</script>`;
}

const joined = (/** @type {string[]} */ parts) => `${parts.join('\n\n')}\n`;
