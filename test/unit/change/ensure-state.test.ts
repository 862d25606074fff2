import { describe, expect, it, onTestFinished } from 'vitest';
import { findNameLists, findUserLists } from '../../../src/change/name-lists';
import { ensureResource, ensureResourceAbsent, addEnsureResults } from '../../../src/change/ensure';
import { allowMissingField, deleteIfExists, ignoreNotFound } from '../../../src/change/if-exists';
import { expandLinkedParts } from '../../../src/change/linked-parts';
import { listStateDifferences, toResourceMap, restoreState } from '../../../src/change/restore-state';
import { readIfExists } from '../../../src/change/if-exists';
import { isConfigurationWrite, toItemPaths, readStateBefore, readCurrentState } from '../../../src/change/resource-state';
import { OrderedTasks } from '../../../src/change/ordered-tasks';
import { GatewayError } from '../../../src/model/error';
import type { JsonObject } from '../../../src/model/json';
import type { Request } from '../../../src/model/request';
import type { Simulator } from '../../../src/simulator';
import { startTestSimulator, listRequests, expectFailure, listRequestLines } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { readLinkPath } from '../../../src/change/hyperlinks';

// Affected resources and their states, read over HTTPS from documents of every form.

const TREE = '/api/v1/configuration';
const toPath = (path: string): string => `${TREE}/${path}`;
const link = (path: string, more: object = {}): JsonObject => ({ href: toPath(path), ...more });

type Documents = Readonly<Record<string, JsonObject | number>>;

/** Starts an appliance that serves only these documents or statuses. */
async function startServing(documents: Documents): Promise<{ simulator: Simulator; call: ReturnType<typeof createRunContext> }> {
  const simulator = await startTestSimulator();
  for (const [path, document] of Object.entries(documents)) {
    const answer = typeof document === 'number' ? { status: document } : { status: 200, body: JSON.stringify(document) };
    simulator.fault({ match: (listReads) => listReads.method === 'GET' && listReads.path === toPath(path), times: Infinity, ...answer });
  }
  const call = createRunContext(simulator, { shouldCacheReads: true });
  onTestFinished(() => call.end());
  return { simulator, call };
}

const listReads = (simulator: Simulator): string[] => listRequestLines(simulator).map((line) => line.replace(`GET ${TREE}/`, ''));
/** Accepts every write to the tree, whatever it serves afterwards. */
const acceptWrites = (simulator: Simulator): void =>
  simulator.fault({
    match: ({ method, path }) => method !== 'GET' && path.startsWith(TREE),
    status: 200,
    body: '{"result":{"info":[],"warnings":[],"errors":[]}}',
    times: Infinity,
  });
/** All writes in their order. */
const listWrites = (simulator: Simulator): unknown[] =>
  listRequests(simulator)
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path, body }) => [`${method} ${path.replace(`${TREE}/`, '')}`, body ? (JSON.parse(body) as unknown) : '']);
const createPut = (path: string, body: JsonObject): Request => ({ method: 'PUT', path: toPath(path), body });

