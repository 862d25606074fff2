import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { operations } from '../../../src/areas';
import { createLockOutGuard, mayLockOut } from '../../../src/change/lock-out';
import type { ErrorCode } from '../../../src/model/error-codes';
import { GatewayError } from '../../../src/model/error';
import { coordinationKey } from '../../../src/model/coordination';
import { ProcessCoordination, processCoordination } from '../../../src/model/process-coordination';
import { computeTotpCode } from '../../../src/simulator/totp';
import {
  expectFailure,
  gatewayFor,
  listRequestLines,
  LOGIN_PATH,
  startSimulatorWithGateway,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const REALM = '/api/v1/configuration/administrators/admin-realms/realm/Admin%20Users';
const MODE = { realm: 'Admin Users', customized: 'selected-ip' };
const ONE = { realm: 'Admin Users', address: '198.51.100.0', netmask: '255.255.255.0' };
const SECRET = 'JBSWY3DPEHPK3PXP';

const rules = (name: string) => ({
  rule: [{ name: 'Ops', roles: ['.Administrators'], 'stop-rules-processing': 'true', 'user-name': { test: 'is', 'user-names': [name] } }],
});

describe('the lock-out guard', () => {
  it('the lock-out guard accepts a change after a separate login proves that the account still works', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const { logins } = simulator;
    const { envelope } = await gateway.run('administrators.add-source-ip', ONE);
    expect(envelope).toMatchObject({ ok: true, changed: true });
    expect(simulator.logins).toBe(logins + 1);
    await gateway.run('system.info');
    // The shared key is still the earlier one.
    expect(simulator.logins).toBe(logins + 1);
  });

  it('the lock-out guard restores the address list of selected-ip if it lacks the address of this machine', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('administrators.add-source-ip', ONE);
    const before = (await gateway.run('config.get', { path: `${REALM}/authentication-policy/source-ip` })).data;
    const error = await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { ok: false, restored: true, changed: false, refused: 'FORBIDDEN' } });
    expect((await gateway.run('config.get', { path: `${REALM}/authentication-policy/source-ip` })).data).toEqual(before);
    expect(listWriteLines(simulator).slice(-2)).toEqual(new Array(2).fill(`PUT ${REALM}/authentication-policy/source-ip/customized`));
    // The refused login does not pause later logins.
    await gateway.run('login.forget');
    await gateway.run('system.info');
  });

  it('the lock-out guard removes a new address that locks this machine out', async () => {
    const { gateway } = await startSimulatorWithGateway();
    await gateway.run('administrators.add-source-ip', { ...ONE, address: '127.0.0.0', netmask: '255.0.0.0' });
    await gateway.run('administrators.set-source-ip-mode', MODE);
    const deny = { realm: 'Admin Users', access: 'deny', address: '127.0.0.1', netmask: '255.255.255.255' };
    const error = await expectFailure(gateway.run('administrators.add-source-ip', deny));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true } });
    const { data } = await gateway.run('config.list', { path: `${REALM}/authentication-policy/source-ip/ips` });
    expect(JSON.stringify(data)).not.toContain('127.0.0.1');
  });

  it('the lock-out guard restores a role mapping that no longer contains the account', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { ruleUserNames: true } });
    const path = `${REALM}/role-mapping-rules`;
    await gateway.run('administrators.set-role-mapping', { realm: 'Admin Users', rules: rules('api-admin') });
    const before = (await gateway.run('config.get', { path })).data;
    const error = await expectFailure(
      gateway.run('administrators.set-role-mapping', { realm: 'Admin Users', rules: rules('somebody.else') }),
    );
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true } });
    expect(error.message).toMatch(/was restored/);
    expect((await gateway.run('config.get', { path })).data).toEqual(before);
  });

  it.each(['config.update', 'config.ensure', 'config.delete'])(
    'the lock-out guard restores the realm when %s makes it refuse the account',
    async (name) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      const before = (await gateway.run('config.get', { path: REALM })).data;
      const body = { 'authentication-server': 'System Local' };
      const error = await expectFailure(gateway.run(name, { path: REALM, ...(name !== 'config.delete' && { body }) }));
      expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true } });
      expect((await gateway.run('config.get', { path: REALM })).data).toEqual(before);
      expect(listRequestLines(simulator).length).toBeGreaterThan(2);
    },
  );

  it('the lock-out guard also acts if the outcome of the write is unknown, and if the run is canceled during the check', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const isPut = ({ method }: { method: string }): boolean => method === 'PUT';
    simulator.fault({ match: isPut, cut: 'before-headers', afterEffect: true });
    const unknown = await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE));
    expect(unknown).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true } });
    const stop = new AbortController();
    simulator.fault({ match: isPut, sideEffect: () => stop.abort() });
    const cancelled = await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE, stop.signal));
    expect(cancelled).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true } });
    await gateway.run('login.forget');
    await gateway.run('system.info');
  });

  it.each([
    ['a 500', { status: 500 }],
    ['errors in the result of a 200', { status: 200, body: '{"result":{"errors":[{"message":"Partly done"}]}}' }],
  ])('the lock-out guard acts after %s as well, because the write may have happened', async (_name, answer) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ match: ({ method }) => method === 'PUT', afterEffect: true, ...answer });
    const error = await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true } });
  });

  it.each([
    ['answered with 500', { status: 500 }],
    ['cut', { cut: 'before-headers' as const }],
  ])('the lock-out guard lets a login decide whether the account works when the restore was applied but %s', async (_name, answer) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ match: ({ method }) => method === 'PUT', skip: 1, afterEffect: true, ...answer });
    const error = await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true, changed: null } });
    await gateway.run('login.forget');
    await gateway.run('system.info');
  });

  it('the lock-out guard restores the resource if the new key may not read it', async () => {
    let logins = 0;
    let roles = '["full"]';
    const firstKey = Buffer.from('key-1:').toString('base64');
    const server = await startRawServer(
      ({ method, path, head, body }) => {
        if (path === LOGIN_PATH) return httpResponse(200, `{"api_key":"key-${++logins}"}`);
        if (method === 'PUT') roles = JSON.stringify((JSON.parse(body) as { roles: unknown }).roles);
        if (method === 'PUT') return httpResponse(200, DONE);
        const isForbidden = roles === '["read-only"]' && !head.includes(firstKey);
        return isForbidden
          ? httpResponse(403, '{"result":{"errors":[{"message":"No"}]}}')
          : httpResponse(200, `{"roles":${roles},"id":"1"}`);
      },
      { forwardsLogins: true },
    );
    const gateway = gatewayFor(server, {}, { coordination: new ProcessCoordination() });
    const error = await expectFailure(gateway.run('config.update', { path: 'administrators/a', body: { roles: ['read-only'] } }));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true, refused: 'FORBIDDEN' } });
    expect(error.message).toContain('can no longer log in and read the changed resource');
    expect(roles).toBe('["full"]');
  });

  it('the lock-out guard removes a created item that the appliance stored under another name', async () => {
    const collection = '/api/v1/configuration/administrators/ips';
    const items = new Set(['10.0.0.0/255.0.0.0']);
    const server = await startRawServer(
      ({ method, path, body }) => {
        if (path === LOGIN_PATH) return items.has('10.9.9.9/255.255.255.255') ? httpResponse(403) : httpResponse(200, '{"api_key":"a"}');
        if (method === 'POST') items.add(`${(JSON.parse(body) as { address: string }).address}/255.255.255.255`);
        if (method === 'DELETE') items.delete(decodeURIComponent(path.slice(collection.length + 1)));
        if (method !== 'GET') return httpResponse(200, DONE);
        const links = [...items].map((name) => ({ name, href: `${collection}/${encodeURIComponent(name)}` }));
        return path === collection ? httpResponse(200, JSON.stringify({ ip: links })) : httpResponse(404);
      },
      { forwardsLogins: true },
    );
    const gateway = gatewayFor(server, {}, { coordination: new ProcessCoordination() });
    const error = await expectFailure(gateway.run('config.create', { path: 'administrators/ips', body: { address: '10.9.9.9' } }));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true, changed: false } });
    expect([...items]).toEqual(['10.0.0.0/255.0.0.0']);
  });

  it('the lock-out guard reports that the earlier state cannot be restored', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ match: ({ method }) => method === 'PUT', skip: 1, status: 403, body: '{"result":{"errors":[{"message":"No"}]}}' });
    const error = await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: false, changed: true } });
    expect(error.message).toMatch(/manually/);
  });

  it('the lock-out guard treats a refused login as locked out, but not a login that fails for another reason once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const isLogin = ({ path }: { path: string }): boolean => path.endsWith('/realm_auth');
    simulator.fault({ match: isLogin, status: 503 });
    expect((await gateway.run('administrators.add-source-ip', ONE)).envelope.ok).toBe(true);
    simulator.fault({ match: isLogin, status: 401, body: '{"result":{"errors":[{"message":"No"}]}}' });
    const error = await expectFailure(gateway.run('administrators.set-session-options', { role: '.Administrators', 'idle-timeout': 20 }));
    expect(error).toMatchObject({ code: 'LOCKED_OUT', cause: { restored: true, refused: 'LOGIN_REJECTED' } });
  });

  it('the lock-out guard can be turned off by prove-login, and does not act for other writes, reads and plans', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const { logins } = simulator;
    const { envelope } = await gateway.run('administrators.add-source-ip', { ...ONE, 'prove-login': false });
    expect(envelope.requests).toBe(1);
    await gateway.run('administrators.set-source-ip-mode', MODE, { dryRun: true });
    await gateway.run('config.get', { path: REALM });
    await gateway.run('sessions.kill-user', { name: 'nobody-of-that-name' });
    expect(simulator.logins).toBe(logins);
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('the login of the lock-out guard uses the next one-time code', async () => {
    const step = Math.ceil(Date.now() / 30_000) * 30_000;
    // The clock is a third of a second before the next step. The wait is real.
    vi.useFakeTimers({ toFake: ['Date'], now: step + 29_700 });
    onTestFinished(() => void vi.useRealTimers());
    const { simulator, gateway } = await startSimulatorWithGateway(
      { secondFactor: { totpSecret: SECRET } },
      { secondFactor: 'totp', totpSecret: SECRET },
    );
    await gateway.run('system.info');
    expect((await gateway.run('administrators.add-source-ip', ONE)).envelope).toMatchObject({ ok: true, changed: true });
    const answers = simulator.requests.filter(({ body }) => body.includes('resume_id')).map(({ headers }) => headers.authorization);
    expect(answers).toHaveLength(2);
    expect(new Set(answers).size).toBe(2);
  });

  it('the lock-out guard reports that it cannot check an account with a pasted key or a second factor from a message', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ secondFactor: { totpSecret: SECRET } }, { secondFactor: 'flow' });
    await gateway.run('login.login');
    await gateway.run('login.resume', { code: computeTotpCode(SECRET, Math.floor(Date.now() / 30_000)) });
    const { logins } = simulator;
    expect((await gateway.run('administrators.add-source-ip', ONE)).envelope).toMatchObject({ ok: true, unproved: true });
    const [{ key } = { key: '' }] = simulator.state.login.keys.values();
    const pasted = gatewayFor(simulator, { login: 'key', apiKey: key });
    const other = { ...ONE, address: '192.0.2.0' };
    expect((await pasted.run('administrators.add-source-ip', other)).envelope).toMatchObject({ ok: true, unproved: true });
    expect(simulator.logins).toBe(logins);
  });

  it('the lock-out guard shows neither the keys of its logins nor a password that a refusal quotes', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const keys = [...simulator.state.login.keys.values()];
    for (let index = 1; index < 12; index++) await gateway.run('administrators.add-source-ip', { ...ONE, address: `198.51.100.${index}` });
    const quoted = `{"result":{"errors":[{"message":"not ${keys[0]?.key ?? ''} nor simulator"}]}}`;
    simulator.fault({ match: ({ path }) => path.endsWith('/realm_auth'), status: 401, body: quoted });
    const error = await expectFailure(gateway.run('administrators.add-source-ip', ONE));
    expect(error.code).toBe('LOCKED_OUT');
    const errorText = JSON.stringify([error.message, error.cause]);
    expect(errorText).not.toContain(keys[0]?.key);
    expect(errorText).not.toContain('nor simulator');
    simulator.fault({ match: ({ path }) => path.endsWith('/system-information'), status: 422, body: quoted });
    expect((await expectFailure(gateway.run('system.info'))).message).not.toContain(keys[0]?.key);
  });

  it('the lock-out guard records its restore in the journal', async () => {
    const journal = mkdtempSync(join(tmpdir(), 'lock-out-'));
    onTestFinished(() => rmSync(journal, { recursive: true }));
    const { gateway } = await startSimulatorWithGateway({}, { journal });
    expect((await expectFailure(gateway.run('administrators.set-source-ip-mode', MODE))).code).toBe('LOCKED_OUT');
    const entries = (await gateway.run('journal.list')).data as { request: { body: object } }[];
    expect(entries.map(({ request }) => request.body)).toEqual([{ customized: 'any-ip' }, { customized: 'selected-ip' }]);
    expect((await gateway.run('journal.verify')).data).toMatchObject({ ok: true });
  });
});

