import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Transport } from '../../../src/http/transport';
import { hashAccount, createSharedSessionKey } from '../../../src/login/account-state';
import { AccountState } from '../../../src/login/account-state';
import { BackOff } from '../../../src/login/back-off';
import { SessionApiKey } from '../../../src/login/pending-login';
import { PendingLogin } from '../../../src/login/pending-login';
import { proveLogin, getUnprovableReason } from '../../../src/login/prove-login';
import { Session } from '../../../src/login/session';
import { GatewayError } from '../../../src/model/error';
import { ProcessCoordination } from '../../../src/model/process-coordination';
import { MASK, Redactor } from '../../../src/model/redaction';
import { checkSettings, type CheckedSettings, type Settings } from '../../../src/model/settings';
import type { Simulator, SimulatorOptions } from '../../../src/simulator';
import { startTestSimulator, expectFailure, LOGIN_PATH, settingsFor } from '../../helpers/simulated-appliance';
import { listSecondStepAnswers } from '../../helpers/logins';
import { resetAccounts } from '../../helpers/reset-process-state';

// Tests a session directly; tests of the gateway cover the rest.

beforeEach(resetAccounts);
afterEach(() => vi.useRealTimers());

const silent = (): void => undefined;

interface Driven {
  readonly simulator: Simulator;
  readonly settings: CheckedSettings;
  readonly session: Session;
  readonly redactor: Redactor;
  readonly coordination: ProcessCoordination;
  /** Another session of the same account. */
  readonly again: (redactor?: Redactor) => Session;
}

async function driven(
  more: Partial<Settings> = {},
  options: SimulatorOptions = {},
  coordination = new ProcessCoordination(),
): Promise<Driven> {
  const simulator = await startTestSimulator(options);
  const settings = checkSettings(settingsFor(simulator, more));
  const transport = new Transport(settings);
  onTestFinished(() => transport.close());
  const redactor = new Redactor();
  const again = (by = new Redactor()): Session => {
    const session = new Session(settings, transport, by, coordination);
    onTestFinished(() => session.close());
    return session;
  };
  return { simulator, settings, session: again(redactor), redactor, coordination, again };
}

/** Delays the answer to the next login until the returned function is called. */
function held(simulator: Simulator): () => void {
  let go = (): void => undefined;
  const until = new Promise<void>((resolve) => (go = resolve));
  simulator.fault({ match: ({ path }) => path === LOGIN_PATH, afterEffect: true, until });
  return () => go();
}

const flow: Partial<Settings> = { secondFactor: 'flow' };
const byCode: SimulatorOptions = { secondFactor: { password: '123456' } };

describe('Session', () => {
  it('a closed Session returns no key and explains why', async () => {
    const { session, again } = await driven();
    const other = again();
    session.close();
    expect(await expectFailure(session.key(silent))).toMatchObject({
      code: 'ABORTED',
      message: 'The gateway was closed or redeployed before this request was sent.',
      details: { sent: false },
    });
    expect(await other.key(silent)).toBeInstanceOf(SessionApiKey);
    expect((await expectFailure(session.key(silent))).code).toBe('ABORTED');
  });

  it('Session shares a running login between its callers, but not a discarded login', async () => {
    const { simulator, session } = await driven();
    const first = held(simulator);
    const before = session.key(silent);
    await expect.poll(() => simulator.logins).toBe(1);
    session.forget();
    const second = held(simulator);
    const after = session.key(silent);
    await expect.poll(() => simulator.logins).toBe(2);
    first();
    const old = await before;
    const joined = session.key(silent);
    second();
    expect(await joined).toBe(await after);
    expect([simulator.logins, session.currentKey === old, session.currentKey === (await after)]).toEqual([2, false, true]);
  });

  it('Session masks a key, in header form too, for all present and later gateways', async () => {
    const { session, redactor, again } = await driven();
    const { apiKey, authorization, rejectedWhenFresh } = await session.key(silent);
    expect(rejectedWhenFresh).toBe(false);
    const later = new Redactor();
    again(later);
    for (const each of [redactor, later]) expect(each.text(`${apiKey} ${authorization}`)).toBe(`${MASK} Basic ${MASK}`);
  });

  it('Session keeps a pasted key until the appliance refuses it, even after a discard', async () => {
    const { simulator, session, again } = await driven({ login: 'key', apiKey: 'pasted' });
    const { currentKey } = session;
    expect(currentKey?.apiKey).toBe('pasted');
    expect(session.forget()).toEqual({ state: 'none' });
    expect(await session.login(silent)).toEqual({ state: 'ready' });
    expect(await session.key(silent)).toBe(currentKey);
    expect(await session.mayBeExpired(Object.assign(currentKey as SessionApiKey, { accepted: true }))).toBe(false);
    expect(await session.handleUnauthorized(currentKey as SessionApiKey)).toBe(true);
    expect(await expectFailure(session.key(silent))).toMatchObject({
      code: 'UNAUTHORIZED',
      message:
        'The API key in the settings has expired or was never valid. Enter a new one, or choose the realm login, which renews it by itself.',
      details: { sent: false },
    });
    expect(again().currentKey?.apiKey).toBe('pasted');
    expect(simulator.requests).toEqual([]);
  });
});

