import type { BulkResult } from './envelope';
import type { ErrorCode } from './error-codes';
import { isObject } from './json';
import type { Field, Operation } from './operation';
import { SUMMARY_TEXTS, type SummaryKey } from './summary-texts';

/** Translates a text and replaces each `__name__` with its value; uses `defaultText` when there is no translation. */
export type Translate = (key: string, defaultText: string, values: Readonly<Record<string, number | string>>) => string;

/** Everything that a summary may mention. */
export interface SummaryInput {
  /** Full name: `sessions.kill`. */
  readonly name: string;
  readonly operation: Operation | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  /** Masks text from outside. */
  readonly mask: (text: string) => string;
  readonly many: BulkResult | null | undefined;
  /** Number of planned writes of a dry run. */
  readonly plannedCount: number | undefined;
  readonly changed: boolean | null;
  /** Number of records in a list, or in all parts of a stream. */
  readonly foundCount: number | undefined;
  /** The data of the run. */
  readonly data?: unknown;
  readonly code?: ErrorCode;
}

/** The fields that make the title. */
type TitleInput = Pick<SummaryInput, 'name' | 'operation' | 'input' | 'mask'>;

const PLACEHOLDER = /__([\w-]+?)__/g;

export const defaultTranslate: Translate = (_key, text, values) =>
  text.includes('__') ? text.replace(PLACEHOLDER, (_, name: string) => String(values[name] ?? '')) : text;

type SummaryValues = Readonly<Record<string, number | string>>;
const NO_VALUES: SummaryValues = Object.freeze({});

/** Placeholders of each text. The texts are fixed, so the cache is bounded. */
const placeholdersByText = new Map<string, readonly string[]>();

function listPlaceholders(text: string): readonly string[] {
  let names = placeholdersByText.get(text);
  if (!names) placeholdersByText.set(text, (names = Array.from(text.matchAll(PLACEHOLDER), ([, name = '']) => name)));
  return names;
}

/** Creates `envelope.summary`: one sentence with names and counts (contract, section 4). Pure. */
export function createSummary(summaryInput: SummaryInput, translate: Translate): string {
  const { operation } = summaryInput;
  const catalogPrefix = getCatalogPrefix(summaryInput);
  const render = (key: SummaryKey, ownValues: SummaryValues = NO_VALUES): string => {
    const ownText = operation?.summary?.[key];
    const text = ownText ?? SUMMARY_TEXTS[key];
    const values = readValues(text, summaryInput, ownValues, translate);
    return translate(ownText === undefined ? `summary.${key}` : `${catalogPrefix}.summary.${key}`, text, values);
  };
  return renderSummary(summaryInput, render);
}

/** The values of the placeholders in a text. A text without placeholders reads and masks nothing. */
function readValues(text: string, summaryInput: SummaryInput, ownValues: SummaryValues, translate: Translate): SummaryValues {
  const names = listPlaceholders(text);
  if (names.length === 0) return NO_VALUES;
  const { operation, input, mask, data } = summaryInput;
  const values: Record<string, number | string> = {};
  for (const name of names) {
    const field = operation?.fields[name];
    const value =
      ownValues[name] ??
      (name === 'title' ? createOperationTitle(summaryInput, translate) : undefined) ??
      (field && readInputText(field, input[name], mask)) ??
      countAt(data, name);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function getCatalogPrefix({ name }: Pick<SummaryInput, 'name'>): string {
  const [area = '', operationName = ''] = name.split('.');
  return `${area}.operation.${operationName}`;
}

/** The translated label of the operation with its subject in parentheses. */
export function createOperationTitle(titleInput: TitleInput, translate: Translate): string {
  const { name, operation } = titleInput;
  const subject = readSubject(titleInput);
  const label = operation ? translate(`${getCatalogPrefix(titleInput)}.label`, operation.label, {}) : name;
  return subject === undefined ? label : `${label} (${subject})`;
}

function renderSummary(
  { operation, many, plannedCount, changed, foundCount, code, data }: SummaryInput,
  render: (key: SummaryKey, values?: SummaryValues) => string,
): string {
  if (code !== undefined) return code === 'OUTCOME_UNKNOWN' ? render('unknown') : render('failed', { code });
  if (plannedCount !== undefined)
    return plannedCount === 0 ? render('none') : render(plannedCount === 1 ? 'planned-one' : 'planned', { n: plannedCount });
  if (many) return many.total === 0 ? render('none') : renderBulkSummary(many, render, operation?.effect === 'destroy');
  // The data of a write is the new state, not a search result.
  if (foundCount !== undefined && changed === null) return render(foundCount === 1 ? 'found-one' : 'found', { n: foundCount });
  if (isObject(data) && data['ok'] === false) return render('amiss');
  return render(changed === false ? 'unchanged' : 'done');
}

/** A number in the data, or the length of a list there. */
function countAt(data: unknown, name: string): number | undefined {
  const value = isObject(data) && Object.hasOwn(data, name) ? data[name] : undefined;
  return typeof value === 'number' ? value : Array.isArray(value) ? value.length : undefined;
}

/** An item that should end or be removed may already be gone; an item that should be changed and is missing is a failure. */
function renderBulkSummary(
  { total, ok, failed, results }: BulkResult,
  render: (key: SummaryKey, values?: SummaryValues) => string,
  isDestroy: boolean,
): string {
  const goneCount = isDestroy ? results.filter((result) => 'error' in result && result.error.code === 'NOT_FOUND').length : 0;
  const parts = [render('many', { total, ok, failed })];
  if (goneCount > 0) parts.push(render(goneCount === 1 ? 'gone-one' : 'gone', { n: goneCount }));
  if (failed > goneCount) parts.push(render('failed-items', { n: failed - goneCount }));
  return render('sentence', { parts: parts.join('') });
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

/** A text of the input on one line, shortened and masked; undefined for secrets and other kinds. */
function readInputText({ kind, secret }: Field, value: unknown, mask: (text: string) => string): string | undefined {
  if (secret || (kind !== 'text' && kind !== 'path' && kind !== 'names' && kind !== 'choice')) return undefined;
  const text = Array.isArray(value) && kind === 'path' ? value.join('/') : value;
  if (typeof text !== 'string' || text === '') return undefined;
  const maskedText = mask(text).replace(/\s+/g, ' ');
  return maskedText.length > 80 ? `${maskedText.slice(0, 79)}…` : maskedText;
}
