import { describe, expect, it } from 'vitest';
import { LightAbortController } from '../../../src/model/abort';
import { GatewayError } from '../../../src/model/error';
import type { JsonObject } from '../../../src/model/json';
import { CertificateTracker, parseExpiryDays } from '../../../src/watch/certificate-tracker';
import { systemWatchClock } from '../../../src/watch/clock';
import { ClusterTracker } from '../../../src/watch/cluster-tracker';
import { ConfigurationTracker } from '../../../src/watch/configuration-tracker';
import {
  createPollFunction,
  parseWatchFilter,
  getWatchKind,
  WATCH_KINDS,
  type WatchKindDefinition,
  type WatchKindOptions,
  type WatchedGateway,
} from '../../../src/watch/watch-kinds';
import {
  evaluateWatchLimit,
  createWatchLimitKey,
  parseWatchLimits,
  type WatchLimit,
  type WatchLimitState,
} from '../../../src/watch/limits';
import { SessionTracker } from '../../../src/watch/session-tracker';
import { SystemTracker } from '../../../src/watch/system-tracker';
import type { TrackerUpdate, Tracker } from '../../../src/watch/tracker';
import { HealthTracker, LicenseTracker } from '../../../src/watch/limit-trackers';
import { getThrownError } from '../../helpers/simulated-appliance';
import { TestClock } from '../../helpers/watch';

const eventsOf = ({ events }: TrackerUpdate): unknown[] => [...events];

/** The events of each check. A second tracker, restored from the first one's state, must find the same. */
function looks<D>(make: () => Tracker<D>, ...data: D[]): unknown[][] {
  let tracker = make();
  return data.map((one) => {
    const again = make();
    if (tracker.save() !== undefined) {
      again.restore(JSON.parse(JSON.stringify(tracker.save())));
      for (const change of tracker.remainingChanges?.() ?? []) again.apply(JSON.parse(JSON.stringify(change)));
    }
    const look = tracker.update(one);
    expect(again.update(one)).toEqual(look);
    tracker = again;
    return eventsOf(look);
  });
}

/** Checks that a tracker rejects these saved states. */
function refuses(make: () => Tracker<never>, ...saved: unknown[]): void {
  for (const one of saved) expect(() => make().restore(one), JSON.stringify(one)).toThrow('has another shape');
}

describe('the limits of accounts in a watch of sessions', () => {
  const session = (id: string, name: string, address: string): JsonObject => ({
    'session-id': id,
    'active-user-name': name,
    'source-ip': address,
    'authentication-realm': 'Users',
    'user-roles': 'Staff',
  });
  const limits = [
    { name: 'sessions', above: 2 },
    { name: 'addresses', above: 1 },
  ];
  const find = (given: readonly WatchLimit[], ...checks: JsonObject[][]): unknown[] =>
    looks(() => new SessionTracker(undefined, undefined, given), ...checks).map((events) =>
      (events as { event: string; name?: string; account?: string; value?: number; limit?: number }[])
        .filter(({ event }) => event === 'over' || event === 'within')
        .map(({ event, name, account, value, limit }) => [event, name, account, value, limit]),
    );

  it('AccountLimits reports an account once when it exceeds the limit, and once when it is within the limit again', () => {
    const one = session('1', 'Anna', '10.0.0.1');
    const two = session('2', 'anna ', '10.0.0.2');
    const three = session('3', 'ANNA', '10.0.0.2');
    expect(find(limits, [one], [one, two], [one, two, three], [one, two, three], [three], [])).toEqual([
      [],
      [['over', 'addresses', 'Anna', 2, 1]],
      [['over', 'sessions', 'Anna', 3, 2]],
      [],
      [
        ['within', 'sessions', 'ANNA', 1, 2],
        ['within', 'addresses', 'ANNA', 1, 1],
      ],
      [],
    ]);
  });

  it('AccountLimits counts only sessions that match the filter, and lists the sessions of the account', () => {
    const tracker = new SessionTracker({ 'user-roles': 'Staff' }, undefined, [{ name: 'sessions', above: 1 }]);
    tracker.update([]);
    const outsider = { ...session('9', 'ben', '10.0.0.9'), 'user-roles': 'Guests' };
    const { events } = tracker.update([session('1', 'ben', '10.0.0.1'), outsider]);
    expect(events.map(({ event }) => event)).toEqual(['started']);
    const sessions = [session('1', 'ben', '10.0.0.1'), session('2', 'ben', '10.0.0.1')];
    expect(tracker.update([...sessions, outsider]).events.at(-1)).toEqual({
      event: 'over',
      name: 'sessions',
      account: 'ben',
      value: 2,
      limit: 1,
      sessions,
    });
  });

  it('a new or changed limit sets a baseline and reports no account that already exceeds it', () => {
    const both = [session('1', 'ben', '10.0.0.1'), session('2', 'ben', '10.0.0.1')];
    const withoutLimits = new SessionTracker();
    withoutLimits.update(both);
    const tracker = new SessionTracker(undefined, undefined, [{ name: 'sessions', above: 1 }]);
    tracker.restore(JSON.parse(JSON.stringify(withoutLimits.save())));
    expect(tracker.update(both).events).toEqual([]);
    expect(tracker.update([]).events.map(({ event }) => event)).toEqual(['ended', 'ended', 'within']);
  });

  it('AccountLimits accepts only limits named sessions or addresses that have the property above', () => {
    for (const wrong of [
      { name: 'CPU', above: 1 },
      { name: 'sessions', below: 1 },
    ])
      expect(getThrownError(() => new SessionTracker(undefined, undefined, [wrong]))).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringContaining('needs the name sessions or addresses, and above') as string,
      });
    const make = (): SessionTracker => new SessionTracker(undefined, undefined, limits);
    refuses(
      make,
      { rows: [], accounts: [] },
      { rows: [], accounts: { limits: [1], states: [] } },
      { rows: [], accounts: { limits: [], states: [1] } },
    );
    refuses(make, { rows: [], accounts: { limits: [], states: [['a', 'b', 1, 0]] } });
  });
});

