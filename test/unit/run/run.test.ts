import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunContextOptions, RunContext } from '../../../src/run/run-context';
import { operations } from '../../../src/areas';
import { parseInput } from '../../../src/model/input';
import type { PendingWrite } from '../../../src/run/pending-write';
import { Gateway, type RunOutcome, type RunOptions } from '../../../src/gateway/gateway';
import type { Envelope } from '../../../src/model/envelope';
import { GatewayError } from '../../../src/model/error';
import { MASK } from '../../../src/model/redaction';
import type { Settings } from '../../../src/model/settings';
import {
  getThrownCode,
  expectFailure,
  gatewayFor,
  readSessionIds,
  SYSTEM_INFORMATION_PATH,
  LOGIN_PATH,
  startSimulatorWithGateway,
  ACTIVE_USERS_PATH,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const ROLE = 'users/user-roles/user-role/Users';
const PATH = `/api/v1/configuration/${ROLE}`;
const DONE = JSON.stringify({ result: { info: [{ message: 'done' }] } });

describe('envelope.request', () => {
  it('envelope.request is the first write of the run, whatever was read before and after', async () => {
    const server = await startRawServer(({ method }) => httpResponse(method === 'GET' ? 200 : 201, method === 'GET' ? '{"a":1}' : DONE));
    const call = createRunContext(server);
    await call.read({ method: 'GET', path: SYSTEM_INFORMATION_PATH });
    expect(call.record).toMatchObject({ request: { path: SYSTEM_INFORMATION_PATH }, status: 200 });
    await call.write({ method: 'PUT', path: PATH, body: {} });
    await call.write({ method: 'DELETE', path: `${PATH}2` });
    await call.read({ method: 'GET', path: PATH });
    expect(call.record).toMatchObject({ request: { method: 'PUT', path: PATH }, status: 201, changed: true });
  });

  it('envelope.request is the first read if there is no write, and a preparing read only if there is no other request', async () => {
    const server = await startRawServer(() => httpResponse(200, '{"a":1}'));
    const call = createRunContext(server);
    await call.read({ method: 'GET', path: SYSTEM_INFORMATION_PATH }, { isLookup: true });
    expect(call.record.request?.path).toBe(SYSTEM_INFORMATION_PATH);
    await call.read({ method: 'GET', path: PATH });
    await call.read({ method: 'GET', path: `${PATH}2` });
    await call.read({ method: 'GET', path: SYSTEM_INFORMATION_PATH }, { isLookup: true });
    expect(call.record.request?.path).toBe(PATH);
  });

  it('envelope.request is the export of a backup, not the preceding read of the serial number', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const folder = mkdtempSync(join(tmpdir(), 'run-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { envelope } = await gateway.run('backup.run', { folder });
    expect(envelope.request).toEqual({ method: 'POST', path: '/api/v1/system/maintenance/export-xml' });
  });

  it('envelope.request of an interrupted write does not have the status of an earlier read', async () => {
    const server = await startRawServer(({ method }, socket) =>
      method === 'GET' ? httpResponse(200, '{"username":"j"}') : void socket.destroy(),
    );
    const error = await expectFailure(gatewayFor(server).run('users.update', { server: 'S', username: 'j', fullname: 'J' }));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { status: null, changed: null, request: { method: 'PUT' } } });
  });
});

