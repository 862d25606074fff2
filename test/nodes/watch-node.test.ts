import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Envelope } from '../../src/model/envelope';
import { NodeRedHarness, type NodeDefinition, type Message } from '../helpers/node-red';

const node = (more: NodeDefinition = {}): { nodes: NodeDefinition[]; more: NodeDefinition[] } => ({
  nodes: [{ type: 'gateway-watch', watch: 'sessions', every: 3600, ...more }],
  more: [{ id: 'spare', type: 'helper', z: 'f1', x: 1, y: 1 }],
});

describe.each(['node-red', 'node-red-v5'] as const)('gateway-watch in %s', (runtime) => {
  const rig = new NodeRedHarness(runtime, { sessions: 3, cluster: 'active-passive' });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());
  const until = (so: () => boolean) => rig.until(so);
  const out = (): readonly Message[] => rig.all('out');
  const check = (message: Message = {}) => rig.run(message);
  const status = () => rig.statuses().at(-1);

  it('gateway-watch sends one message per event, and shows the time and result of the last check', async () => {
    await rig.deploy(node());
    expect(await check()).toMatchObject({ out: [], completed: 1 });
    expect(status()).toMatchObject({ fill: 'green', shape: 'dot', text: expect.stringMatching(/^\d\d:\d\d 3 sessions$/) as unknown });
    const ids = [rig.sim.state.sessions.add({ 'active-user-name': 'one' }), rig.sim.state.sessions.add({ 'active-user-name': 'two' })];
    await check();
    await until(() => out().length === 2);
    expect(out()).toMatchObject(
      ids.map((id) => ({
        topic: 'sessions/started',
        payload: { event: 'started', session: { 'session-id': id }, id: expect.any(String) as unknown, at: expect.any(String) as unknown },
        envelope: { ok: true, appliance: 'vpn-1', operation: 'sessions.list' },
      })),
    );
    const [one, two] = out();
    expect(one?.envelope).not.toBe(two?.envelope);
    expect(one?._msgid).not.toBe(two?._msgid);
    for (const id of ids) rig.sim.state.sessions.end(id);
  });

  it('gateway-watch pauses and resumes by message, and rejects any other value', async () => {
    await rig.deploy(node());
    await check();
    await check({ pause: true });
    expect(status()).toMatchObject({ fill: 'grey', text: 'paused' });
    const id = rig.sim.state.sessions.add();
    expect(out()).toEqual([]);
    await check({ pause: false });
    await until(() => out().length === 1);
    rig.sim.state.sessions.end(id);
    expect((await check({ pause: 'yes' })).caught).toMatchObject([{ error: { code: 'BAD_INPUT' } }]);
  });

  it('gateway-watch reports once that the appliance is unreachable, and sends other errors to Catch nodes', async () => {
    await rig.deploy(node({ watch: 'cluster' }));
    await check();
    const back = rig.sim.restart();
    await check();
    await check();
    await until(() => out().length === 1);
    expect(out()).toMatchObject([{ topic: 'cluster/unreachable', payload: { code: 'APPLIANCE_ERROR' }, envelope: { ok: false } }]);
    expect(status()).toMatchObject({ fill: 'red', shape: 'ring', text: expect.stringMatching(/^unreachable \d\d:\d\d$/) as unknown });
    back();
    await check();
    await until(() => out().length === 2);
    rig.sim.fault({
      match: ({ path }) => path.endsWith('/cluster'),
      status: 403,
      body: '{"result":{"errors":[{"message":"Not you."}]}}',
      times: 2,
    });
    await check();
    await check();
    expect(rig.all('caught')).toMatchObject([{ topic: 'cluster/error', error: { code: 'FORBIDDEN' } }]);
    expect((rig.all('caught')[0]?.envelope as Envelope).code).toBe('FORBIDDEN');
    expect(status()).toMatchObject({ text: 'forbidden' });
  });

  it('gateway-watch accepts a configuration path and ignored names as text', async () => {
    await rig.deploy(node({ watch: 'configuration', every: '', path: 'system', ignore: ' log,ntp-* ' }));
    await check();
    const time = rig.sim.state.configuration.resource('system', 'configuration', 'date-and-time').values;
    time.set('ntp-server', 'ntp.example.com').set('time-zone', 'Europe/Rome');
    await check();
    await until(() => out().length === 1);
    expect(out()).toMatchObject([
      { topic: 'configuration/changed', payload: { added: [], removed: [], changed: [{ field: '/time-zone' }] }, envelope: { ok: true } },
    ]);
    expect(status()).toMatchObject({ fill: 'green', text: expect.stringMatching(/^\d\d:\d\d changed$/) as unknown });
    expect(rig.sim.requests.filter(({ path }) => path.includes('/log'))).toEqual([]);
  });

  it('gateway-watch with a state folder keeps its state across a deploy, and forgets the state without one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-watch-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await rig.deploy(node({ remember: folder }));
    await check();
    await rig.redeploy({ nodes: [], more: [] });
    const id = rig.sim.state.sessions.add();
    await rig.redeploy(node({ remember: folder }));
    await check();
    await until(() => out().length === 1);
    expect(out()).toMatchObject([{ topic: 'sessions/started', payload: { session: { 'session-id': id } } }]);
    expect(readdirSync(folder)).toEqual(['watch-n1.jsonl']);
    rig.sim.state.sessions.end(id);
  });

  it.each([
    [{ watch: 'weather' }],
    [{ every: 'often' }],
    [{ every: 0 }],
    [{ appliance: '' }],
    [{ watch: 'health', limits: 'high' }],
    [{ watch: 'health', limits: '[{}]' }],
    [{ watch: 'certificate', days: 'soon' }],
    [{ watch: 'configuration', ignore: 'last-*, *' }],
    [{ watch: 'configuration', ignore: { name: 'last-*' } }],
    [{ filter: '{"nonsense":"x"}' }],
    [{ filter: '${NO_SUCH_VARIABLE}' }],
  ])('gateway-watch reports what is wrong with %j', async (wrong) => {
    await rig.deploy(node(wrong));
    await until(() => rig.all('caught').length === 1);
    const [{ error } = {} as Message] = rig.all('caught');
    expect(['BAD_CONFIG', 'BAD_INPUT']).toContain((error as { code: string }).code);
    expect((await check()).caught).toHaveLength(1);
  });
});
