import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { GatewayOptions } from '../src/gateway';
import { forgetAccounts } from '../src/login/account-state';
import { ProcessCoordination, processCoordination } from '../src/model/process-coordination';
import type { Settings } from '../src/model/settings';
import type { SimulatorOptions } from '../src/simulator';
import { calls, failure, gatewayFor, INFO, LOGIN, pair, ROLES, writes } from './library/appliance';
import { basic, LEGACY, loginsOf } from './library/logins';

/** Pauses by the clock that a test sets. */
const byDate = (): GatewayOptions => ({ coordination: new ProcessCoordination(Date.now) });

beforeEach(() => {
  processCoordination.clear();
  forgetAccounts();
});
afterEach(() => vi.useRealTimers());

describe('ways of logging in', () => {
  it('logs in to a realm, lazily, with UTF-8', async () => {
    const { simulator, gateway } = await pair(
      { realm: 'Büro Admins', username: 'jürgen', password: 'pä:ss"wörd' },
      { realm: 'Büro Admins', username: 'jürgen', password: 'pä:ss"wörd' },
    );
    expect(simulator.totalConnections).toBe(0);
    const { envelope } = await gateway.run('system.info');
    expect(envelope).toMatchObject({ logins: 1, requests: 1 });
    expect(loginsOf(simulator)).toEqual([
      { method: 'POST', path: LOGIN, authorization: basic('jürgen', 'pä:ss"wörd'), body: { realm: 'Büro Admins' } },
    ]);
    expect((await gateway.run('system.info')).envelope.logins).toBe(0);
    expect(simulator.logins).toBe(1);
  });

  it.each<[string, Partial<Settings>, SimulatorOptions, string]>([
    ['legacy by POST', { login: 'legacy' }, {}, 'POST'],
    ['legacy by GET, 400 to POST', { login: 'legacy' }, { variants: { legacyLogin: 'get' } }, 'GET'],
    ['legacy by GET, 405 to POST', { login: 'legacy' }, { variants: { legacyLogin: 'get', wrongMethodStatus: 405 } }, 'GET'],
  ])('%s', async (_name, settings, options, method) => {
    const { simulator, gateway } = await pair(options, settings);
    await gateway.run('system.info');
    expect(loginsOf(simulator).at(-1)).toMatchObject({ method, path: LEGACY, authorization: basic('api-admin', 'simulator') });
    expect(simulator.logins).toBe(1);
    simulator.expireKeys();
    await gateway.run('system.info');
    expect(simulator.logins).toBe(2);
  });

  it('says that a release has no legacy login any more', async () => {
    const { gateway } = await pair({ variants: { legacyLogin: 'unsupported' } }, { login: 'legacy' });
    expect(await failure(gateway.run('system.info'))).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('realm login') as string,
    });
  });

  it('uses a pasted key, and says so when it has expired', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    const [key] = simulator.state.login.keys.values();
    const pasted = gatewayFor(simulator, { login: 'key', apiKey: key?.key ?? '', username: '', password: '' });
    expect((await pasted.run('system.info')).envelope.logins).toBe(0);
    simulator.expireKeys();
    for (let attempt = 0; attempt < 3; attempt++) {
      expect((await failure(pasted.run('sessions.kill-all'))).code).toBe('UNAUTHORIZED');
    }
    expect(simulator.logins).toBe(1);
    expect(writes(simulator)).toHaveLength(1);
  });

  it('has nothing to do with a login that gives neither key nor step', async () => {
    const { gateway } = await pair({ variants: { loginAnswer: 'neither' } });
    expect((await failure(gateway.run('system.info'))).code).toBe('BAD_RESPONSE');
  });
});

