import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/model/json';
import { selfSigned } from '../../../src/simulator';
import {
  startTestSimulator,
  listRequests,
  getThrownCode,
  gatewayFor,
  isInformationRequest,
  listRequestLines,
  startSimulatorWithGateway,
} from '../../helpers/simulated-appliance';
import { createWatch, TestClock, startWatch } from '../../helpers/watch';

const health = (values: JsonObject) => ({
  match: ({ path }: { path: string }) => path.includes('healthcheck'),
  body: JSON.stringify(values),
});

/** A page in place of the response, which is not retried. A cut connection would be. */
const MAINTENANCE = { times: Infinity, match: isInformationRequest, body: '<html>Maintenance</html>' };

describe('a watch of sessions', () => {
  it('a watch of sessions reports a session as ended only if a complete list does not contain it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    const { sessions } = simulator.state;
    const { watcher, takePayloads } = await startWatch(gateway, { watch: 'sessions' });
    const [first = ''] = sessions.ids();
    sessions.end(first);
    // All pages but the first lack their records, so the list is not complete.
    simulator.fault({
      match: ({ path }) => path.includes('start=') && !path.includes('start=0'),
      times: Infinity,
      body: (answer) => answer.replace(/"active-user-record":\[.*\]/s, '"active-user-record":[]'),
    });
    await watcher.check();
    expect(takePayloads().filter((payload) => payload['event'] === 'ended')).toEqual([]);
    simulator.clearFaults();
    await watcher.check();
    const ended = takePayloads().filter((payload) => payload['event'] === 'ended');
    expect(ended).toMatchObject([{ session: { 'session-id': first } }]);
  });

  it('a watch of sessions reports started, ended and changed sessions, and nothing else', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    const { sessions } = simulator.state;
    const { watcher, events, takePayloads } = await startWatch(gateway, { watch: 'sessions' });
    expect(events).toEqual([]);

    const [first = '', moving = ''] = sessions.ids();
    sessions.end(first);
    const id = sessions.add({ 'active-user-name': 'new', 'source-ip': '203.0.113.9' });
    const before = sessions.record(1);
    simulator.fault({
      match: ({ path }) => path.includes('start=0'),
      body: (answer) => answer.replace(`"source-ip":"${before['source-ip'] as string}"`, '"source-ip":"198.51.100.77"'),
    });
    await watcher.check();
    expect(events.map(({ topic }) => topic)).toEqual(['sessions/ended', 'sessions/changed', 'sessions/started']);
    expect(events[0]?.envelope).toMatchObject({ ok: true, operation: 'sessions.list', total: 450 });
    const record = sessions.record(0);
    expect(takePayloads()).toEqual([
      {
        event: 'ended',
        session: Object.fromEntries(
          ['session-id', 'active-user-name', 'source-ip', 'sign-in-time-micro', 'user-roles', 'authentication-realm'].map((name) => [
            name,
            record[name],
          ]),
        ),
      },
      {
        event: 'changed',
        session: expect.objectContaining({ 'session-id': moving, 'source-ip': '198.51.100.77' }) as unknown,
        before: { 'source-ip': before['source-ip'] },
      },
      {
        event: 'started',
        session: expect.objectContaining({
          'session-id': id,
          'active-user-name': 'new',
          'agent-type': expect.any(String) as unknown,
        }) as unknown,
      },
    ]);
    // The address changes back, which is a change too.
    await watcher.check();
    expect(takePayloads()).toMatchObject([{ event: 'changed', before: { 'source-ip': '198.51.100.77' } }]);
    await watcher.check();
    expect(takePayloads()).toEqual([]);
  });

  it('a watch of sessions reports only sessions that match the filter, and reports a session that no longer matches', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 10 });
    const { sessions } = simulator.state;
    const { watcher, takePayloads } = await startWatch(gateway, { watch: 'sessions', filter: { 'source-ip': '203.0.113.0/24' } });
    sessions.add({ 'source-ip': '192.0.2.1' });
    const id = sessions.add({ 'source-ip': '203.0.113.5' });
    await watcher.check();
    expect(takePayloads()).toMatchObject([{ event: 'started', session: { 'session-id': id } }]);
    simulator.fault({ body: (answer) => answer.replace('203.0.113.5', '192.0.2.5'), match: ({ path }) => path.includes('start=0') });
    await watcher.check();
    expect(takePayloads()).toMatchObject([{ event: 'changed', before: { 'source-ip': '203.0.113.5' } }]);
    sessions.end(id);
    await watcher.check();
    expect(takePayloads()).toMatchObject([{ event: 'ended', session: { 'session-id': id, 'source-ip': '192.0.2.5' } }]);
  });
});

