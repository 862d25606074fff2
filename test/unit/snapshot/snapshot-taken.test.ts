import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createMessageReference } from '../../../src/snapshot/comparison-reference';
import { takeSnapshot, type SnapshotFolderResult } from '../../../src/snapshot/take';
import { SYSTEM_INFORMATION_PATH, expectFailure, gatewayFor, asBulkResult } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import type { JsonObject } from '../../../src/model/json';
import { serializeManifest } from '../../../src/snapshot/manifest';
import {
  listFiles,
  SNAPSHOT_MANIFEST_FILE,
  readResourceFile,
  serveTree,
  linkTo,
  CONFIGURATION_PATH as T,
  type ServedTree,
} from '../../helpers/snapshot';
import { createTemporaryFolder } from '../../helpers/temporary';

// Takes a snapshot of a tree into a folder and compares it.

describe('snapshot.take', () => {
  it('snapshot.take works for an account that cannot read the system information', async () => {
    const readSerial = async (status: number): Promise<unknown> =>
      (await gatewayFor(await serveTree({ '/a': { v: 1 }, [SYSTEM_INFORMATION_PATH]: status })).run('snapshot.take', { path: 'a' })).data;
    for (const status of [403, 404]) expect(await readSerial(status)).toMatchObject({ 'serial-number': null, release: null });
    expect((await expectFailure(readSerial(422))).code).toBe('REJECTED');
  });

  it('snapshot.take keeps unreadable resources in the folder, and removes deleted ones', async () => {
    const folder = join(createTemporaryFolder(), 'new');
    const take = async (tree: ServedTree, path = '/', more: object = {}): Promise<SnapshotFolderResult> =>
      (await takeSnapshot(
        { path, folder, ...more },
        createRunContext(await serveTree(tree), {}, { name: 'vpn-1' }),
      )) as SnapshotFolderResult;
    const whole: ServedTree = {
      '': { a: linkTo('/a'), b: linkTo('/b') },
      '/a': { x: linkTo('/a/x'), v: 1 },
      '/a/x': { v: 2 },
      '/b': { c: linkTo('/b/c') },
      '/b/c': { v: 3 },
    };
    const sizes = ['a.json', 'a/x.json', 'b/c.json'];
    expect(await take(whole)).toEqual({ folder, resources: 3, added: 3, changed: 0, removed: 0, bytes: 3 * '{\n  "v": 1\n}\n'.length });
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, ...sizes]);
    expect(await take({ ...whole, '/b': 403, '/a/x': { v: 9 } })).toMatchObject({ resources: 2, added: 0, changed: 1, removed: 0 });
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, ...sizes]);
    expect(readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)).toMatchObject({
      roots: ['a', 'b'],
      path: T,
      appliance: 'vpn-1',
      'serial-number': 'S1',
    });
    // A partial snapshot inherits the ignored patterns.
    expect(await take({ '/a': { v: 1 } }, 'a')).toMatchObject({ resources: 1, changed: 0, removed: 1 });
    expect(readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)).toMatchObject({ roots: ['a', 'b'], path: T });
    expect(await take({ '': { b: linkTo('/b') }, '/b': { v: 1 } }, '/', { ignore: ['v'] })).toMatchObject({
      resources: 1,
      added: 1,
      removed: 2,
    });
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, 'b.json']);
    expect(readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)).toMatchObject({ roots: ['b'], ignore: ['v'] });
    expect(await take({ '/b': { v: 1, w: 1 } }, 'b')).toMatchObject({ resources: 1, changed: 1 });
    expect([readResourceFile(folder, 'b.json'), readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)]).toMatchObject([
      { w: 1 },
      { roots: ['b'], path: T, ignore: ['v'] },
    ]);
    expect(readResourceFile(folder, 'b.json')).not.toHaveProperty('v');
    const named = (name: string, serial: string | null) =>
      serveTree({ '': {}, [SYSTEM_INFORMATION_PATH]: { 'system-information': { 'serial-number': serial } } }).then((server) =>
        expectFailure(takeSnapshot({ folder }, createRunContext(server, {}, { name }))),
      );
    expect((await named('vpn-2', 'S2')).message).toBe(`${folder} holds the snapshot of vpn-1. Use another folder for vpn-2.`);
    expect((await named('vpn-2', null)).message).toContain('holds the snapshot of vpn-1');
  });

  it('snapshot.take keeps the file names when the manifest lacks a path, and identifies an appliance without serial number by name', async () => {
    const folder = join(createTemporaryFolder(), 'new');
    const nobody = { [SYSTEM_INFORMATION_PATH]: { 'system-information': {} } };
    const take = async (tree: ServedTree, path = '/', name = 'vpn-1') =>
      takeSnapshot({ path, folder }, createRunContext(await serveTree({ ...tree, ...nobody }), {}, { name }));
    const whole: ServedTree = {
      '': { a: linkTo('/a'), x: linkTo('/b/x'), X: linkTo('/b/X') },
      '/a': { v: 1 },
      '/b/x': { v: 1 },
      '/b/X': { v: 1 },
    };
    await take(whole);
    const names = (): unknown => Object.values(readResourceFile(folder, SNAPSHOT_MANIFEST_FILE)['names'] ?? {}).sort();
    expect([names(), statSync(folder).mode & 0o777]).toEqual([[`${T}/b/X`, `${T}/b/x`], 0o700]);
    expect(await take({ '/a': { v: 2 } }, 'a')).toMatchObject({ changed: 1, removed: 0 });
    expect(names()).toEqual([`${T}/b/X`, `${T}/b/x`]);
    expect(await take({ ...whole, '/b/x': 403 })).toMatchObject({ removed: 0 });
    expect(names()).toEqual([`${T}/b/X`, `${T}/b/x`]);
    expect((await expectFailure(take(whole, '/', 'vpn-2'))).message).toContain('holds the snapshot of vpn-1');
  });

  it('snapshot.take refuses a folder that contains another part of the configuration', async () => {
    const folder = createTemporaryFolder();
    const call = createRunContext(await serveTree({ '/a': { v: 1 }, '/b': { v: 1 }, '/a/x': { v: 1 } }));
    await takeSnapshot({ path: 'a', folder }, call);
    expect((await expectFailure(takeSnapshot({ path: 'b', folder }, call))).message).toBe(
      `${folder} holds the snapshot of ${T}/a. Use another folder for ${T}/b.`,
    );
    expect(await takeSnapshot({ path: 'a/x', folder }, call)).toMatchObject({ added: 1, removed: 0 });
    for (const [relativePath, why] of [
      [join(folder, 'none/x'), 'cannot be written: it, or its folder, does not exist'],
      [join(folder, 'a.json'), 'is not a folder'],
    ] as const)
      expect((await expectFailure(takeSnapshot({ path: 'a', folder: relativePath }, call))).message).toContain(`${relativePath} ${why}`);
  });

  it('snapshot.compare treats an empty value as equal to a missing one', async () => {
    const before = (resources: Record<string, object>, more: object = {}) => ({
      format: 'gateway-snapshot/1',
      appliance: 'vpn',
      path: `${T}/a`,
      resources: Object.fromEntries(Object.entries(resources).map(([relativePath, resource]) => [T + relativePath, resource])),
      ...more,
    });
    const compare = async (tree: ServedTree, resources: Record<string, object>, input: object = {}, more: object = {}) =>
      (await gatewayFor(await serveTree(tree)).run('snapshot.compare', { with: before(resources, more), ...input })).data;
    const tree = {
      '/a': { x: linkTo('/a/x'), y: linkTo('/a/y'), bare: linkTo('/a/bare') },
      '/a/x': { v: 1 },
      '/a/y': { v: 1 },
      '/a/bare': { list: [] },
    };
    const same = { '/a/x': { v: 1 }, '/a/y': { v: 1 } };
    expect(await compare(tree, same)).toEqual({ equal: true, added: [], removed: [], changed: [] });
    expect(await compare(tree, { ...same, '/a/gone': { list: [] } })).toMatchObject({ equal: true });
    expect(await compare(tree, { '/a/z': { v: 1 }, '/a/w': { v: 1 } })).toEqual({
      equal: false,
      added: [`${T}/a/x`, `${T}/a/y`],
      removed: [`${T}/a/w`, `${T}/a/z`],
      changed: [],
    });
    expect(await compare(tree, { '/a/x': { v: 2 }, '/a/y': { v: 3 } })).toMatchObject({
      changed: [
        { path: `${T}/a/x`, before: 2, after: 1 },
        { path: `${T}/a/y`, before: 3 },
      ],
    });
    expect(await compare(tree, { '/a/x': { v: 2 }, '/a/y': { v: 1 }, '/a/z': { v: 1 } })).toMatchObject({ equal: false, added: [] });
    expect(await compare({ ...tree, '/a/x': 403 }, { ...same, '/a/x/deep': { v: 1 } })).toMatchObject({ equal: true });
    expect(await compare(tree, { ...same, '/a/log': { v: 1 } }, { ignore: ['log'] })).toMatchObject({ equal: true });
    expect(await compare(tree, { ...same, '/a/log': { v: 1 } }, {}, { ignore: ['/a/log'] })).toMatchObject({ equal: true });
    expect(await compare({ '/a/x': { v: 2 } }, { ...same, '/a/z': { v: 1 } }, { path: 'a/x' })).toMatchObject({
      removed: [],
      changed: [{ path: `${T}/a/x` }],
    });
    expect(await compare(vanishingOf(), { '/a/s': { s: 1 }, '/a/p': { v: 1 } })).toMatchObject({
      added: [],
      removed: [`${T}/a/p`],
      changed: [],
    });
    const label = createMessageReference(before(same, { time: 'noon' })).label;
    expect([String(label), String(createMessageReference(before(same)).label)]).toEqual([
      'the snapshot of vpn at noon',
      'the snapshot of vpn',
    ]);
    expect((await expectFailure(compare(tree, same, { path: 'b' }))).message).toBe(
      `path is ${T}/b, but the snapshot of vpn begins at ${T}/a.`,
    );
    const expectedMessage = 'Enter exactly one of with (a snapshot), folder (of a snapshot) and other (the name of another appliance).';
    expect((await expectFailure(compare(tree, same, { folder: '/tmp' }))).message).toBe(expectedMessage);
    expect((await expectFailure(compare(tree, same, { other: 'x' }))).message).toBe(expectedMessage);
  });

  function vanishingOf(): ServedTree {
    let reads = 0;
    return {
      '/a': { p: linkTo('/a/p'), s: linkTo('/a/s') },
      '/a/p': () => (reads++ === 0 ? { v: 2, q: linkTo('/a/p/q') } : 404),
      '/a/s': { s: 1 },
    };
  }
});