const ROOT = '/api/v1/configuration/administrators';

it.each([
  ['PUT', ROOT, true],
  ['DELETE', `${ROOT}/admin-realms/realm/A`, true],
  ['POST', `${ROOT}/admin-realms/realm`, true],
  ['GET', ROOT, false],
  ['GET', `${ROOT}/admin-realms`, false],
  ['PUT', `${ROOT}-of-others`, false],
  ['PUT', '/api/v1/configuration/users', false],
  ['PUT', '/administrators', false],
] as const)('mayLockOut judges %s %s: %s', (method, path, may) => {
  expect(mayLockOut({ method, path })).toBe(may);
});

it('the lock-out guard runs for every operation that may lock out the account unless the node turns it off', () => {
  const proving = [...operations].filter(([, { fields }]) => fields['prove-login']).map(([name]) => name);
  expect(proving).toEqual(expect.arrayContaining(['config.update', 'config.delete', 'administrators.set-role-mapping']));
  for (const name of proving)
    expect(operations.get(name)?.fields['prove-login'], name).toMatchObject({
      kind: 'boolean',
      label: 'Prove the login',
      help: expect.stringMatching(/a separate login proves that this account still works/) as string,
      guard: true,
      default: true,
    });
});

const DONE = '{"result":{"info":[{"message":"done"}]}}';

