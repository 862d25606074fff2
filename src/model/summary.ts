import type { BulkResult } from './envelope';
import type { ErrorCode } from './error-codes';
import { isObject } from './json';
import type { Field, Operation } from './operation';
import { toReadablePath } from './path';
import { SUMMARY_TEXTS, type SummaryKey } from './summary-texts';

/** Translates a text and replaces each `__name__` with its value; uses `defaultText` when there is no translation. */
export type Translate = (key: string, defaultText: string, values: Readonly<Record<string, number | string>>) => string;

/** Everything that a summary may mention. */
export interface SummaryInput {
  /** Full name of the operation, such as `sessions.kill`. */
  readonly name: string;
  /** The name of the appliance. */
  readonly appliance: string;
  readonly operation: Operation | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  /** Masks text from outside. */
  readonly mask: (text: string) => string;
  readonly many: BulkResult | null | undefined;
  /** Number of writes that a dry run planned. */
  readonly plannedCount: number | undefined;
  /** The targets of the planned writes. */
  readonly plannedItems?: readonly unknown[] | undefined;
  readonly changed: boolean | null;
  /** Number of records in a list, or in all parts of a stream. */
  readonly foundCount: number | undefined;
  /** The data of the run. */
  readonly data?: unknown;
  /** The operation's own fields of the envelope. */
  readonly envelopeFields?: Readonly<Record<string, unknown>>;
  readonly code?: ErrorCode | undefined;
}

/** The fields that make the title. */
type TitleInput = Pick<SummaryInput, 'name' | 'operation' | 'input' | 'mask'>;

const MAX_TEXT_LENGTH = 80;
const MAX_LISTED_NAMES = 3;
/** The properties that name an item, in this order. */
const NAME_KEYS = ['active-user-name', 'username', 'name', 'path'];
const NAMED_KINDS: ReadonlySet<Field['kind']> = new Set(['text', 'path', 'names', 'choice', 'list', 'records', 'object']);
const ISO_TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z$/;
type ItemState = 'ok' | 'gone' | 'failed';

const PLACEHOLDER = /__([\w-]+?)__/g;

export const defaultTranslate: Translate = (_key, text, values) =>
  text.includes('__') ? text.replace(PLACEHOLDER, (_, name: string) => String(values[name] ?? '')) : text;

type SummaryValues = Readonly<Record<string, number | string>>;
const NO_VALUES: SummaryValues = Object.freeze({});

/** One sentence: its key in the catalog, its English text and the placeholders in it. */
interface SentenceTemplate {
  readonly key: string;
  readonly text: string;
  readonly placeholders: readonly string[];
}

/** The part of a summary that is the same for all runs of an operation. Creating it for each message costs more than the rest. */
interface OperationTemplates {
  readonly name: string;
  readonly labelKey: string;
  readonly sentences: Partial<Record<SummaryKey, SentenceTemplate>>;
}

const templatesByOperation = new WeakMap<Operation, OperationTemplates>();

function getTemplates({ name, operation }: Pick<SummaryInput, 'name' | 'operation'>): OperationTemplates {
  const known = operation && templatesByOperation.get(operation);
  if (known?.name === name) return known;
  const templates = { name, labelKey: `${toCatalogPrefix(name)}.label`, sentences: {} };
  if (operation) templatesByOperation.set(operation, templates);
  return templates;
}

function getSentence({ name, sentences }: OperationTemplates, operation: Operation | undefined, key: SummaryKey): SentenceTemplate {
  return (sentences[key] ??= createSentence(name, operation, key));
}

function createSentence(name: string, operation: Operation | undefined, key: SummaryKey): SentenceTemplate {
  const ownText = operation?.summary?.[key];
  const text = ownText ?? SUMMARY_TEXTS[key];
  return {
    key: ownText === undefined ? `summary.${key}` : `${toCatalogPrefix(name)}.summary.${key}`,
    text,
    placeholders: Array.from(text.matchAll(PLACEHOLDER), ([, placeholder = '']) => placeholder),
  };
}

