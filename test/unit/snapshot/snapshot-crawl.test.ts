import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import { crawlConfiguration } from '../../../src/snapshot/crawl';
import { IgnoreRules } from '../../../src/snapshot/ignore-rules';
import { readConfigurationTexts } from '../../../src/snapshot/read-configuration-texts';
import { takeSnapshot, type Snapshot } from '../../../src/snapshot/take';
import { expectFailure, gatewayFor } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import {
  listRequestedPaths,
  listFiles,
  SNAPSHOT_MANIFEST_FILE,
  serveTree,
  linkTo,
  CONFIGURATION_PATH as T,
  type ServedTree,
} from '../../helpers/snapshot';
import { eventually } from '../../helpers/eventually';
import { createTemporaryFolder } from '../../helpers/temporary';

// Trees with links to anywhere, lists of names, and resources that appear or vanish during the crawl.

const SAYS_GONE = { result: { errors: [{ message: 'The resource does not exist.' }] } };

/** Takes a snapshot into a message, and returns relative paths and the envelope. */
async function taken(tree: ServedTree, input: object = {}) {
  const server = await serveTree(tree);
  const { data, envelope } = await gatewayFor(server).run('snapshot.take', { ...input });
  const { resources, ...head } = data as Snapshot;
  const places = Object.fromEntries(Object.entries(resources).map(([place, resource]) => [place.slice(T.length), resource]));
  return { places, head, asked: listRequestedPaths(server), envelope, server };
}

describe('a crawl of links', () => {
  it('a crawl follows each link once, at any depth, and returns only resources that contain more than links', async () => {
    const { places, ...rest } = await taken({
      '': { a: linkTo('/a'), list: [linkTo('/b'), { name: 'c', ...linkTo('/c') }], self: linkTo('') },
      '/a': { x: 1, back: linkTo(''), other: linkTo('/b/') },
      '/b': { y: { z: 2, deep: linkTo('/b/d') } },
      '/b/d': { inner: { href: `${T}/a` } },
      '/c': { c: [] },
      '/uac': { u: 1, down: linkTo('/uac/x') },
      '/uac/x': { v: [] },
    });
    expect(places).toEqual({ '/a': { x: 1 }, '/b': { y: { z: 2 } }, '/uac': { u: 1 }, '/uac/x': { v: [] } });
    expect(rest.asked.toSorted()).toEqual(['', '/a', '/b', '/b/d', '/c', '/uac', '/uac/x']);
    expect(Object.keys(places)).toEqual(Object.keys(places).toSorted());
    expect(rest.envelope).toMatchObject({ forbidden: [] });
    expect(rest.envelope).not.toHaveProperty('missing');
    expect(rest.envelope).not.toHaveProperty('refused');
    expect(rest.head).toMatchObject({ path: T, 'serial-number': 'S1', release: '22.7' });
    expect(rest.head).not.toHaveProperty('ignore');
  });

  it('a crawl of links includes known resources that the root does not link, but no ignored ones', async () => {
    const tree = { '': { v: 1, policies: linkTo('/uac'), a: linkTo('/a') }, '/a': { x: 1 }, '/uac': { u: 1 } };
    expect((await taken(tree)).asked.filter((path) => path === '/uac')).toHaveLength(1);
    expect((await taken({ ...tree, '': { v: 1 } }, { ignore: ['/uac'] })).asked).toEqual(['']);
    expect((await taken({ ...tree, '': { v: 1 } })).places).toEqual({ '': { v: 1 }, '/uac': { u: 1 } });
    // A missing root has nothing to report.
    const { places, envelope } = await taken({ '': { v: 1 } });
    expect([places, 'missing' in envelope]).toEqual([{ '': { v: 1 } }, false]);
    expect((await taken(tree, { path: 'a' })).asked).toEqual(['/a']);
  });

  it('a crawl of links reports up to a thousand links to other places, and does not follow them', async () => {
    const invalidLinks = ['https://other.example.com/x', '/api/v1/system', `${T}/a/../b`, '/elsewhere'];
    const deep = `/${Array(64).fill('x').join('/')}`;
    const { envelope, asked: paths } = await taken({
      '': {
        odd: invalidLinks.map((href) => ({ href })),
        again: { href: invalidLinks[0] },
        deep: [linkTo(deep), linkTo(`${deep}/x`)],
        up: linkTo('/a'),
      },
      '/a': { href: `${T}/b`, name: 'a', more: { href: invalidLinks[3] } },
      '/b': { href: '/elsewhere', name: 'b', root: { href: `${T}/`, name: 'root' } },
    });
    expect(envelope).toMatchObject({ refused: [...invalidLinks, `${T}${deep}/x`], missing: [T + deep] });
    expect(new Set(paths)).toEqual(new Set(['', '/a', '/b', deep, '/uac']));
    const many = Array.from({ length: 1001 }, (_, index) => ({ href: `/x/${index}` }));
    expect((await taken({ '': { many } })).envelope.refused).toHaveLength(1000);
  });

  it('a crawl of links treats an address in a field as a link only if it leads to a resource', async () => {
    const { places } = await taken(
      {
        '/a': { name: 'a', href: `${T}/a/b`, other: { href: '/x', n: 1 }, all: { href: `${T}/`, n: 2 }, bad: { href: `${T}/../x`, n: 3 } },
        '/a/b': { b: 1 },
      },
      { path: 'a' },
    );
    expect(places).toEqual({
      '/a': { name: 'a', other: { href: '/x', n: 1 }, all: { href: `${T}/`, n: 2 }, bad: { href: `${T}/../x`, n: 3 } },
      '/a/b': { b: 1 },
    });
  });

  it('a crawl of links does not read ignored resources or resources outside the requested part', async () => {
    const tree = {
      '/a': { b: linkTo('/a/b'), c: linkTo('/a/c'), out: linkTo('/ab'), up: linkTo('') },
      '/a/b': { v: 1, log: 2 },
      '/a/c': { v: 2 },
    };
    const { places, asked: paths, head } = await taken(tree, { path: 'a', ignore: ['c', 'log'] });
    expect([places, paths, head.ignore]).toEqual([{ '/a/b': { v: 1 } }, ['/a', '/a/b'], ['c', 'log']]);
  });
});