describe('findNameLists and findUserLists', () => {
  it.each<[string, JsonObject, [string, string[]][]]>([
    ['x', { user: [{ name: 'a' }, { username: 'b/c' }] }, [['user', ['x/user/a', 'x/user/b%2Fc']]]],
    ['x/user', { user: [{ name: 'a' }] }, [['user', ['x/user/a']]]],
    ['x/user', { user: [{ name: 'a' }], other: '1' }, [['user', ['x/user/user/a']]]],
    ['x/superuser', { user: [{ name: 'a' }] }, [['user', ['x/superuser/user/a']]]],
    ['x', { user: ['a', 'b'] }, [['user', ['x/user/a', 'x/user/b']]]],
    ['x', { user: ['a'], other: '1' }, []],
    [
      'x',
      { one: [{ name: 'a' }], two: [{ name: 'b' }] },
      [
        ['one', ['x/one/a']],
        ['two', ['x/two/b']],
      ],
    ],
    ['x', { user: [{ name: 'a', other: '1' }] }, []],
    ['x', { user: [{ address: 'a' }] }, []],
    ['x', { user: [{ name: 7 }] }, []],
    ['x', { user: [{ name: 'a' }, 7] }, []],
    ['x', { user: [] }, []],
    ['x', { user: {} }, []],
    ['x', { '': [{ name: 'a' }] }, []],
    ...['', '.', '..', '\ud800', 'n'.repeat(501)].map((name): [string, JsonObject, [string, string[]][]] => [
      'x',
      { user: [{ name }] },
      [],
    ]),
    ['x', { user: [{ name: 'n'.repeat(500) }] }, [['user', [`x/user/${'n'.repeat(500)}`]]]],
    ['x', { 'a b': [{ name: '...' }] }, [['a b', ['x/a%20b/%2E..']]]],
  ])('findNameLists and findUserLists find the name lists in %s: %j', (place, document, expected) => {
    expect(findNameLists(place, document)).toEqual(expected.map(([key, paths]) => ({ key, paths })));
  });

  it('findNameLists and findUserLists find complete users by name, but not links to users', () => {
    expect(findUserLists('x', { user: [{ username: 'a', fullname: '1' }, { username: 'b' }] })).toEqual([
      { key: 'user', paths: ['x/user/a', 'x/user/b'] },
    ]);
    expect(findUserLists('x', { user: [{ username: 'a', href: 'y' }] })).toEqual([]);
    expect(findUserLists('x', { user: ['a', 'b'] })).toEqual([]);
    expect(findUserLists('x', { user: [{ name: 'a', fullname: '1' }] })).toEqual([]);
  });
});

describe('the subject of a write', () => {
  it('only writes to the configuration tree have a tracked resource', () => {
    const tracked = (method: Request['method'], path: string): boolean => isConfigurationWrite({ method, path });
    expect([tracked('PUT', toPath('x')), tracked('DELETE', toPath('x')), tracked('POST', toPath('x'))]).toEqual([true, true, true]);
    expect([
      tracked('GET', toPath('x')),
      tracked('PUT', TREE),
      tracked('PUT', '/api/v1/system/x'),
      tracked('PUT', `/x${toPath('x')}`),
    ]).toEqual([false, false, false, false]);
  });

  it('a write to a collection with a key in its body counts as a write to the item with that key', () => {
    expect(toItemPaths('c', { address: '1.2.3.4', name: 'a/b', username: 'u' })).toEqual(['c/a%2Fb', 'c/u', 'c/1.2.3.4']);
    expect(toItemPaths('c', { name: '', username: 7 })).toEqual([]);
    expect(toItemPaths('c', {})).toEqual([]);
  });

  it('a link in a response counts as the written resource only if it leads to a path of the interface', () => {
    expect(readLinkPath({ href: `https://vpn/base${toPath('x/y/')}` })).toBe(toPath('x/y'));
    expect(readLinkPath({ href: toPath('x') })).toBe(toPath('x'));
    for (const none of [{ href: '/api/v1/system' }, { href: TREE }, { href: 7 }, {}, 'x', null]) expect(readLinkPath(none)).toBeUndefined();
  });
});