describe('single flight', () => {
  it('logs in once for a hundred at once', async () => {
    const { simulator, gateway } = await pair();
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => gateway.run('system.info')));
    expect(simulator.logins).toBe(1);
    expect(outcomes.reduce((sum, { envelope }) => sum + envelope.logins, 0)).toBe(1);
    expect(simulator.requests).toHaveLength(101);
  });

  it('logs in once more when the key expires under fifty requests', async () => {
    const { simulator, gateway } = await pair({ delayMs: 20 });
    await gateway.run('system.info');
    const change = { path: 'users/user-roles/user-role/Users', body: { description: 'changed' } };
    const runs = Array.from({ length: 50 }, (_, index) =>
      index % 2 === 0 ? gateway.run('system.info') : gateway.run('config.update', change),
    );
    let asked = 0;
    simulator.fault({ match: () => ++asked === 20 && (simulator.expireKeys(), false) });
    const outcomes = await Promise.all(runs);
    expect(outcomes.every(({ envelope }) => envelope.ok && envelope.status === 200)).toBe(true);
    expect(simulator.logins).toBe(2);
    expect(outcomes.reduce((sum, { envelope }) => sum + envelope.logins, 0)).toBe(1);
    // Each was refused at most once and sent at most once more.
    const refused = calls(simulator).filter(({ status }) => status === 401).length;
    expect(refused).toBeGreaterThan(0);
    expect(calls(simulator)).toHaveLength(51 + refused);
  });

  it('does not give up a key that came after the one that was refused', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    // The 401 to the old key arrives when another call has got a new one long since.
    simulator.fault({ match: ({ path }) => path === INFO, status: 401, delayMs: 300 });
    const late = gateway.run('system.info');
    await expect.poll(() => calls(simulator).length).toBe(2);
    simulator.expireKeys();
    expect((await gateway.run('config.get', { path: '/' })).envelope.logins).toBe(1);
    expect((await late).envelope).toMatchObject({ ok: true, requests: 2, logins: 0 });
    expect(simulator.logins).toBe(2);
  });

  it('gives everyone who waited an error of his own', async () => {
    const { gateway } = await pair({}, { password: 'wrong' });
    const [read, write] = await Promise.all([failure(gateway.run('system.info')), failure(gateway.run('sessions.kill-all'))]);
    expect([read.cause?.operation, write.cause?.operation]).toEqual(['system.info', 'sessions.kill-all']);
  });

  it('lets one who is cancelled go without taking the login along', async () => {
    const { simulator, gateway } = await pair({ delayMs: 50 });
    const abort = new AbortController();
    // As soon as the login has come in.
    simulator.fault({ match: () => (abort.abort(), false) });
    const cancelled = gateway.run('system.info', {}, abort.signal);
    const other = gateway.run('system.info');
    expect((await failure(cancelled)).code).toBe('ABORTED');
    expect((await other).envelope.ok).toBe(true);
    expect(simulator.logins).toBe(1);
  });
});

describe('a refused key', () => {
  it('is answered by one login and one replay, writes alike', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    simulator.expireKeys();
    const { envelope } = await gateway.run('sessions.kill-all');
    expect(envelope).toMatchObject({ ok: true, logins: 1, requests: 2, retries: 0 });
    expect(simulator.state.sessions.count).toBe(0);
    const headers = calls(simulator).map((call) => call.headers.authorization);
    expect(headers[1]).toBe(headers[0]);
    expect(headers[2]).not.toBe(headers[0]);
  });

  it('is UNAUTHORIZED when the fresh one is refused too', async () => {
    const { simulator, gateway } = await pair();
    simulator.fault({ match: ({ path }) => path === INFO, times: 99, status: 401 });
    expect(await failure(gateway.run('system.info'))).toMatchObject({ code: 'UNAUTHORIZED', cause: { status: 401, requests: 2 } });
    expect(calls(simulator)).toHaveLength(2);
    expect(simulator.logins).toBe(2);
  });

  it('never logs in for a 403', async () => {
    const { simulator, gateway } = await pair();
    simulator.fault({ match: ({ path }) => path === INFO, times: 99, status: 403 });
    for (let attempt = 0; attempt < 3; attempt++) expect((await failure(gateway.run('system.info'))).code).toBe('FORBIDDEN');
    expect(simulator.logins).toBe(1);
    expect(calls(simulator)).toHaveLength(3);
  });

  it.each([
    ['refused', { status: 401 }, 'LOGIN_REJECTED'],
    ['cut', { cut: 'before-headers' as const }, 'CONNECTION'],
    ['answered by half', { cut: 'half' as const }, 'BAD_RESPONSE'],
    ['answered by nonsense', { body: '<html>' }, 'BAD_RESPONSE'],
    ['failing', { status: 500 }, 'APPLIANCE_ERROR'],
    ['never answered', { hang: true }, 'TIMEOUT'],
  ])('makes a write not unknown when the new login is %s, nor a read repeated', async (_name, fault, code) => {
    const { simulator, gateway } = await pair({}, 'hang' in fault ? { timeout: 2 } : {});
    await gateway.run('system.info');
    for (const operation of ['sessions.kill-all', 'system.info']) {
      const before = simulator.requests.length;
      simulator.expireKeys();
      simulator.fault({ match: ({ path }) => path === LOGIN, ...fault });
      const error = await failure(gateway.run(operation));
      expect(error).toMatchObject({ code, cause: { logins: 1, requests: 1, retries: 0 } });
      expect(simulator.requests).toHaveLength(before + 2);
      processCoordination.clear();
      await gateway.run('system.info');
    }
    expect(simulator.state.sessions.count).toBe(25);
  });
});

