import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NodeRedHarness } from '../helpers/node-red';

/** The line below each node tells a story: what it needs, how far it is, and how the appliance is that all of them use. */
describe('the status below the nodes', () => {
  const rig = new NodeRedHarness('node-red', { sessions: 25 });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const info = { type: 'gateway-system', operation: 'info' };
  const until = (id: string, text: string | undefined, fill?: string): Promise<void> =>
    rig.until(() => {
      const last = rig.statuses(id).at(-1);
      return last?.text === text && (fill === undefined || last?.fill === fill);
    });

  it('all nodes of an unreachable appliance show that in their status until one node reaches the appliance again', async () => {
    await rig.deploy({
      nodes: [info, { ...info, id: 'n2' }, { ...info, id: 'n3', appliance: '', applianceFrom: 'msg' }, { ...info, id: 'n4' }],
    });
    await rig.run({ payload: '' }, 'n2');
    await until('n2', 'ok', 'green');
    rig.sim.fault({ match: () => true, cut: 'before-headers', times: 10 });
    await rig.run({ payload: '' });
    await until('n1', 'no connection', 'red');
    await until('n2', 'no connection', 'yellow');
    expect(rig.statuses('n3')).toEqual([]);
    rig.sim.clearFaults();
    await rig.run({ payload: '' }, 'n4');
    await until('n2', 'ok', 'green');
    // What its own message came to stays.
    expect(rig.statuses('n1').at(-1)).toMatchObject({ text: 'no connection', fill: 'red' });
  });

  it('a node whose messages name the appliance shows from its first message on that the appliance is unreachable', async () => {
    const other = {
      id: 'a2',
      type: 'gateway-appliance',
      name: 'vpn-2',
      url: rig.sim.url,
      login: 'realm',
      realm: 'Admin Users',
      tls: 'tls1',
    };
    const login = { username: 'api-admin', password: 'simulator' };
    await rig.deploy({
      nodes: [other, info, { ...info, id: 'n2', appliance: '', applianceFrom: 'msg' }, { ...info, id: 'n3', appliance: 'a2' }],
      credentials: { a1: login, a2: login },
    });
    await rig.run({ appliance: 'vpn-1' }, 'n2');
    await until('n2', 'ok', 'green');
    rig.sim.fault({ match: () => true, cut: 'before-headers', times: 10 });
    await rig.run({ payload: '' });
    await until('n2', 'no connection', 'yellow');
    rig.sim.clearFaults();
    // It found it itself, and the others hear of it.
    rig.sim.fault({ match: () => true, cut: 'before-headers', times: 10 });
    await rig.run({ appliance: 'vpn-2' }, 'n2');
    await until('n3', 'no connection', 'yellow');
    rig.sim.clearFaults();
    await rig.run({ appliance: 'vpn-2' }, 'n2');
    await rig.until(() => !rig.statuses('n3').at(-1)?.text);
  });

  it('the status below the nodes stays the same if nothing was sent or the appliance answers with an error', async () => {
    const get = { type: 'gateway-config', operation: 'get', fields: { path: { type: 'msg', value: 'payload' } } };
    await rig.deploy({ nodes: [get, { ...info, id: 'n2' }, { ...get, id: 'n3' }] });
    await rig.run({ payload: 'nowhere/at/all' });
    await rig.run({ payload: '' }, 'n3');
    await until('n1', 'not found', 'red');
    await until('n3', 'bad input', 'red');
    expect(rig.statuses('n2')).toEqual([]);
  });

  it('the status below the nodes names the missing field by its label in the dialog', async () => {
    await rig.deploy({ nodes: [{ type: 'gateway-users', operation: 'list' }] });
    const { caught } = await rig.run({ payload: 42 });
    expect(caught[0]?.error).toMatchObject({ code: 'BAD_INPUT' });
    expect(caught[0]?.envelope).not.toHaveProperty('missing');
    await until('n1', 'needs Auth server', 'red');
  });

  it('the status below the nodes shows the remaining seconds of a login pause', async () => {
    await rig.deploy({ nodes: [info, { ...info, id: 'n2' }], credentials: { a1: { username: 'api-admin', password: 'wrong' } } });
    await rig.run({ payload: '' }, 'n2');
    await until('n1', 'login failed', 'yellow');
    await rig.run({ payload: '' });
    await rig.until(() => /^paused \d+ s$/.test(rig.statuses().at(-1)?.text ?? ''));
    const first = rig.statuses().at(-1)?.text;
    await rig.until(() => rig.statuses().at(-1)?.text !== first);
    expect(rig.statuses().at(-1)?.text).toMatch(/^paused \d+ s$/);
  });

  it('the status below the nodes counts the finished items of a message', async () => {
    await rig.deploy({ nodes: [{ type: 'gateway-sessions', operation: 'kill', fields: { max: { type: 'num', value: '25' } } }] });
    const sessions = Array.from({ length: 25 }, (_, index) => `sid-gone-${index}`);
    // One is answered when its turn comes; the others are.
    let answer = (): void => undefined;
    const waits = new Promise<void>((resolve) => (answer = resolve));
    rig.sim.fault({ match: ({ method }) => method === 'DELETE', until: waits, times: 1 });
    const ended = rig.run({ payload: sessions });
    await rig.until(() => /^2\d of 25 ended$/.test(rig.statuses().at(-1)?.text ?? ''));
    answer();
    await ended;
  });
});
