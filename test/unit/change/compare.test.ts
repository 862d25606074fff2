import { describe, expect, it } from 'vitest';
import { compareWithDesired, compareTrees, compareResources, toPointerSegment, maskResourceSecrets } from '../../../src/change/compare';
import type { JsonObject } from '../../../src/model/json';
import { containsOnlyLinks, isHyperlink } from '../../../src/change/hyperlinks';

const PATH = '/api/v1/configuration/a';
const compareBody = (body: JsonObject, present?: JsonObject) => compareWithDesired(PATH, body, present);
const fields = (body: JsonObject, present?: JsonObject) => compareBody(body, present).diff.map(({ field }) => field);
const link = { href: '/api/v1/configuration/a/b' };

describe('compareWithDesired', () => {
  it.each<[string, JsonObject, JsonObject]>([
    ['the same', { a: 'x', b: { c: ['1', { d: 'y' }] } }, { a: 'x', b: { c: ['1', { d: 'y' }] } }],
    ['more than was given', { b: { c: 1 } }, { a: 'x', b: { c: 1, d: 2 } }],
    ['keys in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['booleans as text', { a: true, b: 'false', c: [true] }, { a: 'true', b: false, c: ['True'] }],
    ['numbers as text', { a: 20, b: '20', c: [1.5] }, { a: '20', b: 20, c: ['1.5'] }],
    ['null for what is missing', { a: null, b: [], c: {} }, {}],
    ['more in an object of a list', { rule: [{ name: 'x' }] }, { rule: [{ name: 'x', id: '7' }] }],
  ])('compareWithDesired treats the values as equal: %s', (_what, body, present) => {
    expect(compareBody(body, present)).toMatchObject({ diff: [], notCompared: [] });
  });

  it.each<[string, JsonObject, JsonObject, string[]]>([
    ['a text', { a: 'x' }, { a: 'y' }, ['/a']],
    ['empty text and nothing', { a: '' }, {}, ['/a']],
    ['a field deep inside', { a: { b: { c: 1 } } }, { a: { b: { c: 2, d: 3 } } }, ['/a/b/c']],
    ['an object that is missing, field by field', { a: { b: 1, c: 2 } }, {}, ['/a/b', '/a/c']],
    ['lists in another order', { a: ['1', '2'] }, { a: ['2', '1'] }, ['/a']],
    ['a longer list', { a: ['1'] }, { a: ['1', '2'] }, ['/a']],
    ['a list that is to be empty', { a: [] }, { a: ['1'] }, ['/a']],
    ['an object in a list', { a: [{ b: { c: [1] } }] }, { a: [{ b: { c: [2] } }] }, ['/a']],
    ['an object for a text', { a: { b: 1 } }, { a: 'x' }, ['/a']],
    ['a list for a text', { a: ['x'] }, { a: 'x' }, ['/a']],
    ['a text for a list', { a: 'x' }, { a: ['x'] }, ['/a']],
    ['null for a value', { a: null }, { a: 'x' }, ['/a']],
    ['a boolean for its opposite', { a: true }, { a: 'false' }, ['/a']],
    ['a number written otherwise', { a: '020' }, { a: 20 }, ['/a']],
    ['names that a pointer escapes', { 'a/b': { 'c~d': 1 } }, {}, ['/a~1b/c~0d']],
    ['names that every object has', { constructor: 'x', toString: 'y' }, {}, ['/constructor', '/toString']],
  ])('compareWithDesired reports a difference: %s', (_what, body, present, expected) => {
    expect(fields(body, present)).toEqual(expected);
  });

  it('compareWithDesired reports the current and the desired value of each field', () => {
    const { diff } = compareBody({ enabled: true, hosts: ['a'], note: null }, { enabled: 'false', note: 'x' });
    expect(diff).toEqual([
      { path: PATH, field: '/enabled', before: 'false', after: true },
      { path: PATH, field: '/hosts', before: null, after: ['a'] },
      { path: PATH, field: '/note', before: 'x', after: null },
    ]);
  });

  it('compareWithDesired lists hyperlinks and secrets at any depth without comparing them', () => {
    const body = {
      users: link,
      list: [{ name: 'a', ...link }],
      'shared-secret': 's3cret',
      server: { password: 's3cret', host: 'h', attributes: [{ name: 'api-key', value: 's3cret' }] },
      hosts: [{ name: 'x', 'password-cleartext': 's3cret' }, link],
    };
    const { diff, notCompared } = compareBody(body, { server: { host: 'h' }, hosts: [{ name: 'x' }, {}] });
    expect(diff.map(({ field }) => field)).toEqual(['/server/attributes']);
    expect(notCompared.map(({ field }) => field)).toEqual([
      '/users',
      '/list',
      '/shared-secret',
      '/server/password',
      '/server/attributes/0/value',
      '/hosts/0/password-cleartext',
      '/hosts/1',
    ]);
    expect(JSON.stringify(diff)).not.toContain('s3cret');
    expect(diff[0]).toMatchObject({ after: [{ name: 'api-key', value: '***' }] });
  });

  it('compareWithDesired throws BAD_RESPONSE for a resource that is nested too deep', () => {
    const nested = (depth: number): JsonObject => JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)) as JsonObject;
    expect(fields(nested(150), nested(150))).toEqual([]);
    expect(() => fields(nested(5000), nested(5000))).toThrow('nested deeper');
    expect(() => compareResources(PATH, {}, nested(5000))).toThrow('nested deeper');
    const lists = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown;
    expect(() => fields({ a: lists }, {})).toThrow('nested deeper');
  });
});

