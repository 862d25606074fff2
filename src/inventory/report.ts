import { operations } from '../areas';
import { emptyResult, isoTime, type Envelope, type Many, type PlannedRequest } from '../model/envelope';
import type { ErrorCode } from '../model/error-codes';
import type { GatewayError } from '../model/error';
import { titleOf, type Say } from '../model/summary';
import { SUMMARIES } from '../model/summary-words';

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
export interface ManyAppliances {
  total: number;
  ok: number;
  failed: number;
  skipped: number;
  results: ApplianceResult[];
  /** Of operations that can say all of it in one: metrics as one text. */
  together?: unknown;
}

/** A planned request, and of which appliance. */
export type PlannedAt = PlannedRequest & { appliance: string };

/** Why a run ended before all were begun. */
export type Stopped = 'canary' | 'failures' | 'cancelled';

export const WORDS = {
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
const MOST_NAMED = 5;

/** Of what was done on one appliance, what sums are made of. */
export type Costs = Pick<Envelope, 'requests' | 'retries' | 'logins' | 'plan'>;

/** What a report is made of. */
export interface Reported {
  readonly operation: string;
  /** How the appliances were selected. */
  readonly selection: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly results: readonly ApplianceResult[];
  readonly envelopes: readonly (Costs | undefined)[];
  readonly dryRun: boolean;
  readonly stopped: Stopped | undefined;
  readonly started: number;
  readonly say: Say;
}

/** How many there were, and what became of them. */
export function countsOf(results: readonly ApplianceResult[]): Pick<ManyAppliances, 'total' | 'ok' | 'failed' | 'skipped'> {
  const count = (so: (result: ApplianceResult) => boolean): number => results.filter(so).length;
  return {
    total: results.length,
    ok: count(({ ok }) => ok),
    failed: count(({ ok, skipped }) => !ok && !skipped),
    skipped: count(({ skipped }) => skipped === true),
  };
}

export function dataOf(results: ApplianceResult[], operation: string): ManyAppliances {
  const given = results.flatMap((result) => ('data' in result ? [result.data] : []));
  const together = given.length > 0 ? operations.get(operation)?.together?.(given) : undefined;
  return { ...countsOf(results), results, ...(together !== undefined && { together }) };
}

/** Data and envelope of a run on many, for whoever runs them by other means. */
export function manyReport(of: Omit<Reported, 'results'> & { readonly results: ApplianceResult[] }): {
  data: ManyAppliances;
  envelope: Envelope;
} {
  return { data: dataOf(of.results, of.operation), envelope: envelopeOf(of) };
}

/** The envelope of the whole: counts are sums, and the sentence names those that failed. */
export function envelopeOf(of: Reported): Envelope {
  const { operation, selection, results, envelopes, dryRun, stopped, started } = of;
  const sum = (name: 'requests' | 'retries' | 'logins'): number => envelopes.reduce((all, envelope) => all + (envelope?.[name] ?? 0), 0);
  const plan = envelopes.flatMap((envelope, index): PlannedAt[] =>
    (envelope?.plan ?? []).map((request) => ({ appliance: results[index]?.appliance ?? '', ...request })),
  );
  const planned = envelopes.some((envelope) => envelope?.plan !== undefined);
  return {
    ok: results.every(({ ok }) => ok),
    operation,
    appliance: selection,
    request: null,
    status: null,
    result: emptyResult(),
    changed: changedOf(of),
    dryRun,
    requests: sum('requests'),
    retries: sum('retries'),
    logins: sum('logins'),
    ms: Math.round((performance.now() - started) * 10) / 10,
    at: isoTime(),
    summary: summaryOf(of, planned ? plan.length : undefined),
    text: textOf(results),
    ...(stopped && { stopped }),
    ...(planned && { plan }),
  };
}

function changedOf({ operation, results, dryRun }: Reported): boolean | null {
  if (dryRun || operations.get(operation)?.effect === 'read') return null;
  if (results.some(({ changed }) => changed === true)) return true;
  return results.some(({ changed, skipped }) => changed === null && !skipped) ? null : false;
}

function telling(say: Say): (key: keyof typeof WORDS, values: Record<string, string | number>) => string {
  return (key, values) => say(`fleet.${key}`, WORDS[key], values);
}

/** How much a plan would send, and to how many. */
export function plannedWords(say: Say, title: string, requests: number, appliances: number): string {
  const tell = telling(say);
  return tell('planned', {
    title,
    requests: tell(requests === 1 ? 'requests-one' : 'requests', { n: requests }),
    appliances: tell(appliances === 1 ? 'appliances-one' : 'appliances', { n: appliances }),
  });
}

function summaryOf({ operation, selection, input, results, stopped, say }: Reported, planned: number | undefined): string {
  const tell = telling(say);
  const { total, ok, failed, skipped } = countsOf(results);
  const title = titleOf({ name: operation, operation: operations.get(operation), input, mask: (text) => text }, say);
  if (total === 0) return tell('none', { title, selection });
  const names = results.filter((result) => !result.ok && !result.skipped).map(({ appliance }) => appliance);
  const shown = names.slice(0, MOST_NAMED).join(', ');
  const named = names.length > MOST_NAMED ? tell('more', { names: shown, n: names.length - MOST_NAMED }) : shown;
  const done = total === 1 ? 'done-one' : 'done';
  const parts = [planned === undefined ? tell(done, { title, ok, total }) : plannedWords(say, title, planned, total)];
  if (failed > 0) parts.push(tell('failed', { n: failed, names: named }));
  if (skipped > 0) parts.push(tell('skipped', { n: skipped }), stopped ? tell(stopped, {}) : '');
  return say('summary.sentence', SUMMARIES.sentence, { parts: parts.join('') });
}

/** What went wrong, a line each, for a mail; empty when all is well. */
function textOf(results: readonly ApplianceResult[]): string {
  return results.flatMap(({ appliance, error }) => (error ? [`${appliance}: ${error.code}: ${error.message}`] : [])).join('\n');
}

export function failedResult(appliance: string, error: GatewayError): ApplianceResult {
  const { code, message, cause } = error;
  return { appliance, ok: false, changed: cause?.changed ?? null, error: { code, message } };
}

/** Of an operation on many items, some of which failed: the appliance is not well either. */
export function partlyFailed(many: Many | null): ApplianceResult['error'] {
  const first = many?.results.find((result) => 'error' in result);
  if (!many || !first || !('error' in first)) return undefined;
  return { code: first.error.code, message: `${many.failed} of ${many.total} failed: ${first.error.message}` };
}
