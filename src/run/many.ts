import type { Many, ManyItem } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import type { ErrorCode } from '../model/error-codes';
import { leavesUnchanged } from './repeat';

/** After these, trying the next item would fail just so, and cost a login attempt or a connection time limit each. */
const HOPELESS = new Set<ErrorCode>(['LOGIN_REJECTED', 'LOGIN_PAUSED', 'SECOND_FACTOR_REQUIRED', 'UNAUTHORIZED', 'TLS', 'BAD_CONFIG']);

/** Takes secrets out of what is shown; of a sentence, out of what is from outside alone. */
export interface Masking {
  value<T>(value: T): T;
  message(error: GatewayError): string;
}

/** What became of one item that did not fail; `changed` is null where nothing can be said of it. */
export interface ItemDone {
  readonly status: number | null;
  readonly changed: boolean | null;
}

export interface EachOptions<T> {
  /** What of an item the results show. */
  readonly shown: (item: T) => unknown;
  readonly work: (item: T, index: number) => Promise<ItemDone>;
  readonly atOnce: number;
  readonly masking: Masking;
  /** A dry run: items are planned, not done. */
  readonly planned: boolean;
  /** Told after each item how many are behind it. */
  readonly advance?: (done: number) => void;
}

/** `failure` when not a single one succeeded. `changed` is null when that cannot be told. */
export interface EachOutcome {
  readonly many: Many;
  readonly changed: boolean | null;
  readonly failure: GatewayError | undefined;
}

/** Works on every item, `atOnce` at a time, results in order; an item that fails does not stop the others. */
export async function workOnEach<T>(
  items: readonly T[],
  { shown, work, atOnce, masking, planned, advance }: EachOptions<T>,
): Promise<EachOutcome> {
  const results: ManyItem[] = [];
  const failures = new Map<number, GatewayError>();
  let changed: boolean | null = false;
  let next = 0;
  let done = 0;
  let hopeless: GatewayError | undefined;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = masking.value(shown(items[index] as T));
      try {
        if (hopeless) throw hopeless;
        const { status, changed: changes } = await work(items[index] as T, index);
        if (changes) changed = true;
        results[index] = planned ? { item, planned } : { item, ok: true, status };
      } catch (thrown) {
        const error = asGatewayError(thrown);
        if (isHopeless(error)) hopeless ??= error;
        // Written, but not what it should be.
        if (error.details.extra?.['changed'] === true) changed = true;
        if (!leavesUnchanged(error)) changed ||= null;
        failures.set(index, error);
        results[index] = { item, ok: false, error: { code: error.code, message: masking.message(error) } };
      }
      advance?.(++done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return { ...outcomeOf(results, failures), changed };
}

/** Results as the data of an operation on many. `failure` when all of them failed: the first, with how many others. */
export function outcomeOf(results: ManyItem[], failures: ReadonlyMap<number, GatewayError>): Omit<EachOutcome, 'changed'> {
  const ok = results.filter((result) => 'ok' in result && result.ok).length;
  const many = { total: results.length, ok, failed: failures.size, results };
  const first = failures.size === results.length ? failures.get(0) : undefined;
  if (!first) return { many, failure: undefined };
  const words = failures.size > 1 ? sentence`${first} (and ${failures.size - 1} more failed)` : first.sentence;
  // With its details, such as the reason or the login step that waits: the contract promises them for the code.
  return { many, failure: new GatewayError(first.code, words, first.details) };
}

function isHopeless({ code, details }: GatewayError): boolean {
  return HOPELESS.has(code) || (code === 'CONNECTION' && details.sent === false);
}
