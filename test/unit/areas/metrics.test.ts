import { spawnSync } from 'node:child_process';
import parse from 'parse-prometheus-text-format';
import { describe, expect, it } from 'vitest';
import { formatOpenMetrics, mergeOpenMetrics } from '../../../src/areas/open-metrics';
import { HISTOGRAM_BOUNDS_SECONDS, Counters } from '../../../src/model/counters';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

type Families = Map<string, { type: string; metrics: ReturnType<typeof parse>[number]['metrics'] }>;

async function scrape(gateway: AnyGateway, input: Record<string, unknown> = {}): Promise<{ text: string; families: Families }> {
  const text = String((await gateway.run('system.metrics', input)).data);
  return { text, families: new Map(parse(text).map((family) => [family.name, family])) };
}

/** Values of a family by one of its labels. */
function values(families: Families, name: string, label?: string): Record<string, number> {
  const { metrics = [] } = families.get(name) ?? {};
  return Object.fromEntries(
    metrics.map(({ labels = {}, value }): [string, number] => [label === undefined ? '' : (labels[label] ?? ''), Number(value)]),
  );
}

/** Prometheus' own parser of OpenMetrics, which is strict; what npm has reads the older format alone. Of Debian: python3-prometheus-client. */
const REFERENCE = `import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
families = parse(sys.stdin.read())
print(json.dumps({family.name: [family.type, [[s.name, s.labels, float(s.value)] for s in family.samples]] for family in families}))`;
function reference(text: string): Record<string, [type: string, samples: [name: string, labels: Record<string, string>, value: number][]]> {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', REFERENCE], { input: text, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as ReturnType<typeof reference>;
}
const hasReference = spawnSync('python3', ['-c', 'import prometheus_client.openmetrics.parser']).status === 0;

