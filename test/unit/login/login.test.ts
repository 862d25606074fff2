import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/gateway';
import { ProcessCoordination, processCoordination } from '../../../src/model/process-coordination';
import type { Settings } from '../../../src/model/settings';
import type { SimulatorOptions } from '../../../src/simulator';
import {
  listRequests,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  LOGIN_PATH,
  startSimulatorWithGateway,
  USER_ROLES_PATH,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { createBasicAuthorization, LEGACY_LOGIN_PATH, listLoginSteps } from '../../helpers/logins';
import { resetAccounts } from '../../helpers/reset-process-state';

/** Runs pauses on the clock of the test. */
const byDate = (): GatewayOptions => ({ coordination: new ProcessCoordination(Date.now) });

beforeEach(() => {
  processCoordination.clear();
  resetAccounts();
});
afterEach(() => vi.useRealTimers());

describe('login methods', () => {
  it('a gateway logs in to a realm on first use, and sends the credentials as UTF-8', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      { realm: 'Büro Admins', username: 'jürgen', password: 'pä:ss"wörd' },
      { realm: 'Büro Admins', username: 'jürgen', password: 'pä:ss"wörd' },
    );
    expect(simulator.totalConnections).toBe(0);
    const { envelope } = await gateway.run('system.info');
    expect(envelope).toMatchObject({ logins: 1, requests: 1 });
    expect(listLoginSteps(simulator)).toEqual([
      { method: 'POST', path: LOGIN_PATH, authorization: createBasicAuthorization('jürgen', 'pä:ss"wörd'), body: { realm: 'Büro Admins' } },
    ]);
    expect((await gateway.run('system.info')).envelope.logins).toBe(0);
    expect(simulator.logins).toBe(1);
  });

  it.each<[string, Partial<Settings>, SimulatorOptions, string]>([
    ['legacy by POST', { login: 'legacy' }, {}, 'POST'],
    ['legacy by GET, 400 to POST', { login: 'legacy' }, { variants: { legacyLogin: 'get' } }, 'GET'],
    ['legacy by GET, 405 to POST', { login: 'legacy' }, { variants: { legacyLogin: 'get', wrongMethodStatus: 405 } }, 'GET'],
  ])('a gateway logs in with %s', async (_name, settings, options, method) => {
    const { simulator, gateway } = await startSimulatorWithGateway(options, settings);
    await gateway.run('system.info');
    expect(listLoginSteps(simulator).at(-1)).toMatchObject({
      method,
      path: LEGACY_LOGIN_PATH,
      authorization: createBasicAuthorization('api-admin', 'simulator'),
    });
    expect(simulator.logins).toBe(1);
    simulator.expireKeys();
    await gateway.run('system.info');
    expect(simulator.logins).toBe(2);
  });

  it('a gateway explains that the appliance release has no legacy login any more', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { legacyLogin: 'unsupported' } }, { login: 'legacy' });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('realm login') as string,
    });
  });

  it('a gateway uses a pasted key and reports when it has expired', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const [key] = simulator.state.login.keys.values();
    const pasted = gatewayFor(simulator, { login: 'key', apiKey: key?.key ?? '', username: '', password: '' });
    expect((await pasted.run('system.info')).envelope.logins).toBe(0);
    simulator.expireKeys();
    for (let attempt = 0; attempt < 3; attempt++) {
      expect((await expectFailure(pasted.run('sessions.kill-all'))).code).toBe('UNAUTHORIZED');
    }
    expect(simulator.logins).toBe(1);
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('a gateway rejects a login response with neither a key nor a next login step', async () => {
    const { gateway } = await startSimulatorWithGateway({ variants: { loginAnswer: 'neither' } });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('BAD_RESPONSE');
  });
});

describe('concurrent logins', () => {
  it('a hundred simultaneous messages cause one login', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => gateway.run('system.info')));
    expect(simulator.logins).toBe(1);
    expect(outcomes.reduce((sum, { envelope }) => sum + envelope.logins, 0)).toBe(1);
    expect(simulator.requests).toHaveLength(101);
  });

  it('a key that expires during fifty requests causes one more login', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 20 });
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
    // Each request was refused and repeated at most once.
    const refused = listRequests(simulator).filter(({ status }) => status === 401).length;
    expect(refused).toBeGreaterThan(0);
    expect(listRequests(simulator)).toHaveLength(51 + refused);
  });

  it('a refused key does not replace a key that is newer', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    // The 401 to the old key arrives after another call got a new key.
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, status: 401, delayMs: 300 });
    const late = gateway.run('system.info');
    await expect.poll(() => listRequests(simulator).length).toBe(2);
    simulator.expireKeys();
    expect((await gateway.run('config.get', { path: '/' })).envelope.logins).toBe(1);
    expect((await late).envelope).toMatchObject({ ok: true, requests: 2, logins: 0 });
    expect(simulator.logins).toBe(2);
  });

  it('each caller of a failed shared login gets a separate error object', async () => {
    const { gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    const [read, write] = await Promise.all([expectFailure(gateway.run('system.info')), expectFailure(gateway.run('sessions.kill-all'))]);
    expect([read.cause?.operation, write.cause?.operation]).toEqual(['system.info', 'sessions.kill-all']);
  });

  it('a shared login continues when one waiting caller is canceled', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 50 });
    const abort = new AbortController();
    // Aborts as soon as the login arrives.
    simulator.fault({ match: () => (abort.abort(), false) });
    const cancelled = gateway.run('system.info', {}, abort.signal);
    const other = gateway.run('system.info');
    expect((await expectFailure(cancelled)).code).toBe('ABORTED');
    expect((await other).envelope.ok).toBe(true);
    expect(simulator.logins).toBe(1);
  });
});

