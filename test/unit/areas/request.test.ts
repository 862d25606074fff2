import { describe, expect, it } from 'vitest';
import {
  listRequests,
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const API = '/api/v1';
const MAC = '02:00:5e:10:00:01';
const plain = { 'content-type': 'text/plain' };

describe('documented exchanges without a dedicated operation', () => {
  it.each<[string, string, Record<string, unknown>, unknown]>([
    [
      'the overview',
      'get',
      { path: 'system/status/overview' },
      { 'appliance-name': 'gateway-1', uptime: '12 days', 'concurrent-users': 25, 'cpu-usage': 7 },
    ],
    [
      'the state of the clock',
      'get',
      { path: 'system/status/ntp' },
      expect.objectContaining({ 'ntp-server-status': expect.anything() as unknown }),
    ],
    [
      'user statistics',
      'get',
      { path: 'system/user-stats' },
      { 'user-stats': { 'allocated-user-count': '1000', 'current-user-count': '25', 'max-active-user-count-24hrs': '28' } },
    ],
    ['maintenance, answered without content', 'get', { path: 'system/maintenance' }, {}],
    [
      'local backups',
      'get',
      { path: 'system/maintenance/archiving/localbackup', query: { 'config-type': 'system' } },
      { localbackups: [{ name: 'system-1' }] },
    ],
    ['the state of the license keys', 'get', { path: 'license/keys-status' }, { keys: [{ key: 'SIMULATOR-0001', status: 'valid' }] }],
    ['the endpoints of the profiler, which are an array', 'get', { path: 'profiler/endpoints' }, [{ macaddr: MAC, category: 'Printers' }]],
    ['one endpoint', 'get', { path: ['profiler', 'endpoints', MAC] }, { macaddr: MAC, category: 'Printers' }],
    [
      'a change of an endpoint, answered with text',
      'put',
      { path: `profiler/endpoints/${MAC}`, body: { category: 'Phones' } },
      'Device updated successfully',
    ],
    [
      'a new endpoint, by a query without a key',
      'post',
      { path: 'profiler/endpoints', query: '?=addNewDevice', body: { macaddr: 'a' } },
      'Device added successfully',
    ],
  ])('gateway-request can send the documented request %s', async (_name, operation, input, data) => {
    const { gateway } = await startSimulatorWithGateway();
    const outcome = await gateway.run(`request.${operation}`, input);
    expect(outcome.data).toEqual(data);
    expect(outcome.envelope).toMatchObject({ ok: true, changed: null });
  });

  it('gateway-request can make and drop a local backup, install and delete a license key, and delete an endpoint', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { undocumented } = simulator.state;
    const place = 'system/maintenance/archiving/localbackup';
    const made = await gateway.run('request.post', { path: place, query: { 'config-type': 'user' } });
    expect(made.data).toMatchObject({ result: { info: [{ message: 'The local backup user-2 was created.' }], warnings: [], errors: [] } });
    expect(made.envelope).toMatchObject({
      status: 201,
      changed: null,
      result: { info: [{}] },
      request: { method: 'POST', query: { 'config-type': 'user' } },
    });
    await gateway.run('request.delete', { path: `${place}/user-2`, query: { 'config-type': 'user' } });
    expect(undocumented.backups).toEqual([{ kind: 'system', name: 'system-1' }]);
    await gateway.run('request.put', { path: 'license/license-key', query: { action: 'install' }, body: { 'license-key': 'A-1' } });
    expect([...undocumented.licenseKeys]).toEqual(['SIMULATOR-0001', 'A-1']);
    await gateway.run('request.put', { path: 'license/license-key', query: { action: 'delete' }, body: { 'license-key': 'A-1' } });
    expect([...undocumented.licenseKeys]).toEqual(['SIMULATOR-0001']);
    const gone = await gateway.run('request.delete', { path: `profiler/endpoints/${MAC}` });
    expect([gone.data, gone.envelope.status]).toEqual([{ result: { info: [], warnings: [], errors: [] } }, 204]);
    expect(undocumented.endpoints.size).toBe(0);
  });

  it.each(['reset', 'unlock'])('gateway-request can %s a one-time password', async (operation) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('request.put', { path: ['totp', 'Second Factor TOTP', 'users', 'jürgen/müller'], query: { operation } });
    expect(simulator.state.undocumented.totpActions).toEqual([`${operation} Second Factor TOTP users jürgen/müller`]);
    expect(listRequestLines(simulator)).toEqual([
      `PUT ${API}/totp/Second%20Factor%20TOTP/users/j%C3%BCrgen%2Fm%C3%BCller?operation=${operation}`,
    ]);
  });
});

