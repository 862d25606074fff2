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
