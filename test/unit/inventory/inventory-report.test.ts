import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { planRollout, type RolloutOptions } from '../../../src/inventory/rollout-plan';
import {
  countResults,
  toManyAppliancesData,
  toFailedResult,
  createManyReport,
  findPartialFailure,
  type ApplianceResult,
  type EnvelopeCosts,
  type ManyReportInput,
} from '../../../src/inventory/many-report';
import type { Envelope, BulkResult } from '../../../src/model/envelope';
import { GatewayError } from '../../../src/model/error';
import { defaultTranslate } from '../../../src/model/summary';
import { getThrownError } from '../../helpers/simulated-appliance';

describe('planRollout', () => {
  it.each<[RolloutOptions, number, readonly number[]]>([
    [{}, 5, [5]],
    [{}, 0, []],
    [{ canary: 2 }, 5, [2, 5]],
    [{ canary: 5 }, 5, [5]],
    [{ canary: 9 }, 5, [5]],
    [{ batch: 2 }, 5, [2, 4, 5]],
    [{ batch: 9 }, 5, [5]],
    [{ canary: 1, batch: 2 }, 5, [1, 3, 5]],
    [{ batch: '50%' }, 5, [3, 5]],
    [{ batch: ' 0.001 % ' }, 3, [1, 2, 3]],
    [{ batch: '100%' }, 5, [5]],
    [{ batch: '2' }, 4, [2, 4]],
  ])('planRollout divides %j for %i appliances into parts', (options, total, ends) => {
    expect(planRollout(options, total).ends).toEqual(ends);
  });

  it('planRollout returns concurrency, canary and the maximum number of failures', () => {
    expect(planRollout({}, 200)).toEqual({ concurrency: 16, canary: 0, ends: [200], maxFailures: Infinity });
    expect(planRollout({ concurrency: 256, canary: 3, maxFailures: '2.5%' }, 200)).toMatchObject({
      concurrency: 256,
      canary: 3,
      maxFailures: 5,
    });
    expect(planRollout({ concurrency: 1, maxFailures: 0 }, 200)).toMatchObject({ concurrency: 1, maxFailures: 0 });
    expect(planRollout({ maxFailures: '0%' }, 200).maxFailures).toBe(0);
  });

  const SHARE = 'a whole number or a percentage such as 10%';
  it.each<[RolloutOptions, string]>([
    [{ concurrency: 0 }, 'concurrency (atOnce) must be a whole number from 1 to 256.'],
    [{ concurrency: 257 }, 'concurrency (atOnce) must be a whole number from 1 to 256.'],
    [{ concurrency: 1.5 }, 'concurrency (atOnce) must be a whole number from 1 to 256.'],
    [{ canary: -1 }, 'canary must be a whole number from 0.'],
    [{ canary: 0.5 }, 'canary must be a whole number from 0.'],
    [{ batch: 0 }, 'batch must be more than 0.'],
    [{ batch: '0.0%' }, 'batch must be more than 0.'],
    ...['', 'x', '-1', '1.5', '100.5%', '10%%', '1e3', '.5%', '1x%', 'x1%', '1.%', '1'.repeat(10), '1.1234567%'].map(
      (batch): [RolloutOptions, string] => [{ batch }, `batch must be ${SHARE}.`],
    ),
    [{ maxFailures: '101%' }, `maxFailures must be ${SHARE}.`],
  ])('planRollout rejects %j', (options, message) => {
    const error = getThrownError(() => planRollout(options, 10));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', message, details: { sent: false } });
  });
});

