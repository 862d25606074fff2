import { describe, expect, it, vi } from 'vitest';
import { assertParsableJson, MAX_JSON_VALUES } from '../../../src/http/json-size';
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
