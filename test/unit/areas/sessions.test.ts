import { describe, expect, it } from 'vitest';
import { toUniqueRecords as endsOf, isOwnAccount, summarizeSession } from '../../../src/areas/sessions/end-sessions';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  readSessionIds,
  listRequestLines,
  asBulkResult,
  startSimulatorWithGateway,
  getThrownError,
  ACTIVE_USERS_PATH,
  listWriteLines,
} from '../../helpers/simulated-appliance';

const end = (id: string): string => `DELETE ${ACTIVE_USERS_PATH}/session/${id}`;

describe('sessions.kill', () => {
  it('sessions.kill ends one session by its id or its record and returns the plain result', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const [first = '', second = ''] = simulator.state.sessions.ids();
    const { data, envelope } = await gateway.run('sessions.kill', { 'session-id': first });
    expect(data).toEqual({ result: { info: [], warnings: [], errors: [] } });
    expect(envelope).toMatchObject({
      ok: true,
      operation: 'sessions.kill',
      request: { method: 'DELETE', path: `${ACTIVE_USERS_PATH}/session/${first}` },
      status: 204,
      changed: true,
      dryRun: false,
      requests: 1,
      retries: 0,
      logins: 1,
    });
    expect(new Date(envelope.at).toISOString()).toBe(envelope.at);
    await gateway.run('sessions.kill', { 'session-id': { 'session-id': second, 'active-user-name': 'x' } });
    expect(listWriteLines(simulator)).toEqual([end(first), end(second)]);
    expect(simulator.state.sessions.count).toBe(23);
  });

  it('sessions.kill ends exactly the sessions of an array, each once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    const records = (await gateway.run('sessions.list')).data as Record<string, unknown>[];
    const chosen = records.filter((_, index) => index % 30 === 7);
    const last = chosen.at(-1)?.['session-id'] as string;
    simulator.requests.length = 0;
    const { data, envelope } = await gateway.run('sessions.kill', { 'session-id': [...chosen, last, chosen[0]] });
    expect(asBulkResult(data)).toMatchObject({ total: chosen.length, ok: chosen.length, failed: 0 });
    expect(asBulkResult(data).results[0]).toEqual({
      item: {
        'session-id': chosen[0]?.['session-id'],
        'active-user-name': chosen[0]?.['active-user-name'],
        'source-ip': chosen[0]?.['source-ip'],
      },
      ok: true,
      status: 204,
    });
    expect(envelope).toMatchObject({ ok: true, changed: true, status: 204, requests: chosen.length });
    expect(listWriteLines(simulator).sort()).toEqual(readSessionIds(chosen).map(end).sort());
    expect(simulator.state.sessions.ids()).toEqual(readSessionIds(records).filter((id) => !readSessionIds(chosen).includes(id)));
  });

  it('sessions.kill returns a list of results for an array with one item', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const [id = ''] = simulator.state.sessions.ids();
    const { data } = await gateway.run('sessions.kill', { 'session-id': [id] });
    expect(data).toEqual({ total: 1, ok: 1, failed: 0, results: [{ item: { 'session-id': id }, ok: true, status: 204 }] });
  });

  it('sessions.kill does nothing for an empty array', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('sessions.kill', { 'session-id': [] });
    expect(data).toEqual({ total: 0, ok: 0, failed: 0, results: [] });
    expect(envelope).toMatchObject({ ok: true, changed: false });
    expect(simulator.requests).toEqual([]);
  });

  it.each([
    [''],
    [' '],
    [[{}]],
    [{ 'session-id': '' }],
    [{ 'session-id': null }],
    [['sid1', '']],
    [['sid1', { 'session-id': 5 }]],
    [['sid1', '..']],
    [['sid1', '../active-users?all']],
    [['sid1', { 'session-id': 'a\\..\\b' }]],
    [['sid1', 'half\ud83d']],
    [null],
    [undefined],
    [5],
  ])('sessions.kill rejects %j before sending anything', async (given) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('sessions.kill', { 'session-id': given }))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
  });

  it('sessions.kill names the missing id of an item', () => {
    expect(getThrownError(() => endsOf([{}]))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'session-id is missing or empty in an item. Nothing was ended.',
    });
  });

  it('sessions.kill names the field and the value of an id that could lead to another path', () => {
    expect(getThrownError(() => endsOf(['../active-users?all']))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'session-id is "../active-users?all": in a URL it means another path. Nothing was ended.',
    });
  });

  it('sessions.kill keeps the first of several items with the same id, and reports its known fields', () => {
    const records = endsOf([{ 'session-id': 'a', 'source-ip': '::1', more: 1 }, 'a', 'b', { 'session-id': 'b', 'active-user-name': 'x' }]);
    expect(records.map(summarizeSession)).toStrictEqual([{ 'session-id': 'a', 'source-ip': '::1' }, { 'session-id': 'b' }]);
  });

  it.each([
    ['api-admin', true],
    [' API-Admin', true],
    ['api-admin2', false],
    [undefined, false],
    [7, false],
  ])('sessions.kill recognizes the own account in %j: %s', (name, own) => {
    expect(isOwnAccount(['other', 'Api-Admin '], name)).toBe(own);
  });

  it('sessions.kill ends nothing when there are more sessions than max', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 40 });
    const ids = simulator.state.sessions.ids();
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': ids.slice(0, 26) }));
    expect(error.message).toBe('26 sessions would end, but max is 25. Nothing was ended. Narrow the choice, or raise max (Max sessions).');
    expect([error.code, error.details.sent]).toEqual(['LIMIT', false]);
    expect((await expectFailure(gateway.run('sessions.kill', { 'session-id': ids, max: '39' }))).code).toBe('LIMIT');
    expect((await expectFailure(gateway.run('sessions.kill', { 'session-id': ids, max: 0 }))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
    await gateway.run('sessions.kill', { 'session-id': ids, max: 40 });
    expect(simulator.state.sessions.count).toBe(0);
  });
});