describe('evaluateWatchLimit and parseWatchLimits', () => {
  /** The crossings of a limit by consecutive values, such as `above 90`. */
  const crossings = (limit: Omit<WatchLimit, 'name'>, ...values: number[]): (string | undefined)[] => {
    let limitState: WatchLimitState | undefined;
    return values.map((value) => {
      const next = evaluateWatchLimit({ name: 'x', ...limit }, value, limitState);
      ({ limitState } = next);
      return next.crossing && `${next.crossing.event} ${next.crossing.limit}`;
    });
  };
  const no = undefined;

  it.each<[Omit<WatchLimit, 'name'>, number[], (string | undefined)[]]>([
    [{ above: 90 }, [90, 91, 92, 90, 91], [no, 'above 90', no, 'below 90', 'above 90']],
    [{ above: 90, release: 80 }, [91, 85, 81, 80, 90, 91], [no, no, no, 'below 80', no, 'above 90']],
    [{ below: 10 }, [10, 9, 8, 10, 9], [no, 'below 10', no, 'above 10', 'below 10']],
    [{ below: 10, release: 20 }, [9, 15, 19, 20, 10, 9], [no, no, no, 'above 20', no, 'below 10']],
    [{ above: 90, checks: 2 }, [0, 91, 90, 91, 91, 0, 91, 0, 0], [no, no, no, no, 'above 90', no, no, no, 'below 90']],
    [{ above: 0 }, [0, 1, 0], [no, 'above 0', 'below 0']],
  ])('evaluateWatchLimit and parseWatchLimits report the crossings of %j for %j', (limit, values, expected) =>
    expect(crossings(limit, ...values)).toEqual(expected),
  );

  it('createWatchLimitKey identifies a limit by all its properties', () => {
    const all: WatchLimit[] = [
      { name: 'a', above: 1 },
      { name: 'b', above: 1 },
      { name: 'a', below: 1 },
      { name: 'a', above: 2 },
      { name: 'a', above: 1, release: 0 },
      { name: 'a', above: 1, checks: 2 },
    ];
    expect(new Set(all.map(createWatchLimitKey)).size).toBe(all.length);
    expect(createWatchLimitKey({ name: 'a', above: 1, checks: 1 })).toBe(createWatchLimitKey({ name: 'a', above: 1 }));
  });

  it.each<[unknown, string]>([
    [{}, 'limits must be an array such as [{ "name": "CPU-UTILIZATION", "above": 90 }].'],
    [[], 'limits is empty. Enter at least one limit.'],
    [Array.from({ length: 201 }, () => ({ name: 'x', above: 1 })), 'limits has 201 entries; the maximum is 200.'],
    [[{ name: 'x', above: 1 }, 'x'], 'limits[1] must be an object with name and above or below.'],
    [[{ name: 'x', over: 1 }], 'limits[0] has the unknown property over. Use name, above, below, release, checks.'],
    [[{ above: 1 }], 'limits[0] needs a name: the name of the value.'],
    [[{ name: ' ', above: 1 }], 'limits[0] needs a name: the name of the value.'],
    [[{ name: 'x', above: '1' }], 'limits[0] above must be a number.'],
    [[{ name: 'x', below: NaN }], 'limits[0] below must be a number.'],
    [[{ name: 'x', above: 1, release: null }], 'limits[0] release must be a number.'],
    [[{ name: 'x' }], 'limits[0] needs either above or below.'],
    [[{ name: 'x', above: 1, below: 0 }], 'limits[0] needs either above or below.'],
    ...[0, 1.5, 10_001].map(
      (checks) => [[{ name: 'x', above: 1, checks }], 'limits[0] checks must be a whole number from 1 to 10000.'] as [unknown, string],
    ),
    [[{ name: 'x', above: 1, release: 2 }], 'limits[0] release must not be higher than above.'],
    [[{ name: 'x', below: 1, release: 0 }], 'limits[0] release must not be lower than below.'],
  ])('evaluateWatchLimit and parseWatchLimits reject %j with the entry and the reason', (given, words) => {
    expect(getThrownError(() => parseWatchLimits(given))).toMatchObject({ code: 'BAD_CONFIG', message: words, details: { sent: false } });
  });

  it('parseWatchLimits returns valid limits unchanged except for spaces around names', () => {
    const given = [
      { name: ' a ', above: 1, release: 1, checks: 1 },
      { name: 'b', below: 0, release: 0, checks: 10_000 },
      { name: 'c', below: 0, release: 5 },
      { name: 'd', above: 0, release: -5 },
    ];
    expect(parseWatchLimits(given)).toEqual([{ ...given[0], name: 'a' }, ...given.slice(1)]);
    expect(parseWatchLimits(Array.from({ length: 200 }, () => given[1]))).toHaveLength(200);
  });
});

