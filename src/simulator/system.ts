import { createHash } from 'node:crypto';
import { type JsonObject } from './fields';
import { type Reply, Refusal, json } from './reply';
import type { Call, Router } from './router';

/** System information and health (appliance-api.md, "System", "System information" and "Health check values"). */
function information(call: Call): Reply {
  const { settings, variants, system: own } = call.state;
  const system: JsonObject = {
    'hardware-model': 'VA-Simulator',
    'host-name': own.hostName,
    'os-name': 'gateway-os',
    'os-version': own.release,
    'serial-number': own.serialNumber,
  };
  if (variants.machineId) system['machine-id'] = createHash('sha256').update(settings.name).digest('hex').slice(0, 20).toUpperCase();
  if (variants.clusterNode) system['cluster-node'] = { name: settings.name, enabled: true };
  return json({
    'rollback-partition-information': { build: '11892', 'os-name': 'gateway-os', 'os-version': '22.7R2.8' },
    'software-inventory': { software: { build: own.build, name: 'gateway-os', type: 'system', version: own.release } },
    'system-information': system,
  });
}

function health(call: Call): Reply {
  const status = call.query.get('status');
  const { variants, sessions } = call.state;
  if (!call.query.has('status')) return json({ message: 'The gateway is accessible.' });
  const as = (value: number): number | string => (variants.healthNumbers === 'text' ? String(value) : value);
  if (status === 'sbr') return json({ 'SBR-AVAILABLE': as(1) });
  if (status !== 'all') throw new Refusal(400, 'The query key status must be all or sbr');
  return json({
    [variants.cpuKey]: as(7),
    'SSL-CONNECTION-COUNT': as(sessions.count * 2),
    'MAX-LICENSED-USERS-REACHED': 'NO',
    'SWAP-UTILIZATION': as(0),
    'DISK-UTILIZATION': as(variants.diskUnknown ? -1 : 31),
    'USER-COUNT': as(sessions.count),
    'VPN-TUNNEL-COUNT': as(Math.floor(sessions.count * 0.8)),
  });
}

export function systemRoutes(router: Router): void {
  router.add('GET', 'system/system-information', information);
  router.add('GET', 'system/healthcheck', health, { query: ['status'], open: (state) => !state.variants.healthNeedsKey });
}