describe('a watch of health', () => {
  it('a watch of health reports a crossing once after several consecutive checks, and its end only beyond the release value', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const limits = [{ name: 'CPU-UTILIZATION', above: 90, release: 80, checks: 2 }];
    simulator.fault(health({ 'CPU-UTILIZATION4': '7' }));
    const { watcher, takePayloads } = await startWatch(gateway, { watch: 'health', limits });
    const look = async (value: unknown, key = 'CPU-UTILIZATION4'): Promise<unknown> => {
      simulator.fault(health({ [key]: value }));
      await watcher.check();
      return takePayloads();
    };
    expect(await look(95)).toEqual([]);
    // A value below the limit in between breaks the row.
    expect(await look(90)).toEqual([]);
    expect(await look(95)).toEqual([]);
    // Unknown values change nothing.
    for (const unknown of [-1, 'busy', null]) expect(await look(unknown)).toEqual([]);
    simulator.fault(health({ 'CPU-UTILIZATION': -1, 'CPU-UTILIZATION4': '96' }));
    await watcher.check();
    expect(takePayloads()).toEqual([{ event: 'above', name: 'CPU-UTILIZATION', value: 96, limit: 90 }]);
    for (const value of [97, 85, 79, 85, 95, 80]) expect(await look(value)).toEqual([]);
    expect(await look(80)).toEqual([{ event: 'below', name: 'CPU-UTILIZATION', value: 80, limit: 80 }]);
    expect(await look(10)).toEqual([]);
  });

  it('a watch of health reports downward crossings, and uses the first check as the baseline', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault(health({ 'USER-COUNT': 3 }));
    const { watcher, takePayloads } = await startWatch(gateway, {
      watch: 'health',
      limits: [{ name: 'USER-COUNT', below: 5, release: 10 }],
    });
    for (const value of [3, 9, 11]) {
      simulator.fault(health({ 'USER-COUNT': value }));
      await watcher.check();
    }
    expect(takePayloads()).toEqual([{ event: 'above', name: 'USER-COUNT', value: 11, limit: 10 }]);
    simulator.fault(health({ 'USER-COUNT': 4 }));
    await watcher.check();
    expect(takePayloads()).toEqual([{ event: 'below', name: 'USER-COUNT', value: 4, limit: 5 }]);
  });
});

it('a watch reports a new release, serial number and host name', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const { watcher, takePayloads } = await startWatch(gateway, { watch: 'system' });
  const { system } = simulator.state;
  const { release, serialNumber } = system;
  simulator.upgrade('25.1R4');
  system.serialNumber = 'SIM1';
  simulator.fault({ match: ({ path }) => path.includes('system-information'), stripField: 'system-information.host-name' });
  await watcher.check();
  expect(takePayloads()).toEqual([
    { event: 'release', before: release, after: '25.1R4' },
    { event: 'replaced', before: serialNumber, after: 'SIM1' },
  ]);
  system.hostName = 'gateway-9';
  await watcher.check();
  await watcher.check();
  expect(takePayloads()).toEqual([{ event: 'renamed', before: 'gateway-1', after: 'gateway-9' }]);
});