describe('HealthTracker', () => {
  const make =
    (...limits: WatchLimit[]) =>
    () =>
      new HealthTracker(limits);

  it('HealthTracker evaluates each limit separately, whatever name the release uses for the processor load', () => {
    const limits = make({ name: 'CPU-UTILIZATION', above: 90 }, { name: 'USER-COUNT', above: 5, checks: 2 });
    expect(
      looks(
        limits,
        { 'CPU-UTILIZATION': 1, 'USER-COUNT': 6 },
        { 'CPU-UTILIZATION4': 91, 'USER-COUNT': 6 },
        { 'CPU-UTILIZATION': -1, 'CPU-UTILIZATION4': 95, 'USER-COUNT': -1 },
        { 'CPU-UTILIZATION': '7', 'USER-COUNT': 5 },
        { 'CPU-UTILIZATION': 0, 'USER-COUNT': 0 },
      ),
    ).toEqual([
      [],
      [{ event: 'above', name: 'CPU-UTILIZATION', value: 91, limit: 90 }],
      [],
      [],
      [
        { event: 'below', name: 'CPU-UTILIZATION', value: 0, limit: 90 },
        { event: 'below', name: 'USER-COUNT', value: 0, limit: 5 },
      ],
    ]);
    expect(new HealthTracker([{ name: 'CPU-UTILIZATION4', above: 1 }]).update({ 'CPU-UTILIZATION': 2 }).summary).toEqual({
      key: 'above',
      n: 1,
    });
  });

  it('HealthTracker summarizes how many limits are crossed', () => {
    const tracker = make({ name: 'a', above: 1 }, { name: 'b', above: 1 })();
    expect(tracker.update({ a: 1, b: 1 }).summary).toEqual({ key: 'fine' });
    expect(tracker.update({ a: 2, b: 2 }).summary).toEqual({ key: 'above', n: 2 });
    // An unknown value keeps its state.
    expect(tracker.update({}).summary).toEqual({ key: 'above', n: 2 });
  });

  it('HealthTracker starts again for a changed limit and drops the states of removed limits', () => {
    const tracker = make({ name: 'a', above: 1 })();
    tracker.update({ a: 0 });
    const other = make({ name: 'a', above: 2 })();
    other.restore(tracker.save());
    expect(eventsOf(other.update({ a: 5 }))).toEqual([]);
    expect(Object.keys(other.save() as object)).toHaveLength(1);
    expect(eventsOf(other.update({ a: 0 }))).toHaveLength(1);
  });

  it('HealthTracker returns a state change only if the state changes, and can restore it', () => {
    const tracker = make({ name: 'a', above: 1 })();
    expect(tracker.save()).toBeUndefined();
    const [first, same, moved] = [tracker.update({ a: 0 }), tracker.update({ a: 1 }), tracker.update({ a: 2 })];
    expect(first.change).toEqual(
      Object.fromEntries(
        [[expect.any(String), { crossed: false, opposingChecks: 0 }]].map(() => Object.entries(first.change as object)[0] ?? []),
      ),
    );
    expect(same.change).toBeUndefined();
    expect(moved.change).toEqual(tracker.save());
    const other = make({ name: 'a', above: 1 })();
    other.apply(moved.change);
    expect(other.update({ a: 3 })).toMatchObject({ events: [], change: undefined });
    refuses(make(), undefined, 7, [], { a: 1 }, { a: { crossed: 1, opposingChecks: 0 } }, { a: { crossed: true } }, { a: null });
  });
});

describe('LicenseTracker', () => {
  const lease = (...features: JsonObject[]): JsonObject => ({ 'leased-license-counts': { features: { feature: features } } });
  const feature = (name: unknown, total: unknown, ...counts: unknown[]): JsonObject => ({
    name,
    'total-count': total,
    clients: { 'client-info': counts.map((count) => ({ 'leased-count': count })) },
  });

  it('LicenseTracker compares the leased share of one feature or of all features with the limit', () => {
    const any = () => new LicenseTracker([{ name: '*', above: 90, release: 85 }]);
    expect(
      looks(
        any,
        lease(feature('A', 100, 10), feature('B', '1000', 1, '2')),
        lease(feature('A', 100, 50, 41), feature('B', 1000, 901)),
        lease(feature('A', 100, 85), feature('B', 1000, 860)),
      ),
    ).toEqual([
      [],
      [
        { event: 'above', feature: 'A', share: 91, limit: 90 },
        { event: 'above', feature: 'B', share: 90.1, limit: 90 },
      ],
      [{ event: 'below', feature: 'A', share: 85, limit: 85 }],
    ]);
    const one = new LicenseTracker([{ name: 'B', below: 50 }]);
    one.update(lease(feature('A', 10, 9), feature('B', 10, 9)));
    expect(eventsOf(one.update(lease(feature('A', 10, 0), feature('B', 3, 1))))).toEqual([
      { event: 'below', feature: 'B', share: 33.3, limit: 50 },
    ]);
  });

  it('LicenseTracker accepts one, many or no features and ignores invalid ones', () => {
    const n = (data: JsonObject): number | undefined => new LicenseTracker([{ name: '*', above: 90 }]).update(data).summary.n;
    expect(n(lease(feature('A', 3, 1), feature('B', 3, 2)))).toBe(67);
    expect(
      n({
        'leased-license-counts': {
          features: { feature: { name: 'A', 'total-count': 10, clients: { 'client-info': { 'leased-count': 5 } } } },
        },
      }),
    ).toBe(50);
    for (const none of [{}, { features: 'x' }, { features: {} }, { features: { feature: [7, { name: 7, 'total-count': 1 }] } }])
      expect(n({ 'leased-license-counts': none })).toBe(0);
    for (const odd of [
      feature('A', 0, 5),
      feature('A', 'x', 5),
      feature('A', 10, 'x'),
      { name: 'A', 'total-count': 10 },
      { name: 'A', 'total-count': 10, clients: 7 },
      feature('A', 10, undefined),
    ])
      expect(n(lease(odd)), JSON.stringify(odd)).toBe(0);
    for (const wrong of [{}, { 'leased-license-counts': [] }])
      expect(getThrownError(() => n(wrong))).toMatchObject({
        code: 'BAD_RESPONSE',
        message: 'The response of the appliance is not lease information.',
        details: { sent: true },
      });
  });
});

