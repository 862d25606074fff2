import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TreeComparison } from '../../../src/change/compare';
import type { Gateway } from '../../../src/gateway/gateway';
import { GatewayError } from '../../../src/model/error';
import type { Simulator } from '../../../src/simulator';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  startSimulatorWithGateway,
  USER_ROLES_PATH,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import {
  getClockValues,
  listFiles,
  getResourcePolicies,
  getUserRoles,
  readSnapshot,
  writeSnapshot,
  createTemporaryFolder,
  CONFIGURATION_PATH,
} from '../../helpers/snapshot';

const CLOCK = `${CONFIGURATION_PATH}/system/configuration/date-and-time`;

async function compare(gateway: AnyGateway, input: Record<string, unknown>): Promise<TreeComparison & { text: string }> {
  const { data, envelope } = await gateway.run('snapshot.compare', input);
  return { ...(data as TreeComparison), text: envelope.text as string };
}

/** One difference of each kind. */
function drift(simulator: Simulator): void {
  getClockValues(simulator).set('ntp-server', 'ntp.example.com');
  getUserRoles(simulator).items.delete('Unused');
  getUserRoles(simulator).add({ name: 'New', description: '' });
}

const DRIFT = {
  equal: false,
  added: [`${USER_ROLES_PATH}/New`, `${USER_ROLES_PATH}/New/general/overview`, `${USER_ROLES_PATH}/New/general/session-options`],
  removed: [`${USER_ROLES_PATH}/Unused`, `${USER_ROLES_PATH}/Unused/general/overview`, `${USER_ROLES_PATH}/Unused/general/session-options`],
  changed: [{ path: CLOCK, field: '/ntp-server', before: 'pool.ntp.org', after: 'ntp.example.com' }],
};

