import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Gateway } from '../../src/gateway/gateway';
import { ExchangeLog, MAX_LOGGED_EXCHANGES, type ExchangeLogEntry } from '../../src/http/exchange-log';
import { collectSupportFindings } from '../../src/areas/support/findings';
import { findPackage } from '../../src/files/package-folder';
import { Counters, toCounterValues } from '../../src/model/counters';
import { checkSettings, type Settings } from '../../src/model/settings';
import { redactSettings } from '../../src/model/redacted-settings';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  startSimulatorWithGateway,
  settingsFor,
} from '../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../helpers/raw-server';
import { createTemporaryFolder } from '../helpers/temporary';

const USERS = '/api/v1/configuration/authentication/auth-servers/auth-server/*/local/users/user/*';
const USER = 'authentication/auth-servers/auth-server/System Local/local/users/user/planted.name';
const shownOf = (exchanges: readonly ExchangeLogEntry[]): string[] =>
  exchanges.map(({ method, path, status, code }) => `${method} ${path} ${status ?? code}`);

describe('the exchange log', () => {
  it('the exchange log records method, path, status and time, includes logins, and masks names in paths', async () => {
    const { gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    await expectFailure(gateway.run('config.get', { path: USER }));
    const found = gateway.exchanges();
    expect(shownOf(found)).toEqual(['POST /api/v1/realm_auth 200', `GET ${SYSTEM_INFORMATION_PATH} 200`, `GET ${USERS} 404`]);
    for (const { ms, at, code } of found) expect([ms > 0, Number.isNaN(Date.parse(at)), code]).toEqual([true, false, null]);
    expect(JSON.stringify(found)).not.toContain('planted');
  });

  it('the exchange log records the error code of an exchange without a response', async () => {
    const server = await startRawServer((_asked, socket) => void socket.destroy());
    const gateway = gatewayFor(server);
    await expectFailure(gateway.run('sessions.kill', { 'session-id': 'planted' }));
    expect(shownOf(gateway.exchanges()).at(-1)).toBe('DELETE /api/v1/system/active-users/session/* CONNECTION');
  });

  it('the exchange log keeps the latest 200 exchanges in order', async () => {
    const server = await startRawServer(({ path }) => httpResponse(path.includes('status=sbr') ? 404 : 200, '{}'));
    const gateway = gatewayFor(server, { connections: 1 });
    for (let index = 0; index < MAX_LOGGED_EXCHANGES + 5; index++) {
      if (index === MAX_LOGGED_EXCHANGES) await expectFailure(gateway.run('system.health', { status: 'sbr' }));
      else await gateway.run('system.health', { status: 'all' });
    }
    const found = gateway.exchanges();
    expect(found).toHaveLength(MAX_LOGGED_EXCHANGES);
    expect(found.findIndex(({ status }) => status === 404)).toBe(MAX_LOGGED_EXCHANGES - 5);
    expect(found.map(({ at }) => at)).toEqual(found.map(({ at }) => at).toSorted());
  });

  it('the exchange log calls the listener for each exchange if it is enabled, and ignores its errors', async () => {
    const simulator = await startTestSimulator();
    const told: string[] = [];
    const onExchange = (exchange: ExchangeLogEntry, name: string): void => {
      told.push(...shownOf([exchange]), name);
      throw new Error('no disk');
    };
    await gatewayFor(simulator, { name: 'quiet' }, { onExchange }).run('system.info');
    expect(told).toEqual([]);
    const { envelope } = await gatewayFor(simulator, { name: 'loud', log: true }, { onExchange }).run('system.info');
    expect([envelope.ok, ...told]).toEqual([true, `GET ${SYSTEM_INFORMATION_PATH} 200`, 'loud']);
  });
});

describe('the history of a gateway', () => {
  const INFO_PATH = '/gw/api/v1/system/system-information';

  it('the history of a gateway returns recorded exchanges without names, the newest last', () => {
    const history = new ExchangeLog('/gw');
    expect(history.list()).toEqual([]);
    const noted = history.add('GET', INFO_PATH, 200, 1.26);
    history.add('PUT', '/gw/api/v1/configuration/j.doe', 'TIMEOUT', 0.04);
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    expect(history.list()).toEqual([
      { at, method: 'GET', path: '/api/v1/system/system-information', status: 200, code: null, ms: 1.3 },
      { at, method: 'PUT', path: '/api/v1/configuration/*', status: null, code: 'TIMEOUT', ms: 0 },
    ]);
    expect(history.toLogEntry(noted)).toEqual(history.list()[0]);
  });

  it('the history of a gateway cuts long paths to the part that it shows, and drops the oldest entries', () => {
    const history = new ExchangeLog('/gw');
    const [short, long] = [1000, 1001].map((length) => history.add('GET', `${INFO_PATH}/`.padEnd(length, 'x'), 200, 1).path);
    expect([short?.length, long]).toEqual([1000, '/api/v1/system/system-information/*']);
    for (let index = 2; index < MAX_LOGGED_EXCHANGES; index++) history.add('GET', '/gw', index, 1);
    expect(history.list().map(({ status }) => status)).toEqual([200, 200, ...Array.from({ length: 198 }, (_, index) => index + 2)]);
    for (const status of [900, 901, 902]) history.add('GET', '/gw', status, 1);
    expect(history.list().map(({ status }) => status)).toEqual([...Array.from({ length: 197 }, (_, index) => index + 3), 900, 901, 902]);
  });
});

describe('the counters of a gateway', () => {
  it('the counters of a gateway count requests, times, failures, logins, retries and connections as plain data', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { connections: 3 });
    expect(gateway.counters()).toMatchObject({ runs: 0, requests: {}, seconds: {}, connections: { open: 0, waiting: 0, opened: 0 } });
    await gateway.run('system.info');
    simulator.fault({ match: ({ method }) => method === 'GET', status: 500 });
    await gateway.run('system.info');
    await expectFailure(gateway.run('config.delete', { path: USER }));
    const counters = gateway.counters();
    expect(counters).toMatchObject({
      runs: 3,
      failures: { NOT_FOUND: 1 },
      requests: { POST: { 200: 1 }, GET: { 200: 2, 404: 1, 500: 1 }, DELETE: { 404: 1 } },
      retries: 1,
      logins: 1,
      connections: { open: 1, waiting: 0, opened: 1 },
    });
    const { GET: took } = counters.seconds;
    expect([took?.count, took?.buckets.length, (took?.sum ?? 0) > 0]).toEqual([4, counters.bounds.length + 1, true]);
    expect(JSON.parse(JSON.stringify(counters))).toEqual(counters);
    await gateway.run('system.info');
    expect(counters.requests.GET).toEqual({ 200: 2, 404: 1, 500: 1 });
  });

  it('the counters of a gateway count request times by upper bounds, by method and in total', () => {
    const counters = new Counters();
    expect(toCounterValues(counters, { open: 0, waiting: 0, opened: 0 })).toMatchObject({
      requests: {},
      seconds: {},
      failures: {},
      runs: 0,
      retries: 0,
      logins: 0,
    });
    for (const seconds of [0.005, 0.0051, 60, 61]) counters.countRequest('GET', 200, seconds);
    counters.countRequest('GET', 'TIMEOUT', 0);
    counters.countRequest('PUT', 200, 0.3);
    counters.countFailure('TIMEOUT');
    counters.countFailure('TIMEOUT');
    const { requests, failures, seconds, bounds } = toCounterValues(counters, { open: 1, waiting: 2, opened: 3 });
    expect(requests).toEqual({ GET: { 200: 4, TIMEOUT: 1 }, PUT: { 200: 1 } });
    expect(failures).toEqual({ TIMEOUT: 2 });
    const buckets = (counts: Record<number, number>): number[] =>
      Array.from({ length: bounds.length + 1 }, (_, index) => counts[index] ?? 0);
    expect(seconds['GET']).toEqual({ buckets: buckets({ 0: 2, 1: 1, 12: 1, 13: 1 }), count: 5, sum: expect.closeTo(121.0101) as number });
    expect(counters.durations.buckets).toEqual(buckets({ 0: 2, 1: 1, 6: 1, 12: 1, 13: 1 }));
    expect(counters.durations.seconds).toBeCloseTo(121.3101);
  });

  it('the counters of a gateway report the number of waiting messages', async () => {
    let answer = (): void => undefined;
    const server = await startRawServer((_asked, socket) => void (answer = () => void socket.write(httpResponse(200, '{}'))));
    const gateway = gatewayFor(server, { connections: 1 });
    const running = [gateway.run('system.info'), gateway.run('system.info'), gateway.run('system.info')];
    await expect.poll(() => gateway.counters().connections).toEqual({ open: 1, waiting: 2, opened: 1 });
    for (let index = 1; index <= 3; index++) {
      await expect.poll(() => server.requests.length).toBe(index);
      answer();
    }
    await Promise.all(running);
  });
});