describe('envelope.changed', () => {
  const update = { path: ROLE, body: { description: 'x' } };

  it.each<[string, string, boolean | null]>([
    ['a refusal', httpResponse(422, '{"result":{"errors":[{"message":"no"}]}}'), false],
    ['a redirect', httpResponse(302), false],
    ['a server that fails in the middle', httpResponse(500), null],
    ['errors in an answer of 2xx, of which a part may have been done', httpResponse(200, '{"result":{"errors":[{"message":"no"}]}}'), null],
  ])('envelope.changed is correct after %s', async (_name, answer, changed) => {
    const error = await expectFailure(gatewayFor(await startRawServer(() => answer)).run('config.update', update));
    expect(error.cause).toMatchObject({ ok: false, changed });
    // A flow can tell an unknown outcome from a plan and a read.
    expect(error.cause?.['unknown']).toBe(changed === null ? true : undefined);
  });

  it('envelope.changed is false if a read before the write failed', async () => {
    const server = await startRawServer(() => httpResponse(500));
    const error = await expectFailure(gatewayFor(server).run('users.update', { server: 'S', username: 'j', fullname: 'J' }));
    expect(error.cause).toMatchObject({ status: 500, changed: false, request: { method: 'GET' } });
    expect(error.cause).not.toHaveProperty('unknown');
  });

  it('envelope.changed is null if one of many writes may have happened, even if the first write was rejected', async () => {
    const server = await startRawServer(({ path }, socket) => (path.endsWith('/a') ? httpResponse(404) : void socket.destroy()));
    const error = await expectFailure(gatewayFor(server, { connections: 1 }).run('sessions.kill', { 'session-id': ['a', 'b'] }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', cause: { changed: null, unknown: true } });
  });

  it('envelope.changed is true when a key is discarded', async () => {
    const { gateway } = await startSimulatorWithGateway();
    expect((await gateway.run('login.forget')).envelope.changed).toBe(false);
    await gateway.run('system.info');
    expect((await gateway.run('login.forget')).envelope.changed).toBe(true);
  });
});

describe('RunOutcome.many', () => {
  it('RunOutcome.many is null for an operation on one item, even if its data looks like a list of results', async () => {
    const server = await startRawServer(() => httpResponse(200, JSON.stringify({ total: 5, ok: 1, failed: 4, results: [] })));
    const { envelope, many, data } = await gatewayFor(server).run('config.get', { path: ROLE });
    expect(envelope.ok).toBe(true);
    expect(many).toBeNull();
    expect(data).toMatchObject({ failed: 4 });
  });

  it('RunOutcome.many contains the counts that decide whether the envelope is ok', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const [id] = readSessionIds((await gateway.run('sessions.list')).data);
    const { envelope, many, data } = await gateway.run('sessions.kill', { 'session-id': [id, 'sidnone'] });
    expect(many).toEqual(data);
    expect(many).toMatchObject({ total: 2, ok: 1, failed: 1 });
    expect(envelope.ok).toBe(false);
  });

  it('RunOutcome.many supports several requests per item, with a separate record for each item', async () => {
    const server = await startRawServer(({ method, path }) => {
      if (method === 'GET') return httpResponse(path.endsWith('/gone') ? 404 : 200, '{"a":1}');
      return httpResponse(201, DONE);
    });
    const call = createRunContext(server);
    const work = async (name: string, own: Pick<RunContext, 'read' | 'write' | 'reportUnchanged'>) => {
      await own.read({ method: 'GET', path: `${PATH}/${name}` });
      return name === 'same' ? own.reportUnchanged() : own.write({ method: 'PUT', path: `${PATH}/${name}`, body: {} });
    };
    const many = await call.runEach(['one', 'same', 'gone'], work, (name) => name);
    expect(many).toEqual({
      total: 3,
      ok: 2,
      failed: 1,
      results: [
        { item: 'one', ok: true, status: 201 },
        { item: 'same', ok: true, status: 200 },
        { item: 'gone', ok: false, error: { code: 'NOT_FOUND', message: expect.any(String) as string } },
      ],
    });
    expect(call.record).toMatchObject({ request: { method: 'PUT', path: `${PATH}/one` }, changed: null, many });
    expect(call.sender.requests).toBe(4);
    const same = createRunContext(server);
    await same.runEach(['same'], work, (name) => name);
    expect(same.record).toMatchObject({ changed: false, request: { method: 'GET' } });
  });
});

/** Whoever changes anything of it throws. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Buffer.isBuffer(value)) for (const item of Object.values(value)) frozen(item);
  return Object.freeze(value);
}

/** What they write was kept by an earlier run: a backup, a journal, a snapshot, who is contained. They have test files of their own. */
const NEED_A_PAST = new Set(['backup.restore', 'journal.undo', 'snapshot.revert', 'contain.release']);

describe('Every write', () => {
  it('every write calls beforeWrite first, and is not sent if beforeWrite fails', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const seen: number[] = [];
    const body = { description: 'told before' };
    const input = { path: 'users/user-roles/user-role/Users', body };
    const told = async (): Promise<void> => {
      await Promise.resolve();
      seen.push(listWriteLines(simulator).length);
    };
    await gateway.run('config.update', input, { dryRun: true, beforeWrite: told });
    expect(seen).toEqual([]);
    await gateway.run('config.update', input, { beforeWrite: told });
    expect([seen, listWriteLines(simulator).length]).toEqual([[0], 1]);
    const refuse = (): Promise<void> => Promise.reject(new GatewayError('ABORTED', 'On purpose.', { sent: false }));
    expect(await expectFailure(gateway.run('config.update', input, { beforeWrite: refuse }))).toMatchObject({ code: 'ABORTED' });
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  const writing = [...operations].filter(([name, { effect }]) => effect !== 'read' && !name.startsWith('login.'));

  /** An appliance on which every example finds what it needs. */
  const friendly = (group = 'Other') =>
    startRawServer(({ method, path }) => {
      if (method !== 'GET') return httpResponse(200, DONE);
      if (path.startsWith(ACTIVE_USERS_PATH)) {
        const record = {
          'session-id': 'sid1',
          'active-user-name': 'j.doe',
          'authentication-realm': 'Contractors',
          'source-ip': '203.0.113.7',
        };
        return httpResponse(200, JSON.stringify({ 'active-users': { 'active-user-records': { 'active-user-record': [record] } } }));
      }
      if (path.endsWith('/groups'))
        return httpResponse(
          200,
          JSON.stringify({
            'ad-group': [
              { name: 'Other', group: 'EXAMPLE/Other' },
              { name: group, group },
            ],
          }),
        );
      return httpResponse(200, '{"username":"j.doe"}');
    });

  it.each(writing.filter(([name]) => !NEED_A_PAST.has(name)))(
    'Every write of %s passes through the same interceptors, sent or planned',
    async (name, operation) => {
      for (const dryRun of [false, true]) {
        const server = await friendly(name === 'groups.remove' ? 'VPN Users' : 'Other');
        const seen: PendingWrite[] = [];
        const interceptWrite: RunContextOptions['interceptWrite'] = (write, proceed) => {
          seen.push(write);
          return proceed();
        };
        const call = createRunContext(server, { dryRun, interceptWrite }, { vendor: 'acme' });
        const input = frozen(parseInput(operation, structuredClone(operation.example.input)));
        const run = operation.run ? operation.run(input, call) : call.write(operation.request?.(input, '') ?? { method: 'GET', path: '' });
        // What the list is afterwards is not what this appliance plays.
        await run.catch(() => undefined);
        const lines = seen.map(({ request: { method, path } }) => `${method} ${path}`);
        const sent = server.requests
          .filter(({ method, path }) => method !== 'GET' && path !== LOGIN_PATH)
          .map(({ method, path }) => `${method} ${path.split('?')[0]}`);
        expect(lines).not.toEqual([]);
        // Nothing of the input was changed on the way, or it would have thrown.
        expect(input).toEqual(parseInput(operation, operation.example.input));
        expect(dryRun ? call.plan?.requests.map(({ method, path }) => `${method} ${path}`) : sent).toEqual(lines);
        if (dryRun) expect(sent).toEqual([]);
      }
    },
  );

  it('a write is not sent if an interceptor holds it back', async () => {
    const server = await friendly();
    const call = createRunContext(server, {
      interceptWrite: () => Promise.resolve({ status: 200, result: { info: [], warnings: [], errors: [] } }),
    });
    await call.write({ method: 'DELETE', path: PATH });
    expect(server.requests).toEqual([]);
  });

  it('a planned write has no status and empty message lists', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const result = { info: [], warnings: [], errors: [] };
    const { data, envelope } = await gateway.run('config.update', { path: ROLE, body: { description: 'x' } }, { dryRun: true });
    expect(data).toEqual({ result });
    expect(envelope).toMatchObject({ ok: true, status: null, changed: null, dryRun: true, result });
  });

  it('a write makes its run read the changed paths again, even if they were read during the write', async () => {
    let answer: (() => void) | undefined;
    const server = await startRawServer(({ method }, socket) => {
      if (method === 'GET') return httpResponse(200, '{"a":1}');
      answer = () => void socket.write(httpResponse(200, DONE));
      return undefined;
    });
    const [call, other] = [createRunContext(server, { shouldCacheReads: true }), createRunContext(server)];
    const look = (): Promise<unknown> => call.read({ method: 'GET', path: PATH });
    await look();
    await other.read({ method: 'GET', path: PATH });
    expect([await call.cachedRead(PATH), other.cachedRead(PATH)]).toEqual([{ a: 1 }, undefined]);
    const written = call.write({ method: 'PUT', path: PATH, body: {} });
    await expect.poll(() => answer).toBeDefined();
    expect(call.cachedRead(PATH)).toBeUndefined();
    await look();
    expect(call.cachedRead(PATH)).toBeDefined();
    answer?.();
    await written;
    // It may be of before.
    expect(call.cachedRead(PATH)).toBeUndefined();
    await look();
    call.end();
    expect(call.cachedRead(PATH)).toBeUndefined();
  });

  it('each kind of write sends exactly one request', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.requests.length = 0;
    await gateway.run('config.update', { path: ROLE, body: { description: 'x' } });
    expect(simulator.requests).toHaveLength(1);
    expect(listWriteLines(simulator)).toEqual([`PUT ${PATH}`]);
  });
});

