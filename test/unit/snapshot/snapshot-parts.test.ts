import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayError, type GatewayErrorDetails } from '../../../src/model/error';
import type { ErrorCode } from '../../../src/model/error-codes';
import type { JsonObject } from '../../../src/model/json';
import { CONFIGURATION_ROOT } from '../../../src/model/path';
import { safeMessage } from '../../../src/model/safe-message';
import { isNotFoundError } from '../../../src/snapshot/crawl';
import { compileWildcard } from '../../../src/change/field-patterns';
import { IgnoreRules } from '../../../src/snapshot/ignore-rules';
import {
  isResourcePath,
  MANIFEST_FILE_NAME,
  serializeManifest,
  parseSnapshotOrigin,
  readSnapshotManifest,
  type SnapshotManifest,
} from '../../../src/snapshot/manifest';
import { findCaseCollisions, toFileSegments, parseFileSegments, isPathInFileName } from '../../../src/snapshot/resource-file-names';
import { splitResourcePath } from '../../../src/model/path';
import { isPathWithin, normalizePath } from '../../../src/snapshot/resource-path';
import { createMessageReference } from '../../../src/snapshot/comparison-reference';
import { isEmptyResource, canonicalizeResource, separateLinks, toResourceFileText } from '../../../src/snapshot/resource';
import { formatComparison } from '../../../src/snapshot/diff-text';
import { compareConfigurationTexts } from '../../../src/snapshot/configuration-texts';
import { expectFailure, getThrownError } from '../../helpers/simulated-appliance';

const ROOT = CONFIGURATION_ROOT;
const toPath = (path: string): string => `${ROOT}/${path}`;

describe('the path of a resource', () => {
  it('normalizePath returns the same form for every notation of a link', () => {
    expect(normalizePath('/', '')).toBe(ROOT);
    expect(normalizePath('users/a%2fb/', '')).toBe(toPath('users/a%2Fb'));
    expect(normalizePath(['users', 'a b'], '')).toBe(toPath('users/a%20b'));
    expect(normalizePath(`/gw${ROOT}/users/x/`, '/gw')).toBe(toPath('users/x'));
    expect([splitResourcePath(ROOT), splitResourcePath(toPath('a/b%20c'))]).toEqual([[], ['a', 'b%20c']]);
  });

  it('isPathWithin compares two paths segment by segment', () => {
    expect([
      isPathWithin('/a/b', '/a'),
      isPathWithin('/a', '/a'),
      isPathWithin('/ab', '/a'),
      isPathWithin('/a', '/a/b'),
      isPathWithin('/b/a', '/a'),
    ]).toEqual([true, true, false, false, false]);
  });

  it('isResourcePath recognizes a resource path among other values', () => {
    expect([ROOT, toPath('a'), toPath('a%20b')].map(isResourcePath)).toEqual([true, true, true]);
    expect(
      [toPath('a/'), toPath('a b'), toPath('a%2fb'), toPath('../x'), '/etc/passwd', 'users', `x${ROOT}/a`, 7, undefined].map(
        isResourcePath,
      ),
    ).toEqual(Array(9).fill(false));
  });
});

