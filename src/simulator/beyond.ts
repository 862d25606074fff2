import { type JsonObject, textOf } from './fields';
import { type Reply, Refusal, info, json, noContent, written } from './reply';
import type { Call, Router } from './router';

/** What clients use beyond the interface description (field notes, "Paths beyond the description"). */
const KINDS = ['system', 'user'];

function overview(call: Call): Reply {
  const { settings, sessions } = call.state;
  return json({ 'appliance-name': settings.name, uptime: '12 days', 'concurrent-users': sessions.count, 'cpu-usage': 7 });
}

function userStats(call: Call): Reply {
  const count = call.state.sessions.count;
  return json({ 'user-stats': { 'current-active-users': count, 'total-active-users': count, 'max-active-users': count + 3 } });
}

function configType(call: Call): string {
  const kind = call.query.get('config-type');
  if (kind === undefined || !KINDS.includes(kind)) throw new Refusal(400, 'The query key config-type must be system or user');
  return kind;
}

function backups(call: Call): Reply {
  const kind = configType(call);
  return json({ localbackups: call.state.beyond.backups.filter((backup) => backup.kind === kind).map(({ name }) => ({ name })) });
}

function makeBackup(call: Call): Reply {
  const kind = configType(call);
  const { beyond, variants } = call.state;
  const name = `${kind}-${beyond.backups.length + 1}`;
  beyond.backups.push({ kind, name });
  return info(variants, 201, `The local backup ${name} was created.`);
}

function dropBackup(call: Call): Reply {
  const kind = configType(call);
  const { beyond, variants } = call.state;
  const at = beyond.backups.findIndex((backup) => backup.kind === kind && backup.name === call.parameter);
  if (at < 0) throw new Refusal(404, `The local backup ${call.parameter} does not exist.`);
  beyond.backups.splice(at, 1);
  return written(variants, variants.deleteStatus);
}

function licenseKey(call: Call): Reply {
  const { beyond, variants } = call.state;
  const key = textOf(call.body, 'license-key');
  const action = call.query.get('action');
  if (key === '') throw new Refusal(422, 'Validation failed: license-key is missing');
  if (action === 'install') beyond.licenseKeys.add(key);
  else if (action !== 'delete') throw new Refusal(400, 'The query key action must be install or delete');
  else if (!beyond.licenseKeys.delete(key)) throw new Refusal(404, `The license key ${key} does not exist.`);
  return info(variants, 200, `License key: ${action}`);
}

function resetCode(call: Call): Reply {
  const operation = call.query.get('operation');
  if (operation !== 'reset' && operation !== 'unlock') throw new Refusal(400, 'The query key operation must be reset or unlock');
  call.state.beyond.codes.push(`${operation} ${call.segments.slice(3).join(' ')}`);
  return info(call.state.variants, 200, `TOTP user: ${operation}`);
}

function plain(body: string): Reply {
  return { status: 200, type: 'text/plain', body };
}

/** Endpoints that the profiler knows, by hardware address. `?=addNewDevice` is a query without a key. */
function addEndpoint(call: Call): Reply {
  if (call.query.get('') !== 'addNewDevice') throw new Refusal(400, 'The query must be =addNewDevice');
  const address = textOf(call.body, 'macaddr');
  if (address === '') throw new Refusal(422, 'Validation failed: macaddr is missing');
  call.state.beyond.endpoints.set(address, call.body);
  return plain('Device added successfully');
}

function endpoint(call: Call): JsonObject {
  const found = call.state.beyond.endpoints.get(call.parameter);
  if (!found) throw new Refusal(404, `The endpoint ${call.parameter} does not exist.`);
  return found;
}

function changeEndpoint(call: Call): Reply {
  Object.assign(endpoint(call), call.body);
  return plain('Device updated successfully');
}

function dropEndpoint(call: Call): Reply {
  endpoint(call);
  call.state.beyond.endpoints.delete(call.parameter);
  return noContent();
}

/** `BYTES` is no text at all. */
const BYTES = Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0x00, 0xfe]);

export function beyondRoutes(router: Router): void {
  router.add('GET', 'system/status/overview', overview);
  router.add('GET', 'system/status/ntp', () => plain('synchronised to NTP server (192.0.2.123) at stratum 3\n'));
  router.add('GET', 'system/user-stats', userStats);
  // Nothing is under way: an answer without content.
  router.add('GET', 'system/maintenance', () => noContent());
  router.add('GET', 'system/maintenance/archiving/localbackup', backups, { query: ['config-type'] });
  router.add('POST', 'system/maintenance/archiving/localbackup', makeBackup, { query: ['config-type'], body: 'optional' });
  router.add('DELETE', 'system/maintenance/archiving/localbackup/*', dropBackup, { query: ['config-type'] });
  router.add('PUT', 'license/license-key', licenseKey, { query: ['action'], body: 'json' });
  router.add('GET', 'license/keys-status', (call) =>
    json({ keys: [...call.state.beyond.licenseKeys].map((key) => ({ key, status: 'valid' })) }),
  );
  router.add('PUT', 'totp/*/users/*', resetCode, { query: ['operation'], body: 'optional' });
  router.add('GET', 'profiler/endpoints', (call) => json([...call.state.beyond.endpoints.values()]), { query: 'any' });
  router.add('POST', 'profiler/endpoints', addEndpoint, { query: [''], body: 'json' });
  router.add('GET', 'profiler/endpoints/*', (call) => json(endpoint(call)));
  router.add('PUT', 'profiler/endpoints/*', changeEndpoint, { body: 'json' });
  router.add('DELETE', 'profiler/endpoints/*', dropEndpoint);
  router.add('GET', 'profiler/fingerprints', () => ({ status: 200, type: 'application/octet-stream', body: BYTES }));
  router.add('POST', 'profiler/fingerprints', (call) => plain(`${call.raw.length} bytes of ${call.headers['content-type'] ?? 'nothing'}`), {
    body: 'raw',
  });
}
