import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { BackOff, parseRetryAfterMs } from '../../../src/login/back-off';
import { GatewayError } from '../../../src/model/error';
import type { ErrorCode } from '../../../src/model/error-codes';
import { ProcessCoordination } from '../../../src/model/process-coordination';
import { checkSettings, type Settings } from '../../../src/model/settings';
import { expectFailure, settingsFor } from '../../helpers/simulated-appliance';

const START = Date.parse('2026-11-21T08:00:00.250Z');

/** Runs pauses on a fake system clock. */
function clocked() {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  onTestFinished(() => void vi.useRealTimers());
  const coordination = new ProcessCoordination(() => Date.now());
  const of = (more: Partial<Settings> = {}): BackOff =>
    new BackOff(checkSettings(settingsFor({ url: 'https://vpn.example.com' }, more)), coordination);
  const pass = (seconds: number): void => void vi.setSystemTime(Date.now() + seconds * 1000);
  return { of, pass };
}

const error = (code: ErrorCode, details: object = { sent: true }): GatewayError => new GatewayError(code, 'x', details);

/** Remaining pause in seconds; 0 without a pause. */
async function pausedFor(backOff: BackOff): Promise<number> {
  const refusal = await backOff.throwIfPaused().then(
    () => undefined,
    (thrown: unknown) => thrown as GatewayError,
  );
  return (refusal?.details.retryAfterMs ?? 0) / 1000;
}

describe('BackOff after a failed login', () => {
  it.each<[ErrorCode, number]>([
    ['LOGIN_REJECTED', 60],
    ['FORBIDDEN', 60],
    ['NOT_FOUND', 5],
    ['APPLIANCE_ERROR', 5],
    ['BAD_RESPONSE', 5],
    ['TIMEOUT', 5],
    ['CONNECTION', 5],
    ['TLS', 5],
    ['LIMIT', 5],
    ['ABORTED', 0],
    ['BAD_CONFIG', 0],
    ['LOGIN_PAUSED', 0],
    ['OUTCOME_UNKNOWN', 0],
  ])('BackOff after %s pauses for %i s', async (code, seconds) => {
    const { of } = clocked();
    await of().recordFailure(error(code));
    expect(await pausedFor(of())).toBe(seconds);
  });

  it('BackOff does not pause logins if no request was sent', async () => {
    const { of } = clocked();
    await of().recordFailure(error('CONNECTION', { sent: false }));
    expect(await pausedFor(of())).toBe(0);
  });

  it('BackOff pauses only the account that failed', async () => {
    const { of } = clocked();
    await of().recordFailure(error('LOGIN_REJECTED'));
    expect(await pausedFor(of({ username: 'other' }))).toBe(0);
    expect(await pausedFor(of({ password: 'changed' }))).toBe(0);
    expect(await pausedFor(of({ url: 'https://vpn.example.com/' }))).toBe(60);
  });

  it('BackOff doubles each pause up to 15 minutes and never shortens a pause', async () => {
    const { of, pass } = clocked();
    for (const seconds of [60, 120, 240, 480, 900, 900]) {
      await of().recordFailure(error('LOGIN_REJECTED'));
      expect(await pausedFor(of())).toBe(seconds);
      pass(seconds);
      expect(await pausedFor(of())).toBe(0);
    }
    await of().recordFailure(error('CONNECTION'));
    expect(await pausedFor(of())).toBe(900);
  });

  it('BackOff resets the pause length after an accepted key and after a day', async () => {
    const { of, pass } = clocked();
    await of().recordFailure(error('TIMEOUT'));
    await of().recordFailure(error('TIMEOUT'));
    expect(await pausedFor(of())).toBe(10);
    await of().recordSuccess();
    expect(await pausedFor(of())).toBe(0);
    await of().recordFailure(error('TIMEOUT'));
    expect(await pausedFor(of())).toBe(5);
    pass(86_399);
    await of().recordFailure(error('TIMEOUT'));
    expect(await pausedFor(of())).toBe(10);
    pass(86_400);
    await of().recordFailure(error('TIMEOUT'));
    expect(await pausedFor(of())).toBe(5);
  });

  it('BackOff respects a longer Retry-After up to 15 minutes', async () => {
    for (const [asked, seconds] of [
      [1, 5],
      [30, 30],
      [3600, 900],
    ]) {
      const { of } = clocked();
      await of().recordFailure(error('APPLIANCE_ERROR', { sent: true, retryAfterMs: (asked ?? 0) * 1000 }));
      expect(await pausedFor(of())).toBe(seconds);
    }
  });
});

describe('BackOff after a refused fresh key', () => {
  it('BackOff doubles the pause after repeated refused keys, and starts again at 5 seconds after a quiet time', async () => {
    const { of, pass } = clocked();
    await of().pause('UNAUTHORIZED', 401);
    expect(await pausedFor(of())).toBe(5);
    await of().recordSuccess();
    expect(await pausedFor(of())).toBe(5);
    pass(5);
    await of().pause('UNAUTHORIZED', 401);
    expect(await pausedFor(of())).toBe(10);
    pass(39.9);
    await of().pause('UNAUTHORIZED', 401);
    expect(await pausedFor(of())).toBe(20);
    pass(80);
    await of().pause('UNAUTHORIZED', 401);
    expect(await pausedFor(of())).toBe(5);
  });

  it('BackOff reports a refused login before a refused key if both cause a pause', async () => {
    const { of } = clocked();
    await of().pause('UNAUTHORIZED', 401);
    await of().recordFailure(error('LOGIN_REJECTED', { sent: true, status: 401 }));
    expect((await expectFailure(of().throwIfPaused())).message).toMatch(/refused these credentials/);
  });
});

