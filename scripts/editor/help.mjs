// @ts-check
// Sidebar help of every node type, in the order that Node-RED's help style guide asks for.

import { sampleOf } from './samples.mjs';
import { mayWrite } from './table.mjs';
import { lineText } from './translate.mjs';

/** @import { Area, Field, Operation } from '../../src/model/operation.js' */

/** @type {Record<Operation['effect'], string>} */
const EFFECTS = { read: 'reads', write: 'changes', destroy: 'ends, deletes or replaces' };
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
  if (field.guard) notes.push('Never taken from `msg.payload` by itself.');
  else if (field.subject) notes.push('May also be `msg.payload` itself.');
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

const inputs = `Choose the operation in the dialog, or let a message, a context or an expression name it. A field that the dialog leaves at
\`default\` comes from where its row says; a field that is given a source there comes from nowhere else.`;

const more = [
  line('appliance', 'string', 'The name of the appliance, where the node is set to `Each message names its appliance`.'),
  line('dryRun', 'boolean', '`true` plans a change in `msg.envelope.plan` and sends nothing.'),
  line('cancel', 'boolean | string', '`true` aborts everything that this node is doing, a `_msgid` what it does for that message.'),
].join('\n');

const approvalInputs = [
  line('approve', 'string', 'The id of a plan that waits here: it is approved.'),
  line('reject', 'string', 'The same, and it is declined.'),
  line('actor', 'string', 'Who sends this, for the record.'),
].join('\n');

const approvalOutputs = [
  '',
  '3. To approve (the last output, where Approval is on)',
  line(
    'payload',
    'object',
    'The plan, with `id`, `operation`, `appliance`, `summary`, `plan`, `expires` and, where the message has it, `actor`.',
  ),
].join('\n');

const eventOutputs = [
  '',
  '2. Event (behind the result and the failures, without a message that came)',
  line('topic', 'string', '`contain/ended` or `contain/released`.'),
  line(
    'payload',
    'object',
    'A session that was ended, as `{ event, id, name, session, appliance }`; a containment whose time is over, with `enabled`.',
  ),
].join('\n');

const outputs = [
  '1. Result',
  line('payload', 'any', 'What the operation gives; another property where the dialog says so.'),
  line(
    'envelope',
    'object',
    'What was done, with `ok`, `operation`, `appliance`, `request`, `status`, `result`, `changed`, `requests`, `ms` and more.',
  ),
  '',
  '2. Failure (where Failures are set to a second output)',
  line('error', 'object', '`message`, `code` and `cause`.'),
  line('envelope', 'object', 'The same with `ok: false`. The payload is left as it came.'),
].join('\n');

const details = `The received message is passed on: everything else in it survives. Every message has exactly one outcome: it leaves by the first output, or
it is an error, which goes to Catch nodes or to the second output.

The codes of an error are \`BAD_INPUT\` and \`BAD_CONFIG\` (nothing was sent), \`LOGIN_REJECTED\`, \`LOGIN_PAUSED\`, \`SECOND_FACTOR_REQUIRED\`,
\`UNAUTHORIZED\`, \`FORBIDDEN\`, \`INVALID_REQUEST\`, \`NOT_FOUND\`, \`REJECTED\`, \`APPLIANCE_ERROR\`, \`BAD_RESPONSE\`, \`TIMEOUT\`, \`CONNECTION\`, \`TLS\`,
\`LIMIT\` (a guard stopped it), \`ABORTED\`, \`CONFLICT\` (somebody else changed it meanwhile), \`DECLINED\`, \`EXPIRED\`,
\`LOCKED_OUT\` (the account did not get in after it; \`cause.restored\`), and \`OUTCOME_UNKNOWN\`: a change was sent and its answer never came, so it may or may not have happened.

Reads are repeated after a connection fault, changes never.`;

const dryRun = `In a dry run reads go out and changes do not: \`msg.envelope.plan\` lists the requests that would be sent, secrets masked.`;

const approving = `With Approval, a message that would change something is planned and held, and the plan leaves by the last output. A message with its id in
\`msg.approve\` or \`msg.reject\`, sent to this node, decides; it has no output itself. What was approved is the most that happens: if something else would be
sent by then, it is \`CONFLICT\`, and of many the approved ones that are still there are done. Otherwise the held message ends with \`DECLINED\`, or with
\`EXPIRED\`. After a deploy it ends with \`ABORTED\`.`;

const destroying = `An operation that is chosen by a message may only end, delete or replace something if the dialog allows it.`;

const many = `Where the result is *many*, it is \`{ total, ok, failed, results }\` with one entry for each item. Nothing to do is a success; only if
every item fails it is an error.`;

const paths = {
  configuration: 'A path begins below `/api/v1/configuration`, such as `users/user-roles`; a whole `href` of an answer is taken too.',
  any: 'A path begins below `/api/v1/`, such as `system/status/overview`.',
  tags: 'In a path that is typed into the dialog, `{{payload.name}}` stands for one name, encoded as it has to be. An empty one is an error. In a path that a message brings there are no tags.',
};

/** What a path may be, and what a filter may name. @param {Area} area @param {readonly string[]} sessionFields */
function fieldsHelp(area, sessionFields) {
  const fields = Object.values(area.operations).flatMap((operation) => Object.values(operation.fields));
  return [
    ...(fields.some(({ kind }) => kind === 'path') ? [area.name === 'request' ? paths.any : paths.configuration, paths.tags] : []),
    ...(fields.some(({ editor }) => editor === 'session-filter')
      ? ['The fields of a session, in the records and for a filter:', fence(sessionFields.join('\n'), 'text')]
      : []),
  ];
}

/** @param {Area} area @param {readonly string[]} sessionFields */
function areaHelp(area, sessionFields) {
  const operations = Object.entries(area.operations);
  const effects = operations.map(([, { effect }]) => effect);
  const isMany = operations.some(([, { data }]) => data.startsWith('many'));
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

const fleet = `With \`Many appliances of an inventory\`, one message runs the operation on all that the selection fits: names with \`*\`, \`tag:eu\`, \`!tag:lab\`; words with spaces
between must all hold, \`|\` stands between alternatives. The result is \`{ total, ok, failed, skipped, results }\` with \`{ appliance, ok, data, changed, error }\` for each, and
\`msg.envelope.summary\` and \`msg.envelope.text\` are what a mail can be made of. While fields are read for one of them, \`msg.appliance\` is its name. It is an error only if none was well.`;

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
