import { describe, expect, it } from 'vitest';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
} from '../../helpers/simulated-appliance';
import { createClusterMember } from '../../helpers/member';

const bodyOf = (text: string | undefined): unknown => JSON.parse(text ?? 'null');

describe('administrators operations', () => {
  it('the operations on administrators can lock administrators out of a realm by source address if prove-login is off', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('administrators.add-source-ip', { realm: 'Admin Users', address: '198.51.100.0', netmask: '255.255.255.0' });
    await gateway.run('administrators.set-source-ip-mode', { realm: 'Admin Users', customized: 'selected-ip', 'prove-login': false });
    // The key that there is goes on; the next login is refused.
    await gateway.run('login.forget');
    const error = await expectFailure(gatewayFor(simulator).run('system.info'));
    expect(error.code).toBe('FORBIDDEN');
  });

  it('the operations on administrators send booleans in role mapping rules as text', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const rules = {
      'user-selects-role': false,
      rule: [{ name: 'Ops', roles: ['.Administrators'], 'stop-rules-processing': true, group: { 'group-names': ['Ops'] } }],
    };
    await gateway.run('administrators.set-role-mapping', { realm: 'Admin Users', rules, 'prove-login': false });
    expect(bodyOf(listRequests(simulator)[0]?.body)).toEqual({
      'user-selects-role': 'false',
      rule: [{ ...rules.rule[0], 'stop-rules-processing': 'true' }],
    });
  });

  it('the operations on administrators set session options of a role whose name starts with a dot', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('administrators.set-session-options', { role: '.Administrators', 'idle-timeout': 20, 'prove-login': false });
    expect(listRequestLines(simulator)).toEqual([
      'PUT /api/v1/configuration/administrators/admin-roles/admin-role/%2EAdministrators/general/session-options',
    ]);
    expect(bodyOf(listRequests(simulator)[0]?.body)).toEqual({ 'idle-timeout': '20' });
  });
});

describe('policy operations', () => {
  const enforcer = {
    name: 'Edge / 1',
    'serial-number': ['0123'],
    'use-idp': 'false',
    contosoos: { 'location-group': 'Default', 'password-encrypted': 'x' },
  };

  it('gateway-policy sends an enforcer unchanged to the path of the vendor found in the policy tree', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ vendor: 'contoso' });
    await gateway.run('policy.add-enforcer', { enforcer });
    await gateway.run('policy.add-enforcer', { enforcer: { ...enforcer, name: 'Second' } });
    // The vendor is found once.
    expect(listRequestLines(simulator)).toEqual([
      'GET /api/v1/configuration/uac',
      'POST /api/v1/configuration/uac/contoso-enforcer/connections/contoso-enforcer/',
      'POST /api/v1/configuration/uac/contoso-enforcer/connections/contoso-enforcer/',
    ]);
    expect(bodyOf(listRequests(simulator)[1]?.body)).toEqual(enforcer);
  });

  it('gateway-policy fails and names both candidates when the policy tree has two vendors', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ vendor: 'contoso' });
    await gateway.run('system.info');
    simulator.fault({
      status: 200,
      body: JSON.stringify({ 'host-enforcer': { href: 'h' }, 'a-enforcer': { href: 'a' }, 'b-enforcer': { href: 'b' } }),
    });
    const error = await expectFailure(gateway.run('policy.add-enforcer', { enforcer }));
    expect([error.code, error.message]).toEqual(['BAD_CONFIG', expect.stringMatching(/a-enforcer, b-enforcer/)]);
    const given = gatewayFor(simulator, { vendor: 'contoso' });
    await given.run('policy.add-enforcer', { enforcer });
    expect(listRequestLines(simulator).at(-1)).toContain('/contoso-enforcer/');
  });

  it('gateway-policy reads, sets and deletes RADIUS and SNMP clients with any name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const client = { name: 'Switch 3/1 @lab', 'location-group': 'Default' };
    await gateway.run('policy.set-radius-client', { name: client.name, client });
    expect((await gateway.run('policy.get-radius-client', { name: client.name })).data).toMatchObject(client);
    expect(listRequestLines(simulator).at(-1)).toBe(
      'GET /api/v1/configuration/uac/network-access/radius-clients/radius-client/Switch%203%2F1%20%40lab',
    );
    expect((await expectFailure(gateway.run('policy.delete-snmp-client', { name: 'nobody' }))).code).toBe('NOT_FOUND');
  });
});