describe('bulk results', () => {
  it('a bulk operation reports the failed and the successful items', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const [id = '', other = ''] = simulator.state.sessions.ids();
    const { data, envelope } = await gateway.run('sessions.kill', { 'session-id': [id, 'sidGone', other] });
    expect(asBulkResult(data)).toMatchObject({ total: 3, ok: 2, failed: 1, results: [{ ok: true }, { ok: false }, { ok: true }] });
    expect(asBulkResult(data).results[1]).toEqual({
      item: { 'session-id': 'sidGone' },
      ok: false,
      error: { code: 'NOT_FOUND', message: expect.stringContaining('sidGone does not exist') as string },
    });
    expect(envelope).toMatchObject({ ok: false, changed: true });
  });

  it('a bulk operation fails with the first error code if all items fail', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path.endsWith('sidC'), status: 403 });
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': ['sidA', 'sidB', 'sidC'] }));
    expect(error.code).toBe('NOT_FOUND');
    expect(error.cause).toMatchObject({
      ok: false,
      code: 'NOT_FOUND',
      changed: false,
      results: [
        { item: { 'session-id': 'sidA' }, ok: false, error: { code: 'NOT_FOUND' } },
        { ok: false, error: { code: 'NOT_FOUND' } },
        { ok: false, error: { code: 'FORBIDDEN' } },
      ],
    });
  });

  it('a bulk operation reports why the outcome is unknown if all outcomes are unknown', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ method }) => method === 'DELETE', times: 2, cut: 'before-headers' });
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': simulator.state.sessions.ids().slice(0, 2) }));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'CONNECTION', changed: null } });
    expect(listWriteLines(simulator)).toHaveLength(2);
  });

  it('a bulk operation stops after a failure that would affect every further item', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': simulator.state.sessions.ids() }));
    expect(error.code).toBe('LOGIN_REJECTED');
    expect(error.cause?.results).toHaveLength(25);
    expect(simulator.logins).toBe(1);
  });

  it('a bulk operation connects only once if the certificate is not trusted', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { login: 'key', apiKey: 'a', tls: {}, connections: 1 });
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': simulator.state.sessions.ids() }));
    // One under way and one waiting for the connection; the other 23 are not tried.
    expect(error).toMatchObject({ code: 'TLS', cause: { changed: false, requests: 2 } });
    expect(error.cause?.results).toHaveLength(25);
  });

  it('a bulk operation reports the id of the login step if a second factor is missing', async () => {
    const { gateway } = await startSimulatorWithGateway({ secondFactor: { password: 'second' } });
    const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': ['sidA'] }));
    expect(error).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', cause: { resumeId: expect.stringMatching(/^[0-9a-f]{32}$/) as string } });
  });
});