/** Creates `envelope.summary`: one sentence with names and counts (contract, section 4). Pure. */
export function createSummary(summaryInput: SummaryInput, translate: Translate): string {
  const templates = getTemplates(summaryInput);
  const render = (key: SummaryKey, ownValues: SummaryValues = NO_VALUES): string => {
    const sentence = getSentence(templates, summaryInput.operation, key);
    return translate(sentence.key, sentence.text, readValues(sentence.placeholders, summaryInput, ownValues, translate));
  };
  return renderSummary(summaryInput, render) + renderSimilarNames(summaryInput, render);
}

/** Similar names show that somebody may be known by another spelling. */
function renderSimilarNames({ envelopeFields, mask }: SummaryInput, render: (key: SummaryKey, values: SummaryValues) => string): string {
  const similar = envelopeFields?.['similar'];
  const names = Array.isArray(similar) ? listNames(similar, mask) : '';
  return names === '' ? '' : ` ${render('similar', { names })}`;
}

/** The values of the placeholders. A sentence without placeholders reads and masks nothing. */
function readValues(names: readonly string[], summaryInput: SummaryInput, ownValues: SummaryValues, translate: Translate): SummaryValues {
  if (names.length === 0) return NO_VALUES;
  const { operation, input, mask, data, appliance } = summaryInput;
  const inputValues = operation?.summaryValues?.(input);
  const values: Record<string, number | string> = {};
  for (const name of names) {
    const field = operation?.fields[name];
    const value =
      ownValues[name] ??
      (name === 'title' ? createOperationTitle(summaryInput, translate) : undefined) ??
      // A report can be about a snapshot of another appliance.
      (name === 'appliance' && operation?.isReport ? readDataValue(data, name, mask) : undefined) ??
      (name === 'appliance' ? appliance : undefined) ??
      (field && readInputText(field, input[name], mask)) ??
      toText(inputValues?.[name], mask) ??
      readDataValue(data, name, mask) ??
      (name === 'subject' ? readDataValue(summaryInput.envelopeFields?.['served'], name, mask) : undefined) ??
      readDataValue(summaryInput.envelopeFields, name, mask);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function toCatalogPrefix(name: string): string {
  const [area = '', operationName = ''] = name.split('.');
  return `${area}.operation.${operationName}`;
}

/** The translated label of the operation with its subject in parentheses. */
export function createOperationTitle(titleInput: TitleInput, translate: Translate): string {
  const { name, operation } = titleInput;
  const subject = readSubject(titleInput);
  const label = operation ? translate(getTemplates(titleInput).labelKey, operation.label, NO_VALUES) : name;
  return subject === undefined ? label : `${label} (${subject})`;
}

function renderSummary(summaryInput: SummaryInput, render: (key: SummaryKey, values?: SummaryValues) => string): string {
  const { operation, many, plannedCount, changed, foundCount, code, data, envelopeFields } = summaryInput;
  if (code !== undefined) return code === 'OUTCOME_UNKNOWN' ? render('unknown') : render('failed', { code });
  if (plannedCount !== undefined) return renderPlanned(plannedCount, summaryInput, render);
  if (many) return many.total === 0 ? render('none') : renderBulkSummary(many, summaryInput, render);
  // The data of a write is the new state, not a search result.
  if (foundCount !== undefined && (operation?.effect ?? 'read') === 'read')
    return render(foundCount === 1 ? 'found-one' : 'found', { n: foundCount });
  if (isObject(data) && data['ok'] === false) return render('amiss');
  if (operation?.summary?.served !== undefined && isObject(envelopeFields?.['served'])) return render('served');
  if (operation?.summary?.unchanged !== undefined && isObject(data) && data['equal'] === true) return render('unchanged');
  return render(changed === false ? 'unchanged' : 'done');
}

/** Names the items of a plan, such as the users whose sessions would end, unless the sentence names them already. */
function renderPlanned(
  n: number,
  { plannedItems = [], mask }: SummaryInput,
  render: (key: SummaryKey, values?: SummaryValues) => string,
): string {
  const text = n === 0 ? render('none') : render(n === 1 ? 'planned-one' : 'planned', { n });
  const names = listNames(plannedItems, mask);
  return names === '' || text.includes(names) ? text : `${text} ${render('planned-items', { names })}`;
}

/** A number or text in the data, or the size of a list or an object there. */
function readDataValue(data: unknown, name: string, mask: (text: string) => string): number | string | undefined {
  const value = isObject(data) && Object.hasOwn(data, name) ? data[name] : undefined;
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return toText(value.replace(ISO_TIME, '$1 $2 UTC'), mask);
  return Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : undefined;
}

/** An item that should end or be removed may already be gone; an item that should be changed and is missing is a failure. */
function renderBulkSummary(
  { total, ok, failed, results }: BulkResult,
  summaryInput: SummaryInput,
  render: (key: SummaryKey, values?: SummaryValues) => string,
): string {
  const isDestroy = summaryInput.operation?.effect === 'destroy';
  const itemsByState: Record<ItemState, unknown[]> = { ok: [], gone: [], failed: [] };
  for (const result of results) {
    const state = !('error' in result) ? 'ok' : isDestroy && result.error.code === 'NOT_FOUND' ? 'gone' : 'failed';
    itemsByState[state].push(result.item);
  }
  const subject = readSubject(summaryInput);
  const manyText = render('many', { total, ok, failed });
  const renderNames = (state: ItemState): string => {
    const names = listNames(itemsByState[state], summaryInput.mask);
    const isNamedAlready = names === subject && manyText.includes(names);
    if (names === '' || isNamedAlready) return '';
    return render(state === 'ok' ? 'items' : 'items-part', { names });
  };
  const goneCount = itemsByState.gone.length;
  const parts = [manyText, renderNames('ok')];
  if (goneCount > 0) parts.push(render(goneCount === 1 ? 'gone-one' : 'gone', { n: goneCount }), renderNames('gone'));
  if (failed > goneCount) parts.push(render('failed-items', { n: failed - goneCount }), renderNames('failed'));
  return render('sentence', { parts: parts.join('') });
}

/** The names of items, each once: the first ones and the number of the others. Empty if they have no names. */
function listNames(items: readonly unknown[], mask: (text: string) => string): string {
  if (items.length === 1) return toText(readListItemName(items[0]), mask) ?? '';
  const names = new Set<string>();
  for (const item of items) {
    const name = readListItemName(item);
    if (name !== undefined) names.add(name);
  }
  const listed = Array.from(names)
    .slice(0, MAX_LISTED_NAMES)
    .map((name) => toText(name, mask))
    .join(', ');
  return names.size > MAX_LISTED_NAMES ? `${listed} (+${names.size - MAX_LISTED_NAMES})` : listed;
}

function readListItemName(item: unknown): string | undefined {
  const name = isObject(item) ? item[NAME_KEYS.find((key) => typeof item[key] === 'string') ?? ''] : item;
  return typeof name === 'string' && name !== '' ? toReadablePath(name) : undefined;
}

/** The text that the operation is about: the subject, else the first required field. */
function readSubject({ operation, input, mask }: TitleInput): string | undefined {
  let subject: string | undefined;
  const fields = operation?.fields;
  for (const name in fields) {
    const field = fields[name];
    if (!field || !(field.subject || (subject === undefined && field.required && !field.guard))) continue;
    subject = readInputText(field, input[name], mask) ?? subject;
  }
  return subject;
}

/** Returns the value of an input field for display: its text, or the names in its list. Undefined for secrets and other kinds of field. */
function readInputText({ kind, secret }: Field, value: unknown, mask: (text: string) => string): string | undefined {
  if (secret || !NAMED_KINDS.has(kind)) return undefined;
  if (kind === 'path') return toText(Array.isArray(value) ? value.join('/') : value, mask);
  if (typeof value === 'string') return toText(value, mask);
  return value === undefined ? undefined : listNames(Array.isArray(value) ? value : [value], mask) || undefined;
}

/** A text on one line, masked and shortened. */
function toText(text: unknown, mask: (text: string) => string): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  const maskedText = mask(text).replace(/\s+/g, ' ').trim();
  return maskedText.length > MAX_TEXT_LENGTH ? `${maskedText.slice(0, MAX_TEXT_LENGTH - 1)}…` : maskedText;
}
