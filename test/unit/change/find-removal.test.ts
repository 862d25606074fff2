import { describe, expect, it } from 'vitest';
import { findRemovedField } from '../../../src/change/find-removal';

const link = (name: string): object => ({ name, href: `/api/v1/configuration/x/${name}` });

describe('findRemovedField', () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>, string | undefined]>([
    ['a field that is left out', { a: '1', b: '2' }, { a: '1' }, '/b'],
    ['a field that is null', { a: '1' }, { a: null }, '/a'],
    ['a field within an object', { a: { b: '1', c: '2' } }, { a: { b: '3' } }, '/a/c'],
    ['an object that became a text', { a: { b: '1' } }, { a: 'x' }, '/a'],
    ['an empty collection', { a: [{ name: 'x' }] }, { a: [] }, '/a/0'],
    ['an empty collection of links', { a: [link('x')] }, { a: [] }, '/a/0'],
    ['an item that is left out', { a: [{ name: 'x' }, { name: 'y' }] }, { a: [{ name: 'y' }] }, '/a/0'],
    ['a field of an item', { a: [{ name: 'x', b: '1' }] }, { a: [{ name: 'x' }] }, '/a/0/b'],
    ['a text in a list', { a: ['x', 'y'] }, { a: ['y', 'z'] }, '/a/0'],
    ['a text that became an empty list', { a: 'x' }, { a: [] }, '/a'],
    ['a text that became an empty object', { a: 'x' }, { a: {} }, '/a'],
    ['a link that became an empty list', { a: link('a') }, { a: [] }, '/a'],
    ['a link that became null', { a: link('a') }, { a: null }, '/a'],
    ['a link that became a text', { a: link('a') }, { a: '' }, '/a'],
    ['a second item of the same name', { a: [{ name: 'x' }, { name: 'x' }] }, { a: [{ name: 'x' }] }, '/a/1'],
    ['a second text that is the same', { a: ['x', 'x'] }, { a: ['x', 'y'] }, '/a/1'],
    ['an item that became another address', { a: [{ address: '192.0.2.1' }] }, { a: [{ address: '192.0.2.2' }] }, '/a/0'],
    ['an item that became another user', { a: [{ username: 'x' }] }, { a: [{ username: 'y' }] }, '/a/0'],
    ['a field in a list of lists', { a: [[{ b: '1', c: '2' }]] }, { a: [[{ b: '1' }]] }, '/a/0/0/c'],
    ['a secret that is null', { password: 'x' }, { password: null }, '/password'],
    ['a secret of a list', { tokens: ['x', 'y'] }, { tokens: ['z'] }, '/tokens'],
    ['an object under the name of a secret', { auth: { servers: ['x'] } }, {}, '/auth'],
    ['nothing for another secret', { tokens: ['x', 'y'], password: 'x' }, { tokens: ['v', 'w'], password: 'y' }, undefined],
    [
      'nothing for an object under the name of a secret without the secret',
      { auth: { pin: '1', token: 'x' } },
      { auth: { pin: '2' } },
      undefined,
    ],
    ['nothing for a link that is named with fields', { a: link('a') }, { a: { b: '1' } }, undefined],
    [
      'nothing for an item that moved',
      { a: [{ address: '192.0.2.1' }] },
      { a: [{ address: '192.0.2.2' }, { address: '192.0.2.1' }] },
      undefined,
    ],
    ['nothing for a changed value', { a: '1', b: ['x'], c: { d: '1' } }, { a: '2', b: ['y', 'x'], c: { d: '' } }, undefined],
    ['nothing for a field that was empty', { a: '', b: [], c: {}, d: null }, {}, undefined],
    ['nothing for links that are not named', { a: link('a'), b: [link('x')] }, {}, undefined],
    ['nothing for a secret', { password: 'x', 'shared-secret': 'y' }, {}, undefined],
    ['nothing for items in another order', { a: [{ name: 'x' }, { name: 'y' }] }, { a: [{ name: 'y' }, { name: 'x', z: '1' }] }, undefined],
    ['nothing for a number that became a text', { a: [1] }, { a: ['1'] }, undefined],
  ])('findRemovedField finds %s', (_what, current, desired, field) => {
    expect(findRemovedField(current, desired, '')).toBe(field);
  });
});
