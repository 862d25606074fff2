import { describe, expect, it, vi } from 'vitest';
import { assertParsableJson, MAX_JSON_KEYS, MAX_JSON_VALUES } from '../../../src/http/json-size';
import { gatewayFor, expectFailure } from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';
import { getThrownCode } from '../../helpers/thrown-error';

const TINY_OBJECTS = MAX_JSON_VALUES;
const MESSAGE =
  'The appliance answered JSON with more than 1000000 values. Node-RED would stand still while it reads them. Ask for a smaller part of it.';
const listOf = (item: string, count: number): string => `{"a":[${`${item},`.repeat(count - 1)}${item}]}`;
const codeOf = (text: string): string => getThrownCode(() => assertParsableJson(Buffer.from(text)));

describe('assertParsableJson', () => {
  it('the limit of JSON values does not count separators inside texts', () => {
    expect(codeOf(listOf('{}', TINY_OBJECTS))).toBe('LIMIT');
    expect(codeOf(listOf('1', MAX_JSON_VALUES - 2))).toBe('none');
    expect(codeOf(listOf('1', MAX_JSON_VALUES + 1))).toBe('LIMIT');
    expect(codeOf(JSON.stringify({ log: '\\",{[' + 'a,b"\\'.repeat(MAX_JSON_VALUES + 1) }))).toBe('none');
    expect(codeOf(JSON.stringify({ record: 'x'.repeat(3_000_000) }))).toBe('none');
  });

  it('the limit of JSON values allows a list of 30,000 session records', () => {
    const record = JSON.stringify(Object.fromEntries(Array.from({ length: 27 }, (_, index) => [`field-${index}`, 'a value'])));
    expect(codeOf(listOf(record, 30_000))).toBe('none');
  });
});

/** An object with that many keys. */
function objectOf(keyCount: number, toKey: (index: number) => string, separator = ':'): string {
  const pairs = Array.from({ length: keyCount }, (_, index) => `"${toKey(index)}"${separator}"a value"`);
  return `{${pairs.join(',')}}`;
}

describe('the limit of different JSON keys', () => {
  it.each([
    ['one object', objectOf(MAX_JSON_KEYS * 1.1, (index) => `key-${index}`), 'LIMIT'],
    ['one object with spaces around the colons', objectOf(MAX_JSON_KEYS * 1.1, (index) => `key-${index}`, ' \n\t: '), 'LIMIT'],
    ['keys with an escape at their end', objectOf(MAX_JSON_KEYS * 1.1, (index) => `key-${index}\\"`), 'LIMIT'],
    [
      'many objects',
      listOf('', 1).replace('[]', `[${objectOf(MAX_JSON_KEYS * 1.1, (index) => `${index}`).replaceAll(',', '},{')}]`),
      'LIMIT',
    ],
    ['fewer keys', objectOf(MAX_JSON_KEYS, (index) => `key-${index}`), 'none'],
    ['the same keys again and again', objectOf(MAX_JSON_KEYS * 3, (index) => `key-${index % 1000}`), 'none'],
    ['texts that are not keys', JSON.stringify({ a: Array.from({ length: MAX_JSON_KEYS * 2 }, (_, index) => `text ${index}:`) }), 'none'],
  ])('the limit of different JSON keys applies to %s', (_what, text, code) => {
    expect([text.length > 1 << 20, codeOf(text)]).toEqual([true, code]);
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });
});

describe('an answer with a million tiny objects', () => {
  it('a response with too many JSON values is refused with LIMIT before it is parsed, whatever operation reads it', async () => {
    const body = listOf('{}', TINY_OBJECTS);
    const server = await startRawServer(() => httpResponse(200, body));
    const gateway = gatewayFor(server);
    const parse = vi.spyOn(JSON, 'parse');
    for (const [operation, input] of [
      ['config.get', { path: 'system' }],
      ['request.get', { path: 'system/thing' }],
      ['sessions.list', {}],
    ] as const)
      expect(await expectFailure(gateway.run(operation as string, input))).toMatchObject({ code: 'LIMIT', message: MESSAGE });
    const write = await expectFailure(gateway.run('config.update', { path: 'system', body: { a: 1 } }));
    expect(write).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { reason: 'LIMIT' } });
    expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
    parse.mockRestore();
  });

  it('a response with too many JSON values and an error status is reported with that status', async () => {
    const body = listOf('{}', TINY_OBJECTS);
    const server = await startRawServer(() => httpResponse(422, body));
    expect(await expectFailure(gatewayFor(server).run('config.get', { path: 'system' }))).toMatchObject({ code: 'REJECTED' });
  });
});
