import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Gateway } from '../../../src/gateway/gateway';
import { BackOff, parseRetryAfterMs } from '../../../src/login/back-off';
import { ProcessCoordination, processCoordination } from '../../../src/model/process-coordination';
import { checkSettings, type Settings } from '../../../src/model/settings';
import type { FaultRule, Simulator, SimulatorOptions } from '../../../src/simulator';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  LOGIN_PATH,
  USER_ROLES_PATH,
  settingsFor,
} from '../../helpers/simulated-appliance';
import { resetAccounts } from '../../helpers/reset-process-state';

beforeEach(() => {
  processCoordination.clear();
  resetAccounts();
});

interface Clocked {
  readonly simulator: Simulator;
  readonly gateway: Gateway;
  /** Advances the clock of the pauses. */
  readonly pass: (seconds: number) => void;
}

async function clocked(options: SimulatorOptions = {}, more: Partial<Settings> = {}): Promise<Clocked> {
  let now = 0;
  const simulator = await startTestSimulator(options);
  const gateway = gatewayFor(simulator, more, { coordination: new ProcessCoordination(() => now) });
  return { simulator, gateway, pass: (seconds) => (now += seconds * 1000) };
}

const info = (gateway: Gateway): Promise<unknown> => gateway.run('system.info');

/** Returns the error codes of concurrent messages. */
async function codes(gateway: Gateway, count: number): Promise<string[]> {
  const errors = await Promise.all(Array.from({ length: count }, () => expectFailure(info(gateway))));
  return [...new Set(errors.map(({ code }) => code))];
}

describe('a refused fresh key', () => {
  const refuseAll: FaultRule = { match: ({ path }) => path === SYSTEM_INFORMATION_PATH, times: Infinity, status: 401 };

  it('a refused new key costs two logins for any number of messages', async () => {
    const { simulator, gateway } = await clocked();
    simulator.fault(refuseAll);
    expect(await codes(gateway, 100)).toEqual(['UNAUTHORIZED']);
    for (let round = 0; round < 4; round++) expect(await codes(gateway, 25)).toEqual(['LOGIN_PAUSED']);
    expect(simulator.logins).toBe(2);
  });

  it('a refused new key pauses logins for 5 s, doubling up to 15 minutes, and each error repeats the reason', async () => {
    const { simulator, gateway, pass } = await clocked();
    simulator.fault(refuseAll);
    expect((await expectFailure(info(gateway))).code).toBe('UNAUTHORIZED');
    for (const [index, seconds] of [5, 10, 20, 40, 80, 160, 320, 640, 900, 900].entries()) {
      pass(seconds - 0.001);
      expect((await expectFailure(info(gateway))).code).toBe('LOGIN_PAUSED');
      expect(simulator.logins).toBe(index + 2);
      pass(0.001);
      expect((await expectFailure(info(gateway))).code).toBe('UNAUTHORIZED');
      expect(simulator.logins).toBe(index + 3);
    }
  });

  it('a refused new key is reported with the reason and the end of the login pause', async () => {
    const { simulator, gateway } = await clocked();
    simulator.fault(refuseAll);
    await expectFailure(info(gateway));
    expect(await expectFailure(info(gateway))).toMatchObject({
      code: 'LOGIN_PAUSED',
      message: expect.stringMatching(/refused a key that it had issued just before\..* another [45] s \(until 20[^)]+Z\)/) as string,
      cause: { pausedBecause: 'UNAUTHORIZED', pausedUntil: expect.stringMatching(/^20.*Z$/) as string },
    });
  });

  it('a new key that one request refuses still serves the requests that accept it', async () => {
    const { simulator, gateway, pass } = await clocked();
    simulator.fault(refuseAll);
    await gateway.run('config.get', { path: USER_ROLES_PATH });
    expect((await expectFailure(info(gateway))).code).toBe('UNAUTHORIZED');
    expect(simulator.logins).toBe(2);
    // One path is always refused while others succeed.
    for (let round = 0; round < 20; round++) {
      expect((await gateway.run('config.get', { path: USER_ROLES_PATH })).envelope).toMatchObject({ ok: true, logins: 0 });
      expect((await expectFailure(info(gateway))).code).toBe('LOGIN_PAUSED');
    }
    expect(simulator.logins).toBe(2);
    pass(5);
    expect((await expectFailure(info(gateway))).code).toBe('UNAUTHORIZED');
    expect(simulator.logins).toBe(3);
    expect((await gateway.run('config.get', { path: USER_ROLES_PATH })).envelope.logins).toBe(0);
  });

  it('a refused new key is followed by a successful login after the pause', async () => {
    const { simulator, gateway, pass } = await clocked();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, times: 2, status: 401 });
    expect((await expectFailure(info(gateway))).code).toBe('UNAUTHORIZED');
    simulator.expireKeys();
    pass(5);
    expect((await gateway.run('system.info')).envelope).toMatchObject({ ok: true, logins: 1 });
    simulator.expireKeys();
    expect((await gateway.run('system.info')).envelope).toMatchObject({ ok: true, logins: 1 });
  });
});