describe('CertificateTracker', () => {
  const DAY = 86_400_000;
  const clock = new TestClock();
  const make = () => new CertificateTracker(clock, [30, 7]);
  const served = (fingerprint256: string, days: number): JsonObject => ({
    fingerprint256,
    subject: 'CN=a',
    issuer: 'CN=b',
    'valid-to': new Date(clock.now() + days * DAY + 1000).toISOString(),
  });
  const expires = (days: number, fingerprint256 = 'A') => ({
    event: 'expires',
    days,
    subject: 'CN=a',
    issuer: 'CN=b',
    'valid-to': served('A', days)['valid-to'],
    fingerprint256,
  });

  it('CertificateTracker reports each configured number of days once, and combines several into one event', () => {
    expect(looks(make, ...[31, 30, 29, 8, 7, -1].map((days) => served('A', days)))).toEqual([[], [expires(30)], [], [], [expires(7)], []]);
    expect(looks(make, served('A', 40), served('A', 5), served('A', 4))).toEqual([[], [expires(5)], []]);
  });

  it('CertificateTracker does not report days that passed before the first check, and starts again for another certificate', () => {
    const renewed = (days: number) => ({
      event: 'renewed',
      before: 'A',
      after: 'B',
      days,
      subject: 'CN=a',
      issuer: 'CN=b',
      'valid-to': served('B', days)['valid-to'],
    });
    expect(looks(make, served('A', 5), served('A', 4), served('B', 90), served('B', 30))).toEqual([
      [],
      [],
      [renewed(90)],
      [expires(30, 'B')],
    ]);
    expect(looks(make, served('A', 5), served('B', 5))).toEqual([[], [renewed(5), expires(5, 'B')]]);
    expect(make().update(served('A', 12)).summary).toEqual({ key: 'days', n: 12 });
  });

  it('CertificateTracker reports each configured number of days once even if the clock jumps forward and back', () => {
    const jumping = new TestClock();
    const validTo = new Date(jumping.now() + 40 * DAY).toISOString();
    const tracker = new CertificateTracker(jumping, [30, 7]);
    const check = () => tracker.update({ fingerprint256: 'A', subject: 'CN=a', issuer: 'CN=b', 'valid-to': validTo }).events.length;
    expect(check()).toBe(0);
    jumping.jump(15 * DAY);
    expect(check()).toBe(1);
    jumping.jump(-15 * DAY);
    expect(check()).toBe(0);
    jumping.jump(15 * DAY);
    expect(check()).toBe(0);
  });

  it('CertificateTracker rejects an unreadable certificate and an invalid saved state', () => {
    for (const odd of [{}, { ...served('A', 1), fingerprint256: 7 }, { ...served('A', 1), 'valid-to': 'soon' }])
      expect(getThrownError(() => make().update(odd))).toMatchObject({
        code: 'BAD_RESPONSE',
        message: 'The TLS handshake showed no readable certificate.',
        details: { sent: true },
      });
    refuses(make, undefined, { fingerprint: 'A' }, { fingerprint: 7, reportedDays: [] }, { reportedDays: [] });
  });

  it('CertificateTracker accepts only whole numbers of days', () => {
    expect(parseExpiryDays(['30', 7, 0, 10_000])).toEqual([30, 7, 0, 10_000]);
    expect(parseExpiryDays(Array.from({ length: 100 }, () => 1))).toHaveLength(100);
    for (const wrong of [[], ['soon'], [1.5], [-1], [10_001], Array.from({ length: 101 }, () => 1)])
      expect(getThrownError(() => parseExpiryDays(wrong))).toMatchObject({
        code: 'BAD_CONFIG',
        message: 'days must be whole numbers from 0 to 10000, such as 30,14,7,3,1.',
        details: { sent: false },
      });
  });
});

