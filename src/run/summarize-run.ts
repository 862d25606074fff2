import type { ErrorCode } from '../model/error-codes';
import type { Operation } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { createSummary, type Translate } from '../model/summary';
import type { RunContext } from './run-context';

/** One run, as far as its sentence for people needs it. */
export interface SummaryContext {
  readonly name: string;
  /** Undefined: there is none of that name. */
  readonly operation: Operation | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  readonly redactor: Redactor;
  readonly translate: Translate;
}

/** What came of it: its data or the code of its error, and how many of a stream. */
export interface SummaryResult {
  readonly data?: unknown;
  readonly code?: ErrorCode;
  readonly count?: number;
}

/** The sentence of a run: `envelope.summary`. */
export function summarizeRun(
  { name, operation, input, redactor, translate }: SummaryContext,
  { record, plan }: RunContext,
  { data, code, count }: SummaryResult,
): string {
  const { many, emittedParts, emittedItems, changed } = record;
  const foundCount = count ?? (emittedParts === undefined ? (Array.isArray(data) ? data.length : undefined) : emittedItems);
  const plannedCount = operation?.effect === 'read' ? undefined : plan?.requests.length;
  const mask = (text: string): string => redactor.text(text);
  try {
    return createSummary(
      { name, operation, input, mask, many, plannedCount, changed, foundCount, data, ...(code !== undefined && { code }) },
      translate,
    );
  } catch {
    // Words are no outcome: an input that cannot be looked at, or a translation that fails, changes none.
    return `${name}${code === undefined ? '' : `: ${code}`}.`;
  }
}
