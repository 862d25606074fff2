import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Coordination, CoordinationValue } from '../../../src/model/coordination';
import { ProcessCoordination, processCoordination } from '../../../src/model/process-coordination';
import { Redactor } from '../../../src/model/redaction';
import { Session } from '../../../src/login/session';
import { checkSettings, type Settings } from '../../../src/model/settings';
import { reserveOneTimeCode, type OneTimeCode } from '../../../src/login/one-time-codes';
import { Transport } from '../../../src/http/transport';
import type { Simulator } from '../../../src/simulator';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  LOGIN_PATH,
  startSimulatorWithGateway,
  getThrownError,
  settingsFor,
} from '../../helpers/simulated-appliance';
import { listSecondStepAnswers, createBasicAuthorization, listLoginSteps } from '../../helpers/logins';
import { createTotpCode, parseTotpSecret } from '../../../src/model/totp';
import { resetAccounts } from '../../helpers/reset-process-state';

const count = { logins: 0 };
const onLogin = (): void => void count.logins++;

beforeEach(() => {
  processCoordination.clear();
  resetAccounts();
  count.logins = 0;
});
afterEach(() => vi.useRealTimers());

/** The session of an appliance whose second factor comes from a flow. */
async function waiting(steps = 1): Promise<{ simulator: Simulator; session: Session }> {
  const simulator = await startTestSimulator({ secondFactor: { password: '123456', steps } });
  const settings = checkSettings(settingsFor(simulator, { secondFactor: 'flow' }));
  return { simulator, session: new Session(settings, new Transport(settings), new Redactor(), processCoordination) };
}

/** Counts requests for a code. */
class Counting extends ProcessCoordination {
  codes = 0;

  override update(...given: Parameters<ProcessCoordination['update']>): ReturnType<ProcessCoordination['update']> {
    if (given[0].startsWith('one-time-codes:')) this.codes++;
    return super.update(...given);
  }
}