describe('request responses', () => {
  it.each<[string, string, Record<string, string>, unknown]>([
    ['JSON that says so', '{"a":[1]}', { 'content-type': 'application/json' }, { a: [1] }],
    ['JSON of another name', '{"a":1}', { 'content-type': 'application/problem+json' }, { a: 1 }],
    ['JSON that is called text', ' {"a":1}', plain, { a: 1 }],
    ['an array', '[1,2]', plain, [1, 2]],
    ['a text of JSON', '"done"', { 'content-type': 'application/json; charset=utf-8' }, 'done'],
    ['text in a brace', '{not json}', plain, '{not json}'],
    ['text of any script', 'grün 🙂', plain, 'grün 🙂'],
    ['a page', '<html>x</html>', { 'content-type': 'text/html' }, '<html>x</html>'],
    ['empty text', '', plain, ''],
    ['nothing', '', {}, {}],
    ['XML', '<a/>', { 'content-type': 'application/xml' }, '<a/>'],
    ['text that is called bytes', 'abc', { 'content-type': 'application/octet-stream' }, Buffer.from('abc')],
  ])('request responses return the expected data for %s', async (_name, body, headers, data) => {
    const server = await startRawServer(() => httpResponse(200, body, headers));
    expect((await gatewayFor(server).run('request.get', { path: 'x' })).data).toEqual(data);
  });

  it('gateway-request passes bytes as a Buffer in both directions', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await gateway.run('request.get', { path: 'profiler/fingerprints' })).data).toEqual(
      Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0x00, 0xfe]),
    );
    const sent = { path: 'profiler/fingerprints', body: Buffer.from([0, 255, 254]), 'content-type': 'application/octet-stream' };
    expect((await gateway.run('request.post', sent)).data).toBe('3 bytes of application/octet-stream');
    const text = { path: 'profiler/fingerprints', body: 'grün', 'content-type': 'text/plain; charset=utf-8' };
    expect((await gateway.run('request.post', text)).data).toBe('5 bytes of text/plain; charset=utf-8');
    expect(listRequests(simulator).at(-1)?.body).toBe('grün');
  });

  it('gateway-request fails for an error status, a result with errors, a known error message, and truncated JSON', async () => {
    const asked = async (operation: string, status: number, body: string, headers?: Record<string, string>): Promise<unknown[]> => {
      const server = await startRawServer(() => httpResponse(status, body, headers));
      const error = await expectFailure(gatewayFor(server).run(`request.${operation}`, { path: 'x' }));
      return [error.code, error.cause?.status];
    };
    const errors = JSON.stringify({ result: { errors: [{ message: 'no' }] } });
    expect(await asked('get', 404, '')).toEqual(['NOT_FOUND', 404]);
    expect(await asked('get', 200, errors)).toEqual(['APPLIANCE_ERROR', 200]);
    expect(await asked('put', 200, errors)).toEqual(['APPLIANCE_ERROR', 200]);
    expect(await asked('delete', 422, errors)).toEqual(['REJECTED', 422]);
    expect(await asked('post', 200, 'Error - Failed to extract configuration files', plain)).toEqual(['REJECTED', 200]);
    expect(await asked('get', 200, '{"a":')).toEqual(['BAD_RESPONSE', 200]);
    expect(await asked('post', 200, '{"a":')).toEqual(['OUTCOME_UNKNOWN', 200]);
    expect(await asked('post', 200, '<!DOCTYPE html><title>Sign in</title>', plain)).toEqual(['OUTCOME_UNKNOWN', 200]);
  });

  it('gateway-request returns the whole document of a write if it has more fields than result', async () => {
    const body = { result: { info: [{ message: 'made' }] }, id: 7 };
    const server = await startRawServer(() => httpResponse(200, JSON.stringify(body)));
    const { data, envelope } = await gatewayFor(server).run('request.post', { path: 'x' });
    expect(data).toEqual(body);
    expect(envelope.result.info).toEqual([{ message: 'made' }]);
  });

  it('gateway-request fails if the response exceeds the size limit', async () => {
    const server = await startRawServer(() => httpResponse(200, 'x'.repeat(17 * 1024 * 1024), plain));
    const error = await expectFailure(gatewayFor(server).run('request.get', { path: 'x' }));
    expect([error.code, error.message]).toEqual(['LIMIT', expect.stringContaining('16 MiB')]);
  });
});

