import type { Many } from './envelope';
import type { ErrorCode } from './error-codes';
import { isObject } from './json';
import type { Operation } from './operation';
import { SUMMARIES, type SummaryKey } from './summary-words';

/** Puts a text into the reader's language, with values in place of `__name__`; `english` where there is none. */
export type Say = (key: string, english: string, values: Readonly<Record<string, number | string>>) => string;

/** What there is to tell of a run. */
export interface Told {
  /** Full name: `sessions.kill`. */
  readonly name: string;
  readonly operation: Operation | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  /** Masks what is from outside. */
  readonly mask: (text: string) => string;
  readonly many: Many | null | undefined;
  /** Planned writes of a dry run. */
  readonly planned: number | undefined;
  readonly changed: boolean | null;
  /** Records of a list, or parts that went out. */
  readonly found: number | undefined;
  /** What came of it. */
  readonly data?: unknown;
  readonly code?: ErrorCode;
}

/** What of that says what it is about. */
type Subject = Pick<Told, 'name' | 'operation' | 'input' | 'mask'>;

export const english: Say = (_key, text, values) => text.replace(/__([\w-]+?)__/g, (_, name: string) => String(values[name] ?? ''));

/** One sentence for people, of names and counts (contract, section 4). Pure. */
export function summaryOf(told: Told, say: Say): string {
  const { operation } = told;
  const place = placeOf(told);
  const given = valuesOf(told);
  const title = titleOf(told, say, given);
  const tell = (key: SummaryKey, values: Record<string, number | string> = {}): string => {
    const words = operation?.summary?.[key];
    const all = { ...countsIn(told.data), ...given.fields, title, ...values };
    return words === undefined ? say(`summary.${key}`, SUMMARIES[key], all) : say(`${place}.summary.${key}`, words, all);
  };
  return sentenceOf(told, tell);
}

function placeOf({ name }: Pick<Told, 'name'>): string {
  const [area = '', own = ''] = name.split('.');
  return `${area}.operation.${own}`;
}

/** The operation as people call it, and what it is about. */
export function titleOf(told: Subject, say: Say, { subject } = valuesOf(told)): string {
  const { name, operation } = told;
  const label = operation ? say(`${placeOf(told)}.label`, operation.label, {}) : name;
  return subject === undefined ? label : `${label} (${subject})`;
}

function sentenceOf(
  { operation, many, planned, changed, found, code, data }: Told,
  tell: (key: SummaryKey, values?: Record<string, number | string>) => string,
): string {
  if (code !== undefined) return code === 'OUTCOME_UNKNOWN' ? tell('unknown') : tell('failed', { code });
  if (planned !== undefined) return planned === 0 ? tell('none') : tell(planned === 1 ? 'planned-one' : 'planned', { n: planned });
  if (many) return many.total === 0 ? tell('none') : sentenceOfMany(many, tell, operation?.effect === 'destroy');
  // The data of a write tells what stands there now, not what was looked for.
  if (found !== undefined && changed === null) return tell(found === 1 ? 'found-one' : 'found', { n: found });
  if (isObject(data) && data['ok'] === false) return tell('amiss');
  return tell(changed === false ? 'unchanged' : 'done');
}

/** Numbers in the data, and how long its lists are. */
function countsIn(data: unknown): Record<string, number> {
  const counts: Record<string, number> = {};
  if (!isObject(data)) return counts;
  for (const [key, value] of Object.entries(data)) {
    if (typeof value === 'number') counts[key] = value;
    else if (Array.isArray(value)) counts[key] = value.length;
  }
  return counts;
}

/** What should end, or go, may have been gone already; what should be changed and is not there is a failure. */
function sentenceOfMany(
  { total, ok, failed, results }: Many,
  tell: (key: SummaryKey, values?: Record<string, number | string>) => string,
  destroys: boolean,
): string {
  const gone = destroys ? results.filter((result) => 'error' in result && result.error.code === 'NOT_FOUND').length : 0;
  const parts = [tell('many', { total, ok, failed })];
  if (gone > 0) parts.push(tell(gone === 1 ? 'gone-one' : 'gone', { n: gone }));
  if (failed > gone) parts.push(tell('failed-items', { n: failed - gone }));
  return tell('sentence', { parts: parts.join('') });
}

/** Texts of the input as people read them: short, in one line, secrets masked; and the one that the operation is about. */
function valuesOf({ operation, input, mask }: Subject): { fields: Record<string, string>; subject: string | undefined } {
  const fields: Record<string, string> = {};
  let subject: string | undefined;
  for (const [name, field] of Object.entries(operation?.fields ?? {})) {
    if (field.secret || (field.kind !== 'text' && field.kind !== 'path' && field.kind !== 'names' && field.kind !== 'choice')) continue;
    const value = input[name];
    const text = Array.isArray(value) && field.kind === 'path' ? value.join('/') : value;
    if (typeof text !== 'string' || text === '') continue;
    const shown = mask(text).replace(/\s+/g, ' ');
    fields[name] = shown.length > 80 ? `${shown.slice(0, 79)}…` : shown;
    if (field.subject || (subject === undefined && field.required && !field.guard)) subject = fields[name];
  }
  return { fields, subject };
}