describe('ClusterTracker', () => {
  const make = () => new ClusterTracker();
  const member = (name: unknown, notes: unknown = '', enabled: unknown = 'true') => ({
    name,
    enabled,
    notes,
    'status-code': 1,
    'ip-address': '10.0.0.1',
  });
  const state = (notes = '', enabled = true) => ({ enabled, notes, 'status-code': '1' });

  it('ClusterTracker reports members that joined, left or changed, by name', () => {
    expect(
      looks<JsonObject>(
        make,
        { members: [member('a'), member('b'), 'odd', null] },
        { members: [member('a', null, 'True'), member('b', 'failed'), member('__proto__'), member('constructor')] },
        { members: [member('b', 'failed', false), member('__proto__'), member('constructor')] },
      ),
    ).toEqual([
      [],
      [
        { event: 'member', name: 'b', before: state(), after: state('failed') },
        ...['__proto__', 'constructor'].map((name) => ({ event: 'joined', name, after: state() })),
      ],
      [
        { event: 'left', name: 'a', before: state() },
        { event: 'member', name: 'b', before: state('failed'), after: state('failed', false) },
      ],
    ]);
  });

  it('ClusterTracker reports new owners of the virtual addresses, and both addresses in one event if they moved together', () => {
    const owned = (external?: unknown, internal?: unknown): JsonObject => ({
      members: [],
      'external-vip-owner': external,
      'internal-vip-owner': internal,
    });
    const owner = (before: string, after: string, ...addresses: string[]) => ({ event: 'owner', before, after, addresses });
    expect(
      looks(make, owned('a', 'a'), owned('b', 'b'), owned('a', 'b'), owned('b', 'a'), owned('', 7), owned('b', 'c'), owned('b', 'd')),
    ).toEqual([
      [],
      [owner('a', 'b', 'external', 'internal')],
      [owner('b', 'a', 'external')],
      [owner('a', 'b', 'external'), owner('b', 'a', 'internal')],
      [],
      [],
      [owner('c', 'd', 'internal')],
    ]);
  });

  it('ClusterTracker reads a single member that comes without an array, and switches in other spellings', () => {
    const changes = looks<JsonObject>(
      make,
      { members: member('a', '', 'enabled') },
      { members: [member('a', '', 1)] },
      { members: member('a', '', '0') },
    );
    expect(changes).toEqual([[], [], [{ event: 'member', name: 'a', before: state(), after: state('', false) }]]);
  });

  it('ClusterTracker reports the number of members in its summary, and rejects malformed data', () => {
    expect(make().update({ members: [member('a'), member('b')] }).summary).toEqual({ key: 'members', n: 2 });
    expect(getThrownError(() => make().update({}))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: 'The response of the appliance is not a cluster.',
      details: { sent: true },
    });
    refuses(make, undefined, { members: {} }, { owners: {} }, { members: { a: 1 }, owners: {} }, { members: [], owners: {} });
  });
});

describe('SystemTracker', () => {
  const make = () => new SystemTracker();
  const info = (more: JsonObject = {}): JsonObject => ({
    'system-information': { 'os-version': '1', 'serial-number': 's', 'host-name': 'h', ...more },
  });

  it('SystemTracker reports a new release, serial number and host name, and ignores missing fields', () => {
    const second = { 'os-version': '2' };
    const other = { ...second, 'serial-number': 't', 'host-name': 'i' };
    const without = { ...other, 'os-version': '', 'host-name': 7 };
    expect(looks(make, info(), info(second), info(other), info(without), info({ ...other, 'os-version': '3' }))).toEqual([
      [],
      [{ event: 'release', before: '1', after: '2' }],
      [
        { event: 'replaced', before: 's', after: 't' },
        { event: 'renamed', before: 'h', after: 'i' },
      ],
      [],
      [{ event: 'release', before: '2', after: '3' }],
    ]);
  });

  it('SystemTracker summarizes whether something changed and rejects other data', () => {
    const tracker = make();
    expect([tracker.update(info()), tracker.update(info({ 'host-name': 'i' }))].map(({ summary }) => summary)).toEqual([
      { key: 'same' },
      { key: 'changed' },
    ]);
    expect(getThrownError(() => make().update({}))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: 'The response of the appliance is not system information.',
      details: { sent: true },
    });
    refuses(make, undefined, [], { release: 7 });
  });
});

