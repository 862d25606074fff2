import { getEventListeners } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { GatewayError, Inventory, runOnMany, type ManyAppliancesData, type RunOnManyOptions, type RunOnManyOutcome } from '../../../src';
import { GatewayRegistry } from '../../../src/inventory';
import {
  assertOpenFileLimit,
  countConnectedGateways,
  markGatewayConnected,
  readOpenFileLimit,
  processFileLimitSource,
} from '../../../src/inventory/open-files';
import { processCoordination } from '../../../src/model/process-coordination';
import { startSimulatedFleet, type SimulatedFleet, type Simulator } from '../../../src/simulator';
import { gatewayFor, getThrownError } from '../../helpers/simulated-appliance';
import { startChild, readOutput } from '../../helpers/transfer';
import { eventually } from '../../helpers/eventually';
import { resetAccounts } from '../../helpers/reset-process-state';

const LOGIN = { username: 'api-admin', password: 'simulator' };
const COUNT = 30;
const SESSIONS = 'sessions.list';
const KILL = 'sessions.kill-user';

describe('runOnMany', () => {
  let fleet: SimulatedFleet;
  let inventory: Inventory;
  const gateways = new GatewayRegistry();

  beforeAll(async () => {
    fleet = await startSimulatedFleet(COUNT);
    const credentials = { default: LOGIN };
    inventory = new Inventory({ defaults: { realm: 'Admin Users', tls: { ca: fleet.ca } }, credentials, gateways });
    await inventory.loadEntries(fleet.entries);
  });
  afterEach(() => {
    for (const appliance of fleet.appliances) {
      appliance.clearFaults();
      appliance.requests.length = 0;
      appliance.state.sessions.endUsers(new Set(['j.doe']));
    }
    processCoordination.clear();
    resetAccounts();
  });
  afterAll(async () => {
    gateways.close();
    await fleet.close();
  });

  const on = (selection: string, operation: string, input: object = {}, options: RunOnManyOptions = {}): Promise<RunOnManyOutcome> =>
    runOnMany(inventory.select(selection), operation, { ...input }, { selection, ...options });
  const failureOf = async (run: Promise<unknown>): Promise<GatewayError> => {
    const error: unknown = await run.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(GatewayError);
    return error as GatewayError;
  };
  const isRead = ({ path }: { path: string }): boolean => path.includes('active-users');
  /** The appliances that got a request other than a login. */
  const touched = (): string[] => fleet.entries.map(({ name }) => name).filter((name) => fleet.getAppliance(name).requests.some(isRead));
  const breaks = (...names: string[]): void => {
    for (const name of names) fleet.getAppliance(name).fault({ match: isRead, status: 404, body: '{}', times: Infinity });
  };
  const writes = (appliance: Simulator): number =>
    appliance.requests.filter(({ method }) => method === 'DELETE' || method === 'PUT').length;
  const someone = (...names: string[]): void => {
    for (const name of names) fleet.getAppliance(name).state.sessions.add({ 'active-user-name': 'j.doe' });
  };

  it('runOnMany returns the results in the order of the inventory', async () => {
    const { data, envelope } = await on('*', SESSIONS, {}, { concurrency: 4 });
    expect([data.total, data.ok, data.failed, data.skipped]).toEqual([COUNT, COUNT, 0, 0]);
    expect(data.results.map(({ appliance }) => appliance)).toEqual(fleet.entries.map(({ name }) => name));
    expect(data.results[7]).toMatchObject({ appliance: 'vpn-008', ok: true, changed: null, data: [{}, {}] });
    expect(envelope).toMatchObject({ ok: true, operation: SESSIONS, appliance: '*', changed: null, dryRun: false, logins: COUNT });
    expect(envelope.requests).toBe(COUNT);
    expect(envelope.summary).toBe('List sessions: done on 30 of 30 appliances.');
    expect(envelope.text).toBe('');
  });

  it('runOnMany omits the data of reads without withData, and reports each finished appliance', async () => {
    const told: unknown[] = [];
    const progress: unknown[] = [];
    const { data } = await on(
      'vpn-00*',
      SESSIONS,
      {},
      {
        withData: false,
        onDone: ({ name }, { index, outcome }) => told.push([name, index, Array.isArray(outcome?.data)]),
        onProgress: (now) => progress.push(now),
      },
    );
    expect(data.results[0]).toEqual({ appliance: 'vpn-001', ok: true, changed: null });
    expect(told).toHaveLength(9);
    expect(told).toContainEqual(['vpn-003', 2, true]);
    expect(progress.at(-1)).toEqual({ done: 9, total: 9, failed: 0 });
  });

  it('runOnMany succeeds if some appliances succeeded, and names the failed ones', async () => {
    breaks('vpn-002', 'vpn-005');
    const { data, envelope } = await on('vpn-00*', SESSIONS);
    expect([data.ok, data.failed, envelope.ok]).toEqual([7, 2, false]);
    expect(data.results[1]).toMatchObject({ appliance: 'vpn-002', ok: false, error: { code: 'NOT_FOUND' } });
    expect(envelope.summary).toBe('List sessions: done on 7 of 9 appliances; failed: 2 (vpn-002, vpn-005).');
    expect(envelope.text).toMatch(/^vpn-002: NOT_FOUND: .*\nvpn-005: NOT_FOUND: .*$/);
  });

  it('runOnMany fails with the first error if every appliance failed', async () => {
    breaks('vpn-001', 'vpn-002');
    const error = await failureOf(on('vpn-001 | vpn-002', SESSIONS));
    expect(error.code).toBe('NOT_FOUND');
    expect(error.message).toMatch(/^vpn-001: .*\(and 1 more failed\)$/);
    expect(error.cause).toMatchObject({ ok: false, code: 'NOT_FOUND', total: 2, failed: 2, results: [{ ok: false }, { ok: false }] });
  });

  it('runOnMany sends nothing for a selection without matches, and says so', async () => {
    const { data, envelope } = await on('tag:nowhere', KILL, { name: 'j.doe' });
    expect([data.total, envelope.ok, envelope.changed]).toEqual([0, true, false]);
    expect(envelope.summary).toContain('no appliance matches tag:nowhere.');
  });

  it('runOnMany ends the sessions of a user on all appliances, and reports what changed', async () => {
    someone('vpn-003', 'vpn-004');
    const { data, envelope } = await on('vpn-00*', KILL, { name: 'j.doe' });
    expect(envelope).toMatchObject({ ok: true, changed: true });
    expect(data.results.map(({ changed }) => changed)).toEqual([false, false, true, true, false, false, false, false, false]);
    expect(data.results[2]).toMatchObject({ data: { total: 1, ok: 1 } });
    expect((await on('vpn-00*', KILL, { name: 'j.doe' })).envelope.changed).toBe(false);
  });

  it('runOnMany counts an appliance as failed if some of its items failed', async () => {
    someone('vpn-003', 'vpn-003');
    fleet.getAppliance('vpn-003').fault({ match: ({ method }) => method === 'DELETE', status: 422, body: '{}' });
    const { data, envelope } = await on('vpn-00*', KILL, { name: 'j.doe' });
    expect(data.results[2]).toMatchObject({ ok: false, changed: true, data: { ok: 1, failed: 1 }, error: { code: 'REJECTED' } });
    expect(envelope.ok).toBe(false);
  });

  it('runOnMany accepts a separate input for each appliance', async () => {
    someone('vpn-001', 'vpn-002');
    const targets = inventory.select('vpn-001 | vpn-002');
    const { data } = await runOnMany(targets, KILL, ({ name }) => ({ name: name === 'vpn-001' ? 'j.doe' : 'nobody' }));
    expect(data.results.map(({ changed }) => changed)).toEqual([true, false]);
    await expect(on('vpn-002', KILL, { name: 'j.doe' })).resolves.toMatchObject({ envelope: { changed: true } });
  });

  it.each([1, 3, 7])('runOnMany runs on at most %i appliances at the same time', async (concurrency) => {
    let now = 0;
    let most = 0;
    const targets = inventory.select('*').map((appliance) => ({
      name: appliance.name,
      gateway: () => appliance.gateway(),
    }));
    for (const appliance of fleet.appliances) {
      appliance.fault({
        match: isRead,
        // The appliances count the requests in progress.
        get until() {
          most = Math.max(most, ++now);
          return new Promise<void>((resolve) => setTimeout(resolve, 5)).then(() => void now--);
        },
      });
    }
    await runOnMany(targets, SESSIONS, {}, { concurrency });
    expect(most).toBe(concurrency);
  });

  describe('a canary of runOnMany', () => {
    it('a failing canary of runOnMany prevents any request to the other appliances', async () => {
      breaks('vpn-002');
      const { data, envelope } = await on('*', SESSIONS, {}, { canary: 3 });
      expect([data.ok, data.failed, data.skipped]).toEqual([2, 1, COUNT - 3]);
      expect(touched()).toEqual(['vpn-001', 'vpn-002', 'vpn-003']);
      expect(data.results.at(-1)).toEqual({ appliance: 'vpn-030', ok: false, skipped: true });
      expect(envelope).toMatchObject({ ok: false, stopped: 'canary' });
      expect(envelope.summary).toMatch(/; failed: 1 \(vpn-002\); not started: 27, because the canary failed\.$/);
    });

    it('a failing canary of one appliance makes runOnMany fail', async () => {
      breaks('vpn-001');
      const error = await failureOf(on('*', SESSIONS, {}, { canary: 1 }));
      expect(error.cause).toMatchObject({ ok: false, code: 'NOT_FOUND', skipped: COUNT - 1, stopped: 'canary', message: error.message });
      expect(error.message).toMatch(/^vpn-001: /);
      expect(error.message).not.toContain('more failed');
      expect(touched()).toEqual(['vpn-001']);
    });

    it('a canary of runOnMany must succeed before the other appliances are contacted', async () => {
      let answer = (): void => undefined;
      fleet.getAppliance('vpn-002').fault({ match: isRead, until: new Promise<void>((resolve) => (answer = resolve)) });
      const run = on('*', SESSIONS, {}, { canary: 2 });
      await eventually(() => expect(touched()).toEqual(['vpn-001', 'vpn-002']));
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(touched()).toEqual(['vpn-001', 'vpn-002']);
      answer();
      expect((await run).data.ok).toBe(COUNT);
    });
  });

  it.each([10, '34%'])('runOnMany runs batches of %s one after the other', async (batch) => {
    let answer = (): void => undefined;
    const size = batch === 10 ? 10 : 11;
    fleet.getAppliance('vpn-003').fault({ match: isRead, until: new Promise<void>((resolve) => (answer = resolve)) });
    const run = on('*', SESSIONS, {}, { batch });
    await eventually(() => expect(touched()).toHaveLength(size));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(touched()).toHaveLength(size);
    answer();
    expect((await run).data.ok).toBe(COUNT);
  });

  describe('maxFailures of runOnMany', () => {
    it.each<[RunOnManyOptions, number]>([
      [{ maxFailures: 3, concurrency: 2 }, 3],
      [{ maxFailures: '10%', concurrency: 2 }, 3],
      [{ maxFailures: 0, concurrency: 1 }, 0],
      // Other tools counted failures for each batch separately (Ansible #32255, Salt #54521).
      [{ maxFailures: 3, concurrency: 2, batch: 2 }, 3],
      [{ maxFailures: 3, concurrency: 2, batch: '10%', canary: 0 }, 3],
    ])('maxFailures stops the run with %j, counted over all batches', async (options, most) => {
      breaks(...fleet.entries.filter((_, index) => index % 2 === 1).map(({ name }) => name));
      const { data, envelope } = await on('*', SESSIONS, {}, options);
      expect(data.failed).toBeGreaterThan(most);
      expect(data.failed).toBeLessThanOrEqual(most + (options.concurrency ?? 0));
      expect(envelope).toMatchObject({ ok: false, stopped: 'failures' });
      expect(touched()).toHaveLength(data.ok + data.failed);
    });

    it('a run on many appliances continues while the failures do not exceed maxFailures', async () => {
      breaks('vpn-001', 'vpn-009', 'vpn-030');
      const { data, envelope } = await on('*', SESSIONS, {}, { maxFailures: 3 });
      expect([data.failed, data.skipped, envelope.stopped]).toEqual([3, 0, undefined]);
    });
  });

  it.each<[RunOnManyOptions, string]>([
    [{ concurrency: 0 }, 'concurrency'],
    [{ concurrency: 1.5 }, 'concurrency'],
    [{ concurrency: 1000 }, 'concurrency'],
    [{ canary: -1 }, 'canary'],
    [{ batch: 0 }, 'batch'],
    [{ batch: '0%' }, 'batch'],
    [{ batch: 'x' }, 'batch'],
    [{ batch: '101%' }, 'batch'],
    [{ maxFailures: -1 }, 'maxFailures'],
    [{ maxFailures: 'many' }, 'maxFailures'],
    [{ maxFailures: NaN }, 'maxFailures'],
  ])('runOnMany rejects %j before anything is sent', async (options, name) => {
    const error = await failureOf(on('*', SESSIONS, {}, options));
    expect([error.code, error.message.split(' ')[0]]).toEqual(['BAD_CONFIG', name]);
    expect(touched()).toEqual([]);
  });

  it('runOnMany limits a destroying operation to 25 appliances by default, but plans all in a dry run', async () => {
    someone('vpn-001', 'vpn-030');
    expect(await failureOf(on('*', KILL, { name: 'j.doe' }))).toMatchObject({ code: 'LIMIT' });
    const limit = await failureOf(on('*', SESSIONS, {}, { maxAppliances: 29 }));
    expect(limit).toMatchObject({ code: 'LIMIT', details: { sent: false } });
    expect(limit.message).toBe(
      'The selection matches 30 appliances; the maximum for this operation is 29 (maxAppliances). Nothing was sent.',
    );
    expect(touched()).toEqual([]);
    const { data, envelope } = await on('*', KILL, { name: 'j.doe' }, { dryRun: true });
    expect([data.total, data.ok, envelope.changed, envelope.dryRun]).toEqual([COUNT, COUNT, null, true]);
    expect(envelope.plan).toMatchObject([
      { appliance: 'vpn-001', method: 'DELETE' },
      { appliance: 'vpn-030', method: 'DELETE' },
    ]);
    expect(envelope.summary).toMatch(/would send 2 requests to 30 appliances\.$/);
    expect(fleet.appliances.map(writes)).toEqual(fleet.appliances.map(() => 0));
    expect((await on('*', KILL, { name: 'j.doe' }, { maxAppliances: COUNT })).data.ok).toBe(COUNT);
  });

  it('runOnMany starts nothing new after an abort, and reports what was done', async () => {
    const stop = new AbortController();
    fleet.getAppliance('vpn-003').fault({ match: isRead, hang: true });
    const run = failureOf(on('*', SESSIONS, {}, { signal: stop.signal, concurrency: 1 }));
    await eventually(() => expect(touched()).toHaveLength(3));
    stop.abort();
    const error = await run;
    expect(error).toMatchObject({ code: 'ABORTED', cause: { failed: 1, skipped: COUNT - 3, stopped: 'cancelled' } });
    expect(error.message).toBe('Canceled: 2 of 30 appliances were done.');
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    const { results } = error.cause as unknown as ManyAppliancesData;
    expect(results.slice(0, 4)).toMatchObject([{ ok: true }, { ok: true }, { error: { code: 'ABORTED' } }, { skipped: true }]);
    expect(touched()).toHaveLength(3);
    expect(await failureOf(on('*', SESSIONS, {}, { signal: stop.signal }))).toMatchObject({ code: 'ABORTED' });
  });

  /** Appliances with invalid settings. */
  const bare = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      name: `bare-${index}`,
      gateway: () => {
        throw new GatewayError('BAD_CONFIG', 'It is not set up.', { sent: false });
      },
    }));

  it('runOnMany applies maxAppliances and removes its abort listener', async () => {
    const { signal } = new AbortController();
    const told = async (count: number, operation: string, options: RunOnManyOptions = {}): Promise<[string, unknown]> => {
      const { message, cause } = await failureOf(runOnMany(bare(count), operation, { name: 'j.doe' }, { signal, ...options }));
      return [message, cause?.appliance];
    };
    const few = (count: number) => [`bare-0: It is not set up. (and ${count - 1} more failed)`, ''];
    expect(await told(26, KILL)).toEqual([
      'The selection matches 26 appliances; the maximum for this operation is 25 (maxAppliances). Nothing was sent.',
      undefined,
    ]);
    expect(await told(25, KILL)).toEqual(few(25));
    expect(await told(26, SESSIONS)).toEqual(few(26));
    expect(await told(26, KILL, { dryRun: true })).toEqual(few(26));
    expect(await told(2, SESSIONS, { maxAppliances: 2 })).toEqual(few(2));
    expect(await told(1, SESSIONS, { selection: 'x' })).toEqual(['bare-0: It is not set up.', 'x']);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('runOnMany reports the appliance of each part, and uses the given translation', async () => {
    someone('vpn-001');
    const parts: unknown[] = [];
    const summaries: unknown[] = [];
    const { envelope } = await runOnMany(
      inventory.select('vpn-001'),
      SESSIONS,
      { emit: 'record' },
      {
        translate: (key) => `<${key}>`,
        onPart: ({ name }, data, { index }) => parts.push([name, index, typeof data]),
        onDone: (_target, { outcome }) => summaries.push(outcome?.envelope.summary, outcome?.streamed),
      },
    );
    expect(parts).toEqual([0, 1, 2].map((index) => ['vpn-001', index, 'object']));
    expect(envelope.summary).toBe('<summary.sentence>');
    expect(summaries).toEqual(['<sessions.operation.list.summary.found>', true]);
    const alone = await on('vpn-001', SESSIONS, {}, { onDone: (_target, { outcome }) => summaries.push(outcome?.envelope.summary) });
    expect([summaries.at(-1), alone.envelope.summary]).toEqual([
      expect.not.stringContaining('<') as string,
      'List sessions: done on 1 of 1 appliance.',
    ]);
    await on('vpn-001', KILL, { name: 'j.doe' });
  });

  it('runOnMany reports invalid settings of one appliance as a failure of that appliance', async () => {
    const other = new Inventory({ defaults: { realm: 'x' } });
    await other.loadEntries([{ name: 'bare', url: 'https://127.0.0.1:1' }]);
    const { data } = await runOnMany([...other.appliances, ...inventory.select('vpn-001')], SESSIONS, {});
    expect(data.results).toMatchObject([{ appliance: 'bare', ok: false, error: { code: 'BAD_CONFIG' } }, { ok: true }]);
  });

  it('runOnMany rejects an unknown operation and an invalid input before anything is sent', async () => {
    expect((await failureOf(on('*', 'sessions.nope'))).code).toBe('BAD_INPUT');
    expect((await failureOf(on('vpn-001', KILL))).code).toBe('BAD_INPUT');
    expect(touched()).toEqual([]);
  });

  describe('approval in runOnMany', () => {
    it('runOnMany requests one approval for all appliances, and sends what was approved', async () => {
      someone('vpn-002', 'vpn-004');
      const asked: unknown[] = [];
      const { data, envelope } = await on(
        'vpn-00*',
        KILL,
        { name: 'j.doe' },
        {
          canary: 2,
          approve: (proposal) => {
            asked.push(proposal);
            expect(fleet.appliances.map(writes)).toEqual(fleet.appliances.map(() => 0));
            return Promise.resolve({ by: 'a.boss', at: 'now' });
          },
        },
      );
      expect(asked).toMatchObject([
        { operation: KILL, appliance: 'vpn-00*', plan: [{ appliance: 'vpn-002', method: 'DELETE' }, { appliance: 'vpn-004' }] },
      ]);
      expect((asked[0] as { summary: string }).summary).toMatch(/would send 2 requests to 9 appliances\.$/);
      expect([data.ok, envelope.changed]).toEqual([9, true]);
      expect(fleet.appliances.map(writes).reduce((a, b) => a + b)).toBe(2);
    });

    it('the approval request of runOnMany shows the planned changes of each appliance in the given language', async () => {
      const asked: unknown[] = [];
      const targets = inventory.select('vpn-001 | vpn-002');
      const role = (description: string) => ({ path: 'users/user-roles/user-role/Users', body: { description } });
      const ensure = (options: RunOnManyOptions = {}) =>
        runOnMany(targets, 'config.ensure', ({ name }) => role(name === 'vpn-001' ? '' : 'x'), {
          approve: (proposal) => (asked.push(proposal), Promise.reject(new GatewayError('DECLINED', 'No.'))),
          ...options,
        });
      expect((await failureOf(ensure())).code).toBe('DECLINED');
      expect((await failureOf(ensure({ translate: (key) => `<${key}>` }))).code).toBe('DECLINED');
      const proposal = {
        ...{ operation: 'config.ensure', appliance: '', wouldChange: true },
        plan: [expect.objectContaining({ appliance: 'vpn-002', method: 'PUT' })],
        summary: 'Ensure a resource (users/user-roles/user-role/Users): would send 1 request to 2 appliances.',
      };
      expect(asked).toEqual([proposal, { ...proposal, summary: expect.stringMatching(/^<.*>\.$/) as string }]);
      expect((await ensure({ dryRun: true })).envelope).toMatchObject({ ok: true, dryRun: true });
      expect((await runOnMany(targets, SESSIONS, {}, { approve: () => Promise.reject(new Error('asked')) })).data.ok).toBe(2);
      expect(asked).toHaveLength(2);
      expect(fleet.appliances.map(writes)).toEqual(fleet.appliances.map(() => 0));
    });

    it.each([
      ['a read', SESSIONS, {}],
      ['a dry run', KILL, { dryRun: true }],
    ])('no approval is requested %s, and its failed canary still stops the run', async (_what, operation, options) => {
      breaks('vpn-001');
      const approve = () => Promise.reject(new Error('asked'));
      const error = await failureOf(on('vpn-00*', operation, { name: 'j.doe' }, { canary: 1, approve, ...options }));
      expect([error.code, touched()]).toEqual(['NOT_FOUND', ['vpn-001']]);
    });

    it('runOnMany sends nothing if the approval is declined', async () => {
      someone('vpn-002');
      const declined = new GatewayError('DECLINED', 'No.');
      const run = on('vpn-00*', KILL, { name: 'j.doe' }, { approve: () => Promise.reject(declined) });
      expect(await failureOf(run)).toBe(declined);
      expect(fleet.appliances.map(writes)).toEqual(fleet.appliances.map(() => 0));
      expect(inventory.appliances.some((appliance) => appliance.gateway().isBusy)).toBe(false);
      await on('vpn-002', KILL, { name: 'j.doe' });
    });

    it('an approval of runOnMany does not cover sessions that started after the plan', async () => {
      someone('vpn-002');
      const { data } = await on(
        'vpn-00*',
        KILL,
        { name: 'j.doe' },
        {
          approve: () => {
            someone('vpn-002', 'vpn-003');
            return Promise.resolve({ by: null, at: 'now' });
          },
        },
      );
      expect(writes(fleet.getAppliance('vpn-002'))).toBe(1);
      expect(writes(fleet.getAppliance('vpn-003'))).toBe(0);
      expect(data.results[1]).toMatchObject({ ok: true, data: { total: 1 } });
      await on('vpn-00*', KILL, { name: 'j.doe' });
    });

    it('runOnMany starts nothing more after a failed canary, even with an approval, and leaves no run waiting', async () => {
      someone('vpn-001', 'vpn-002', 'vpn-003');
      fleet.getAppliance('vpn-001').fault({ match: ({ method }) => method === 'DELETE', status: 422, body: '{}' });
      const run = on('vpn-00*', KILL, { name: 'j.doe' }, { canary: 1, approve: () => Promise.resolve({ by: null, at: 'now' }) });
      expect((await failureOf(run)).cause).toMatchObject({ code: 'REJECTED', stopped: 'canary', failed: 1, skipped: 8 });
      expect(fleet.appliances.slice(1, 3).map(writes)).toEqual([0, 0]);
      await eventually(() => expect(inventory.appliances.some((appliance) => appliance.gateway().isBusy)).toBe(false));
      await on('vpn-00*', KILL, { name: 'j.doe' });
    });

    it('runOnMany sends nothing if it is aborted before the approval, and asks for none in a dry run or a read', async () => {
      someone('vpn-002');
      const stop = new AbortController();
      const asked = () => Promise.reject(new Error('asked'));
      await on('vpn-00*', KILL, { name: 'j.doe' }, { dryRun: true, approve: asked });
      await on('vpn-00*', SESSIONS, {}, { approve: asked });
      const cancelled = on(
        'vpn-00*',
        KILL,
        { name: 'j.doe' },
        { signal: stop.signal, approve: () => (stop.abort(), Promise.resolve({ by: null, at: 'now' })) },
      );
      expect((await failureOf(cancelled)).code).toBe('ABORTED');
      expect(fleet.appliances.map(writes)).toEqual(fleet.appliances.map(() => 0));
      await on('vpn-002', KILL, { name: 'j.doe' });
    });

    it('runOnMany does not request approval if nothing would be sent', async () => {
      const { envelope } = await on('vpn-00*', KILL, { name: 'j.doe' }, { approve: () => Promise.reject(new Error('asked')) });
      expect(envelope).toMatchObject({ ok: true, changed: false });
    });

    it('the approval request of runOnMany lists appliances whose plan failed', async () => {
      someone('vpn-001');
      breaks('vpn-002');
      const { data } = await on('vpn-001 | vpn-002', KILL, { name: 'j.doe' }, { approve: () => Promise.resolve({ by: null, at: 'now' }) });
      expect(data.results).toMatchObject([
        { ok: true, changed: true },
        { ok: false, error: { code: 'NOT_FOUND' } },
      ]);
    });
  });
});

