import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodePathSegment } from '../../../src/model/path';
import { compileWildcard } from '../../../src/change/field-patterns';
import { IgnoreRules } from '../../../src/snapshot/ignore-rules';
import { findCaseCollisions, toFileSegments, parseFileSegments } from '../../../src/snapshot/resource-file-names';
import { isPathWithinAny, joinResourcePath } from '../../../src/snapshot/resource-path';
import { startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import {
  listFiles,
  SNAPSHOT_MANIFEST_FILE,
  readResourceFile,
  getUserRoles,
  writeSnapshot,
  createTemporaryFolder,
} from '../../helpers/snapshot';

const NONE = new Set<string>();
const toPath = (...names: string[]): string => joinResourcePath(names.map(encodePathSegment));
const file = (...names: string[]): string => toFileSegments(toPath(...names), NONE).join('/');

describe('the file name of a resource', () => {
  it.each([
    [['users', 'Staff'], 'users/Staff.json'],
    [['.Staff #1/EU'], '%2EStaff%20%231%2FEU.json'],
    [['Büro'], 'B%C3%BCro.json'],
    [['*/admin/'], '%2A%2Fadmin%2F.json'],
    // Names that Windows treats as devices, or shortens.
    [['CON'], '%43ON.json'],
    [['nul.txt', 'com1'], '%6Eul.txt/%63om1.json'],
    [['console'], 'console.json'],
    [['ends.', 'ends.'], 'ends%2E/ends%2E.json'],
    // Names that Git reserves.
    [['git~1'], 'git%7E1.json'],
    // A folder with the name of the file beside it.
    [['a', 'b.json', 'c'], 'a/b%2Ejson/c.json'],
    [['a', 'b.JSON', 'c.json'], 'a/b%2EJSON/c.json.json'],
    [[], '%.json'],
  ])('the file name of %j is %s and can be parsed back', (names, expected) => {
    expect(file(...names)).toBe(expected);
    expect(parseFileSegments(expected.split('/'))).toBe(toPath(...names));
  });

  it('the file name of a resource is short and unique for any name', () => {
    const long = ['ü'.repeat(300), `${'ü'.repeat(300)}!`, 'x'.repeat(181), `${'x'.repeat(181)}y`];
    const names = long.flatMap((name) => [file(name), file(name, 'inner').split('/')[0] ?? '']);
    expect(new Set(names.map((name) => name.replace(/\.json$/, ''))).size).toBe(4);
    for (const name of names) {
      expect(name.length).toBeLessThan(200);
      expect(name).toMatch(/^(?:[\w.-]|%[0-9A-F]{2})+%~[0-9a-f]{12}(\.json)?$/);
      expect(parseFileSegments([name])).toBeUndefined();
    }
  });

  it.each([
    'x.txt',
    'x',
    '%zz.json',
    'a b.json',
    'ü.json',
    '.hidden.json',
    '%2e.json',
    '.json',
    'CON.json',
    '%FF.json',
    'a/.json',
    '../x.json',
  ])('the name %s does not belong to a snapshot file', (name) => expect(parseFileSegments(name.split('/'))).toBeUndefined());

  it('file names distinguish names that differ only in case', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    for (const name of ['staff', 'Staff', 'STAFF']) getUserRoles(simulator).add({ name, description: `It is ${name}` });
    await writeSnapshot(gateway, folder, { path: 'users' });
    const files = listFiles(folder).filter((name) => /staff/i.test(name));
    expect(files).toHaveLength(9);
    expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(9);
    const { names } = readResourceFile(folder, SNAPSHOT_MANIFEST_FILE) as { names: Record<string, string> };
    expect(Object.keys(names).sort()).toEqual(files);
    for (const name of files.filter((one) => !one.includes('general'))) {
      expect(`/${String(readResourceFile(folder, name).name)}`).toBe(/\/[^/]*$/.exec(names[name] ?? '')?.[0]);
    }
    const manifest = readFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), 'utf8');
    expect(await writeSnapshot(gateway, folder, { path: 'users' })).toMatchObject({ added: 0, changed: 0, removed: 0 });
    expect(readFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), 'utf8')).toBe(manifest);

    for (const name of ['Staff', 'STAFF']) getUserRoles(simulator).items.delete(name);
    expect(await writeSnapshot(gateway, folder, { path: 'users' })).toMatchObject({ removed: 6 });
    expect(listFiles(folder).filter((name) => /staff/i.test(name))).toHaveLength(3);
    expect(readResourceFile(folder, 'users/user-roles/user-role/staff.json')).toMatchObject({ name: 'staff' });
    expect(readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)).not.toHaveProperty('names');
  });

  it('a file name is corrected on a file system that kept the upper or lower case of an earlier name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = createTemporaryFolder();
    getUserRoles(simulator).add({ name: 'staff', description: 'It is there' });
    await writeSnapshot(gateway, folder, { path: 'users' });
    const roleFile = join(folder, 'users/user-roles/user-role/staff.json');
    // A case-insensitive file system finds the file by either name and lists the old one.
    renameSync(roleFile, roleFile.replace('staff.json', 'Staff.json'));
    await writeSnapshot(gateway, folder, { path: 'users' });
    expect(listFiles(folder).filter((name) => /role\/staff\.json$/i.test(name))).toEqual(['users/user-roles/user-role/staff.json']);
  });

  it('resources whose file names differ only in upper and lower case are found', () => {
    expect(findCaseCollisions(['/a/x', '/a/X', '/a/y']).sort()).toEqual(['/a/X', '/a/x']);
    expect(findCaseCollisions(['/a/x', '/a/x'])).toEqual([]);
  });
});