describe('snapshot.compare with a snapshot', () => {
  it.each(['with', 'folder'])('snapshot.compare reports equality, or the differences as data and as text (%s)', async (kind) => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const folder = createTemporaryFolder();
    const input = kind === 'with' ? { with: await readSnapshot(gateway) } : (await writeSnapshot(gateway, folder), { folder });
    const same = await compare(gateway, input);
    expect(same).toMatchObject({ equal: true, added: [], removed: [], changed: [] });
    expect(same.text).toMatch(/^vpn-1 does not differ from the snapshot /);
    drift(simulator);
    const { text, ...comparison } = await compare(gateway, input);
    expect(comparison).toEqual(DRIFT);
    const lines = text.split('\n');
    expect(lines[0]).toMatch(/^vpn-1 differs from the snapshot .*: 3 added, 3 removed, 1 changed\.$/);
    expect(lines).toEqual(
      expect.arrayContaining([
        '+ users/user-roles/user-role/New',
        '- users/user-roles/user-role/Unused',
        '~ system/configuration/date-and-time',
        '    ntp-server: "pool.ntp.org" → "ntp.example.com"',
      ]),
    );
  });

  it('snapshot.compare can compare a part, or ignore fields', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const snapshot = await readSnapshot(gateway);
    drift(simulator);
    expect(await compare(gateway, { with: snapshot, path: 'system' })).toMatchObject({ added: [], removed: [], changed: DRIFT.changed });
    expect(await compare(gateway, { with: snapshot, path: 'system/log' })).toMatchObject({ equal: true });
    expect(await compare(gateway, { with: snapshot, ignore: ['ntp-*', '/users/user-roles/user-role/New', 'Unused'] })).toMatchObject({
      equal: true,
    });
    const part = await readSnapshot(gateway, { path: 'users' });
    expect((await expectFailure(compare(gateway, { with: part, path: 'system' }))).message).toContain('begins at');
  });

  it('snapshot.compare applies the ignore rules of the snapshot', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder, { ignore: ['ntp-server', '/users'] });
    const snapshot = await readSnapshot(gateway, { ignore: ['ntp-server', '/users'] });
    drift(simulator);
    expect(await compare(gateway, { folder })).toMatchObject({ equal: true });
    expect(await compare(gateway, { with: snapshot })).toMatchObject({ equal: true });
  });

  it('snapshot.compare reports whether a secret exists, and shows none', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    getClockValues(simulator).set('ntp-secret', 'planted-1');
    const snapshot = await readSnapshot(gateway);
    getClockValues(simulator).set('ntp-secret', 'planted-2').set('ntp-key-secret', 'planted-3');
    const outcome = await gateway.run('snapshot.compare', { with: snapshot });
    expect(outcome.data).toMatchObject({ changed: [{ path: CLOCK, field: '/ntp-key-secret', before: null, after: '***' }] });
    expect(JSON.stringify([snapshot, outcome])).not.toContain('planted');
  });

  it('snapshot.compare does not report resources that cannot be read now', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const snapshot = await readSnapshot(gateway);
    simulator.state.variants.forbiddenBranch = 'users/user-roles';
    const { data, envelope } = await gateway.run('snapshot.compare', { with: snapshot });
    expect(data).toMatchObject({ equal: true });
    expect(envelope.forbidden).toEqual([`${CONFIGURATION_PATH}/users/user-roles`]);
  });

  it('snapshot.compare treats an empty list like a missing list', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const users = () =>
      simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user');
    const savedUsers = [...users().items];
    users().items.clear();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    for (const [name, user] of savedUsers) users().items.set(name, user);
    expect(await compare(gateway, { folder })).toMatchObject({ removed: [], changed: [], added: { length: 3 } });
    await writeSnapshot(gateway, folder);
    users().items.clear();
    expect(await compare(gateway, { folder })).toMatchObject({ added: [], changed: [], removed: { length: 3 } });
  });

  it('snapshot.compare reads files from Git and files that a person added, and reports damaged files by name', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    for (const name of listFiles(folder))
      writeFileSync(join(folder, name), readFileSync(join(folder, name), 'utf8').replaceAll('\n', '\r\n'));
    writeFileSync(join(folder, 'notes.json'), '{"mine":true}');
    writeFileSync(join(folder, 'users/user-roles/user-role/Planned.json'), '{"name":"Planned"}');
    expect(await compare(gateway, { folder })).toMatchObject({ added: [], removed: [`${USER_ROLES_PATH}/Planned`], changed: [] });
    for (const text of ['{', '[]', 'null']) {
      writeFileSync(join(folder, 'system/log/events.json'), text);
      const error = await expectFailure(compare(gateway, { folder }));
      expect(error.code).toBe('BAD_INPUT');
      expect(error.message).toContain(join(folder, 'system/log/events.json'));
    }
    rmSync(join(folder, 'system/log/events.json'));
    expect(await compare(gateway, { folder, path: 'system' })).toMatchObject({ added: [`${CONFIGURATION_PATH}/system/log/events`] });
  });

  it.each<[string, Record<string, unknown>]>([
    ['nothing', {}],
    ['two', { folder: '/tmp', other: 'vpn-2' }],
    ['what is no snapshot', { with: { resources: {} } }],
    ['what is none of this version', { with: { format: 'gateway-snapshot/9', appliance: 'a', path: CONFIGURATION_PATH, resources: {} } }],
    [
      'resources elsewhere',
      { with: { format: 'gateway-snapshot/1', appliance: 'a', path: CONFIGURATION_PATH, resources: { '/etc/x': {} } } },
    ],
    [
      'resources outside',
      {
        with: {
          format: 'gateway-snapshot/1',
          appliance: 'a',
          path: `${CONFIGURATION_PATH}/users`,
          resources: { [`${CONFIGURATION_PATH}/system`]: {} },
        },
      },
    ],
    [
      'resources that are none',
      {
        with: { format: 'gateway-snapshot/1', appliance: 'a', path: CONFIGURATION_PATH, resources: { [`${CONFIGURATION_PATH}/users`]: 1 } },
      },
    ],
    ['a folder that holds none', { folder: '/tmp' }],
    ['a folder that is not there', { folder: '/tmp/no/such' }],
    ['nobody', { other: 'vpn-2' }],
  ])('snapshot.compare refuses %s before anything is sent', async (_what, input) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect(await expectFailure(compare(gateway, input))).toMatchObject({ code: 'BAD_INPUT' });
    expect(listRequests(simulator)).toEqual([]);
  });

  it('snapshot.compare uses the folder of the dialog, even if the payload contains another value', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    const taken = await writeSnapshot(gateway, folder);
    expect(await compare(gateway, { folder, with: taken })).toMatchObject({ equal: true });
    expect(await expectFailure(compare(gateway, { folder, with: await readSnapshot(gateway) }))).toMatchObject({ code: 'BAD_INPUT' });
  });

  it('the text of snapshot.compare shows only the first hundreds of many differences', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 800 } });
    const snapshot = await readSnapshot(gateway, { path: 'users/resource-policies' });
    for (const set of ['Set 0000', 'Set 0001', 'Set 0002', 'Set 0003'])
      for (const policy of getResourcePolicies(simulator, set).items.values()) policy.values.set('description', 'x'.repeat(10_000));
    const { text, changed } = await compare(gateway, { with: snapshot });
    expect(changed).toHaveLength(796);
    expect(text.length).toBeLessThan(300_000);
    expect(text).toMatch(/… and \d+ more lines$/);
  });
});

