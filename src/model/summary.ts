import type { BulkResult } from './envelope';
import type { ErrorCode } from './error-codes';
import { isObject } from './json';
import type { Operation } from './operation';
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

export const defaultTranslate: Translate = (_key, text, values) =>
  text.replace(/__([\w-]+?)__/g, (_, name: string) => String(values[name] ?? ''));

/** Creates `envelope.summary`: one sentence with names and counts (contract, section 4). Pure. */
export function createSummary(summaryInput: SummaryInput, translate: Translate): string {
  const { operation } = summaryInput;
  const catalogPrefix = getCatalogPrefix(summaryInput);
  const inputTexts = readInputTexts(summaryInput);
  const title = createOperationTitle(summaryInput, translate, inputTexts);
  const render = (key: SummaryKey, values: Record<string, number | string> = {}): string => {
    const ownText = operation?.summary?.[key];
    const allValues = { ...countNumbersAndLists(summaryInput.data), ...inputTexts.fields, title, ...values };
    return ownText === undefined
      ? translate(`summary.${key}`, SUMMARY_TEXTS[key], allValues)
      : translate(`${catalogPrefix}.summary.${key}`, ownText, allValues);
  };
  return renderSummary(summaryInput, render);
}

function getCatalogPrefix({ name }: Pick<SummaryInput, 'name'>): string {
  const [area = '', operationName = ''] = name.split('.');
  return `${area}.operation.${operationName}`;
}

/** The translated label of the operation with its subject in parentheses. */
export function createOperationTitle(titleInput: TitleInput, translate: Translate, { subject } = readInputTexts(titleInput)): string {
  const { name, operation } = titleInput;
  const label = operation ? translate(`${getCatalogPrefix(titleInput)}.label`, operation.label, {}) : name;
  return subject === undefined ? label : `${label} (${subject})`;
}

function renderSummary(
  { operation, many, plannedCount, changed, foundCount, code, data }: SummaryInput,
  render: (key: SummaryKey, values?: Record<string, number | string>) => string,
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

/** Numbers in the data and the lengths of its lists. */
function countNumbersAndLists(data: unknown): Record<string, number> {
  const counts: Record<string, number> = {};
  if (!isObject(data)) return counts;
  for (const [key, value] of Object.entries(data)) {
    if (typeof value === 'number') counts[key] = value;
    else if (Array.isArray(value)) counts[key] = value.length;
  }
  return counts;
}

/** An item that should end or be removed may already be gone; an item that should be changed and is missing is a failure. */
function renderBulkSummary(
  { total, ok, failed, results }: BulkResult,
  render: (key: SummaryKey, values?: Record<string, number | string>) => string,
  isDestroy: boolean,
): string {
  const goneCount = isDestroy ? results.filter((result) => 'error' in result && result.error.code === 'NOT_FOUND').length : 0;
  const parts = [render('many', { total, ok, failed })];
  if (goneCount > 0) parts.push(render(goneCount === 1 ? 'gone-one' : 'gone', { n: goneCount }));
  if (failed > goneCount) parts.push(render('failed-items', { n: failed - goneCount }));
  return render('sentence', { parts: parts.join('') });
}

/** Texts of the input on one line, shortened and masked, and the one that the operation is about. */
function readInputTexts({ operation, input, mask }: TitleInput): { fields: Record<string, string>; subject: string | undefined } {
  const fields: Record<string, string> = {};
  let subject: string | undefined;
  for (const [name, field] of Object.entries(operation?.fields ?? {})) {
    if (field.secret || (field.kind !== 'text' && field.kind !== 'path' && field.kind !== 'names' && field.kind !== 'choice')) continue;
    const value = input[name];
    const text = Array.isArray(value) && field.kind === 'path' ? value.join('/') : value;
    if (typeof text !== 'string' || text === '') continue;
    const maskedText = mask(text).replace(/\s+/g, ' ');
    fields[name] = maskedText.length > 80 ? `${maskedText.slice(0, 79)}…` : maskedText;
    if (field.subject || (subject === undefined && field.required && !field.guard)) subject = fields[name];
  }
  return { fields, subject };
}