describe('readStateBefore and readCurrentState', () => {
  it('readStateBefore and readCurrentState read everything below a deleted resource once, and nothing below others', async () => {
    const { simulator, call } = await startServing({
      a: { name: 'a', one: link('a/one', { name: 'one' }), again: link('a/one'), away: link('b'), up: link('a'), near: link('ab') },
      'a/one': { value: '1', items: [link('a/one/x'), link('a/one/y'), 'text'] },
      'a/one/x': { value: 'x' },
      'a/one/y': 404,
    });
    const baseline = await readStateBefore({ method: 'DELETE', path: toPath('a/') }, call);
    expect(baseline?.subject).toEqual({ paths: [toPath('a')], deep: true });
    expect(Object.keys(baseline?.before ?? {})).toEqual(['a', 'a/one', 'a/one/x'].map(toPath));
    expect(listReads(simulator).toSorted()).toEqual(['a', 'a/one', 'a/one/x', 'a/one/y']);
    expect(await readCurrentState(baseline?.subject ?? { paths: [], deep: true }, call)).toEqual(baseline?.before);
  });

  it('readStateBefore and readCurrentState read the items of existing name lists, and ignore unexpected responses', async () => {
    const { simulator, call } = await startServing({
      a: { name: 'a', user: [{ name: 'u' }, { name: 'v' }], role: [{ name: 'r' }], tag: [{ name: 't' }], site: [{ name: 's' }] },
      'a/user/u': { fullname: 'U' },
      'a/user/v': { fullname: 'V' },
      'a/role/r': 422,
      'a/site/s': 400,
    });
    const baseline = await readStateBefore({ method: 'DELETE', path: toPath('a') }, call);
    expect(Object.keys(baseline?.before ?? {})).toEqual(['a', 'a/user/u', 'a/user/v'].map(toPath));
    // The first item decides for each list.
    expect(listReads(simulator)).toEqual(expect.arrayContaining(['a/role/r', 'a/tag/t', 'a/site/s']));
    simulator.fault({
      match: ({ path }) => path === toPath('c'),
      status: 200,
      body: '{"name":"c","user":[{"name":"u"}]}',
      times: Infinity,
    });
    simulator.fault({ match: ({ path }) => path === toPath('c/user/u'), status: 403, times: Infinity });
    expect(await readStateBefore({ method: 'DELETE', path: toPath('c') }, call)).toBeUndefined();
  });

  it('readStateBefore and readCurrentState return nothing before a creation, and the first existing path after it', async () => {
    const { simulator, call } = await startServing({ 'c/u': { username: 'u' }, 'c/1.2.3.4': { address: '1.2.3.4' } });
    const baseline = await readStateBefore(
      { method: 'POST', path: toPath('c/'), body: { name: 'n', username: 'u', address: '1.2.3.4' } },
      call,
    );
    expect(baseline).toEqual({
      subject: { paths: ['c/n', 'c/u', 'c/1.2.3.4'].map(toPath), deep: true },
      before: {},
      collection: { path: toPath('c'), items: new Set() },
    });
    expect(listReads(simulator).splice(0)).toEqual(['c']);
    simulator.requests.length = 0;
    expect(await readCurrentState(baseline?.subject ?? { paths: [], deep: true }, call)).toEqual({ [toPath('c/u')]: { username: 'u' } });
    expect(listReads(simulator)).toEqual(['c/n', 'c/u']);
    expect(await readCurrentState({ paths: [toPath('c/n')], deep: true }, call)).toEqual({});
    expect((await readStateBefore({ method: 'POST', path: toPath('c') }, call))?.subject.paths).toEqual([]);
  });

  it('readStateBefore returns an empty state for a missing resource, and undefined for a missing field of it', async () => {
    const { call } = await startServing({});
    expect(await readStateBefore(createPut('users/none', { value: '1' }), call)).toEqual({
      subject: { paths: [toPath('users/none')], deep: true },
      before: {},
    });
    // Nobody has read the resource of the field, so the earlier value is unknown.
    expect(await readStateBefore(createPut('users/none/value', { value: '1' }), call)).toBeUndefined();
    for (const body of [{}, { value: '1', other: '2' }])
      expect((await readStateBefore(createPut('users/none/value', body), call))?.subject).toEqual({
        paths: [toPath('users/none/value')],
        deep: true,
      });
  });

  it('readStateBefore and readCurrentState follow only the links of a resource whose fields are in the request body', async () => {
    const { simulator, call } = await startServing({
      r: { name: 'r', general: link('r/general'), other: link('r/other'), value: '1' },
      'r/general': { deeper: link('r/general/deeper'), text: 'x' },
      'r/general/deeper': { text: 'y' },
    });
    const body = { value: '2', general: { deeper: { text: 'z' } }, other: link('r/other'), more: { text: 'x' } };
    const baseline = await readStateBefore(createPut('r', body), call);
    const paths = ['r', 'r/general', 'r/general/deeper'].map(toPath);
    expect(baseline?.subject).toEqual({ paths, deep: false });
    expect(Object.keys(baseline?.before ?? {})).toEqual(paths);
    expect(listReads(simulator)).toEqual(['r', 'r/general', 'r/general/deeper']);
    expect(await readCurrentState(baseline?.subject ?? { paths: [], deep: true }, call)).toEqual(baseline?.before);
    // Links that the body does not contain are not read.
    expect(listReads(simulator)).not.toContain('r/other');
    const { resource, parts } = await expandLinkedParts(await call.read({ method: 'GET', path: toPath('r') }), body, call);
    expect(resource).toEqual({ name: 'r', general: { deeper: { text: 'y' }, text: 'x' }, other: link('r/other'), value: '1' });
    expect(Object.keys(parts)).toEqual(paths.slice(1));
  });

  it('readStateBefore and readCurrentState do not follow links that are broken, leave the resource or are not in the body', async () => {
    const { simulator, call } = await startServing({ 'r/there': { x: '1' } });
    const present = { none: link('r/none'), there: link('r/there'), more: link('r/there', { text: 'x' }), text: 'x', plain: { x: '1' } };
    const desired = { none: { x: '2' }, there: 'text', more: { x: '2' }, text: { x: '2' }, plain: { x: '2' } };
    expect(await expandLinkedParts(present, desired, call)).toEqual({ resource: present, parts: {} });
    expect(listReads(simulator)).toEqual(['r/none']);
    await expandLinkedParts(present, { there: { x: '2' } }, call);
    await expandLinkedParts(present, { there: { x: '2' } }, call);
    await expandLinkedParts(present, { there: { x: '2' } }, call, true);
    expect(listReads(simulator)).toEqual(['r/none', 'r/there', 'r/there']);
  });

  it('readStateBefore and readCurrentState read the item when a write addresses its collection', async () => {
    const { call } = await startServing({
      c: { item: [link('c/a')] },
      'c/a': { name: 'a', value: '1' },
      d: { item: [], more: '1' },
      e: { only: 'x' },
    });
    expect(await readStateBefore(createPut('c', { name: 'a', value: '2' }), call)).toEqual({
      subject: { paths: [toPath('c/a')], deep: false },
      before: { [toPath('c/a')]: { name: 'a', value: '1' } },
    });
    expect(await readStateBefore(createPut('c', { name: 'b' }), call)).toEqual({
      subject: { paths: [toPath('c/b')], deep: true },
      before: {},
    });
    // The body contains the list itself or has no key, so it is not an item.
    for (const [place, body] of [
      ['c', { item: [] }],
      ['c', { value: '1' }],
      ['d', { name: 'a' }],
      ['e', { name: 'a' }],
    ] as const)
      expect((await readStateBefore(createPut(place, body), call))?.subject).toEqual({ paths: [toPath(place)], deep: false });
  });

  it('readStateBefore and readCurrentState take a field from its resource if the run has read that resource before', async () => {
    const { simulator, call } = await startServing({
      r: { name: 'r', 'a b': 'x', part: link('r/part') },
      'r/a%20b': { 'a b': 'x' },
      'r/part': { part: 'y' },
    });
    const field = createPut('r/a%20b', { 'a b': 'z' });
    // The resource was not read.
    expect(await readStateBefore(field, call, true)).toEqual({
      subject: { paths: [toPath('r/a%20b')], deep: false },
      before: { [toPath('r/a%20b')]: { 'a b': 'x' } },
    });
    await readIfExists(toPath('r'), call);
    simulator.requests.length = 0;
    const baseline = await readStateBefore(field, call, true);
    expect(baseline).toEqual({
      subject: { paths: [toPath('r/a%20b')], deep: false, owner: toPath('r') },
      before: { [toPath('r/a%20b')]: { 'a b': 'x' } },
    });
    expect(listReads(simulator)).toEqual([]);
    expect(await readCurrentState(baseline?.subject ?? { paths: [], deep: true }, call)).toEqual(baseline?.before);
    expect(listReads(simulator)).toEqual(['r']);
    // A separate resource is read as one.
    expect((await readStateBefore(createPut('r/part', { part: 'z' }), call, true))?.subject).toEqual({
      paths: [toPath('r/part')],
      deep: false,
    });
    expect(await readCurrentState({ paths: [toPath('r/none')], deep: false, owner: toPath('r') }, call)).toEqual({});
    expect(await readCurrentState({ paths: [toPath('none/x')], deep: false, owner: toPath('none') }, call)).toEqual({});
  });

  it('readStateBefore and readCurrentState return undefined for an unreadable state, but throw errors that prevent the write', async () => {
    const { simulator, call } = await startServing({ a: 403, b: 500 });
    for (const path of ['a', 'b']) expect(await readStateBefore(createPut(path, { x: '1' }), call)).toBeUndefined();
    simulator.fault({ match: ({ path }) => path === toPath('c'), cut: 'before-headers', times: Infinity });
    expect((await expectFailure(readStateBefore(createPut('c', { x: '1' }), call))).code).toBe('CONNECTION');
    simulator.fault({ match: ({ path }) => path === toPath('d'), status: 401, times: Infinity });
    expect((await expectFailure(readStateBefore(createPut('d', { x: '1' }), call))).code).toBe('UNAUTHORIZED');
    const codeWith = async (
      ...[options, settings]: [Parameters<typeof createRunContext>[1], Parameters<typeof createRunContext>[2]]
    ): Promise<string> =>
      (await expectFailure(readStateBefore(createPut('users/x', { x: '1' }), createRunContext(simulator, options, settings)))).code;
    expect(await codeWith({ signal: AbortSignal.abort() }, {})).toBe('ABORTED');
    expect(await codeWith({}, { tls: {} })).toBe('TLS');
    for (const code of ['LOGIN_REJECTED', 'LOGIN_PAUSED']) expect(await codeWith({}, { username: 'nobody', password: 'x' })).toBe(code);
  });

  it('readStateBefore and readCurrentState throw LIMIT for more resources than an undo can restore', async () => {
    const items = Array.from({ length: 10_001 }, (_, index) => link(`a/${index}`));
    const { simulator, call } = await startServing({ a: { items } });
    const error = await expectFailure(readCurrentState({ paths: [toPath('a')], deep: true }, call));
    expect([error.code, error.message]).toEqual(['LIMIT', `There are more than 10000 resources below ${toPath('a')}.`]);
    expect(await readStateBefore({ method: 'DELETE', path: toPath('a') }, call)).toBeUndefined();
    expect(listReads(simulator)).toEqual(['a', 'a']);
  });

  it('readStateBefore and readCurrentState send new reads unless the caller allows cached ones', async () => {
    const { simulator, call } = await startServing({ a: { x: '1' } });
    for (const known of [false, true, true, false]) await readCurrentState({ paths: [toPath('a')], deep: false }, call, known);
    expect(listReads(simulator)).toEqual(['a', 'a']);
    for (const known of [undefined, true, undefined]) await readStateBefore(createPut('a', { x: '2' }), call, known);
    expect(listReads(simulator)).toHaveLength(4);
    expect(await readIfExists(toPath('none'), call)).toBeUndefined();
  });

  it('the states of readStateBefore and readCurrentState differ in changed, removed and added resources, without secrets', () => {
    const before = { a: { x: '1' }, gone: { password: 's3cret', x: '1' } };
    const after = { a: { x: '2' }, come: { password: 's3cret' } };
    const compared = { changed: [{ path: 'a', field: '/x', before: '1', after: '2' }], removed: ['gone'], added: ['come'], equal: false };
    const diff = listStateDifferences(compared, before, after);
    expect(diff).toMatchObject([
      { path: 'a', field: '/x' },
      { path: 'gone', field: '', before: { x: '1' }, after: null },
      { path: 'come', field: '', before: null },
    ]);
    expect(JSON.stringify(diff)).not.toContain('s3cret');
    expect([...toResourceMap(before)]).toEqual(Object.entries(before));
  });
});

