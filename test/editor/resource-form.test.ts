import { describe, expect, it } from 'vitest';
import { findInResource, listResourceFields, parseFieldText, toChangeBody, toFieldText } from '../../nodes/editor/panels/resource-fields';
import { ResourceSearch } from '../../nodes/editor/panels/resource-search';

const RESOURCE = {
  name: 'Users',
  enabled: 'true',
  strict: false,
  limit: 5,
  password: '••••',
  tags: ['a'],
  empty: null,
  child: { href: '/api/v1/configuration/users/child' },
  children: [{ href: '/api/v1/configuration/users/1' }],
  general: { session: { idle: 10 }, links: { one: { href: '/x' } } },
};

describe('the form of a resource', () => {
  it('a resource form shows the fields of a resource with their types, folds objects and omits links', () => {
    const fields = listResourceFields(RESOURCE);
    expect(fields.map(({ names, kind }) => [names.join('.'), kind])).toEqual([
      ['name', 'text'],
      ['enabled', 'boolean'],
      ['strict', 'boolean'],
      ['limit', 'number'],
      ['password', 'secret'],
      ['tags', 'list'],
      ['empty', 'text'],
      ['general', 'object'],
    ]);
    expect(fields.at(-1)?.fields).toMatchObject([{ names: ['general', 'session'], fields: [{ names: ['general', 'session', 'idle'] }] }]);
    expect(fields.map(toFieldText)).toEqual(['Users', 'true', 'false', '5', '', '["a"]', '', JSON.stringify(RESOURCE.general)]);
  });

  it('a resource form keeps the type of a changed value and refuses text that does not fit the type', () => {
    const [, enabled, strict, limit, , tags] = listResourceFields(RESOURCE);
    const parse = (field: typeof enabled, text: string): unknown => field && parseFieldText(field, text);
    expect([parse(enabled, 'false'), parse(strict, 'true'), parse(limit, ' 7 '), parse(tags, '["b"]')]).toEqual(['false', true, 7, ['b']]);
    for (const [field, text] of [
      [limit, ''],
      [limit, 'x'],
      [tags, '{}'],
      [tags, '['],
    ] as const)
      expect(parse(field, text)).toBeUndefined();
  });

  it('a resource form sends only the changed fields, nested as in the resource', () => {
    const body = toChangeBody([
      [['general', 'session', 'idle'], 20],
      [['general', 'name'], 'x'],
      [['__proto__', 'a'], 1],
    ]);
    expect(JSON.stringify(body)).toBe('{"general":{"session":{"idle":20},"name":"x"},"__proto__":{"a":1}}');
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});

describe('the search of a tree', () => {
  it('a search of the configuration finds paths, names and values, and ranks matching paths first', () => {
    expect(findInResource('users/Users', RESOURCE, 'USERS')).toBe('');
    expect(findInResource('x', RESOURCE, 'idle')).toBe('general.session.idle: 10');
    expect(findInResource('x', RESOURCE, 'nothing')).toBeUndefined();
  });

  it('a search of the configuration reads each resource once, survives circular links and refused reads, and can be stopped', async () => {
    const tree: Record<string, string[]> = { '': ['a', 'b'], a: ['a/1', ''], 'a/1': ['a'], b: [] };
    const read: string[] = [];
    const create = (): ResourceSearch =>
      new ResourceSearch(
        (path) => {
          read.push(path);
          const links = tree[path]?.map((name) => ({ name, href: name }));
          return Promise.resolve(path === 'b' ? { ok: false, code: 'FORBIDDEN', message: '' } : { ok: true, resource: { path }, links });
        },
        ({ name }) => name,
        () => undefined,
      );
    const search = create();
    expect(search.isComplete).toBe(false);
    search.start();
    await expect.poll(() => search.isComplete).toBe(true);
    expect([search.count, read.sort()]).toEqual([3, ['', 'a', 'a/1', 'b']]);
    expect(search.find('1')).toEqual([{ path: 'a/1', field: '' }]);
    read.length = 0;
    const stopped = create();
    stopped.start();
    stopped.stop();
    await Promise.resolve();
    expect(read).toEqual(['']);
  });
});