describe('a login that ends without a key', () => {
  it.each<[string, FaultRule, string, string]>([
    ['5xx', { status: 503 }, 'APPLIANCE_ERROR', 'APPLIANCE_ERROR, status 503'],
    ['429', { status: 429 }, 'APPLIANCE_ERROR', 'APPLIANCE_ERROR, status 429'],
    ['a page', { body: '<html>Sign in</html>' }, 'BAD_RESPONSE', 'BAD_RESPONSE, status 200'],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.example.com/' } }, 'APPLIANCE_ERROR', 'status 302'],
    ['404', { status: 404 }, 'NOT_FOUND', 'NOT_FOUND, status 404'],
    ['half an answer', { cut: 'half' }, 'BAD_RESPONSE', 'BAD_RESPONSE'],
    ['a cut connection', { cut: 'before-headers' }, 'CONNECTION', 'CONNECTION'],
    ['no answer', { hang: true }, 'TIMEOUT', 'TIMEOUT'],
  ])('a login that ends without a key after %s reports once, then pauses for 5 s and for 10 s', async (_name, fault, code, why) => {
    const { simulator, gateway, pass } = await clocked({}, 'hang' in fault ? { timeout: 1 } : {});
    simulator.fault({ ...fault, match: ({ path }) => path === LOGIN_PATH, times: Infinity });
    expect(await codes(gateway, 50)).toEqual([code]);
    for (const [index, seconds] of [5, 10, 20].entries()) {
      const paused = await expectFailure(info(gateway));
      expect(paused).toMatchObject({ code: 'LOGIN_PAUSED', cause: { logins: 0 } });
      expect(paused.message).toContain(why);
      pass(seconds - 0.001);
      expect(await codes(gateway, 10)).toEqual(['LOGIN_PAUSED']);
      expect(simulator.logins).toBe(index + 1);
      pass(0.001);
      expect((await expectFailure(info(gateway))).code).toBe(code);
      expect(simulator.logins).toBe(index + 2);
    }
    expect(listRequests(simulator)).toEqual([]);
    simulator.clearFaults();
    pass(40);
    expect((await gateway.run('system.info')).envelope.logins).toBe(1);
    // The next failure counts as the first again.
    simulator.expireKeys();
    simulator.fault({ ...fault, match: ({ path }) => path === LOGIN_PATH });
    expect((await expectFailure(info(gateway))).code).toBe(code);
    pass(5);
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
  });

  it.each([400, 422])('a login with status %i and without a key counts as a refusal and pauses logins for 60 s', async (status) => {
    const { simulator, gateway, pass } = await clocked();
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, times: Infinity, status });
    expect(await expectFailure(info(gateway))).toMatchObject({ code: 'LOGIN_REJECTED', cause: { status, logins: 1, requests: 0 } });
    pass(59.9);
    expect((await expectFailure(info(gateway))).code).toBe('LOGIN_PAUSED');
    expect(simulator.logins).toBe(1);
    pass(0.1);
    expect((await expectFailure(info(gateway))).code).toBe('LOGIN_REJECTED');
    expect(simulator.logins).toBe(2);
  });

  it('a login that ends without a key does not pause logins if nothing was sent', async () => {
    const { simulator, gateway } = await clocked();
    await simulator.close();
    for (let attempt = 0; attempt < 3; attempt++) expect((await expectFailure(info(gateway))).code).toBe('CONNECTION');
  });
});

