import { operations } from '../areas';
import { emptyResultLists, currentIsoTime, type Envelope, type BulkResult, type PlannedRequest } from '../model/envelope';
import type { ErrorCode } from '../model/error-codes';
import type { GatewayError } from '../model/error';
import { createOperationTitle, type Translate } from '../model/summary';
import { SUMMARY_TEXTS } from '../model/summary-texts';

/** What became of one appliance. */
export interface ApplianceResult {
  appliance: string;
  ok: boolean;
  /** It was not begun: a canary failed, or too many others have. */
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
  /** Of operations that can say all of it in one: metrics as one text. */
  together?: unknown;
}

/** A planned request, and of which appliance. */
export type PlannedApplianceRequest = PlannedRequest & { appliance: string };

/** Why a run ended before all were begun. */
export type StopReason = 'canary' | 'failures' | 'cancelled';

export const MANY_SUMMARY_TEMPLATES = {
  done: '__title__: done on __ok__ of __total__ appliances',
  'done-one': '__title__: done on __ok__ of 1 appliance',
  planned: '__title__: would send __requests__ to __appliances__',
  requests: '__n__ requests',
  'requests-one': '1 request',
  appliances: '__n__ appliances',
  'appliances-one': '1 appliance',
  none: '__title__: no appliance fits __selection__.',
  failed: '; failed: __n__ (__names__)',
  skipped: '; not begun: __n__',
  canary: ', since the canary failed',
  failures: ', since too many failed',
  cancelled: ', since it was cancelled',
  more: '__names__ and __n__ more',
} as const;

/** Names of more are in the results. */
const MAX_NAMES = 5;

/** Of what was done on one appliance, what sums are made of. */
export type EnvelopeCosts = Pick<Envelope, 'requests' | 'retries' | 'logins' | 'plan'>;

/** What a report is made of. */
export interface ManyReportInput {
  readonly operation: string;
  /** How the appliances were selected. */
  readonly selection: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly results: readonly ApplianceResult[];
  readonly envelopes: readonly (EnvelopeCosts | undefined)[];
  readonly dryRun: boolean;
  readonly stopped: StopReason | undefined;
  readonly started: number;
  readonly translate: Translate;
}

/** How many there were, and what became of them. */
export function countResults(results: readonly ApplianceResult[]): Pick<ManyAppliancesData, 'total' | 'ok' | 'failed' | 'skipped'> {
  const count = (predicate: (result: ApplianceResult) => boolean): number => results.filter(predicate).length;
  return {
    total: results.length,
    ok: count(({ ok }) => ok),
    failed: count(({ ok, skipped }) => !ok && !skipped),
    skipped: count(({ skipped }) => skipped === true),
  };
}

export function toManyData(results: ApplianceResult[], operation: string): ManyAppliancesData {
  const allData = results.flatMap((result) => ('data' in result ? [result.data] : []));
  const together = allData.length > 0 ? operations.get(operation)?.aggregate?.(allData) : undefined;
  return { ...countResults(results), results, ...(together !== undefined && { together }) };
}

/** Data and envelope of a run on many, for whoever runs them by other means. */
export function createManyReport(report: Omit<ManyReportInput, 'results'> & { readonly results: ApplianceResult[] }): {
  data: ManyAppliancesData;
  envelope: Envelope;
} {
  return { data: toManyData(report.results, report.operation), envelope: toManyEnvelope(report) };
}

/** The envelope of the whole: counts are sums, and the sentence names those that failed. */
export function toManyEnvelope(report: ManyReportInput): Envelope {
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
    result: emptyResultLists(),
    changed: combineChanged(report),
    dryRun,
    requests: sum('requests'),
    retries: sum('retries'),
    logins: sum('logins'),
    ms: Math.round((performance.now() - started) * 10) / 10,
    at: currentIsoTime(),
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

/** How much a plan would send, and to how many. */
export function formatPlanned(translate: Translate, title: string, requests: number, appliances: number): string {
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
  const parts = [planned === undefined ? format(doneKey, { title, ok, total }) : formatPlanned(translate, title, planned, total)];
  if (failed > 0) parts.push(format('failed', { n: failed, names: namesText }));
  if (skipped > 0) parts.push(format('skipped', { n: skipped }), stopped ? format(stopped, {}) : '');
  return translate('summary.sentence', SUMMARY_TEXTS.sentence, { parts: parts.join('') });
}

/** What went wrong, a line each, for a mail; empty when all is well. */
function toFailureText(results: readonly ApplianceResult[]): string {
  return results.flatMap(({ appliance, error }) => (error ? [`${appliance}: ${error.code}: ${error.message}`] : [])).join('\n');
}

export function toFailedResult(appliance: string, error: GatewayError): ApplianceResult {
  const { code, message, cause } = error;
  return { appliance, ok: false, changed: cause?.changed ?? null, error: { code, message } };
}

/** Of an operation on many items, some of which failed: the appliance is not well either. */
export function findPartialFailure(many: BulkResult | null): ApplianceResult['error'] {
  const first = many?.results.find((result) => 'error' in result);
  if (!many || !first || !('error' in first)) return undefined;
  return { code: first.error.code, message: `${many.failed} of ${many.total} failed: ${first.error.message}` };
}
