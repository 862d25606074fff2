import { manyReport, type ApplianceResult, type Costs, type Envelope, type ErrorCode, type RunOptions } from '@gateway-admin/node-red';
import type { ItemRow, RunRow } from '../ledger/rows';

/** As of a run on many appliances in one Node-RED; a write of which nobody knows whether it happened is told apart. */
export interface FleetReport {
  run: string;
  total: number;
  ok: number;
  failed: number;
  unknown: number;
  skipped: number;
  results: (ApplianceResult & { unknown?: true })[];
}

export function reportOf(
  run: RunRow,
  items: readonly ItemRow[],
  say: NonNullable<RunOptions['say']> = english,
): { data: FleetReport; envelope: Envelope } {
  const results = items.map(resultOf);
  const { data, envelope } = manyReport({
    operation: run.operation,
    selection: run.selection,
    input: run.input,
    results,
    envelopes: items.map(costsOf),
    dryRun: run.dry_run,
    stopped: run.stopped ?? undefined,
    started: performance.now(),
    say,
  });
  const unknown = results.filter((result) => result.unknown).length;
  const { total, ok, failed, skipped } = data;
  if (run.approved) envelope.approved = { by: run.approved.by, at: run.approved.at };
  Object.assign(envelope, { run: run.id, ms: (run.ended ?? new Date()).getTime() - run.created.getTime(), at: run.created.toISOString() });
  return { data: { run: run.id, total, ok, failed: failed - unknown, unknown, skipped, results }, envelope };
}

function resultOf(item: ItemRow): ApplianceResult & { unknown?: true } {
  const { appliance, state, changed, code, message, data } = item;
  if (state === 'waiting' || state === 'skipped') return { appliance, ok: false, skipped: true };
  return {
    appliance,
    ok: state === 'ok',
    ...(state === 'unknown' && { unknown: true }),
    ...(data !== null && data !== undefined && { data }),
    changed,
    ...(code !== null && { error: { code: code as ErrorCode, message: message ?? '' } }),
  };
}

function costsOf({ state, requests, retries, logins, plan }: ItemRow): Costs | undefined {
  if (state === 'waiting' || state === 'skipped') return undefined;
  return { requests, retries, logins, ...(plan && { plan }) };
}

function english(_key: string, text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/__([\w-]+?)__/g, (_all, name: string) => String(values[name] ?? ''));
}