describe('a refused password', () => {
  it('is tried once, however many ask at once or afterwards', async () => {
    const { simulator, gateway } = await pair({}, { password: 'wrong' });
    const errors = await Promise.all(Array.from({ length: 20 }, () => failure(gateway.run('system.info'))));
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['LOGIN_REJECTED']));
    const later = await failure(gateway.run('system.info'));
    expect(later).toMatchObject({ code: 'LOGIN_PAUSED', message: expect.stringMatching(/another (60|59) s/) as string });
    expect(simulator.logins).toBe(1);
  });

  it('pauses a new gateway with the same settings, not one with others', async () => {
    const { simulator, gateway } = await pair({}, { password: 'wrong' });
    expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
    gateway.close();
    const again = gatewayFor(simulator, { password: 'wrong', name: 'renamed', timeout: 9 });
    expect((await failure(again.run('system.info'))).code).toBe('LOGIN_PAUSED');
    const wrongRealm = gatewayFor(simulator, { realm: 'Nowhere' });
    expect((await failure(wrongRealm.run('system.info'))).code).toBe('LOGIN_REJECTED');
    expect((await gatewayFor(simulator).run('system.info')).envelope.ok).toBe(true);
    expect(simulator.logins).toBe(3);
  });

  it('pauses for 60 s, doubling up to 15 minutes, and starts afresh after a success', async () => {
    const start = Date.UTC(2026, 10, 20);
    vi.useFakeTimers({ toFake: ['Date'], now: start });
    const { simulator, gateway } = await pair({ variants: { lockAfter: 99 } }, { password: 'wrong' }, byDate());
    let now = start;
    for (const [index, seconds] of [60, 120, 240, 480, 900, 900].entries()) {
      expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
      vi.setSystemTime((now += seconds * 1000 - 1));
      expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
      expect(simulator.logins).toBe(index + 1);
      vi.setSystemTime((now += 1));
    }
    const users = simulator.state.configuration.collection(
      'authentication',
      'auth-servers',
      'auth-server',
      'Administrators',
      'local',
      'users',
      'user',
    );
    const account = users.items.get('api-admin');
    account?.values.set('password-cleartext', 'wrong');
    await gateway.run('system.info');
    account?.values.set('password-cleartext', 'other');
    simulator.expireKeys();
    expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
    vi.setSystemTime(now + 60_000);
    expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
  });

  it('pauses after a 403 to the login too', async () => {
    const { simulator, gateway } = await pair({ variants: { restAccess: false } });
    expect(await failure(gateway.run('system.info'))).toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('REST') as string,
    });
    expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
    expect(simulator.logins).toBe(1);
  });

  it('pauses for 5 s when the appliance was only out of order', async () => {
    const { simulator, gateway } = await pair();
    simulator.fault({ status: 500, times: 1 });
    expect((await failure(gateway.run('system.info'))).code).toBe('APPLIANCE_ERROR');
    expect(await failure(gateway.run('config.get', { path: ROLES }))).toMatchObject({
      code: 'LOGIN_PAUSED',
      message: expect.stringMatching(/status 500.* another [45] s \(until 20/) as string,
    });
    processCoordination.clear();
    expect((await gateway.run('system.info')).envelope.logins).toBe(1);
  });
});
