import { operations } from '../areas';
import { createEmptyMessageLists, getCurrentIsoTime, type Envelope, type BulkResult, type PlannedRequest } from '../model/envelope';
import type { ErrorCode } from '../model/error-codes';
import type { GatewayError } from '../model/error';
import { createOperationTitle, type Translate } from '../model/summary';
import { SUMMARY_TEXTS } from '../model/summary-texts';

/** The result of one appliance. */
export interface ApplianceResult {
  appliance: string;
  ok: boolean;
  /** The appliance was not started, because a canary or too many other appliances failed. */
  skipped?: true;
  data?: unknown;
  changed?: boolean | null;
  error?: { code: ErrorCode; message: string };
}

/** Data of a run on many appliances, in the order of the inventory. */
export interface ManyAppliancesData {
  total: number;
  ok: number;
  failed: number;
  skipped: number;
  results: ApplianceResult[];
  /** The aggregated data of all appliances, for operations such as metrics. */
  together?: unknown;
}

/** A planned request with its appliance. */
export type PlannedApplianceRequest = PlannedRequest & { appliance: string };

/** Why a run ended before all appliances were started. */
export type StopReason = 'canary' | 'failures' | 'cancelled';

export const MANY_SUMMARY_TEMPLATES = {
  done: '__title__: done on __ok__ of __total__ appliances',
  'done-one': '__title__: done on __ok__ of 1 appliance',
  planned: '__title__: would send __requests__ to __appliances__',
  requests: '__n__ requests',
  'requests-one': '1 request',
  appliances: '__n__ appliances',
  'appliances-one': '1 appliance',
  none: '__title__: no appliance matches __selection__.',
  failed: '; failed: __n__ (__names__)',
  skipped: '; not started: __n__',
  canary: ', because the canary failed',
  failures: ', because too many failed',
  cancelled: ', because the run was canceled',
  more: '__names__ and __n__ more',
} as const;

/** The maximum number of names in the summary. */
const MAX_NAMES = 5;

/** The part of an appliance's envelope that is summed up. */
export type EnvelopeCosts = Pick<Envelope, 'requests' | 'retries' | 'logins' | 'plan' | 'rehearsal'>;

/** The input of a report. */
export interface ManyReportInput {
  readonly operation: string;
  /** The selection of the appliances. */
  readonly selection: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly results: readonly ApplianceResult[];
  readonly envelopes: readonly (EnvelopeCosts | undefined)[];
  readonly dryRun: boolean;
  readonly stopped: StopReason | undefined;
  readonly started: number;
  readonly translate: Translate;
}

/** Counts the results by their state. */
export function countResults(results: readonly ApplianceResult[]): Pick<ManyAppliancesData, 'total' | 'ok' | 'failed' | 'skipped'> {
  const count = (predicate: (result: ApplianceResult) => boolean): number => results.filter(predicate).length;
  return {
    total: results.length,
    ok: count(({ ok }) => ok),
    failed: count(({ ok, skipped }) => !ok && !skipped),
    skipped: count(({ skipped }) => skipped === true),
  };
}

export function toManyAppliancesData(results: ApplianceResult[], operation: string): ManyAppliancesData {
  const allData = results.flatMap((result) => ('data' in result ? [result.data] : []));
  const together = allData.length > 0 ? operations.get(operation)?.aggregate?.(allData) : undefined;
  return { ...countResults(results), results, ...(together !== undefined && { together }) };
}

/** The data and the envelope of a run on many appliances, for runs that the fleet package performs. */
export function createManyReport(report: Omit<ManyReportInput, 'results'> & { readonly results: ApplianceResult[] }): {
  data: ManyAppliancesData;
  envelope: Envelope;
} {
  return { data: toManyAppliancesData(report.results, report.operation), envelope: toManyAppliancesEnvelope(report) };
}

