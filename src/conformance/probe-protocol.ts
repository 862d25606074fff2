import { unwrapSystemInformation } from '../run/identity';
import { DOCUMENTED_SYSTEM_INFORMATION } from './documented';
import type { ProbeRunner } from './probe-runner';

const WRONG_PATH = '/api/v1/system/conformance-check-wrong-path';
/** A documented path that accepts only PUT, so a GET has the wrong method and changes nothing. */
const PUT_ONLY_PATH = '/api/v1/license/license-client-lease-state';
const EXPORT_XML = '/api/v1/system/maintenance/export-xml';
const LEGACY_LOGIN = '/api/v1/auth';
const CONCURRENT_REQUESTS = 8;
const RELEASE = /^v?\d{1,3}(?:\.\d{1,4}){0,4}(?:R\d{1,3}(?:\.\d{1,4}){0,3})?$/i;
/** Tolerance of the clock comparison. The Date header has whole seconds, and the network adds some delay. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 2;

/** Probes login, errors, keys, connections and clock. */
export async function probeProtocol(prober: ProbeRunner): Promise<void> {
  const information = await prober.get(DOCUMENTED_SYSTEM_INFORMATION.path);
  readSystemInformation(prober, information.document);
  prober.note(
    information.etag !== undefined
      ? 'Responses have an ETag.'
      : 'Responses have no ETag, so two writers are detected by reading again before a write.',
  );
  await probeErrors(prober);
  await probeKeys(prober);
  await probeLegacyLogin(prober);
  await probeConnections(prober);
  probeClock(prober);
}

function readSystemInformation(prober: ProbeRunner, document: Readonly<Record<string, unknown>>): void {
  const system = unwrapSystemInformation(document);
  const release = system['os-version'];
  if (typeof release === 'string' && RELEASE.test(release)) prober.release = release;
  if (Object.keys(system).length === 0) return;
  prober.found('machineId', system['machine-id'] !== undefined);
  prober.found('clusterNode', system['cluster-node'] !== undefined);
}

async function probeErrors(prober: ProbeRunner): Promise<void> {
  const missing = await prober.get(WRONG_PATH);
  if (missing.status !== 404)
    prober.note(`A wrong path gets ${missing.status} instead of 404.`, 'A missing resource may not be reported as NOT_FOUND.');
  if (missing.status >= 400) prober.found('errorBody', missing.body === 'empty' ? 'empty' : missing.body === 'html' ? 'html' : 'envelope');
  const wrongMethod = await prober.get(PUT_ONLY_PATH);
  if (wrongMethod.status === 400 || wrongMethod.status === 405) prober.found('wrongMethodStatus', wrongMethod.status);
  else prober.skip('wrongMethodStatus', `a GET of a path that takes only PUT got ${wrongMethod.status}`);
  const xml = await prober.get(EXPORT_XML);
  if (xml.status !== 0) prober.found('xmlEndpoints', xml.status !== 404);
}

async function probeKeys(prober: ProbeRunner): Promise<void> {
  const refused = await prober.get(DOCUMENTED_SYSTEM_INFORMATION.path, { credentials: 'made-up-key' });
  if (refused.status === 401 || refused.status === 403) {
    prober.found('deadKeyStatus', refused.status);
    prober.note(`A key that was made up gets ${refused.status} ${refused.document['result'] ? 'with' : 'without'} a result envelope.`);
  } else
    prober.note(
      `A key that was made up gets ${refused.status}.`,
      'An expired key is not recognized. A new login happens only after 401 and 403.',
    );
  const health = await prober.get('/api/v1/system/healthcheck', { credentials: 'none' });
  if (health.status !== 0) prober.found('healthNeedsKey', !health.isSuccess);
}

/** Sends a login without credentials, so that no account counts a failure. POST is sent only if the release logs in by GET. */
async function probeLegacyLogin(prober: ProbeRunner): Promise<void> {
  const byGet = await prober.get(LEGACY_LOGIN, { credentials: 'none' });
  if (byGet.status === 404) prober.found('legacyLogin', 'unsupported');
  else if (byGet.status === 400 || byGet.status === 405) prober.found('legacyLogin', 'post');
  else if (byGet.status === 401 || byGet.status === 403) {
    const byPost = await prober.send({ template: LEGACY_LOGIN, method: 'POST', credentials: 'none' });
    prober.found('legacyLogin', byPost.status === 401 || byPost.status === 403 ? 'both' : 'get');
  } else prober.skip('legacyLogin', `a GET of the legacy login got ${byGet.status}`);
}

async function probeConnections(prober: ProbeRunner): Promise<void> {
  const { connection, pacer } = prober;
  const isKeptAlive = connection.opened < Math.max(2, pacer.sent / 2);
  prober.note(
    isKeptAlive ? 'Connections are kept alive.' : 'Connections are closed after a request or a few.',
    ...(isKeptAlive ? [] : ['Each request costs a TLS handshake. Large lists take longer.']),
  );
  const replies = await prober.sendAtOnce(CONCURRENT_REQUESTS, { template: DOCUMENTED_SYSTEM_INFORMATION.path });
  const failed = replies.filter(({ isSuccess }) => !isSuccess).length;
  if (failed === 0) prober.note(`${CONCURRENT_REQUESTS} requests at once are all answered.`);
  else prober.note(`${failed} of ${CONCURRENT_REQUESTS} requests at once failed.`, 'Lower *Max connections* of the appliance node.');
}

function probeClock(prober: ProbeRunner): void {
  const offset = prober.connection.clockOffsetSeconds;
  if (offset === undefined) {
    prober.skip('clockAhead', 'responses have no Date header');
    return;
  }
  const isSame = Math.abs(offset) <= MAX_CLOCK_DIFFERENCE_SECONDS;
  prober.found('clockAhead', isSame ? 0 : offset);
}
