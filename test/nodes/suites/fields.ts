import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { addExtraArea } from '../../helpers/extra-area';
import { NodeRedHarness, type NodeDefinition, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSuccess } from '../../helpers/expect-outcome';

/** Where a field's value comes from (contract, section 3), and which operation runs. */
export function fieldsSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 3 });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const get = { type: 'gateway-config', operation: 'get' };
  const update = { type: 'gateway-config', operation: 'update', dryRun: true };
  const role = 'users/user-roles/user-role/Users';
  const path = { type: 'str', value: role };

  /** The only request that a dry run of this message plans. */
  async function planned(
    node: NodeDefinition,
    message: Record<string, unknown>,
    more: object = {},
  ): Promise<{ path: string; body?: unknown }> {
    await rig.deploy({ nodes: [{ ...update, ...node }], ...more });
    const { envelope } = expectSuccess(await rig.run(message));
    expect(envelope.plan).toHaveLength(1);
    return envelope.plan?.[0] as { path: string; body?: unknown };
  }

  async function refusal(node: NodeDefinition, message: Record<string, unknown>): Promise<{ code: string; message: string }> {
    await rig.deploy({ nodes: [node] });
    const before = rig.sim.requests.length;
    const { error, payload } = expectCaught(await rig.run(message));
    expect(payload).toEqual(message.payload);
    expect(rig.sim.requests).toHaveLength(before);
    return error;
  }

  describe('a field of the node', () => {
    process.env.GATEWAY_TEST_PATH = role;
    it.each([
      ['str', role],
      ['msg', 'where.from'],
      ['msg', 'msg.where.from'],
      ['env', 'GATEWAY_TEST_PATH'],
      ['str', '${GATEWAY_TEST_PATH}'],
      ['json', JSON.stringify(role.split('/'))],
      ['jsonata', '"users/user-roles/user-role/" & payload.role'],
      ['flow', 'path'],
      ['global', 'path'],
    ])('a field of the node of type %s reads %s and overrides the payload', async (type, value) => {
      await rig.deploy({ nodes: [{ ...update, fields: { path: { type, value } } }] });
      rig.node().context().flow.set('path', role);
      rig.node().context().global.set('path', role);
      const { envelope } = expectSuccess(
        await rig.run({ payload: { role: 'Users', path: 'other', body: { a: 1 } }, where: { from: role } }),
      );
      expect(envelope.plan).toMatchObject([{ path: `/api/v1/configuration/${role}`, body: { a: 1 } }]);
    });

    it.each([
      ['json', '{"a":[1,"x"]}', { a: [1, 'x'] }],
      ['msg', 'payload.x', { b: 2 }],
    ])('a field of the node of type %s can be an object', async (type, value, body) => {
      expect(await planned({ fields: { path, body: { type, value } } }, { payload: { x: { b: 2 } } })).toMatchObject({ body });
    });

    it.each([
      ['num', '2', 2],
      ['msg', 'payload.limit', 2],
      ['env', 'GATEWAY_TEST_LIMIT', 2],
    ])('a field of the node of type %s can set a guard from any source that the author chooses', async (type, value, length) => {
      process.env.GATEWAY_TEST_LIMIT = '2';
      await rig.deploy({ nodes: [{ type: 'gateway-sessions', operation: 'list', fields: { limit: { type, value } } }] });
      expect(expectSuccess(await rig.run({ payload: { limit: '2' } })).payload).toHaveLength(length);
    });

    it('a field of the node of type bool is a boolean', async () => {
      await rig.deploy({
        nodes: [{ type: 'gateway-system', operation: 'esap-packages', fields: { expand: { type: 'bool', value: 'true' } } }],
      });
      expectSuccess(await rig.run({ payload: 1 }));
      expect(rig.sim.requests.at(-1)?.path).toContain('?expand');
    });

    it.each([
      ['str', ''],
      ['num', ''],
      ['json', 'null'],
      ['json', '""'],
      ['msg', 'nothing.there'],
      ['msg', 'payload.empty'],
      ['msg', 'payload.none'],
      ['flow', 'nothing'],
      ['global', 'nothing'],
      ['env', 'GATEWAY_TEST_UNSET'],
      ['jsonata', 'payload.nothing'],
      ['cred', ''],
      ['json', '{'],
      ['jsonata', '(('],
      ['jsonata', '$number("x")'],
      ['num', 'many'],
      ['msg', '[['],
    ])('a field of the node of type %s that yields nothing from %j is BAD_INPUT even if the field is optional', async (type, value) => {
      const error = await refusal(
        { type: 'gateway-sessions', operation: 'list', fields: { name: { type, value } } },
        { payload: { empty: '', none: null, name: 'someone' } },
      );
      expect(error.code).toBe('BAD_INPUT');
      expect(error.message).toMatch(/^name /);
    });

    it('an error about a field of the node names its source, even below a missing property', async () => {
      const error = await refusal({ ...get, fields: { path: { type: 'msg', value: 'nothing.there' } } }, { payload: role });
      expect(error.message).toBe('path (Path) comes from msg.nothing.there, which is empty or missing.');
    });

    it.each([
      ['str', '', 'path (Path) is text in the dialog, but is empty there. Enter a value or choose default.'],
      ['json', '', 'path (Path) is JSON in the dialog, but is empty there. Enter a value or choose default.'],
      ['msg', 'msg.topic', 'path (Path) comes from msg.topic, which is empty or missing.'],
      ['flow', 'none', 'path (Path) comes from flow.none, which is empty or missing.'],
      ['env', 'GATEWAY_TEST_UNSET', 'path (Path) comes from the environment variable GATEWAY_TEST_UNSET, which is empty or not set.'],
      ['jsonata', 'payload.none', 'path (Path) comes from the JSONata expression payload.none, which returns nothing.'],
    ])('a field of the node of type %s with the empty source %j is reported in words', async (type, value, words) => {
      expect((await refusal({ ...get, fields: { path: { type, value } } }, { payload: role })).message).toBe(words);
    });

    it.each([
      ['what it does not have', { fields: { path } }, { body: { a: 1 }, more: 1, other: 2 }, ['more', 'other']],
      ['what the dialog has overruled', { fields: { path } }, { path: 'x', body: { a: 1 } }, ['path']],
      ['nothing of an object that is taken whole', { fields: { path } }, { a: 1, b: 2 }, []],
      [
        'nothing that a source names',
        { fields: { path, body: { type: 'msg', value: 'payload.x.y' } } },
        { x: { y: { b: 1 } }, z: 1 },
        ['z'],
      ],
      [
        'nothing where an expression may use any',
        { fields: { path, body: { type: 'jsonata', value: 'payload.x' } } },
        { x: { b: 1 }, z: 1 },
        [],
      ],
      [
        'nothing that tells the operation',
        { fields: { path }, operation: 'payload.do', operationType: 'msg', allowDestroy: true },
        { do: 'update', body: { a: 1 }, z: 1 },
        ['z'],
      ],
    ])('a field of the node leaves %s in `envelope.ignored`', async (_, node, payload, ignored) => {
      await rig.deploy({ nodes: [{ ...update, ...node }] });
      expect(expectSuccess(await rig.run({ payload })).envelope.ignored).toEqual(ignored);
    });

    it('a node refuses a PUT that removes something if a message chose the operation without the permission of the dialog', async () => {
      const node = { ...update, fields: { path }, operation: 'payload.do', operationType: 'msg' };
      await rig.deploy({ nodes: [node] });
      const { error } = expectCaught(await rig.run({ payload: { do: 'update', body: { a: 1 } } }));
      expect([error.code, error.message.includes('only the dialog may choose one that destroys')]).toEqual(['LIMIT', true]);
    });

    it('a field of the node lists ignored properties also if a write fails, and never for a read', async () => {
      await rig.deploy({ nodes: [update, { ...get, id: 'n2' }] });
      const { error, envelope } = expectCaught(await rig.run({ payload: { path: '', body: {}, z: 1 } }));
      expect(error.cause.ignored).toEqual(['z']);
      expect(envelope.ignored).toEqual(['z']);
      expect(expectSuccess(await rig.run({ payload: { path: role, z: 1 } }, 'n2')).envelope).not.toHaveProperty('ignored');
    });

    it('a field of the node lists the ignored properties of the payload and of its items once each', async () => {
      const server = { type: 'str', value: 'System Local' };
      const users = { type: 'msg', value: 'payload.users' };
      await rig.deploy({ nodes: [{ type: 'gateway-users', operation: 'create', fields: { server, username: users } }] });
      const people = [
        { username: 'a1', 'password-cleartext': 'one', department: 'Sales', z: 1 },
        { username: 'a2', 'password-cleartext': 'two', room: 7 },
      ];
      const { envelope } = expectSuccess(await rig.run({ payload: { users: people, z: 1, ticket: 'T-1' } }));
      expect([...(envelope.ignored as string[])].sort()).toEqual(['department', 'room', 'ticket', 'z']);
    });

    it('a field of the node that the operation lacks is BAD_INPUT', async () => {
      expect(await refusal({ ...get, fields: { paht: path } }, { payload: role })).toMatchObject({
        code: 'BAD_INPUT',
        message: expect.stringContaining('paht') as string,
      });
    });

    it.each([
      [{ path: { type: 'str', value: '${GATEWAY_TEST_UNSET}' } }, 'GATEWAY_TEST_UNSET'],
      [{ path: { type: 'date', value: 'x' } }, 'date'],
    ])('a field of the node with the invalid value %j is BAD_CONFIG', async (fields, words) => {
      expect(await refusal({ ...get, fields }, { payload: role })).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringContaining(words) as string,
      });
    });

    it('a field of the node gives one outcome and no unhandled rejection if two fields fail at different times', async () => {
      const fields = {
        path: { type: 'jsonata', value: '$error("late")' },
        body: { type: 'jsonata', value: '$error("too")' },
        other: { type: 'msg', value: 'none' },
      };
      expect((await refusal({ ...update, fields }, { payload: 1 })).code).toBe('BAD_INPUT');
    });

    it('a field of the node expands tags only in the text of a path', async () => {
      const fields = {
        path: { type: 'str', value: 'users/user-roles/user-role/{{payload.name}}' },
        body: { type: 'json', value: '{"d":"{{payload.name}}"}' },
      };
      const plan = await planned({ fields }, { payload: { name: 'A/B' } });
      expect(plan).toMatchObject({ path: '/api/v1/configuration/users/user-roles/user-role/A%2FB', body: { d: '{{payload.name}}' } });
    });

    it('a field of the node of another kind can contain text that looks like a tag', async () => {
      await rig.deploy({
        nodes: [{ type: 'gateway-sessions', operation: 'list', fields: { name: { type: 'str', value: '{{payload}}' } } }],
      });
      expect(expectSuccess(await rig.run({ payload: 'x' })).envelope.request?.query).toMatchObject({ name: '{{payload}}' });
    });

    it('a field of the node does not expand tags that a message brings', async () => {
      await rig.deploy({ nodes: [{ ...update, fields: { path: { type: 'msg', value: 'payload.path' } } }] });
      const { envelope } = expectSuccess(await rig.run({ payload: { path: 'a/{{payload.secret}}', body: {}, secret: 'x' } }));
      expect(envelope.plan?.[0]?.path).toBe('/api/v1/configuration/a/%7B%7Bpayload.secret%7D%7D');
    });

    it('a field of the node keeps a literal unchanged if a flow modifies the result', async () => {
      await rig.deploy({ nodes: [{ ...update, fields: { path, body: { type: 'json', value: '{"a":{"b":1}}' } } }] });
      const first = expectSuccess(await rig.run({ payload: 1 })).envelope.plan?.[0] as { body: { a: { b: number } } };
      first.body.a.b = 2;
      expect(expectSuccess(await rig.run({ payload: 1 })).envelope.plan).toMatchObject([{ body: { a: { b: 1 } } }]);
    });
  });

  describe('the payload', () => {
    it.each([
      ['text', role, `/api/v1/configuration/${role}`],
      ['an array', role.split('/'), `/api/v1/configuration/${role}`],
      ['its property', { path: role }, `/api/v1/configuration/${role}`],
    ])('the payload sets the subject as %s', async (_, payload, wanted) => {
      await rig.deploy({ nodes: [get] });
      expectSuccess(await rig.run({ payload }));
      expect(rig.sim.requests.at(-1)?.path).toBe(wanted);
    });

    it.each([[1731000000000], [true], [''], [null], [undefined], [{}], [{ path: null }], [Object.create({ path: role })]])(
      'the payload does not set the subject as %j',
      async (payload) => {
        expect((await refusal(get, { payload })).code).toBe('BAD_INPUT');
      },
    );

    it('the payload is the whole object if fields set the other values', async () => {
      expect(await planned({ fields: { path } }, { payload: { description: 'Day', path: 'kept' } })).toMatchObject({
        path: `/api/v1/configuration/${role}`,
        body: { description: 'Day', path: 'kept' },
      });
    });

    it('the payload is not the whole object if it has the object as a property', async () => {
      expect(await planned({ fields: { path } }, { payload: { body: { a: 1 }, b: 2 } })).toMatchObject({ body: { a: 1 } });
    });

    it('the payload is not the whole object if another required field is not set', async () => {
      expect((await refusal(update, { payload: { path: role, description: 'Day' } })).message).toMatch(/^msg\.payload\.body /);
    });

    it('the payload is not the whole object if it has the property without a value', async () => {
      expect((await refusal({ ...update, fields: { path } }, { payload: { body: null, b: 2 } })).message).toMatch(/^msg\.payload\.body /);
    });

    it('the payload sets the subject as a number only for a number field', async () => {
      const remove = addExtraArea();
      await rig.deploy({ nodes: [{ type: 'gateway-extra', operation: 'count', dryRun: true }] });
      expect(expectSuccess(await rig.run({ payload: 15 })).envelope.plan).toMatchObject([{ body: { n: 15 } }]);
      expect(expectCaught(await rig.run({ payload: true })).error.code).toBe('BAD_INPUT');
      remove();
    });

    it('the payload cannot lift a guard', async () => {
      const ids = Array.from({ length: 26 }, () => rig.sim.state.sessions.add({ 'active-user-name': 'many' }));
      await rig.deploy({
        nodes: [
          { type: 'gateway-sessions', operation: 'kill' },
          { id: 'n2', type: 'gateway-sessions', operation: 'list' },
        ],
      });
      expect(expectCaught(await rig.run({ payload: { 'session-id': ids, max: 100 }, max: 100 })).error.code).toBe('LIMIT');
      expect(expectSuccess(await rig.run({ payload: { name: 'many', limit: 1, emit: 'record' } }, 'n2')).payload).toHaveLength(26);
      for (const id of ids) expect(rig.sim.state.sessions.has(id)).toBe(true);
    });

    it.each([[null], [undefined], ['']])('the payload with the filter %j is an error and does not match everything', async (name) => {
      expect((await refusal({ type: 'gateway-sessions', operation: 'list' }, { payload: { name } })).code).toBe('BAD_INPUT');
    });

    it('the payload from another realm, such as a Function node, works the same', async () => {
      const { runInNewContext } = await import('node:vm');
      await rig.deploy({ nodes: [get] });
      expectSuccess(await rig.run({ payload: runInNewContext(`({ path: '${role}' })`) as unknown }));
    });

    it('the payload ends sessions as a record or an array of records', async () => {
      const ids = [rig.sim.state.sessions.add(), rig.sim.state.sessions.add()];
      await rig.deploy({ nodes: [{ type: 'gateway-sessions', operation: 'kill' }] });
      expect(expectSuccess(await rig.run({ payload: { 'session-id': ids[0], 'source-ip': '192.0.2.1' } })).payload).toHaveProperty(
        'result',
      );
      expect(expectSuccess(await rig.run({ payload: [{ 'session-id': ids[1] }] })).payload).toMatchObject({ total: 1, ok: 1 });
    });
  });

  describe('a dynamic operation', () => {
    const dynamic = {
      type: 'gateway-sessions',
      operation: 'do',
      operationType: 'msg',
      fields: { limit: { type: 'num', value: '1' }, max: { type: 'num', value: '3' } },
    };

    it('a dynamic operation runs the operation that the message names, with its fields', async () => {
      await rig.deploy({ nodes: [dynamic] });
      expect(expectSuccess(await rig.run({ payload: 1, do: 'list' })).payload).toHaveLength(1);
      expect(expectSuccess(await rig.run({ payload: 1, do: 'sessions.list' })).payload).toHaveLength(1);
    });

    it.each([
      ['jsonata', '"li" & "st"'],
      ['flow', 'do'],
      ['env', 'GATEWAY_TEST_OPERATION'],
    ])('a dynamic operation can come from %s', async (operationType, operation) => {
      process.env.GATEWAY_TEST_OPERATION = 'list';
      await rig.deploy({ nodes: [{ ...dynamic, operation, operationType }] });
      rig.node().context().flow.set('do', 'list');
      expect(expectSuccess(await rig.run({ payload: 1 })).payload).toHaveLength(1);
    });

    it.each([['nonsense'], ['toString'], ['__proto__'], ['config.get'], [undefined], [5], ['']])(
      'a dynamic operation named %j is BAD_INPUT',
      async (name) => {
        expect((await refusal(dynamic, { payload: 1, do: name })).code).toBe('BAD_INPUT');
      },
    );

    it('a dynamic operation can be destructive only if the node allows it', async () => {
      const id = rig.sim.state.sessions.add();
      expect((await refusal(dynamic, { payload: id, do: 'kill' })).code).toBe('BAD_INPUT');
      await rig.reset();
      expect((await refusal(dynamic, { payload: id, do: 'kill-all', allowDestroy: true })).code).toBe('BAD_INPUT');
      await rig.reset();
      await rig.deploy({ nodes: [{ ...dynamic, allowDestroy: true }] });
      expectSuccess(await rig.run({ payload: id, do: 'kill' }));
      expect(rig.sim.state.sessions.has(id)).toBe(false);
    });
  });
}
