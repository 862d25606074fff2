import { UNREACHABLE_CODES, type ErrorCode } from '../model/error-codes';
import { HISTOGRAM_BOUNDS_SECONDS, type Counters } from '../model/counters';
import { asGatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { readHealthValue } from './health-value';
import { formatOpenMetrics, type MetricFamily, type MetricSample } from './open-metrics';
import { listSessions } from './sessions/list-sessions';

export { METRICS_CONTENT_TYPE } from './open-metrics';

/** The parts that the operation can read from the appliance. */
export const METRIC_SECTIONS = ['health', 'sessions', 'license', 'cluster', 'certificate'] as const;
type MetricPart = (typeof METRIC_SECTIONS)[number];

/** Error codes of a healthy appliance that does not offer a resource, or does not offer it to this account. */
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
 * Reads the requested parts as OpenMetrics text. Parts that the appliance does not offer are left out. An unreachable appliance yields
 * `gateway_up` 0 and the local counters. Errors: `ABORTED`, and `BAD_CONFIG` of the configuration.
 */
export async function readMetrics(
  { parts = [...METRIC_SECTIONS] }: { parts?: readonly string[] },
  call: OperationContext,
): Promise<string> {
  const requestedParts = METRIC_SECTIONS.filter((part) => parts.includes(part));
  const leftOut: Record<string, ErrorCode> = {};
  let isUp = false;
  const readPart = async (part: MetricPart): Promise<MetricFamily[]> => {
    try {
      const families = await READERS[part](call);
      // A handshake proves that the API is up only if no other part is requested.
      isUp ||= part !== 'certificate' || part === requestedParts[0];
      return families;
    } catch (thrown) {
      const { requestCode, code } = asGatewayError(thrown);
      // These errors are local; BAD_CONFIG of the certificate means an appliance without TLS.
      if (code === 'ABORTED' || (code === 'BAD_CONFIG' && part !== 'certificate')) throw thrown;
      leftOut[part] = code;
      isUp ||= requestCode !== undefined && NOT_OFFERED.has(requestCode);
      return [];
    }
  };
  // Read one part first: an unreachable appliance then costs one timeout instead of five.
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
    help: 'Whether the appliance responds.',
    samples: [{ value: isUp ? 1 : 0 }],
  };
  return formatOpenMetrics([upFamily, ...found.flat(), ...counterFamilies(call.counters)], { appliance: call.settings.name });
}

function readDocument(call: OperationContext, path: string, query?: Record<string, string>): Promise<JsonObject> {
  return call.read({ method: 'GET', path, ...(query && { query }) });
}

/** Skips the value -1, which means that the appliance does not know the value. */
function healthSamples(document: JsonObject): MetricSample[] {
  return Object.entries(document).flatMap(([key, raw]): MetricSample[] => {
    const value = readHealthValue(raw);
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (typeof number !== 'number' || number < 0) return [];
    // Releases spell this name in two ways (field-notes.md, "Health").
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
    { name: 'gateway_license_leased', type: 'gauge', help: 'Licenses that are leased to clients.', samples: samples(countLeased) },
    { name: 'gateway_license_total', type: 'gauge', help: 'Available licenses.', samples: samples(readTotal) },
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
      help: 'Requests by method and by status, or by the error code without a status.',
      samples: withTotalSuffix(requestSamples),
    },
    { name: 'gateway_retries', type: 'counter', help: 'Repeated reads.', samples: withTotalSuffix([{ value: retries }]) },
    { name: 'gateway_logins', type: 'counter', help: 'Logins.', samples: withTotalSuffix([{ value: logins }]) },
    { name: 'gateway_failures', type: 'counter', help: 'Failed operations by error code.', samples: withTotalSuffix(failureSamples) },
    {
      name: 'gateway_request_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'Duration of requests, without the wait for a connection.',
      samples: histogram,
    },
  ];
}

/** OpenMetrics requires a decimal point in bounds. */
function formatBound(index: number): string {
  const value = HISTOGRAM_BOUNDS_SECONDS[index];
  if (value === undefined) return '+Inf';
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function getObject(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isObject(value) ? value : {};
}

/** Reads an array of objects, or a single object. */
function getObjects(parent: JsonObject, key: string): JsonObject[] {
  const value = parent[key];
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter((item): item is JsonObject => isObject(item));
}