describe('the manifest of a snapshot', () => {
  const manifest: SnapshotManifest = {
    appliance: 'vpn',
    'serial-number': 'S',
    release: null,
    path: toPath('users'),
    ignore: [],
    roots: ['b', 'a'],
    names: {},
  };
  const folderWith = (text: string): string => {
    const folder = mkdtempSync(join(tmpdir(), 'manifest-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, MANIFEST_FILE_NAME), text);
    return folder;
  };
  const read = (more: JsonObject): Promise<SnapshotManifest | undefined> =>
    readSnapshotManifest(folderWith(JSON.stringify({ ...(JSON.parse(serializeManifest(manifest)) as JsonObject), ...more })));

  it('the manifest of a snapshot has the same text for the same content, sorted, without empty fields', () => {
    expect(serializeManifest(manifest)).toBe(
      `{\n  "format": "gateway-snapshot/1",\n  "appliance": "vpn",\n  "serial-number": "S",\n  "release": null,\n  "path": "${toPath('users')}",\n  "roots": [\n    "a",\n    "b"\n  ]\n}\n`,
    );
    const more = JSON.parse(
      serializeManifest({ ...manifest, ignore: ['x'], names: { 'b.json': toPath('users/b'), 'a.json': toPath('users/a') } }),
    ) as JsonObject;
    expect(more['ignore']).toEqual(['x']);
    expect(Object.keys(more['names'] as object)).toEqual(['a.json', 'b.json']);
  });

  it('the manifest of a snapshot is read back with the content that was written', async () => {
    expect(await read({})).toEqual({ ...manifest, roots: ['a', 'b'] });
    const full = { ...manifest, release: '9', ignore: ['x'], roots: ['a'], names: { 'a.json': toPath('users/a') } };
    expect(await readSnapshotManifest(folderWith(serializeManifest(full)))).toEqual(full);
    expect(await read({ 'serial-number': 7, release: {} })).toMatchObject({ 'serial-number': null, release: null });
    const empty = mkdtempSync(join(tmpdir(), 'manifest-'));
    onTestFinished(() => rmSync(empty, { recursive: true, force: true }));
    expect(await readSnapshotManifest(empty)).toBeUndefined();
  });

  it.each<JsonObject>([
    { format: 'gateway-snapshot/2' },
    { appliance: 7 },
    { path: '/etc' },
    { ignore: 'x' },
    { ignore: [7] },
    { roots: undefined },
    { roots: [7] },
    { names: [] },
    { names: { 'a.json': '/etc/passwd' } },
    { names: { 'a.json': toPath('system') } },
    { names: { 'a.json': 7 } },
  ])('the manifest of a snapshot is named when it is damaged: %j', async (more) => {
    const error = await expectFailure(read(more));
    expect([error.code, error.message]).toEqual([
      'BAD_INPUT',
      expect.stringMatching(/\.gateway-snapshot\.json is damaged or from another version of this package\. Restore the file/),
    ]);
  });

  it('the manifest of a snapshot is reported as damaged if it is not an object', async () => {
    expect((await expectFailure(readSnapshotManifest(folderWith('[]')))).code).toBe('BAD_INPUT');
    expect(parseSnapshotOrigin({ format: 'gateway-snapshot/1', appliance: 'a', path: ROOT })).toEqual({
      appliance: 'a',
      'serial-number': null,
      release: null,
      path: ROOT,
      ignore: [],
    });
  });
});

describe('separateLinks and canonicalizeResource', () => {
  const leads = (href: string): boolean => href.startsWith('/api/');
  const parts = (document: JsonObject) => separateLinks(document, leads);

  it('separateLinks and canonicalizeResource split a document into its fields and its links', () => {
    const document = {
      name: 'x',
      list: [{ name: 'one', href: '/api/one' }, 'two', { username: 'u', href: '/api/u' }],
      links: { href: '/api/only' },
      href: '/api/self',
      deep: { href: '/api/in', kept: 1 },
      address: { href: 'https://elsewhere', more: 1 },
      none: {},
      nothing: [],
      only: [{ href: '/api/three' }],
    };
    const { resource, hrefs } = parts(document);
    expect([...hrefs].sort()).toEqual(['/api/in', '/api/one', '/api/only', '/api/self', '/api/three', '/api/u']);
    expect(resource).toEqual({
      name: 'x',
      list: ['two'],
      deep: { kept: 1 },
      address: { href: 'https://elsewhere', more: 1 },
      none: {},
      nothing: [],
    });
    expect(parts({ username: 'u', href: 7, user: { username: 'u', href: '/x', more: 1 } }).resource).toEqual({
      username: 'u',
      href: 7,
      user: { username: 'u', href: '/x', more: 1 },
    });
  });

  it('separateLinks and canonicalizeResource read 200 levels and refuse deeper resources', () => {
    const objects = (depth: number): JsonObject => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`) as JsonObject;
    const lists = (depth: number): JsonObject => ({ a: JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`) as unknown });
    expect(parts(objects(201)).resource).toEqual(objects(201));
    expect(parts(lists(200)).resource).toEqual(lists(200));
    for (const deeper of [objects(202), lists(201)])
      expect(getThrownError(() => parts(deeper))).toMatchObject({
        code: 'BAD_RESPONSE',
        message: 'A resource is nested deeper than 200 levels.',
      });
  });

  it('separateLinks and canonicalizeResource sort the keys and mask the secrets', () => {
    expect(JSON.stringify(canonicalizeResource({ b: [{ d: 1, c: null }], a: true, password: 'x' }))).toBe(
      '{"a":true,"b":[{"c":null,"d":1}],"password":"***"}',
    );
    expect(toResourceFileText({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}\n');
    expect([
      isEmptyResource({}),
      isEmptyResource({ a: [] }),
      isEmptyResource({ a: [1] }),
      isEmptyResource({ a: '' }),
      isEmptyResource({ a: { length: 0 } }),
    ]).toEqual([true, true, false, false, false]);
  });
});

describe('formatComparison', () => {
  const text = (
    added: string[],
    removed: string[],
    changed: { path: string; field: string; before: unknown; after: unknown }[],
  ): string[] =>
    formatComparison(
      { equal: added.length + removed.length + changed.length === 0, added, removed, changed },
      'vpn',
      safeMessage`the last check`,
    ).split('\n');

  it('formatComparison writes the counts and then the differences', () => {
    expect(text([], [], [])).toEqual(['vpn does not differ from the last check.']);
    expect(
      text(
        [toPath('a'), ROOT],
        [toPath('b')],
        [
          { path: toPath('c'), field: '/x', before: 'a', after: null },
          { path: toPath('c'), field: '/y/0', before: undefined, after: { z: 1 } },
          { path: toPath('d'), field: '/x', before: 1, after: '2' },
        ],
      ),
    ).toEqual([
      'vpn differs from the last check: 2 added, 1 removed, 2 changed.',
      '',
      '+ a',
      '+ /',
      '- b',
      '~ c',
      '    x: "a" → (nothing)',
      '    y/0: (nothing) → {"z":1}',
      '~ d',
      '    x: 1 → "2"',
    ]);
    expect(text([toPath('a')], [], [])[0]).toBe('vpn differs from the last check: 1 added.');
    expect(text([], [], [{ path: toPath('c'), field: '/x', before: 1, after: 2 }])[0]).toBe('vpn differs from the last check: 1 changed.');
  });

  it('formatComparison limits the number and the length of lines', () => {
    const many = (count: number): string[] => Array.from({ length: count }, (_, index) => toPath(`n${index}`));
    expect(text(many(500), [], [])).toHaveLength(502);
    expect(text(many(501), [], []).slice(-2)).toEqual(['+ n499', '… and 1 more lines']);
    const value = (before: string): string | undefined => text([], [], [{ path: toPath('c'), field: '/x', before, after: 1 }]).at(-1);
    expect(value('x'.repeat(198))).toBe(`    x: "${'x'.repeat(198)}" → 1`);
    expect(value('x'.repeat(199))).toBe(`    x: "${'x'.repeat(199)}… → 1`);
    expect(value(`${'x'.repeat(198)}🙂`)).toBe(`    x: "${'x'.repeat(198)}\ufffd… → 1`);
  });
});

it('compareConfigurationTexts lists differences in order and skips unreadable resources', () => {
  const texts = (resources: Record<string, unknown>, ...forbidden: string[]) => ({
    resources: new Map(
      Object.entries(resources).map(([name, value]) => [toPath(name), typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
    forbidden: new Set(forbidden.map(toPath)),
  });
  const before = texts({ c: { x: 1 }, b: { x: 1 }, a: { x: 1 }, same: 'no JSON', 'f/in': { x: 1 }, bare: { list: [] } }, 'g');
  const after = texts({ d: { x: 1 }, b: { x: 2 }, a: { x: 3 }, same: 'no JSON', 'g/in': { x: 1 }, empty: {} }, 'f');
  expect(compareConfigurationTexts(before, after)).toEqual({
    equal: false,
    added: [toPath('d')],
    removed: [toPath('c')],
    changed: [
      { path: toPath('a'), field: '/x', before: 1, after: 3 },
      { path: toPath('b'), field: '/x', before: 1, after: 2 },
    ],
  });
  expect(compareConfigurationTexts(texts({ a: { list: [] } }), texts({ a: { list: [1] } })).changed).toHaveLength(1);
});

describe('createMessageReference', () => {
  const snapshot = { format: 'gateway-snapshot/1', appliance: 'vpn', path: toPath('users'), resources: { [toPath('users/a')]: { x: 1 } } };

  it('createMessageReference reads the resources of the snapshot', async () => {
    const reference = createMessageReference({ ...snapshot, time: 'noon', ignore: ['x'] });
    expect([reference.label.text(), reference.path, reference.ignore, [...reference.paths], [...reference.unreadable]]).toEqual([
      'the snapshot of vpn at noon',
      toPath('users'),
      ['x'],
      [toPath('users/a')],
      [],
    ]);
    expect([await reference.read(toPath('users/a')), await reference.read(toPath('users/b'))]).toEqual([{ x: 1 }, undefined]);
    expect(createMessageReference({ ...snapshot, time: 7 }).label.text()).toBe('the snapshot of vpn');
  });

  it.each<[JsonObject, string]>([
    [{ format: 'x' }, 'with is not a snapshot. It must be the result of Take a snapshot, with the format gateway-snapshot/1.'],
    [{ resources: [] }, 'with is not a snapshot. It must be the result of Take a snapshot, with the format gateway-snapshot/1.'],
    [{ resources: { '/etc': {} } }, 'with is damaged: /etc is not one of its resources.'],
    [{ resources: { [toPath('system')]: {} } }, `with is damaged: ${toPath('system')} is not one of its resources.`],
    [{ resources: { [toPath('users/a')]: 7 } }, `with is damaged: ${toPath('users/a')} is not one of its resources.`],
  ])('createMessageReference refuses the snapshot as %j', (more, words) => {
    expect(getThrownError(() => createMessageReference({ ...snapshot, ...more }))).toMatchObject({ code: 'BAD_INPUT', message: words });
  });
});

it('isNotFoundError recognizes a missing resource in every form that releases use', () => {
  const says = (code: ErrorCode, details: GatewayErrorDetails): boolean => isNotFoundError(new GatewayError(code, 'x', details));
  const errors = (...messages: string[]): GatewayErrorDetails => ({
    status: 200,
    result: { info: [], warnings: [], errors: messages.map((message) => ({ message })) },
  });
  expect(says('NOT_FOUND', { status: 404 })).toBe(true);
  expect(says('NOT_FOUND', { status: 404, login: true })).toBe(false);
  expect(says('APPLIANCE_ERROR', errors('odd', 'The role does not exist'))).toBe(true);
  expect(says('APPLIANCE_ERROR', errors('Not Found'))).toBe(true);
  expect(says('APPLIANCE_ERROR', errors('busy'))).toBe(false);
  expect(says('APPLIANCE_ERROR', { ...errors('not found'), status: 500 })).toBe(false);
  expect(says('APPLIANCE_ERROR', { status: 200 })).toBe(false);
  expect(says('REJECTED', errors('not found'))).toBe(false);
  expect(says('APPLIANCE_ERROR', errors(`${' '.repeat(1000)}not found`))).toBe(false);
});

describe('ignore patterns', () => {
  const matching = (word: string, ...texts: string[]): string[] => texts.filter(compileWildcard(word));

  it('an ignore pattern matches a name with * for any characters', () => {
    expect(matching('a', 'a', 'ab', '')).toEqual(['a']);
    expect(matching('a*', 'a', 'ab', 'ba')).toEqual(['a', 'ab']);
    expect(matching('*a', 'a', 'ba', 'ab')).toEqual(['a', 'ba']);
    expect(matching('ab*ba', 'aba', 'abba', 'abxba')).toEqual(['abba', 'abxba']);
    expect(matching('a*b*c', 'abc', 'axbxc', 'acb', 'ac', 'axc')).toEqual(['abc', 'axbxc']);
    expect(matching('*ab*b', 'ab', 'abb', 'xabxb')).toEqual(['abb', 'xabxb']);
    expect(matching('*aa*aa*', 'aaa', 'aaaa', 'aaxaa')).toEqual(['aaaa', 'aaxaa']);
    expect(matching('a*b*b', 'ab', 'abb')).toEqual(['abb']);
  });

  it('an ignore rule skips each resource that its name or pointer matches, with everything below', () => {
    const places = ['users', 'users/a%2Fb', 'users/a%2Fb/general', 'system/users', 'system/log', 'user'].map(toPath);
    const ignored = (...words: string[]): string[] =>
      places.filter((one) => new IgnoreRules(words).ignoresPath(one)).map((one) => one.slice(ROOT.length + 1));
    expect(ignored()).toEqual([]);
    expect(ignored('users')).toEqual(['users', 'users/a%2Fb', 'users/a%2Fb/general', 'system/users']);
    expect(ignored('/users')).toEqual(['users', 'users/a%2Fb', 'users/a%2Fb/general']);
    expect(ignored('/users/')).toEqual(['users', 'users/a%2Fb', 'users/a%2Fb/general']);
    for (const word of ['a/b', 'a%2Fb'])
      expect(ignored(`/users/${word}`)).toEqual(word.includes('%') ? ['users/a%2Fb', 'users/a%2Fb/general'] : []);
    expect(ignored('/*/users', 'log')).toEqual(['system/users', 'system/log']);
    expect(ignored('a/b')).toEqual(['users/a%2Fb', 'users/a%2Fb/general']);
    expect(ignored('/users/*/general')).toEqual(['users/a%2Fb/general']);
    expect(new IgnoreRules(['/users']).ignoresPath(ROOT)).toBe(false);
  });

  it('an ignore rule skips a field by its name at any depth, or by a pointer at one place', () => {
    const resource = { a: 1, 'x/y': 2, list: [{ a: 1, b: 2 }, 'text', { b: 3 }], deep: { a: { b: 1 }, c: 2 } };
    const left = (...words: string[]): unknown => new IgnoreRules(words).filterResource(toPath('users/x'), resource);
    expect(left()).toBe(resource);
    expect(left('other')).toEqual(resource);
    expect(left('a')).toEqual({ 'x/y': 2, list: [{ b: 2 }, 'text', { b: 3 }], deep: { c: 2 } });
    expect(left('/users/x/a', '/users/y/deep')).toEqual({ 'x/y': 2, list: resource.list, deep: resource.deep });
    expect(left('/users/x')).toEqual(resource);
    expect(left('/users/*/x~1y', '/users/x/deep/a/b')).toEqual({ a: 1, list: resource.list, deep: { a: {}, c: 2 } });
    expect(left('/users/x/list/1', '/users/x/list/0/a')).toMatchObject({ list: [{ b: 2 }, { b: 3 }] });
    expect(left('/users/x/list/*/b')).toMatchObject({ list: [{ a: 1 }, 'text', {}] });
    expect(left('/users/x/deep/a/b/c')).toEqual(resource);
    expect(new IgnoreRules(['/users/a b/x']).filterResource(toPath('users/a%20b'), { x: 1, y: 2 })).toEqual({ y: 2 });
  });

  it('ignore rules are sorted, have no duplicates and can be extended', () => {
    const ignore = new IgnoreRules(['b', 'a', 'b']);
    expect([ignore.patterns, ignore.extend(['c', 'a']).patterns, new IgnoreRules().patterns]).toEqual([['a', 'b'], ['a', 'b', 'c'], []]);
    expect([ignore.extend(), ignore.extend([])]).toEqual([ignore, ignore]);
    expect(ignore.extend(['c']).ignoresPath(toPath('c'))).toBe(true);
  });

  it('an ignore pattern that matches everything is refused, and so are too many patterns', () => {
    for (const word of ['', '*', '/', '/*', ' ', '*/ *'])
      expect(
        getThrownError(() => new IgnoreRules(['a', word])),
        word,
      ).toMatchObject({
        code: 'BAD_INPUT',
        message: `ignore has the entry ${JSON.stringify(word)}, which matches everything. Enter a field or a path.`,
      });
    const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);
    expect(new IgnoreRules(many(200)).patterns).toHaveLength(200);
    expect(getThrownError(() => new IgnoreRules(many(201)))?.message).toBe('ignore has 201 entries, but at most 200 are allowed.');
  });
});

describe('the safe file name of a segment', () => {
  const none = new Set<string>();
  const name = (path: string, alike = none): string => toFileSegments(toPath(path), alike).join('/');

  it('the safe file name of a path segment is never one that a file system treats specially', () => {
    for (const reserved of ['con', 'PRN', 'aux.x', 'nul', 'com1', 'lpt9', 'conin%24', 'conout%24']) {
      expect(name(reserved)).toBe(`%${reserved.charCodeAt(0).toString(16).toUpperCase()}${reserved.slice(1)}.json`);
      expect(name(`x${reserved}`)).toBe(`x${reserved}.json`);
    }
    expect(name('a.json.b/c')).toBe('a.json.b/c.json');
    const alike = new Set([toPath('Staff')]);
    expect(name('Staff', alike)).toMatch(/^Staff%~[0-9a-f]{12}\.json$/);
    expect(name('Staff/x', alike)).toMatch(/^Staff%~[0-9a-f]{12}\/x\.json$/);
    expect(name('staff', alike)).toBe('staff.json');
  });

  it('the safe file name of a path segment has at most 180 characters, and does not end in a partial escape', () => {
    expect(name('x'.repeat(180))).toBe(`${'x'.repeat(180)}.json`);
    expect(name('x'.repeat(181))).toMatch(/^x{164}%~[0-9a-f]{12}\.json$/);
    for (const before of [0, 1, 2])
      expect(name(`${'x'.repeat(before)}${'%C3%BC'.repeat(40)}`)).toMatch(/^x*(?:%[0-9A-F]{2})+%~[0-9a-f]{12}\.json$/);
    expect([['a.json'], [`a%~${'0'.repeat(12)}.json`], ['a%~0', 'b.json']].map(isPathInFileName)).toEqual([true, false, false]);
  });

  it('the safe file name of a path segment can be parsed back, and other names are foreign', () => {
    expect(
      [['%.json'], ['a', 'b%20c.json'], ['a', '%.json'], [], ['json'], ['%zz.json'], ['a', '', 'b.json']].map(parseFileSegments),
    ).toEqual([ROOT, toPath('a/b%20c'), undefined, undefined, undefined, undefined, undefined]);
    expect(findCaseCollisions(['/a', '/A', '/b'])).toEqual(['/a', '/A']);
    expect(findCaseCollisions(['/a', '/A'])).toEqual(['/a', '/A']);
    expect(findCaseCollisions(['/a'])).toEqual([]);
  });
});