describe('Session.recordResponse', () => {
  it.each([
    [199, false],
    [200, true],
    [302, true],
    [401, false],
    [403, false],
    [404, true],
    [499, true],
    [500, false],
  ])('Session.recordResponse treats the key as accepted after status %i: %s', async (status, accepted) => {
    const { session } = await driven();
    const key = await session.key(silent);
    session.recordResponse(key, status);
    expect(key.isAccepted).toBe(accepted);
  });

  it('recordResponse ends a pause and resets its length when a key is accepted', async () => {
    const { settings, session, coordination } = await driven();
    const first = await session.key(silent);
    await session.handleUnauthorized(first);
    const second = await session.key(silent);
    await new BackOff(settings, coordination).pause('APPLIANCE_ERROR', 503);
    session.recordResponse(second, 200);
    session.forget();
    const third = await session.key(silent);
    // The key has answered nothing yet, and the previous refusal was cleared.
    expect(await session.handleUnauthorized(third)).toBe(true);
  });
});

describe('a key that gets two refusals at once', () => {
  it('a key that is refused twice at the same time does not discard a newer key', async () => {
    let hold: Promise<void> | undefined;
    class Slow extends ProcessCoordination {
      override async get(key: string): ReturnType<ProcessCoordination['get']> {
        await hold;
        return super.get(key);
      }
    }
    const { session } = await driven({}, {}, new Slow());
    const first = await session.key(silent);
    let go = (): void => undefined;
    hold = new Promise<void>((resolve) => (go = resolve));
    const late = session.handleUnauthorized(first);
    hold = undefined;
    expect(await session.handleUnauthorized(first)).toBe(true);
    const second = await session.key(silent);
    go();
    expect(await late).toBe(true);
    expect(session.currentKey).toBe(second);
  });
});

describe('a login that waits for a code', () => {
  it('a second login step cannot be resumed if no login was started', async () => {
    const { session } = await driven(flow, byCode);
    expect(await expectFailure(session.resume('123456', undefined, silent))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'No login is waiting for a code. Send a login first, then resume it.',
      details: { sent: false },
    });
    const missing = await expectFailure(session.key(silent));
    expect(missing).toMatchObject({
      code: 'SECOND_FACTOR_REQUIRED',
      message: 'Nobody is logged in, and with this second factor only a gateway-login node can log in. Send it a login first.',
      details: { sent: false },
    });
    expect(missing.details).not.toHaveProperty('resumeId');
  });

  it('a second login step is reported with its id and accepts one code', async () => {
    const { simulator, session, redactor } = await driven(flow, byCode);
    const state = await session.login(silent);
    const [resumeId] = simulator.state.login.pending.keys();
    expect(await expectFailure(session.key(silent))).toMatchObject({
      code: 'SECOND_FACTOR_REQUIRED',
      message: 'The login waits for a code. Give it to a gateway-login node, then send this again.',
      details: { sent: false, resumeId },
    });
    expect(state).toEqual({ state: 'pending', resumeId });
    await session.resume('123456', resumeId, silent);
    expect(await expectFailure(session.resume('123456', resumeId, silent))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'This login step already had its answer, and a code is not sent twice. Send a new login first.',
      details: { sent: false },
    });
    // A code becomes a secret when it is passed in, also in header form.
    const header = Buffer.from('api-admin:123456').toString('base64');
    expect(redactor.text(`code 123456, ${header}`)).toBe(`code ${MASK}, ${MASK}`);
  });

  it('a second login step can be resumed while logins pause, because the person has the code now', async () => {
    const { settings, session, coordination } = await driven(flow, byCode);
    await session.login(silent);
    await new BackOff(settings, coordination).pause('APPLIANCE_ERROR', 503);
    expect(await session.resume('123456', undefined, silent)).toEqual({ state: 'ready' });
    session.forget();
    expect((await expectFailure(session.login(silent))).code).toBe('LOGIN_PAUSED');
  });

  it('a second login step is shared by callers that need the key while the code is sent', async () => {
    const { simulator, session } = await driven(flow, byCode);
    await session.login(silent);
    const go = held(simulator);
    const resumed = session.resume('123456', undefined, silent);
    const key = session.key(silent);
    const login = session.login(silent);
    go();
    expect([await resumed, await login]).toEqual([{ state: 'ready' }, { state: 'ready' }]);
    expect(await key).toBe(session.currentKey);
    expect(simulator.logins).toBe(1);
  });
});

