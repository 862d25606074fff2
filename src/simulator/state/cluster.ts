import type { SimulatorSettings } from '../options';

/** The cluster that this node is a member of (appliance-api.md, "Cluster"). */
export interface ClusterMember {
  name: string;
  enabled: boolean;
  'internal-ip': string;
  'internal-netmask': string;
  'external-ip': string;
  externalMask: string;
  notes: string;
  'status-code': string;
}

export interface ClusterState {
  name: string;
  mode: 'Active/Active' | 'Active/Passive';
  members: ClusterMember[];
  /** Name of the member that holds the VIPs; Active/Passive only. */
  vipOwner: string;
}

export const LEADER_STATUS = { notes: 'Leader', 'status-code': '0x30004' };
export const UNREACHABLE_STATUS = { notes: 'Enabled, Unreachable', 'status-code': '0x38004' };

export function createMember(
  name: string,
  ip: string,
  externalIp: string,
  status: { notes: string; 'status-code': string },
): ClusterMember {
  return {
    name,
    enabled: true,
    'internal-ip': ip,
    'internal-netmask': '255.255.255.0',
    'external-ip': externalIp,
    externalMask: '255.255.255.0',
    ...status,
  };
}

export function seedCluster(settings: SimulatorSettings): ClusterState | undefined {
  if (settings.cluster === 'none') return undefined;
  const first = createMember(settings.name, '10.10.0.10', '203.0.113.10', LEADER_STATUS);
  const second = createMember(`${settings.name}-b`, '10.10.0.11', '203.0.113.11', { notes: '', 'status-code': '0x0' });
  return {
    name: 'cluster-1',
    mode: settings.cluster === 'active-active' ? 'Active/Active' : 'Active/Passive',
    members: [first, second],
    vipOwner: first.name,
  };
}