describe('request queries', () => {
  it.each<[unknown, string]>([
    [{ a: 'b c', flag: true, n: 5, '': 'x' }, '?a=b%20c&flag&n=5&=x'],
    ['?=addNewDevice', '?=addNewDevice'],
    ['a=1&a=2&&b', '?a=1&a=2&&b'],
    ['a=%41&b=ü "x"', '?a=%41&b=%C3%BC%20%22x%22'],
    ['a=100%', '?a=100%25'],
    ['a=%4&b=%zz%4G%G4%ff', '?a=%254&b=%25zz%254G%25G4%ff'],
    ["??a-._~!$&'()*+,;=:@/?Zz09", "??a-._~!$&'()*+,;=:@/?Zz09"],
    ['a=[b]|', '?a=%5Bb%5D%7C'],
    ['?', ''],
    [{}, ''],
  ])('request queries send %j', async (query, sent) => {
    const server = await startRawServer(() => httpResponse(200, '{}'));
    await gatewayFor(server).run('request.get', { path: 'x/y', query });
    expect(server.requests[0]?.path).toBe(`${API}/x/y${sent}`);
  });

  it.each<[unknown, string]>([
    [{ a: ['x'] }, 'query.a is an array, but must be true (a flag) or text. Nothing was sent.'],
    [{ b: 1, a: false }, 'query.a is a boolean, but must be true (a flag) or text. Nothing was sent.'],
    [Buffer.from('a=b'), 'query is a Buffer, but must be an object or text. Nothing was sent.'],
    ['a#b', 'query contains #, which would end the query. Write it as %23. Nothing was sent.'],
    ['a=\r\nHost: x', 'query contains a line break or another control character. Nothing was sent.'],
    ['\ud800', 'query contains half of a Unicode character. Check where the text was cut. Nothing was sent.'],
    [5, 'query must be'],
  ])('request queries reject %j', async (query, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('request.get', { path: 'x', query }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining(words)]);
    expect(simulator.requests).toEqual([]);
  });

  it('gateway-request masks secrets of the query in envelopes and plans', async () => {
    const server = await startRawServer(() => httpResponse(200, '{}'));
    const gateway = gatewayFor(server);
    for (const query of ['a=1&password=geheim&b', { password: 'geheim' }]) {
      const { envelope } = await gateway.run('request.get', { path: 'x', query });
      const planned = await gateway.run('request.delete', { path: 'x', query }, { dryRun: true });
      expect(JSON.stringify([envelope, planned])).not.toContain('geheim');
      expect(JSON.stringify(envelope.request)).toContain('password');
      expect(planned.envelope.plan).toHaveLength(1);
    }
    expect(server.requests[0]?.path).toContain('password=geheim');
  });
});

describe('request paths', () => {
  it.each<[unknown, string]>([
    ['system/status/overview', '/system/status/overview'],
    ['/system/status/overview/', '/system/status/overview/'],
    ['/api/v1/system/x%2Fy', '/system/x%2Fy'],
    [['a/b', '.c'], '/a%2Fb/%2Ec'],
    ['authentication', '/authentication'],
    ['system/auth', '/system/auth'],
    ['authors', '/authors'],
  ])('request paths send %j', async (path, sent) => {
    const server = await startRawServer(() => httpResponse(200, '{}'));
    await gatewayFor(server).run('request.get', { path });
    expect(server.requests[0]?.path).toBe(API + sent);
  });

  it('gateway-request keeps the path of the base URL, also for an href', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ pathPrefix: '/vpn1' });
    for (const path of ['system/user-stats', '/vpn1/api/v1/system/user-stats']) await gateway.run('request.get', { path });
    expect(listRequestLines(simulator)).toEqual(Array(2).fill(`GET /vpn1${API}/system/user-stats`));
  });

  it.each<unknown>([
    '/',
    '/api/v1',
    '/api/v1/',
    [],
    '',
    'a//b',
    '../x',
    'a/../b',
    'a/%2e%2e/b',
    'a%2F..%2Fb',
    'a%5C..%5Cb',
    'https://other.example.com/api/v1/x',
    '//other.example.com/x',
    '/other/api/v1/x',
    'x?y=1',
    'x#y',
    // Logins: they would hand out a key.
    'auth',
    '/api/v1/auth',
    'realm_auth',
    'realm_auth/',
    'REALM_AUTH',
    'realm%5Fauth',
    'realm%255Fauth',
    '%72ealm_auth',
    '%2Frealm_auth',
    'realm_auth;x=1',
    'realm_auth%3Bx',
    'realm_auth%20',
    'realm_auth%00',
    'realm_auth%2500.json',
    'auth%2Fx',
    ['realm_auth'],
    ['realm%5Fauth'],
    ['system/../realm_auth'],
    ['x\\..\\auth'],
  ])('request paths reject %j', async (path) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const operation of ['get', 'post', 'put', 'delete']) {
      expect((await expectFailure(gateway.run(`request.${operation}`, { path }))).code).toBe('BAD_INPUT');
    }
    expect(simulator.requests).toEqual([]);
  });
});