describe('a second step that the settings answer', () => {
  const second: Partial<Settings> = { secondFactor: 'password', secondPassword: 'second one' };

  it('an automatic second login step uses the first user name if no second one is configured', async () => {
    const { simulator, session } = await driven(second, { secondFactor: { password: 'second one' } });
    await session.key(silent);
    const [, step] = simulator.requests;
    expect(step?.headers.authorization).toBe(`Basic ${Buffer.from('api-admin:second one').toString('base64')}`);
  });

  it.each<[string, Partial<Settings>, number, string]>([
    ['is missing', {}, 1, 'The appliance asks for a second factor, but the settings have none. Choose one there.'],
    [
      'is not sufficient',
      second,
      2,
      'The appliance accepted the second factor and asks for another step, which the settings cannot answer.',
    ],
  ])(
    'a second step that the settings answer prevents logins until the pause ends when it %s, and every error names the step',
    async (_what, more, requests, message) => {
      const { simulator, session } = await driven(more, { secondFactor: { password: 'second one', steps: Infinity } });
      const error = await expectFailure(session.key(silent));
      const resumeId = [...simulator.state.login.pending.keys()].at(-1);
      expect(error).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', message, details: { sent: false, resumeId } });
      const paused = await expectFailure(session.key(silent));
      expect(paused).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', details: { sent: false, resumeId } });
      expect(paused.message).toMatch(/a step that the settings cannot answer\. No login is tried for another/);
      expect(simulator.requests).toHaveLength(requests);
    },
  );

  const totp: Partial<Settings> = { secondFactor: 'totp', totpSecret: 'JBSWY3DPEHPK3PXP' };

  it('an automatic second login step mentions the clock if a code is refused', async () => {
    const { session } = await driven(totp, { secondFactor: { password: 'no code' } });
    const error = await expectFailure(session.key(silent));
    expect(error).toMatchObject({ code: 'LOGIN_REJECTED', details: { status: 401 } });
    expect(error.message).toMatch(/interface\..* Codes depend on the time: compare the clocks of the appliance and of this machine\.$/);
  });

  it('an automatic second login step treats a code that may have been accepted as used, and does not mention the clock', async () => {
    const step = Math.floor(Date.UTC(2026, 10, 20) / 30_000) * 30_000;
    // 300 ms before the next step. The clock stands still; the wait is real.
    vi.useFakeTimers({ toFake: ['Date'], now: step + 29_700 });
    const { simulator, session, again, coordination, settings } = await driven(totp, { secondFactor: { totpSecret: 'JBSWY3DPEHPK3PXP' } });
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, skip: 1, cut: 'before-headers' });
    const error = await expectFailure(session.key(silent));
    expect(error.code).toBe('CONNECTION');
    expect(error.message).not.toMatch(/clock/);
    await new BackOff(settings, coordination).recordSuccess();
    await again().key(silent);
    expect(new Set(listSecondStepAnswers(simulator)).size).toBe(2);
  });
});

