import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_REHEARSAL_COPIES } from '../../../src/rehearsal/rehearsal';
import { checkConformance } from '../../../src/conformance';
import { prepareRehearsal, startCopiesHere } from '../../helpers/rehearsal';
import { expectFailure, gatewayFor, settingsFor, USER_ROLES_PATH, type AnyGateway } from '../../helpers/simulated-appliance';
import { createTemporaryFolder, writeSnapshot } from '../../helpers/snapshot';
import { startRawServer } from '../../helpers/raw-server';

const ROLE_NAMES = ['Users', 'Intranet', 'Contractors', 'Partner Portal'];

/** Changes 20 things in seven ways. */
async function changeTwentyThings(gateway: AnyGateway): Promise<void> {
  for (let index = 0; index < 6; index++) await gateway.run('config.create', { path: USER_ROLES_PATH, body: { name: `New ${index}` } });
  for (let index = 0; index < 6; index++)
    await gateway.run('users.create', { server: 'System Local', username: `user${index}`, 'password-cleartext': 'a-Password-1' });
  for (const name of ROLE_NAMES)
    await gateway.run('config.update', { path: ['users', 'user-roles', 'user-role', name], body: { description: 'rehearsed' } });
  await gateway.run('users.delete', { server: 'System Local', username: 'guest 50% / #1' });
  await gateway.run('users.disable', { server: 'System Local', username: 'contractor1' });
  await gateway.run('config.update', { path: '/system/network/overview', body: { 'dns-domain': 'example.org' } });
  await gateway.run('config.update', { path: '/system/log/syslog', body: { server: '192.0.2.1' } });
}

interface Comparison {
  readonly added: string[];
  readonly removed: string[];
  readonly changed: { path: string; field: string }[];
}

const compare = async (gateway: AnyGateway, folder: string): Promise<Comparison> =>
  (await gateway.run('snapshot.compare', { folder })).data as Comparison;