describe('sessions.kill-user', () => {
  it('sessions.kill-user compares whole names although the appliance matches by prefix', async () => {
    const simulator = await startTestSimulator({ sessions: 3, variants: { nameFilter: 'prefix' } });
    const [a, b] = ['j.doe', 'j.doe'].map((name) => simulator.state.sessions.add({ 'active-user-name': name }));
    const others = ['j.doe2', 'J.Doe', 'j.doering'].map((name) => simulator.state.sessions.add({ 'active-user-name': name }));
    const { data, envelope } = await gatewayFor(simulator).run('sessions.kill-user', { name: 'j.doe' });
    expect(asBulkResult(data)).toMatchObject({ total: 2, ok: 2 });
    expect(envelope).toMatchObject({ requests: 3, request: { method: 'DELETE' } });
    expect([a, b].some((id) => simulator.state.sessions.has(id ?? ''))).toBe(false);
    expect(others.every((id) => simulator.state.sessions.has(id))).toBe(true);
  });

  it.each(['CORP\\anna.weber', 'Büro #1/EU & 50%', 'a+b=c?d', '山田太郎', '*', '.Administrators'])(
    'sessions.kill-user finds %s',
    async (name) => {
      const simulator = await startTestSimulator({ sessions: 2 });
      simulator.state.sessions.add({ 'active-user-name': name });
      const { data } = await gatewayFor(simulator).run('sessions.kill-user', { name });
      expect(asBulkResult(data)).toMatchObject({ total: 1, ok: 1 });
      expect(simulator.state.sessions.count).toBe(2);
    },
  );

  it('sessions.kill-user succeeds when there is no session to end', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('sessions.kill-user', { name: 'nobody' });
    expect(asBulkResult(data)).toMatchObject({ total: 0, ok: 0, failed: 0 });
    expect(envelope).toMatchObject({ ok: true, changed: false });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('sessions.kill-user ends nothing if more than max sessions match', async () => {
    const simulator = await startTestSimulator({ sessions: 0 });
    for (let index = 0; index < 3; index++) simulator.state.sessions.add({ 'active-user-name': 'j.doe' });
    expect((await expectFailure(gatewayFor(simulator).run('sessions.kill-user', { name: 'j.doe', max: 2 }))).code).toBe('LIMIT');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it.each([[''], [null], [undefined], [['a']], [true]])('sessions.kill-user rejects the name %j', async (name) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('sessions.kill-user', { name }))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
  });

  it('sessions.kill-user ends nothing when the list is incomplete', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const total = (answer: string): string => answer.replace(/"total-matched-record-number":\d+/, '"total-matched-record-number":9');
    simulator.fault({ match: ({ path }) => path.includes('?name='), times: 9, body: total });
    const name = simulator.state.sessions.record(0)['active-user-name'];
    expect((await expectFailure(gateway.run('sessions.kill-user', { name }))).code).toBe('BAD_RESPONSE');
    expect(listWriteLines(simulator)).toEqual([]);
  });
});