describe('license operations', () => {
  it('gateway-license reads leases and named users, and fetches the leases with an empty JSON object as body', async () => {
    const server = await startTestSimulator({ role: 'license-server' });
    expect((await gatewayFor(server).run('license.lease-info')).data).toHaveProperty('leased-license-counts');
    const client = await startTestSimulator({ role: 'license-client' });
    const { envelope } = await gatewayFor(client).run('license.pull-state');
    expect(envelope.result.info).toHaveLength(1);
    expect(listRequests(client)[0]?.body).toBe('{}');
  });

  it('gateway-license removes named users by client kind on a license server, and with their sessions on other appliances', async () => {
    const server = await startTestSimulator({ role: 'license-server' });
    const onServer = gatewayFor(server);
    const kinds = Object.keys((await onServer.run('license.list-named-users')).data as object);
    expect(kinds).toHaveLength(2);
    const kind = kinds[0] ?? '';
    const users = (await onServer.run('license.list-named-users', { 'client-kind': kind })).data as Record<string, unknown>;
    expect(JSON.stringify(users)).toContain('Login Realm');
    await onServer.run('license.remove-all-named-users', { 'client-kind': kind });
    expect(JSON.stringify((await onServer.run('license.list-named-users', { 'client-kind': kind })).data)).not.toContain('Login Realm');

    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 30 });
    const [record] = (await gateway.run('sessions.list', { limit: 1 })).data as Record<string, string>[];
    const user = record?.['active-user-name'] ?? '';
    await gateway.run('license.remove-named-users', { users: user, 'delete-active-sessions': 'true' });
    const left = (await gateway.run('sessions.list')).data as Record<string, string>[];
    expect(left.some((session) => session['active-user-name'] === user)).toBe(false);
    expect(bodyOf(listRequests(simulator).find(({ method }) => method === 'PUT')?.body)).toEqual({
      action: 'remove',
      users: [user],
      'delete-active-sessions': 'true',
    });
  });

  it('gateway-license rejects client-kind together with delete-active-sessions before sending anything', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const operation of ['remove-named-users', 'remove-all-named-users']) {
      const users = operation === 'remove-named-users' ? { users: ['a'] } : {};
      const error = await expectFailure(
        gateway.run(`license.${operation}`, { ...users, 'client-kind': 'x', 'delete-active-sessions': false }),
      );
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining('delete-active-sessions')]);
    }
    expect((await expectFailure(gateway.run('license.remove-named-users', { users: [] }))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
  });
});

describe('cluster operations', () => {
  const member = createClusterMember('node c');

  it('gateway-cluster switches an Active/Passive cluster over, and reports the refusal of an Active/Active cluster', async () => {
    const passive = await startSimulatorWithGateway({ cluster: 'active-passive' });
    const owner = async (): Promise<unknown> =>
      ((await passive.gateway.run('cluster.status')).data as Record<string, unknown>)['external-vip-owner'];
    const before = await owner();
    await passive.gateway.run('cluster.failover');
    expect(await owner()).not.toBe(before);
    const active = await startSimulatorWithGateway({ cluster: 'active-active' });
    const error = await expectFailure(active.gateway.run('cluster.failover'));
    expect([error.code, error.message]).toEqual(['REJECTED', expect.stringMatching(/Active-Passive/i)]);
  });

  it('gateway-cluster creates, joins, extends and reduces a cluster', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('cluster.create', { 'cluster-name': 'edge', 'cluster-password': 'geheim & sicher', 'member-name': 'node a' });
    await gateway.run('cluster.add-member', member);
    expect(simulator.state.cluster?.members.map(({ name }) => name)).toEqual(['node a', 'node c']);
    await gateway.run('cluster.remove-member', { 'member-name': 'node c' });
    expect(listRequestLines(simulator).at(-1)).toBe('DELETE /api/v1/cluster/members/node%20c');
    const joining = await startSimulatorWithGateway();
    await joining.gateway.run('cluster.join', {
      'cluster-name': 'edge',
      'cluster-password': 'geheim & sicher',
      'member-address': '10.10.0.10',
    });
    expect(bodyOf(listRequests(joining.simulator)[0]?.body)).toMatchObject({ action: 'join', 'member-address': '10.10.0.10' });
  });

  it.each([
    ['member-ip', '10.10.0'],
    ['member-netmask', '255.0.255.0'],
    ['member-external-gateway', 'gateway'],
  ])('gateway-cluster rejects an invalid %s before sending anything', async (field, value) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('cluster.add-member', { ...member, [field]: value }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining(field)]);
    expect(simulator.requests).toEqual([]);
  });
});