describe('a reverted resource', () => {
  /** An appliance with writable resources, and a snapshot folder with these files. */
  async function reverted(tree: Record<string, JsonObject>, files: Record<string, JsonObject>, path: string) {
    const server = await startRawServer(({ method, path: requestPath, body }) => {
      if (requestPath === SYSTEM_INFORMATION_PATH) return httpResponse(200, '{"system-information":{"serial-number":"S1"}}');
      const relativePath = requestPath.slice(T.length + 1);
      if (method === 'PUT') tree[relativePath] = JSON.parse(body) as JsonObject;
      if (method === 'PUT') return httpResponse(200, '{"result":{"info":[{"message":"Done."}]}}');
      return tree[relativePath]
        ? httpResponse(200, JSON.stringify(tree[relativePath]))
        : httpResponse(404, '{"result":{"errors":[{"message":"No."}]}}');
    });
    const folder = createTemporaryFolder();
    const manifest = { appliance: 'vpn', 'serial-number': 'S1', release: null, path: T, ignore: [], roots: ['a', 'b'], names: {} };
    writeFileSync(join(folder, SNAPSHOT_MANIFEST_FILE), serializeManifest(manifest));
    for (const [name, resource] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(resource));
    }
    const { data, envelope } = await gatewayFor(server, { name: 'vpn', connections: 1 }).run('snapshot.revert', { folder, path });
    const puts = server.requests.filter(({ method }) => method === 'PUT');
    return {
      items: asBulkResult(data).results.map(({ item }) => item),
      envelope,
      puts: puts.map((one) => one.path.slice(T.length + 1)),
      tree,
      folder,
    };
  }

  it('a reverted resource has the stored fields and the current secrets, even in unchanged items', async () => {
    const stored = {
      v: 1,
      password: '***',
      inner: { secret: '***', v: 1 },
      items: [{ name: 'x', 'api-key': '***' }, { name: 'y', v: 1 }, { name: 'z', 'api-key': '***', v: 1 }, 'text'],
      links: [],
      none: [],
      mixed: ['x'],
      // Three stars are not always a masked secret.
      note: '***',
    };
    const present = {
      v: 2,
      password: 'now',
      inner: { secret: 'mine', v: 2 },
      items: [
        { name: 'x', 'api-key': 'key' },
        { name: 'y', v: 2 },
        { name: 'z', 'api-key': 'lost', v: 2 },
      ],
      links: [{ name: 'l', href: `${T}/a/links/l` }],
      none: ['one'],
      mixed: [{ name: 'm', href: `${T}/a/mixed/m` }],
      note: 'old',
      came: 7,
      'other-password': 'came too',
    };
    const { tree, envelope, puts } = await reverted({ a: present }, { a: stored }, 'a');
    expect(puts).toEqual(['a']);
    expect(tree['a']).toMatchObject({
      v: 1,
      password: 'now',
      inner: { secret: 'mine', v: 1 },
      items: [{ name: 'x', 'api-key': 'key' }, { name: 'y', v: 1 }, { name: 'z', 'api-key': 'lost', v: 1 }, 'text'],
      links: present.links,
      none: [],
      mixed: ['x'],
      note: '***',
      came: 7,
    });
    expect(JSON.stringify(tree).split('***')).toHaveLength(2);
    const fields = (envelope.incomplete as { field: string }[]).map(({ field }) => field).sort();
    expect(fields).toEqual(['/came', '/inner/secret', '/items/2/api-key', '/other-password', '/password']);
  });

  it('a revert reports a resource with fields added since the snapshot as incomplete, also if nothing was written', async () => {
    const { envelope, puts } = await reverted({ a: { v: 1, added: 2 }, 'a/b': { v: 1 } }, { a: { v: 1 }, 'a/b': { v: 1 } }, 'a');
    expect(puts).toEqual([]);
    expect(envelope.incomplete).toEqual([{ path: `${T}/a`, field: '/added' }]);
    expect(envelope.summary).toBe('1 still different, 2 of 2 resources restored: a, a/b.');
  });

  it('a reverted resource is written after its parent, and only if it differs', async () => {
    const same = { 'a/z': { v: 1 }, 'a/b': { v: 1, password: '***' }, a: { v: 1 }, 'a/none': { list: [] }, 'a/full': { list: [] } };
    const tree = { 'a/z': { v: 1 }, 'a/b': { v: 1, password: 'p' }, a: { v: 1 }, 'a/full': { list: [] } };
    const { items, envelope, puts } = await reverted({ ...tree }, same, 'a');
    expect(items).toEqual(['a', 'a/b', 'a/full', 'a/none', 'a/z'].map((relativePath) => `${T}/${relativePath}`));
    expect([envelope.changed, puts]).toEqual([false, []]);
    expect(envelope).not.toHaveProperty('incomplete');
    const places = ['a', ...Array.from({ length: 20 }, (_, index) => `a/x${(index * 7) % 20}`)];
    const all = (v: number) => Object.fromEntries(places.map((relativePath) => [relativePath, { v }]));
    // Two at a time: a child waits for its parent, others do not.
    const { puts: written, items: readSerial } = await reverted(all(2), all(1), 'a');
    expect([written[0], written.toSorted()]).toEqual(['a', places.toSorted()]);
    // Results are still in path order.
    expect(readSerial).toEqual(places.toSorted().map((relativePath) => `${T}/${relativePath}`));
    // An empty list in the snapshot empties the current one.
    expect((await reverted({ ...tree, 'a/full': { list: [1] } }, same, 'a')).puts).toEqual(['a/full']);
    const error = await expectFailure(reverted(tree, same, 'b'));
    expect(error.message).toMatch(/ has no resource at or below \/api\/v1\/configuration\/b\. Nothing was sent\.$/);
  });
});