describe('PendingLogin', () => {
  const key = new SessionApiKey('a');
  const open = new AbortController().signal;

  /** Work that ends on demand or when no caller waits. */
  function working(closing = open) {
    let go = (): void => undefined;
    let finish = (): void => undefined;
    const over = new Promise<void>((resolve) => (finish = resolve));
    let start = (): void => undefined;
    const started = new Promise<void>((resolve) => (start = resolve));
    const signals: AbortSignal[] = [];
    const login = new PendingLogin(async (self) => {
      await new Promise(setImmediate);
      await self.runWhileAwaited(closing, (signal) => {
        signals.push(signal);
        start();
        return new Promise<void>((resolve, reject) => {
          go = resolve;
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          if (signal.aborted) reject(new Error('aborted'));
        });
      });
      await over;
      return key;
    });
    return { login, go: () => go(), finish: () => finish(), signals, started };
  }

  it('PendingLogin continues while any caller waits, and stops with the last caller', async () => {
    const { login, signals, started } = working();
    const [one, other] = [new AbortController(), new AbortController()];
    const waiting = [expectFailure(login.waitForKey(one.signal)), expectFailure(login.waitForKey(other.signal))];
    await started;
    one.abort();
    expect(await waiting[0]).toMatchObject({ code: 'ABORTED', message: 'Canceled before it was sent.' });
    expect([signals[0]?.aborted, login.isDiscarded]).toEqual([false, false]);
    other.abort();
    expect(await waiting[1]).toMatchObject({ code: 'ABORTED' });
    expect([signals[0]?.aborted, login.isDiscarded]).toEqual([true, true]);
    expect(await expectFailure(login.waitForKey(undefined))).toMatchObject({
      code: 'ABORTED',
      message: 'Every message that waited for this login was canceled.',
      details: { sent: false },
    });
  });

  it('PendingLogin does not start to wait if no caller needs the key', async () => {
    const { login, signals, started } = working();
    expect((await expectFailure(login.waitForKey(AbortSignal.abort()))).code).toBe('ABORTED');
    await started;
    expect([signals[0]?.aborted, login.isDiscarded]).toEqual([true, true]);
    expect((await expectFailure(login.waitForKey(undefined))).code).toBe('ABORTED');
  });

  it('PendingLogin completes its request even if all callers leave', async () => {
    const { login, go, finish, started } = working();
    const stop = new AbortController();
    const left = expectFailure(login.waitForKey(stop.signal));
    await started;
    go();
    await new Promise(setImmediate);
    stop.abort();
    expect((await left).code).toBe('ABORTED');
    expect(login.isDiscarded).toBe(false);
    finish();
    expect(await login.waitForKey(undefined)).toBe(key);
  });

  it('PendingLogin ends with its gateway, and reports that or its own failure', async () => {
    const closing = new AbortController();
    const { login, started } = working(closing.signal);
    const waiting = expectFailure(login.waitForKey(undefined));
    await started;
    closing.abort();
    expect(await waiting).toMatchObject({ code: 'ABORTED', message: 'The gateway was closed during the login.', details: { sent: false } });
    const refused = new PendingLogin(async (self) => {
      await new Promise(setImmediate);
      return self.runWhileAwaited(open, () => Promise.reject(new GatewayError('LOGIN_REJECTED', 'On purpose.')));
    });
    expect(await expectFailure(refused.waitForKey(undefined))).toMatchObject({ code: 'LOGIN_REJECTED', message: 'On purpose.' });
  });
});

describe('AccountState', () => {
  it('AccountState remembers the latest hundred answered login steps', () => {
    const state = new AccountState();
    const steps = Array.from({ length: 100 }, (_, index) => `step ${index}`);
    expect(steps.map((step) => state.markAnswered(step))).not.toContain(false);
    expect(steps.map((step) => state.markAnswered(step))).not.toContain(true);
    expect([state.markAnswered('one more'), state.markAnswered('step 0'), state.markAnswered('step 2')]).toEqual([true, true, false]);
  });

  it('AccountState is kept for a newer gateway if an older gateway closes twice', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { session, again } = await driven();
    const key = await session.key(silent);
    session.close();
    session.close();
    const [later, another] = [again(), again()];
    vi.advanceTimersByTime(200_000);
    expect(later.currentKey).toBe(key);
    // Other callers still wait.
    another.close();
    vi.advanceTimersByTime(200_000);
    expect(later.currentKey).toBe(key);
    later.close();
    vi.advanceTimersByTime(90_000);
    // The key is no longer in memory.
    expect([session.currentKey, later.currentKey]).toEqual([undefined, undefined]);
  });
});