describe('a crawl of a list', () => {
  const list = (first: object | number | undefined, names: unknown = ['x', 'y'], ignore: string[] = []) =>
    taken(
      { '/a': { users: names }, ...(first !== undefined && { '/a/users/x': first }), '/a/users/y': { name: 'y' } },
      { path: 'a', ignore },
    );

  it('a crawl follows the names of a list without links if the first name leads to a resource', async () => {
    const { places, asked: paths } = await list({ name: 'x' });
    expect(places).toEqual({ '/a/users/x': { name: 'x' }, '/a/users/y': { name: 'y' } });
    expect(paths.toSorted()).toEqual(['/a', '/a/users/x', '/a/users/x', '/a/users/y']);
    expect((await list(403)).envelope.forbidden).toEqual([`${T}/a/users/x`]);
    expect((await list(403)).places).toEqual({ '/a/users/y': { name: 'y' } });
    expect((await list(undefined, ['x', 'y'], ['x'])).places).toEqual({ '/a/users/y': { name: 'y' } });
    for (const first of [undefined, SAYS_GONE, 400, 422]) {
      const { places: kept, asked: few } = await list(first);
      expect([kept, few]).toEqual([{ '/a': { users: ['x', 'y'] } }, ['/a', '/a/users/x']]);
    }
    const two = { '/a': { users: [{ name: 'x' }], other: [{ name: 'x' }], v: 1 }, '/a/users/x': { n: 1 } };
    expect((await taken(two, { path: 'a' })).places).toEqual({ '/a': { other: [{ name: 'x' }], v: 1 }, '/a/users/x': { n: 1 } });
    const server = await serveTree({ '/a': { users: ['x'] }, '/a/users/x': 501 });
    const error = await expectFailure(gatewayFor(server).run('snapshot.take', { path: 'a' }));
    expect(error.code).toBe('APPLIANCE_ERROR');
  });

  it('a crawl leaves out a collection whose list of items is empty', async () => {
    const { places } = await taken(
      {
        '/a': { b: linkTo('/a/b'), c: linkTo('/a/c'), d: linkTo('/a/d%20e') },
        '/a/b': { b: [] },
        '/a/c': { c: [], more: [] },
        '/a/d%20e': { 'd e': [] },
      },
      { path: 'a' },
    );
    expect(places).toEqual({ '/a/c': { c: [], more: [] } });
  });
});