describe('assertOpenFileLimit', () => {
  const LIMITS =
    'Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 4096                 files\n';

  it.each<[string, string | undefined, string | undefined, number]>([
    ['linux', LIMITS, '7', 1024],
    ['linux', LIMITS.replace('1024', 'unlimited'), '7', Infinity],
    ['linux', 'Max processes 5\n', '7', Infinity],
    ['darwin', undefined, ' 256\n', 256],
    ['darwin', undefined, 'unlimited\n', Infinity],
    ['darwin', undefined, undefined, Infinity],
    ['win32', LIMITS, '7', Infinity],
  ])('assertOpenFileLimit reads the limit of the system: %s %j %j', (platform, limits, ulimit, most) => {
    const saying = (text: string | undefined) => () => {
      if (text === undefined) throw new Error('there is no such thing here');
      return text;
    };
    expect(readOpenFileLimit({ platform, limits: saying(limits), ulimit: saying(ulimit) })).toBe(most);
  });

  it.runIf(process.platform === 'linux')('assertOpenFileLimit reads the limit of open files from Linux and from the shell', () => {
    expect(processFileLimitSource.limits()).toMatch(/^Max open files /m);
    expect(processFileLimitSource.ulimit()).toMatch(/^(\d+|unlimited)\n$/);
  });

  it('assertOpenFileLimit rejects a run that needs more open files than the limit allows', () => {
    const files = (most: number) => ({ max: () => most, count: () => 10 });
    assertOpenFileLimit(32, 0, files(0));
    assertOpenFileLimit(33, 0, files(75));
    assertOpenFileLimit(100, 67, files(75));
    const refused = getThrownError(() => assertOpenFileLimit(33, 0, files(74)));
    expect(refused).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    expect(refused?.message).toBe(
      '33 appliances need about 75 open files, because each connection is one. The limit of this process is 74, and 10 are open. Raise the limit (ulimit -n, or LimitNOFILE= of the service), or select fewer appliances. Nothing was sent.',
    );
    expect(getThrownError(() => assertOpenFileLimit(100, 66, files(75)))?.code).toBe('BAD_CONFIG');
    // The process has a limit and at least one open file.
    expect(getThrownError(() => assertOpenFileLimit(Number.MAX_SAFE_INTEGER, 0))?.message).toMatch(
      /The limit of this process is [1-9]\d+, and [1-9]\d* are open\./,
    );
  });

  it('assertOpenFileLimit counts a gateway as connected for 75 seconds after its last use', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const [one, other] = [gatewayFor({ url: 'https://127.0.0.1:1' }), gatewayFor({ url: 'https://127.0.0.1:2' })];
    expect(countConnectedGateways([one, other])).toBe(0);
    markGatewayConnected(one);
    expect(countConnectedGateways([one, other])).toBe(1);
    vi.advanceTimersByTime(74_999);
    markGatewayConnected(other);
    expect(countConnectedGateways([one, other])).toBe(2);
    vi.advanceTimersByTime(1);
    expect(countConnectedGateways([one, other])).toBe(1);
  });
});

describe('a low limit of open files', () => {
  it('a run that needs more open files than allowed fails with one clear error before the first request', async () => {
    const few = await startSimulatedFleet(120);
    onTestFinished(() => few.close());
    const settings = { defaults: { realm: 'Admin Users', tls: { ca: few.ca } }, credentials: { default: LOGIN } };
    const told = async (selection: string, files: number): Promise<unknown> =>
      JSON.parse(await readOutput(startChild('fleet-child.ts', { settings, entries: few.entries, selection }, files))) as unknown;
    const refused = (await told('*', 128)) as { code: string; message: string };
    expect(refused.code).toBe('BAD_CONFIG');
    expect(refused.message).toMatch(/^120 appliances need about \d+ open files, .* is 128, and \d+ are open\. Raise the limit/);
    expect(few.appliances.every(({ requests }) => requests.length === 0)).toBe(true);
    expect(await told('vpn-00*', 128)).toEqual({ ok: 9, failed: 0 });
    expect(await told('*', 400)).toEqual({ ok: 120, failed: 0 });
  });
});
