import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inventoryGatewayRegistry, getInventoryById } from '../../../nodes/inventory/inventory-node';
import type { ManyAppliancesData } from '../../../src';
import type { AuditData } from '../../../src/audit/run-audit';
import { selfSigned, startSimulatedFleet, type SimulatedFleet } from '../../../src/simulator';
import { NodeRedHarness, type NodeDefinition, type Message, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSecondOutput, expectSuccess } from '../../helpers/expect-outcome';
import { resetContainmentStores } from '../../helpers/reset-process-state';

const COUNT = 12;
const list = { type: 'gateway-sessions', operation: 'list', appliance: '', inventory: 'inv', select: '*' };
const kill = { ...list, operation: 'kill-user', fields: { name: { type: 'str', value: 'j.doe' } } };

/** One node, many appliances; and the inventory that they come from. */
export function manyAppliancesSuite(runtime: Runtime): void {
  const tls = selfSigned();
  const rig = new NodeRedHarness(runtime, { tls });
  let fleet: SimulatedFleet;
  beforeAll(async () => {
    await rig.start();
    fleet = await startSimulatedFleet(COUNT, { tls });
  });
  beforeEach(() => {
    for (const appliance of fleet.appliances) appliance.requests.length = 0;
  });
  afterEach(async () => {
    await rig.reset();
    inventoryGatewayRegistry.close();
    for (const appliance of fleet.appliances) {
      appliance.clearFaults();
      appliance.state.sessions.endUsers(new Set(['j.doe']));
    }
  });
  afterAll(async () => {
    await fleet.close();
    await rig.stop();
  });

  const inventory = (more: NodeDefinition = {}): NodeDefinition => ({
    id: 'inv',
    type: 'gateway-inventory',
    name: 'ours',
    source: 'list',
    list: JSON.stringify(fleet.entries),
    defaults: '{"realm": "Admin Users"}',
    tls: 'tls1',
    ...more,
  });
  const LOGIN = { username: 'api-admin', password: 'simulator' };
  const deployment = (nodes: NodeDefinition[], more: NodeDefinition = {}, credentials = { inv: LOGIN as Record<string, string> }) => ({
    nodes,
    more: [inventory(more)],
    credentials,
  });
  const deploy = (...given: Parameters<typeof deployment>): Promise<void> => rig.deploy(deployment(...given));
  const dataOf = ({ payload }: Message): ManyAppliancesData => payload as ManyAppliancesData;
  const isRead = ({ path }: { path: string }): boolean => path.includes('active-users');
  const breaks = (...names: string[]): void => {
    for (const name of names) fleet.getAppliance(name).fault({ match: isRead, status: 404, body: '{}', times: Infinity });
  };
  const someone = (...names: string[]): void => {
    for (const name of names) fleet.getAppliance(name).state.sessions.add({ 'active-user-name': 'j.doe' });
  };
  const asked = (): number => fleet.appliances.filter(({ requests }) => requests.length > 0).length;

  it('a node for many appliances returns the results of all appliances in one message', async () => {
    await deploy([list]);
    const message = expectSuccess(await rig.run({ payload: {}, topic: 't' }));
    expect(message.topic).toBe('t');
    expect(dataOf(message)).toMatchObject({ total: COUNT, ok: COUNT, failed: 0, skipped: 0 });
    expect(dataOf(message).results[1]).toMatchObject({ appliance: 'vpn-002', ok: true, changed: null, data: [{}, {}] });
    expect(message.envelope).toMatchObject({ ok: true, operation: 'sessions.list', appliance: '*', changed: null });
    expect(message.envelope.summary).toBe('List sessions: done on 12 of 12 appliances.');
    await rig.until(() => rig.statuses().some(({ text }) => text === '12 appliances'));
    expect(rig.statuses('inv').at(-1)).toMatchObject({ fill: 'green', text: '12 appliances' });
  });

  it('an audit of many appliances returns the findings of each, and a table of appliances and rules', async () => {
    const roles = fleet.getAppliance('vpn-002').state.configuration.collection('users', 'user-roles', 'user-role');
    roles.add({ name: 'Nobody has it' });
    await deploy([{ ...list, type: 'gateway-audit', operation: 'run', select: 'vpn-001 | vpn-002' }]);
    const message = expectSuccess(await rig.run({ payload: {} }));
    roles.items.delete('Nobody has it');
    const { results, together } = dataOf(message);
    const unused = results.map(({ data }) =>
      (data as AuditData).findings.filter(({ rule }) => rule === 'unused-object').map(({ name }) => name),
    );
    expect(unused[1]?.toSorted()).toEqual([...(unused[0] ?? []), 'Nobody has it'].sort());
    expect((together as { rows: object[] }).rows).toMatchObject([
      { appliance: 'vpn-001', 'unused-object': unused[0]?.length, 'admin-realm-open': 3, 'release-not-listed': null },
      { appliance: 'vpn-002', 'unused-object': unused[1]?.length, 'admin-realm-open': 3, 'release-not-listed': null },
    ]);
  });

  it('a node for many appliances counts requests per appliance and joins the metrics of all appliances', async () => {
    breaks('vpn-003');
    const metrics = {
      ...list,
      id: 'n2',
      type: 'gateway-system',
      operation: 'metrics',
      fields: { parts: { type: 'str', value: 'sessions' } },
    };
    await deploy([{ ...list, select: 'vpn-002' }, metrics]);
    const counters = async (): Promise<Record<string, unknown>[]> =>
      ((await helper.request().get('/gateway-appliance/counters')).body as { appliances: Record<string, unknown>[] }).appliances.filter(
        ({ inventory }) => inventory !== undefined,
      );
    expect((await counters()).slice(0, 2)).toEqual([
      { inventory: 'inv', name: 'vpn-001', counters: null },
      { inventory: 'inv', name: 'vpn-002', counters: null },
    ]);
    expectSuccess(await rig.run({ payload: {} }));
    expect(await counters()).toHaveLength(COUNT);
    expect((await counters())[1]).toMatchObject({ inventory: 'inv', name: 'vpn-002', counters: { runs: 1, logins: 1 } });
    expect((await counters())[0]).toMatchObject({ counters: null });
    const { together, results } = dataOf(expectSuccess(await rig.run({ payload: {} }, 'n2')));
    const lines = String(together).split('\n');
    for (const { name } of fleet.entries) {
      expect(lines).toContain(`gateway_up{appliance="${name}"} 1`);
      expect(lines.some((line) => line.startsWith(`gateway_sessions{appliance="${name}",`))).toBe(name !== 'vpn-003');
    }
    expect(lines.filter((line) => line === '# TYPE gateway_up gauge')).toHaveLength(1);
    expect(String(results[0]?.data)).toContain('gateway_up{appliance="vpn-001"} 1');
  });

  it('a node for many appliances selects appliances by tag, and shows a selection without matches', async () => {
    await deploy([
      { ...list, select: 'tag:even !vpn-01*' },
      { ...list, id: 'n2', select: 'tag:none' },
    ]);
    const { results } = dataOf(expectSuccess(await rig.run({ payload: {} })));
    expect(results.map(({ appliance }) => appliance)).toEqual(['vpn-002', 'vpn-004', 'vpn-006', 'vpn-008']);
    expect(dataOf(expectSuccess(await rig.run({ payload: {} }, 'n2')))).toMatchObject({ total: 0 });
    await rig.until(() => rig.statuses('n2').some(({ text, fill }) => text === 'no appliances' && fill === 'yellow'));
  });

  it('a node for many appliances uses the first output if some appliances fail, and counts them in the status', async () => {
    breaks('vpn-003');
    await deploy([{ ...list, atOnce: 2 }]);
    const { payload, envelope } = expectSuccess(await rig.run({ payload: {} }));
    expect(payload).toMatchObject({ failed: 1 });
    expect(envelope).toMatchObject({ ok: false, text: expect.stringMatching(/^vpn-003: NOT_FOUND/) as string });
    await rig.until(() => rig.statuses().some(({ text }) => text === '1 of 12 failed'));
  });

  it('a node for many appliances shows its progress while it runs', async () => {
    breaks('vpn-001');
    let answer = (): void => undefined;
    fleet.getAppliance('vpn-004').fault({ match: isRead, until: new Promise<void>((resolve) => (answer = resolve)) });
    await deploy([{ ...list, atOnce: 1 }]);
    const run = rig.run({ payload: {} });
    await rig.until(() => rig.statuses().some(({ text }) => text === '3 of 12, 1 failed'));
    answer();
    expectSuccess(await run);
  });

  it('a node for many appliances fails with the result of each appliance if all fail', async () => {
    breaks(...fleet.entries.map(({ name }) => name));
    await deploy([list, { ...list, id: 'n2', failures: 'output' }]);
    const { error, payload } = expectCaught(await rig.run({ payload: { own: 1 } }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', cause: { total: COUNT, failed: COUNT, appliance: '*' } });
    expect(payload).toEqual({ own: 1 });
    expect(expectSecondOutput(await rig.run({ payload: {} }, 'n2')).error.code).toBe('NOT_FOUND');
  });

  it('a node for many appliances stops after a failing canary', async () => {
    breaks('vpn-002');
    await deploy([{ ...list, canary: '2', maxFailures: '10%', batch: '50%' }]);
    const { payload, envelope } = expectSuccess(await rig.run({ payload: {} }));
    expect(payload).toMatchObject({ ok: 1, failed: 1, skipped: 10 });
    expect(envelope.stopped).toBe('canary');
    expect(asked()).toBe(2);
    await rig.until(() => rig.statuses().some(({ text }) => text === 'stopped, 1 failed'));
  });

  it('a node for many appliances sends each appliance as it finishes, failures to the failure output, and the counts at the end', async () => {
    breaks('vpn-005');
    await deploy([
      { ...list, each: true },
      { ...list, id: 'n2', each: true, failures: 'output' },
    ]);
    for (const id of ['n1', 'n2']) {
      const { out, failed: second, caught: third, completed } = await rig.run({ payload: { own: 1 } }, id);
      expect([out.length, second.length, third.length, completed]).toEqual([COUNT, id === 'n2' ? 1 : 0, id === 'n2' ? 0 : 1, 1]);
      const [failure] = [...second, ...third];
      expect(failure).toMatchObject({ appliance: 'vpn-005', payload: { own: 1 }, error: { code: 'NOT_FOUND' }, envelope: { ok: false } });
      const summary = out.at(-1) as Message;
      expect(
        out
          .slice(0, -1)
          .map(({ appliance }) => appliance)
          .sort(),
      ).toEqual(fleet.entries.map(({ name }) => name).filter((name) => name !== 'vpn-005'));
      expect(out[0]).toMatchObject({ payload: [{}, {}], envelope: { ok: true }, parts: { type: 'array', count: COUNT } });
      expect(dataOf(summary)).toMatchObject({ total: COUNT, ok: COUNT - 1, failed: 1 });
      expect(dataOf(summary).results[0]).toEqual({ appliance: 'vpn-001', ok: true, changed: null });
      expect(summary).not.toHaveProperty('parts');
      expect(new Set(out.slice(0, -1).map(({ parts }) => (parts as { index: number }).index)).size).toBe(COUNT - 1);
    }
  });

  it('a node for many appliances can leave out the data of each appliance', async () => {
    await deploy([{ ...list, data: 'none' }]);
    expect(dataOf(expectSuccess(await rig.run({ payload: {} }))).results[0]).toEqual({ appliance: 'vpn-001', ok: true, changed: null });
  });

  it('a node for many appliances names the appliance in the parts of a stream', async () => {
    await deploy([{ ...list, select: 'vpn-001 | vpn-002', each: true, fields: { emit: { type: 'str', value: 'record' } } }]);
    const { out } = await rig.run({ payload: {} });
    expect(out).toHaveLength(5);
    expect(
      out
        .slice(0, 4)
        .map(({ appliance, parts }) => [appliance, (parts as { index: number }).index])
        .sort(),
    ).toEqual([
      ['vpn-001', 0],
      ['vpn-001', 1],
      ['vpn-002', 0],
      ['vpn-002', 1],
    ]);
  });

  it('a node for many appliances reads a field per appliance, which can contain its name', async () => {
    someone('vpn-001', 'vpn-002');
    const fields = { name: { type: 'jsonata', value: 'appliance = "vpn-002" ? "j.doe" : "nobody"' } };
    await deploy([{ ...kill, select: 'vpn-00*', fields }]);
    const { results } = dataOf(expectSuccess(await rig.run({ payload: {} })));
    expect(results.filter(({ changed }) => changed).map(({ appliance }) => appliance)).toEqual(['vpn-002']);
  });

  it('a node for many appliances sends nothing if a field cannot be read', async () => {
    await deploy([{ ...kill, fields: { name: { type: 'msg', value: 'who' } } }]);
    expect(expectCaught(await rig.run({ payload: {} })).error.code).toBe('BAD_INPUT');
    expect(asked()).toBe(0);
  });

  it('a node for many appliances limits the appliances of a destructive operation, and plans all in a dry run', async () => {
    someone('vpn-001', 'vpn-012');
    await deploy([
      { ...kill, maxAppliances: 11 },
      { ...kill, id: 'n2', maxAppliances: 11 },
    ]);
    expect(expectCaught(await rig.run({ payload: {} })).error.code).toBe('LIMIT');
    expect(asked()).toBe(0);
    const { envelope, payload } = expectSuccess(await rig.run({ payload: {}, dryRun: true }, 'n2'));
    expect(payload).toMatchObject({ total: COUNT, ok: COUNT });
    expect(envelope).toMatchObject({ changed: null, plan: [{ appliance: 'vpn-001' }, { appliance: 'vpn-012' }] });
    await rig.until(() => rig.statuses('n2').some(({ text }) => text === 'planned 2'));
  });

  it('a node for many appliances lets a message select appliances for writes only if the dialog allows it', async () => {
    const byMessage = { selectType: 'msg', select: 'select' };
    await deploy([
      { ...kill, ...byMessage },
      { ...kill, ...byMessage, id: 'n2', allowDestroy: true },
      { ...list, ...byMessage, id: 'n3' },
    ]);
    expect(expectCaught(await rig.run({ payload: {}, select: 'vpn-001' })).error.code).toBe('BAD_INPUT');
    expect(asked()).toBe(0);
    expect(expectSuccess(await rig.run({ payload: {}, select: 'vpn-001' }, 'n2')).payload).toMatchObject({ total: 1 });
    expect(expectSuccess(await rig.run({ payload: {}, select: 'tag:odd' }, 'n3')).payload).toMatchObject({ total: 6 });
    for (const select of [undefined, '', ' ', 5, 'a |'])
      expect(expectCaught(await rig.run({ payload: {}, select }, 'n3')).error.code).toBe('BAD_INPUT');
  });

  it('a node for many appliances starts no further appliance once canceled, and reports the finished ones', async () => {
    fleet.getAppliance('vpn-002').fault({ match: isRead, hang: true });
    await deploy([{ ...list, atOnce: 1 }]);
    rig.node().receive({ _msgid: 'm1', payload: {} });
    await rig.until(() => fleet.getAppliance('vpn-002').requests.some(isRead));
    await rig.run({ cancel: true });
    const { error } = expectCaught(await rig.ended('m1'));
    expect(error).toMatchObject({ code: 'ABORTED', cause: { skipped: 10, stopped: 'cancelled' } });
    expect((error.cause as unknown as ManyAppliancesData).results.slice(0, 3)).toMatchObject([
      { ok: true },
      { ok: false },
      { skipped: true },
    ]);
    expect(asked()).toBe(2);
  });

  it('a node for many appliances asks for one approval for all appliances', async () => {
    someone('vpn-001', 'vpn-003');
    await deploy([{ ...kill, approval: true, wires: [['out'], ['failed']] }]);
    rig.node().receive({ _msgid: 'm1', payload: {} });
    await rig.until(() => rig.all('failed').length > 0);
    const { payload } = rig.all('failed')[0] as { payload: { id: string; plan: unknown[]; appliance: string } };
    expect(payload).toMatchObject({ appliance: '*', plan: [{ appliance: 'vpn-001', method: 'DELETE' }, { appliance: 'vpn-003' }] });
    await rig.run({ approve: payload.id });
    const [done] = (await rig.ended('m1')).out;
    expect(done).toMatchObject({ payload: { ok: COUNT }, envelope: { changed: true } });
  });

  it.each<[string, NodeDefinition, RegExp]>([
    ['no selection', { select: '' }, /No appliance of the inventory is selected/],
    ['an inventory that is gone', { inventory: 'gone' }, /inventory that this node refers to is missing/],
    ['at once', { atOnce: 'x' }, /atOnce must be a number/],
    ['a batch', { batch: '0' }, /^batch must be/],
    ['a share', { maxFailures: '120%' }, /^maxFailures must be/],
  ])('a node for many appliances reports %s', async (_what, more, words) => {
    await deploy([{ ...list, ...more }]);
    const { error } = expectCaught(await rig.run({ payload: {} }));
    expect(error.code).toBe('BAD_CONFIG');
    expect(error.message).toMatch(words);
    expect(asked()).toBe(0);
  });

  it('a node for many appliances enforces a containment on all selected appliances, also after a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-contain-'));
    const fields = { folder: { type: 'str', value: folder } };
    const contain = {
      ...list,
      type: 'gateway-contain',
      operation: 'contain',
      select: 'vpn-00*',
      every: 0.05,
      fields,
      wires: [['out'], []],
    };
    await deploy([contain]);
    expect((await rig.run({ payload: 'j.doe' })).out[0]?.payload).toMatchObject({ total: 9, ok: 9 });
    const isOut = (name: string): boolean =>
      fleet.getAppliance(name).state.sessions.findNumbers({ name: 'j.doe', prefix: false }).length === 0;
    someone('vpn-003');
    await rig.until(() => isOut('vpn-003'));
    await rig.reset();
    inventoryGatewayRegistry.close();
    resetContainmentStores();
    await deploy([contain]);
    someone('vpn-008', 'vpn-010');
    await rig.until(() => isOut('vpn-008'));
    expect(isOut('vpn-010')).toBe(false);
    await rig.reset();
    resetContainmentStores();
    // Whatever is still being written into it.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  describe('the dialog routes', () => {
    async function ask(route: string, body: object): Promise<Record<string, unknown>> {
      const response = await helper.request().post(`/gateway-inventory/${route}`).send(body);
      expect(response.status).toBe(200);
      return response.body as Record<string, unknown>;
    }
    const wrong = { ...LOGIN, password: 'planted-wrong' };

    it('the dialog routes list names and tags, and count the matches of a selection', async () => {
      await deploy([list]);
      const all = await ask('list', { id: 'inv' });
      expect(all).toMatchObject({
        ok: true,
        total: COUNT,
        selected: COUNT,
        tags: [
          { value: 'odd', count: 6 },
          { value: 'even', count: 6 },
        ],
      });
      expect(await ask('list', { id: 'inv', select: 'tag:odd', search: 'VPN-01' })).toEqual({
        ...all,
        selected: 6,
        entries: [{ value: 'vpn-011', note: `${fleet.entries[10]?.url ?? ''} odd` }],
      });
      expect(await ask('list', { id: 'inv', select: 'a |' })).toMatchObject({ ok: false, code: 'BAD_INPUT' });
      expect(await ask('list', { id: 'other' })).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
    });

    it('the dialog routes test all appliances and list what is wrong', async () => {
      const entries = [...fleet.entries.slice(0, 3), { name: 'gone', url: 'https://127.0.0.1:1' }, { ...fleet.entries[0], name: 'twin' }];
      await deploy([], { list: JSON.stringify([...entries, { ...fleet.entries[3], realm: 'Nobody' }]) });
      const answer = await ask('test', { id: 'inv' });
      expect(answer).toMatchObject({ ok: true, total: 6, well: 4 });
      expect(answer.rows).toMatchObject([
        { appliance: 'gone', ok: false, code: 'CONNECTION' },
        { appliance: 'twin', ok: true, same: 'vpn-001' },
        { appliance: 'vpn-004', ok: false, code: 'LOGIN_REJECTED' },
        { appliance: 'vpn-001', ok: true, system: { host: 'vpn-001', serial: expect.stringMatching(/^SIM/) as string } },
        { appliance: 'vpn-002', ok: true },
        { appliance: 'vpn-003', ok: true },
      ]);
    });

    it('the dialog routes send a rejected password once for several appliances, and never show it', async () => {
      await deploy([], {}, { inv: wrong });
      const logins = fleet.appliances.map((appliance) => appliance.logins);
      for (const code of ['LOGIN_REJECTED', 'LOGIN_PAUSED']) {
        const answer = await ask('test', { id: 'inv', select: 'vpn-00*' });
        expect(answer).toMatchObject({ ok: true, total: 9, well: 0 });
        expect((answer.rows as { code: string }[]).map((row) => row.code)).toEqual(Array(9).fill(code));
        expect(JSON.stringify(answer)).not.toContain('planted');
      }
      expect(fleet.appliances.map((appliance, index) => appliance.logins - (logins[index] ?? 0))).toEqual([
        ...Array<number>(9).fill(1),
        0,
        0,
        0,
      ]);
    });

    it('the dialog routes use the first selected appliance for the pickers of a node', async () => {
      await deploy([list]);
      const pick = async (appliance: object): Promise<Record<string, unknown>> =>
        (await helper.request().post('/gateway-appliance/list').send({ kind: 'local-server', given: {}, search: '', appliance }))
          .body as Record<string, unknown>;
      const entries = expect.arrayContaining([{ value: 'System Local', note: 'local' }]) as unknown;
      expect(await pick({ inventory: 'inv', select: 'tag:even' })).toMatchObject({ ok: true, entries });
      expect(fleet.getAppliance('vpn-002').requests.length).toBeGreaterThan(0);
      expect(asked()).toBe(1);
      expect(await pick({ inventory: 'inv', select: 'tag:none' })).toMatchObject({ ok: false, code: 'BAD_CONFIG' });
    });
  });

  describe('an inventory', () => {
    const one = { type: 'gateway-system', operation: 'info', appliance: '', applianceFrom: 'msg' };

    it('an inventory has appliances that messages can select by name, like appliance nodes', async () => {
      await deploy([one]);
      const info = async (appliance: string): Promise<unknown> =>
        expectSuccess(await rig.run({ payload: 1, appliance })).envelope.appliance;
      expect([await info('vpn-007'), await info('vpn-1')]).toEqual(['vpn-007', 'vpn-1']);
      const { error } = expectCaught(await rig.run({ payload: 1, appliance: 'vpn-99' }));
      expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('vpn-012') as string });
    });

    it('an inventory does not accept a name twice', async () => {
      const [first] = fleet.entries;
      await deploy([one], { list: JSON.stringify([{ ...first, name: 'vpn-1' }]) });
      expect(expectCaught(await rig.run({ payload: 1, appliance: 'vpn-1' })).error.code).toBe('BAD_CONFIG');
    });

    it('an inventory makes a message wait while it loads', async () => {
      await deploy([one, { ...list, id: 'n2' }]);
      const [named, many] = await Promise.all([rig.run({ payload: 1, appliance: 'vpn-001' }), rig.run({ payload: {} }, 'n2')]);
      expectSuccess(named);
      expect(expectSuccess(many).payload).toMatchObject({ ok: COUNT });
    });

    it('an inventory lets its appliances be compared with each other', async () => {
      const fields = { other: { type: 'str', value: 'vpn-001' }, path: { type: 'str', value: 'system/network/overview' } };
      await deploy([{ ...list, type: 'gateway-snapshot', operation: 'compare', select: 'vpn-00*', fields }]);
      const { results } = dataOf(expectSuccess(await rig.run({ payload: {} })));
      expect(results.map(({ data }) => (data as { equal: boolean }).equal)).toEqual([true, ...Array<boolean>(8).fill(false)]);
    });

    it('an inventory with a fault in its list shows the line, also on its nodes', async () => {
      await deploy([list], { list: '[\n{"name": "a"}\n]' });
      const { error } = expectCaught(await rig.run({ payload: {} }));
      expect(error).toMatchObject({ code: 'BAD_CONFIG', message: expect.stringContaining('line 2 (a): url is missing') as string });
      expect(rig.statuses('inv').at(-1)).toMatchObject({ fill: 'red', text: 'fault in line 2' });
    });

    it.each<[string, NodeDefinition, RegExp]>([
      ['no file', { source: 'file' }, /The inventory has no file/],
      ['a missing file', { source: 'file', file: '/nowhere/fleet.yaml' }, /does not exist/],
      ['a file of an unknown format', { source: 'file', file: '/etc/hostname' }, /must end in/],
      ['unknown defaults', { defaults: '{"relm": "x"}' }, /relm: unknown property/],
      ['defaults with a secret', { defaults: '{"password": "planted"}' }, /belongs in a credential set/],
      ['a missing folder of the sets', { secrets: 'folder' }, /The inventory has no folder for credential sets/],
    ])('an inventory reports %s', async (_what, more, words) => {
      await deploy([list], more);
      const { error } = expectCaught(await rig.run({ payload: {} }));
      expect([error.code, error.message]).toEqual(['BAD_CONFIG', expect.stringMatching(words)]);
      expect(error.message).not.toContain('planted');
    });

    it('an inventory stores further credential sets in the node by name', async () => {
      const entries = fleet.entries.slice(0, 2).map((entry, index) => ({ ...entry, ...(index === 1 && { credentials: 'lab' }) }));
      const more = { list: JSON.stringify(entries), sets: 'eu lab' };
      await deploy([list], more, { inv: { ...LOGIN, username_2: 'api-admin', password_2: 'simulator' } });
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ ok: 2 });
      await rig.reset();
      inventoryGatewayRegistry.close();
      await deploy([list], more);
      const { results } = dataOf(expectSuccess(await rig.run({ payload: {} })));
      expect(results[1]?.error).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringContaining('there is no credential set lab. There are: default.') as string,
      });
    });

    it('an inventory sends no credentials to a host that was added to the file after the deploy', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
      const file = join(folder, 'fleet.json');
      writeFileSync(file, JSON.stringify(fleet.entries.slice(0, 1)));
      await deploy([list], { source: 'file', file });
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ total: 1, ok: 1 });
      const second = fleet.appliances[1];
      const before = second?.totalConnections;
      writeFileSync(`${file}.new`, JSON.stringify(fleet.entries.slice(0, 2)));
      renameSync(`${file}.new`, file);
      await rig.until(() => rig.statuses('inv').at(-1)?.text === '2 appliances');
      const { results } = dataOf(expectSuccess(await rig.run({ payload: {} })));
      expect(results[1]?.error).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringContaining('was not deployed for the host') as string,
      });
      expect(second?.totalConnections).toBe(before);
      rmSync(folder, { recursive: true });
    });

    it('an inventory reads credential sets from the environment', async () => {
      Object.assign(process.env, { FLEET_DEFAULT_USERNAME: 'api-admin', FLEET_DEFAULT_PASSWORD: 'simulator' });
      await deploy([list], { secrets: 'environment', prefix: 'FLEET' }, { inv: {} });
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ ok: COUNT });
      delete process.env.FLEET_DEFAULT_USERNAME;
      delete process.env.FLEET_DEFAULT_PASSWORD;
    });

    it('an inventory reloads a changed file completely or not at all, and keeps API key and connections of unchanged appliances', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
      const file = join(folder, 'fleet.csv');
      const write = (rows: readonly { name: string; url: string }[], more = ''): void => {
        writeFileSync(`${file}.new`, `name,url\n${rows.map(({ name, url }) => `${name},${url}`).join('\n')}\n${more}`);
        renameSync(`${file}.new`, file);
      };
      const [first, second] = fleet.appliances;
      write(fleet.entries.slice(0, 2));
      await deploy([list], { source: 'file', file, allowedHosts: '127.0.0.1, localhost' });
      expectSuccess(await rig.run({ payload: {} }));
      const before = [first?.totalConnections, first?.logins];

      write(fleet.entries.slice(0, 3), 'bad,\n');
      await rig.until(() => rig.statuses('inv').some(({ text }) => text === 'fault in line 5'));
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ total: 2, ok: 2 });

      write(fleet.entries.slice(0, 3));
      await rig.until(() => rig.statuses('inv').at(-1)?.text === '3 appliances');
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ total: 3, ok: 3 });
      rmSync(file);
      await rig.until(() => rig.statuses('inv').at(-1)?.text === 'not read');
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ total: 3, ok: 3 });
      write(fleet.entries.slice(0, 1));
      await rig.until(() => rig.statuses('inv').at(-1)?.text === '1 appliance');

      await rig.redeploy(deployment([{ ...list, name: 'again' }], { source: 'file', file }), 'full');
      expect(getInventoryById('inv')).toBeDefined();
      expect(expectSuccess(await rig.run({ payload: {} })).payload).toMatchObject({ total: 1, ok: 1 });
      expect([first?.totalConnections, first?.logins]).toEqual(before);
      expect(second?.openConnections).toBeGreaterThan(0);
      rmSync(folder, { recursive: true });
    });
  });
}