describe('BackOff after a futile login for a 403', () => {
  it('BackOff prevents logins after a futile one for ten minutes, at this appliance only', async () => {
    const { of, pass } = clocked();
    expect(await of().canRenewAfterForbidden()).toBe(true);
    await of().recordFutileRenewal();
    expect(await of({ username: 'other' }).canRenewAfterForbidden()).toBe(false);
    expect(await of({ url: 'https://other.example.com' }).canRenewAfterForbidden()).toBe(true);
    expect(await of({ url: 'https://vpn.example.com/prefix' }).canRenewAfterForbidden()).toBe(true);
    pass(599);
    expect(await of().canRenewAfterForbidden()).toBe(false);
    pass(1);
    expect(await of().canRenewAfterForbidden()).toBe(true);
    expect(await pausedFor(of())).toBe(0);
  });
});

describe('BackOff during a pause', () => {
  it.each<[ErrorCode, number | undefined, RegExp]>([
    [
      'LOGIN_REJECTED',
      401,
      /^The appliance refused these credentials moments ago \(401\), and accounts lock\. No login is tried for another 60 s \(until 2026-11-21T08:01:00Z\), or until you change the login settings\.$/,
    ],
    ['LOGIN_REJECTED', undefined, /^The appliance refused these credentials moments ago, and accounts lock\./],
    ['UNAUTHORIZED', 401, /^The appliance refused a key that it had issued just before\. No login is tried for another 5 s/],
    ['CONNECTION', undefined, /^The last login ended without a key \(CONNECTION\)\. No login is tried/],
    ['APPLIANCE_ERROR', 503, /^The last login ended without a key \(APPLIANCE_ERROR, status 503\)\./],
  ])('BackOff explains reason, end and remedy for %s %s', async (code, status, words) => {
    const { of } = clocked();
    await of().pause(code, status);
    const refusal = await expectFailure(of().throwIfPaused());
    expect(refusal).toMatchObject({ code: 'LOGIN_PAUSED', details: { sent: false, extra: {} } });
    expect(refusal.message).toMatch(words);
    const { pausedUntil, pausedBecause } = refusal.details.extra as Record<string, unknown>;
    expect([String(pausedUntil), String(pausedBecause)]).toEqual([expect.stringMatching(/^2026-11-21T08:0[01]:\d\dZ$/), code]);
  });

  it('BackOff reports the login step that still waits for a code', async () => {
    const { of } = clocked();
    await of().pause('SECOND_FACTOR_REQUIRED', 200);
    const refusal = await expectFailure(of().throwIfPaused('r1'));
    expect(refusal).toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', details: { sent: false, resumeId: 'r1' } });
    expect(refusal.message).toMatch(
      /^The appliance asked for a step that the settings cannot answer\. No login is tried for another 60 s .*; change the second factor there\.$/,
    );
    expect((await expectFailure(of().throwIfPaused())).details).not.toHaveProperty('resumeId');
  });

  it('BackOff reports a remaining time between one second and the full pause, however the clock is set', async () => {
    const { of, pass } = clocked();
    await of().pause('LOGIN_REJECTED', 401);
    pass(20);
    expect(await pausedFor(of())).toBe(40);
    pass(39.5);
    expect(await pausedFor(of())).toBe(1);
    const coordination = new ProcessCoordination(() => 0);
    const fixed = new BackOff(checkSettings(settingsFor({ url: 'https://vpn.example.com' })), coordination);
    await fixed.pause('LOGIN_REJECTED', 401);
    pass(-86_400);
    expect(await pausedFor(fixed)).toBe(60);
    pass(2 * 86_400);
    expect(await pausedFor(fixed)).toBe(1);
  });

  it('BackOff ignores stored values of another version', async () => {
    const coordination = new ProcessCoordination(() => 0);
    const settings = checkSettings(settingsFor({ url: 'https://vpn.example.com' }));
    const backOff = new BackOff(settings, coordination);
    const remembered = vi.spyOn(coordination, 'get');
    for (const odd of ['text', 17, true]) {
      remembered.mockResolvedValue(odd);
      await backOff.throwIfPaused();
    }
    remembered.mockResolvedValue({ until: 'x', ms: '5000', code: 5, status: '401' });
    expect((await expectFailure(backOff.throwIfPaused())).message).toMatch(/^The last login ended without a key \(\)\. .* another 1 s /);
    remembered.mockResolvedValue({ until: Date.now() + 900_000, ms: 'x' });
    expect(await pausedFor(backOff)).toBe(5);
  });
});

describe('parseRetryAfterMs', () => {
  const now = Date.UTC(2026, 10, 20, 8, 0, 0);

  it.each<[string | undefined, number | undefined]>([
    ['0', 0],
    ['1', 1000],
    [' 30 ', 30_000],
    ['9999999999', 9_999_999_999_000],
    ['99999999999', undefined],
    ['30s', undefined],
    ['x30', undefined],
    ['-1', undefined],
    ['', undefined],
    [undefined, undefined],
    ['Fri, 20 Nov 2026 08:02:00 GMT', 120_000],
    ['Friday, 20-Nov-26 08:02:00 GMT', 120_000],
    ['Fri, 20 Nov 2026 07:59:00 GMT', 0],
    ['fri, 20 Nov 2026 08:02:00 GMT', undefined],
    ['FRI, 20 Nov 2026 08:02:00 GMT', undefined],
    ['20 Nov 2026 08:02:00 GMT', undefined],
    [' Fri, 20 Nov 2026 08:02:00 GMT', 120_000],
    ['Friends', undefined],
  ])('parseRetryAfterMs parses %j to %s', (header, ms) => expect(parseRetryAfterMs(header, now)).toBe(ms));
});