describe('a crawl during deletions', () => {
  it('a crawl reads a list again if one of its resources is missing, and reports a resource that stays linked', async () => {
    for (const notFound of [404, SAYS_GONE]) {
      const {
        asked: paths,
        envelope,
        places,
      } = await taken({ '/a': { x: linkTo('/a/x'), y: linkTo('/a/y'), v: 1 }, '/a/x': notFound, '/a/y': { y: 1 } }, { path: 'a' });
      expect([envelope.missing, places]).toEqual([[`${T}/a/x`], { '/a': { v: 1 }, '/a/y': { y: 1 } }]);
      expect(['/a', '/a/x', '/a/y'].map((place) => paths.filter((path) => path === place).length)).toEqual([4, 4, 1]);
    }
    let reads = 0;
    const changing = () => (reads++ === 0 ? { x: linkTo('/a/x') } : { z: linkTo('/a/z'), v: 1 });
    const { places, envelope } = await taken({ '/a': changing, '/a/z': { z: 1 } }, { path: 'a' });
    expect([places, 'missing' in envelope]).toEqual([{ '/a': { v: 1 }, '/a/z': { z: 1 } }, false]);
  });

  /** A resource that existed once, with everything below it. */
  const vanishing = (): ServedTree => {
    let reads = 0;
    const once = () => (reads++ === 0 ? { v: 1, q: linkTo('/a/p/q'), r: linkTo('/a/p/r') } : 404);
    return {
      '/a': { p: linkTo('/a/p'), s: linkTo('/a/s'), pp: linkTo('/a/pp') },
      '/a/p': once,
      '/a/p/r': { r: 1 },
      '/a/s': { s: 1 },
      '/a/pp': { v: 1 },
    };
  };

  it('a crawl removes a deleted resource and everything below it from its result', async () => {
    const { places, envelope } = await taken(vanishing(), { path: 'a' });
    expect([places, envelope.missing]).toEqual([{ '/a/s': { s: 1 }, '/a/pp': { v: 1 } }, undefined]);
    const texts = await readConfigurationTexts({ path: 'a' }, undefined, createRunContext(await serveTree(vanishing())));
    expect([...texts.resources].map((one) => one.join(' ')).toSorted()).toEqual([`${T}/a/pp {"v":1}`, `${T}/a/s {"s":1}`]);
    const folder = createTemporaryFolder();
    const server = await serveTree(vanishing());
    expect(await takeSnapshot({ path: 'a', folder }, createRunContext(server))).toMatchObject({
      resources: 2,
      added: 2,
      changed: 0,
      removed: 0,
    });
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, 'a/pp.json', 'a/s.json']);
    // Files of an earlier run are removed.
    mkdirSync(join(folder, 'a/p'));
    for (const name of ['a/p.json', 'a/p/r.json']) writeFileSync(join(folder, name), '{}');
    expect(await takeSnapshot({ path: 'a', folder }, createRunContext(await serveTree(vanishing())))).toMatchObject({
      resources: 2,
      added: 0,
      removed: 2,
    });
    expect(listFiles(folder)).toEqual([SNAPSHOT_MANIFEST_FILE, 'a/pp.json', 'a/s.json']);
  });

  it('a crawl throws if the requested resource is deleted meanwhile', async () => {
    const call = createRunContext(await serveTree({ '/a': 404, '/b': 403, '/c': 500 }));
    const takeAndReport = async (path: string) => {
      const { code, message, details } = await expectFailure(takeSnapshot({ path }, call));
      return [code, message.slice(0, `${T}/a could not be read: `.length), details.extra?.path, details.status];
    };
    expect(await takeAndReport('a')).toEqual(['NOT_FOUND', `${T}/a could not be read: `, `${T}/a`, 404]);
    expect(await takeAndReport('b')).toEqual(['FORBIDDEN', `${T}/b could not be read: `, `${T}/b`, 403]);
    expect(await takeAndReport('c')).toEqual(['APPLIANCE_ERROR', `${T}/c could not be read: `, `${T}/c`, 500]);
  });
});