describe('SessionTracker', () => {
  const make = () => new SessionTracker();
  const session = (id: unknown, more: JsonObject = {}): JsonObject => ({
    'session-id': id,
    'active-user-name': 'j.doe',
    'source-ip': '10.0.0.1',
    'sign-in-time-micro': 5,
    'user-roles': 'Users',
    'authentication-realm': 'R',
    'agent-type': 'x',
    ...more,
  });
  const told = (id: string, more: JsonObject = {}) => {
    const entries = Object.entries(session(id, { 'sign-in-time-micro': '5', ...more }));
    return Object.fromEntries(entries.filter(([name]) => name !== 'agent-type'));
  };

  it('SessionTracker reports ended sessions first, then changed ones, then started ones', () => {
    expect(
      looks<unknown>(
        make,
        [session('a'), session('b')],
        [session('b', { 'source-ip': '10.0.0.2', 'user-roles': 'Staff' }), session('c')],
        [session('b', { 'source-ip': null }), session('c', { 'agent-type': 'y', 'active-user-name': 'k' })],
        [],
      ),
    ).toEqual([
      [],
      [
        { event: 'ended', session: told('a') },
        {
          event: 'changed',
          session: session('b', { 'source-ip': '10.0.0.2', 'user-roles': 'Staff' }),
          before: { 'source-ip': '10.0.0.1', 'user-roles': 'Users' },
        },
        { event: 'started', session: session('c') },
      ],
      [{ event: 'changed', session: session('b', { 'source-ip': null }), before: { 'source-ip': '10.0.0.2', 'user-roles': 'Staff' } }],
      [
        { event: 'ended', session: told('b', { 'source-ip': '' }) },
        { event: 'ended', session: told('c', { 'active-user-name': 'k' }) },
      ],
    ]);
  });

  it('SessionTracker applies the filter to new sessions only', () => {
    const filtered = () => new SessionTracker({ 'source-ip': '10.0.0.0/8' });
    const away = session('a', { 'source-ip': '192.0.2.1' });
    expect(looks<unknown>(filtered, [session('a'), session('b', { 'source-ip': '192.0.2.1' })], [away], [])).toEqual([
      [],
      [{ event: 'changed', session: away, before: { 'source-ip': '10.0.0.1' } }],
      [{ event: 'ended', session: told('a', { 'source-ip': '192.0.2.1' }) }],
    ]);
    expect(getThrownError(() => new SessionTracker({ nonsense: 'x' }))?.code).toBe('BAD_INPUT');
  });

  it('SessionTracker returns at each check how its stored state changed', () => {
    const tracker = make();
    expect(tracker.save()).toBeUndefined();
    expect(tracker.update([])).toEqual({ events: [], change: { add: [], gone: [] }, summary: { key: 'sessions', n: 0 } });
    expect(tracker.save()).toEqual([]);
    expect(tracker.update([]).change).toBeUndefined();
    const row = ['a', 'j.doe', '10.0.0.1', '5', 'Users', 'R'];
    expect(tracker.update([session('a')])).toMatchObject({ change: { add: [row], gone: [] }, summary: { n: 1 } });
    expect(tracker.update([session('a', { 'agent-type': 'y' })]).change).toBeUndefined();
    expect(tracker.update([session('b')]).change).toEqual({ add: [['b', ...row.slice(1)]], gone: ['a'] });
    expect(tracker.save()).toEqual([['b', ...row.slice(1)]]);
    const other = make();
    other.apply({ add: [row], gone: [] });
    other.apply({ add: [['b', ...row.slice(1)]], gone: ['a', 'unknown'] });
    expect(other.save()).toEqual(tracker.save());
  });

  it('SessionTracker stores repeated texts once and does not mix them up', () => {
    const tracker = make();
    const roles = (...names: string[]): JsonObject[] =>
      names.map((name, index) => session(String(index), { 'user-roles': name, 'authentication-realm': `of ${name}` }));
    const rolesKept = (): unknown[] => (tracker.save() as string[][]).map((row) => [row[4], row[5]]);
    for (const names of [
      ['A', 'A', 'B'],
      ['B', 'A', 'A'],
      ['C', 'C', 'C'],
      ['A', 'D', 'C'],
      ['D', 'A', 'E'],
      ['F', 'G', 'H', 'A'],
    ]) {
      tracker.update(roles(...names));
      expect(rolesKept().sort()).toEqual(names.map((name) => [name, `of ${name}`]).sort());
    }
    // An unchanged list is not a change of the state.
    expect(tracker.update(roles('F', 'G', 'H', 'A')).change).toBeUndefined();
    tracker.restore([['x', '', '', '', 'A', 'of A']]);
    expect(tracker.save()).toEqual([['x', '', '', '', 'A', 'of A']]);
    expect(
      eventsOf(tracker.update([session('x', { 'user-roles': ['A', 'B'], 'source-ip': undefined, 'active-user-name': 'a\0b' })])),
    ).toMatchObject([{ event: 'changed', before: { 'user-roles': 'A' } }]);
    expect(tracker.save()).toEqual([['x', 'a b', '', '5', '["A","B"]', 'R']]);
  });

  it('SessionTracker rejects invalid saved states', () => {
    const row = ['a', '', '', '', '', ''];
    refuses(make, undefined, {}, [row.slice(1)], [[...row, '']], [[...row.slice(1), 7]], ['a']);
    for (const odd of [undefined, [], { add: [] }, { gone: [] }, { add: [row, 'b'], gone: [] }, { add: [row], gone: ['a', 7] }])
      expect(() => make().apply(odd)).toThrow('has another shape');
  });
});