describe('compareResources', () => {
  it('compareResources reports each added, removed and changed field', () => {
    const diff = compareResources(PATH, { a: 1, gone: { x: 'y' }, list: [1] }, { list: [1, 2], a: '1', come: 'x' });
    expect(diff).toEqual([
      { path: PATH, field: '/gone/x', before: 'y', after: null },
      { path: PATH, field: '/list', before: [1], after: [1, 2] },
      { path: PATH, field: '/come', before: null, after: 'x' },
    ]);
  });

  it('compareResources reports whether a secret exists, but neither its value nor a link', () => {
    const before = { psk: 'one', password: '', more: link, users: [{ name: 'a', ...link }] };
    expect(compareResources(PATH, before, { psk: 'two', password: '', more: { href: '/b' } })).toEqual([]);
    expect(compareResources(PATH, before, { psk: '***', password: 'x' })).toEqual([
      { path: PATH, field: '/password', before: '', after: '***' },
    ]);
    expect(compareResources(PATH, { psk: 'one' }, {})).toEqual([{ path: PATH, field: '/psk', before: '***', after: null }]);
  });

  it('compareResources reports an object as soon as an array item has more fields', () => {
    expect(compareResources(PATH, { rule: [{ name: 'a', id: 1 }] }, { rule: [{ name: 'a' }] })).toHaveLength(1);
  });
});

describe('compareTrees', () => {
  it('compareTrees reports added, removed and changed resources', () => {
    const before = new Map<string, JsonObject>([
      ['/a', { x: 1 }],
      ['/b', { x: 1 }],
      ['/c', {}],
    ]);
    const after = new Map<string, JsonObject>([
      ['/d', {}],
      ['/b', { x: 2 }],
      ['/a', { x: '1' }],
    ]);
    expect(compareTrees(before, after)).toEqual({
      equal: false,
      added: ['/d'],
      removed: ['/c'],
      changed: [{ path: '/b', field: '/x', before: 1, after: 2 }],
    });
    expect(compareTrees(before, before)).toEqual({ equal: true, added: [], removed: [], changed: [] });
  });
});

describe('masking in a comparison', () => {
  it('a comparison masks a secret that is added, removed or changed', () => {
    expect(compareResources(PATH, { password: 'a' }, { password: 'b' })).toEqual([]);
    expect(compareResources(PATH, { password: 'a' }, {})).toEqual([{ path: PATH, field: '/password', before: '***', after: null }]);
    expect(compareResources(PATH, {}, { psk: 4711 })).toEqual([{ path: PATH, field: '/psk', before: null, after: '***' }]);
    expect(compareResources(PATH, { password: '' }, { password: 'b' })).toEqual([
      { path: PATH, field: '/password', before: '', after: '***' },
    ]);
    const pair = (value: unknown): JsonObject => ({ a: { name: 'api-key', 'value-text': value, revalue: 'shown' } });
    expect(compareResources(PATH, pair('x'), pair('y'))).toEqual([]);
    expect(compareResources(PATH, { a: { name: 'x', revalue: '1' } }, { a: { name: 'api-key', revalue: '2' } })).toContainEqual(
      expect.objectContaining({ field: '/a/revalue', before: '1', after: '2' }),
    );
    expect(maskResourceSecrets({ name: 'api-key', revalue: 'shown', value: 'x' })).toEqual({
      name: 'api-key',
      revalue: 'shown',
      value: '***',
    });
  });

  it('a comparison shows values that are not secret', () => {
    const empty = { password: '', token: null, secret: false, psk: undefined };
    expect(maskResourceSecrets(empty)).toEqual(empty);
    expect(maskResourceSecrets({ secret: 0 })).toEqual({ secret: '***' });
    const date = new Date(0);
    expect(maskResourceSecrets({ at: date, none: null })).toEqual({ at: date, none: null });
  });

  it('a comparison shortens a long field name', () => {
    expect(toPointerSegment('a'.repeat(200))).toBe(`/${'a'.repeat(200)}`);
    expect(toPointerSegment('a'.repeat(201))).toBe(`/${'a'.repeat(200)}…`);
  });
});

