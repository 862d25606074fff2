import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/model/envelope';
import { Gateway } from '../../src/gateway/gateway';
import { NodeRedHarness, type NodeDefinition } from '../helpers/node-red';
import { startCopiesHere } from '../helpers/rehearsal';
import { settingsFor } from '../helpers/simulated-appliance';
import { createTemporaryFolder, writeSnapshot } from '../helpers/snapshot';

const SYSLOG = '/system/log/syslog';
const str = (value: string): object => ({ type: 'str', value });
const update = {
  type: 'gateway-config',
  operation: 'update',
  fields: { path: str(SYSLOG), body: { type: 'json', value: '{"server":"192.0.2.7"}' } },
};

describe('nodes of an appliance that rehearses', () => {
  const rig = new NodeRedHarness('node-red', { sessions: 3 });
  let folder = '';
  let connections = 0;
  beforeAll(async () => {
    await rig.start();
    folder = mkdtempSync(join(tmpdir(), 'gateway-'));
    const gateway = new Gateway(settingsFor(rig.sim, { name: 'vpn-1', tls: { ca: rig.sim.ca } }));
    await writeSnapshot(gateway, folder);
    gateway.close();
    await rig.until(() => rig.sim.openConnections === 0);
  });
  beforeEach(() => {
    rig.sim.requests.length = 0;
    connections = rig.sim.totalConnections;
  });
  afterEach(async () => {
    await rig.reset();
    expect(rig.sim.requests).toEqual([]);
    expect(rig.sim.totalConnections).toBe(connections);
  });
  afterAll(async () => {
    await rig.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const deploy = (nodes: NodeDefinition[], appliance: NodeDefinition = {}): Promise<void> =>
    rig.deploy({ nodes, appliance: { rehearsal: folder, ...appliance } });
  const post = async (route: string, body: object): Promise<Record<string, unknown>> => {
    const response = await helper.request().post(route).send(body);
    expect(response.status).toBe(200);
    return response.body as Record<string, unknown>;
  };
  const status = (id = 'n1'): { text?: string } | undefined => rig.statuses(id).at(-1);

  it('a rehearsing node writes only to the copy, and marks login, journal, approval, envelope and status as a rehearsal', async () => {
    const copies = startCopiesHere();
    const journal = join(createTemporaryFolder(), 'journal');
    await deploy([{ ...update, approval: true, wires: [['out'], ['failed']] }], { journal });
    await rig.until(() => status()?.text === 'rehearsal');
    rig.node().receive({ _msgid: 'm1', payload: {} });
    await rig.until(() => rig.all('failed').length === 1);
    const { id } = rig.all('failed')[0]?.payload as { id: string };
    await rig.run({ approve: id });
    await rig.until(() => rig.all('out').length === 1);
    expect(rig.all('out')[0]?.envelope).toMatchObject({ ok: true, rehearsal: true, changed: true, logins: 1 });
    await rig.until(() => status()?.text === 'rehearsal: ok');
    expect(existsSync(journal)).toBe(false);
    expect(readdirSync(`${journal}-rehearsal`)).not.toEqual([]);
    expect(copies.running).toHaveLength(1);
  });

  it('a failure before the first request is also marked as a rehearsal, and names a folder that is not a snapshot', async () => {
    startCopiesHere();
    await deploy([update], { rehearsal: createTemporaryFolder() });
    const { caught } = await rig.run({ payload: {} });
    expect(caught[0]).toMatchObject({ error: { code: 'BAD_CONFIG', cause: { rehearsal: true } } });
    await rig.until(() => status()?.text?.startsWith('rehearsal: ') === true);
    await rig.redeploy({ nodes: [update], appliance: { rehearsal: '${NO_SUCH_REHEARSAL}' } });
    expect((await rig.run({ payload: {} })).caught[0]).toMatchObject({ error: { code: 'BAD_CONFIG' } });
  });

  it('a watch and a containment work on the copy of a rehearsal', async () => {
    const copies = startCopiesHere();
    const remember = createTemporaryFolder();
    const contain = {
      type: 'gateway-contain',
      operation: 'contain',
      every: 0.05,
      fields: { name: str('j.doe') },
      wires: [['out'], ['out']],
    };
    await deploy([
      { type: 'gateway-watch', watch: 'sessions', every: 3600, remember },
      { ...contain, id: 'n2' },
    ]);
    await rig.run({});
    await rig.until(() => /^rehearsal: \d\d:\d\d \d+ sessions$/.test(status()?.text ?? ''));
    expect(readdirSync(remember)).toEqual(['watch-rehearsal-n1.jsonl']);
    await rig.run({ payload: {} }, 'n2');
    const [copy] = copies.running;
    for (const name of ['j.doe', 'somebody.else']) copy?.state.sessions.add({ 'active-user-name': name });
    await rig.until(() => rig.all('out').some(({ topic }) => topic === 'contain/ended'));
    await rig.run({});
    await rig.until(() => rig.all('out').some(({ topic }) => String(topic).startsWith('sessions/')));
    const events = rig.all('out').filter(({ topic }) => String(topic).startsWith('sessions/'));
    expect((events[0]?.envelope as Envelope).rehearsal).toBe(true);
  });

  it('a deploy ends the copy of a rehearsal, and the next copy starts from the snapshot again', async () => {
    const copies = startCopiesHere();
    const read = { type: 'gateway-config', operation: 'get', fields: { path: str(SYSLOG) }, id: 'n2' };
    await deploy([update, read]);
    await rig.run({ payload: {} });
    expect((await rig.run({}, 'n2')).out[0]?.payload).toMatchObject({ server: '192.0.2.7' });
    await rig.redeploy({ nodes: [update, read], appliance: { rehearsal: folder } });
    await rig.until(() => copies.running.length === 0);
    expect((await rig.run({}, 'n2')).out[0]?.payload).not.toMatchObject({ server: '192.0.2.7' });
    expect(copies.started).toHaveLength(2);
  });

  it('the dialog of a rehearsing appliance reads from the copy, shows what changed, and resets the copy', async () => {
    const copies = startCopiesHere();
    await deploy([update]);
    await rig.run({ payload: {} });
    const draft = {
      id: 'a1',
      url: rig.sim.url,
      login: 'realm',
      realm: 'Admin Users',
      credentials: { username: 'api-admin', password: '__PWRD__' },
    };
    const test = await post('/gateway-appliance/test', { ...draft, rehearsal: folder });
    expect(test).toMatchObject({ ok: true, system: { 'host-name': 'vpn-1' } });
    // An editor of an older release does not send the property.
    expect(await post('/gateway-appliance/test', draft)).toMatchObject({ ok: true });
    for (const appliance of [{ id: 'a1' }, { ...draft, rehearsal: folder }]) {
      expect(await post('/gateway-appliance/list', { appliance, kind: 'local-server', given: {} })).toMatchObject({ ok: true });
      expect(await post('/gateway-appliance/read', { appliance, path: SYSLOG })).toMatchObject({
        ok: true,
        resource: { server: '192.0.2.7' },
      });
      const read = { type: 'gateway-config', operation: 'get', operationType: 'op', fields: { path: str(SYSLOG) } };
      expect(await post('/gateway-appliance/try', { ...read, id: 'n1', appliance, message: {} })).toMatchObject({
        ok: true,
        data: { server: '192.0.2.7' },
      });
      expect(await post('/gateway-appliance/account', { appliance })).toMatchObject({ ok: true });
      expect(await post('/gateway-appliance/preview', { ...update, operationType: 'op', id: 'n1', appliance, message: {} })).toMatchObject({
        ok: true,
      });
    }
    expect(await post('/gateway-appliance/test', { ...draft, rehearsal: createTemporaryFolder() })).toMatchObject({
      ok: false,
      code: 'BAD_CONFIG',
    });
    const compared = await post('/gateway-appliance/rehearsal', { id: 'a1', action: 'compare' });
    expect(compared).toMatchObject({ ok: true, added: 0, removed: 0, changed: 1, text: expect.stringContaining('192.0.2.7') as string });
    expect(await post('/gateway-appliance/rehearsal', { id: 'a1', action: 'reset' })).toEqual({ ok: true });
    expect(await post('/gateway-appliance/rehearsal', { id: 'a1', action: 'compare' })).toMatchObject({ ok: true, changed: 0 });
    expect(await post('/gateway-appliance/rehearsal', { id: 'a1', action: 'save' })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
    expect(await post('/gateway-appliance/rehearsal', { id: 'none', action: 'reset' })).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
    expect(copies.running).toHaveLength(1);
  });

  it('a rehearsing inventory has one copy for each appliance, started on first use', async () => {
    const copies = startCopiesHere();
    const all = createTemporaryFolder();
    for (const name of ['vpn-1', 'B%C3%BCro%20%2F2']) {
      mkdirSync(join(all, name));
      const gateway = new Gateway(settingsFor({ url: 'https://vpn.example' }, { rehearsal: folder }));
      await writeSnapshot(gateway, join(all, name));
      gateway.close();
    }
    const [source] = copies.started.splice(0);
    const names = ['vpn-1', 'Büro /2', 'without a folder'];
    const list = names.map((name) => ({ name, url: rig.sim.url, credentials: 'none' }));
    const inventory = {
      id: 'inv',
      type: 'gateway-inventory',
      source: 'list',
      list: JSON.stringify(list),
      rehearsal: all,
      defaults: '{"realm":"Admin Users"}',
    };
    const node = {
      type: 'gateway-users',
      operation: 'list',
      fields: { server: str('System Local') },
      appliance: '',
      inventory: 'inv',
      select: '*',
    };
    await rig.deploy({ nodes: [node], more: [inventory] });
    expect(source).toBeDefined();
    expect(copies.started).toHaveLength(0);
    const { out, caught } = await rig.run({ payload: {} });
    expect(caught).toEqual([]);
    expect(out[0]?.envelope).toMatchObject({ ok: false, rehearsal: true });
    expect(out[0]?.payload).toMatchObject({
      ok: 2,
      failed: 1,
      results: [
        { ok: true },
        { ok: true },
        { error: { code: 'BAD_CONFIG', message: expect.stringContaining('Name a snapshot folder') as string } },
      ],
    });
    expect(copies.running).toHaveLength(2);
    await rig.until(() => status()?.text?.startsWith('rehearsal') === true);
    expect(await post('/gateway-inventory/test', { ...inventory, select: 'vpn-1' })).toMatchObject({ ok: true, well: 1 });
    await helper.unload();
    await rig.until(() => copies.running.length === 0);
  });
});
