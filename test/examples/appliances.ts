import { expect } from 'vitest';
import { failure, fixture, inject, writes, type Outcomes } from './running';

const CLICK_3 = '3. Click: fail over now';

/** Certificates, cluster, policy, licenses and administrators. */
export const appliances: Outcomes = {
  'Rotate the device certificate.json': async (running, example) => {
    const { debug, simulator } = running;
    const { device, csrs } = simulator.state.certificates;
    const remove = '3. Click: delete the old one';
    await inject(running, example, remove);
    expect(await debug.next('Deleted')).toContain('No new certificate has been uploaded');

    await inject(running, example, '1. Click: ask for a certificate');
    const [name = ''] = await debug.next('What to do next').then(() => [...csrs.keys()]);
    expect(csrs.get(name)).toBe('vpn.example.com');
    await inject(running, example, remove);
    expect(await debug.next('Deleted')).toContain('No new certificate has been uploaded');

    await inject(running, example, '2. Click: upload what was signed', { filename: fixture('device.pem') });
    await debug.next('Uploaded');
    expect([csrs.size, device.has('vpn.example.com')]).toEqual([0, true]);

    await inject(running, example, remove, { payload: 'vpn.example.com' });
    expect(await debug.next('Deleted')).toContain('could go with the old one');
    await inject(running, example, remove);
    expect(await debug.next('Deleted')).toMatch(/^Deleted .*\.$/);
    expect([...device.keys()]).toEqual(['vpn.example.com']);
  },

  'Make a local backup before a change.json': async (running, example) => {
    const { debug, simulator } = running;
    await inject(running, example, 'Click: make a backup');
    expect(await debug.next('On the appliance now')).toBe('The appliance has these local backups: system-1, system-2.');
    expect(simulator.state.undocumented.backups).toHaveLength(2);
    expect(writes(running).at(-1)).toBe('POST /api/v1/system/maintenance/archiving/localbackup?config-type=system');
  },

  'Upload a certificate with its key.json': async (running, example) => {
    const { debug, simulator } = running;
    const click = 'Click: upload the bundle';
    const before = writes(running);
    for (const file of ['/path/to/device.p12', fixture('device.pem.missing')]) {
      await inject(running, example, click, { file });
      expect(await failure(running)).toMatch(/^file cannot be read/);
    }
    expect(writes(running)).toEqual(before);
    await inject(running, example, click, { file: fixture('device.p12') });
    expect(await debug.next('Uploaded')).toMatch(/^Uploaded a certificate to \S.*\.$/);
    expect(simulator.state.certificates.device.get('vpn.example.com')).toEqual({
      'internal-interfaces': { 'internal-interface': ['Internal'] },
      'management-interface': false,
    });
  },

  'Add a cluster member and fail over for maintenance.json': async (running, example) => {
    const { debug, simulator } = running;
    const { cluster } = simulator.state;
    const ask = '2. Click: who would take over?';
    await inject(running, example, CLICK_3);
    expect(await debug.next('Who has the addresses')).toContain('Click 2 first');

    await inject(running, example, '1. Click: announce a member');
    expect(await debug.next('Members')).toBe(
      'cluster-1 (Active/Passive)\ngateway-1, 10.10.0.10: Leader\ngateway-1-b, 10.10.0.11\nnode-c, 10.10.0.12: Enabled, Unreachable',
    );

    await inject(running, example, ask);
    expect(await debug.next('Would it work?')).toMatch(/^gateway-1 has the addresses, gateway-1-b would take over\./);
    await inject(running, example, CLICK_3);
    expect(await debug.next('Who has the addresses')).toBe('gateway-1-b has the addresses now.');
    expect(cluster?.vipOwner).toBe('gateway-1-b');
    await inject(running, example, CLICK_3);
    expect(await debug.next('Who has the addresses')).toContain('Click 2 first');

    for (const member of cluster?.members ?? []) member.enabled = member.name === 'gateway-1-b';
    await inject(running, example, ask);
    expect(await debug.next('Would it work?')).toMatch(/^No: gateway-1-b has the addresses/);
    if (cluster) cluster.mode = 'Active/Active';
    await inject(running, example, ask);
    expect(await debug.next('Would it work?')).toMatch(/^No: the cluster is Active\/Active/);
    await inject(running, example, CLICK_3);
    expect(await debug.next('Who has the addresses')).toContain('Click 2 first');
    expect(cluster?.vipOwner).toBe('gateway-1-b');
  },

  'Add a switch as RADIUS client.json': async (running, example) => {
    await inject(running, example, 'Click: add the switch');
    expect(await running.debug.next('The client now')).toBe('The RADIUS client Switch 3/1 is in the location group Default.');
    expect(writes(running).at(-1)).toBe('PUT /api/v1/configuration/uac/network-access/radius-clients/radius-client/Switch%203%2F1');
  },

  'Report the license leases.json': async (running, example) => {
    const { debug, appliances: all } = running;
    const server = all.get('license-1');
    const click = 'Every Monday at 7';
    const clients = 'gateway-a 50, gateway-b 100, policy-a 150';
    await inject(running, example, click);
    expect(await debug.next('Report')).toBe(
      `Concurrent Users: 300 of 1000 (30 %): ${clients}\nNamed Users: 300 of 2000 (15 %): ${clients}`,
    );
    server?.fault({ match: ({ path }) => path.includes('lease'), body: (text) => text.replace('"total-count":1000', '"total-count":320') });
    await inject(running, example, click);
    expect(await debug.next('Warning')).toBe(`Licenses run out. Concurrent Users: 300 of 320 (94 %): ${clients}`);
    // The other appliances lease nothing; the report still works.
    if (server) Object.assign(server.state.settings, { role: 'independent' });
    await debug.next('Report');
    await inject(running, example, click);
    expect(await debug.next('Report')).toBe('Concurrent Users: 0 of 1000 (0 %)\nNamed Users: 0 of 2000 (0 %)');
  },

  'Restrict admin sign-in to a network.json': async (running, example) => {
    const realm = running.simulator.state.configuration.collection('administrators', 'admin-realms', 'realm').items.get('Admin Users');
    const source = realm?.resource('authentication-policy', 'source-ip');
    const click = 'Click: restrict the sign-in';
    await inject(running, example, click);
    expect(await failure(running)).toContain('address');
    expect(source?.text('customized')).toBe('any-ip');

    await inject(running, example, click, { own: '127.0.0.1' });
    await running.debug.next('Restricted');
    expect(source?.text('customized')).toBe('selected-ip');
    expect([...(source?.collection('ips', 'ip').items.keys() ?? [])]).toEqual(['127.0.0.1', '198.51.100.0']);
  },
};
