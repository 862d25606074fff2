import type { ErrorCode } from '../model/error-codes';
import type { Operation } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { createSummary, type Translate } from '../model/summary';
import type { RunState } from './run-state';

/** The run for its summary. */
export interface SummaryContext {
  readonly name: string;
  readonly appliance: string;
  /** The operation; undefined when the name is unknown. */
  readonly operation: Operation | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  readonly redactor: Redactor;
  readonly translate: Translate;
}

/** The result of a run: its data or error code, and the number of streamed records. */
export interface SummaryResult {
  readonly data?: unknown;
  readonly code?: ErrorCode;
  readonly count?: number;
}

/** Creates `envelope.summary`. */
export function summarizeRun(
  { name, appliance, operation, input, redactor, translate }: SummaryContext,
  { record, plan }: RunState,
  { data, code, count }: SummaryResult,
): string {
  const { many, emittedParts, emittedItems, changed, envelopeFields } = record;
  const foundCount = count ?? (emittedParts === undefined ? (Array.isArray(data) ? data.length : undefined) : emittedItems);
  const planned = operation?.effect === 'read' ? undefined : plan?.requests;
  const mask = (text: string): string => redactor.text(text);
  try {
    return createSummary(
      {
        name,
        appliance,
        operation,
        input,
        mask,
        many,
        plannedCount: planned?.length,
        // Of many items, a write without a name of its own is named by its path.
        plannedItems: planned?.flatMap(({ item, path }) => item ?? (many ? [{ path }] : [])),
        changed,
        foundCount,
        data,
        envelopeFields,
        code,
      },
      translate,
    );
  } catch {
    // A failed summary must not fail the run: an input may be unreadable, and a translation may throw.
    return `${name}${code === undefined ? '' : `: ${code}`}.`;
  }
}
