import type { BulkResult, BulkItemResult } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import type { ErrorCode } from '../model/error-codes';
import { isNoOp } from './retry-policy';

/** After these, trying the next item would fail just so, and cost a login attempt or a connection time limit each. */
const FATAL_CODES = new Set<ErrorCode>(['LOGIN_REJECTED', 'LOGIN_PAUSED', 'SECOND_FACTOR_REQUIRED', 'UNAUTHORIZED', 'TLS', 'BAD_CONFIG']);

/** Takes secrets out of what is shown; of a sentence, out of what is from outside alone. */
export interface Masker {
  value<T>(value: T): T;
  message(error: GatewayError): string;
}

/** What became of one item that did not fail; `changed` is null where nothing can be said of it. */
export interface BulkItemOutcome {
  readonly status: number | null;
  readonly changed: boolean | null;
}

export interface BulkOptions<T> {
  /** What of an item the results show. */
  readonly describeItem: (item: T) => unknown;
  readonly work: (item: T, index: number) => Promise<BulkItemOutcome>;
  readonly concurrency: number;
  readonly masker: Masker;
  /** A dry run: items are planned, not done. */
  readonly isPlanned: boolean;
  /** Told after each item how many are behind it. */
  readonly onItemDone?: (done: number) => void;
}

/** `failure` when not a single one succeeded. `changed` is null when that cannot be told. */
export interface BulkOutcome {
  readonly many: BulkResult;
  readonly changed: boolean | null;
  readonly failure: GatewayError | undefined;
}

/** Works on every item, `atOnce` at a time, results in order; an item that fails does not stop the others. */
export async function runBulk<T>(
  items: readonly T[],
  { describeItem, work, concurrency, masker, isPlanned, onItemDone }: BulkOptions<T>,
): Promise<BulkOutcome> {
  const results: BulkItemResult[] = [];
  const failures = new Map<number, GatewayError>();
  let changed: boolean | null = false;
  let next = 0;
  let doneCount = 0;
  let fatalError: GatewayError | undefined;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = masker.value(describeItem(items[index] as T));
      try {
        if (fatalError) throw fatalError;
        const { status, changed: hasChanged } = await work(items[index] as T, index);
        if (hasChanged) changed = true;
        results[index] = isPlanned ? { item, planned: isPlanned } : { item, ok: true, status };
      } catch (thrown) {
        const error = asGatewayError(thrown);
        if (isFatal(error)) fatalError ??= error;
        // Written, but not what it should be.
        if (error.details.extra?.['changed'] === true) changed = true;
        if (!isNoOp(error)) changed ||= null;
        failures.set(index, error);
        results[index] = { item, ok: false, error: { code: error.code, message: masker.message(error) } };
      }
      onItemDone?.(++doneCount);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return { ...toBulkOutcome(results, failures), changed };
}

/** Results as the data of an operation on many. `failure` when all of them failed: the first, with how many others. */
export function toBulkOutcome(results: BulkItemResult[], failures: ReadonlyMap<number, GatewayError>): Omit<BulkOutcome, 'changed'> {
  const ok = results.filter((result) => 'ok' in result && result.ok).length;
  const many = { total: results.length, ok, failed: failures.size, results };
  const first = failures.size === results.length ? failures.get(0) : undefined;
  if (!first) return { many, failure: undefined };
  const message = failures.size > 1 ? safeMessage`${first} (and ${failures.size - 1} more failed)` : first.safeMessage;
  // With its details, such as the reason or the login step that waits: the contract promises them for the code.
  return { many, failure: new GatewayError(first.code, message, first.details) };
}

function isFatal({ code, details }: GatewayError): boolean {
  return FATAL_CODES.has(code) || (code === 'CONNECTION' && details.sent === false);
}