describe('sessions.kill-matching', () => {
  const people = [
    { 'active-user-name': 'a.one', 'authentication-realm': 'Contractors', 'source-ip': '203.0.113.7', 'user-roles': 'Contractors' },
    { 'active-user-name': 'a.two', 'authentication-realm': 'Contractors', 'source-ip': '203.0.113.70', 'user-roles': 'Users, Intranet' },
    { 'active-user-name': 'b (x) [y]', 'authentication-realm': 'Partners', 'source-ip': '198.51.100.7', 'user-roles': '.Administrators' },
    { 'active-user-name': 'c*d', 'authentication-realm': 'Büro #1 / EU', 'source-ip': '198.51.100.8', 'user-roles': 'Büro #1/EU & 50%' },
  ];

  it.each<[Record<string, unknown>, string[]]>([
    [{ 'authentication-realm': 'Contractors' }, ['a.one', 'a.two']],
    [{ 'authentication-realm': 'Contractors', 'source-ip': '203.0.113.7' }, ['a.one']],
    [{ 'source-ip': '203.0.113.*' }, ['a.one', 'a.two']],
    [{ 'source-ip': '*.7' }, ['a.one', 'b (x) [y]']],
    [{ 'source-ip': '20*113*' }, ['a.one', 'a.two']],
    [{ 'source-ip': '203.0.113.7*7' }, []],
    [{ 'active-user-name': '*one*ne' }, []],
    [{ 'active-user-name': 'a**e' }, ['a.one']],
    [{ 'source-ip': ['198.51.100.8', '*.70'] }, ['a.two', 'c*d']],
    [{ 'active-user-name': 'A.ONE' }, []],
    [{ 'active-user-name': 'a?one' }, []],
    [{ 'active-user-name': 'b (x) [y]' }, ['b (x) [y]']],
    [{ 'user-roles': '*Intranet*' }, ['a.two']],
    [{ 'user-roles': '.Administrators' }, ['b (x) [y]']],
    [{ 'authentication-realm': 'Büro*' }, ['c*d']],
    [{ 'apex-client-version': '*' + 'nothing has this' }, []],
    [{ 'mac-address': '02:*', 'active-user-name': 'nobody' }, []],
  ])('sessions.kill-matching ends the sessions that match %j', async (filter, expected) => {
    const simulator = await startTestSimulator({ sessions: 0 });
    const ids = new Map(people.map((person) => [simulator.state.sessions.add(person), person['active-user-name']]));
    const { data } = await gatewayFor(simulator).run('sessions.kill-matching', { filter });
    expect(asBulkResult(data).total).toBe(expected.length);
    const left = simulator.state.sessions.ids().map((id) => ids.get(id));
    expect(left).toEqual(people.map((person) => person['active-user-name']).filter((name) => !expected.includes(name)));
  });

  it.each<[unknown, string]>([
    [{}, 'LIMIT'],
    [{ realm: 'Contractors' }, 'BAD_INPUT'],
    [{ 'source-ip': '' }, 'BAD_INPUT'],
    [{ 'source-ip': '  ' }, 'BAD_INPUT'],
    [{ 'source-ip': '*' }, 'BAD_INPUT'],
    [{ 'source-ip': ' ** ' }, 'BAD_INPUT'],
    [{ 'source-ip': [] }, 'BAD_INPUT'],
    [{ 'source-ip': ['203.0.113.7', '*'] }, 'BAD_INPUT'],
    [{ 'source-ip': ['203.0.113.7', ''] }, 'BAD_INPUT'],
    [{ 'source-ip': null }, 'BAD_INPUT'],
    [{ 'source-ip': { not: 'x' } }, 'BAD_INPUT'],
    [{ 'source-ip': '203.0.113.7', constructor: 'x' }, 'BAD_INPUT'],
    [{ '-client-version': '1' }, 'BAD_INPUT'],
    ['source-ip', 'BAD_INPUT'],
    [[{ 'source-ip': 'x' }], 'BAD_INPUT'],
    [undefined, 'BAD_INPUT'],
  ])('sessions.kill-matching rejects %j with %s', async (filter, code) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('sessions.kill-matching', { filter }))).code).toBe(code);
    expect(simulator.requests).toEqual([]);
  });

  it('sessions.kill-matching compares a filter with many wildcards in linear time', async () => {
    const simulator = await startTestSimulator({ sessions: 0 });
    simulator.state.sessions.add({ 'agent-type': 'a'.repeat(2_000) });
    const { data } = await gatewayFor(simulator).run('sessions.kill-matching', { filter: { 'agent-type': `${'*a'.repeat(20)}*b` } });
    // As a regular expression it would not be back before the test's own time limit.
    expect(asBulkResult(data).total).toBe(0);
  });

  it('sessions.kill-matching ends nothing if more than max sessions match', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 300 });
    const error = await expectFailure(gateway.run('sessions.kill-matching', { filter: { 'login-node': 'gateway-*' } }));
    expect(error.code).toBe('LIMIT');
    expect(error.message).toContain('300 sessions');
    expect(listWriteLines(simulator)).toEqual([]);
  });
});

describe('sessions.kill-all', () => {
  it('sessions.kill-all sends the one request that ends all sessions', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('sessions.kill-all');
    expect(data).toEqual({ result: { info: [], warnings: [], errors: [] } });
    expect(envelope).toMatchObject({ changed: true, status: 204, request: { method: 'DELETE', path: ACTIVE_USERS_PATH } });
    expect(listRequestLines(simulator)).toEqual([`DELETE ${ACTIVE_USERS_PATH}?all`]);
    expect(listRequests(simulator)[0]?.body).toBe('');
    expect(simulator.state.sessions.count).toBe(0);
  });
});
