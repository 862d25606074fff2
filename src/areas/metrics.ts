import { UNREACHABLE_CODES, type ErrorCode } from '../model/error-codes';
import { HISTOGRAM_BOUNDS_SECONDS, type Counters } from '../model/counters';
import { asGatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { readHealthValue } from './health-value';
import { formatOpenMetrics, type MetricFamily, type MetricSample } from './open-metrics';
import { listSessions } from './sessions/list-sessions';

export { METRICS_CONTENT_TYPE } from './open-metrics';

/** What is read of the appliance. */
export const METRIC_PARTS = ['health', 'sessions', 'license', 'cluster', 'certificate'] as const;
type MetricPart = (typeof METRIC_PARTS)[number];

/** The answer of an appliance that is well, to what it does not offer or not to this account. */
const NOT_OFFERED = new Set<ErrorCode>(['NOT_FOUND', 'FORBIDDEN', 'INVALID_REQUEST', 'REJECTED']);

const READERS: Readonly<Record<MetricPart, (call: OperationContext) => Promise<MetricFamily[]>>> = {
  health: async (call) => [
    {
      name: 'gateway_health',
      type: 'gauge',
      help: 'Health values: percent or counts, 1 for yes and 0 for no.',
      samples: healthSamples(await readDocument(call, '/api/v1/system/healthcheck', { status: 'all' })),
    },
  ],
  sessions: async (call) => [
    { name: 'gateway_sessions', type: 'gauge', help: 'Active sessions.', samples: sessionSamples(await listSessions({}, call)) },
  ],
  license: async (call) => licenseFamilies(await readDocument(call, '/api/v1/license/license-server-lease-information')),
  cluster: async (call) => [
    {
      name: 'gateway_cluster_member_enabled',
      type: 'gauge',
      help: 'Whether a member of the cluster is enabled.',
      samples: memberSamples(await readDocument(call, '/api/v1/cluster')),
    },
  ],
  certificate: async (call) => [
    {
      name: 'gateway_certificate_days',
      type: 'gauge',
      help: 'Whole days until the certificate that the appliance serves expires.',
      samples: [{ value: (await call.fetchPeerCertificate()).days }],
    },
  ],
};

/**
 * All that is known of the appliance, as OpenMetrics. What it does not offer is left out; of one that does not answer there is
 * `gateway_up` 0 and what was counted here. Errors: only those that are not the appliance's.
 */
export async function readMetrics({ parts = [...METRIC_PARTS] }: { parts?: readonly string[] }, call: OperationContext): Promise<string> {
  const requestedParts = METRIC_PARTS.filter((part) => parts.includes(part));
  const leftOut: Record<string, ErrorCode> = {};
  let isUp = false;
  const readPart = async (part: MetricPart): Promise<MetricFamily[]> => {
    try {
      const families = await READERS[part](call);
      // A handshake says nothing about the interface, unless nothing else was asked for.
      isUp ||= part !== 'certificate' || part === requestedParts[0];
      return families;
    } catch (thrown) {
      const { requestCode, code } = asGatewayError(thrown);
      // Those are nobody's but ours; of an appliance without TLS there is no certificate.
      if (code === 'ABORTED' || (code === 'BAD_CONFIG' && part !== 'certificate')) throw thrown;
      leftOut[part] = code;
      isUp ||= requestCode !== undefined && NOT_OFFERED.has(requestCode);
      return [];
    }
  };
  // The first one tells whether there is anybody: five time limits at once would be five for nothing.
  const [first, ...others] = requestedParts;
  const found = first ? [await readPart(first)] : [];
  const code = first && leftOut[first];
  if (code !== undefined && UNREACHABLE_CODES.has(code)) {
    for (const part of others) leftOut[part] = code;
    call.counters.countFailure(code);
  } else found.push(...(await Promise.all(others.map(readPart))));
  call.addToEnvelope({ leftOut });
  const upFamily: MetricFamily = {
    name: 'gateway_up',
    type: 'gauge',
    help: 'Whether the appliance answers us.',
    samples: [{ value: isUp ? 1 : 0 }],
  };
  return formatOpenMetrics([upFamily, ...found.flat(), ...counterFamilies(call.counters)], { appliance: call.settings.name });
}

function readDocument(call: OperationContext, path: string, query?: Record<string, string>): Promise<JsonObject> {
  return call.read({ method: 'GET', path, ...(query && { query }) });
}

/** A value that the appliance does not know, which it says with -1, is no sample. */
function healthSamples(document: JsonObject): MetricSample[] {
  return Object.entries(document).flatMap(([key, raw]): MetricSample[] => {
    const value = readHealthValue(raw);
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (typeof number !== 'number' || number < 0) return [];
    // One name for what releases spell in two ways (field-notes.md, "Health").
    return [{ labels: { name: key === 'CPU-UTILIZATION4' ? 'CPU-UTILIZATION' : key }, value: number }];
  });
}

function sessionSamples(records: readonly JsonObject[]): MetricSample[] {
  const counts = new Map<string, number>();
  for (const record of records) {
    const realm = record['authentication-realm'];
    const name = typeof realm === 'string' ? realm : '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([realm, value]) => ({ labels: { realm }, value }));
}

function licenseFamilies(document: JsonObject): MetricFamily[] {
  const counts = getObject(document, 'leased-license-counts');
  const features = getObjects(getObject(counts, 'features'), 'feature').filter(({ name }) => typeof name === 'string');
  const samples = (readValue: (feature: JsonObject) => unknown): MetricSample[] =>
    features.flatMap((feature): MetricSample[] => {
      const value = readValue(feature);
      return typeof value === 'number' ? [{ labels: { feature: feature['name'] as string }, value }] : [];
    });
  const countLeased = (feature: JsonObject): number =>
    getObjects(getObject(feature, 'clients'), 'client-info').reduce((sum, client) => sum + (Number(client['leased-count']) || 0), 0);
  const readTotal = (feature: JsonObject): unknown => readHealthValue(feature['total-count']);
  return [
    { name: 'gateway_license_leased', type: 'gauge', help: 'Licences that are leased to clients.', samples: samples(countLeased) },
    { name: 'gateway_license_total', type: 'gauge', help: 'Licences that there are.', samples: samples(readTotal) },
  ];
}

function memberSamples(document: JsonObject): MetricSample[] {
  return getObjects(document, 'members').flatMap(({ name, enabled }): MetricSample[] =>
    typeof name === 'string' ? [{ labels: { name }, value: readHealthValue(enabled) === true ? 1 : 0 }] : [],
  );
}

function counterFamilies({ requests, failures, retries, logins, durations: { buckets, seconds } }: Counters): MetricFamily[] {
  const requestSamples = [...requests].flatMap(([method, { codes }]) =>
    [...codes].map(([code, { n }]): MetricSample => ({ labels: { method, code: String(code) }, value: n })),
  );
  const failureSamples = [...failures].map(([code, { n }]): MetricSample => ({ labels: { code: String(code) }, value: n }));
  let sum = 0;
  const cumulated = buckets.map((n, index): MetricSample => ({ suffix: '_bucket', labels: { le: formatBound(index) }, value: (sum += n) }));
  const histogram = [...cumulated, { suffix: '_count', value: sum }, { suffix: '_sum', value: seconds }];
  const withTotalSuffix = (samples: MetricSample[]): MetricSample[] => samples.map((sample) => ({ ...sample, suffix: '_total' }));
  return [
    {
      name: 'gateway_requests',
      type: 'counter',
      help: 'Requests by method, and by status or what ended them without one.',
      samples: withTotalSuffix(requestSamples),
    },
    { name: 'gateway_retries', type: 'counter', help: 'Reads that were sent again.', samples: withTotalSuffix([{ value: retries }]) },
    { name: 'gateway_logins', type: 'counter', help: 'Logins.', samples: withTotalSuffix([{ value: logins }]) },
    { name: 'gateway_failures', type: 'counter', help: 'Operations that failed, by code.', samples: withTotalSuffix(failureSamples) },
    {
      name: 'gateway_request_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'How long requests took, once they had a connection.',
      samples: histogram,
    },
  ];
}

/** As OpenMetrics wants it: a number with a point in it. */
function formatBound(index: number): string {
  const value = HISTOGRAM_BOUNDS_SECONDS[index];
  if (value === undefined) return '+Inf';
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function getObject(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isObject(value) ? value : {};
}

/** An array of objects, of which a single one may stand alone. */
function getObjects(parent: JsonObject, key: string): JsonObject[] {
  const value = parent[key];
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter((item): item is JsonObject => isObject(item));
}