describe('a rehearsal', () => {
  it('a rehearsal of a flow with twenty changes shows exactly these, saves them, and sends nothing to the appliance', async () => {
    const { real, folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const gateway = gatewayFor(real, { name: 'vpn-1', rehearsal: folder });
    await changeTwentyThings(gateway);
    const { added, removed, changed } = await compare(gateway, folder);
    expect([added.length, removed.length, changed.length]).toEqual([12, 1, 7]);
    const saved = createTemporaryFolder();
    await writeSnapshot(gateway, saved);
    await gateway.resetRehearsal();
    const before = await compare(gateway, folder);
    expect(before).toMatchObject({ added: [], removed: [], changed: [] });
    const afterReset = await compare(gateway, saved);
    expect([afterReset.added.length, afterReset.removed.length, afterReset.changed.length]).toEqual([1, 12, 7]);
    expect(real.requests).toEqual([]);
  });

  it('a rehearsal is marked in envelopes, even of failures, and logs in only at the copy', async () => {
    const { real, folder, copies } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const gateway = gatewayFor(real, { name: 'vpn-1', password: 'of the real appliance', rehearsal: folder });
    expect(copies.started).toHaveLength(0);
    const { envelope } = await gateway.run('users.list', { server: 'System Local' });
    expect(envelope).toMatchObject({ rehearsal: true, appliance: 'vpn-1', logins: 1 });
    const { cause } = await expectFailure(gateway.run('users.get', { server: 'System Local', username: 'nobody' }));
    expect(cause).toMatchObject({ rehearsal: true, code: 'NOT_FOUND' });
    expect((await gatewayFor(real).run('system.info')).envelope).not.toHaveProperty('rehearsal');
    expect(copies.running).toHaveLength(1);
    const keys = copies.running[0]?.requests.map(({ headers }) => Buffer.from(String(headers.authorization).slice(6), 'base64').toString());
    expect(keys?.filter((key) => key.includes('of the real appliance'))).toEqual([]);
  });

  it('a rehearsal writes its journal into a separate folder, with marked entries', async () => {
    const { real, folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const journal = join(createTemporaryFolder(), 'journal');
    mkdirSync(journal);
    const gateway = gatewayFor(real, { name: 'vpn-1', journal, rehearsal: folder });
    await gateway.run('config.update', { path: '/system/log/syslog', body: { server: '192.0.2.1' } });
    expect(readdirSync(journal)).toEqual([]);
    const [file = ''] = readdirSync(`${journal}-rehearsal`).filter((name) => name.endsWith('.jsonl'));
    const lines = readFileSync(join(`${journal}-rehearsal`, file), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ rehearsal: true, operation: 'config.update' });
    expect((await gateway.run('journal.list')).data).toHaveLength(1);
  });

  it('journal.undo does not undo a rehearsal entry at the real appliance, even if somebody moved it into its journal', async () => {
    const { real, folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const journal = join(createTemporaryFolder(), 'journal');
    mkdirSync(journal);
    const settings = { name: 'vpn-1', journal, signingKey: 'a key of sixteen characters' };
    const rehearsing = gatewayFor(real, { ...settings, rehearsal: folder });
    const input = { path: '/system/log/syslog', body: { server: '192.0.2.1' } };
    const id = (await rehearsing.run('config.update', input)).envelope.journal;
    cpSync(`${journal}-rehearsal`, journal, { recursive: true });
    const gateway = gatewayFor(real, settings);
    const error = await expectFailure(gateway.run('journal.undo', { id }));
    expect(error).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('a copy of the appliance in a rehearsal') as string,
    });
    expect(real.requests.filter(({ method }) => method === 'PUT')).toEqual([]);
    expect((await rehearsing.run('journal.undo', { id })).envelope.ok).toBe(true);
  });

  it('gateways with the same address and snapshot folder share a copy, which ends with the last of them', async () => {
    const { real, folder, copies } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const first = gatewayFor(real, { rehearsal: folder });
    const second = gatewayFor(real, { name: 'another name', rehearsal: folder, login: 'key', apiKey: 'x' });
    await first.run('config.update', { path: '/system/log/syslog', body: { server: '192.0.2.9' } });
    expect((await second.run('config.get', { path: '/system/log/syslog' })).data).toMatchObject({ server: '192.0.2.9' });
    first.close();
    expect(copies.running).toHaveLength(1);
    second.close();
    expect(copies.running).toHaveLength(0);
    const third = gatewayFor(real, { rehearsal: folder });
    expect((await third.run('config.get', { path: '/system/log/syslog' })).data).not.toMatchObject({ server: '192.0.2.9' });
    expect(real.requests).toEqual([]);
  });

  it('a reset restarts a copy whose process has ended, at the same address', async () => {
    const { real, folder, copies } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const gateway = gatewayFor(real, { rehearsal: folder, timeout: 5 });
    await gateway.run('system.info');
    const [crashed] = copies.running.splice(0);
    await crashed?.close();
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('CONNECTION');
    await gateway.resetRehearsal();
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
    expect(copies.running.map(({ port }) => port)).toEqual([crashed?.port]);
    expect(real.requests).toEqual([]);
  });

  it('a rehearsal folder that is not a snapshot is BAD_CONFIG until it contains a snapshot', async () => {
    const { real, folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const empty = createTemporaryFolder();
    const gateway = gatewayFor(real, { rehearsal: empty });
    const error = await expectFailure(gateway.run('system.info'));
    expect(error).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    expect(error.message).toContain('is not a snapshot folder');
    expect(real.requests).toEqual([]);
    await writeSnapshot(gatewayFor(real, { rehearsal: folder }), empty);
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
  });

  it('a rehearsal needs no credentials, ignores the TLS and proxy settings, and connects to no other host', async () => {
    const { real, folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const connections = real.totalConnections;
    const proxy = await startRawServer(() => '');
    const gateway = gatewayFor(real, {
      rehearsal: folder,
      username: undefined,
      password: undefined,
      secondFactor: 'totp',
      proxy: { url: proxy.url.replace('https:', 'http:') },
      tls: { ca: 'not a certificate' },
    } as never);
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
    const { host, port } = { host: '127.0.0.1', port: real.port };
    expect((await gateway.handshake()).trusted).toBe(true);
    const failure = await expectFailure(gateway.run('certificates.served', { host, port }));
    expect(failure.code).toBe('LIMIT');
    expect(real.requests).toEqual([]);
    expect(real.totalConnections).toBe(connections);
  });

  it('the copy of a rehearsal answers like the appliance whose profile is in the snapshot folder', async () => {
    const { real, folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    const profile = { format: 'gateway-profile/1', release: '', variants: { createStatus: 200 }, endpoints: [], times: {} };
    writeFileSync(join(folder, 'profile.json'), JSON.stringify(profile));
    const gateway = gatewayFor(real, { rehearsal: folder });
    const { envelope } = await gateway.run('config.create', { path: USER_ROLES_PATH, body: { name: 'New' } });
    expect(envelope.status).toBe(200);
  });

  it('a conformance check refuses settings with a rehearsal', async () => {
    const error = await checkConformance(settingsFor({ url: 'https://127.0.0.1:1' }, { rehearsal: '/tmp' })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'BAD_CONFIG' });
  });

  it(`a rehearsal with more than ${MAX_REHEARSAL_COPIES} copies fails with LIMIT`, async () => {
    const { folder } = await prepareRehearsal((simulator) => gatewayFor(simulator));
    startCopiesHere();
    const gateways = Array.from({ length: MAX_REHEARSAL_COPIES + 1 }, (_, index) =>
      gatewayFor({ url: `https://vpn-${index}.example` }, { rehearsal: folder }),
    );
    const codes: string[] = [];
    for (const gateway of gateways)
      codes.push(
        await gateway.run('system.info').then(
          () => 'ok',
          ({ code }: { code: string }) => code,
        ),
      );
    expect(codes.filter((code) => code === 'ok')).toHaveLength(MAX_REHEARSAL_COPIES);
    expect(codes.at(-1)).toBe('LIMIT');
  });
});
