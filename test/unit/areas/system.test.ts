import { describe, expect, it } from 'vitest';
import type { Variants } from '../../../src/simulator';
import { readHealthValue } from '../../../src/areas/health-value';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  ACTIVE_USERS_PATH,
} from '../../helpers/simulated-appliance';

const ESAPS = '/api/v1/configuration/authentication/endpoint/host-checker/esaps';

describe('system.info', () => {
  it('system.info returns the document unchanged', async () => {
    const { gateway } = await startSimulatorWithGateway({ name: 'vpn-1' }, { name: 'Hauptsitz' });
    const { data, envelope } = await gateway.run('system.info');
    expect(data).toMatchObject({ 'system-information': { 'host-name': 'vpn-1' } });
    expect(envelope).toMatchObject({ appliance: 'Hauptsitz', changed: null });
  });
});

describe('system.health', () => {
  const values = {
    'SSL-CONNECTION-COUNT': 50,
    'MAX-LICENSED-USERS-REACHED': false,
    'SWAP-UTILIZATION': 0,
    'DISK-UTILIZATION': -1,
    'USER-COUNT': 25,
    'VPN-TUNNEL-COUNT': 20,
  };

  it.each<[Partial<Variants>, string]>([
    [{}, 'CPU-UTILIZATION4'],
    [{ cpuKey: 'CPU-UTILIZATION' }, 'CPU-UTILIZATION'],
    [{ healthNumbers: 'text' }, 'CPU-UTILIZATION4'],
  ])('system.health returns numbers and booleans, and the raw values in the envelope, with %j', async (variants, cpu) => {
    const { gateway } = await startSimulatorWithGateway({ variants });
    const { data, envelope } = await gateway.run('system.health', { status: 'all' });
    expect(data).toEqual({ [cpu]: 7, ...values });
    const raw = variants.healthNumbers === 'text' ? '25' : 25;
    expect(envelope.raw).toMatchObject({ 'MAX-LICENSED-USERS-REACHED': 'NO', 'USER-COUNT': raw });
  });

  it('system.health sends the documented request', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await gateway.run('system.health', { status: 'sbr' })).data).toEqual({ 'SBR-AVAILABLE': 1 });
    expect((await gateway.run('system.health')).data).toEqual({ message: expect.any(String) as string });
    expect(listRequestLines(simulator)).toEqual(['GET /api/v1/system/healthcheck?status=sbr', 'GET /api/v1/system/healthcheck']);
    for (const status of ['ALL', '', null, 1]) {
      if (status !== null) expect((await expectFailure(gateway.run('system.health', { status }))).code).toBe('BAD_INPUT');
    }
  });

  it.each([
    ['YES', true],
    ['no', false],
    [' Yes ', true],
    ['12', 12],
    ['-1', -1],
    ['1.5', 1.5],
    ['1e3', '1e3'],
    [' 7 ', 7],
    ['-2.75', -2.75],
    ['1.', '1.'],
    ['x1', 'x1'],
    ['1x', '1x'],
    ['12.x', '12.x'],
    ['1-', '1-'],
    ['true', true],
    ['False', false],
    ['', ''],
    ['unknown', 'unknown'],
    [-1, -1],
    [null, null],
  ])('system.health reads %j as %j', (raw, value) => expect(readHealthValue(raw)).toBe(value));
});

describe('system.ntp-status and system.user-statistics', () => {
  it('system.ntp-status returns a row for each server, with numbers', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('system.ntp-status');
    expect(data).toMatchObject([
      { server: '192.0.2.123', reach: 377, stratum: 2, offset: -0.042 },
      { server: '192.0.2.124', reach: 0, stratum: 16, when: '-' },
    ]);
    expect(envelope.summary).toMatch(/^2 NTP servers of /);
  });

  it('system.ntp-status returns no row if no server is set', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: ({ path }) => path.endsWith('/ntp'), body: '{}' });
    expect((await gateway.run('system.ntp-status')).data).toEqual([]);
  });

  it('system.user-statistics returns numbers, also without the object around them', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { count } = simulator.state.sessions;
    expect((await gateway.run('system.user-statistics')).data).toEqual({
      'allocated-user-count': 1000,
      'current-user-count': count,
      'max-active-user-count-24hrs': count + 3,
    });
    simulator.fault({ match: ({ path }) => path.endsWith('/user-stats'), body: '{"current-user-count":"7"}' });
    expect((await gateway.run('system.user-statistics')).data).toEqual({ 'current-user-count': 7 });
  });
});

describe('system.esap-packages', () => {
  it('system.esap-packages sends the documented query with two ampersands between its flags', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { brand: 'apex' });
    const { envelope } = await gateway.run('system.esap-packages', { expand: true, 'exclude-packages': 'true' });
    expect(envelope.request?.path).toMatch(/esaps$/);
    await gateway.run('system.esap-packages', { 'exclude-packages': true });
    await gateway.run('system.esap-packages', { expand: '1', 'exclude-packages': false });
    const { data } = await gateway.run('system.esap-packages');
    expect(data).toMatchObject({ 'active-version': expect.any(String) as string });
    const queries = ['?expand&&excludeApexPackages', '?excludeApexPackages', '?expand', ''];
    expect(listRequestLines(simulator)).toEqual(queries.map((query) => `GET ${ESAPS}${query}`));
  });

  it('system.esap-packages takes the brand from a session record, and looks it up only once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ brand: 'Zenith' });
    await Promise.all([1, 2].map(() => gateway.run('system.esap-packages', { 'exclude-packages': true })));
    const asked = listRequestLines(simulator).filter((line) => line.includes(ACTIVE_USERS_PATH));
    expect(asked).toEqual([`GET ${ACTIVE_USERS_PATH}?number=200&start=0`]);
    expect(listRequestLines(simulator).filter((line) => line.endsWith('?excludeZenithPackages'))).toHaveLength(2);
  });

  it('system.esap-packages fails with BAD_CONFIG if no session shows the brand, and finds it later', async () => {
    const simulator = await startTestSimulator({ sessions: 0 });
    const gateway = gatewayFor(simulator);
    const input = { 'exclude-packages': true };
    expect(await expectFailure(gateway.run('system.esap-packages', input))).toMatchObject({
      code: 'BAD_CONFIG',
      message: 'brand is not set, and no current session shows it. Enter the brand in the settings of the appliance.',
    });
    simulator.state.sessions.add();
    expect((await gateway.run('system.esap-packages', input)).envelope.ok).toBe(true);
  });

  it('system.esap-packages keeps a shared lookup running if one of two waiting messages is canceled', async () => {
    const simulator = await startTestSimulator({ delayMs: 30 });
    const gateway = gatewayFor(simulator);
    await gateway.run('system.info');
    const abort = new AbortController();
    const canceled = expectFailure(gateway.run('system.esap-packages', { 'exclude-packages': true }, abort.signal));
    const other = gateway.run('system.esap-packages', { 'exclude-packages': true });
    simulator.fault({ match: () => (abort.abort(), false) });
    expect((await canceled).code).toBe('ABORTED');
    expect((await other).envelope.ok).toBe(true);
  });
});