describe('request bodies', () => {
  it.each<[Record<string, unknown>, RegExp]>([
    [{ body: 'text' }, /^content-type is missing, and body is text\. Give its content type\. Nothing was sent\.$/],
    [{ body: Buffer.from('x') }, /^content-type is missing, and body is a Buffer\. /],
    [
      { body: { a: 1 }, 'content-type': 'text/plain' },
      /^content-type is text\/plain, but body is an object, which is sent as JSON\. Give the body as text or a Buffer\. Nothing was sent\.$/,
    ],
    [{ body: { a: 1 }, 'content-type': 'x-application/json' }, /but body is an object/],
    [{ body: { a: 1 }, 'content-type': 'application/jsonx' }, /but body is an object/],
    [{ body: { a: 1 }, 'content-type': 'application/json-x+xml' }, /but body is an object/],
    [{ 'content-type': 'text/plain' }, /^content-type is set, but body is missing\. Nothing was sent\.$/],
    [{ body: 'x', 'content-type': 'text/plain\r\nX: y' }, /^content-type is not a content type/],
    [{ body: ['a'] }, /^body must be an object/],
  ])('request bodies reject %j', async (input, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('request.post', { path: 'x', ...input }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(words)]);
    expect(simulator.requests).toEqual([]);
  });

  it('gateway-request sends a body unchanged, or sends nothing', async () => {
    const server = await startRawServer(() => httpResponse(204));
    const gateway = gatewayFor(server);
    await gateway.run('request.put', { path: 'x', body: { a: true } });
    await gateway.run('request.put', { path: 'x', body: { a: 1 }, 'content-type': 'application/merge-patch+json' });
    await gateway.run('request.post', { path: 'x' });
    expect(server.requests.map(({ body, head }) => [body, /^content-type: (.*)$/im.exec(head)?.[1]])).toEqual([
      ['{"a":true}', 'application/json'],
      ['{"a":1}', 'application/merge-patch+json'],
      ['', undefined],
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a query of text', { query: 'password=Geheim%201&y=z' }],
    ['a query with an escaped name', { query: '?pass%77ord=Geheim%201' }],
    ['an object as query', { query: { password: 'Geheim 1' } }],
    ['JSON as text', { body: ' {"password":"Geheim 1"}', 'content-type': 'application/json' }],
    ['JSON as a Buffer', { body: Buffer.from('{"deep":[{"shared-secret":"Geheim 1"}]}'), 'content-type': 'application/json' }],
    ['a form', { body: 'user=a&password=Geheim+1', 'content-type': 'application/x-www-form-urlencoded' }],
    ['lines of text', { body: 'user=a\npassword=Geheim 1\n', 'content-type': 'text/plain' }],
  ])('request bodies never leak a secret that the appliance quotes: %s', async (_name, input) => {
    const server = await startRawServer(({ path, body }) =>
      httpResponse(422, JSON.stringify({ result: { errors: [{ message: `No: ${path} ${body}` }] } })),
    );
    const error = await expectFailure(gatewayFor(server).run('request.post', { path: 'x', ...input }));
    expect(error.code).toBe('REJECTED');
    expect(`${error.message} ${JSON.stringify(error.cause)}`).not.toMatch(/Geheim/);
    expect(error.message).toContain('••••');
  });

  it('gateway-request shows a body with masked secrets in a dry run and does not send it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const dry = { dryRun: true };
    const json = await gateway.run('request.post', { path: 'x', query: '=add', body: { name: 'a', password: 'geheim' } }, dry);
    expect(json.envelope).toMatchObject({ status: null, changed: null, plan: [{ method: 'POST', path: `${API}/x`, rawQuery: '=add' }] });
    expect(JSON.stringify(json)).not.toContain('geheim');
    const text = await gateway.run('request.put', { path: 'x', body: 'abc', 'content-type': 'text/plain' }, dry);
    expect(text.envelope.plan).toEqual([{ method: 'PUT', path: `${API}/x`, body: { 'content-type': 'text/plain', bytes: 3 } }]);
    await gateway.run('request.delete', { path: 'x' }, dry);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('gateway-request sends a body again after an expired key, and otherwise only once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.state.login.keys.clear();
    const sent = { path: 'profiler/fingerprints', body: 'abc', 'content-type': 'text/plain' };
    expect((await gateway.run('request.post', sent)).data).toBe('3 bytes of text/plain');
    simulator.fault({ match: ({ method }) => method === 'POST', status: 500 });
    simulator.requests.length = 0;
    expect((await expectFailure(gateway.run('request.post', sent))).code).toBe('APPLIANCE_ERROR');
    simulator.fault({ match: ({ method }) => method === 'GET', status: 500 });
    await gateway.run('request.get', { path: 'system/user-stats' });
    expect(listRequestLines(simulator)).toEqual([
      `POST ${API}/profiler/fingerprints`,
      ...Array<string>(2).fill(`GET ${API}/system/user-stats`),
    ]);
  });
});