describe('snapshot.compare with another appliance', () => {
  async function both(): Promise<{ one: Simulator; two: Simulator; gateway: AnyGateway; second: Gateway }> {
    const [one, two] = [await startTestSimulator(), await startTestSimulator()];
    const second = gatewayFor(two, { name: 'vpn-2', connections: 2 });
    const resolveAppliance = (name: string): Gateway => {
      if (name === 'vpn-2') return second;
      throw new GatewayError('BAD_INPUT', 'There is no such appliance.');
    };
    return { one, two, second, gateway: gatewayFor(one, { name: 'vpn-1' }, { resolveAppliance }) };
  }

  it('snapshot.compare of two appliances reports changes that were made on only one of them', async () => {
    const { one, two, gateway } = await both();
    expect(await compare(gateway, { other: 'vpn-2' })).toMatchObject({ equal: true });
    drift(one);
    const { text, ...comparison } = await compare(gateway, { other: 'vpn-2' });
    expect(comparison).toEqual(DRIFT);
    expect(text).toMatch(/^vpn-1 differs from vpn-2: /);
    expect(await compare(gateway, { other: 'vpn-2', path: 'system', ignore: ['ntp-server'] })).toMatchObject({ equal: true });
    expect([...one.requests, ...two.requests].filter(({ method, path }) => method !== 'GET' && !path.endsWith('/realm_auth'))).toEqual([]);
  });

  it('snapshot.compare with another appliance does not report what one of the accounts cannot read', async () => {
    const { one, two, gateway } = await both();
    two.state.variants.forbiddenBranch = 'users/user-roles';
    one.state.variants.forbiddenBranch = 'system/log';
    const { data, envelope } = await gateway.run('snapshot.compare', { other: 'vpn-2' });
    expect(data).toMatchObject({ equal: true });
    expect(envelope.forbidden).toEqual([`${CONFIGURATION_PATH}/system/log`, `${CONFIGURATION_PATH}/users/user-roles`]);
  });

  it('snapshot.compare with another appliance names the failing appliance in its error, and shows no secret of either', async () => {
    const { two, gateway } = await both();
    const quote = '{"result":{"errors":[{"message":"simulator is wrong"}]}}';
    two.fault({ match: ({ path }) => path.endsWith('/log/events'), status: 422, body: quote });
    const error = await expectFailure(compare(gateway, { other: 'vpn-2' }));
    expect(error.message).toMatch(/^vpn-2: /);
    expect(JSON.stringify([error.message, error.cause])).not.toContain('simulator');
    expect(await expectFailure(compare(gateway, { other: 'vpn-3' }))).toMatchObject({ code: 'BAD_INPUT' });
    expect(await expectFailure(compare(gateway, { other: two.url }))).toMatchObject({ code: 'BAD_INPUT' });
  });

  it('snapshot.compare of two appliances can be canceled while the other appliance is read', async () => {
    const { two, gateway } = await both();
    const stop = new AbortController();
    two.fault({ match: ({ path }) => path.includes('/system/log'), body: (answer) => (stop.abort(), answer) });
    expect(await expectFailure(gateway.run('snapshot.compare', { other: 'vpn-2' }, stop.signal))).toMatchObject({ code: 'ABORTED' });
  });
});