describe('a second factor from the settings', () => {
  const totpSecret = 'JBSWY3DPEHPK3PXP';
  const second: Partial<Settings> = { secondFactor: 'password', secondPassword: 'sécond' };

  it('a configured second password is sent only in the request that has the resume_id', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      { secondFactor: { password: 'sécond' } },
      { ...second, secondUsername: 'tökens' },
    );
    await gateway.run('system.info');
    expect(listLoginSteps(simulator)[1]).toEqual({
      method: 'POST',
      path: LOGIN_PATH,
      authorization: createBasicAuthorization('tökens', 'sécond'),
      body: { resume_id: expect.any(String) as string },
    });
    expect(simulator.logins).toBe(1);
  });

  it('a configured second password is not sent for a further login step', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ secondFactor: { password: 'sécond', steps: Infinity } }, second);
    const error = await expectFailure(gateway.run('system.info'));
    expect(error).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', cause: { ok: false, resumeId: expect.any(String) as string } });
    expect([...simulator.state.login.pending.keys()]).toContain(error.cause?.resumeId);
    expect(listSecondStepAnswers(simulator)).toEqual(['sécond']);
    // Further messages do not retry it.
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await expectFailure(gateway.run('system.info'))).code).toBe('SECOND_FACTOR_REQUIRED');
    }
    expect(simulator.logins).toBe(1);
  });

  it('a login that needs a second factor reports the required step when the settings contain none', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ secondFactor: { password: 'x' } });
    const error = await expectFailure(gateway.run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', cause: { resumeId: expect.any(String) as string } });
    expect(listLoginSteps(simulator)).toHaveLength(1);
  });

  it('a refused second password pauses logins', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ secondFactor: { password: 'other' } }, second);
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
    expect(listSecondStepAnswers(simulator)).toEqual(['sécond']);
  });

  /** Settings with one-time codes; each gateway logs in separately. */
  const byCode: Partial<Settings> = { secondFactor: 'totp', totpSecret: 'jbsw y3dp ehpk 3pxp' };
  const alone = { isolatedLogin: true };
  const step = Math.floor(Date.UTC(2026, 10, 20) / 30_000) * 30_000;
  const spentSteps = (simulator: Simulator): number[] => {
    const { key } = parseTotpSecret(totpSecret);
    const steps = Array.from({ length: 9 }, (_, index) => Math.floor(Date.now() / 30_000) + index - 4);
    return listSecondStepAnswers(simulator).map((answer) => steps.find((candidate) => createTotpCode(key, candidate) === answer) ?? NaN);
  };

  it('a configured one-time code is never sent twice, even by two gateways', async () => {
    // 300 ms before the next step. The clock stands still; the wait is real.
    vi.useFakeTimers({ toFake: ['Date'], now: step + 29_700 });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    await gatewayFor(simulator, byCode, alone).run('system.info');
    await gatewayFor(simulator, byCode, alone).run('system.info');
    expect(spentSteps(simulator)).toEqual([step / 30_000, step / 30_000 + 1]);
  });

  it('gateways of the same account use one one-time code together', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: step });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    const gateways = Array.from({ length: 5 }, () => gatewayFor(simulator, byCode));
    await Promise.all(gateways.map((gateway) => gateway.run('system.info')));
    expect(listSecondStepAnswers(simulator)).toHaveLength(1);
  });

  it('a login that waits for the next one-time code stops when its gateway closes', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: step });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    const coordination = new Counting();
    await gatewayFor(simulator, byCode, { ...alone, coordination }).run('system.info');
    const waiting = gatewayFor(simulator, byCode, { ...alone, coordination });
    const run = waiting.run('sessions.kill-all');
    await expect.poll(() => coordination.codes).toBe(2);
    waiting.close();
    expect((await expectFailure(run)).code).toBe('ABORTED');
    expect(listSecondStepAnswers(simulator)).toHaveLength(1);
  });

  it('a login that was canceled before sending uses up no one-time code', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: step });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    const coordination = new Counting();
    const gateway = gatewayFor(simulator, byCode, { coordination, isolatedLogin: true });
    await gatewayFor(simulator, byCode, { coordination, isolatedLogin: true }).run('system.info');
    for (let cancelled = 0; cancelled < 10; cancelled++) {
      const stop = new AbortController();
      const runs = [expectFailure(gateway.run('system.info', {}, stop.signal)), expectFailure(gateway.run('system.info', {}, stop.signal))];
      await expect.poll(() => coordination.codes).toBe(2 + cancelled);
      stop.abort();
      expect((await Promise.all(runs)).map((error) => error.code)).toEqual(['ABORTED', 'ABORTED']);
    }
    // The next step begins, so the next message gets its code at once.
    vi.setSystemTime(step + 30_000);
    expect((await gateway.run('system.info')).envelope).toMatchObject({ ok: true, logins: 1 });
    expect(spentSteps(simulator)).toEqual([step / 30_000, step / 30_000 + 1]);
  });

  it('a login with a second factor continues for the remaining callers if one is canceled', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: step + 29_000 });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    const coordination = new Counting();
    await gatewayFor(simulator, byCode, { ...alone, coordination }).run('system.info');
    const gateway = gatewayFor(simulator, byCode, { ...alone, coordination });
    const stop = new AbortController();
    const cancelled = expectFailure(gateway.run('system.info', {}, stop.signal));
    const stays = gateway.run('system.info');
    await expect.poll(() => coordination.codes).toBe(2);
    stop.abort();
    expect((await cancelled).code).toBe('ABORTED');
    expect((await stays).envelope.ok).toBe(true);
    expect(listSecondStepAnswers(simulator)).toHaveLength(2);
  });

  it('a one-time code that could not be sent can be used again', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: step + 29_000 });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    const coordination = new Counting();
    await gatewayFor(simulator, byCode, { ...alone, coordination }).run('system.info');
    const waiting = expectFailure(gatewayFor(simulator, byCode, { ...alone, coordination }).run('system.info'));
    await expect.poll(() => coordination.codes).toBe(2);
    await simulator.close();
    expect((await waiting).code).toBe('CONNECTION');
    const next = await reserveOneTimeCode(totpSecret, coordination, AbortSignal.timeout(5_000), () => step + 30_000);
    expect(next.code).toBe(createTotpCode(parseTotpSecret(totpSecret).key, step / 30_000 + 1));
  });

  it('a refused one-time code reports a clock that was set back', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: step + 10_000 });
    const simulator = await startTestSimulator({ secondFactor: { totpSecret } });
    await gatewayFor(simulator, byCode, alone).run('system.info');
    vi.setSystemTime(step - 46 * 86_400_000);
    const error = await expectFailure(gatewayFor(simulator, byCode, alone).run('system.info'));
    expect(error).toMatchObject({ code: 'LOGIN_REJECTED', cause: { logins: 1 } });
    expect(error.message).toMatch(/compare the clocks.*set back by 3974400 s or more/);
    // The code of that time, not of the future.
    expect(spentSteps(simulator)[1]).toBe(step / 30_000 - (46 * 86_400) / 30);
  });
});

