import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, failure, gatewayFor, lines, pair } from './library/appliance';
import { clock, filesIn, git, MANIFEST, policies, resourceIn, roles, take, takeInto, temporaryFolder, TREE } from './library/snapshot';

describe('a snapshot in a folder', () => {
  it('has a file for each resource, which can be read, and a manifest without a time', async () => {
    const { gateway } = await pair({}, { name: 'vpn-1' });
    const folder = join(temporaryFolder(), 'vpn-1');
    const taken = await takeInto(gateway, folder);
    const { resources } = await take(gateway);
    const count = Object.keys(resources).length;
    expect(taken).toMatchObject({ folder, resources: count, added: count, changed: 0, removed: 0 });
    const files = filesIn(folder).filter((name) => name !== MANIFEST);
    expect(files).toHaveLength(count);
    expect(taken.bytes).toBe(files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0));
    const file = 'system/configuration/date-and-time.json';
    expect(readFileSync(join(folder, file), 'utf8')).toBe('{\n  "ntp-server": "pool.ntp.org",\n  "time-zone": "Europe/Berlin"\n}\n');
    expect(resourceIn(folder, 'users/user-roles/user-role/%2EAdministrators.json')).toMatchObject({ name: '.Administrators' });
    expect(resourceIn(folder, MANIFEST)).toEqual({
      format: 'gateway-snapshot/1',
      appliance: 'vpn-1',
      'serial-number': expect.any(String) as string,
      release: expect.any(String) as string,
      path: TREE,
      roots: ['administrators', 'authentication', 'system', 'uac', 'users'],
    });
  });

  it('taken again with three changes, changes three files and gives three hunks to Git', async () => {
    const { simulator, gateway } = await pair({ variants: { largeTree: 1000 } });
    const folder = temporaryFolder();
    await takeInto(gateway, folder);
    git(folder, 'init', '-q');
    git(folder, 'add', '-A');
    git(folder, 'commit', '-qm', 'before');
    const times = () => new Map(filesIn(folder).map((name) => [name, statSync(join(folder, name), { bigint: true }).ctimeNs]));
    const before = times();
    policies(simulator).items.get('Policy 000003')?.values.set('description', 'changed');
    policies(simulator, 'Set 0002').items.get('Policy 000444')?.values.set('enabled', 'other');
    clock(simulator).set('ntp-server', 'ntp.example.com');
    expect(await takeInto(gateway, folder)).toMatchObject({ added: 0, changed: 3, removed: 0 });
    expect([...times()].filter(([name, time]) => before.get(name) !== time)).toHaveLength(3);
    expect(git(folder, 'diff', '-U0').match(/^@@/gm)).toHaveLength(3);
    expect(git(folder, 'status', '--porcelain').trim().split('\n')).toHaveLength(3);
  });

  it('removes files of resources that are gone, and nothing that is not ours', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    const foreign = ['README.md', 'package.json', 'notes/x.json', 'users/read-me.txt', 'users/Not An Address.json', '.hidden/users/x.json'];
    await takeInto(gateway, folder);
    for (const name of foreign) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), '{\n  "mine": true\n}\n');
    }
    roles(simulator).items.delete('Unused');
    const taken = await takeInto(gateway, folder);
    expect(taken.removed).toBe(3);
    const left = filesIn(folder);
    expect(left.filter((name) => name.includes('Unused'))).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(foreign));
    expect(taken.resources).toBe(left.length - foreign.length - 1);
  });

  it('is taken by one at a time', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    const taken = await Promise.all([1, 2, 3].map(() => takeInto(gateway, folder, { path: 'users' })));
    const [{ resources = 0 } = {}] = taken;
    expect(taken.map(({ added }) => added).sort()).toEqual([0, 0, resources].sort());
    expect(lines(simulator).filter((line) => line === `GET ${TREE}/users`)).toHaveLength(3);
    expect(filesIn(folder)).toHaveLength(resources + 1);
  });

  it('keeps what the account may not read any more', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    await takeInto(gateway, folder);
    const before = filesIn(folder);
    simulator.state.variants.forbiddenBranch = 'users/user-roles';
    expect(await takeInto(gateway, folder)).toMatchObject({ removed: 0, changed: 0 });
    expect(filesIn(folder)).toEqual(before);
    simulator.state.variants.forbiddenBranch = '';
    roles(simulator).items.delete('Unused');
    expect(await takeInto(gateway, folder)).toMatchObject({ removed: 3 });
  });

  it('takes a part anew, and leaves the rest as it is', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    await takeInto(gateway, folder);
    const manifest = readFileSync(join(folder, MANIFEST), 'utf8');
    clock(simulator).set('ntp-server', 'ntp.example.com');
    roles(simulator).items.delete('Unused');
    expect(await takeInto(gateway, folder, { path: 'users' })).toMatchObject({ changed: 0, removed: 3 });
    expect(await takeInto(gateway, folder, { path: 'system' })).toMatchObject({ changed: 1, removed: 0 });
    expect(readFileSync(join(folder, MANIFEST), 'utf8')).toBe(manifest);
  });

  it('refuses a folder of another appliance, of another part, and one whose manifest is damaged', async () => {
    const { simulator, gateway } = await pair({}, { name: 'vpn-1' });
    const folder = temporaryFolder();
    await takeInto(gateway, folder, { path: 'users' });
    expect(await failure(takeInto(gateway, folder, { path: 'system' }))).toMatchObject({ code: 'BAD_INPUT' });
    const other = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')) as object;
    writeFileSync(join(folder, MANIFEST), JSON.stringify({ ...other, appliance: 'vpn-2', 'serial-number': 'X' }));
    const error = await failure(takeInto(gateway, folder, { path: 'users' }));
    expect(error.message).toContain('vpn-2');
    for (const text of ['{', '[]', '{}', JSON.stringify({ ...other, roots: 1 }), JSON.stringify({ ...other, path: '/etc' })]) {
      writeFileSync(join(folder, MANIFEST), text);
      expect((await failure(takeInto(gateway, folder, { path: 'users' }))).message).toContain('damaged');
    }
    // The same appliance under another name is known by its serial number.
    writeFileSync(join(folder, MANIFEST), JSON.stringify(other));
    expect(await takeInto(gatewayFor(simulator, { name: 'renamed' }), folder, { path: 'users' })).toMatchObject({ added: 0, changed: 0 });
  });

  it('says which folder cannot be used before anything is asked of the appliance', async () => {
    const { simulator, gateway } = await pair();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    for (const place of [join(folder, 'no', 'such'), join(folder, 'file')])
      expect((await failure(takeInto(gateway, place))).message).toContain(folder);
    expect(calls(simulator)).toEqual([]);
  });

  it('says which file cannot be written', async () => {
    const { gateway } = await pair();
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'system/log/events.json'), { recursive: true });
    expect((await failure(takeInto(gateway, folder))).message).toContain('events.json');
    expect(filesIn(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });

  it('leaves alone what Git has written with other ends of lines, and mends what was changed by hand', async () => {
    const { gateway } = await pair();
    const folder = temporaryFolder();
    await takeInto(gateway, folder, { path: 'system' });
    const [one, other] = ['system/log/events.json', 'system/log/syslog.json'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(one, readFileSync(one, 'utf8').replaceAll('\n', '\r\n'));
    writeFileSync(other, '{}');
    expect(await takeInto(gateway, folder, { path: 'system' })).toMatchObject({ added: 0, changed: 1 });
    expect(readFileSync(one, 'utf8')).toContain('\r\n');
  });
});
