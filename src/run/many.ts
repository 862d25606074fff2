import type { Many, ManyItem } from '../model/envelope';
import { asGatewayError, GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import type { Request } from '../model/request';

/** After these, trying the next item would fail just so, and cost a login attempt or a connection time limit each. */
const HOPELESS = new Set<ErrorCode>(['LOGIN_REJECTED', 'LOGIN_PAUSED', 'SECOND_FACTOR_REQUIRED', 'UNAUTHORIZED', 'TLS', 'BAD_CONFIG']);

export interface EachOptions<T> {
  /** What of an item the results show. */
  readonly shown: (item: T) => unknown;
  /** Sends one request; gives the status of its success. */
  readonly write: (request: Request) => Promise<number>;
  readonly atOnce: number;
}

/** `failure` when not a single one succeeded. `changed` is null when that cannot be told. */
export interface EachOutcome {
  readonly many: Many;
  readonly changed: boolean | null;
  readonly failure: GatewayError | undefined;
}

/** One write per item, `atOnce` at a time, results in order; an item that fails does not stop the others. */
export async function writeEach<T>(
  items: readonly T[],
  requests: readonly Request[],
  { shown, write, atOnce }: EachOptions<T>,
): Promise<EachOutcome> {
  const results = new Array<ManyItem>(items.length);
  const failures = new Map<number, GatewayError>();
  let next = 0;
  let hopeless: GatewayError | undefined;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = shown(items[index] as T);
      try {
        if (hopeless) throw hopeless;
        results[index] = { item, ok: true, status: await write(requests[index] as Request) };
      } catch (thrown) {
        const error = asGatewayError(thrown);
        if (isHopeless(error)) hopeless ??= error;
        failures.set(index, error);
        results[index] = { item, ok: false, error: { code: error.code, message: error.message } };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return outcomeOf(results, failures);
}

function outcomeOf(results: ManyItem[], failures: ReadonlyMap<number, GatewayError>): EachOutcome {
  const many = { total: results.length, ok: results.length - failures.size, failed: failures.size, results };
  const unknown = [...failures.values()].some(({ code }) => code === 'OUTCOME_UNKNOWN');
  const changed = many.ok > 0 || (unknown ? null : false);
  const first = many.ok === 0 ? failures.get(0) : undefined;
  if (!first) return { many, changed, failure: undefined };
  const others = failures.size > 1 ? ` (and ${failures.size - 1} more failed)` : '';
  // With its details, such as the reason or the login step that waits: the contract promises them for the code.
  const failure = new GatewayError(first.code, `${first.message}${others}`, { ...first.details, extra: { results } });
  return { many, changed, failure };
}

function isHopeless({ code, details }: GatewayError): boolean {
  return HOPELESS.has(code) || (code === 'CONNECTION' && details.sent === false);
}
