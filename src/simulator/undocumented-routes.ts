import { type JsonObject, readText } from './body-shape';
import { type Reply, Refusal, infoReply, jsonReply, noContentReply, successReply } from './reply';
import type { ApiRequest, Router } from './router';

/** What clients use beyond the interface description (field notes, "Paths beyond the description"). */
const CONFIG_TYPES = ['system', 'user'];

function overview(request: ApiRequest): Reply {
  const { settings, sessions } = request.state;
  return jsonReply({ 'appliance-name': settings.name, uptime: '12 days', 'concurrent-users': sessions.count, 'cpu-usage': 7 });
}

/** One server that the clock follows, and one that does not respond. */
function ntpStatus(): Reply {
  const values = { delay: '1.250', jitter: '0.310', offset: '-0.042', pool: '64', type: 'u' };
  return jsonReply({
    'ntp-server-status': {
      '192.0.2.123': { ...values, reach: '377', refid: '198.51.100.1', 'remote NTP Server': '192.0.2.123', stratum: '2', when: '12' },
      '192.0.2.124': { ...values, reach: '0', refid: '.INIT.', 'remote NTP Server': '192.0.2.124', stratum: '16', when: '-' },
    },
  });
}

function userStats(request: ApiRequest): Reply {
  const count = request.state.sessions.count;
  return jsonReply({
    'user-stats': { 'allocated-user-count': '1000', 'current-user-count': String(count), 'max-active-user-count-24hrs': String(count + 3) },
  });
}

function readConfigType(request: ApiRequest): string {
  const kind = request.query.get('config-type');
  if (kind === undefined || !CONFIG_TYPES.includes(kind)) throw new Refusal(400, 'The query key config-type must be system or user');
  return kind;
}

function listBackups(request: ApiRequest): Reply {
  const kind = readConfigType(request);
  return jsonReply({
    localbackups: request.state.undocumented.backups.filter((backup) => backup.kind === kind).map(({ name }) => ({ name })),
  });
}

function makeBackup(request: ApiRequest): Reply {
  const kind = readConfigType(request);
  const { undocumented, variants } = request.state;
  const name = `${kind}-${undocumented.backups.length + 1}`;
  undocumented.backups.push({ kind, name });
  return infoReply(variants, 201, `The local backup ${name} was created.`);
}

function deleteBackup(request: ApiRequest): Reply {
  const kind = readConfigType(request);
  const { undocumented, variants } = request.state;
  const at = undocumented.backups.findIndex((backup) => backup.kind === kind && backup.name === request.parameter);
  if (at < 0) throw new Refusal(404, `The local backup ${request.parameter} does not exist.`);
  undocumented.backups.splice(at, 1);
  return successReply(variants, variants.deleteStatus);
}

function licenseKey(request: ApiRequest): Reply {
  const { undocumented, variants } = request.state;
  const key = readText(request.body, 'license-key');
  const action = request.query.get('action');
  if (key === '') throw new Refusal(422, 'Validation failed: license-key is missing');
  if (action === 'install') undocumented.licenseKeys.add(key);
  else if (action !== 'delete') throw new Refusal(400, 'The query key action must be install or delete');
  else if (!undocumented.licenseKeys.delete(key)) throw new Refusal(404, `The license key ${key} does not exist.`);
  return infoReply(variants, 200, `License key: ${action}`);
}

function resetCode(request: ApiRequest): Reply {
  const operation = request.query.get('operation');
  if (operation !== 'reset' && operation !== 'unlock') throw new Refusal(400, 'The query key operation must be reset or unlock');
  request.state.undocumented.totpActions.push(`${operation} ${request.segments.slice(3).join(' ')}`);
  return infoReply(request.state.variants, 200, `TOTP user: ${operation}`);
}

function textReply(body: string): Reply {
  return { status: 200, type: 'text/plain', body };
}

/** Endpoints that the profiler knows, by hardware address. `?=addNewDevice` is a query without a key. */
function addEndpoint(request: ApiRequest): Reply {
  if (request.query.get('') !== 'addNewDevice') throw new Refusal(400, 'The query must be =addNewDevice');
  const address = readText(request.body, 'macaddr');
  if (address === '') throw new Refusal(422, 'Validation failed: macaddr is missing');
  request.state.undocumented.endpoints.set(address, request.body);
  return textReply('Device added successfully');
}

function getEndpoint(request: ApiRequest): JsonObject {
  const found = request.state.undocumented.endpoints.get(request.parameter);
  if (!found) throw new Refusal(404, `The endpoint ${request.parameter} does not exist.`);
  return found;
}

function changeEndpoint(request: ApiRequest): Reply {
  Object.assign(getEndpoint(request), request.body);
  return textReply('Device updated successfully');
}

function deleteEndpoint(request: ApiRequest): Reply {
  getEndpoint(request);
  request.state.undocumented.endpoints.delete(request.parameter);
  return noContentReply();
}

/** `BYTES` is not text. */
const BYTES = Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0x00, 0xfe]);

export function addUndocumentedRoutes(router: Router): void {
  router.add('GET', 'system/status/overview', overview);
  router.add('GET', 'system/status/ntp', ntpStatus);
  router.add('GET', 'system/user-stats', userStats);
  // No operation is running, so the answer has no content.
  router.add('GET', 'system/maintenance', () => noContentReply());
  router.add('GET', 'system/maintenance/archiving/localbackup', listBackups, { query: ['config-type'] });
  router.add('POST', 'system/maintenance/archiving/localbackup', makeBackup, { query: ['config-type'], body: 'optional' });
  router.add('DELETE', 'system/maintenance/archiving/localbackup/*', deleteBackup, { query: ['config-type'] });
  router.add('PUT', 'license/license-key', licenseKey, { query: ['action'], body: 'json' });
  router.add('GET', 'license/keys-status', (request) =>
    jsonReply({ keys: [...request.state.undocumented.licenseKeys].map((key) => ({ key, status: 'valid' })) }),
  );
  router.add('PUT', 'totp/*/users/*', resetCode, { query: ['operation'], body: 'optional' });
  router.add('GET', 'profiler/endpoints', (request) => jsonReply([...request.state.undocumented.endpoints.values()]), { query: 'any' });
  router.add('POST', 'profiler/endpoints', addEndpoint, { query: [''], body: 'json' });
  router.add('GET', 'profiler/endpoints/*', (request) => jsonReply(getEndpoint(request)));
  router.add('PUT', 'profiler/endpoints/*', changeEndpoint, { body: 'json' });
  router.add('DELETE', 'profiler/endpoints/*', deleteEndpoint);
  router.add('GET', 'profiler/fingerprints', () => ({ status: 200, type: 'application/octet-stream', body: BYTES }));
  router.add(
    'POST',
    'profiler/fingerprints',
    (request) => textReply(`${request.raw.length} bytes of ${request.headers['content-type'] ?? 'nothing'}`),
    {
      body: 'raw',
    },
  );
}
