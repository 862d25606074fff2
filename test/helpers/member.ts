/** A cluster member with its seven texts (appliance-api.md, "Cluster"), as a flow or a client would send it. */
export function createClusterMember(name: string): Record<string, string> {
  const at = (network: string, host: number): string => `${network}.${host}`;
  const [inside, outside, mask] = ['10.10.0', '203.0.113', '255.255.255.0'];
  return {
    ...{ 'member-name': name, 'member-ip': at(inside, 12), 'member-netmask': mask, 'member-gateway': at(inside, 1) },
    ...{ 'member-external-ip': at(outside, 12), 'member-external-netmask': mask, 'member-external-gateway': at(outside, 1) },
  };
}
