import { OUT_OF_REACH, type ErrorCode } from '../model/error-codes';
import { BOUNDS, type Counters } from '../model/counters';
import { asGatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { readHealthValue } from './health';
import { exposition, type Family, type Sample } from './exposition';
import { listSessions } from './sessions/list';

export { METRICS_TYPE } from './exposition';

/** What is read of the appliance. */
export const PARTS = ['health', 'sessions', 'license', 'cluster', 'certificate'] as const;
type Part = (typeof PARTS)[number];

/** The answer of an appliance that is well, to what it does not offer or not to this account. */
const NOT_OFFERED = new Set<ErrorCode>(['NOT_FOUND', 'FORBIDDEN', 'INVALID_REQUEST', 'REJECTED']);

const READERS: Readonly<Record<Part, (call: Call) => Promise<Family[]>>> = {
  health: async (call) => [
    {
      name: 'gateway_health',
      type: 'gauge',
      help: 'Health values: percent or counts, 1 for yes and 0 for no.',
      samples: healthSamples(await read(call, '/api/v1/system/healthcheck', { status: 'all' })),
    },
  ],
  sessions: async (call) => [
    { name: 'gateway_sessions', type: 'gauge', help: 'Active sessions.', samples: byRealm(await listSessions({}, call)) },
  ],
  license: async (call) => licenses(await read(call, '/api/v1/license/license-server-lease-information')),
  cluster: async (call) => [
    {
      name: 'gateway_cluster_member_enabled',
      type: 'gauge',
      help: 'Whether a member of the cluster is enabled.',
      samples: memberSamples(await read(call, '/api/v1/cluster')),
    },
  ],
  certificate: async (call) => [
    {
      name: 'gateway_certificate_days',
      type: 'gauge',
      help: 'Whole days until the certificate that the appliance serves expires.',
      samples: [{ value: (await call.served()).days }],
    },
  ],
};

/**
 * All that is known of the appliance, as OpenMetrics. What it does not offer is left out; of one that does not answer there is
 * `gateway_up` 0 and what was counted here. Errors: only those that are not the appliance's.
 */
export async function readMetrics({ parts = [...PARTS] }: { parts?: readonly string[] }, call: Call): Promise<string> {
  const wanted = PARTS.filter((part) => parts.includes(part));
  const leftOut: Record<string, ErrorCode> = {};
  let up = false;
  const attempt = async (part: Part): Promise<Family[]> => {
    try {
      const families = await READERS[part](call);
      // A handshake says nothing about the interface, unless nothing else was asked for.
      up ||= part !== 'certificate' || part === wanted[0];
      return families;
    } catch (thrown) {
      const { answered, code } = asGatewayError(thrown);
      // Those are nobody's but ours; of an appliance without TLS there is no certificate.
      if (code === 'ABORTED' || (code === 'BAD_CONFIG' && part !== 'certificate')) throw thrown;
      leftOut[part] = code;
      up ||= answered !== undefined && NOT_OFFERED.has(answered);
      return [];
    }
  };
  // The first one tells whether there is anybody: five time limits at once would be five for nothing.
  const [first, ...others] = wanted;
  const found = first ? [await attempt(first)] : [];
  const code = first && leftOut[first];
  if (code !== undefined && OUT_OF_REACH.has(code)) {
    for (const part of others) leftOut[part] = code;
    call.counters.failed(code);
  } else found.push(...(await Promise.all(others.map(attempt))));
  call.note({ leftOut });
  const state: Family = { name: 'gateway_up', type: 'gauge', help: 'Whether the appliance answers us.', samples: [{ value: up ? 1 : 0 }] };
  return exposition([state, ...found.flat(), ...counted(call.counters)], { appliance: call.settings.name });
}

function read(call: Call, path: string, query?: Record<string, string>): Promise<JsonObject> {
  return call.read({ method: 'GET', path, ...(query && { query }) });
}

/** A value that the appliance does not know, which it says with -1, is no sample. */
function healthSamples(document: JsonObject): Sample[] {
  return Object.entries(document).flatMap(([key, raw]): Sample[] => {
    const value = readHealthValue(raw);
    const number = typeof value === 'boolean' ? Number(value) : value;
    if (typeof number !== 'number' || number < 0) return [];
    // One name for what releases spell in two ways (field-notes.md, "Health").
    return [{ labels: { name: key === 'CPU-UTILIZATION4' ? 'CPU-UTILIZATION' : key }, value: number }];
  });
}

function byRealm(records: readonly JsonObject[]): Sample[] {
  const counts = new Map<string, number>();
  for (const record of records) {
    const realm = record['authentication-realm'];
    const name = typeof realm === 'string' ? realm : '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([realm, value]) => ({ labels: { realm }, value }));
}

function licenses(document: JsonObject): Family[] {
  const counts = objectIn(document, 'leased-license-counts');
  const features = objectsIn(objectIn(counts, 'features'), 'feature').filter(({ name }) => typeof name === 'string');
  const samples = (valueOf: (feature: JsonObject) => unknown): Sample[] =>
    features.flatMap((feature): Sample[] => {
      const value = valueOf(feature);
      return typeof value === 'number' ? [{ labels: { feature: feature['name'] as string }, value }] : [];
    });
  const leased = (feature: JsonObject): number =>
    objectsIn(objectIn(feature, 'clients'), 'client-info').reduce((sum, client) => sum + (Number(client['leased-count']) || 0), 0);
  const total = (feature: JsonObject): unknown => readHealthValue(feature['total-count']);
  return [
    { name: 'gateway_license_leased', type: 'gauge', help: 'Licences that are leased to clients.', samples: samples(leased) },
    { name: 'gateway_license_total', type: 'gauge', help: 'Licences that there are.', samples: samples(total) },
  ];
}

function memberSamples(document: JsonObject): Sample[] {
  return objectsIn(document, 'members').flatMap(({ name, enabled }): Sample[] =>
    typeof name === 'string' ? [{ labels: { name }, value: readHealthValue(enabled) === true ? 1 : 0 }] : [],
  );
}

function counted({ requests, failures, retries, logins, took: { buckets, seconds } }: Counters): Family[] {
  const answered = [...requests].flatMap(([method, { codes }]) =>
    [...codes].map(([code, { n }]): Sample => ({ labels: { method, code: String(code) }, value: n })),
  );
  const failed = [...failures].map(([code, { n }]): Sample => ({ labels: { code: String(code) }, value: n }));
  let sum = 0;
  const cumulated = buckets.map((n, index): Sample => ({ suffix: '_bucket', labels: { le: bound(index) }, value: (sum += n) }));
  const histogram = [...cumulated, { suffix: '_count', value: sum }, { suffix: '_sum', value: seconds }];
  const total = (samples: Sample[]): Sample[] => samples.map((sample) => ({ ...sample, suffix: '_total' }));
  return [
    {
      name: 'gateway_requests',
      type: 'counter',
      help: 'Requests by method, and by status or what ended them without one.',
      samples: total(answered),
    },
    { name: 'gateway_retries', type: 'counter', help: 'Reads that were sent again.', samples: total([{ value: retries }]) },
    { name: 'gateway_logins', type: 'counter', help: 'Logins.', samples: total([{ value: logins }]) },
    { name: 'gateway_failures', type: 'counter', help: 'Operations that failed, by code.', samples: total(failed) },
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
function bound(index: number): string {
  const value = BOUNDS[index];
  if (value === undefined) return '+Inf';
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function objectIn(of: JsonObject, key: string): JsonObject {
  const value = of[key];
  return isObject(value) ? value : {};
}

/** An array of objects, of which a single one may stand alone. */
function objectsIn(of: JsonObject, key: string): JsonObject[] {
  const value = of[key];
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter((item): item is JsonObject => isObject(item));
}
