import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Transport } from '../../../src/http/transport';
import { accountHash, sessionKey } from '../../../src/login/account-key';
import { AccountState, resetAccounts } from '../../../src/login/account-state';
import { BackOff } from '../../../src/login/back-off';
import { SessionApiKey } from '../../../src/login/session-api-key';
import { PendingLogin } from '../../../src/login/pending-login';
import { proveLogin, unprovableReason } from '../../../src/login/prove-login';
import { Session } from '../../../src/login/session';
import { GatewayError } from '../../../src/model/error';
import { ProcessCoordination } from '../../../src/model/process-coordination';
import { MASK, Redactor } from '../../../src/model/redaction';
import { checkSettings, type CheckedSettings, type Settings } from '../../../src/model/settings';
import type { Simulator, SimulatorOptions } from '../../../src/simulator';
import { startTestSimulator, expectFailure, LOGIN_PATH, settingsFor } from '../../helpers/simulated-appliance';
import { listSecondStepAnswers } from '../../helpers/logins';

// The session of an appliance, driven by itself: what can be seen through a gateway is tested there.

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

/** Holds back the answer to the next login until the function that it gives is called. */
function held(simulator: Simulator): () => void {
  let go = (): void => undefined;
  const until = new Promise<void>((resolve) => (go = resolve));
  simulator.fault({ match: ({ path }) => path === LOGIN_PATH, afterEffect: true, until });
  return () => go();
}

const flow: Partial<Settings> = { secondFactor: 'flow' };
const byCode: SimulatorOptions = { secondFactor: { password: '123456' } };