describe('createManyReport', () => {
  const well = (appliance: string, more: Partial<ApplianceResult> = {}): ApplianceResult => ({
    appliance,
    ok: true,
    changed: false,
    ...more,
  });
  const error = { code: 'TIMEOUT' as const, message: 'No answer.' };
  const failed = (appliance: string, changed: boolean | null = null): ApplianceResult => ({ appliance, ok: false, changed, error });
  const skipped = (appliance: string): ApplianceResult => ({ appliance, ok: false, skipped: true });
  const cost = (requests: number, plan?: EnvelopeCosts['plan']): EnvelopeCosts => ({
    requests,
    retries: 1,
    logins: 2,
    ...(plan && { plan }),
  });
  const request = { method: 'DELETE' as const, path: '/x' };

  const reported = (
    results: ApplianceResult[],
    more: Partial<ManyReportInput> = {},
  ): Omit<ManyReportInput, 'results'> & { results: ApplianceResult[] } => ({
    operation: 'sessions.kill-user',
    selection: 'tag:eu',
    input: { name: 'j.doe' },
    envelopes: results.map(() => undefined),
    dryRun: false,
    stopped: undefined,
    started: performance.now(),
    translate: defaultTranslate,
    ...more,
    results,
  });
  const envelopeOf = (results: ApplianceResult[], more: Partial<ManyReportInput> = {}): Envelope =>
    createManyReport(reported(results, more)).envelope;
  const summaryOf = (results: ApplianceResult[], more: Partial<ManyReportInput> = {}): string =>
    (envelopeOf(results, more).summary ?? '').replace(/^.*?: /, '');

  it('createManyReport counts the results by their state', () => {
    expect(countResults([well('a'), failed('b'), failed('c'), skipped('d')])).toEqual({ total: 4, ok: 1, failed: 2, skipped: 1 });
    expect(countResults([])).toEqual({ total: 0, ok: 0, failed: 0, skipped: 0 });
  });

  it('createManyReport adds up the costs of all appliances and joins their plans', () => {
    const results = [well('a'), failed('b'), well('c')];
    const envelopes = [cost(3, [request]), undefined, cost(4, [request, request])];
    const envelope = envelopeOf(results, { envelopes, dryRun: true });
    expect(envelope).toMatchObject({ requests: 7, retries: 2, logins: 4, dryRun: true, appliance: 'tag:eu', request: null, status: null });
    expect(envelope).toMatchObject({ operation: 'sessions.kill-user', result: { info: [], warnings: [], errors: [] }, changed: null });
    expect(envelope.plan).toEqual(['a', 'c', 'c'].map((appliance) => ({ appliance, ...request })));
    expect(envelope.summary).toMatch(/would send 3 requests to 3 appliances; failed: 1 \(b\)\.$/);
    expect(envelopeOf([well('a')], { envelopes: [cost(1, [request])], dryRun: true }).summary).toMatch(
      /would send 1 request to 1 appliance\.$/,
    );
    expect(envelopeOf(results, { envelopes: [cost(1, [])], dryRun: true }).summary).toContain('would send 0 requests to 3 appliances');
    expect(envelope.ms).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(Math.round((envelope.ms ?? NaN) * 10))).toBe(true);
    expect(envelopeOf(results, { envelopes: [cost(1), cost(1), undefined] })).not.toHaveProperty('plan');
    expect(envelopeOf(results)).not.toHaveProperty('stopped');
    expect(envelopeOf([well('a')], { envelopes: [cost(0, [])], dryRun: true }).plan).toEqual([]);
  });

  it.each<[string, ApplianceResult[], Partial<ManyReportInput>, boolean | null]>([
    ['nothing', [well('a'), well('b')], {}, false],
    ['something', [well('a'), well('b', { changed: true })], {}, true],
    ['something at least', [failed('a'), well('b', { changed: true })], {}, true],
    ['unknown', [well('a'), failed('b')], {}, null],
    ['nothing, with one appliance that was not started', [well('a'), { ...skipped('b'), changed: null }], {}, false],
    ['nothing, by a plan', [well('a', { changed: true })], { dryRun: true }, null],
    ['nothing, by a read', [well('a', { changed: true })], { operation: 'sessions.list' }, null],
    ['nothing at all', [], {}, false],
  ])('createManyReport reports whether something changed: %s', (_what, results, more, changed) => {
    const envelope = envelopeOf(results, more);
    expect(envelope.changed).toBe(changed);
    expect(envelope.ok).toBe(results.every(({ ok }) => ok));
  });

  it('createManyReport names the first five failed appliances in the summary', () => {
    const names = 'abcdef'.split('');
    expect(summaryOf([well('a'), well('b')])).toBe('done on 2 of 2 appliances.');
    expect(summaryOf(names.slice(1).map((name) => failed(name)))).toBe('done on 0 of 5 appliances; failed: 5 (b, c, d, e, f).');
    expect(summaryOf(names.map((name) => failed(name)))).toBe('done on 0 of 6 appliances; failed: 6 (a, b, c, d, e and 1 more).');
    expect(summaryOf([failed('a'), skipped('b'), skipped('c')], { stopped: 'canary' })).toBe(
      'done on 0 of 3 appliances; failed: 1 (a); not started: 2, because the canary failed.',
    );
    expect(summaryOf([well('a'), skipped('b')], { stopped: 'cancelled' })).toBe(
      'done on 1 of 2 appliances; not started: 1, because the run was canceled.',
    );
    expect(summaryOf([well('a'), skipped('b')])).toBe('done on 1 of 2 appliances; not started: 1.');
    expect(summaryOf([failed('a')], { stopped: 'failures' })).toBe('done on 0 of 1 appliance; failed: 1 (a).');
    expect(summaryOf([])).toBe('no appliance matches tag:eu.');
    expect(envelopeOf([failed('a')], { stopped: 'failures' }).stopped).toBe('failures');
  });

  it('createManyReport takes the texts of the summary from the catalog', () => {
    const keys: string[] = [];
    const say: ManyReportInput['translate'] = (key, text, values) => (keys.push(key), defaultTranslate(key, text, values));
    envelopeOf([...'abcdef'].map((name) => failed(name)).concat(skipped('g')), { stopped: 'canary', translate: say });
    const fleet = ['more', 'done', 'failed', 'skipped', 'canary'].map((key) => `fleet.${key}`);
    expect(keys.filter((key) => key.startsWith('fleet.'))).toEqual(fleet);
    expect(keys.at(-1)).toBe('summary.sentence');
    expect(envelopeOf([well('a')]).summary).toBe("End a user's sessions (j.doe): done on 1 of 1 appliance.");
    expect(envelopeOf([], { operation: 'no.such' })).toMatchObject({ operation: 'no.such', changed: false });
  });

  it('createManyReport reports the duration with one decimal', () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1123.456);
    onTestFinished(() => clock.mockRestore());
    expect(envelopeOf([], { started: 1000 }).ms).toBe(123.5);
  });

  it('createManyReport writes one line of text for each failure', () => {
    expect(envelopeOf([well('a')]).text).toBe('');
    expect(envelopeOf([failed('a'), well('b'), skipped('c'), failed('d')]).text).toBe('a: TIMEOUT: No answer.\nd: TIMEOUT: No answer.');
  });

  it('createManyReport combines the data of all appliances if the operation supports it', () => {
    const results = [well('a', { data: ['x'] }), failed('b')];
    expect(toManyAppliancesData(results, 'sessions.list')).toEqual({ total: 2, ok: 1, failed: 1, skipped: 0, results });
    expect(createManyReport(reported(results)).data).toEqual(toManyAppliancesData(results, 'sessions.kill-user'));
    expect(toManyAppliancesData([failed('b')], 'system.metrics')).not.toHaveProperty('together');
    expect(toManyAppliancesData([], 'no.such')).toEqual({ total: 0, ok: 0, failed: 0, skipped: 0, results: [] });
  });

  it('createManyReport reports for a failed appliance whether something changed', () => {
    const fault = new GatewayError('TIMEOUT', 'No answer.');
    expect(toFailedResult('a', fault)).toEqual(failed('a'));
    fault.cause = { changed: false } as Envelope;
    expect(toFailedResult('a', fault)).toEqual(failed('a', false));
  });

  it('createManyReport reports the first error of an operation that failed for some items', () => {
    const item = (more: object): BulkResult['results'][number] => ({ item: 'x', ...more }) as BulkResult['results'][number];
    const many = { total: 3, ok: 1, failed: 2, results: [item({ ok: true }), item({ ok: false, error }), item({ ok: false, error })] };
    expect(findPartialFailure(many)).toEqual({ code: 'TIMEOUT', message: '2 of 3 failed: No answer.' });
    expect(findPartialFailure({ ...many, results: [item({ ok: true })] })).toBeUndefined();
    expect(findPartialFailure(null)).toBeUndefined();
  });
});