describe('a watch of a cluster', () => {
  it('a watch of a cluster reports failing, joining and leaving members, and new owners of the virtual addresses', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ cluster: 'active-passive' });
    const { watcher, takePayloads } = await startWatch(gateway, { watch: 'cluster' });
    const recover = simulator.failMember('gateway-1');
    await watcher.check();
    expect(takePayloads()).toEqual([
      {
        event: 'member',
        name: 'gateway-1',
        before: expect.objectContaining({ notes: 'Leader' }) as unknown,
        after: { enabled: true, notes: 'Enabled, Unreachable', 'status-code': '0x38004' },
      },
      { event: 'owner', before: 'gateway-1', after: 'gateway-1-b', addresses: ['external', 'internal'] },
    ]);
    recover();
    await gateway.run('cluster.remove-member', { 'member-name': 'gateway-1-b' });
    await watcher.check();
    expect(takePayloads()).toMatchObject([
      { event: 'left', name: 'gateway-1-b' },
      { event: 'member', name: 'gateway-1' },
      { event: 'owner', after: 'gateway-1' },
    ]);
  });

  it('a watch of a cluster reports no error if the appliance is in no cluster', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { watcher, takePayloads, errors } = await startWatch(gateway, { watch: 'cluster' });
    await gateway.run('cluster.create', { 'cluster-name': 'Edge', 'cluster-password': 'secret', 'member-name': 'node-a' });
    await watcher.check();
    simulator.state.cluster = undefined;
    await watcher.check();
    expect(takePayloads()).toMatchObject([
      { event: 'joined', name: 'node-a' },
      { event: 'left', name: 'node-a' },
    ]);
    expect(errors).toEqual([]);
  });
});

it('a watch of licenses reports the share of one feature or of all features over a limit', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway({ role: 'license-server' });
  const lease = (count: number) => ({
    match: ({ path }: { path: string }) => path.includes('lease-information'),
    body: (answer: string) => answer.replace('"leased-count":50', `"leased-count":${count}`),
  });
  const limits = [
    { name: '*', above: 90 },
    { name: 'Named Users', above: 20 },
  ];
  const { watcher, takePayloads } = await startWatch(gateway, { watch: 'license', limits });
  simulator.fault(lease(700));
  await watcher.check();
  expect(takePayloads()).toEqual([{ event: 'above', feature: 'Concurrent Users', share: 95, limit: 90 }]);
  await watcher.check();
  expect(takePayloads()).toEqual([{ event: 'below', feature: 'Concurrent Users', share: 30, limit: 90 }]);
});

describe('a watch of a certificate', () => {
  const DAY = 86_400_000;

  it('a watch of a certificate reports each configured number of days before the end once, and a replaced certificate', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { data } = await gateway.run('certificates.served');
    const { 'valid-to': until, fingerprint256 } = data as { 'valid-to': string; fingerprint256: string };
    const at = (days: number): TestClock => new TestClock(Date.parse(until) - days * DAY);
    const path = join(mkdtempSync(join(tmpdir(), 'gateway-watch-')), 'certificate.jsonl');
    onTestFinished(() => rmSync(dirname(path), { recursive: true }));
    const seen: unknown[] = [];
    // Days that passed between two processes are reported once.
    for (const days of [40, 30.5, 29.5, 29, 10, 9, 1.5]) {
      const one = await startWatch(gateway, { watch: 'certificate', stateFile: path }, at(days));
      await one.watcher.check();
      seen.push(one.takePayloads().map((payload) => [payload.event, payload.days, payload.fingerprint256]));
      await one.watcher.close();
    }
    const told = (days: number) => [['expires', days, fingerprint256]];
    expect(seen).toEqual([[], told(30), [], [], told(10), [], told(1)]);

    const two = await startWatch(gateway, { watch: 'certificate' }, at(400));
    const other = selfSigned();
    simulator.replaceCertificate(other);
    await two.watcher.check();
    await two.watcher.check();
    const { fingerprint256: after } = new X509Certificate(other.cert);
    expect(two.takePayloads()).toMatchObject([{ event: 'renewed', before: fingerprint256, after }]);
    // The check needs no login.
    expect(simulator.requests).toEqual([]);
  });

  it('a watch of a certificate reports no days that passed before the first check', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data } = await gateway.run('certificates.served');
    const clock = new TestClock(Date.parse((data as { 'valid-to': string })['valid-to']) - 10 * DAY);
    const { watcher, events, states } = await startWatch(gateway, { watch: 'certificate' }, clock);
    await watcher.check();
    expect([events, states.at(-1)]).toMatchObject([[], { state: 'checked', summary: { key: 'days', n: 10 } }]);
  });
});