describe('ConfigurationTracker', () => {
  const make = () => new ConfigurationTracker('vpn-1');
  const ROOT = '/api/v1/configuration';
  const texts = (resources: Record<string, unknown>, ...forbidden: string[]) => ({
    resources: new Map(Object.entries(resources).map(([name, value]) => [`${ROOT}/${name}`, JSON.stringify(value)])),
    forbidden: new Set(forbidden.map((name) => `${ROOT}/${name}`)),
  });

  it('ConfigurationTracker reports a difference with a text, and returns the change of its state', () => {
    const tracker = make();
    expect(tracker.save()).toBeUndefined();
    expect([...tracker.remainingChanges()]).toEqual([]);
    const first = tracker.update(texts({ a: { x: 1 }, b: { x: 1 } }));
    expect(first).toEqual({
      events: [],
      change: {
        set: [
          [`${ROOT}/a`, '{"x":1}'],
          [`${ROOT}/b`, '{"x":1}'],
        ],
        gone: [],
        forbidden: [],
      },
      summary: { key: 'same' },
    });
    const look = tracker.update(texts({ a: { x: 2 }, c: { x: 1 } }));
    expect(look).toMatchObject({
      events: [{ event: 'changed', equal: false, added: [`${ROOT}/c`], removed: [`${ROOT}/b`] }],
      change: {
        set: [
          [`${ROOT}/a`, '{"x":2}'],
          [`${ROOT}/c`, '{"x":1}'],
        ],
        gone: [`${ROOT}/b`],
        forbidden: [],
      },
      summary: { key: 'changed' },
    });
    expect(look.envelope?.['text']).toMatch(/^vpn-1 differs from the last check: 1 added, 1 removed, 1 changed\./);
    expect(tracker.update(texts({ a: { x: 2 }, c: { x: 1 } }))).toEqual({ events: [], change: undefined, summary: { key: 'same' } });
  });

  it('ConfigurationTracker treats resources that could not be read in this check as unchanged', () => {
    const whole = texts({ a: { x: 1 }, 'b/one': { x: 1 }, bc: { x: 1 } });
    const found = looks(
      make,
      whole,
      texts({ a: { x: 1 }, bc: { x: 1 } }, 'b'),
      whole,
      texts({ a: { x: 1 }, 'b/one': { x: 2 }, bc: { x: 1 } }),
    );
    expect(found.slice(0, 3)).toEqual([[], [], []]);
    expect(found[3]).toMatchObject([{ changed: [{ path: `${ROOT}/b/one`, before: 1, after: 2 }] }]);
    const tracker = make();
    tracker.update(whole);
    expect(tracker.update(texts({ a: { x: 1 }, bc: { x: 1 } }, 'b')).change).toEqual({ set: [], gone: [], forbidden: [`${ROOT}/b`] });
    expect(tracker.update(texts({ a: { x: 1 }, bc: { x: 1 } }, 'b')).change).toBeUndefined();
    expect(tracker.update(texts({ a: { x: 1 }, bc: { x: 1 } }, 'd')).change).toMatchObject({
      gone: [`${ROOT}/b/one`],
      forbidden: [`${ROOT}/d`],
    });
  });

  it('ConfigurationTracker saves its state in lines of at most 500 resources', () => {
    for (const [count, lines] of [
      [0, []],
      [499, [499]],
      [500, [500]],
      [1001, [500, 500, 1]],
    ] as const) {
      const tracker = make();
      tracker.update(texts(Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, index])), 'f'));
      expect(tracker.save()).toEqual({ set: [], gone: [], forbidden: [`${ROOT}/f`] });
      const rest = [...tracker.remainingChanges()] as { set: unknown[]; gone: unknown[]; forbidden: unknown[] }[];
      expect(rest.map(({ set }) => set.length)).toEqual(lines);
      for (const line of rest) expect([line.gone, line.forbidden]).toEqual([[], [`${ROOT}/f`]]);
    }
  });

  it('ConfigurationTracker rejects invalid saved states and replaces its state with a restored one', () => {
    refuses(
      make,
      undefined,
      [],
      {},
      { set: [['a']], gone: [], forbidden: [] },
      { set: [], gone: [7], forbidden: [] },
      { set: [], gone: [], forbidden: 'f' },
      { set: {}, gone: [], forbidden: [] },
      { set: [['a', 7]], gone: [], forbidden: [] },
    );
    const tracker = make();
    tracker.update(texts({ a: 1 }));
    tracker.restore({ set: [[`${ROOT}/b`, '1']], gone: [], forbidden: [] });
    tracker.apply({ set: [[`${ROOT}/c`, '1']], gone: [`${ROOT}/b`], forbidden: [`${ROOT}/f`] });
    expect([...tracker.remainingChanges()]).toEqual([{ set: [[`${ROOT}/c`, '1']], gone: [], forbidden: [`${ROOT}/f`] }]);
  });
});

