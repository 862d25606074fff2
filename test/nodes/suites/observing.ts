import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SupportBundle } from '../../../src/areas/support';
import { expectSuccess } from '../../helpers/expect-outcome';
import { NodeRedHarness, type Runtime } from '../../helpers/node-red';

interface Logged {
  readonly type?: string;
  readonly id?: string;
  readonly name?: string;
  readonly msg?: unknown;
}

/** What whoever operates Node-RED sees of our nodes: log, metrics, counters, support bundle. */
export function observingSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime);
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const info = { type: 'gateway-system', operation: 'info' };
  const bundle = { type: 'gateway-system', operation: 'support-bundle' };
  const logged = (): Logged[] =>
    helper.log().args.flatMap(([line]) => ((line as Logged).type === 'gateway-exchange' ? [line as Logged] : []));

  it('the log of exchanges logs each exchange under one type if the log is enabled', async () => {
    await rig.deploy({ nodes: [info], appliance: { log: true } });
    expectSuccess(await rig.run({ payload: 1 }));
    expect(logged()).toMatchObject([
      { id: 'a1', name: 'vpn-1', msg: { appliance: 'vpn-1', method: 'POST', path: '/api/v1/realm_auth', status: 200, code: null } },
      { id: 'a1', name: 'vpn-1', msg: { method: 'GET', path: '/api/v1/system/system-information', status: 200 } },
    ]);
    // As the console writes it.
    const [line] = logged();
    expect(JSON.parse(String(line?.msg))).toEqual({ ...(line?.msg as object) });
  });

  it('the log of exchanges stays empty if it is disabled', async () => {
    await rig.deploy({ nodes: [info] });
    expectSuccess(await rig.run({ payload: 1 }));
    expect(logged()).toEqual([]);
  });

  it('an action node emits the metrics of each message if metrics are enabled', async () => {
    await rig.deploy({ nodes: [info, { ...info, id: 'n2', type: 'gateway-sessions', operation: 'kill', failures: 'output' }] });
    const events: unknown[][] = [];
    for (const id of ['n1', 'n2']) {
      const node = rig.node(id) as unknown as { metric: (...args: unknown[]) => unknown };
      node.metric = (...args) => (args.length === 0 ? true : events.push([args[0], (args[1] as { _msgid: string })._msgid, args[2]]));
    }
    await rig.run({ _msgid: 'm1', payload: 1 });
    const own = () => events.filter(([event]) => !['receive', 'send', 'done'].includes(String(event)));
    expect(own()).toEqual([
      ['duration.millis', 'm1', expect.any(Number)],
      ['requests', 'm1', 1],
      ['retries', 'm1', 0],
      ['logins', 'm1', 1],
    ]);
    events.length = 0;
    await rig.run({ _msgid: 'm2', payload: '' }, 'n2');
    expect(own()).toContainEqual(['failed.BAD_INPUT', 'm2', 1]);
  });

  it('an action node gives a message its outcome although the metrics handler fails', async () => {
    await rig.deploy({ nodes: [info] });
    const node = rig.node() as unknown as { metric: (event?: string) => unknown };
    node.metric = (event) => {
      if (event === undefined) return true;
      if (event === 'duration.millis') throw new Error('no');
      return undefined;
    };
    expectSuccess(await rig.run({ payload: 1 }));
  });

  describe('the counters route', () => {
    const ask = (headers: Record<string, string> = {}) => helper.request().get('/gateway-appliance/counters').set(headers);

    it('the counters route returns the requests of each appliance', async () => {
      await rig.deploy({ nodes: [info] });
      const before = await ask();
      expect(before.body).toEqual({ appliances: [{ id: 'a1', name: 'vpn-1', counters: null }] });
      await rig.run({ payload: 1 });
      const { body, headers } = (await ask()) as { body: unknown; headers: Record<string, string> };
      expect(body).toMatchObject({ appliances: [{ id: 'a1', counters: { runs: 1, logins: 1, requests: { GET: { 200: 1 } } } }] });
      expect(headers['cache-control']).toBe('no-store');
    });

    it('the counters route returns nothing to a page of another origin', async () => {
      await rig.deploy({ nodes: [info] });
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
      ] as Record<string, string>[]) {
        const { status, body } = (await ask(headers)) as { status: number; body: unknown };
        expect([status, (body as { appliances?: unknown }).appliances]).toEqual([403, undefined]);
      }
      expect((await ask({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    });
  });

  it('gateway-support adds the Node-RED version and findings about settings and flows to a support bundle', async () => {
    await rig.deploy({ nodes: [bundle] });
    const { payload } = expectSuccess(await rig.run({ payload: 1 }));
    const { findings, versions } = payload as SupportBundle;
    // The helper starts no runtime that would tell.
    expect(versions).toMatchObject({ 'node-red': 'unknown', node: process.version });
    expect(findings.map(({ code }) => code)).toContain('editor-without-login');
  });
}