describe('restoreState', () => {
  const subject = (path: string, deep = false) => ({ paths: [toPath(path)], deep });

  it('restoreState sends nothing and reports no change if the state is the desired one', async () => {
    const { simulator, call } = await startServing({});
    expect(await restoreState({ subject: subject('r'), before: {} }, {}, call)).toEqual([]);
    const state = { [toPath('r')]: { x: '1' } };
    expect(await restoreState({ subject: subject('r'), before: state, body: { x: '2' } }, state, call)).toEqual([]);
    expect([listRequestLines(simulator), call.record.changed]).toEqual([[], false]);
  });

  it('restoreState deletes a created resource with everything below it, and reports no lost password for it', async () => {
    const { simulator, call } = await startServing({});
    acceptWrites(simulator);
    const now = { [toPath('c')]: { name: 'c' }, [toPath('c/below')]: { x: '1' } };
    expect(await restoreState({ subject: subject('c', true), before: {}, body: { 'shared-secret': 's3cret' } }, now, call)).toEqual([]);
    expect([listReads(simulator), call.record.changed]).toEqual([[`DELETE ${toPath('c')}`, 'c'], true]);
  });

  it('restoreState reports fields that the appliance added, and plans them in a dry run without a second read', async () => {
    const { simulator, call } = await startServing({ r: { x: '1', y: '3' } });
    acceptWrites(simulator);
    const baseline = { subject: subject('r'), before: { [toPath('r')]: { x: '1' } }, body: { x: '2' } };
    const now = { [toPath('r')]: { x: '2', y: '3' } };
    const planned = createRunContext(simulator, { dryRun: true });
    expect(await restoreState(baseline, now, planned)).toEqual([]);
    expect([listRequestLines(simulator), planned.record.hasWrite]).toEqual([[], true]);
    expect(await restoreState(baseline, now, call)).toEqual([{ path: toPath('r'), field: '/y' }]);
    expect(listWrites(simulator)).toEqual([['PUT r', { x: '1' }]]);
  });

  it.each<[JsonObject, object[]]>([
    [{ x: '1' }, [{ path: toPath('r'), field: '/shared-secret' }]],
    [{ x: '1', 'shared-secret': 'old', y: '1' }, []],
  ])(
    'restoreState sends the earlier state after a written secret, and reports secrets that were not shown: %j',
    async (resource, incomplete) => {
      const { simulator, call } = await startServing({ r: resource });
      acceptWrites(simulator);
      const before = { [toPath('r')]: resource };
      expect(await restoreState({ subject: subject('r'), before, body: { 'shared-secret': 's3cret' } }, before, call)).toEqual(incomplete);
      expect(listWrites(simulator)).toEqual([['PUT r', resource]]);
    },
  );

  it('restoreState omits links and collection items, which are restored with their own resources', async () => {
    const documents = {
      r: { name: 'r', user: [{ name: 'a' }, { name: 'b' }], tag: [{ name: 't' }], below: link('r/below') },
      'r/user/a': { fullname: 'A' },
      'r/below': { more: link('x') },
    };
    const { simulator, call } = await startServing(documents);
    acceptWrites(simulator);
    const before = Object.fromEntries(Object.entries(documents).map(([path, document]) => [toPath(path), document]));
    expect(await restoreState({ subject: subject('r', true), before }, {}, call)).toEqual([]);
    expect(listWrites(simulator)).toEqual([
      ['PUT r', { name: 'r', tag: [{ name: 't' }] }],
      ['PUT r/user/a', { fullname: 'A' }],
    ]);
  });

  it.each<[string, JsonObject, boolean]>([
    ['s/local/users/user/u', { username: 'u' }, true],
    ['s/local/users/user/u', { username: 'u', 'password-encrypted': 'x', fullname: 'U' }, false],
    ['s/local/users/user/u/more', { username: 'u' }, false],
    ['s/users/user/u', { username: 'u' }, false],
  ])('restoreState gives a restored user who needs a password a random one: %s %j', async (path, resource, made) => {
    const { simulator, call } = await startServing({ [path]: resource });
    acceptWrites(simulator);
    const incomplete = await restoreState({ subject: subject(path, true), before: { [toPath(path)]: resource } }, {}, call);
    const password = { 'password-cleartext': expect.stringMatching(/^aA1![\w-]{43}$/) as string };
    expect(incomplete).toEqual(made ? [{ path: toPath(path), field: '/password-cleartext' }] : []);
    expect(listWrites(simulator)).toEqual([[`PUT ${path}`, { ...resource, ...(made && password) }]]);
  });
});