describe('an unreachable appliance', () => {
  it('a watch reports an unreachable appliance once, and once when it responds again, with growing pauses between checks', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const { clock, takePayloads, takeTopics, states } = await startWatch(gateway, { watch: 'sessions', every: 10 });
    const back = simulator.restart();
    const at: number[] = [];
    for (let check = 0; check < 6; check++) await clock.runNextTimer(1, (now) => at.push(now));
    expect(at.slice(1).map((time, index) => Math.round((time - (at[index] ?? 0)) / 1000))).toEqual([20, 40, 60, 60, 60]);
    expect(takePayloads()).toMatchObject([{ event: 'unreachable', code: 'APPLIANCE_ERROR', message: expect.any(String) as unknown }]);
    expect(states.at(-1)).toMatchObject({ state: 'unreachable', since: at[0] });
    simulator.state.sessions.add();
    back();
    const before = listRequests(simulator).length;
    await clock.runNextTimer();
    expect(takeTopics()).toEqual(['sessions/reachable', 'sessions/started']);
    expect(listRequests(simulator).length - before).toBe(1);
    await clock.runNextTimer();
    expect(takeTopics()).toEqual([]);
  });

  it('an hourly watch notices within two hours that an unreachable appliance has returned', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { clock, takeTopics } = await startWatch(gateway, { watch: 'system', every: 3600 });
    simulator.fault(MAINTENANCE);
    const at: number[] = [];
    for (let check = 0; check < 10; check++) await clock.runNextTimer(1, (now) => at.push(now));
    const minutes = at.slice(1).map((time, index) => Math.round((time - (at[index] ?? 0)) / 60_000));
    expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 64, 120, 120]);
    simulator.clearFaults();
    await clock.runNextTimer();
    expect(takeTopics()).toEqual(['system/unreachable', 'system/reachable']);
  });

  it('a rejected login is not reported as an unreachable appliance, but once as an error', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { password: 'wrong' });
    const { clock, events, errors } = await startWatch(gateway, { watch: 'system' });
    for (let check = 0; check < 3; check++) await clock.runNextTimer();
    expect(events).toEqual([]);
    expect(errors.map(({ code }) => code)).toEqual(['LOGIN_REJECTED']);
    expect(simulator.logins).toBe(1);
  });

  it('an unreachable appliance is reported exactly once for each of many random outages in 24 hours', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { clock, takeTopics } = await startWatch(gateway, { watch: 'system', every: 60 });
    const end = clock.now() + 86_400_000;
    let number = 12_345;
    let until = 0;
    let times = 0;
    let up = true;
    let most = 0;
    while (clock.now() < end) {
      const before = listRequestLines(simulator).length;
      await clock.runNextTimer(1, (now) => {
        if (now < until) return;
        // Outages last at least as long as the longest pause.
        number = (number * 1_103_515_245 + 12_345) % 2_147_483_648;
        until = now + 180_000 + (number % 3_600_000);
        up = !up;
        if (up) simulator.clearFaults();
        else times++;
        if (!up) simulator.fault(MAINTENANCE);
      });
      most = Math.max(most, listRequestLines(simulator).length - before);
    }
    // The appliance gets one request for each check, also when it responds again.
    expect(most).toBe(1);
    expect(times).toBeGreaterThan(10);
    const told = takeTopics();
    expect(told.filter((_, index) => index % 2 === 0)).toEqual(Array.from({ length: times }, () => 'system/unreachable'));
    expect(told.filter((_, index) => index % 2 === 1)).toEqual(Array.from({ length: up ? times : times - 1 }, () => 'system/reachable'));
  });
});

