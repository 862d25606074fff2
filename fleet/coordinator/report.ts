import {
  createManyReport,
  type ApplianceResult,
  type EnvelopeCosts,
  type Envelope,
  type ErrorCode,
  type RunOptions,
} from '@gateway-admin/node-red';
import type { ItemRow, RunRow } from '../store/rows';

/** The report of a fleet run: the format of a run on many appliances in one Node-RED, with unknown outcomes counted separately. */
export interface FleetReport {
  run: string;
  total: number;
  ok: number;
  failed: number;
  unknown: number;
  skipped: number;
  results: (ApplianceResult & { unknown?: true })[];
}

export function createReport(
  run: RunRow,
  items: readonly ItemRow[],
  translate: NonNullable<RunOptions['translate']> = fillPlaceholders,
): { data: FleetReport; envelope: Envelope } {
  const results = items.map(toApplianceResult);
  const { data, envelope } = createManyReport({
    operation: run.operation,
    selection: run.selection,
    input: run.input,
    results,
    envelopes: items.map(toCosts),
    dryRun: run.dry_run,
    stopped: run.stopped ?? undefined,
    started: performance.now(),
    translate,
  });
  const unknown = results.filter((result) => result.unknown).length;
  const { total, ok, failed, skipped } = data;
  if (run.approved) envelope.approved = { by: run.approved.by, at: run.approved.at };
  Object.assign(envelope, { run: run.id, ms: (run.ended ?? new Date()).getTime() - run.created.getTime(), at: run.created.toISOString() });
  return { data: { run: run.id, total, ok, failed: failed - unknown, unknown, skipped, results }, envelope };
}

function toApplianceResult(item: ItemRow): ApplianceResult & { unknown?: true } {
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

function toCosts({ state, requests, retries, logins, plan }: ItemRow): EnvelopeCosts | undefined {
  if (state === 'waiting' || state === 'skipped') return undefined;
  return { requests, retries, logins, ...(plan && { plan }) };
}

function fillPlaceholders(_key: string, text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/__([\w-]+?)__/g, (_all, name: string) => String(values[name] ?? ''));
}