describe('a refused key', () => {
  it('a refused key causes one login and one repetition of the request, even of a write', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.expireKeys();
    const { envelope } = await gateway.run('sessions.kill-all');
    expect(envelope).toMatchObject({ ok: true, logins: 1, requests: 2, retries: 0 });
    expect(simulator.state.sessions.count).toBe(0);
    const headers = listRequests(simulator).map((call) => call.headers.authorization);
    expect(headers[1]).toBe(headers[0]);
    expect(headers[2]).not.toBe(headers[0]);
  });

  it('a request ends in UNAUTHORIZED if the new key is refused too', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, times: 99, status: 401 });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({ code: 'UNAUTHORIZED', cause: { status: 401, requests: 2 } });
    expect(listRequests(simulator)).toHaveLength(2);
    expect(simulator.logins).toBe(2);
  });

  it('a 403 does not count as a refused key and never causes a login', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, times: 99, status: 403 });
    for (let attempt = 0; attempt < 3; attempt++) expect((await expectFailure(gateway.run('system.info'))).code).toBe('FORBIDDEN');
    expect(simulator.logins).toBe(1);
    expect(listRequests(simulator)).toHaveLength(3);
  });

  it.each([
    ['refused', { status: 401 }, 'LOGIN_REJECTED'],
    ['cut', { cut: 'before-headers' as const }, 'CONNECTION'],
    ['answered by half', { cut: 'half' as const }, 'BAD_RESPONSE'],
    ['answered by nonsense', { body: '<html>' }, 'BAD_RESPONSE'],
    ['failing', { status: 500 }, 'APPLIANCE_ERROR'],
    ['never answered', { hang: true }, 'TIMEOUT'],
  ])(
    'after a refused key and a new login that is %s, no write is reported as unknown and no read is repeated',
    async (_name, fault, code) => {
      const { simulator, gateway } = await startSimulatorWithGateway({}, 'hang' in fault ? { timeout: 2 } : {});
      await gateway.run('system.info');
      for (const operation of ['sessions.kill-all', 'system.info']) {
        const before = simulator.requests.length;
        simulator.expireKeys();
        simulator.fault({ match: ({ path }) => path === LOGIN_PATH, ...fault });
        const error = await expectFailure(gateway.run(operation));
        expect(error).toMatchObject({ code, cause: { logins: 1, requests: 1, retries: 0 } });
        expect(simulator.requests).toHaveLength(before + 2);
        processCoordination.clear();
        await gateway.run('system.info');
      }
      expect(simulator.state.sessions.count).toBe(25);
    },
  );
});

describe('a refused password', () => {
  it('a refused password is sent once for any number of messages', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    const errors = await Promise.all(Array.from({ length: 20 }, () => expectFailure(gateway.run('system.info'))));
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['LOGIN_REJECTED']));
    const later = await expectFailure(gateway.run('system.info'));
    expect(later).toMatchObject({ code: 'LOGIN_PAUSED', message: expect.stringMatching(/another (60|59) s/) as string });
    expect(simulator.logins).toBe(1);
  });

  it('a refused password pauses a new gateway with the same settings, but not one with others', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
    gateway.close();
    const again = gatewayFor(simulator, { password: 'wrong', name: 'renamed', timeout: 9 });
    expect((await expectFailure(again.run('system.info'))).code).toBe('LOGIN_PAUSED');
    const wrongRealm = gatewayFor(simulator, { realm: 'Nowhere' });
    expect((await expectFailure(wrongRealm.run('system.info'))).code).toBe('LOGIN_REJECTED');
    expect((await gatewayFor(simulator).run('system.info')).envelope.ok).toBe(true);
    expect(simulator.logins).toBe(3);
  });

  it('a refused password pauses logins for 60 s, doubling up to 15 minutes, until a login succeeds', async () => {
    const start = Date.UTC(2026, 10, 20);
    vi.useFakeTimers({ toFake: ['Date'], now: start });
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { lockAfter: 99 } }, { password: 'wrong' }, byDate());
    let now = start;
    for (const [index, seconds] of [60, 120, 240, 480, 900, 900].entries()) {
      expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
      vi.setSystemTime((now += seconds * 1000 - 1));
      expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
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
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
    vi.setSystemTime(now + 60_000);
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
  });

  it('a 403 to the login pauses logins like a refused password', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { restAccess: false } });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('REST') as string,
    });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
    expect(simulator.logins).toBe(1);
  });

  it('logins pause for only 5 s if the appliance was temporarily out of order', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ status: 500, times: 1 });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('APPLIANCE_ERROR');
    expect(await expectFailure(gateway.run('config.get', { path: USER_ROLES_PATH }))).toMatchObject({
      code: 'LOGIN_PAUSED',
      message: expect.stringMatching(/status 500.* another [45] s \(until 20/) as string,
    });
    processCoordination.clear();
    expect((await gateway.run('system.info')).envelope.logins).toBe(1);
  });
});