/** An appliance that refuses every login after the first. `before` answers each GET. */
async function startLockedAppliance(before: string) {
  let logins = 0;
  const server = await startRawServer(
    ({ method, path }) => {
      if (path === LOGIN_PATH) return logins++ === 0 ? httpResponse(200, '{"api_key":"a"}') : httpResponse(403);
      return method === 'GET' ? before : httpResponse(200, DONE);
    },
    { forwardsLogins: true },
  );
  const gateway = gatewayFor(server, {}, { coordination: new ProcessCoordination() });
  const listWrites = (): string[] =>
    server.requests.flatMap(({ method, path, body }) => (/GET|realm_auth/.test(method + path) ? [] : [`${method} ${body}`]));
  return { gateway, sent: listWrites, logins: () => logins };
}

describe('a change that locks the account out', () => {
  const update = { path: 'administrators/a', body: { a: 'b' } };
  const refused = /^After this change the account can no longer log in \(The appliance forbids this login \(403\)\. .*\)/;

  it('the lock-out guard never reports a restore while the account is still locked out', async () => {
    // This appliance shows the earlier value after the write, so nothing needs to be restored.
    const { gateway, sent: listWrites, logins } = await startLockedAppliance(httpResponse(200, '{"a":"before"}'));
    const error = await expectFailure(gateway.run('config.update', update));
    expect(error).toMatchObject({
      code: 'LOCKED_OUT',
      details: { sent: true },
      cause: { restored: false, changed: true, refused: 'FORBIDDEN' },
    });
    expect(error.message).toMatch(refused);
    expect(error.message).toMatch(
      /The earlier state could not be restored: the restore was accepted, but the account still cannot log in \(.*\) Restore it manually/,
    );
    // The login is proved again after the restore.
    expect([listWrites(), logins()]).toEqual([['PUT {"a":"b"}'], 3]);
  });

  it('the lock-out guard restores a secret only in the form that the appliance showed', async () => {
    const { gateway, sent: listWrites } = await startLockedAppliance(httpResponse(200, '{"a":"before"}'));
    const body = { 'shared-secret': 'correct horse' };
    expect((await expectFailure(gateway.run('config.update', { ...update, body }))).code).toBe('LOCKED_OUT');
    expect(listWrites()).toEqual(['PUT {"shared-secret":"correct horse"}', 'PUT {"a":"before"}']);
  });

  it.each<[string, string, string, Record<string, unknown>, string]>([
    ['where nothing could be read before', httpResponse(422), 'config.update', update, 'it could not be read before the write.'],
    [
      'where nobody knows what was created',
      httpResponse(200, '{"a":"before"}'),
      'request.post',
      { path: `configuration/${update.path}`, body: { a: 'b' } },
      'the created resource was not found.',
    ],
  ])(
    'a change that locks the account out reports that it must be restored manually %s',
    async (_where, before, operation, input, reason) => {
      const { gateway, sent: listWrites } = await startLockedAppliance(before);
      const error = await expectFailure(gateway.run(operation, input));
      expect(error).toMatchObject({
        code: 'LOCKED_OUT',
        details: { sent: true },
        cause: { restored: false, changed: true, refused: 'FORBIDDEN' },
      });
      expect(error.message).toMatch(refused);
      expect(error.message).toContain(
        `The earlier state could not be restored: ${reason} Restore it manually while the current key is still valid.`,
      );
      expect(listWrites()).toHaveLength(1);
    },
  );

  it('the lock-out guard restores the state that another run left while this one waited', async () => {
    const exclusive = vi.spyOn(processCoordination, 'runExclusive');
    onTestFinished(() => exclusive.mockRestore());
    const { simulator, gateway } = await startSimulatorWithGateway();
    let logins = 0;
    const login = (): Promise<void> => (logins++ === 0 ? Promise.reject(new GatewayError('FORBIDDEN', 'On purpose.')) : Promise.resolve());
    const call = createRunContext(simulator, { shouldCacheReads: true, interceptWrite: (write, proceed) => guard(write, proceed) });
    const guard = createLockOutGuard({ call, createRestoreCall: () => createRunContext(simulator), isEnabled: true, proveLogin: login });
    await call.read({ method: 'GET', path: REALM });
    let go = (): void => undefined;
    simulator.fault({ match: ({ path }) => path === REALM, until: new Promise<void>((resolve) => (go = resolve)) });
    const first = gateway.run('config.update', { path: REALM, body: { description: 'of somebody else' } });
    await expect.poll(() => listRequestLines(simulator).length).toBe(2);
    const second = expectFailure(call.write({ method: 'PUT', path: REALM, body: { description: 'of this one' } }));
    await expect.poll(() => exclusive.mock.calls.length).toBe(2);
    go();
    await first;
    expect(await second).toMatchObject({ code: 'LOCKED_OUT', details: { extra: { restored: true } } });
    expect((await gateway.run('config.get', { path: REALM })).data).toMatchObject({ description: 'of somebody else' });
    // Short requests, so that a killed process delays others only briefly.
    const key = coordinationKey('exclusive', simulator.url, 'administrators');
    expect(exclusive.mock.calls.map(([name, , options]) => [name, options?.leaseMs])).toEqual([
      [key, 25_000],
      [key, 25_000],
    ]);
  });
});

