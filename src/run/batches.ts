import type { BulkItemResult, BulkResult } from '../model/envelope';
import type { GatewayError } from '../model/error';
import { copyJson } from '../model/json';
import type { Request } from '../model/request';
import { runBulk, toBulkOutcome, type BulkItemOutcome } from './bulk';
import { reportProgress } from './output';
import type { RunState } from './run-state';
import { canWriteHaveNoEffect, runWrite } from './writes';

/**
 * See `OperationContext.writeEach`. It creates all requests before it sends the first, so that an invalid item fails before any change.
 */
export async function writeEach<T>(
  run: RunState,
  items: readonly T[],
  toRequest: (item: T) => Request,
  describeItem: (item: T) => unknown,
): Promise<BulkResult> {
  const describeWrite = ({ item }: { item: T }): unknown => describeItem(item);
  const writes = dropUnapproved(
    run,
    items.map((item) => ({ item, request: toRequest(item) })),
    describeWrite,
  );
  return runEach(run, writes, describeWrite, async ({ request, item }) => {
    const write = { request, isApproved: true, describeItem: () => describeItem(item) };
    const { status, changed } = await runWrite(run, write);
    run.record.recordStatus('write', status);
    return { status, changed: changed ?? (canWriteHaveNoEffect(write) ? null : true) };
  });
}

/** Runs any work on each item. Errors: that of the first item when all of them failed. */
export async function runEach<T>(
  run: RunState,
  items: readonly T[],
  describeItem: (item: T) => unknown,
  work: (item: T, index: number) => Promise<BulkItemOutcome>,
): Promise<BulkResult> {
  const { record, plan, options } = run;
  const total = items.length;
  const shouldReport = options.onProgress !== undefined && !plan && total > 1;
  const { many, changed, failure } = await runBulk(items, {
    describeItem,
    work,
    concurrency: getConcurrency(run),
    masker: options.masker,
    isPlanned: plan !== undefined,
    onItemDone: shouldReport ? (done) => reportProgress(run, { state: 'items', done, total }) : undefined,
  });
  record.recordBulk(many, changed);
  if (failure) throw failure;
  return many;
}

/** Collects the results of many items, as `OperationContext.collectResults` describes. */
export function collectResults(run: RunState, items: readonly unknown[], failures: ReadonlyMap<number, GatewayError>): BulkResult {
  const { masker } = run.options;
  const results = items.map((original, index): BulkItemResult => {
    const item = copyJson(masker.value(original));
    const error = failures.get(index);
    return error ? { item, ok: false, error: { code: error.code, message: masker.message(error) } } : { item, ok: true, status: null };
  });
  const { many, failure } = toBulkOutcome(results, failures);
  run.record.many = many;
  if (failure) throw failure;
  return many;
}

/** Drops items whose write was not approved, because they appeared after the approval. */
function dropUnapproved<W extends { readonly request: Request }>(
  { options: { gate, masker }, record }: RunState,
  writes: readonly W[],
  describeWrite: (write: W) => unknown,
): readonly W[] {
  if (!gate) return writes;
  const unapproved: W[] = [];
  const approved = writes.filter((write) => gate.isAllowed(write.request) || void unapproved.push(write));
  if (unapproved.length > 0) record.addFields({ notApproved: unapproved.map((write) => masker.value(describeWrite(write))) });
  return approved;
}

/** Number of items in flight: twice the connections, so that a free connection has work at once; with a journal four times, because runs also wait for the journal. */
function getConcurrency({ gatewayContext: { settings } }: RunState): number {
  return (settings.journal ? 4 : 2) * settings.connections;
}