describe('system.metrics', () => {
  it.runIf(hasReference)('system.metrics produces text that a Prometheus parser reads with the same values', async () => {
    const name = 'vpn "1"\\';
    const { gateway } = await startSimulatorWithGateway({ cluster: 'active-passive', role: 'license-server' }, { name });
    await expectFailure(gateway.run('users.get', { server: 'System Local', username: 'nobody' }));
    const { text, families } = await scrape(gateway);
    const read = reference(text);
    expect(Object.keys(read).length).toBeGreaterThan(10);
    expect(read['gateway_request_seconds']?.[0]).toBe('histogram');
    expect(read['gateway_requests']?.[0]).toBe('counter');
    for (const [type, samples] of Object.values(read)) {
      expect(['gauge', 'counter', 'histogram']).toContain(type);
      for (const [, labels] of samples) expect(labels['appliance']).toBe(name);
    }
    const health = read['gateway_health']?.[1].map(([, labels, value]) => [labels['name'], value]) ?? [];
    expect(Object.fromEntries(health)).toEqual(values(families, 'gateway_health', 'name'));
    expect(() => reference(text.replace('# EOF\n', ''))).toThrow('EOF');
  });

  it('system.metrics reports the same values as the other operations and labels each sample with the appliance', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      { cluster: 'active-passive', role: 'license-server' },
      { name: 'vpn "1"\\' },
    );
    const { text, families } = await scrape(gateway);
    expect(text.endsWith('\n# EOF\n')).toBe(true);
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(samples.length).toBeGreaterThan(30);
    for (const line of samples) expect(line).toMatch(/^gateway_[a-z_]+\{appliance="vpn \\"1\\"\\\\"[,}]/);
    const labelled = [...families.values()].flatMap(({ metrics }) => metrics.filter(({ buckets }) => !buckets));
    for (const { labels } of labelled) expect(labels?.appliance).toBe('vpn "1"\\');

    expect(values(families, 'gateway_up')).toEqual({ '': 1 });
    // The disk, which the appliance does not know, is no sample.
    expect(values(families, 'gateway_health', 'name')).toEqual({
      'CPU-UTILIZATION': 7,
      'SSL-CONNECTION-COUNT': 50,
      'MAX-LICENSED-USERS-REACHED': 0,
      'SWAP-UTILIZATION': 0,
      'USER-COUNT': 25,
      'VPN-TUNNEL-COUNT': 20,
    });
    const { data: records } = await gateway.run('sessions.list');
    const byRealm: Record<string, number> = {};
    for (const record of records as Record<string, string>[]) {
      const realm = String(record['authentication-realm']);
      byRealm[realm] = (byRealm[realm] ?? 0) + 1;
    }
    expect(values(families, 'gateway_sessions', 'realm')).toEqual(byRealm);
    expect(values(families, 'gateway_license_leased', 'feature')).toEqual({ 'Concurrent Users': 300, 'Named Users': 300 });
    expect(values(families, 'gateway_license_total', 'feature')).toEqual({ 'Concurrent Users': 1000, 'Named Users': 2000 });
    const members = simulator.state.cluster?.members ?? [];
    expect(values(families, 'gateway_cluster_member_enabled', 'name')).toEqual(
      Object.fromEntries(members.map(({ name, enabled }) => [name, Number(enabled)])),
    );
    expect(values(families, 'gateway_certificate_days')['']).toBeGreaterThan(3000);
    await expectFailure(gateway.run('users.get', { server: 'System Local', username: 'nobody' }));
    const heads = (await scrape(gateway)).text.split('\n').filter((line) => /^# (TYPE|UNIT|HELP)/.test(line));
    expect(heads.map((line) => line.replace(/^# (TYPE|UNIT|HELP) gateway_/, '$1 '))).toEqual([
      'TYPE up gauge',
      'HELP up Whether the appliance responds.',
      'TYPE health gauge',
      'HELP health Health values: percent or counts, 1 for yes and 0 for no.',
      'TYPE sessions gauge',
      'HELP sessions Active sessions.',
      'TYPE license_leased gauge',
      'HELP license_leased Licenses that are leased to clients.',
      'TYPE license_total gauge',
      'HELP license_total Available licenses.',
      'TYPE cluster_member_enabled gauge',
      'HELP cluster_member_enabled Whether a member of the cluster is enabled.',
      'TYPE certificate_days gauge',
      'HELP certificate_days Whole days until the certificate that the appliance serves expires.',
      'TYPE requests counter',
      'HELP requests Requests by method and by status, or by the error code without a status.',
      'TYPE retries counter',
      'HELP retries Repeated reads.',
      'TYPE logins counter',
      'HELP logins Logins.',
      'TYPE failures counter',
      'HELP failures Failed operations by error code.',
      'TYPE request_seconds histogram',
      'UNIT request_seconds seconds',
      'HELP request_seconds Duration of requests, without the wait for a connection.',
    ]);
  });

  it.each([
    [403, 1],
    [404, 1],
    [400, 1],
    [422, 1],
    [302, 0],
  ])('system.metrics reports for responses with the status %i that gateway_up is %i', async (status, up) => {
    const gateway = gatewayFor(await startRawServer(() => httpResponse(status, '{"result":{"errors":[{"message":"No."}]}}')));
    const { families } = await scrape(gateway, { parts: ['health', 'license', 'certificate'] });
    expect(values(families, 'gateway_up')).toEqual({ '': up });
    expect(families.has('gateway_certificate_days')).toBe(true);
  });

  it('system.metrics counts a TLS handshake as a response if only the certificate is requested, and skips it without TLS', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect(values((await scrape(gateway, { parts: ['certificate'] })).families, 'gateway_up')).toEqual({ '': 1 });
    expect(listRequestLines(simulator)).toEqual([]);
    const plain = gatewayFor(await startRawServer(() => httpResponse(200, '{"CPU-UTILIZATION":1}'), { plain: true }));
    const { envelope } = await plain.run('system.metrics', { parts: ['health', 'certificate'] });
    expect(envelope).toMatchObject({ ok: true, leftOut: { certificate: 'BAD_CONFIG' } });
  });

  it('system.metrics reports why each part is missing if the appliance is unreachable, and stops when canceled', async () => {
    const away = gatewayFor({ url: 'https://127.0.0.1:1' });
    const { envelope } = await away.run('system.metrics');
    const why = 'CONNECTION';
    expect(envelope.leftOut).toEqual({ health: why, sessions: why, license: why, cluster: why, certificate: why });
    const { gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('system.metrics', {}, AbortSignal.abort()))).code).toBe('ABORTED');
    const { message } = await expectFailure(gateway.run('system.metrics', { parts: ['health', 'all'] }));
    expect(message).toBe('parts contains "all"; use some of: health, sessions, license, cluster, certificate.');
    expect((await expectFailure(gateway.run('system.metrics', { parts: [] }))).message).toBe('parts is an empty array.');
  });

  it('system.metrics reads what it can from documents with an unexpected structure', async () => {
    const documents: Record<string, unknown> = {
      'healthcheck?status=all': { 'CPU-UTILIZATION4': ' 5 ', A: 'NO', B: -1, C: 'busy', D: null, E: 0, F: '12.75' },
      'license-server-lease-information': {
        'leased-license-counts': {
          features: {
            feature: [
              { name: 'One', 'total-count': '7', clients: { 'client-info': { 'leased-count': '2' } } },
              { name: 'None', 'total-count': 'many', clients: null },
              { name: 'Some', clients: { 'client-info': [{ 'leased-count': 'x' }, 'text', { 'leased-count': 3 }] } },
              { 'total-count': 1 },
            ],
          },
        },
      },
      cluster: { members: { name: 'alone', enabled: 'TRUE' } },
    };
    const sessions = ['Staff', undefined, 7].map((realm, index) => ({ 'session-id': `s${index}`, 'authentication-realm': realm }));
    const list = { 'active-users': { 'active-user-records': { 'active-user-record': sessions }, 'total-returned-record-number': 3 } };
    const server = await startRawServer(({ path }) => {
      const document = path.includes('/active-users') ? list : documents[path.split('/').at(-1) ?? ''];
      return httpResponse(200, JSON.stringify(document));
    });
    const { families } = await scrape(gatewayFor(server));
    expect(values(families, 'gateway_health', 'name')).toEqual({ 'CPU-UTILIZATION': 5, A: 0, E: 0, F: 12.75 });
    expect(values(families, 'gateway_sessions', 'realm')).toEqual({ Staff: 1, '': 2 });
    expect(values(families, 'gateway_license_leased', 'feature')).toEqual({ One: 2, None: 0, Some: 3 });
    expect(values(families, 'gateway_license_total', 'feature')).toEqual({ One: 7 });
    expect(values(families, 'gateway_cluster_member_enabled', 'name')).toEqual({ alone: 1 });
  });

  it('system.metrics skips what the appliance does not offer, and reports that in the envelope', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data, envelope } = await gateway.run('system.metrics');
    expect(envelope).toMatchObject({ ok: true, changed: null, leftOut: { cluster: 'NOT_FOUND' } });
    expect(data).not.toContain('cluster');
    expect(data).toContain('gateway_up{appliance=');
    expect((await scrape(gateway)).families.get('gateway_up')?.metrics[0]?.value).toBe('1');
  });

  it('system.metrics reads only the requested parts', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { text } = await scrape(gateway, { parts: 'health' });
    expect(listRequestLines(simulator)).toEqual(['GET /api/v1/system/healthcheck?status=all']);
    expect(text).not.toMatch(/gateway_sessions|gateway_certificate/);
    for (const parts of [[], ['everything'], '']) {
      expect(await expectFailure(gateway.run('system.metrics', { parts }))).toMatchObject({ code: 'BAD_INPUT' });
    }
  });

  it('system.metrics reports gateway_up 0 after a single failed attempt when the appliance is unreachable', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator);
    await gateway.run('system.info');
    await simulator.close();
    const { families } = await scrape(gateway);
    expect(values(families, 'gateway_up')).toEqual({ '': 0 });
    expect(families.has('gateway_health')).toBe(false);
    expect(values(families, 'gateway_failures_total', 'code')).toEqual({ CONNECTION: 1 });
    expect(values(families, 'gateway_retries_total')).toEqual({ '': 2 });
  });

  it('system.metrics reports gateway_up 0 when the login is refused', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { password: 'wrong' });
    expect(values((await scrape(gateway)).families, 'gateway_up')).toEqual({ '': 0 });
    expect(simulator.logins).toBe(1);
  });

  it('system.metrics reports gateway_up 0 when every answer is a server error', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.state.variants.restarting = true;
    expect(values((await scrape(gateway, { parts: ['cluster'] })).families, 'gateway_up')).toEqual({ '': 0 });
  });

  it('system.metrics counts requests by method and status, logins and failures', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.expireKeys();
    await gateway.run('system.info');
    await expectFailure(gateway.run('sessions.kill', { 'session-id': 'sidnone' }));
    await expectFailure(gateway.run('sessions.kill', { 'session-id': '' }));
    const { text, families } = await scrape(gateway, { parts: ['health'] });
    const counted = families.get('gateway_requests_total')?.metrics.map(({ labels, value }) => [labels?.method, labels?.code, value]);
    expect(counted).toEqual([
      ['POST', '200', '2'],
      ['GET', '200', '3'],
      ['GET', '401', '1'],
      ['DELETE', '404', '1'],
    ]);
    expect(values(families, 'gateway_logins_total')).toEqual({ '': 2 });
    expect(values(families, 'gateway_failures_total', 'code')).toEqual({ NOT_FOUND: 1, BAD_INPUT: 1 });
    expect([...text.matchAll(/_bucket\{.*le="([^"]+)"\}/g)].map(([, bound]) => bound)).toEqual([
      ...HISTOGRAM_BOUNDS_SECONDS.map((bound) => (bound % 1 === 0 ? `${bound}.0` : `${bound}`)),
      '+Inf',
    ]);
    const histogram = families.get('gateway_request_seconds');
    expect(histogram).toMatchObject({ type: 'HISTOGRAM', metrics: [{ buckets: { '+Inf': '7' } }] });
    const below = Object.values(histogram?.metrics[0]?.buckets ?? {}).map(Number);
    expect(below).toHaveLength(HISTOGRAM_BOUNDS_SECONDS.length + 1);
    expect(below).toEqual(below.toSorted((one, other) => one - other));
    expect(text).toMatch(/^gateway_request_seconds_count\{appliance="[^"]+"\} 7$/m);
    expect(Number(/^gateway_request_seconds_sum\{.*\} (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
  });
});

describe('request counters', () => {
  it('the request histogram counts each request in the first bucket whose limit it does not exceed', () => {
    const counters = new Counters();
    for (const bound of HISTOGRAM_BOUNDS_SECONDS) counters.countRequest('GET', 200, bound);
    counters.countRequest('GET', 'TIMEOUT', 600);
    expect(counters.durations.buckets).toEqual(new Array<number>(HISTOGRAM_BOUNDS_SECONDS.length + 1).fill(1));
    expect([...(counters.requests.get('GET')?.codes ?? [])]).toEqual([
      [200, { n: HISTOGRAM_BOUNDS_SECONDS.length }],
      ['TIMEOUT', { n: 1 }],
    ]);
  });
});

describe('formatOpenMetrics', () => {
  it('formatOpenMetrics escapes values, drops duplicates and non-numbers, and leaves out empty families', () => {
    const text = formatOpenMetrics(
      [
        { name: 'none', type: 'gauge', help: 'Nothing.', samples: [] },
        {
          name: 'some',
          type: 'gauge',
          help: 'A\nB',
          samples: [
            { labels: { realm: 'a"b\\c\nd} 1' }, value: 1 },
            { labels: { realm: 'a"b\\c\nd} 1' }, value: 2 },
            { labels: { realm: 'x' }, value: NaN },
          ],
        },
      ],
      { appliance: 'vpn' },
    );
    expect(text).toBe('# TYPE some gauge\n# HELP some A\\nB\nsome{appliance="vpn",realm="a\\"b\\\\c\\nd} 1"} 1\n# EOF\n');
  });
});

describe('mergeOpenMetrics', () => {
  it.runIf(hasReference)(
    'mergeOpenMetrics merges the texts of several appliances into one text that a Prometheus parser reads completely',
    async () => {
      const gateways = await Promise.all(['one', 'other', 'third'].map(async (name) => gatewayFor(await startTestSimulator(), { name })));
      const texts = await Promise.all(gateways.map(async (gateway) => (await scrape(gateway)).text));
      const whole = reference(mergeOpenMetrics([...texts, undefined, {}]));
      for (const text of texts) {
        for (const [name, [type, samples]] of Object.entries(reference(text))) {
          expect(whole[name]?.[0]).toBe(type);
          expect(whole[name]?.[1]).toEqual(expect.arrayContaining(samples));
        }
      }
      expect(whole['gateway_up']?.[1].map(([, labels]) => labels['appliance'])).toEqual(['one', 'other', 'third']);
      expect(Object.keys(reference(mergeOpenMetrics([])))).toEqual([]);
    },
  );

  it('mergeOpenMetrics keeps metric families that only one text has, and writes each family header once', () => {
    const family = (name: string, value: number) => ({ name, type: 'gauge', help: 'Line\n# TYPE x gauge', samples: [{ value }] }) as const;
    const texts = [
      formatOpenMetrics([family('a', 1)], { appliance: 'x' }),
      formatOpenMetrics([family('b', 2), family('a', 3)], { appliance: '# y' }),
    ];
    expect(mergeOpenMetrics(['a 1', 7, '# HELP a of nothing'])).toBe('\n# EOF\n');
    expect(mergeOpenMetrics(texts)).toBe(
      [
        '# TYPE a gauge',
        '# HELP a Line\\n# TYPE x gauge',
        'a{appliance="x"} 1',
        'a{appliance="# y"} 3',
        '# TYPE b gauge',
        '# HELP b Line\\n# TYPE x gauge',
        'b{appliance="# y"} 2',
        '# EOF',
        '',
      ].join('\n'),
    );
  });
});
