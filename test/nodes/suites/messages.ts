import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { toPlainFailure } from '../../../nodes/message/failure';
import { GatewayError } from '../../../src/model/error';
import { NodeRedHarness, type Runtime } from '../../helpers/node-red';
import { expectCaught, expectSecondOutput, expectSuccess } from '../../helpers/expect-outcome';

/** As one of these nodes leaves it. */
const failureOfOurs = {
  message: 'x',
  code: 'TLS',
  cause: { ok: false, operation: 'system.info', appliance: 'vpn-1', at: '2026-01-01T00:00:00.000Z', code: 'TLS' },
};

/** What becomes of a message: shapes, survival, the two ways of failing, many at once. */
export function messagesSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 12 });
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(() => rig.stop());

  const list = { type: 'gateway-sessions', operation: 'list' };
  const kill = { type: 'gateway-sessions', operation: 'kill' };

  describe('a success', () => {
    it('a success sets data and envelope on the same message and keeps its other properties', async () => {
      await rig.deploy({ nodes: [list] });
      const req = { on: () => undefined };
      const res = { _res: {} };
      const sent = { payload: { name: 'nobody-of-that-name' }, topic: 't', req, res, own: { deep: 1 } };
      const message = expectSuccess(await rig.run(sent));
      expect(message).toBe(sent);
      expect(message.req).toBe(req);
      expect(message.res).toBe(res);
      expect(message).toMatchObject({ topic: 't', own: { deep: 1 }, payload: [] });
      expect(message.envelope).toMatchObject({
        ok: true,
        operation: 'sessions.list',
        appliance: 'vpn-1',
        status: 200,
        total: 0,
        truncated: false,
        dryRun: false,
      });
    });

    it.each([
      ['data.sessions', (m: Record<string, unknown>) => (m.data as Record<string, unknown>).sessions],
      ['msg.found', (m: Record<string, unknown>) => m.found],
      ['data[0]', (m: Record<string, unknown>) => (m.data as unknown[])[0]],
    ])('a success sets the output property %s', async (output, read) => {
      await rig.deploy({ nodes: [{ ...list, output }] });
      const message = expectSuccess(await rig.run({ payload: 17 }));
      expect(read(message)).toHaveLength(12);
      expect(message.payload).toBe(17);
    });

    it('a success sets only the envelope if the output property is empty', async () => {
      await rig.deploy({ nodes: [{ ...list, output: '' }] });
      const message = expectSuccess(await rig.run({ payload: 17 }));
      expect(Object.keys(message).sort()).toEqual(['_msgid', 'envelope', 'payload']);
      expect(message.payload).toBe(17);
    });

    it('a success removes an error of this package, in any form, and no other', async () => {
      await rig.deploy({ nodes: [list, { ...kill, id: 'n2' }, { ...kill, id: 'n3', failures: 'output' }] });
      const fromCatch = expectCaught(await rig.run({ payload: 'sidgone' }, 'n2'));
      const fromOutput = expectSecondOutput(await rig.run({ payload: 'sidgone' }, 'n3'));
      for (const { error } of [fromCatch, fromOutput]) {
        expect(expectSuccess(await rig.run({ payload: 1, error: structuredClone({ ...error }) }))).not.toHaveProperty('error');
      }
      for (const foreign of [{ code: 'NOT_FOUND', cause: { ok: false } }, { code: 'THEIRS', cause: fromOutput.error.cause }, 'text']) {
        expect(expectSuccess(await rig.run({ payload: 1, error: foreign })).error).toBe(foreign);
      }
    });
  });

  describe('a failure', () => {
    it('a failure reaches a Catch node with code, message and cause, and keeps the payload', async () => {
      await rig.deploy({ nodes: [kill] });
      const message = expectCaught(await rig.run({ payload: 'sidgone', topic: 't', envelope: 'of before' }));
      expect(message).toMatchObject({ payload: 'sidgone', topic: 't', error: { code: 'NOT_FOUND', source: { id: 'n1' } } });
      expect(message.error.cause).toMatchObject({
        ok: false,
        code: 'NOT_FOUND',
        status: 404,
        operation: 'sessions.kill',
        appliance: 'vpn-1',
      });
      expect(message.error.message).toBe(message.error.cause.message);
      expect(message.envelope).toEqual(message.error.cause);
    });

    it('a failure leaves only through the second output if that is configured', async () => {
      await rig.deploy({ nodes: [{ ...kill, failures: 'output' }] });
      const sent = { payload: 'sidgone', error: 'of before' };
      const message = expectSecondOutput(await rig.run(sent));
      expect(message).toBe(sent);
      expect(message.payload).toBe('sidgone');
      expect(message.error).toEqual({ message: message.envelope.message, code: 'NOT_FOUND', cause: message.envelope });
      expect(message.envelope).toMatchObject({ ok: false, status: 404 });
    });

    it('a failure of the input has an envelope as its cause on both ways, and sends nothing', async () => {
      await rig.deploy({ nodes: [kill, { ...kill, id: 'n2', failures: 'output' }] });
      const before = rig.sim.requests.length;
      const { error, envelope } = expectCaught(await rig.run({ payload: 17 }));
      expect(error).toMatchObject({ code: 'BAD_INPUT', cause: { ok: false, operation: 'sessions.kill', appliance: 'vpn-1', requests: 0 } });
      expect(envelope).toEqual(error.cause);
      expect(expectSecondOutput(await rig.run({ payload: 17 }, 'n2')).error).toMatchObject({ code: 'BAD_INPUT' });
      expect(rig.sim.requests).toHaveLength(before);
    });

    it.each([
      [
        'the folder does not exist',
        { type: 'gateway-backup', operation: 'list', fields: { folder: { type: 'str', value: '/nowhere/at/all' } } },
        {},
        'folder missing',
      ],
      ['another appliance answers', { type: 'gateway-sessions', operation: 'kill' }, { pin: 'another' }, 'other appliance'],
      [
        'the journal cannot be written',
        { type: 'gateway-sessions', operation: 'kill' },
        { journal: '/dev/null/journal' },
        'journal not writable',
      ],
      ['the permissions forbid it', { type: 'gateway-sessions', operation: 'kill' }, { permissions: 'read-only' }, 'not permitted'],
    ])('a failure says in the status that %s', async (_, node, appliance, text) => {
      await rig.deploy({ nodes: [node], appliance });
      expectCaught(await rig.run({ payload: 'sidgone' }));
      await rig.until(() => rig.statuses().at(-1)?.text === text);
    });

    it('a failure of a missing field names the properties of the payload', async () => {
      await rig.deploy({ nodes: [{ type: 'gateway-sessions', operation: 'kill-user' }] });
      const before = rig.sim.requests.length;
      const { error, payload } = expectCaught(await rig.run({ payload: { person: 'anna.weber', why: 'x' } }));
      expect(error.message).toBe('msg.payload.name (User) is missing; the payload has: person, why. Nothing was sent.');
      expect(payload).toEqual({ person: 'anna.weber', why: 'x' });
      expect(rig.sim.requests).toHaveLength(before);
    });

    it('a failure is logged with appliance, operation and code, and has only the message in msg.error', async () => {
      await rig.deploy({ nodes: [kill] });
      const { error } = expectCaught(await rig.run({ payload: 'sidgone' }));
      const failure = toPlainFailure(Object.assign(new GatewayError('NOT_FOUND', error.message), { cause: error.cause }));
      // Node-RED's log joins texts; a Catch node calls toString.
      expect((failure as unknown as { [Symbol.toPrimitive]: () => string })[Symbol.toPrimitive]()).toBe(
        `vpn-1, sessions.kill, NOT_FOUND: ${error.message}`,
      );
      expect((failure as { toString: () => string }).toString()).toBe(error.message);
    });

    it('a configuration error gives each message its own envelope', async () => {
      await rig.deploy({ nodes: [{ ...list, appliance: 'gone', failures: 'output' }] });
      const [first, second] = [expectSecondOutput(await rig.run({ payload: 1 })), expectSecondOutput(await rig.run({ payload: 2 }))];
      expect(first.envelope).toMatchObject({ code: 'BAD_CONFIG' });
      expect(first.envelope).not.toBe(second.envelope);
      await rig.reset();
      await rig.deploy({ nodes: [{ ...list, output: 'req', failures: 'output' }] });
      expect(expectSecondOutput(await rig.run({ payload: 1 })).envelope).not.toBe(
        expectSecondOutput(await rig.run({ payload: 2 })).envelope,
      );
    });

    it('a failure of a shared login gives each message its own cause', async () => {
      await rig.deploy({
        nodes: [list, { id: 'n2', type: 'gateway-system', operation: 'info' }],
        credentials: { a1: { username: 'api-admin', password: 'wrong' } },
      });
      const [first, second] = await Promise.all([rig.run({ payload: 1 }, 'n1'), rig.run({ payload: 1 }, 'n2')]);
      expect(expectCaught(first).error.cause).toMatchObject({ operation: 'sessions.list', code: 'LOGIN_REJECTED' });
      expect(expectCaught(second).error.cause).toMatchObject({ operation: 'system.info', code: 'LOGIN_REJECTED' });
    });
  });

  describe('the field User', () => {
    it.each([
      ['kill-user', { user: 'anna.weber' }],
      ['kill-user', { username: 'anna.weber' }],
      ['kill-user', { name: 'anna.weber', user: 'somebody-else' }],
    ])('the user of sessions.%s is read from %j', async (operation, payload) => {
      await rig.deploy({ nodes: [{ type: 'gateway-sessions', operation, dryRun: true }] });
      const { envelope } = expectSuccess(await rig.run({ payload }));
      expect(envelope.summary).toContain('anna.weber');
      expect(envelope.ignored).toEqual('name' in payload ? ['user'] : []);
    });
  });

  describe('an unusual message', () => {
    it.each([[3000], [201]])('an unusual message that is nested %i levels deep is BAD_INPUT on both ways', async (levels) => {
      let payload: unknown = 'x';
      for (let depth = 0; depth < levels; depth++) payload = { body: payload };
      await rig.deploy({
        nodes: [
          { type: 'gateway-config', operation: 'update' },
          { type: 'gateway-config', operation: 'update', id: 'n2', failures: 'output' },
        ],
      });
      expect(expectCaught(await rig.run({ payload })).error).toMatchObject({
        code: 'BAD_INPUT',
        message: expect.stringContaining('200 levels') as string,
      });
      expect(expectSecondOutput(await rig.run({ payload }, 'n2')).error.code).toBe('BAD_INPUT');
    });

    const readOnly = (message: object, name: string, value: unknown): object =>
      Object.defineProperty(message, name, { value, enumerable: true, writable: false });

    it.each([
      ['sealed', () => Object.seal({ _msgid: 'o1', payload: 'all' })],
      ['frozen', () => Object.freeze({ _msgid: 'o1', payload: 'all' })],
      ['that cannot grow', () => Object.preventExtensions({ _msgid: 'o1', payload: 'all' })],
      ['with a payload that is read-only', () => readOnly({ _msgid: 'o1' }, 'payload', 'all')],
      ['with an envelope that is read-only', () => readOnly({ _msgid: 'o1', payload: 'all' }, 'envelope', {})],
      ['with an error that is read-only', () => readOnly({ _msgid: 'o1', payload: 'all' }, 'error', failureOfOurs)],
    ])('an unusual message (%s) has its outcome on each way', async (_, make) => {
      const health = { type: 'gateway-system', operation: 'health' };
      await rig.deploy({
        nodes: [health, { ...health, id: 'n2', appliance: '' }, { ...health, id: 'n3', appliance: '', failures: 'output' }],
      });
      const message = expectSuccess(await rig.run(make() as never));
      expect(message.payload).toHaveProperty('USER-COUNT');
      expect(message.envelope.ok).toBe(true);
      expect(message).not.toHaveProperty('error');
      await rig.reset();
      await rig.deploy({
        nodes: [
          { ...health, appliance: '' },
          { ...health, id: 'n3', appliance: '', failures: 'output' },
        ],
      });
      expect(expectCaught(await rig.run(make() as never)).error).toMatchObject({ code: 'BAD_CONFIG', cause: { ok: false } });
      await rig.reset();
      await rig.deploy({ nodes: [{ ...health, appliance: '', failures: 'output' }] });
      expect(expectSecondOutput(await rig.run(make() as never))).toMatchObject({ error: { code: 'BAD_CONFIG' }, envelope: { ok: false } });
    });

    it('an unusual message with a frozen object on the output path is copied only up to that object', async () => {
      const found = Object.freeze({ kept: { deep: true } });
      const more = { of: 'mine' };
      await rig.deploy({ nodes: [{ type: 'gateway-system', operation: 'health', output: 'found.health' }] });
      const message = { payload: 'all', found, more };
      const sent = expectSuccess(await rig.run(message));
      expect(sent.found).toMatchObject({ kept: { deep: true }, health: expect.any(Object) as object });
      expect((sent.found as typeof found).kept).toBe(found.kept);
      expect(sent).toBe(message);
    });

    it.each([
      [new Map([['a', 1]]), 'a Map'],
      [new Set(['a']), 'a Set'],
      [/a/, 'a RegExp'],
      [new Date(0), 'a Date'],
    ])('an unusual message with %s as its payload is refused by name where an object is required', async (payload, words) => {
      const path = { type: 'str', value: 'users/user-roles/user-role/Users' };
      await rig.deploy({ nodes: [{ type: 'gateway-config', operation: 'update', fields: { path } }] });
      const before = rig.sim.requests.length;
      expect(expectCaught(await rig.run({ payload })).error).toMatchObject({
        code: 'BAD_INPUT',
        message: expect.stringMatching(new RegExp(`^body .*, not ${words}`)) as string,
      });
      expect(rig.sim.requests).toHaveLength(before);
    });
  });

  it('an action node gives a hundred simultaneous messages a hundred outcomes and one login', async () => {
    await rig.deploy({ nodes: [{ id: 'n1', type: 'gateway-system', operation: 'health' }] });
    const logins = rig.sim.logins;
    const outcomes = await Promise.all(Array.from({ length: 100 }, (_, n) => rig.run({ payload: n % 2 ? 'all' : 'nonsense' })));
    expect(rig.sim.logins - logins).toBe(1);
    expect(outcomes.filter(({ out, completed }) => out.length === 1 && completed === 1)).toHaveLength(50);
    expect(outcomes.filter(({ caught }) => caught.length === 1)).toHaveLength(50);
    expect(outcomes.every(({ out, caught, completed }) => out.length + caught.length === 1 && completed + caught.length === 1)).toBe(true);
  });

  it('an action node sends a partly failed result through the first output', async () => {
    await rig.deploy({ nodes: [kill] });
    const id = rig.sim.state.sessions.add({ 'active-user-name': 'partly' });
    const message = expectSuccess(await rig.run({ payload: [id, 'sidgone'] }));
    expect(message.payload).toMatchObject({ total: 2, ok: 1, failed: 1 });
    expect(message.envelope.ok).toBe(false);
  });

  describe('a stream', () => {
    it('a stream sends each part as its own message and then ends', async () => {
      await rig.deploy({ nodes: [{ ...list, output: 'found.one', fields: { emit: { type: 'str', value: 'record' } } }] });
      const req = { on: () => undefined };
      const sent = {
        _msgid: 's1',
        payload: 1,
        topic: 't',
        req,
        found: { kept: true },
        parts: { id: 'of before' },
        envelope: { of: 'before' },
      };
      const { out, caught, completed } = await rig.run(sent);
      expect({ out: out.length, caught: caught.length, completed }).toEqual({ out: 12, caught: 0, completed: 1 });
      const ids = out.map(({ found }) => (found as { one: Record<string, unknown> }).one['session-id']);
      expect(new Set(ids).size).toBe(12);
      const parts = out.map(({ parts }) => parts as Record<string, unknown>);
      expect(parts.map(({ index }) => index)).toEqual([...Array(12).keys()]);
      expect(new Set(parts.map(({ id }) => id)).size).toBe(1);
      expect(parts[11]).toMatchObject({ type: 'array', count: 12 });
      expect(out.every((message) => message.topic === 't' && message.req === req && (message.found as { kept: boolean }).kept)).toBe(true);
      expect(out[0]?.envelope).toMatchObject({ ok: true, operation: 'sessions.list' });
      expect(sent.found).toEqual({ kept: true });
      expect(sent.parts).toEqual({ id: 'of before' });
      // What a Complete node gets.
      expect(sent.envelope).toMatchObject({ ok: true, operation: 'sessions.list', total: 12 });
    });

    it('a stream sends parts that share nothing', async () => {
      await rig.deploy({ nodes: [{ ...list, fields: { emit: { type: 'str', value: 'record' } } }] });
      const { out } = await rig.run({ payload: 1, mine: { list: [1], inner: { a: 1 } }, topic: 't' });
      const seen = new Map<object, number>();
      const walk = (value: unknown, part: number): void => {
        if (typeof value !== 'object' || value === null) return;
        expect(seen.get(value) ?? part).toBe(part);
        seen.set(value, part);
        for (const inner of Object.values(value)) walk(inner, part);
      };
      out.forEach(walk);
      expect(out.length).toBe(12);
      expect(out[1]).toMatchObject({ mine: { list: [1], inner: { a: 1 } }, topic: 't' });
    });

    it.each([
      ['page', 1],
      ['record', 0],
    ])('a stream of nothing by %s sends this many messages: %i', async (emit, count) => {
      await rig.deploy({ nodes: [{ ...list, fields: { emit: { type: 'str', value: emit } } }] });
      const { out, caught, completed } = await rig.run({ payload: { name: 'nobody-of-that-name' } });
      expect({ out: out.map(({ payload }) => payload), caught, completed }).toEqual({
        out: Array(count).fill([]),
        caught: [],
        completed: 1,
      });
    });

    it('a stream that breaks midway fails with the number of sent parts', async () => {
      const ids = Array.from({ length: 300 }, () => rig.sim.state.sessions.add());
      rig.sim.fault({ match: ({ path }) => path.includes('start=197'), status: 404 });
      await rig.deploy({ nodes: [{ ...list, fields: { emit: { type: 'str', value: 'page' } } }] });
      const { out, caught, completed } = await rig.run({ payload: 1 });
      expect({ out: out.length, completed }).toEqual({ out: 1, completed: 0 });
      expect(caught[0]).toMatchObject({ payload: 1, error: { code: 'NOT_FOUND', cause: { sent: 1 } } });
      await rig.reset();
      await rig.deploy({ nodes: [{ ...kill, fields: { max: { type: 'num', value: '300' } } }] });
      expectSuccess(await rig.run({ payload: ids }));
    });
  });
}