describe('a second factor from a flow', () => {
  it('an action does not start a login whose second factor must come from a message', async () => {
    const simulator = await startTestSimulator({ secondFactor: { password: '123456' } });
    const gateway = gatewayFor(simulator, { secondFactor: 'flow' });
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await expectFailure(gateway.run('sessions.kill-all'))).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', cause: { logins: 0 } });
    }
    expect(simulator.requests).toEqual([]);
  });

  it('many requests start only one login whose second factor comes from a message', async () => {
    const { simulator, session } = await waiting();
    const states = await Promise.all([session.login(onLogin), session.login(onLogin), session.login(onLogin)]);
    states.push(await session.login(onLogin));
    const [pending] = simulator.state.login.pending.keys();
    expect(states).toEqual(Array(4).fill({ state: 'pending', resumeId: pending }));
    expect([count.logins, simulator.logins]).toEqual([1, 1]);
    expect(await expectFailure(session.key(onLogin))).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', details: { resumeId: pending } });
  });

  it('a gateway whose code comes from a flow is ready after the code and logs in once', async () => {
    const { simulator, session } = await waiting();
    await session.login(onLogin);
    expect(await session.resume('123456', undefined, onLogin)).toEqual({ state: 'ready' });
    expect(session.currentKey?.authorization).toMatch(/^Basic /);
    expect(await session.login(onLogin)).toEqual({ state: 'ready' });
    expect(simulator.requests.map(({ path }) => path)).toEqual([LOGIN_PATH, LOGIN_PATH]);
  });

  it('a login with a second factor from a message sends a code once, even if the message is repeated', async () => {
    const { simulator, session } = await waiting();
    const state = await session.login(onLogin);
    const id = state.state === 'pending' ? state.resumeId : '';
    const [first, second] = await Promise.allSettled([session.resume('123456', id, onLogin), session.resume('123456', id, onLogin)]);
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
    expect((await expectFailure(session.resume('123456', id, onLogin))).code).toBe('BAD_INPUT');
    expect((await expectFailure(session.resume('123456', undefined, onLogin))).code).toBe('BAD_INPUT');
    expect(listSecondStepAnswers(simulator)).toHaveLength(1);
  });

  it('a login with a second factor from a message pauses after a wrong code', async () => {
    const { simulator, session } = await waiting();
    await session.login(onLogin);
    expect((await expectFailure(session.resume('000000', undefined, onLogin))).code).toBe('LOGIN_REJECTED');
    expect((await expectFailure(session.login(onLogin))).code).toBe('LOGIN_PAUSED');
    expect(listSecondStepAnswers(simulator)).toHaveLength(1);
  });

  it('a login with codes from messages waits for the next code if it has several steps', async () => {
    const { simulator, session } = await waiting(2);
    await session.login(onLogin);
    const next = await session.resume('123456', undefined, onLogin);
    expect(next).toEqual({ state: 'pending', resumeId: [...simulator.state.login.pending.keys()].at(-1) });
    expect(await session.resume('123456', undefined, onLogin)).toEqual({ state: 'ready' });
  });

  it('a login with a second factor from a message is discarded together with the key', async () => {
    const { simulator, session } = await waiting();
    await session.login(onLogin);
    expect(session.forget()).toEqual({ state: 'none' });
    await session.login(onLogin);
    await session.resume('123456', undefined, onLogin);
    session.forget();
    expect(session.currentKey).toBeUndefined();
    expect(simulator.logins).toBe(2);
  });
});

