import { createHash } from 'node:crypto';
import { type JsonObject } from './body-shape';
import { type Reply, Refusal, jsonReply } from './reply';
import type { ApiRequest, Router } from './router';

/** System information and health (appliance-api.md, "System", "System information" and "Health check values"). */
function information(request: ApiRequest): Reply {
  const { settings, variants, system: systemState } = request.state;
  const system: JsonObject = {
    'hardware-model': 'VA-Simulator',
    'host-name': systemState.hostName,
    'os-name': 'gateway-os',
    'os-version': systemState.release,
    'serial-number': systemState.serialNumber,
  };
  if (variants.machineId) system['machine-id'] = createHash('sha256').update(settings.name).digest('hex').slice(0, 20).toUpperCase();
  if (variants.clusterNode) system['cluster-node'] = { name: settings.name, enabled: true };
  return jsonReply({
    'rollback-partition-information': { build: '11892', 'os-name': 'gateway-os', 'os-version': '22.7R2.8' },
    'software-inventory': { software: { build: systemState.build, name: 'gateway-os', type: 'system', version: systemState.release } },
    'system-information': system,
  });
}

function health(request: ApiRequest): Reply {
  const status = request.query.get('status');
  const { variants, sessions } = request.state;
  if (!request.query.has('status')) return jsonReply({ message: 'The gateway is accessible.' });
  const formatNumber = (value: number): number | string => (variants.healthNumbers === 'text' ? String(value) : value);
  if (status === 'sbr') return jsonReply({ 'SBR-AVAILABLE': formatNumber(1) });
  if (status !== 'all') throw new Refusal(400, 'The query key status must be all or sbr');
  return jsonReply({
    [variants.cpuKey]: formatNumber(7),
    'SSL-CONNECTION-COUNT': formatNumber(sessions.count * 2),
    'MAX-LICENSED-USERS-REACHED': 'NO',
    'SWAP-UTILIZATION': formatNumber(0),
    'DISK-UTILIZATION': formatNumber(variants.diskUnknown ? -1 : 31),
    'USER-COUNT': formatNumber(sessions.count),
    'VPN-TUNNEL-COUNT': formatNumber(Math.floor(sessions.count * 0.8)),
  });
}

export function addSystemRoutes(router: Router): void {
  router.add('GET', 'system/system-information', information);
  router.add('GET', 'system/healthcheck', health, { query: ['status'], isPublic: (state) => !state.variants.healthNeedsKey });
}
