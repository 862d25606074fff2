import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listRequests, expectFailure, gatewayFor, listRequestLines, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import {
  getClockValues,
  listFiles,
  runGit,
  SNAPSHOT_MANIFEST_FILE,
  getResourcePolicies,
  readResourceFile,
  getUserRoles,
  readSnapshot,
  writeSnapshot,
  createTemporaryFolder,
  CONFIGURATION_PATH,
} from '../../helpers/snapshot';

describe('snapshot.take into a folder', () => {
  it('snapshot.take writes one readable file per resource, and a manifest without a time', async () => {
    const { gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const folder = join(createTemporaryFolder(), 'vpn-1');
    const taken = await writeSnapshot(gateway, folder);
    const { resources } = await readSnapshot(gateway);
    const count = Object.keys(resources).length;
    expect(taken).toMatchObject({ folder, resources: count, added: count, changed: 0, removed: 0 });
    const files = listFiles(folder).filter((name) => name !== SNAPSHOT_MANIFEST_FILE);
    expect(files).toHaveLength(count);
    expect(taken.bytes).toBe(files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0));
    const file = 'system/configuration/date-and-time.json';
    expect(readFileSync(join(folder, file), 'utf8')).toBe('{\n  "ntp-server": "pool.ntp.org",\n  "time-zone": "Europe/Berlin"\n}\n');
    expect(readResourceFile(folder, 'users/user-roles/user-role/%2EAdministrators.json')).toMatchObject({ name: '.Administrators' });
    expect(readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)).toEqual({
      format: 'gateway-snapshot/1',
      appliance: 'vpn-1',
      'serial-number': expect.any(String) as string,
      release: expect.any(String) as string,
      path: CONFIGURATION_PATH,
      roots: ['administrators', 'authentication', 'system', 'uac', 'users'],
    });
  });

  it('snapshot.take after three changes gives three changed files and three hunks in Git', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 1000 } });
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    runGit(folder, 'init', '-q');
    runGit(folder, 'add', '-A');
    runGit(folder, 'commit', '-qm', 'before');
    const times = () => new Map(listFiles(folder).map((name) => [name, statSync(join(folder, name), { bigint: true }).ctimeNs]));
    const before = times();
    getResourcePolicies(simulator).items.get('Policy 000003')?.values.set('description', 'changed');
    getResourcePolicies(simulator, 'Set 0002').items.get('Policy 000444')?.values.set('enabled', 'other');
    getClockValues(simulator).set('ntp-server', 'ntp.example.com');
    expect(await writeSnapshot(gateway, folder)).toMatchObject({ added: 0, changed: 3, removed: 0 });
    expect([...times()].filter(([name, time]) => before.get(name) !== time)).toHaveLength(3);
    expect(runGit(folder, 'diff', '-U0').match(/^@@/gm)).toHaveLength(3);
    expect(runGit(folder, 'status', '--porcelain').trim().split('\n')).toHaveLength(3);
  });

  it('snapshot.take removes files of deleted resources, but no foreign files', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    const foreign = ['README.md', 'package.json', 'notes/x.json', 'users/read-me.txt', 'users/Not An Address.json', '.hidden/users/x.json'];
    await writeSnapshot(gateway, folder);
    for (const name of foreign) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), '{\n  "mine": true\n}\n');
    }
    getUserRoles(simulator).items.delete('Unused');
    const taken = await writeSnapshot(gateway, folder);
    expect(taken.removed).toBe(3);
    const remaining = listFiles(folder);
    expect(remaining.filter((name) => name.includes('Unused'))).toEqual([]);
    expect(remaining).toEqual(expect.arrayContaining(foreign));
    expect(taken.resources).toBe(remaining.length - foreign.length - 1);
  });

  it('snapshot.take does not write through a directory that is a link', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    const outside = createTemporaryFolder();
    symlinkSync(outside, join(folder, 'users'), 'junction');
    const error = await expectFailure(gateway.run('snapshot.take', { folder, path: 'users' }));
    expect(error.code).toBe('BAD_INPUT');
    expect(error.message).toContain(`${join(folder, 'users')} is a link, but must be a folder.`);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('snapshot.take runs only once at a time per folder', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    const taken = await Promise.all([1, 2, 3].map(() => writeSnapshot(gateway, folder, { path: 'users' })));
    const [{ resources = 0 } = {}] = taken;
    expect(taken.map(({ added }) => added).sort()).toEqual([0, 0, resources].sort());
    expect(listRequestLines(simulator).filter((line) => line === `GET ${CONFIGURATION_PATH}/users`)).toHaveLength(3);
    expect(listFiles(folder)).toHaveLength(resources + 1);
  });

  it('snapshot.take keeps files of resources that the account cannot read any more', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    const before = listFiles(folder);
    simulator.state.variants.forbiddenBranch = 'users/user-roles';
    expect(await writeSnapshot(gateway, folder)).toMatchObject({ removed: 0, changed: 0 });
    expect(listFiles(folder)).toEqual(before);
    simulator.state.variants.forbiddenBranch = '';
    getUserRoles(simulator).items.delete('Unused');
    expect(await writeSnapshot(gateway, folder)).toMatchObject({ removed: 3 });
  });

  it('snapshot.take can update a part and keeps the rest', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder);
    const manifest = readFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), 'utf8');
    getClockValues(simulator).set('ntp-server', 'ntp.example.com');
    getUserRoles(simulator).items.delete('Unused');
    expect(await writeSnapshot(gateway, folder, { path: 'users' })).toMatchObject({ changed: 0, removed: 3 });
    expect(await writeSnapshot(gateway, folder, { path: 'system' })).toMatchObject({ changed: 1, removed: 0 });
    expect(readFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), 'utf8')).toBe(manifest);
  });

  it('snapshot.take refuses a folder of another appliance or part, or with a damaged manifest', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder, { path: 'users' });
    expect(await expectFailure(writeSnapshot(gateway, folder, { path: 'system' }))).toMatchObject({ code: 'BAD_INPUT' });
    const other = JSON.parse(readFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), 'utf8')) as object;
    writeFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), JSON.stringify({ ...other, appliance: 'vpn-2', 'serial-number': 'X' }));
    const error = await expectFailure(writeSnapshot(gateway, folder, { path: 'users' }));
    expect(error.message).toContain('vpn-2');
    for (const text of ['{', '[]', '{}', JSON.stringify({ ...other, roots: 1 }), JSON.stringify({ ...other, path: '/etc' })]) {
      writeFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), text);
      expect((await expectFailure(writeSnapshot(gateway, folder, { path: 'users' }))).message).toContain('damaged');
    }
    // An appliance with another name is recognized by its serial number.
    writeFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), JSON.stringify(other));
    expect(await writeSnapshot(gatewayFor(simulator, { name: 'renamed' }), folder, { path: 'users' })).toMatchObject({
      added: 0,
      changed: 0,
    });
  });

  it('snapshot.take reports an unusable folder by name before anything is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    for (const place of [join(folder, 'no', 'such'), join(folder, 'file')])
      expect((await expectFailure(writeSnapshot(gateway, place))).message).toContain(folder);
    expect(listRequests(simulator)).toEqual([]);
  });

  it('snapshot.take names the file that cannot be written', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, 'system/log/events.json'), { recursive: true });
    expect((await expectFailure(writeSnapshot(gateway, folder))).message).toContain('events.json');
    expect(listFiles(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });

  it('snapshot.take accepts other line ends from Git, and repairs files that were edited', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    await writeSnapshot(gateway, folder, { path: 'system' });
    const [one, other] = ['system/log/events.json', 'system/log/syslog.json'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(one, readFileSync(one, 'utf8').replaceAll('\n', '\r\n'));
    writeFileSync(other, '{}');
    expect(await writeSnapshot(gateway, folder, { path: 'system' })).toMatchObject({ added: 0, changed: 1 });
    expect(readFileSync(one, 'utf8')).toContain('\r\n');
  });
});