describe('Input from a script', () => {
  it.each<[string, unknown]>([
    ['a Map', new Map([['description', 'x']])],
    ['a Set', new Set(['x'])],
    ['a RegExp', /x/],
    ['a Date', new Date(0)],
    ['a Map inside', { description: new Map() }],
    ['a number that is none inside', { description: NaN }],
    ['an infinite number inside', { deep: [Infinity] }],
    ['a function inside', { description: () => 'x' }],
  ])('Input from a script cannot be %s as a body, because JSON would change it', async (_name, body) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect(await expectFailure(gateway.run('config.update', { path: ROLE, body }))).toMatchObject({ code: 'BAD_INPUT' });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('Input from a script may contain booleans as text in any case', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const inputs = {
      server: 'System Local',
      username: 'new',
      'password-cleartext': 'Long enough 1',
      enabled: 'True',
      'one-time-use': 'False',
    };
    const { envelope } = await gateway.run('users.create', inputs, { dryRun: true });
    expect(envelope.plan?.[0]?.body).toMatchObject({ enabled: 'true', 'one-time-use': 'false' });
  });

  it.each<[string, unknown]>([
    ['no settings', undefined],
    ['a number for a text', { url: 'https://a.example', realm: 'R', username: 5, password: 'p' }],
    ['an address that is none', { url: 5 }],
  ])('a run with input from a script fails with a GatewayError: %s', (_name, settings) => {
    expect(getThrownCode(() => new Gateway(settings as Settings))).toBe('BAD_CONFIG');
  });

  it.each<[string, unknown, unknown]>([
    ['no input', null, undefined],
    ['an array', [], undefined],
    ['no options', {}, null],
    [
      'an input that cannot be looked at',
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no');
          },
        },
      ),
      undefined,
    ],
  ])('a run with input from a script fails with a GatewayError or not at all: %s', async (_name, input, options) => {
    const { gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info', input as Record<string, unknown>, options as RunOptions).catch((error: unknown) => {
      expect(error).toBeInstanceOf(GatewayError);
    });
  });
});

