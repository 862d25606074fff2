import { defineArea, booleanField, choiceField, listField, defineOperation, subjectField } from '../model/operation';
import { resolveBrand } from './vendor-and-brand';
import { trusted, safeMessage } from '../model/safe-message';
import type { JsonObject } from '../model/json';
import { mergeOpenMetrics } from './open-metrics';
import { METRICS_CONTENT_TYPE, METRIC_PARTS, readMetrics } from './metrics';
import { readHealthValue } from './health-value';
import { createSupportBundle } from './support';

const ESAPS = '/api/v1/configuration/authentication/endpoint/host-checker/esaps';

function readHealth(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [key, readHealthValue(value)]));
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
      help: 'Hardware model, serial number, host name and software versions.',
      summary: { done: 'Read the system information.' },
      data: 'system information',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/system/system-information' }),
      example: { input: {}, request: 'GET /api/v1/system/system-information' },
    }),
    health: defineOperation({
      effect: 'read',
      label: 'Health',
      help: 'CPU, disk and swap in percent, users, tunnels and connections; -1 means that the appliance does not know. The raw values are in `msg.envelope.raw`.',
      summary: { done: 'Read the health values.' },
      data: 'health values as numbers and booleans',
      fields: {
        status: subjectField(
          choiceField('Status', 'Which values: `all`, or `sbr` for the RADIUS server. Nothing asks only whether the appliance answers.', [
            'all',
            'sbr',
          ]),
        ),
      },
      request: ({ status }) => ({ method: 'GET', path: '/api/v1/system/healthcheck', ...(status && { query: { status } }) }),
      read: (document, _input, note) => {
        note({ raw: document });
        return readHealth(document);
      },
      example: { input: { status: 'all' }, request: 'GET /api/v1/system/healthcheck?status=all' },
    }),
    metrics: defineOperation({
      effect: 'read',
      label: 'Metrics',
      help: 'Health, sessions by realm, licence leases, cluster members, the days of the certificate, and what this Node-RED has sent to the appliance, as text in the OpenMetrics format. An appliance that does not answer is `gateway_up` 0 and no error; `msg.envelope.leftOut` says what could not be read, and why.',
      summary: { done: 'Read the metrics.' },
      data: 'text in the OpenMetrics format',
      contentType: METRICS_CONTENT_TYPE,
      aggregate: mergeOpenMetrics,
      fields: {
        parts: listField('Parts', `What of the appliance is read, some of ${METRIC_PARTS.join(', ')}. Nothing given: all of it.`, {
          guard: true,
          known: METRIC_PARTS,
          check: (parts) => {
            const unknownPart = parts.find((part) => !METRIC_PARTS.some((known) => known === part));
            if (unknownPart !== undefined)
              return safeMessage`has ${JSON.stringify(unknownPart)}; there are: ${trusted(METRIC_PARTS.join(', '))}.`;
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
      label: 'Support bundle',
      help: 'What whoever helps wants to know: versions, settings, counters, the last 200 exchanges as method, path, status and time, and a check of the configuration with advice. No secret, name, address, account or serial number is in it; what may be one in a path is `*`.',
      summary: { done: 'Made a support bundle.' },
      data: '`{ format, at, versions, appliance, settings, counters, exchanges, findings }`',
      fields: {},
      run: (_input, call) => createSupportBundle(call),
      example: { input: {}, request: 'GET /api/v1/system/system-information' },
    }),
    'esap-packages': defineOperation({
      effect: 'read',
      label: 'ESAP packages',
      help: 'The host checker packages that are on the appliance and which one is active.',
      summary: { done: 'Read the ESAP packages.' },
      data: 'ESAP list',
      fields: {
        expand: booleanField('Expand', 'Ask for every package in full.'),
        'exclude-packages': booleanField('Exclude packages', "Leave the vendor's own packages out. Needs the brand of the appliance."),
      },
      // The interface shows the two flags with two ampersands between them; whoever wrote its parser saw them so as well.
      run: async ({ expand, 'exclude-packages': exclude }, call) => {
        const flags = [expand ? 'expand' : '', exclude ? `exclude${await resolveBrand(call)}Packages` : ''].filter(Boolean);
        return call.read({ method: 'GET', path: ESAPS, ...(flags.length > 0 && { rawQuery: flags.join('&&') }) });
      },
      example: { input: { expand: true }, request: `GET ${ESAPS}?expand` },
    }),
  },
});