describe('Retry-After of a login', () => {
  it.each([
    ['120', 120],
    ['1', 5],
    ['86400', 900],
    ['soon', 5],
    ['-5', 5],
  ])('the header Retry-After %s pauses logins for %i s', async (header, seconds) => {
    const { simulator, gateway, pass } = await clocked();
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, times: Infinity, status: 429, headers: { 'retry-after': header } });
    expect((await expectFailure(info(gateway))).code).toBe('APPLIANCE_ERROR');
    pass(seconds - 0.01);
    expect((await expectFailure(info(gateway))).code).toBe('LOGIN_PAUSED');
    pass(0.01);
    expect((await expectFailure(info(gateway))).code).toBe('APPLIANCE_ERROR');
    expect(simulator.logins).toBe(2);
  });

  it('the header Retry-After accepts seconds and dates', () => {
    const now = Date.UTC(2026, 10, 20, 8, 0, 0);
    expect(parseRetryAfterMs(' 30 ', now)).toBe(30_000);
    expect(parseRetryAfterMs('Fri, 20 Nov 2026 08:02:00 GMT', now)).toBe(120_000);
    expect(parseRetryAfterMs('Fri, 20 Nov 2026 07:00:00 GMT', now)).toBe(0);
    for (const odd of ['', '2026-11-20', '1e9', '30 s', 'tomorrow', '99999999999', '1.5'])
      expect(parseRetryAfterMs(odd, now)).toBeUndefined();
    expect(parseRetryAfterMs(undefined, now)).toBeUndefined();
  });

  it('the header Retry-After can be a date', async () => {
    const { simulator, gateway } = await clocked();
    const at = new Date(Date.now() + 300_000).toUTCString();
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, status: 503, headers: { 'retry-after': at } });
    await expectFailure(info(gateway));
    expect((await expectFailure(info(gateway))).message).toMatch(/another (299|300) s/);
  });
});

describe('the error of a login without a key', () => {
  it.each(['redirect', 'page'] as const)(
    'the error of a login after a %s suggests that the URL may be that of the user portal',
    async (loginAnswer) => {
      for (const login of ['realm', 'legacy'] as const) {
        const { gateway } = await clocked({ variants: { loginAnswer } }, { login });
        const error = await expectFailure(info(gateway));
        expect(error.code).toBe(loginAnswer === 'page' ? 'BAD_RESPONSE' : 'APPLIANCE_ERROR');
        expect(error.message).toMatch(new RegExp(`answered with a ${loginAnswer}.*URL may be wrong.*user portal`));
      }
    },
  );

  it('the error of a login after a 403 names password, realm, REST access and source address as possible causes', async () => {
    const { simulator, gateway } = await clocked({ variants: { wrongPasswordStatus: 403 } }, { password: 'wrong' });
    const error = await expectFailure(info(gateway));
    expect(error).toMatchObject({ code: 'FORBIDDEN', cause: { status: 403, logins: 1 } });
    for (const word of ['password', 'realm', 'REST interface', 'address of this machine']) expect(error.message).toContain(word);
    expect((await expectFailure(info(gateway))).code).toBe('LOGIN_PAUSED');
    expect(simulator.logins).toBe(1);
  });

  it('the error of a login without a key does not mention settings that are not in use', async () => {
    const { gateway } = await clocked({ variants: { wrongPasswordStatus: 403 } }, { password: 'wrong', login: 'legacy' });
    expect((await expectFailure(info(gateway))).message).not.toMatch(/realm|second factor/);
  });

  it('the error of a login stays readable although a short password is masked in it', async () => {
    const { gateway } = await clocked({}, { password: 'no' });
    expect((await expectFailure(info(gateway))).message).toContain('that the account may use');
    expect((await expectFailure(info(gateway))).message).toMatch(/No login is tried for another (60|59) s/);
  });
});

describe('a futile login after a 403', () => {
  it('a login that does not resolve a 403 prevents further logins after a 403 for ten minutes, for all accounts', async () => {
    let now = 0;
    const coordination = new ProcessCoordination(() => now);
    const of = (more: Partial<Settings>): BackOff =>
      new BackOff(checkSettings(settingsFor({ url: 'https://vpn.example.com' }, more)), coordination);
    await of({}).recordFutileRenewal();
    expect(await of({ username: 'other' }).canRenewAfterForbidden()).toBe(false);
    expect(await of({ url: 'https://vpn2.example.com' }).canRenewAfterForbidden()).toBe(true);
    now += 600_000 - 1;
    expect(await of({}).canRenewAfterForbidden()).toBe(false);
    now += 1;
    expect(await of({}).canRenewAfterForbidden()).toBe(true);
  });
});

describe('a changed system clock', () => {
  it('a change of the system clock does not change a login pause', async () => {
    const { simulator, gateway, pass } = await clocked();
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, status: 503 });
    await expectFailure(info(gateway));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 46 * 86_400_000 });
    try {
      expect((await expectFailure(info(gateway))).message).toMatch(/another 5 s/);
      pass(5);
      expect((await gateway.run('system.info')).envelope.ok).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });
});
