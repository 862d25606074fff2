import {
  defineArea,
  booleanField,
  choiceField,
  listField,
  defineOperation,
  numberField,
  objectField,
  payloadField,
} from '../model/operation';
import { resolveBrand } from './vendor-and-brand';
import { trusted, safeMessage } from '../model/safe-message';
import { isObject, type JsonObject } from '../model/json';
import { mergeOpenMetrics } from './open-metrics';
import { METRICS_CONTENT_TYPE, METRIC_SECTIONS, readMetrics } from './metrics';
import { readHealthValue } from './health-value';
import { createSupportBundle } from './support';

const ESAPS = '/api/v1/configuration/authentication/endpoint/host-checker/esaps';

function readHealth(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [key, readHealthValue(value)]));
}

/** The servers of the NTP status, by address on the appliance (field-notes.md, "Clock and statistics"). */
function readNtpServers({ 'ntp-server-status': servers }: JsonObject): JsonObject[] {
  return Object.entries(isObject(servers) ? servers : {}).map(([server, values]) => ({
    server,
    ...(isObject(values) && readHealth(values)),
  }));
}

/** System information and health (appliance-api.md, "System"), ESAP packages of the host checker. */
export const systemArea = defineArea({
  name: 'system',
  label: 'Gateway system',
  help: 'Reads system information, health values and host-checker ESAP packages.',
  icon: 'gateway-system.svg',
  color: '#9DEEF0',
  operations: {
    info: defineOperation({
      effect: 'read',
      label: 'System information',
      help: 'Reads hardware model, serial number, host name and software versions.',
      summary: { done: 'Read the system information of __appliance__.' },
      data: 'system information',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/system/system-information' }),
      example: { input: {}, request: 'GET /api/v1/system/system-information' },
    }),
    health: defineOperation({
      effect: 'read',
      label: 'Health',
      help: 'Reads CPU, disk and swap in percent, users, tunnels and connections; -1 means that the appliance does not know the value. The raw values are in `msg.envelope.raw`.',
      summary: { done: 'Read the health values of __appliance__.' },
      data: 'health values as numbers and booleans',
      fields: {
        status: payloadField(
          choiceField(
            'Status',
            'Which values to read: `all`, or `sbr` for the RADIUS server. Empty: only whether the appliance responds.',
            ['all', 'sbr'],
          ),
        ),
      },
      request: ({ status }) => ({ method: 'GET', path: '/api/v1/system/healthcheck', ...(status && { query: { status } }) }),
      read: (document, _input, addToEnvelope) => {
        addToEnvelope({ raw: document });
        return readHealth(document);
      },
      example: { input: { status: 'all' }, request: 'GET /api/v1/system/healthcheck?status=all' },
    }),
    metrics: defineOperation({
      effect: 'read',
      permissions: { reads: 'health check, active users, licenses, cluster: forbidden parts are left out' },
      label: 'Metrics',
      help: 'Reads health, sessions by realm, license leases, cluster members, the remaining days of the certificate and the request counters of this Node-RED, as text in the OpenMetrics format. For an unreachable appliance, `gateway_up` is 0 and there is no error; `msg.envelope.leftOut` names the parts that could not be read, with the reason.',
      summary: { done: 'Read the metrics of __appliance__.' },
      data: 'text in the OpenMetrics format',
      contentType: METRICS_CONTENT_TYPE,
      aggregate: mergeOpenMetrics,
      fields: {
        parts: listField('Parts', `Parts to read, some of ${METRIC_SECTIONS.join(', ')}. Empty: all parts.`, {
          guard: true,
          known: METRIC_SECTIONS,
          check: (parts) => {
            const unknownPart = parts.find((part) => !METRIC_SECTIONS.some((known) => known === part));
            if (unknownPart !== undefined)
              return safeMessage`contains ${JSON.stringify(unknownPart)}; use some of: ${trusted(METRIC_SECTIONS.join(', '))}.`;
            return parts.length > 0 ? undefined : 'is an empty array.';
          },
          example: ['health', 'license'],
        }),
      },
      run: readMetrics,
      example: { input: { parts: ['health'] }, request: 'GET /api/v1/system/healthcheck?status=all' },
    }),
    'support-bundle': defineOperation({
      effect: 'read',
      permissions: {
        reads: 'system information; the role mapping of the admin realm and the session options of its roles: forbidden parts are left out',
      },
      label: 'Support bundle',
      help: 'Diagnostics for support: versions, settings, counters, the last 200 exchanges as method, path, status and time, and advice on the configuration. The bundle contains no secret, name, address, account or serial number; parts of a path that could be one are shown as `*`.',
      summary: { done: 'Made a support bundle of __appliance__.' },
      data: '`{ format, at, versions, appliance, settings, counters, exchanges, findings }`',
      fields: {},
      run: (_input, call) => createSupportBundle(call),
      example: { input: {}, request: 'GET /api/v1/system/system-information' },
    }),
    conformance: defineOperation({
      effect: 'read',
      permissions: { reads: 'everything that the interface documents: what the account may not read is a part of the result' },
      label: 'Conformance check',
      help: 'Checks with at most 200 reads how the appliance responds; the report and the profile contain no values, names or addresses. With a previous profile, the payload also has the answers that changed, and `msg.envelope.text` has a line for each of them.',
      summary: { done: 'Checked how __appliance__ answers.' },
      data: '`{ profile, report, differences }`',
      fields: {
        previous: objectField('Previous profile', 'The `profile` of an earlier check. Empty: nothing is compared.'),
        rate: numberField('Rate (requests per second)', 'Requests per second on average. Empty: 4.', {
          guard: true,
          check: (rate) => (rate > 0 && rate <= 1000 ? undefined : 'must be above 0 and at most 1000.'),
          example: 4,
        }),
      },
      run: async (input, call) => (await import('./conformance.js')).readConformance(input, call),
      example: { input: { rate: 100 }, request: 'GET /api/v1/system/system-information' },
    }),
    'ntp-status': defineOperation({
      effect: 'read',
      label: 'NTP status',
      help: 'Reads how the clock of the appliance follows each NTP server. A reach of 0 means that the server does not respond.',
      summary: {
        found: '__n__ NTP servers of __appliance__.',
        'found-one': '1 NTP server of __appliance__.',
      },
      data: 'array of `{ server, reach, stratum, offset, delay, jitter, … }`',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/system/status/ntp' }),
      read: readNtpServers,
      example: { input: {}, request: 'GET /api/v1/system/status/ntp' },
    }),
    'user-statistics': defineOperation({
      effect: 'read',
      label: 'User login statistics',
      help: 'Reads how many users are allowed, how many are signed in now, and the most in the last 24 hours. The names differ from release to release.',
      summary: { done: 'Read the user login statistics of __appliance__.' },
      data: 'values as numbers, such as `{ allocated-user-count, current-user-count, max-active-user-count-24hrs }`',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/system/user-stats' }),
      read: ({ 'user-stats': statistics, ...document }) => readHealth(isObject(statistics) ? statistics : document),
      example: { input: {}, request: 'GET /api/v1/system/user-stats' },
    }),
    'esap-packages': defineOperation({
      effect: 'read',
      permissions: { reads: 'host checker in the configuration; active users, if no brand is set' },
      label: 'ESAP packages',
      help: 'Lists the host checker packages on the appliance and shows which one is active.',
      summary: { done: 'Read the ESAP packages of __appliance__.' },
      data: 'ESAP list',
      fields: {
        expand: booleanField('Expand', 'Reads every package with all its fields.'),
        'exclude-packages': booleanField('Exclude packages', 'Leaves out the packages of the vendor. Needs the brand of the appliance.'),
      },
      // The API description separates the two flags with two ampersands.
      run: async ({ expand, 'exclude-packages': exclude }, call) => {
        const flags = [expand ? 'expand' : '', exclude ? `exclude${await resolveBrand(call)}Packages` : ''].filter(Boolean);
        return call.read({ method: 'GET', path: ESAPS, ...(flags.length > 0 && { rawQuery: flags.join('&&') }) });
      },
      example: { input: { expand: true }, request: `GET ${ESAPS}?expand` },
    }),
  },
});