describe('An operation name', () => {
  it.each([[undefined], [null], [5], [Symbol('x')], [{ toString: 'no' }]])(
    'An operation name that is %s is rejected with BAD_INPUT',
    async (name) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      expect(await expectFailure(gateway.run(name as unknown as string))).toMatchObject({ code: 'BAD_INPUT', cause: { ok: false } });
      expect(simulator.requests).toEqual([]);
    },
  );
});

describe('Callbacks of a run', () => {
  it('onProgress is called after each of several items, but not for one item or a plan', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 5 });
    const ids = readSessionIds((await gateway.run('sessions.list')).data).slice(0, 4);
    const told: unknown[] = [];
    const kill = (some: string[], options: RunOptions = {}): Promise<RunOutcome> =>
      gateway.run('sessions.kill', { 'session-id': some }, { onProgress: (advance) => told.push(advance), ...options });
    await kill(ids.slice(1), { dryRun: true });
    await kill(ids.slice(0, 1));
    expect(told).toEqual([]);
    expect((await kill(ids.slice(1))).envelope).toMatchObject({ ok: true, status: 204, changed: true });
    expect(told).toEqual([1, 2, 3].map((done) => ({ state: 'items', done, total: 3 })));
  });

  it('Exceptions in callbacks do not change the outcome of a run', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const ids = readSessionIds((await gateway.run('sessions.list')).data);
    const onProgress = (): void => {
      throw new Error('of the one who watches');
    };
    const { data } = await gateway.run('sessions.kill', { 'session-id': ids }, { onProgress });
    expect(data).toMatchObject({ total: ids.length, ok: ids.length, failed: 0 });
    expect(listWriteLines(simulator)).toHaveLength(ids.length);
  });

  it('An exception in onPart fails the run with a GatewayError', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const onPart = (): void => {
      throw Object.create(null);
    };
    expect(await expectFailure(gateway.run('sessions.list', { emit: 'page' }, { onPart }))).toMatchObject({ code: 'BAD_RESPONSE' });
  });
});

