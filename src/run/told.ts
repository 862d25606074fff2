import type { ErrorCode } from '../model/error-codes';
import type { Operation } from '../model/operation';
import type { Redactor } from '../model/redaction';
import { summaryOf, type Say } from '../model/summary';
import type { OperationCall } from './call';

/** One run, as far as its sentence for people needs it. */
export interface Told {
  readonly name: string;
  /** Undefined: there is none of that name. */
  readonly operation: Operation | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  readonly redactor: Redactor;
  readonly say: Say;
}

/** What came of it: its data or the code of its error, and how many of a stream. */
export interface Came {
  readonly data?: unknown;
  readonly code?: ErrorCode;
  readonly count?: number;
}

/** The sentence of a run: `envelope.summary`. */
export function tell(
  { name, operation, input, redactor, say }: Told,
  { record, plan }: OperationCall,
  { data, code, count }: Came,
): string {
  const { many, emitted, emittedItems, changed } = record;
  const found = count ?? (emitted === undefined ? (Array.isArray(data) ? data.length : undefined) : emittedItems);
  const planned = operation?.effect === 'read' ? undefined : plan?.requests.length;
  const mask = (text: string): string => redactor.text(text);
  try {
    return summaryOf({ name, operation, input, mask, many, planned, changed, found, data, ...(code !== undefined && { code }) }, say);
  } catch {
    // Words are no outcome: an input that cannot be looked at, or a translation that fails, changes none.
    return `${name}${code === undefined ? '' : `: ${code}`}.`;
  }
}