describe('checks of a watch', () => {
  it('watches of one appliance and kind share their checks, whenever they started', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const clock = new TestClock();
    const one = await startWatch(gateway, { watch: 'sessions', every: 10 }, clock);
    await clock.runNextTimer();
    const other = createWatch(gateway, { watch: 'sessions', every: 10 }, clock);
    await other.watcher.start();
    await clock.runNextTimer();
    const before = listRequests(simulator).length;
    for (let check = 0; check < 5; check++) await clock.runNextTimer();
    expect(listRequests(simulator).length - before).toBe(5);
    simulator.state.sessions.add();
    await clock.runNextTimer();
    expect([one.takeTopics(), other.takeTopics()]).toEqual([['sessions/started'], ['sessions/started']]);
    await other.watcher.close();
    simulator.state.sessions.add();
    await clock.runNextTimer();
    expect([one.takeTopics(), other.takeTopics()]).toEqual([['sessions/started'], []]);
  });

  it('a paused watch makes no checks, and its next check reports what happened meanwhile', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { watcher, clock, takeTopics, states } = await startWatch(gateway, { watch: 'sessions' });
    await clock.runNextTimer();
    watcher.pause();
    expect(states.at(-1)).toEqual({ state: 'paused' });
    simulator.state.sessions.add();
    const before = listRequests(simulator).length;
    await watcher.check();
    expect([takeTopics(), listRequests(simulator).length - before]).toEqual([['sessions/started'], 1]);
    simulator.state.sessions.add();
    await watcher.resume();
    expect([takeTopics(), listRequests(simulator).length - before]).toEqual([['sessions/started'], 2]);
  });

  it('the checks of a watch run one at a time, and all requests made during a check share the next check', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { watcher } = await startWatch(gateway, { watch: 'sessions' });
    let release = (): void => undefined;
    simulator.fault({ until: new Promise<void>((resolve) => (release = resolve)), match: ({ path }) => path.includes('active-users') });
    const before = listRequestLines(simulator).length;
    const first = watcher.check();
    const others = [watcher.check(), watcher.check(), watcher.check()];
    release();
    await Promise.all([first, ...others]);
    expect(listRequestLines(simulator).length - before).toBe(2);
  });

  it('the checks of a watch end when the watch ends, even if a request hangs', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { watcher, takeTopics, errors } = await startWatch(gateway, { watch: 'sessions' });
    simulator.fault({ hang: true, match: ({ path }) => path.includes('active-users') });
    const check = watcher.check();
    await watcher.close();
    await check;
    expect([takeTopics(), errors]).toEqual([[], []]);
  });
});

it('a watch rejects invalid options', () => {
  const gateway = gatewayFor({ url: 'https://127.0.0.1:1' });
  const code = (options: object): string => getThrownCode(() => createWatch(gateway, { watch: 'health', ...options }));
  expect(code({ watch: 'weather' })).toBe('BAD_CONFIG');
  for (const every of [0, 0.5, NaN, 1e6]) expect(code({ every })).toBe('BAD_CONFIG');
  for (const limit of [
    null,
    {},
    { name: 'x' },
    { name: 'x', above: 1, below: 2 },
    { name: 'x', above: '1' },
    { name: 'x', above: 1, release: 2 },
  ])
    expect(code({ limits: [limit] }), JSON.stringify(limit)).toBe('BAD_CONFIG');
  for (const more of [
    { below: 2, release: 1 },
    { above: 1, checks: 0 },
    { above: 1, odd: 1 },
  ])
    expect(code({ limits: [{ name: 'x', ...more }] })).toBe('BAD_CONFIG');
  expect(code({ limits: [] })).toBe('BAD_CONFIG');
  expect(code({ watch: 'certificate', days: ['soon'] })).toBe('BAD_CONFIG');
  expect(code({ watch: 'sessions', filter: { nonsense: 'x' } })).toBe('BAD_INPUT');
});
