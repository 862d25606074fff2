import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Gateway } from '../../../src/gateway/gateway';
import { Transport } from '../../../src/http/transport';
import { Session, type SessionApiKey } from '../../../src/login/session';
import { processCoordination } from '../../../src/model/process-coordination';
import { Redactor } from '../../../src/model/redaction';
import { checkSettings } from '../../../src/model/settings';
import type { Simulator } from '../../../src/simulator';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  LOGIN_PATH,
  settingsFor,
} from '../../helpers/simulated-appliance';
import { listSecondStepAnswers } from '../../helpers/logins';
import { getProcessMap, resetAccounts } from '../../helpers/reset-process-state';

beforeEach(() => {
  processCoordination.clear();
  resetAccounts();
});
afterEach(() => vi.useRealTimers());

describe('gateways of one account', () => {
  it('gateways of one account share one key and one login', async () => {
    const simulator = await startTestSimulator();
    const gateways = Array.from({ length: 10 }, (_, index) => gatewayFor(simulator, { name: `vpn-${index}`, timeout: 5 + index }));
    const outcomes = await Promise.all(gateways.flatMap((gateway) => [gateway.run('system.info'), gateway.run('system.info')]));
    expect(simulator.logins).toBe(1);
    expect(outcomes.reduce((sum, { envelope }) => sum + envelope.logins, 0)).toBe(1);
    simulator.expireKeys();
    await Promise.all(gateways.map((gateway) => gateway.run('system.info')));
    expect(simulator.logins).toBe(2);
  });

  it('gateways do not share a key with another account or with a pasted key', async () => {
    const simulator = await startTestSimulator();
    await gatewayFor(simulator).run('system.info');
    const [key] = simulator.state.login.keys.values();
    const pasted = { login: 'key', apiKey: key?.key ?? '' } as const;
    const [one, other] = [gatewayFor(simulator, pasted), gatewayFor(simulator, pasted)];
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, status: 401 });
    expect((await expectFailure(one.run('system.info'))).code).toBe('UNAUTHORIZED');
    expect((await other.run('system.info')).envelope.ok).toBe(true);
    expect((await expectFailure(gatewayFor(simulator, { password: 'wrong' }).run('system.info'))).code).toBe('LOGIN_REJECTED');
    expect(simulator.logins).toBe(2);
  });

  it('gateways do not share a key if they reach the address in different ways', async () => {
    const simulator = await startTestSimulator();
    await gatewayFor(simulator).run('system.info');
    // The proxy is never used, but another appliance could be behind it.
    const proxy = { url: 'http://127.0.0.1:9', noproxy: ['*'] };
    await gatewayFor(simulator, { proxy }).run('system.info');
    await gatewayFor(simulator, { proxy: { ...proxy } }).run('system.info');
    expect(simulator.logins).toBe(2);
  });

  it('gateways of one account keep the key when one of them closes', async () => {
    const simulator = await startTestSimulator();
    const [one, other] = [gatewayFor(simulator), gatewayFor(simulator)];
    await one.run('system.info');
    one.close();
    expect((await other.run('system.info')).envelope.logins).toBe(0);
    expect((await expectFailure(one.run('system.info'))).code).toBe('ABORTED');
  });

  it('gateways of one account log in again when the one that logged in for all closes', async () => {
    const simulator = await startTestSimulator();
    const [one, other] = [gatewayFor(simulator), gatewayFor(simulator)];
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, hang: true });
    const first = expectFailure(one.run('system.info'));
    await expect.poll(() => simulator.logins).toBe(1);
    const second = other.run('system.info');
    one.close();
    expect((await first).code).toBe('ABORTED');
    expect((await second).envelope).toMatchObject({ ok: true, logins: 1 });
    expect(simulator.logins).toBe(2);
  });

  it('gateways of one account all mask the key that one of them received', async () => {
    const simulator = await startTestSimulator();
    const [one, other] = [gatewayFor(simulator), gatewayFor(simulator)];
    await one.run('system.info');
    const [key] = [...simulator.state.login.keys.values()].map((issued) => issued.key);
    const later = gatewayFor(simulator);
    for (const gateway of [one, other, later]) {
      simulator.fault({ status: 422, body: JSON.stringify({ result: { errors: [{ message: `No: ${key}` }] } }) });
      const error = await expectFailure(gateway.run('system.info'));
      expect(JSON.stringify([error.message, error.cause])).not.toContain(key);
      expect(error.message).toContain('No: ••••');
      expect(inspect(gateway, { depth: 20, showHidden: true })).not.toContain(key);
    }
  });

  it('each gateway of an account can prove with a separate login that the account works', async () => {
    const simulator = await startTestSimulator();
    await gatewayFor(simulator).run('system.info');
    const proof = gatewayFor(simulator, {}, { isolatedLogin: true });
    expect((await proof.run('system.info')).envelope.logins).toBe(1);
    expect((await gatewayFor(simulator).run('system.info')).envelope.logins).toBe(0);
    expect(simulator.logins).toBe(2);
  });

  it('gateways of one account share the login step that waits for a code', async () => {
    const simulator = await startTestSimulator({ secondFactor: { password: '123456' } });
    const flow = { secondFactor: 'flow' } as const;
    const one = gatewayFor(simulator, flow);
    expect((await one.run('login.login')).data).toMatchObject({ state: 'pending' });
    one.close();
    const other = gatewayFor(simulator, flow);
    expect((await other.run('login.resume', { code: '123456' })).data).toEqual({ state: 'ready' });
    expect((await gatewayFor(simulator, flow).run('system.info')).envelope.ok).toBe(true);
    expect([simulator.logins, listSecondStepAnswers(simulator)]).toEqual([1, ['123456']]);
  });
});