it('isPathWithin compares paths by whole segments', () => {
  expect(isPathWithinAny('/a/b/c', new Set(['/a/b']))).toBe(true);
  expect(isPathWithinAny('/a/b', new Set(['/a/b']))).toBe(true);
  expect(isPathWithinAny('/a/bc', new Set(['/a/b']))).toBe(false);
});

describe('IgnoreRules', () => {
  it.each([
    ['a*c', 'abc', true],
    ['a*c', 'ac', true],
    ['a*c', 'acb', false],
    ['*a*b*', 'xaxbx', true],
    ['a*a', 'a', false],
    ['ab*ba', 'aba', false],
    ['a.c', 'abc', false],
  ])('IgnoreRules decide whether %s is ignored: %s %s', (pattern, text, matches) => expect(compileWildcard(pattern)(text)).toBe(matches));

  it('IgnoreRules take linear time for a long name', () => {
    const test = compileWildcard(`${'a*'.repeat(200)}b`);
    const begin = performance.now();
    expect(test('a'.repeat(1_000_000))).toBe(false);
    // An unbounded match would take years.
    expect(performance.now() - begin).toBeLessThan(60_000);
  });

  it('IgnoreRules match a name at any depth, also in arrays, or a pointer at one place', () => {
    const ignore = new IgnoreRules(['time-*', '/users/a~1b/rules/*/name', '/users/*/list/0', '/users/x/deep/er']);
    const resource = { 'time-zone': 1, rules: [{ name: 'x', id: 1, 'time-out': 2 }], list: ['a', 'b'], deep: { er: 1, kept: 2 } };
    expect(ignore.filterResource(toPath('users', 'a/b'), resource)).toEqual({
      rules: [{ name: 'x', id: 1 }],
      list: ['b'],
      deep: { er: 1, kept: 2 },
    });
    expect(ignore.filterResource(toPath('users', 'x'), resource)).toMatchObject({ deep: { kept: 2 } });
    expect(ignore.filterResource(toPath('system'), resource)).toMatchObject({ list: ['a', 'b'], deep: { er: 1 } });
  });
});