describe('a support bundle', () => {
  const bundle = (gateway: Gateway) => gateway.run('system.support-bundle');
  const codesOf = ({ findings }: { findings: readonly { code: string }[] }): string[] => findings.map(({ code }) => code);

  const PLANTED = {
    name: 'planted-appliance',
    realm: 'planted-realm',
    username: 'planted-account',
    password: 'planted-password',
    secondPassword: 'planted-second',
    secondUsername: 'planted-second-account',
    secondFactor: 'password',
    vendor: 'plantedvendor',
    brand: 'plantedbrand',
    pin: 'planted-serial',
    proxy: { url: 'http://planted-proxy:1', username: 'planted-proxy-account', password: 'planted-proxy-password', noproxy: ['*'] },
  } satisfies Partial<Settings>;

  it('a support bundle contains versions, settings, counters and exchanges, but no secrets and no names', async () => {
    const simulator = await startTestSimulator({ username: PLANTED.username, password: PLANTED.password, realm: PLANTED.realm });
    const journal = join(createTemporaryFolder(), 'planted-journal');
    const gateway = gatewayFor(simulator, { ...PLANTED, secondFactor: 'none', pin: simulator.state.system.serialNumber, journal });
    await expectFailure(gateway.run('config.get', { path: USER }));
    await expectFailure(gateway.run('sessions.kill', { 'session-id': 'planted-session' }));
    await gateway.run('sessions.list', { name: 'planted-user' });
    const { data, envelope } = await bundle(gateway);
    expect(envelope).toMatchObject({ changed: null, status: 200, request: { path: SYSTEM_INFORMATION_PATH } });
    expect(data).toMatchObject({
      format: 'gateway-support/1',
      versions: {
        package: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
        node: process.version,
        undici: expect.stringMatching(/^7\./) as string,
        platform: `${process.platform} ${process.arch}`,
      },
      at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      appliance: {
        'hardware-model': 'VA-Simulator',
        'os-name': expect.stringMatching(/\w/) as string,
        'os-version': expect.stringMatching(/\d/) as string,
      },
      settings: { login: 'realm', pin: true, journal: true, tls: { verified: true, ca: true }, proxy: { account: true } },
      counters: { requests: { GET: { 404: 1 }, DELETE: { 404: 1 } }, logins: 1 },
    });
    expect(shownOf(data.exchanges as ExchangeLogEntry[])).toContain('GET /api/v1/system/active-users?name=*&number=200&start=0 200');
    const text = JSON.stringify(data);
    for (const hidden of ['planted', new URL(simulator.url).hostname, simulator.state.system.serialNumber, simulator.state.system.hostName])
      expect(text, hidden).not.toContain(hidden);
  });

  it('a support bundle can be made while the appliance is unreachable', async () => {
    const gateway = gatewayFor({ url: 'https://127.0.0.1:1' });
    const { data, envelope } = await gateway.run('system.support-bundle');
    expect(envelope.ok).toBe(true);
    expect(data).toMatchObject({ appliance: { code: 'CONNECTION', system: 'ECONNREFUSED' }, counters: { retries: 0 } });
    expect((data as { appliance: object }).appliance).not.toHaveProperty('status');
  });

  it('a support bundle is complete even if the appliance does not report its system information', async () => {
    const server = await startRawServer(({ path }) => {
      if (path === SYSTEM_INFORMATION_PATH) return httpResponse(404);
      if (path.endsWith('/role-mapping-rules'))
        return httpResponse(200, JSON.stringify({ rule: [{ roles: ['.A', 7, ''] }, null, { roles: '.B' }] }));
      return httpResponse(200, JSON.stringify({ 'idle-timeout': path.includes('%2EB/') ? '5' : 'none' }));
    });
    const { data } = await bundle(gatewayFor(server));
    expect(data.appliance).toEqual({ code: 'NOT_FOUND', status: 404 });
    expect(data.findings.find(({ code }) => code === 'short-idle-limit')?.text).toMatch(
      /^A role of the realm ends keys after 5 idle minutes, .* Raise its idle timeout, or give this account a separate role\.$/,
    );
    expect(server.requests.map(({ path }) => path.replace('/api/v1/configuration/administrators/', ''))).toEqual([
      SYSTEM_INFORMATION_PATH,
      'admin-realms/realm/Admin%20Users/role-mapping-rules',
      'admin-roles/admin-role/%2EA/general/session-options',
      'admin-roles/admin-role/%2EB/general/session-options',
    ]);
  });

  it.each([
    ['{"system-information":{"os-name":"G","os-version":7}}', { 'hardware-model': null, 'os-name': 'G', 'os-version': null }],
    [`{"os-name":"${'x'.repeat(101)}"}`, { 'hardware-model': null, 'os-name': 'x'.repeat(100), 'os-version': null }],
  ])('a support bundle shortens what the appliance reports', async (body, appliance) => {
    const server = await startRawServer(({ path }) => (path === SYSTEM_INFORMATION_PATH ? httpResponse(200, body) : httpResponse(403)));
    const { data } = await bundle(gatewayFor(server));
    expect(data.appliance).toEqual(appliance);
    expect(codesOf(data)).toEqual(['no-guard-rails']);
  });

  it('a support bundle reads at most twenty roles', async () => {
    const roles = Array.from({ length: 25 }, (_, index) => `R${index}`);
    const server = await startRawServer(({ path }) =>
      httpResponse(200, path.endsWith('/role-mapping-rules') ? JSON.stringify({ rule: [{ roles }] }) : '{}'),
    );
    const { data } = await bundle(gatewayFor(server));
    expect(server.requests.filter(({ path }) => path.endsWith('/session-options'))).toHaveLength(20);
    expect(codesOf(data)).toEqual(['no-guard-rails']);
  });

  it.each([SYSTEM_INFORMATION_PATH, '/role-mapping-rules'])('a support bundle can be canceled while %s is being read', async (end) => {
    const server = await startRawServer(({ path }) => (path.endsWith(end) ? undefined : httpResponse(200, '{}')));
    const cancel = new AbortController();
    const run = expectFailure(gatewayFor(server).run('system.support-bundle', {}, cancel.signal));
    await expect.poll(() => server.requests.at(-1)?.path).toContain(end);
    cancel.abort();
    expect((await run).code).toBe('ABORTED');
  });

  it('a support bundle contains the version of the package in its folder', () => {
    const root = createTemporaryFolder();
    const place = (...path: string[]): string => join(root, ...path);
    mkdirSync(place('a', 'b', 'c', 'd'), { recursive: true });
    const own = '@gateway-admin/node-red';
    writeFileSync(place('package.json'), JSON.stringify({ name: own, version: '1.2.3' }));
    writeFileSync(place('a', 'package.json'), JSON.stringify({ name: 'other', version: '9.9.9' }));
    writeFileSync(place('a', 'b', 'package.json'), 'null');
    writeFileSync(place('a', 'b', 'c', 'package.json'), JSON.stringify({ name: own, version: 7 }));
    writeFileSync(place('a', 'b', 'c', 'd', 'package.json'), '{');
    expect(findPackage(place('a', 'b', 'c', 'd'))).toEqual({ folder: root, version: '1.2.3' });
    expect(findPackage(createTemporaryFolder())).toBeUndefined();
  });

  it('a support bundle sends nothing more after a rejected login, skips roles without a realm, and can be canceled', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    const refused = (await bundle(gateway)).data;
    expect([refused.appliance['code'], codesOf(refused)]).toEqual(['LOGIN_REJECTED', ['no-guard-rails']]);
    expect(simulator.logins).toBe(1);
    const server = await startRawServer(() => httpResponse(200, '{}'));
    expect(codesOf((await bundle(gatewayFor(server, { login: 'key', apiKey: 'x', realm: '' }))).data)).toEqual([
      'pasted-key',
      'no-guard-rails',
    ]);
    expect(server.requests.map(({ path }) => path)).toEqual([SYSTEM_INFORMATION_PATH]);
    const cancelled = gatewayFor(server).run('system.support-bundle', {}, AbortSignal.abort());
    expect((await expectFailure(cancelled)).code).toBe('ABORTED');
  });

  it('a support bundle contains the facts that the program using the library adds', async () => {
    const hostInfo = () => ({ versions: { 'node-red': '4.1' }, findings: [{ code: 'mine', text: 'Mine.' }] });
    const { gateway } = await startSimulatorWithGateway({}, {}, { hostInfo });
    const { data } = await bundle(gateway);
    expect(data.versions['node-red']).toBe('4.1');
    expect(data.findings).toContainEqual({ code: 'mine', text: 'Mine.' });
  });

  it.each([
    ['60', false],
    ['10', false],
    ['9', true],
    ['0', false],
  ])('a support bundle warns about a role with an idle timeout of %s: %s', async (idle, told) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { items } = simulator.state.configuration.collection('administrators', 'admin-roles', 'admin-role');
    for (const role of items.values()) role.resource('general', 'session-options').values.set('idle-timeout', idle);
    const { data } = await bundle(gateway);
    expect(data.findings.some(({ code }) => code === 'short-idle-limit')).toBe(told);
  });

  const base = settingsFor({ url: 'https://vpn.example.com' });
  const quiet = { pin: 'A' };

  it.each<[string, Partial<Settings>]>([
    ['tls-not-verified', { tls: { rejectUnauthorized: false } }],
    ['legacy-login', { login: 'legacy' }],
    ['pasted-key', { login: 'key', apiKey: 'x' }],
    ['plain-http', { url: 'http://127.0.0.1:8080' }],
    ['proxy-password-in-clear', { proxy: { url: 'http://proxy:1', username: 'a' } }],
    ['no-guard-rails', { pin: undefined as never }],
  ])('a support bundle reports the finding %s and no other', (code, more) => {
    const of = (settings: Partial<Settings>): string[] => {
      const settled = checkSettings({ ...base, ...quiet, ...settings });
      const counters = new Gateway(settled).counters();
      const findings = collectSupportFindings({ settings: redactSettings(settled), counters, exchanges: [], host: {} });
      // What is so, and what to do.
      for (const { text } of findings) expect(text).toMatch(/^[A-Z].*\.$/);
      return findings.map((finding) => finding.code);
    };
    expect(of(more)).toEqual([code]);
    expect(of({})).toEqual([]);
  });

  it('a support bundle reports a finding after many logins', () => {
    const settled = checkSettings({ ...base, ...quiet });
    const gateway = new Gateway(settled);
    const codes = (logins: number, hours: number): string[] => {
      const counters = { ...gateway.counters(), logins };
      const now = Date.parse(counters.since) + hours * 3_600_000;
      return collectSupportFindings({ settings: redactSettings(settled), counters, exchanges: [], host: {} }, now).map(({ code }) => code);
    };
    expect([codes(5, 0.1), codes(7, 1), codes(14, 2.5), codes(7, 2)]).toEqual([[], ['many-logins'], [], []]);
  });

  it('a support bundle contains only settings that are listed as safe to show', () => {
    const everything: Required<Settings> = {
      ...PLANTED,
      journal: '/planted/journal',
      url: 'https://vpn.example.com/planted',
      login: 'realm',
      totpSecret: 'JBSWY3DPEHPK3PXP',
      apiKey: 'planted-key',
      signingKey: 'planted-signing-key',
      tls: { ca: 'planted-ca', cert: 'planted', key: 'planted', pfx: 'planted', passphrase: 'planted', servername: 'planted' },
      timeout: 1,
      transferTimeout: 2,
      connections: 3,
      dryRun: true,
      rehearsal: 'planted-folder',
      permissions: 'read-only',
      rate: 4,
      waiting: 5,
      log: true,
    };
    const shown = JSON.stringify(redactSettings(checkSettings(everything)));
    expect(shown).not.toMatch(/planted|vpn|JBSW/);
    expect(shown).toContain('"url":"https://…/…"');
  });
});