/** The envelope of the whole run. Counts are sums, and the summary names the failed appliances. */
export function toManyAppliancesEnvelope(report: ManyReportInput): Envelope {
  const { operation, selection, results, envelopes, dryRun, stopped, started } = report;
  const sum = (name: 'requests' | 'retries' | 'logins'): number => envelopes.reduce((all, envelope) => all + (envelope?.[name] ?? 0), 0);
  const plan = envelopes.flatMap((envelope, index): PlannedApplianceRequest[] =>
    (envelope?.plan ?? []).map((request) => ({ appliance: results[index]?.appliance ?? '', ...request })),
  );
  const planned = envelopes.some((envelope) => envelope?.plan !== undefined);
  return {
    ok: results.every(({ ok }) => ok),
    operation,
    appliance: selection,
    request: null,
    status: null,
    result: createEmptyMessageLists(),
    changed: combineChanged(report),
    dryRun,
    ...(envelopes.some((envelope) => envelope?.rehearsal) && { rehearsal: true }),
    requests: sum('requests'),
    retries: sum('retries'),
    logins: sum('logins'),
    ms: Math.round((performance.now() - started) * 10) / 10,
    at: getCurrentIsoTime(),
    summary: summarizeMany(report, planned ? plan.length : undefined),
    text: toFailureText(results),
    ...(stopped && { stopped }),
    ...(planned && { plan }),
  };
}

function combineChanged({ operation, results, dryRun }: ManyReportInput): boolean | null {
  if (dryRun || operations.get(operation)?.effect === 'read') return null;
  if (results.some(({ changed }) => changed === true)) return true;
  return results.some(({ changed, skipped }) => changed === null && !skipped) ? null : false;
}

function templateFormatter(
  translate: Translate,
): (key: keyof typeof MANY_SUMMARY_TEMPLATES, values: Record<string, string | number>) => string {
  return (key, values) => translate(`fleet.${key}`, MANY_SUMMARY_TEMPLATES[key], values);
}

/** The number of requests and appliances of a plan, as a phrase. */
export function formatPlannedRequests(translate: Translate, title: string, requests: number, appliances: number): string {
  const format = templateFormatter(translate);
  return format('planned', {
    title,
    requests: format(requests === 1 ? 'requests-one' : 'requests', { n: requests }),
    appliances: format(appliances === 1 ? 'appliances-one' : 'appliances', { n: appliances }),
  });
}

function summarizeMany({ operation, selection, input, results, stopped, translate }: ManyReportInput, planned: number | undefined): string {
  const format = templateFormatter(translate);
  const { total, ok, failed, skipped } = countResults(results);
  const title = createOperationTitle({ name: operation, operation: operations.get(operation), input, mask: (text) => text }, translate);
  if (total === 0) return format('none', { title, selection });
  const names = results.filter((result) => !result.ok && !result.skipped).map(({ appliance }) => appliance);
  const listedNames = names.slice(0, MAX_NAMES).join(', ');
  const namesText = names.length > MAX_NAMES ? format('more', { names: listedNames, n: names.length - MAX_NAMES }) : listedNames;
  const doneKey = total === 1 ? 'done-one' : 'done';
  const parts = [planned === undefined ? format(doneKey, { title, ok, total }) : formatPlannedRequests(translate, title, planned, total)];
  if (failed > 0) parts.push(format('failed', { n: failed, names: namesText }));
  if (skipped > 0) parts.push(format('skipped', { n: skipped }), stopped ? format(stopped, {}) : '');
  return translate('summary.sentence', SUMMARY_TEXTS.sentence, { parts: parts.join('') });
}

/** A line for each failure, for a mail. Empty if there is none. */
function toFailureText(results: readonly ApplianceResult[]): string {
  return results.flatMap(({ appliance, error }) => (error ? [`${appliance}: ${error.code}: ${error.message}`] : [])).join('\n');
}

export function toFailedResult(appliance: string, error: GatewayError): ApplianceResult {
  const { code, message, cause } = error;
  return { appliance, ok: false, changed: cause?.changed ?? null, error: { code, message } };
}

/** The error of an operation on several items if some of them failed. The appliance then counts as failed too. */
export function findPartialFailure(many: BulkResult | null): ApplianceResult['error'] {
  const first = many?.results.find((result) => 'error' in result);
  if (!many || !first || !('error' in first)) return undefined;
  return { code: first.error.code, message: `${many.failed} of ${many.total} failed: ${first.error.message}` };
}
