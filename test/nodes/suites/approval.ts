import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { NodeRedHarness, type NodeDefinition, type Message, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSecondOutput, expectSuccess } from '../../helpers/expect-outcome';

interface Plan {
  id: string;
  operation: string;
  appliance: string;
  summary: string;
  plan: object[];
  expires: string;
  actor?: string;
}

/** Messages that are held until somebody approves what they would do. */
export function approvalSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 12 });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const kill = { type: 'gateway-sessions', operation: 'kill', approval: true, wires: [['out'], ['asked']] };
  const toOutput = { ...kill, failures: 'output', wires: [['out'], ['failed'], ['asked']] };
  const asked: Message[] = [];

  /** The deployed nodes, what they ask going to `asked`. */
  async function deploy(nodes: NodeDefinition[], appliance?: NodeDefinition): Promise<void> {
    asked.length = 0;
    const more = [{ id: 'asked', type: 'helper', z: 'f1', x: 1, y: 1 }];
    await rig.deploy({ nodes, more, ...(appliance && { appliance }) });
    rig.node('asked').on('input', (message) => void asked.push(message));
  }

  /** Sends a message that has to be held; gives the plan that left. */
  async function held(message: Message, id = 'n1'): Promise<Plan> {
    const before = asked.length;
    rig.node(id).receive(message);
    await rig.until(() => asked.length > before);
    return asked.at(-1)?.payload as Plan;
  }

  const writes = (): number => rig.sim.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('auth')).length;
  const someone = (): string => rig.sim.state.sessions.add({ 'active-user-name': 'j.doe' });
  const nothing = { out: [], failed: [], caught: [] };

  it('a node that asks for approval sends a write as a plan and runs it once approved; the approving message has no output', async () => {
    await deploy([kill]);
    const before = writes();
    const id = someone();
    const sent = { _msgid: 'm1', payload: id, topic: 't', actor: 'j.operator', own: { deep: 1 } };
    const plan = await held(sent);
    expect(plan).toMatchObject({ operation: 'sessions.kill', appliance: 'vpn-1', actor: 'j.operator' });
    expect(plan.plan).toMatchObject([{ method: 'DELETE' }]);
    expect(plan.summary).toMatch(/^Would /);
    expect(Date.parse(plan.expires)).toBeGreaterThan(Date.now());
    expect(asked[0]).toMatchObject({ _msgid: 'm1', topic: 't', own: { deep: 1 } });
    expect(asked[0]).not.toBe(sent);
    expect(writes()).toBe(before);
    expect(rig.outcome('m1')).toMatchObject({ ...nothing, completed: 0 });
    await rig.until(() => rig.statuses().some(({ text }) => text === '1 to approve'));
    expect(await rig.run({ approve: plan.id, actor: 'a.boss', payload: 'sid-of-another' })).toMatchObject({ ...nothing, completed: 1 });
    const done = expectSuccess(await rig.ended('m1'));
    expect(done).toBe(sent);
    expect(done.envelope).toMatchObject({ ok: true, changed: true, dryRun: false, approved: { by: 'a.boss' } });
    expect(writes()).toBe(before + 1);
    expect(rig.sim.state.sessions.has(id)).toBe(false);
  });

  it('a node that asks for approval turns a rejected write into an error at Catch nodes or on the second output, and sends nothing', async () => {
    await deploy([kill, { ...toOutput, id: 'n2' }]);
    const before = writes();
    for (const id of ['n1', 'n2']) {
      const plan = await held({ _msgid: `m-${id}`, payload: someone() }, id);
      expect(await rig.run({ reject: plan.id, actor: 'a.boss' }, id)).toMatchObject({ ...nothing, completed: 1 });
      const outcome = await rig.ended(`m-${id}`);
      const { error } = id === 'n1' ? expectCaught(outcome) : expectSecondOutput(outcome);
      expect(error).toMatchObject({ code: 'DECLINED', cause: { ok: false, changed: false, declined: { by: 'a.boss' } } });
    }
    expect(writes()).toBe(before);
  });

  it('a node that asks for approval fails with EXPIRED if nobody decides', async () => {
    await deploy([{ ...kill, approvalMinutes: 0.0005 }]);
    const outcome = await rig.run({ payload: someone() });
    expect(expectCaught(outcome).error.code).toBe('EXPIRED');
    const { id } = asked[0]?.payload as Plan;
    expect(expectCaught(await rig.run({ approve: id })).error.code).toBe('BAD_INPUT');
  });

  it('a node that asks for approval ignores an id that is forged, belongs to another node, is both approved and rejected, or was used', async () => {
    await deploy([kill, { ...kill, id: 'n2' }, { ...kill, id: 'n3', approval: false }]);
    const before = writes();
    const plan = await held({ _msgid: 'm1', payload: someone() });
    const odd: Message[] = [
      { approve: 'forged' },
      { approve: true },
      { approve: '' },
      { approve: [plan.id] },
      { approve: { id: plan.id, plan: [] } },
      { reject: 17 },
      { approve: plan.id, reject: plan.id },
    ];
    for (const message of odd) expect(expectCaught(await rig.run({ payload: someone(), ...message })).error.code).toBe('BAD_INPUT');
    for (const id of ['n2', 'n3'])
      expect(expectCaught(await rig.run({ payload: someone(), approve: plan.id }, id)).error.code).toBe('BAD_INPUT');
    expect(rig.outcome('m1').completed).toBe(0);
    expect(writes()).toBe(before);
    await rig.run({ approve: plan.id });
    expectSuccess(await rig.ended('m1'));
    expect(expectCaught(await rig.run({ approve: plan.id })).error.code).toBe('BAD_INPUT');
    expect(expectCaught(await rig.run({ reject: plan.id })).error.code).toBe('BAD_INPUT');
    expect(writes()).toBe(before + 1);
  });

  it('a node that asks for approval does not ask about reads, dry runs, or an appliance in dry run', async () => {
    await deploy([
      { ...kill, operation: 'list' },
      { ...kill, id: 'n2' },
    ]);
    expectSuccess(await rig.run({ payload: '' }));
    expect(expectSuccess(await rig.run({ payload: someone(), dryRun: true }, 'n2')).envelope).toMatchObject({
      dryRun: true,
      changed: null,
    });
    expect(asked).toEqual([]);
    await rig.reset();
    await deploy([kill], { dryRun: true });
    expect(expectSuccess(await rig.run({ payload: someone() })).envelope.plan).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  it('a node that asks for approval ends the seven approved sessions that still exist of ten, and never an eleventh', async () => {
    await deploy([{ ...kill, operation: 'kill-user', fields: { name: { type: 'str', value: 'many.sessions' } } }]);
    const add = (): string => rig.sim.state.sessions.add({ 'active-user-name': 'many.sessions' });
    const ids = Array.from({ length: 10 }, add);
    const plan = await held({ _msgid: 'm1', payload: 1 });
    expect(plan.plan).toHaveLength(10);
    for (const id of ids.slice(0, 3)) rig.sim.state.sessions.end(id);
    const eleventh = add();
    await rig.run({ approve: plan.id });
    const { payload, envelope } = expectSuccess(await rig.ended('m1'));
    expect(payload).toMatchObject({ total: 7, ok: 7 });
    expect(envelope.notApproved).toMatchObject([{ 'session-id': eleventh }]);
    expect(rig.sim.state.sessions.has(eleventh)).toBe(true);
    rig.sim.state.sessions.end(eleventh);
  });

  it('a node that asks for approval cancels a waiting message by msg.cancel and by a deploy', async () => {
    await deploy([kill]);
    const before = writes();
    const first = await held({ _msgid: 'm1', payload: someone() });
    await rig.run({ cancel: 'm1' });
    expect(expectCaught(await rig.ended('m1')).error).toMatchObject({ code: 'ABORTED', cause: { changed: false } });
    expect(expectCaught(await rig.run({ approve: first.id })).error.code).toBe('BAD_INPUT');
    await held({ _msgid: 'm2', payload: someone() });
    const message = { _msgid: 'm3', payload: someone() } as Message;
    await held(message);
    await rig.redeploy({ nodes: [kill] });
    expect(message.envelope).toMatchObject({ ok: false, code: 'ABORTED' });
    expect(writes()).toBe(before);
  });

  it('a node that asks for approval runs an approved write once despite simultaneous approvals, and holds at most a hundred messages', async () => {
    await deploy([kill]);
    const before = writes();
    const plan = await held({ _msgid: 'm1', payload: someone() });
    const answers = await Promise.all([1, 2, 3].map(() => rig.run({ approve: plan.id })));
    expect(answers.map(({ completed }) => completed).sort()).toEqual([0, 0, 1]);
    expectSuccess(await rig.ended('m1'));
    expect(writes()).toBe(before + 1);
    for (let index = 0; index < 100; index++) rig.node().receive({ _msgid: `w${index}`, payload: `sid${index}` });
    await rig.until(() => asked.length === 101);
    expect(expectCaught(await rig.run({ payload: someone() })).error.code).toBe('LIMIT');
    await rig.run({ cancel: true });
    expect(writes()).toBe(before + 1);
  });

  it('a node that asks for approval reports an invalid approval time before anything is sent', async () => {
    for (const approvalMinutes of [0, -1, 1e9, 'soon']) {
      await deploy([{ ...kill, approvalMinutes }]);
      expect(expectCaught(await rig.run({ payload: someone() })).error).toMatchObject({ code: 'BAD_CONFIG' });
      await rig.reset();
    }
  });

  it('a node that asks for approval restores an approved change that locks the account out, and reports it as an error', async () => {
    const restrict = { type: 'gateway-administrators', operation: 'set-source-ip-mode', approval: true, wires: [['out'], ['asked']] };
    const fields = { realm: { type: 'str', value: 'Admin Users' }, customized: { type: 'str', value: 'selected-ip' } };
    await deploy([{ ...restrict, fields }]);
    const plan = await held({ _msgid: 'm1', payload: 1 });
    await rig.run({ approve: plan.id, actor: 'a.boss' });
    const { error } = expectCaught(await rig.ended('m1'));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true, changed: false, approved: { by: 'a.boss' } } });
    const realm = rig.sim.state.configuration.collection('administrators', 'admin-realms', 'realm').items.get('Admin Users');
    expect(realm?.resource('authentication-policy', 'source-ip').text('customized')).toBe('any-ip');
  });

  it('a node that asks for approval asks for no approval of a login', async () => {
    await deploy([{ type: 'gateway-login', operation: 'login', approval: true }]);
    expect(expectSuccess(await rig.run({ payload: 1 })).payload).toMatchObject({ state: 'ready' });
    expect(asked).toEqual([]);
  });
}