describe('A GET that gets 204', () => {
  it('A GET that gets 204 returns an empty object', async () => {
    const gateway = gatewayFor(await startRawServer(() => httpResponse(204)));
    expect((await gateway.run('config.get', { path: ROLE })).data).toEqual({});
  });
});

describe('Streamed parts', () => {
  it('Streamed parts have separate counts in their envelopes, and the last envelope has the total', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 250 });
    const parts: Envelope[] = [];
    const onPart = (_data: unknown, _part: object, envelope: Envelope): void => void parts.push(envelope);
    const { envelope } = await gateway.run('sessions.list', { emit: 'page' }, { onPart });
    expect(parts.map(({ summary }) => summary)).toEqual([200, 50].map((n) => `${n} sessions on ${envelope.appliance}.`));
    expect(envelope.summary).toBe(`250 sessions on ${envelope.appliance}.`);
  });

  it('the parts of a stream share no objects', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const envelopes: Envelope[] = [];
    await gateway.run(
      'sessions.list',
      { emit: 'record', name: 'j.doe' },
      { onPart: (_data, _part, envelope) => void envelopes.push(envelope) },
    );
    await gateway.run('sessions.list', { emit: 'record' }, { onPart: (_data, _part, envelope) => void envelopes.push(envelope) });
    expect(envelopes.length).toBeGreaterThan(1);
    const [one, other] = envelopes.slice(-2);
    for (const [key, value] of Object.entries(one ?? {}))
      if (typeof value === 'object' && value !== null) expect(value, key).not.toBe(other?.[key]);
    expect(one?.request?.query).not.toBe(other?.request?.query);
    expect(one?.result.info).not.toBe(other?.result.info);
  });
});

describe('An error message', () => {
  it('An error message leaves its own words unmasked even if a password is one of them', async () => {
    const words = ['no', 'not', 'the', 'appliance', 'code', 'ok', 'item', 'system', 'info', 'NOT_FOUND', 'GET'];
    for (const password of words) {
      const server = await startRawServer(() =>
        httpResponse(404, JSON.stringify({ result: { errors: [{ message: `no user ${password}` }] } })),
      );
      const error = await expectFailure(gatewayFor(server, { password }).run('system.info'));
      expect(error.message).toMatch(/^The appliance has nothing there \(404\)\. Check name and path: /);
      expect(error.message.endsWith(`user ${MASK}`)).toBe(true);
      expect(error.cause).toMatchObject({
        message: error.message,
        operation: 'system.info',
        code: 'NOT_FOUND',
        request: { method: 'GET' },
      });
    }
  });
});
