import type { BulkResult, BulkItemResult } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import { copyJson } from '../model/json';
import { mapConcurrently } from '../model/map-concurrently';
import { safeMessage } from '../model/safe-message';
import type { ErrorCode } from '../model/error-codes';
import { isWithoutEffect } from './retry-policy';

/** After these errors the next item would fail too, and cost a login attempt or a connection timeout. */
const FATAL_CODES = new Set<ErrorCode>(['LOGIN_REJECTED', 'LOGIN_PAUSED', 'SECOND_FACTOR_REQUIRED', 'UNAUTHORIZED', 'TLS', 'BAD_CONFIG']);

/** Masks secrets in values, and in the untrusted parts of an error message. `value` returns a value without secrets itself. */
export interface SecretMasker {
  value<T>(value: T): T;
  message(error: GatewayError): string;
}

/** The outcome of an item that did not fail; `changed` is null when it is unknown. */
export interface BulkItemOutcome {
  readonly status: number | null;
  readonly changed: boolean | null;
}

interface BulkOptions<T> {
  /** The part of an item that the results show. */
  readonly describeItem: (item: T) => unknown;
  readonly work: (item: T, index: number) => Promise<BulkItemOutcome>;
  readonly concurrency: number;
  readonly masker: SecretMasker;
  /** True in a dry run. */
  readonly isPlanned: boolean;
  /** Called after each item with the number of finished items. */
  readonly onItemDone?: ((done: number) => void) | undefined;
}

/** `failure` is set when every item failed. `changed` is null when it is unknown. */
interface BulkOutcome {
  readonly many: BulkResult;
  readonly changed: boolean | null;
  readonly failure: GatewayError | undefined;
}

/**
 * Runs `work` on every item, at most `concurrency` at a time. Results keep the order of the items; a failing item does not stop the others.
 */
export async function runBulk<T>(
  items: readonly T[],
  { describeItem, work, concurrency, masker, isPlanned, onItemDone }: BulkOptions<T>,
): Promise<BulkOutcome> {
  const results: BulkItemResult[] = [];
  const failures = new Map<number, GatewayError>();
  let changed: boolean | null = false;
  let doneCount = 0;
  let fatalError: GatewayError | undefined;
  await mapConcurrently(items, concurrency, async (original, index) => {
    // A copy, so that nobody changes the input through the results.
    const item = copyJson(masker.value(describeItem(original)));
    try {
      if (fatalError) throw fatalError;
      const { status, changed: hasChanged } = await work(original, index);
      if (hasChanged === true) changed = true;
      else if (hasChanged === null) changed ||= null;
      results[index] = isPlanned ? { item, planned: isPlanned } : { item, ok: true, status };
    } catch (thrown) {
      const error = asGatewayError(thrown);
      if (isFatal(error)) fatalError ??= error;
      // The item was written, but its state is not the wanted one.
      if (error.details.extra?.['changed'] === true) changed = true;
      if (!isWithoutEffect(error)) changed ||= null;
      failures.set(index, error);
      results[index] = { item, ok: false, error: { code: error.code, message: masker.message(error) } };
    }
    onItemDone?.(++doneCount);
  });
  return { ...toBulkOutcome(results, failures), changed };
}

/** The data of an operation on many items. `failure` is set when all items failed: the first error and the number of others. */
export function toBulkOutcome(results: BulkItemResult[], failures: ReadonlyMap<number, GatewayError>): Omit<BulkOutcome, 'changed'> {
  const ok = results.filter((result) => 'ok' in result && result.ok).length;
  const many = { total: results.length, ok, failed: failures.size, results };
  const first = failures.size === results.length ? failures.get(0) : undefined;
  if (!first) return { many, failure: undefined };
  const message = failures.size > 1 ? safeMessage`${first} (and ${failures.size - 1} more failed)` : first.safeMessage;
  // The details stay, because the contract promises them for some codes.
  return { many, failure: new GatewayError(first.code, message, first.details) };
}

function isFatal({ code, details }: GatewayError): boolean {
  return FATAL_CODES.has(code) || (code === 'CONNECTION' && details.sent === false);
}