describe('the login after a change', () => {
  const CODES = ['CONNECTION', 'TIMEOUT', 'BAD_RESPONSE', 'APPLIANCE_ERROR', 'FORBIDDEN', 'LOGIN_REJECTED'] as const;
  const passing = CODES.slice(0, 4);

  /** Writes, and lets a number of logins fail afterwards. */
  async function after(code: ErrorCode, times: number): Promise<[outcome: string, logins: number]> {
    const server = await startRawServer(({ method }) => httpResponse(200, method === 'GET' ? '{"a":1}' : DONE));
    let logins = 0;
    const login = (): Promise<void> => (logins++ < times ? Promise.reject(new GatewayError(code, 'On purpose.')) : Promise.resolve());
    const call = createRunContext(server, {
      interceptWrite: (write, proceed) =>
        createLockOutGuard({ call, createRestoreCall: () => createRunContext(server), isEnabled: true, proveLogin: login })(write, proceed),
    });
    const written = call.write({ method: 'PUT', path: `${ROOT}/a`, body: { a: 1 } });
    const outcome = await written.then(
      () => 'none',
      (error: unknown) => (error as GatewayError).code,
    );
    return [outcome, logins];
  }

  it('the lock-out guard repeats its login after a temporary error, but not after a refusal', async () => {
    const outcomes = await Promise.all(CODES.map((code) => after(code, 1)));
    expect(outcomes).toEqual(CODES.map((code) => ((passing as readonly string[]).includes(code) ? ['none', 2] : ['LOCKED_OUT', 2])));
  });

  it('the lock-out guard treats two failed logins as locked out', async () => {
    expect(await Promise.all(passing.map((code) => after(code, 2)))).toEqual(passing.map(() => ['LOCKED_OUT', 3]));
  });

  it('the lock-out guard does not log in after a refused write, and does not change an unknown outcome', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const { logins } = simulator;
    const isWrite = ({ method, path }: { method: string; path: string }): boolean => method !== 'GET' && path !== LOGIN_PATH;
    simulator.fault({ match: isWrite, status: 422 });
    expect(await expectFailure(gateway.run('administrators.add-source-ip', ONE))).toMatchObject({
      code: 'REJECTED',
      cause: { changed: false },
    });
    expect(simulator.logins).toBe(logins);
    simulator.fault({ match: isWrite, cut: 'before-headers', afterEffect: true });
    const unknown = await expectFailure(gateway.run('administrators.add-source-ip', ONE));
    expect(unknown).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { changed: null } });
    expect(simulator.logins).toBe(logins + 1);
  });
});