describe('hashAccount and createSharedSessionKey', () => {
  const url = 'https://vpn.example.com';
  const of = (more: Partial<Settings>): CheckedSettings => checkSettings(settingsFor({ url }, more));
  const totp = { secondFactor: 'totp', totpSecret: 'JBSWY3DPEHPK3PXP' } as const;
  const password = { secondFactor: 'password', secondPassword: 'b' } as const;

  it.each<[string, Partial<Settings>, Partial<Settings>]>([
    ['address', {}, { url: 'https://vpn2.example.com' }],
    ['path', {}, { url: `${url}/vpn1` }],
    ['way of logging in', {}, { login: 'legacy' }],
    ['realm', {}, { realm: 'Other' }],
    ['user name', {}, { username: 'other' }],
    ['password', {}, { password: 'other' }],
    ['second factor', {}, { secondFactor: 'flow' }],
    ['second user name', password, { ...password, secondUsername: 'other' }],
    ['second password', password, { ...password, secondPassword: 'c' }],
    ['secret of its codes', totp, { ...totp, totpSecret: 'JBSWY3DPEHPK3PXQ' }],
  ])('hashAccount and createSharedSessionKey differ for another %s', (_what, one, other) => {
    for (const name of [hashAccount, createSharedSessionKey]) {
      expect(name(of(one))).toMatch(/^[0-9a-f]{64}$/);
      expect(name(of(one))).toBe(name(of({ ...one, name: 'other', timeout: 7 })));
      expect(name(of(other))).not.toBe(name(of(one)));
    }
  });

  const proxy = { url: 'http://proxy.example.com:3128' };

  it.each<[string, Partial<Settings>, Partial<Settings>]>([
    ['proxy', {}, { proxy }],
    ['address of the proxy', { proxy }, { proxy: { url: 'http://proxy2.example.com:3128' } }],
    ['user of the proxy', { proxy }, { proxy: { ...proxy, username: 'a' } }],
    ['exception of the proxy', { proxy }, { proxy: { ...proxy, noproxy: ['a.example.com'] } }],
    ['name in the handshake', {}, { tls: { servername: 'a' } }],
    ['certificate of its own', {}, { tls: { cert: 'a' } }],
    ['bundle of its own', {}, { tls: { pfx: 'a' } }],
  ])('hashAccount and createSharedSessionKey share pauses but not the key with another %s', (_what, one, other) => {
    // Most settings have no TLS part.
    const bare = settingsFor({ url });
    delete bare.tls;
    expect(createSharedSessionKey(checkSettings(bare))).toBe(createSharedSessionKey(of({})));
    expect(hashAccount(of(other))).toBe(hashAccount(of(one)));
    expect(createSharedSessionKey(of(other))).not.toBe(createSharedSessionKey(of(one)));
  });
});

describe('proveLogin', () => {
  it.each<[Partial<Settings>, string | undefined]>([
    [{}, undefined],
    [{ login: 'legacy' }, undefined],
    [{ secondFactor: 'password', secondPassword: 'b' }, undefined],
    [{ secondFactor: 'flow' }, 'flow'],
    [{ login: 'key', apiKey: 'a' }, 'key'],
  ])('proveLogin with settings %j is prevented by: %s', (more, why) => {
    expect(getUnprovableReason(checkSettings(settingsFor({ url: 'https://vpn.example.com' }, more)))).toBe(why);
  });

  it('proveLogin ignores login pauses, starts none, and stores nothing about its account', async () => {
    const { simulator, settings, coordination, session } = await driven();
    const transport = new Transport(settings);
    onTestFinished(() => transport.close());
    const prove = (): Promise<void> => proveLogin({ settings, transport, coordination });
    const key = await session.key(silent);
    simulator.fault({ match: ({ path }) => path === LOGIN_PATH, status: 401 });
    expect((await expectFailure(prove())).code).toBe('LOGIN_REJECTED');
    await prove();
    expect([simulator.logins, coordination.size.entries]).toEqual([3, 0]);
    await new BackOff(settings, coordination).pause('LOGIN_REJECTED', 401);
    await prove();
    expect([simulator.logins, session.currentKey]).toEqual([4, key]);
  });
});