describe('ensureResource', () => {
  const none = { hasDifferences: false, diff: [], notCompared: [], implicit: [] };

  it('ensureResource sends nothing and reports no change if the resource is already as desired', async () => {
    const { simulator, call } = await startServing({ r: { x: '1' } });
    expect(await ensureResource({ path: toPath('r'), body: { x: 1 } }, call)).toEqual({ ...none, resource: { x: '1' } });
    expect(await ensureResourceAbsent(toPath('none'), call)).toEqual({ ...none, resource: undefined });
    expect([listReads(simulator), call.record.changed]).toEqual([['r', 'none'], false]);
    addEnsureResults([], call);
    expect(call.record.envelopeFields).toEqual({});
  });

  it('a dry run of ensureResource reads once and plans the write', async () => {
    const { simulator } = await startServing({ r: { x: '1' } });
    const planned = createRunContext(simulator, { dryRun: true });
    const diff = [{ path: toPath('r'), field: '/x', before: '1', after: '2' }];
    expect(await ensureResource({ path: toPath('r'), body: { x: '2' } }, planned)).toEqual({
      ...none,
      hasDifferences: true,
      diff,
      resource: { x: '1' },
    });
    expect([listReads(simulator), planned.record.request?.body]).toEqual([['r'], { x: '2' }]);
  });

  it('ensureResource sends create-only keys only when it creates the resource', async () => {
    const { simulator, call } = await startServing({ r: { x: '1' } });
    acceptWrites(simulator);
    const body = { x: '1', 'password-cleartext': 's3cret' };
    for (const createOnlyKeys of [['password-cleartext'], []])
      await ensureResource({ path: toPath('r'), body, createOnlyKeys, alwaysWrite: true }, call);
    expect(listWrites(simulator)).toEqual([
      ['PUT r', { x: '1' }],
      ['PUT r', body],
    ]);
  });

  it('ensureResource reports further changes that the appliance made by itself', async () => {
    const { simulator, call } = await startServing({});
    const serveOnce = (times: number, document: JsonObject): void =>
      simulator.fault({ match: ({ method }) => method === 'GET', times, status: 200, body: JSON.stringify(document) });
    serveOnce(2, { note: 'day', notes: 'a', deep: { x: '1', y: '1' } });
    serveOnce(Infinity, { note: 'night', notes: 'b', deep: { x: '2', y: '1' } });
    acceptWrites(simulator);
    const { diff, implicit } = await ensureResource({ path: toPath('r'), body: { note: 'night' } }, call);
    expect([diff, implicit].map((all) => all.map(({ field }) => field))).toEqual([['/note'], ['/notes', '/deep/x']]);
  });

  const item = link('c/a');
  it.each<[JsonObject, JsonObject, boolean]>([
    [{ item: [item, item] }, { name: 'a' }, true],
    [{ item: ['a', 'b'] }, { name: 'a' }, false],
    [{ known: ['a', 'b'] }, { name: 'a' }, true],
    [{ item: ['a', item] }, {}, true],
    [{ item: [] }, { name: 'a' }, false],
    [{ c: [] }, { name: 'a' }, true],
    [{ item: [item, 7] }, { name: 'a' }, false],
    [{ item: ['a', { name: 'b' }] }, { name: 'a' }, false],
    [{ item: [{ href: 7 }] }, { name: 'a' }, false],
    [{ item: [null] }, { name: 'a' }, false],
    [{ item: 'a' }, { name: 'a' }, false],
    [{ item }, { name: 'a' }, false],
    [{ item: [item], other: '1' }, { name: 'a' }, false],
    [{ item: [item] }, { item: [] }, false],
    [{}, { name: 'a' }, false],
  ])('ensureResource decides whether %j is a collection: %j', async (document, body, refused) => {
    const { simulator } = await startServing({ c: document, 'c/known/a': { name: 'a' } });
    const planned = createRunContext(simulator, { dryRun: true });
    const done = await ensureResource({ path: toPath('c'), body }, planned).then(
      () => 'planned',
      (error: GatewayError) => error.code,
    );
    expect(done).toBe(refused ? 'BAD_INPUT' : 'planned');
  });
});