describe('one-time codes', () => {
  // RFC 6238, appendix B: eight digits, seconds since 1970.
  it.each([
    [59, 'sha1', '94287082'],
    [1111111109, 'sha1', '07081804'],
    [20000000000, 'sha1', '65353130'],
    [59, 'sha256', '46119246'],
    [1111111111, 'sha512', '99943326'],
  ])('a one-time code matches RFC 6238 at second %i for %s', (second, algorithm, expected) => {
    const length = { sha1: 20, sha256: 32, sha512: 64 }[algorithm] ?? 0;
    const key = Buffer.from('1234567890'.repeat(7).slice(0, length));
    expect(createTotpCode(key, Math.floor(second / 30), 8, algorithm)).toBe(expected);
  });

  it('the secret of one-time codes can be base32 or an otpauth address', () => {
    expect(parseTotpSecret('jbsw-y3dp ehpk3pxp====').key.toString('latin1')).toBe('Hello!\u00de\u00ad\u00be\u00ef');
    expect(parseTotpSecret('otpauth://totp/VPN:admin?secret=JBSWY3DPEHPK3PXP&digits=8&period=60&algorithm=SHA-256')).toMatchObject({
      digits: 8,
      period: 60,
      algorithm: 'sha256',
    });
    const usual = { digits: 6, period: 30, algorithm: 'sha1', key: Buffer.from('Hello!') };
    expect(parseTotpSecret('JBSWY3DPEE')).toEqual(usual);
    expect(parseTotpSecret('otpauth://totp/x?secret=JBSWY3DPEE')).toEqual(usual);
    for (const more of ['digits=7', 'period=5', 'period=300', 'algorithm=sha512', 'algorithm=Sha-1'])
      expect(parseTotpSecret(`otpauth://totp/x?secret=JBSWY3DPEE&${more}`).key).toEqual(usual.key);
    expect(createTotpCode(usual.key, 1)).toBe(createTotpCode(usual.key, 1, 6, 'sha1'));
    expect(createTotpCode(Buffer.from('12345678901234567890'), 37_037_036)).toBe('081804');
  });

  it.each([
    '',
    '= -',
    'JBSWY3D1',
    'otpauth:',
    'otpauth://totp/x',
    'otpauth://[',
    ...['digits=5', 'digits=9', 'period=4', 'period=301', 'period=x', 'algorithm=md5'].map(
      (more) => `otpauth://totp/x?secret=JBSWY3DPEE&${more}`,
    ),
  ])('one-time codes refuse the secret %j without quoting it', (text) => {
    expect(getThrownError(() => parseTotpSecret(text))).toMatchObject({
      code: 'BAD_CONFIG',
      message: 'totpSecret cannot be read. Enter the base32 text that the authenticator was set up with, or its otpauth:// address.',
    });
  });

  const secret = 'otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBV&period=5';
  const { key } = parseTotpSecret(secret);
  /** The clock stands still there; the wait is real. */
  const codesAt = (at: number, coordination: Coordination): Promise<OneTimeCode> =>
    reserveOneTimeCode(secret, coordination, AbortSignal.timeout(15_000), () => at);

  it('simultaneous callers get one-time codes of consecutive time steps', async () => {
    // Just before a new step, so that the second caller really waits.
    const at = 2_000_000 * 5000 - 200;
    const codes = await Promise.all([codesAt(at, processCoordination), codesAt(at, processCoordination)]);
    expect(codes.map((next) => next.code)).toEqual([createTotpCode(key, 1_999_999), createTotpCode(key, 2_000_000)]);
  });

  it('a one-time code can be used by others if the caller is canceled during the reservation', async () => {
    const stop = new AbortController();
    class Slow extends ProcessCoordination {
      override async update(...change: Parameters<ProcessCoordination['update']>): ReturnType<ProcessCoordination['update']> {
        const done = await super.update(...change);
        stop.abort();
        return done;
      }
    }
    const coordination = new Slow();
    const at = 2_000_000 * 5000 + 1;
    await expect(reserveOneTimeCode(secret, coordination, stop.signal, () => at)).rejects.toThrow();
    expect(await codesAt(at, coordination)).toMatchObject({ code: createTotpCode(key, 2_000_000) });
  });

  /** Remembers these steps and cancels a wait. Returns the code or `waits`, and the spent steps. */
  async function after(spent: CoordinationValue, step: number): Promise<[OneTimeCode | 'waits', CoordinationValue | undefined]> {
    const stop = new AbortController();
    let steps: CoordinationValue | undefined;
    class Known extends ProcessCoordination {
      override async update(...[name, change, ms]: Parameters<ProcessCoordination['update']>): ReturnType<ProcessCoordination['update']> {
        expect(ms).toBe(24 * 3_600_000);
        steps = await super.update(name, (present) => change(present ?? spent), ms);
        setImmediate(() => stop.abort());
        return steps;
      }
    }
    const next = reserveOneTimeCode(secret, new Known(), stop.signal, () => step * 5000);
    return [await next.catch(() => 'waits' as const), steps];
  }

  it.each<[string, CoordinationValue, number | undefined | 'waits']>([
    ['nothing was sent', [], undefined],
    ['the one before was sent', [99], undefined],
    ['it was sent', [100], 'waits'],
    ['the one after it was sent', [101], 'waits'],
    ['it was sent, and the clock was set back since', [100, 105], 'waits'],
    ['the clock was set back by two steps', [102], 10_000],
    ['the clock was set back by more', [99, 103, 99], 15_000],
    ['something else is remembered', { 100: true }, undefined],
    ['other things are remembered among them', ['100', 100], 'waits'],
  ])('one-time codes choose the right step when %s', async (_what, spent, clockSetBackMs) => {
    const [next, steps] = await after(spent, 100);
    if (clockSetBackMs === 'waits')
      expect([next, steps]).toEqual(['waits', (spent as unknown[]).filter((step) => typeof step === 'number')]);
    else {
      expect(next).toMatchObject({ code: createTotpCode(key, 100), clockSetBackMs });
      expect(steps).toEqual([...(Array.isArray(spent) ? (spent as unknown[]) : []), 100]);
    }
  });

  it('Session stores the latest 64 used one-time codes for a day', async () => {
    const [, steps] = await after(
      Array.from({ length: 64 }, (_, index) => index),
      100,
    );
    expect(steps).toEqual([...Array.from({ length: 63 }, (_, index) => index + 1), 100]);
  });

  it('a one-time code stays used when another code is released', async () => {
    const spent: unknown[] = [];
    class Seen extends ProcessCoordination {
      override async update(...given: Parameters<ProcessCoordination['update']>): ReturnType<ProcessCoordination['update']> {
        const steps = await super.update(...given);
        spent.push(steps);
        return steps;
      }
    }
    const coordination = new Seen();
    await reserveOneTimeCode(secret, coordination, undefined, () => 100 * 5000);
    const next = await reserveOneTimeCode(secret, coordination, undefined, () => 101 * 5000);
    await next.release();
    expect(spent).toEqual([[100], [100, 101], [100]]);
  });

  it('a canceled caller stops waiting for a one-time code, however long a time step is', async () => {
    const long = 'otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBV&period=300';
    const coordination = new ProcessCoordination();
    await reserveOneTimeCode(long, coordination, undefined, () => 300_000);
    const stop = new AbortController();
    const waiting = reserveOneTimeCode(long, coordination, stop.signal, () => 300_000);
    setImmediate(() => stop.abort());
    await expect(waiting).rejects.toThrow();
  });

  it('no one-time code is reserved for a caller that was already canceled', async () => {
    const coordination = new ProcessCoordination();
    await expect(reserveOneTimeCode(secret, coordination, AbortSignal.abort(), () => 500_000)).rejects.toThrow();
    expect(coordination.size.entries).toBe(0);
  });

  it.concurrent('the next one-time code follows the latest time step, or is the current one after a large clock change', async () => {
    const coordination = new ProcessCoordination();
    const at = 2_000_000 * 5000;
    await codesAt(at, coordination);
    const long = await codesAt(at - 46 * 86_400_000, coordination);
    expect(long).toMatchObject({ code: createTotpCode(key, 2_000_000 - (46 * 86_400) / 5), clockSetBackMs: 46 * 86_400_000 });
    const minute = await codesAt(at - 60_000, coordination);
    expect(minute).toMatchObject({ code: createTotpCode(key, 2_000_000 - 12), clockSetBackMs: 60_000 });
    // After a change of less than a step, the steps in between are already passed, so the next one is used.
    expect(await codesAt(at - 200, coordination)).toMatchObject({ code: createTotpCode(key, 2_000_001), clockSetBackMs: undefined });
  });

  it.concurrent('a caller waits at most two time steps for a one-time code, and then gets an error', async () => {
    const coordination = new ProcessCoordination();
    const at = 2_000_000 * 5000 - 200;
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => codesAt(at, coordination)));
    const codes = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.code] : []));
    expect(codes).toEqual([1_999_999, 2_000_000, 2_000_001].map((step) => createTotpCode(key, step)));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toMatchObject([
      {
        reason: {
          code: 'LOGIN_PAUSED',
          message: expect.stringMatching(
            /^All current one-time codes have been used \(waited 5 s\), and no code is sent twice\. Other logins use the same secret, or the clock/,
          ) as string,
          details: { sent: false },
        },
      },
    ]);
  });

  it('a one-time code that was not sent can be used again by others', async () => {
    const coordination = new ProcessCoordination();
    const at = 2_000_000 * 5000;
    const first = await codesAt(at, coordination);
    await first.release();
    expect((await codesAt(at, coordination)).code).toBe(first.code);
  });
});