describe('the order of a crawl', () => {
  const leaves = (count: number): ServedTree => ({
    '/a': { leaves: Array.from({ length: count }, (_, index) => linkTo(`/a/x${index}`)) },
    ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`/a/x${index}`, { index }])),
  });
  const options = { root: `${T}/a`, ignore: new IgnoreRules() };

  it('a crawl reports a resource with its links before it reads any of the linked resources', async () => {
    const server = await serveTree({
      '/a': { x: linkTo('/a/x'), y: linkTo('/a/y/'), out: linkTo('/b') },
      '/a/x': { v: 1 },
      '/a/y': { w: 1 },
    });
    const log: unknown[] = [];
    const take = (place: string, resource: object): Promise<void> => {
      log.push([place, resource, listRequestedPaths(server).length]);
      return Promise.resolve();
    };
    await crawlConfiguration(
      { ...options, onResource: take, onLinks: (places) => log.push([...places, listRequestedPaths(server).length]) },
      createRunContext(server, {}, { connections: 1 }),
    );
    expect(log[0]).toEqual([`${T}/a/x`, `${T}/a/y`, 1]);
    expect(log.filter((line) => (line as unknown[]).length === 3 && typeof (line as unknown[])[1] === 'object')).toHaveLength(2);
  });

  it('a crawl waits for slow handlers, and keeps at most eight unread resources per connection', async () => {
    const server = await serveTree(leaves(60));
    const waiting: (() => void)[] = [];
    const take = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
    let over = false;
    const crawling = crawlConfiguration({ ...options, onResource: take }, createRunContext(server, {}, { connections: 2 })).then(
      () => (over = true),
    );
    await eventually(() => expect(waiting.length).toBeGreaterThan(15));
    const before = listRequestedPaths(server).length;
    expect(before).toBeLessThan(1 + 16 + 4);
    expect(over).toBe(false);
    for (let count = 0; count < 60; count++) {
      await eventually(() => expect(waiting.length).toBeGreaterThan(count));
      waiting[count]?.();
    }
    await crawling;
    expect(listRequestedPaths(server)).toHaveLength(61);
  });

  it('a crawl stops at the first error and waits for the reads that are running', async () => {
    const server = await serveTree(leaves(60));
    const fault = new GatewayError('LIMIT', 'No room.');
    let begun = 0;
    const take = async (): Promise<void> => {
      await new Promise(setImmediate);
      if (++begun === 3) throw fault;
    };
    expect(
      await expectFailure(crawlConfiguration({ ...options, onResource: take }, createRunContext(server, {}, { connections: 2 }))),
    ).toBe(fault);
    const count = listRequestedPaths(server).length;
    expect(count).toBeLessThan(30);
    await new Promise(setImmediate);
    expect(listRequestedPaths(server)).toHaveLength(count);
    const abort = new AbortController();
    const cancelled = crawlConfiguration(
      { ...options, onResource: () => Promise.resolve(abort.abort()) },
      createRunContext(server, { signal: abort.signal }, { connections: 2 }),
    );
    const error = await expectFailure(cancelled);
    expect([error.code, error.message.includes('could not be read')]).toEqual(['ABORTED', false]);
  });
});