describe('missing-ok', () => {
  it('missing-ok can be set in the node, but not by a message', () => {
    expect(allowMissingField).toMatchObject({
      label: 'Missing is fine',
      help: 'A missing resource counts as success, with `msg.envelope.changed` false.',
      guard: true,
    });
  });

  it('missing-ok treats a missing resource as deleted, but still throws other errors', async () => {
    const { simulator, call } = await startServing({});
    const notFound = new GatewayError('NOT_FOUND', 'It is not there.');
    expect(await ignoreNotFound(call, () => Promise.reject(notFound))).toEqual({ result: { info: [], warnings: [], errors: [] } });
    const other = new GatewayError('NOT_FOUND', 'No login is there.', { login: true });
    await expect(ignoreNotFound(call, () => Promise.reject(other))).rejects.toBe(other);
    const request = { method: 'DELETE' as const, path: toPath('users/user-roles/user-role/Unused') };
    await deleteIfExists(request, call);
    await deleteIfExists(request, call);
    expect(listRequestLines(simulator)).toEqual([request, request].map(({ path }) => `DELETE ${path}`));
  });

  it('missing-ok makes a dry run check whether the configuration path exists', async () => {
    const simulator = await startTestSimulator();
    const planned = createRunContext(simulator, { dryRun: true });
    const listWrites: string[] = [];
    const send = () => (listWrites.push('x'), Promise.resolve('sent'));
    const remove = (path: string) => deleteIfExists({ method: 'DELETE', path }, planned, send);
    expect(await remove(toPath('users/none'))).toEqual({ result: { info: [], warnings: [], errors: [] } });
    expect([listWrites, planned.record.envelopeFields['wouldChange']]).toEqual([[], false]);
    expect(await remove(toPath('users/user-roles/user-role/Unused'))).toBe('sent');
    expect(await remove('/api/v1/system/certificates/x')).toBe('sent');
    expect(listRequestLines(simulator).map((line) => line.slice(4))).toEqual([
      toPath('users/none'),
      toPath('users/user-roles/user-role/Unused'),
    ]);
  });
});

describe('OrderedTasks', () => {
  it('OrderedTasks runs the items in order, even after one that failed', async () => {
    const turns = new OrderedTasks(['a', 'b', 'c']);
    const done: string[] = [];
    const fault = new Error('of b');
    const work = (item: string) => () => (done.push(item), item === 'b' ? Promise.reject(fault) : Promise.resolve(item));
    const last = turns.run('c', work('c'));
    const middle = turns.run('b', work('b'));
    await new Promise(setImmediate);
    expect(done).toEqual([]);
    expect(await turns.run('a', work('a'))).toBe('a');
    await expect(middle).rejects.toBe(fault);
    expect([await last, done]).toEqual(['c', ['a', 'b', 'c']]);
    // An item that does not wait does not block others.
    await turns.waitForPrevious('d');
    turns.markDone('d');
  });

  it('OrderedTasks runs the work of an item only after the previous item is done', async () => {
    const turns = new OrderedTasks(['a', 'b']);
    turns.markDone('b');
    let begun = false;
    const before = turns.waitForPrevious('b').then(() => (begun = true));
    await new Promise(setImmediate);
    expect(begun).toBe(false);
    turns.markDone('a');
    await before;
  });
});