describe('isHyperlink', () => {
  it.each<[unknown, boolean, boolean]>([
    [{ href: '/a' }, true, true],
    [{ href: '/a', name: 'a' }, true, true],
    [{ href: '/a', other: 1 }, false, false],
    [{ name: 'a' }, false, false],
    [{ href: 7 }, false, false],
    [[{ href: '/a' }, { href: '/b' }], false, true],
    [[{ href: '/a' }, { b: 1 }], false, false],
    [[], false, false],
    ['/a', false, false],
  ])('isHyperlink decides about %j', (value, one, some) => expect([isHyperlink(value), containsOnlyLinks(value)]).toEqual([one, some]));
});

describe('the equal flag of compareTrees', () => {
  it('the equal flag of compareTrees is true only if nothing was added, removed or changed', () => {
    const tree = (...paths: string[]): Map<string, JsonObject> => new Map(paths.map((path) => [path, { a: 1 }]));
    expect(compareTrees(tree('/a'), tree('/a'))).toEqual({ equal: true, added: [], removed: [], changed: [] });
    expect(compareTrees(tree('/a'), tree('/a', '/b'))).toMatchObject({ equal: false, added: ['/b'], removed: [] });
    expect(compareTrees(tree('/a', '/b'), tree('/a'))).toMatchObject({ equal: false, added: [], removed: ['/b'] });
    expect(compareTrees(tree('/a', '/b'), tree('/a', '/c'))).toMatchObject({ equal: false, added: ['/c'], removed: ['/b'] });
    const changed = new Map<string, JsonObject>([
      ['/a', { a: 2 }],
      ['/c', {}],
    ]);
    expect(compareTrees(tree('/a'), changed)).toMatchObject({ equal: false, added: ['/c'], changed: [{ field: '/a' }] });
    expect(compareTrees(tree('/a', '/b'), changed)).toMatchObject({ equal: false, removed: ['/b'] });
  });
});

describe('comparing scalar values', () => {
  it.each<[unknown, unknown, boolean]>([
    ['True', 'true', true],
    ['not true', 'NOT TRUE', false],
    ['true enough', 'TRUE enough', false],
    [null, [], true],
    [null, '', false],
    [0, null, false],
    ['x', ['x'], false],
    [{ a: 1 }, [], false],
    [null, ['x'], false],
    [[], 'x', false],
    [['x'], [], false],
  ])('comparing the scalar values %j and %j gives the expected result', (one, other, same) => {
    expect(fields({ a: one }, { a: other })).toEqual(same ? [] : [expect.stringMatching(/^\/a/)]);
  });

  it('compareWithDesired counts hyperlinks in the length of an array, and lists only hyperlinks of the desired state as not compared', () => {
    expect(compareResources(PATH, { a: link }, { a: { href: '/other' } })).toEqual([]);
    expect(compareBody({ a: [link, 'x'] }, { a: [link, 'x'] })).toMatchObject({ diff: [], notCompared: [{ field: '/a/0' }] });
  });

  it('compareWithDesired compares objects and arrays down to 200 levels and refuses deeper ones', () => {
    const objects = (depth: number): JsonObject => JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)) as JsonObject;
    expect(fields(objects(201), objects(201))).toEqual([]);
    expect(() => fields(objects(202), objects(202))).toThrow('A resource is nested deeper than 200 levels.');
    const lists = (depth: number): JsonObject => ({ a: JSON.parse('['.repeat(depth) + '1' + ']'.repeat(depth)) as unknown });
    expect(() => fields(lists(150), lists(150))).not.toThrow();
    expect(() => fields(lists(5000), lists(5000))).toThrow('nested deeper');
    expect(() => maskResourceSecrets(lists(5000))).toThrow('nested deeper');
    expect(maskResourceSecrets(lists(150))).toEqual(lists(150));
  });
});
