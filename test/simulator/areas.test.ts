import { afterEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../src/simulator/index';
import { messages, start, stopAll } from './client';
import { createClusterMember } from '../helpers/member';

const LICENSE = '/api/v1/license';
const CERTIFICATES = '/api/v1/system/certificates';
const CLUSTER = '/api/v1/cluster';
// openssl pkcs12 -export of a self-signed certificate for CN=vpn.example.com, password "bundle"
const PKCS12 = [
  'MIIEPAIBAzCCA/IGCSqGSIb3DQEHAaCCA+MEggPfMIID2zCCApIGCSqGSIb3DQEHBqCCAoMwggJ/AgEAMIICeAYJKoZIhvcNAQcBMFcGCSqGSIb3DQEFDTBK',
  'MCkGCSqGSIb3DQEFDDAcBAjbC8RASVE/dgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEED7h65owhQ2yALpjuMC30NyAggIQEUWBfkjSiZ69XSDr',
  'GMeSZ9875OBmw/nI59766G9ozuA8+x6TjKwmBODsSt5lJOifeADB06A965J2XL4kJ6KmoPtTvEPWyIhbEQ5KXt35V3bIpW+mj1awOQcHxGWCludevg9JGuZO',
  'NZi3zWFuPf7JLIGWtFWiL56QpEwLLpuBLoHT8cx31X6l+ZiIE6b0a4xwx9VPv8b6e2AyQL2bdTfJEtnFHVADZd/AnEJcUdbvjZ0r1t+dI0akTqn5JmrTlgA6',
  'IVukdSoJLcRdCH37OmImrWK0jnBgl/68hqw46AgIq+GhoClY9rb8J44+kK54ox91MxLmCHq6iZGpQ2FJEwx2MCdpWb6Nvq/T1kq4ZoL8SKGdjOmFzuPYMoMa',
  'P1vmufxLQbiEa/KDRzQxtqd+eh9VTWknLLhw9Uv0fEAYu2EZ1kt/0uU3h+fvCidVKcwAcvwCcSchqhB9DtY1lGMoeAaFc2xGFwEEiQCCf1CY+bR7KfaKAA1A',
  'pa72whE8wXaEZwnQcOCIPKGGCupKkvwpP4o1IBibbc7OWaJqFpib2lm5ROFAp2uyvQuZ07VURjAWndEER7WdPkMWQiiQ45/12IlHFgaT03uzS527les5IxtD',
  'I/tm7ZT+nu0NPQumJjFfJ1ZrsX3llRfn8vlaXKu8eWBjSg+rMHiyKuVCB4xMzqjy4kRkG8FGdjS9MyHZIMT0zBvnMIIBQQYJKoZIhvcNAQcBoIIBMgSCAS4w',
  'ggEqMIIBJgYLKoZIhvcNAQwKAQKgge8wgewwVwYJKoZIhvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECD8TE4Si8Z8NAgIIADAMBggqhkiG9w0CCQUAMB0GCWCG',
  'SAFlAwQBKgQQbFcrr9oGVPvUEZ/HZdzxHASBkHL6iKWlOmSdzGdrTL1bd3wB8lmuFakPGyojlItkt7RIZd/A7xLjpsbOA0UFMA/s7f5IeTQkUkeo4PktdkK/',
  'KnYiV3wpVCz+UDUHVKki/lGsIJ2cyBzfJkeitWOf2f7+bOpYHUUTut4VkfeVMvbjkIJemK9c80xNYSaaZUjUPa9QXX9w1qAG4i4Pz2V9eFtYXDElMCMGCSqG',
  'SIb3DQEJFTEWBBTeoA5QIbrE0EzNp1ZBGXDRpUjs0DBBMDEwDQYJYIZIAWUDBAIBBQAEIJAghV97Q5HTD5rksuaG3+H3G7bZGveyQ/mT/z5qOQSTBAhIKqRz',
  'w945KgICCAA=',
].join('');

afterEach(stopAll);

describe('license', () => {
  it('the simulator removes named users on an independent appliance and ends their sessions', async () => {
    const client = await start({ sessions: 40 });
    const users = `${LICENSE}/named-users`;
    const { 'named-users': named } = (await client.get(users)).json as { 'named-users': Record<string, unknown>[] };
    expect(Object.keys(named[0] ?? {})).toEqual(['IP', 'Last Agent Type', 'Last Role', 'Last Sign in', 'User']);
    const [user] = named.map(({ User }) => User as string);
    const sessions = client.simulator.state.sessions;
    const before = sessions.findNumbers({ name: user ?? '', prefix: false }).length;
    expect(before).toBeGreaterThan(0);
    await client.put(users, { action: 'remove', users: [named[1]?.User] });
    expect(sessions.count).toBe(40);
    const removed = await client.put(users, { action: 'remove', users: [user], 'delete-active-sessions': 'true' });
    expect(messages(removed, 'info')).toEqual(['Deleted users and their sessions']);
    expect(sessions.count).toBe(40 - before);
    expect(((await client.get(users)).json as { 'named-users': unknown[] })['named-users']).toHaveLength(named.length - 2);
    expect((await client.put(users, { action: 'remove', users: [user] })).status).toBe(422);
    expect(messages(await client.put(users, { action: 'remove-all', users: ['ignored'] }), 'info')).toEqual(['Deleted all users']);
    expect((await client.get(users)).json).toEqual({ 'named-users': [] });
  });

  it.each([
    [{ action: 'forget', users: ['x'] }],
    [{ users: ['x'] }],
    [{ action: 'remove' }],
    [{ action: 'remove', users: [] }],
    [{ action: 'remove', users: 'anna.weber' }],
    [{ action: 'remove-all', 'delete-active-sessions': true }],
  ])('the simulator refuses the invalid request %j', async (body) => {
    const client = await start();
    expect((await client.put(`${LICENSE}/named-users`, body)).status).toBe(422);
  });

  it('the simulated license server removes users of one client kind and refuses requests for a license client', async () => {
    const client = await start({ role: 'license-server', gatewayKind: 'vpn', policyKind: 'nac' });
    type Users = { 'named-users': Record<string, string>[] };
    const both = (await client.get(`${LICENSE}/named-users`)).json as { vpn: Users; nac: Users };
    expect(Object.keys(both)).toEqual(['vpn', 'nac']);
    expect(Object.keys(both.vpn['named-users'][0] ?? {})).toEqual([
      'Appliance',
      'Last Login IP',
      'Last Login time',
      'Login Realm',
      'Role',
      'User',
      'User Agent',
    ]);
    expect((await client.put(`${LICENSE}/named-users/vpn`, { action: 'remove-all' })).status).toBe(200);
    expect((await client.get(`${LICENSE}/named-users/vpn`)).json).toEqual({ 'named-users': [] });
    expect((await client.get(`${LICENSE}/named-users/nac`)).json).toEqual(both.nac);
    expect((await client.put(`${LICENSE}/named-users/vpn`, { action: 'remove-all', 'delete-active-sessions': 'true' })).status).toBe(422);
    expect((await client.put(`${LICENSE}/named-users`, { action: 'remove-all' })).status).toBe(422);
    expect((await client.get(`${LICENSE}/named-users/other`)).status).toBe(404);
    expect((await client.put(`${LICENSE}/license-client-lease-state`, {})).status).toBe(422);
    expect((await client.get(`${LICENSE}/license-server-lease-information`)).json).toHaveProperty(
      'leased-license-counts.features.feature.0.clients.client-info.0.leased-count',
    );
  });

  it('the simulated license client fetches its leases and refuses requests for a license server', async () => {
    const client = await start({ role: 'license-client' });
    expect(messages(await client.put(`${LICENSE}/license-client-lease-state`, {}), 'info')).toEqual(['Success']);
    expect((await client.send('PUT', `${LICENSE}/license-client-lease-state`)).status).toBe(400);
    expect((await client.put(`${LICENSE}/license-client-lease-state`, { x: 1 })).status).toBe(422);
    expect((await client.get(`${LICENSE}/license-server-lease-information`)).status).toBe(404);
    expect((await client.get(`${LICENSE}/named-users/gateway`)).status).toBe(404);
    expect((await client.put(`${LICENSE}/named-users/gateway`, { action: 'remove-all' })).status).toBe(422);
  });
});

describe('certificates', () => {
  const body = {
    cert: PKCS12,
    password: 'bundle',
    'internal-interfaces': { 'internal-interface': ['internal0'] },
    'management-interface': true,
  };
  const device = `${CERTIFICATES}/device-certificates`;

  it('the simulator reads the subject of a PKCS#12 bundle and refuses a wrong password', async () => {
    const client = await start();
    const wrong = await client.post(device, { ...body, password: 'other' });
    expect([wrong.status, messages(wrong, 'errors')]).toEqual([422, ['The password of the certificate bundle is wrong.']]);
    expect((await client.post(device, body)).status).toBe(201);
    expect(client.simulator.state.certificates.device.get('vpn.example.com')).toMatchObject({ 'management-interface': true });
    expect((await client.delete(`${device}/vpn.example.com`)).status).toBe(204);
    expect((await client.delete(`${device}/vpn.example.com`)).status).toBe(404);
  });

  it('the simulator accepts a PEM bundle, and refuses other content unless its check is switched off', async () => {
    const client = await start();
    const { key, cert } = selfSigned();
    const pem = { cert: Buffer.from(cert + key).toString('base64'), password: '' };
    expect((await client.post(device, pem)).status).toBe(201);
    expect(client.simulator.state.certificates.device.has('Gateway simulator')).toBe(true);
    for (const bad of ['AAAA', 'not base64!', '']) expect((await client.post(device, { ...body, cert: bad })).status).toBe(422);
    expect((await client.post(device, { ...body, 'internal-interfaces': ['internal0'] })).status).toBe(422);
    client.simulator.state.variants.checkCertificates = false;
    expect((await client.post(device, { ...body, cert: 'AAAA' })).status).toBe(201);
  });

  it.each(['{"certificate":"BASE64"}', 'PEM', 'BASE64'])(
    'the simulator creates a CSR, and accepts the signed certificate in a body like %s',
    async (form) => {
      const client = await start();
      const csrs = `${CERTIFICATES}/device-certificate-csrs`;
      const created = await client.post(csrs, { 'subject-common-name': 'vpn büro', 'key-type': 'ECDSA', 'ecc-curve': 'P-384' });
      const [name = '', path = ''] = messages(created, 'info');
      expect([created.status, name]).toEqual([201, 'CSR csr-1-vpn büro created successfully.']);
      const upload = path.slice(path.indexOf('/api'));
      const { cert } = selfSigned();
      const base64 = cert.replace(/-----[^-]+-----|\s/g, '');
      expect((await client.send('POST', upload, { body: '{"certificate":"AAAA"}' })).status).toBe(422);
      expect((await client.send('POST', upload)).status).toBe(400);
      expect((await client.send('POST', upload, { body: form.replace('BASE64', base64).replace('PEM', cert) })).status).toBe(201);
      expect(client.simulator.state.certificates.device.has('vpn büro')).toBe(true);
      expect((await client.send('POST', upload, { body: cert })).status).toBe(404);
      expect((await client.post(csrs, { 'subject-common-name': 'x', 'key-type': 'ECDSA' })).status).toBe(422);
    },
  );
});

describe('cluster', () => {
  const MEMBER = createClusterMember('node-c');

  it('the simulated cluster can be created or joined only once', async () => {
    const client = await start();
    expect((await client.get(CLUSTER)).status).toBe(404);
    const create = { 'cluster-name': 'c', 'cluster-password': 'p', 'member-name': 'node-a', action: 'create' };
    const { action, ...without } = create;
    expect((await client.put(CLUSTER, without)).status).toBe(422);
    expect((await client.put(CLUSTER, { ...create, 'cluster-password': undefined })).status).toBe(422);
    expect(messages(await client.put(CLUSTER, { ...without, action }), 'info')[0]).toMatch(/^Created cluster/);
    expect((await client.get(CLUSTER)).json).toMatchObject({ name: 'c', mode: 'Active/Active', members: [{ name: 'node-a' }] });
    expect((await client.put(CLUSTER, create)).status).toBe(422);
    const other = await start();
    const join = { 'cluster-name': 'c', 'cluster-password': 'p', 'member-address': '10.0.0.9', action: 'join' };
    expect((await other.put(CLUSTER, { ...join, 'member-address': 'somewhere' })).status).toBe(422);
    expect(messages(await other.put(CLUSTER, join), 'info')[0]).toMatch(/^Joined cluster/);
    expect(((await other.get(CLUSTER)).json as { members: unknown[] }).members).toHaveLength(2);
  });

  it('the simulated Active/Passive cluster moves its virtual IP address at a failover', async () => {
    const client = await start({ cluster: 'active-passive' });
    const owner = async (): Promise<unknown> => ((await client.get(CLUSTER)).json as Record<string, unknown>)['external-vip-owner'];
    const before = await owner();
    expect(messages(await client.put(CLUSTER, { action: 'vip-failover' }), 'info')).toEqual(['VIP fail-over initiated.']);
    expect(await owner()).not.toBe(before);
  });

  it('the simulator refuses a failover of an Active/Active cluster with the configured status', async () => {
    const client = await start({ cluster: 'active-active' });
    const refused = await client.put(CLUSTER, { action: 'vip-failover' });
    expect([refused.status, messages(refused, 'errors')[0]]).toEqual([
      422,
      'The node is not part of an Active-Passive cluster and the operation is invalid.',
    ]);
    Object.assign(client.simulator.state.variants, { namedErrorStatus: 200, namedErrorList: 'info' });
    const hidden = await client.put(CLUSTER, { action: 'vip-failover' });
    expect([hidden.status, messages(hidden, 'info').length]).toEqual([200, 1]);
    expect((await client.get(CLUSTER)).text).toContain('external-network');
  });

  it('the simulated cluster adds and removes members', async () => {
    const client = await start({ cluster: 'active-passive' });
    for (const field of Object.keys(MEMBER))
      expect((await client.post(`${CLUSTER}/members`, { ...MEMBER, [field]: undefined })).status).toBe(422);
    expect((await client.post(`${CLUSTER}/members`, { ...MEMBER, 'member-ip': 1 })).status).toBe(422);
    expect((await client.post(`${CLUSTER}/members`, MEMBER)).status).toBe(200);
    expect((await client.post(`${CLUSTER}/members`, MEMBER)).status).toBe(422);
    expect((await client.get(CLUSTER)).text).toContain('"external-netmask":"255.255.255.0"');
    expect((await client.delete(`${CLUSTER}/members/node-c`)).status).toBe(200);
    expect((await client.delete(`${CLUSTER}/members/node-c`)).status).toBe(404);
  });
});