describe('a session', () => {
  it('that is closed gives no key, and says why', async () => {
    const { session, again } = await driven();
    const other = again();
    session.close();
    expect(await expectFailure(session.key(silent))).toMatchObject({
      code: 'ABORTED',
      message: 'The gateway was closed or deployed anew before this was sent.',
      details: { sent: false },
    });
    expect(await other.key(silent)).toBeInstanceOf(SessionApiKey);
    expect((await expectFailure(session.key(silent))).code).toBe('ABORTED');
  });

  it('has one login for those that come while it is under way, not the one that was forgotten', async () => {
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

  it('knows a key as a secret, also as the header carries it, and whoever comes later', async () => {
    const { session, redactor, again } = await driven();
    const { apiKey, authorization, rejectedWhenFresh } = await session.key(silent);
    expect(rejectedWhenFresh).toBe(false);
    const later = new Redactor();
    again(later);
    for (const each of [redactor, later]) expect(each.text(`${apiKey} ${authorization}`)).toBe(`${MASK} Basic ${MASK}`);
  });

  it('of a pasted key keeps it, whoever wants it forgotten, until it is refused', async () => {
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

describe('answers to requests', () => {
  it.each([
    [199, false],
    [200, true],
    [302, true],
    [401, false],
    [403, false],
    [404, true],
    [499, true],
    [500, false],
  ])('of %i show that the key is taken: %s', async (status, accepted) => {
    const { session } = await driven();
    const key = await session.key(silent);
    session.recordResponse(key, status);
    expect(key.isAccepted).toBe(accepted);
  });

  it('that show it end a pause of logins, and make the next refusal a first one again', async () => {
    const { settings, session, coordination } = await driven();
    const first = await session.key(silent);
    await session.handleUnauthorized(first);
    const second = await session.key(silent);
    await new BackOff(settings, coordination).pause('APPLIANCE_ERROR', 503);
    session.recordResponse(second, 200);
    session.forget();
    const third = await session.key(silent);
    // It has answered nothing yet: but for that of before, its refusal would be one of a fresh key after a refused one.
    expect(await session.handleUnauthorized(third)).toBe(true);
  });
});

describe('a key that is refused twice at once', () => {
  it('takes along no key that came between', async () => {
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
  it('is said to be none where nobody has begun it', async () => {
    const { session } = await driven(flow, byCode);
    expect(await expectFailure(session.resume('123456', undefined, silent))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'No login is waiting for a code. Send a login first, then resume it.',
      details: { sent: false },
    });
    const missing = await expectFailure(session.key(silent));
    expect(missing).toMatchObject({
      code: 'SECOND_FACTOR_REQUIRED',
      message: 'No one is logged in, and only a gateway-login node may start a login here. Send it a login first.',
      details: { sent: false },
    });
    expect(missing.details).not.toHaveProperty('resumeId');
  });

  it('says what it waits for, and takes one code', async () => {
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
      message: 'That login step has had its answer, and a code is not sent twice. Send a new login first.',
      details: { sent: false },
    });
    // A code is a secret once it was given, also as the header carries it.
    const header = Buffer.from('api-admin:123456').toString('base64');
    expect(redactor.text(`code 123456, ${header}`)).toBe(`code ${MASK}, ${MASK}`);
  });

  it('is resumed although logins pause: somebody has the code now', async () => {
    const { settings, session, coordination } = await driven(flow, byCode);
    await session.login(silent);
    await new BackOff(settings, coordination).pause('APPLIANCE_ERROR', 503);
    expect(await session.resume('123456', undefined, silent)).toEqual({ state: 'ready' });
    session.forget();
    expect((await expectFailure(session.login(silent))).code).toBe('LOGIN_PAUSED');
  });

  it('is joined by those who want the key while its code is on the way', async () => {
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

  it('is answered under the first name where there is no second one', async () => {
    const { simulator, session } = await driven(second, { secondFactor: { password: 'second one' } });
    await session.key(silent);
    const [, step] = simulator.requests;
    expect(step?.headers.authorization).toBe(`Basic ${Buffer.from('api-admin:second one').toString('base64')}`);
  });

  it.each<[string, Partial<Settings>, number, string]>([
    ['is not there', {}, 1, 'The appliance asks for a second factor, but the settings have none. Choose one there.'],
    ['is not enough', second, 2, 'The appliance took the second factor and asks for yet another step, which nothing here can answer.'],
  ])('%s: nobody logs in until the pause is over, and each is told the step', async (_what, more, requests, message) => {
    const { simulator, session } = await driven(more, { secondFactor: { password: 'second one', steps: Infinity } });
    const error = await expectFailure(session.key(silent));
    const resumeId = [...simulator.state.login.pending.keys()].at(-1);
    expect(error).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', message, details: { sent: false, resumeId } });
    const paused = await expectFailure(session.key(silent));
    expect(paused).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', details: { sent: false, resumeId } });
    expect(paused.message).toMatch(/a step that the settings cannot answer\. No login is tried for another/);
    expect(simulator.requests).toHaveLength(requests);
  });

  const totp: Partial<Settings> = { secondFactor: 'totp', totpSecret: 'JBSWY3DPEHPK3PXP' };

  it('by a code that is refused says that codes depend on the time', async () => {
    const { session } = await driven(totp, { secondFactor: { password: 'no code' } });
    const error = await expectFailure(session.key(silent));
    expect(error).toMatchObject({ code: 'LOGIN_REJECTED', details: { status: 401 } });
    expect(error.message).toMatch(/interface\. Codes depend on the time: compare the clocks of the appliance and of this machine\.$/);
  });

  it('by a code that may have been taken spends it, and says nothing of clocks', async () => {
    const step = Math.floor(Date.UTC(2026, 10, 20) / 30_000) * 30_000;
    // The next step begins in a third of a second; the clock stands, the waiting is real.
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

describe('a login under way', () => {
  const key = new SessionApiKey('a');
  const open = new AbortController().signal;

  /** One whose work goes on until it is told, or nobody wants it. */
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

  it('goes on as long as anybody wants its key, and ends its waiting with the last one', async () => {
    const { login, signals, started } = working();
    const [one, other] = [new AbortController(), new AbortController()];
    const waiting = [expectFailure(login.waitForKey(one.signal)), expectFailure(login.waitForKey(other.signal))];
    await started;
    one.abort();
    expect(await waiting[0]).toMatchObject({ code: 'ABORTED', message: 'Cancelled before it was sent.' });
    expect([signals[0]?.aborted, login.isDiscarded]).toEqual([false, false]);
    other.abort();
    expect(await waiting[1]).toMatchObject({ code: 'ABORTED' });
    expect([signals[0]?.aborted, login.isDiscarded]).toEqual([true, true]);
    expect(await expectFailure(login.waitForKey(undefined))).toMatchObject({
      code: 'ABORTED',
      message: 'Nobody waits for this login any more.',
      details: { sent: false },
    });
  });

  it('does not even begin to wait where nobody wants the key', async () => {
    const { login, signals, started } = working();
    expect((await expectFailure(login.waitForKey(AbortSignal.abort()))).code).toBe('ABORTED');
    await started;
    expect([signals[0]?.aborted, login.isDiscarded]).toEqual([true, true]);
    expect((await expectFailure(login.waitForKey(undefined))).code).toBe('ABORTED');
  });

  it('that is past its waiting goes on to its end, whoever leaves', async () => {
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

  it('ends with the gateway, which is said, and with what its work fails with', async () => {
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

describe('the state of an account', () => {
  it('remembers a hundred steps that had their answer', () => {
    const state = new AccountState();
    const steps = Array.from({ length: 100 }, (_, index) => `step ${index}`);
    expect(steps.map((step) => state.markAnswered(step))).not.toContain(false);
    expect(steps.map((step) => state.markAnswered(step))).not.toContain(true);
    expect([state.markAnswered('one more'), state.markAnswered('step 0'), state.markAnswered('step 2')]).toEqual([true, true, false]);
  });

  it('is not wiped for a gateway that was closed twice, when another one has come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { session, again } = await driven();
    const key = await session.key(silent);
    session.close();
    session.close();
    const [later, another] = [again(), again()];
    vi.advanceTimersByTime(200_000);
    expect(later.currentKey).toBe(key);
    // Nor while one of several is still there.
    another.close();
    vi.advanceTimersByTime(200_000);
    expect(later.currentKey).toBe(key);
    later.close();
    vi.advanceTimersByTime(90_000);
    // Nobody has it in memory any more.
    expect([session.currentKey, later.currentKey]).toEqual([undefined, undefined]);
  });
});

describe('the name of an account', () => {
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
  ])('is another one with another %s', (_what, one, other) => {
    for (const name of [accountHash, sessionKey]) {
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
  ])('is the same by another %s, but the key is not shared', (_what, one, other) => {
    // Most settings say nothing of TLS.
    const bare = settingsFor({ url });
    delete bare.tls;
    expect(sessionKey(checkSettings(bare))).toBe(sessionKey(of({})));
    expect(accountHash(of(other))).toBe(accountHash(of(one)));
    expect(sessionKey(of(other))).not.toBe(sessionKey(of(one)));
  });
});

describe('a login that proves that the account gets in', () => {
  it.each<[Partial<Settings>, string | undefined]>([
    [{}, undefined],
    [{ login: 'legacy' }, undefined],
    [{ secondFactor: 'password', secondPassword: 'b' }, undefined],
    [{ secondFactor: 'flow' }, 'flow'],
    [{ login: 'key', apiKey: 'a' }, 'key'],
  ])('with %j can prove nothing because of: %s', (more, why) => {
    expect(unprovableReason(checkSettings(settingsFor({ url: 'https://vpn.example.com' }, more)))).toBe(why);
  });

  it('heeds no pause, begins none, and leaves no trace of its account', async () => {
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
