import { describe, expect, it } from 'vitest';
import { mergeForPut } from '../../../src/change/merge-for-put';
import type { JsonObject } from '../../../src/model/json';

const LINK = { href: '/api/v1/configuration/users', name: 'users' };

describe('mergeForPut', () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['what was not given', { a: 1, b: { c: 2, d: 3 } }, { b: { c: 4 } }, { a: 1, b: { c: 4, d: 3 } }],
    ['what was not there', {}, { a: { b: 1 } }, { a: { b: 1 } }],
    ['an array as a whole', { a: ['x', 'y'] }, { a: ['z'] }, { a: ['z'] }],
    ['an object for a text', { a: 'x' }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['hyperlinks that are there', { a: LINK }, { a: { href: '/other' } }, { a: LINK }],
    ['a hyperlink that is new', {}, { a: LINK }, { a: LINK }],
    ['names that every object has', {}, { constructor: 1, toString: true }, { constructor: 1, toString: 'true' }],
  ])('mergeForPut keeps or takes a value: %s', (_what, present, given, whole) => expect(mergeForPut(present, given)).toEqual(whole));

  it.each<[string, unknown, unknown, unknown]>([
    ['a boolean where nothing tells', true, undefined, 'true'],
    ['a boolean where text is', false, 'true', 'false'],
    ['a boolean where one is', true, false, true],
    ['a number where text is', 20, '10', '20'],
    ['a number where one is', 20, 10, 20],
    ['a number where nothing is', 20, undefined, 20],
    ['text where a number is', '20', 10, 20],
    ['text that is written otherwise than a number', '020', 10, '020'],
    ['text that is no number', 'many', 10, 'many'],
    ['text where a boolean is', 'True', false, true],
    ['text where a boolean is, the other', 'false', true, false],
    ['other text where a boolean is', 'falsehood', true, 'falsehood'],
    ['text that ends so', 'not true', true, 'not true'],
    ['text where text is', 'true', 'x', 'true'],
    ['null', null, 'x', null],
    ['items like those at their places', [1, true, 2], ['a', false], ['1', true, '2']],
    ['items where there is no list', [1, true], 'x', [1, 'true']],
    ['items in items', [[1]], [['a']], [['1']]],
    ['objects in a list, by key', [{ n: 1, on: true, constructor: 2 }], [{ n: 'a', on: false }], [{ n: '1', on: true, constructor: 2 }]],
    ['objects in a list of texts', [{ n: 1 }], ['a'], [{ n: 1 }]],
  ])('mergeForPut writes %s in the type of the appliance', (_what, value, there, written) => {
    expect(mergeForPut(there === undefined ? {} : { a: there }, { a: value })).toEqual({ a: written });
  });

  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['in clear', { 'password-cleartext': 'x', passwordPlaintext: 'y', a: 1 }, {}, { a: 1 }],
    ['as dots', { password: '••••', secret: '***', psk: '●●', a: 1 }, {}, { a: 1 }],
    ['in whatever form beside a new one', { 'password-encrypted': 'x' }, { 'password-cleartext': 'y' }, { 'password-cleartext': 'y' }],
    ['in whatever form, written together', { passwordHash: 'x' }, { password: 'y' }, { password: 'y' }],
  ])('mergeForPut omits a password that was read %s', (_what, present, given, whole) => expect(mergeForPut(present, given)).toEqual(whole));

  it.each<[string, JsonObject, JsonObject]>([
    ['encrypted', { 'password-encrypted': 'x' }, { a: '1' }],
    ['of which only a part is dots', { secret: 'a*', password: '*a' }, {}],
    ['that is a number', { psk: 4711 }, {}],
    ['beside another new secret', { 'shared-secret': 'x' }, { 'password-cleartext': 'y' }],
    ['whose name only begins like clear text', { 'cleartext-password': 'x' }, {}],
  ])('mergeForPut sends back a secret %s', (_what, present, given) =>
    expect(mergeForPut(present, given)).toEqual({ ...present, ...given }),
  );
});