describe('the key after all gateways have closed', () => {
  it('the key stays available to the gateways of the next deploy after all gateways have closed', async () => {
    const simulator = await startTestSimulator();
    const before = new Gateway(settingsFor(simulator));
    await before.run('system.info');
    before.close();
    before.close();
    expect((await gatewayFor(simulator).run('system.info')).envelope.logins).toBe(0);
    expect(simulator.logins).toBe(1);
  });

  it('the key of closed gateways is deleted after a while, and no account state stays without a key', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const simulator = await startTestSimulator();
    const before = new Gateway(settingsFor(simulator));
    const idle = new Gateway(settingsFor(simulator, { username: 'nobody' }));
    expect(getProcessMap('accounts').size).toBe(2);
    idle.close();
    expect(getProcessMap('accounts').size).toBe(1);
    await before.run('system.info');
    before.close();
    vi.advanceTimersByTime(89_000);
    // A gateway in between restarts the retention time.
    new Gateway(settingsFor(simulator)).close();
    vi.advanceTimersByTime(2_000);
    expect(getProcessMap('accounts').size).toBe(1);
    vi.advanceTimersByTime(88_000);
    expect(getProcessMap('accounts').size).toBe(0);
    vi.useRealTimers();
    expect((await gatewayFor(simulator).run('system.info')).envelope.logins).toBe(1);
  });

  it('the key of closed gateways does not keep the process running', async () => {
    const simulator = await startTestSimulator();
    const gateway = new Gateway(settingsFor(simulator));
    await gateway.run('system.info');
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    gateway.close();
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThanOrEqual(timers);
  });
});

describe('a refused shared key', () => {
  const silent = (): void => undefined;

  /** Returns the session of a gateway with an accepted key. */
  async function loggedIn(): Promise<{ simulator: Simulator; session: Session; first: SessionApiKey }> {
    const simulator = await startTestSimulator();
    const settings = checkSettings(settingsFor(simulator));
    const session = new Session(settings, new Transport(settings), new Redactor(), processCoordination);
    const first = await session.key(silent);
    session.recordResponse(first, 200);
    return { simulator, session, first };
  }

  it('a refused shared key does not replace a newer key, even while logins pause', async () => {
    const { session, first } = await loggedIn();
    expect(await session.handleUnauthorized(first)).toBe(true);
    const second = await session.key(silent);
    await session.rejectReplay(second);
    // Late responses to requests with the first key.
    expect(await session.handleUnauthorized(first)).toBe(true);
    await session.rejectReplay(first);
    expect(session.currentKey).toBe(second);
    session.recordResponse(second, 200);
    expect(await session.handleUnauthorized(first)).toBe(true);
    expect(session.currentKey).toBe(second);
  });

  it('a refused shared key causes no login pause if it is not the current key', async () => {
    const { session, first } = await loggedIn();
    await session.handleUnauthorized(first);
    const second = await session.key(silent);
    session.recordResponse(second, 200);
    await session.rejectReplay(first);
    expect(await session.handleUnauthorized(second)).toBe(true);
    expect(await session.key(silent)).not.toBe(second);
  });

  it('a refused shared key causes a login pause even if other requests with the new key succeeded', async () => {
    const { simulator, session, first } = await loggedIn();
    await session.handleUnauthorized(first);
    const second = await session.key(silent);
    session.recordResponse(second, 200);
    await session.rejectReplay(second);
    expect((await expectFailure(session.handleUnauthorized(second))).code).toBe('LOGIN_PAUSED');
    expect(session.currentKey).toBe(second);
    expect(simulator.logins).toBe(2);
  });

  it('a shared key counts as valid after a response, but not after a refusal or a fault', async () => {
    const { session, first } = await loggedIn();
    await session.handleUnauthorized(first);
    const second = await session.key(silent);
    for (const status of [401, 403, 500, 503]) session.recordResponse(second, status);
    expect([second.isAccepted, await session.mayBeExpired(second)]).toEqual([false, false]);
    session.recordResponse(second, 404);
    expect([second.isAccepted, await session.mayBeExpired(second)]).toEqual([true, true]);
    await session.recordFutileRenewal();
    expect(await session.mayBeExpired(second)).toBe(false);
  });
});

describe('forget', () => {
  it('a discarded key is not stored again by a running login', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator);
    let answer = (): void => undefined;
    simulator.fault({
      match: ({ path }) => path === LOGIN_PATH,
      afterEffect: true,
      until: new Promise((resolve) => (answer = () => resolve(undefined))),
    });
    const run = gateway.run('system.info');
    await expect.poll(() => simulator.logins).toBe(1);
    expect((await gateway.run('login.forget')).data).toEqual({ state: 'none' });
    answer();
    // The waiting caller is served; later ones start a new login.
    expect((await run).envelope.ok).toBe(true);
    expect((await gateway.run('system.info')).envelope.logins).toBe(1);
    expect(simulator.logins).toBe(2);
  });

  it('a discarded login step is not stored again by a running login', async () => {
    const simulator = await startTestSimulator({ secondFactor: { password: '123456' } });
    const gateway = gatewayFor(simulator, { secondFactor: 'flow' });
    let answer = (): void => undefined;
    simulator.fault({
      match: ({ path }) => path === LOGIN_PATH,
      afterEffect: true,
      until: new Promise((resolve) => (answer = () => resolve(undefined))),
    });
    const login = gateway.run('login.login');
    await expect.poll(() => simulator.logins).toBe(1);
    await gateway.run('login.forget');
    answer();
    expect((await expectFailure(login)).code).toBe('SECOND_FACTOR_REQUIRED');
    expect((await expectFailure(gateway.run('login.resume', { code: '123456' }))).code).toBe('BAD_INPUT');
    expect(listSecondStepAnswers(simulator)).toEqual([]);
  });
});