describe('WATCH_KINDS', () => {
  const kinds: Record<string, WatchKindDefinition> = WATCH_KINDS;
  const clock = new TestClock();

  it.each<[string, string, WatchKindOptions, JsonObject | undefined, unknown]>([
    ['sessions', 'sessions.list', {}, undefined, null],
    ['sessions', 'sessions.list', { filter: { 'source-ip': '10.0.0.1' } }, undefined, { 'source-ip': '10.0.0.1' }],
    ['health', 'system.health', {}, { status: 'all' }, undefined],
    ['system', 'system.info', {}, undefined, undefined],
    ['cluster', 'cluster.status', {}, undefined, undefined],
    ['license', 'license.lease-info', {}, undefined, undefined],
    ['certificate', 'certificates.served', {}, undefined, undefined],
    ['configuration', 'snapshot.take', {}, {}, [null, null]],
    ['configuration', 'snapshot.take', { path: 'users', ignore: ['x'] }, { path: 'users', ignore: ['x'] }, ['users', ['x']]],
    ['audit', 'audit.run', { rules: 'r.yaml', off: ['a'] }, { rules: 'r.yaml', off: ['a'] }, { rules: 'r.yaml', off: ['a'] }],
    ['audit', 'audit.run', { exceptions: 'e.yaml' }, { exceptions: 'e.yaml' }, { exceptions: 'e.yaml' }],
  ])('a watch of %s reads %s', (name, operation, options, input, identity) => {
    const kind = getWatchKind(name);
    expect([kind.operation, kind.input?.(options), kind.identity?.(options)]).toEqual([operation, input, identity]);
    expect(kind.createTracker(options, clock, 'vpn').save()).toBeUndefined();
    expect(kind.defaultIntervalSeconds).toBe({ configuration: 3600, audit: 86_400 }[name]);
  });

  it('WATCH_KINDS finds kinds by name and checks their options', () => {
    for (const odd of ['weather', 'toString', 7, undefined])
      expect(getThrownError(() => getWatchKind(odd))).toMatchObject({
        code: 'BAD_CONFIG',
        message: 'watch must be one of sessions, health, system, cluster, license, certificate, configuration, audit.',
        details: { sent: false },
      });
    for (const [name, options] of [
      ['sessions', { filter: { odd: 'x' } }],
      ['health', { limits: [] }],
      ['license', { limits: [] }],
      ['certificate', { days: [] }],
      ['configuration', { ignore: [''] }],
    ] as const)
      expect(getThrownError(() => getWatchKind(name).createTracker(options, clock, 'vpn'))?.code, name).toMatch(/^BAD_/);
  });

  it('WATCH_KINDS defines default limits and default expiry days', () => {
    const beyond = (name: string, ...data: JsonObject[]): unknown[] => {
      const tracker = getWatchKind(name).createTracker({}, clock, 'vpn');
      return data.flatMap((one) => eventsOf(tracker.update(one)));
    };
    const cpu = (...values: number[]): unknown[] => beyond('health', ...values.map((value) => ({ 'CPU-UTILIZATION': value })));
    expect(cpu(90, 91, 91, 91, 81, 81, 81, 80, 80, 80)).toMatchObject([
      { event: 'above', value: 91, limit: 90 },
      { event: 'below', value: 80, limit: 80 },
    ]);
    const leased = (...counts: number[]): unknown[] =>
      beyond(
        'license',
        ...counts.map((count) => ({
          'leased-license-counts': {
            features: { feature: { name: 'A', 'total-count': 100, clients: { 'client-info': { 'leased-count': count } } } },
          },
        })),
      );
    expect(leased(90, 91, 86, 85)).toMatchObject([
      { event: 'above', share: 91, limit: 90 },
      { event: 'below', share: 85, limit: 85 },
    ]);
    const days = (left: number): JsonObject => ({
      fingerprint256: 'A',
      'valid-to': new Date(clock.now() + left * 86_400_000 + 1000).toISOString(),
    });
    expect(beyond('certificate', ...[31, 30, 14, 7, 3, 1].map(days))).toHaveLength(5);
  });

  it('the watch of a cluster treats a missing cluster as data, not as an error', async () => {
    const asked: unknown[] = [];
    let answer: () => unknown = () => undefined;
    const watched = {
      name: 'vpn',
      run: (...given: unknown[]) => (asked.push(given.slice(0, 2)), Promise.resolve().then(answer)),
      readConfiguration: (...given: unknown[]) => (asked.push(given.slice(0, 2)), Promise.resolve({ data: asked.length })),
    } as unknown as WatchedGateway;
    const ask = (name: string, input: JsonObject = {}) =>
      createPollFunction(watched, kinds[name] as WatchKindDefinition, input)(new LightAbortController());
    answer = () => 'outcome';
    expect(await ask('health', { status: 'all' })).toBe('outcome');
    expect(asked.splice(0)).toEqual([['system.health', { status: 'all' }]]);
    const failing = (code: 'NOT_FOUND' | 'TIMEOUT', cause?: object) => () => {
      throw Object.assign(new GatewayError(code, 'x'), { cause });
    };
    answer = failing('NOT_FOUND', { ok: false });
    expect(await ask('cluster')).toEqual({ data: { members: [] }, many: null, envelope: { ok: false }, streamed: false });
    expect(
      getWatchKind('cluster')
        .createTracker({}, clock, 'vpn')
        .update((await ask('cluster')).data).summary,
    ).toEqual({ key: 'members', n: 0 });
    await expect(ask('system')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    answer = failing('NOT_FOUND');
    await expect(ask('cluster')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    answer = failing('TIMEOUT', { ok: false });
    await expect(ask('cluster')).rejects.toMatchObject({ code: 'TIMEOUT' });
    answer = () => {
      throw new Error('odd');
    };
    await expect(ask('cluster')).rejects.toThrow('odd');
    asked.length = 0;
    const again = createPollFunction(watched, kinds['configuration'] as WatchKindDefinition, { path: 'users' });
    for (let time = 0; time < 2; time++) await again(new LightAbortController());
    // The second check gets the tree of the first one.
    expect(asked).toEqual([
      [{ path: 'users' }, undefined],
      [{ path: 'users' }, 1],
    ]);
  });

  it('a watch uses the clock of the machine by default', async () => {
    const before = Date.now();
    expect(systemWatchClock.now()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(systemWatchClock.monotonic() - performance.now())).toBeLessThan(1000);
    const random = systemWatchClock.random();
    expect(random >= 0 && random < 1).toBe(true);
    const done: string[] = [];
    systemWatchClock.schedule(1, () => done.push('taken back'))();
    await new Promise<void>((resolve) => {
      systemWatchClock.schedule(2, () => {
        done.push('done');
        resolve();
      });
    });
    expect(done).toEqual(['done']);
  });
});

it('parseWatchFilter accepts an object or undefined', () => {
  expect(parseWatchFilter(undefined)).toBeUndefined();
  expect(parseWatchFilter({ a: 1 })).toEqual({ a: 1 });
  for (const odd of [null, [], 'x'])
    expect(getThrownError(() => parseWatchFilter(odd))).toMatchObject({
      code: 'BAD_CONFIG',
      message: 'filter must be an object such as { "authentication-realm": "Contractors" }.',
      details: { sent: false },
    });
});
