import { describe, expect, it } from 'vitest';
import { getOperation } from '../../../src/areas';
import { parseField, parseInput } from '../../../src/model/input';
import { toJsonText, toBooleanText, withBooleanTexts } from '../../../src/model/json-text';
import {
  amountField,
  booleanField,
  choiceField,
  dataField,
  contentField,
  listField,
  nameListField,
  numberField,
  objectField,
  defineOperation,
  pathField,
  recordsField,
  requiredField,
  textField,
  type Field,
} from '../../../src/model/operation';
import { safeMessage } from '../../../src/model/safe-message';
import { getThrownCode, expectFailure, startSimulatorWithGateway, getThrownError } from '../../helpers/simulated-appliance';

const fields = {
  text: textField('Text', ''),
  number: numberField('Number', ''),
  boolean: booleanField('Boolean', ''),
  choice: choiceField('Choice', '', ['ad', 'ldap']),
  object: objectField('Object', ''),
  list: listField('List', ''),
  path: pathField('Path', ''),
  records: recordsField('Records', ''),
  names: nameListField('Names', ''),
  data: dataField('Data', ''),
  content: contentField('Content', ''),
  amount: amountField('Amount', ''),
  count: numberField('Count', '', { range: 'count' }),
  positive: numberField('Positive', '', { range: 'positive' }),
  most: amountField('Most', '', { range: 'count' }),
};
const bytes = Buffer.from('bytes');

describe('A field accepts', () => {
  it.each<[keyof typeof fields, unknown, unknown]>([
    ['text', 'a', 'a'],
    ['text', '', ''],
    ['text', 7.5, '7.5'],
    ['number', 25, 25],
    ['number', ' 25 ', 25],
    ['number', '-1.5', -1.5],
    ['boolean', true, true],
    ['boolean', 'true', true],
    ['boolean', 'True', true],
    ['boolean', 1, true],
    ['boolean', '1', true],
    ['boolean', false, false],
    ['boolean', 'false', false],
    ['boolean', 'False', false],
    ['boolean', 0, false],
    ['boolean', '0', false],
    ['choice', 'ldap', 'ldap'],
    ['object', { a: 1 }, { a: 1 }],
    ['list', ['a', 5], ['a', '5']],
    ['list', 'a', ['a']],
    ['path', 'users', 'users'],
    ['path', ['users', 'x'], ['users', 'x']],
    ['records', 'sid1', 'sid1'],
    ['records', { 'session-id': 'sid1' }, { 'session-id': 'sid1' }],
    ['records', ['sid1', { a: 1 }], ['sid1', { a: 1 }]],
    ['records', [], []],
    ['names', 5, '5'],
    ['names', ['a', 5, { username: 'b' }], ['a', '5', { username: 'b' }]],
    ['data', bytes, bytes],
    ['content', bytes, bytes],
    ['content', 'text', 'text'],
    ['content', { a: 1 }, { a: 1 }],
    ['data', 'text', 'text'],
    ['amount', ' 7 ', 7],
    ['amount', 0, 0],
    ['amount', '10 %', '10%'],
    ['most', '0.5%', '0.5%'],
    ['most', 3, 3],
    ['count', '3', 3],
    ['positive', 0.1, 0.1],
  ])('a field accepts %s %j', (kind, value, read) => expect(parseField('field', fields[kind], value)).toEqual(read));
});

describe('A field rejects', () => {
  it.each<[keyof typeof fields, unknown, string]>([
    ['text', true, 'field must be text, not a boolean'],
    ['text', NaN, 'field must be text, not a number'],
    ['text', ['a'], 'field must be text, not an array'],
    ['text', bytes, 'field must be text, not a Buffer'],
    ['number', 'many', 'field must be a number, not text'],
    ['number', '', 'field (Number) is empty'],
    ['number', ' ', 'field must be a number, not text'],
    ['number', Infinity, 'field must be a number'],
    ['number', 'Infinity', 'field must be a number'],
    ['number', true, 'field must be a number, not a boolean'],
    ['boolean', 'yes', 'field must be true or false, not text'],
    ['boolean', 2, 'field must be true or false, not a number'],
    ['boolean', 'TRUE', 'field must be true or false'],
    ['choice', 'AD', 'field must be one of ad, ldap, not "AD"'],
    ['choice', 1, 'field must be one of ad, ldap, not a number'],
    ['object', '{}', 'field must be an object, not text'],
    ['object', [{}], 'field must be an object, not an array'],
    ['object', bytes, 'field must be an object, not a Buffer'],
    ['list', ['a', ''], 'field[1] must be text, not empty text'],
    ['list', ['a', null], 'field[1] must be text, not nothing'],
    ['list', {}, 'field must be text, not an object'],
    ['path', {}, 'field must be text, not an object'],
    ['records', 5, 'field must be text or an object, not a number'],
    ['records', [''], 'field[0] must be text or an object, not empty text'],
    ['records', [['a']], 'field[0] must be text or an object, not an array'],
    ['records', '', 'field (Records) is empty'],
    ['names', [true], 'field[0] must be text or an object, not a boolean'],
    ['names', NaN, 'field must be text or an object, not a number'],
    ['content', 5, 'field must be an object, text or a Buffer, not a number'],
    ['content', [1], 'field must be an object, text or a Buffer, not an array'],
    ['content', '', 'field (Content) is empty'],
    ['data', {}, 'field must be a Buffer or text, not an object'],
    ['list', [Infinity], 'field[0] must be text, not a number'],
    ['amount', '101%', 'field must be a number, or a share such as 10%, of at most 100%, not text'],
    ['amount', true, 'field must be a number, or a share such as 10%, of at most 100%, not a boolean'],
    ['most', 0, 'field must be a whole number of at least 1.'],
    ['count', 1.5, 'field must be a whole number of at least 1.'],
    ['positive', '0', 'field must be more than 0.'],
  ])('a field rejects %s %j', (kind, value, words) => {
    const error = getThrownError(() => parseField('field', fields[kind], value));
    expect(error?.code).toBe('BAD_INPUT');
    expect(error?.message).toContain(words);
  });
});

describe('parseInput', () => {
  const operation = (given: Record<string, Field>): ReturnType<typeof defineOperation> =>
    defineOperation({ effect: 'read', label: '', help: '', data: '', fields: given, example: { input: {}, request: '' } });
  const example = operation({
    id: requiredField(textField('Id', '')),
    name: textField('Name', '', { filter: true }),
    max: numberField('Max', '', { default: 25, check: (value) => (value > 0 ? undefined : 'must be more than 0.') }),
    note: textField('Note', ''),
  });

  it('parseInput fills in defaults and omits fields without a value', () => {
    expect(parseInput(example, { id: 'a', note: undefined })).toEqual({ id: 'a', max: 25 });
    expect(parseInput(example, { id: 'a', max: null, note: '' })).toEqual({ id: 'a', max: 25, note: '' });
  });

  it.each([
    [{}, 'id (Id) is missing'],
    [{ id: null }, 'id (Id) is missing'],
    [{ id: '' }, 'id (Id) is empty'],
    [{ id: 'a', name: null }, 'name (Name) is missing'],
    [{ id: 'a', name: '' }, 'name (Name) is empty'],
    [{ id: 'a', max: 0 }, 'max must be more than 0'],
    [{ id: 'a', nmae: 'x' }, 'nmae is not a field of this operation. Its fields are: id, name, max, note'],
  ])('parseInput rejects %j', (input, words) => {
    const error = getThrownError(() => parseInput(example, input));
    expect(error?.code).toBe('BAD_INPUT');
    expect(error?.message).toContain(words);
  });

  it.each([
    [null, 'nothing'],
    ['text', 'text'],
    [['a'], 'an array'],
  ])('parseInput rejects %j in place of an object', (raw, words) => {
    const error = getThrownError(() => parseInput(example, raw as never));
    expect(error?.message).toBe(`The input must be an object with the fields of the operation, not ${words}.`);
  });

  it('parseInput returns only fields of the operation, and ignores unknown fields whose value is undefined', () => {
    expect(Object.keys(parseInput(example, { id: 'a', other: undefined }))).toEqual(['id', 'max']);
    expect(getThrownError(() => parseInput(operation({}), { x: 1 }))?.message).toBe(
      'x is not a field of this operation. Its fields are: none.',
    );
  });

  it('parseInput names the missing field in the error details', () => {
    expect(getThrownError(() => parseInput(example, {}))?.details).toMatchObject({ missing: { name: 'id', label: 'Id' } });
  });

  it('parseInput does not require a field that each item of an array can supply', () => {
    const many = operation({
      user: requiredField(nameListField('User', '', { subject: true })),
      role: requiredField(textField('Role', '', { perItem: true })),
      realm: requiredField(textField('Realm', '')),
    });
    const missing = (input: Record<string, unknown>): string | undefined =>
      getThrownError(() => parseInput(many, input))?.details.missing?.name;
    expect(parseInput(many, { user: [{ name: 'a', role: 'b' }], realm: 'r' })).toEqual({ user: [{ name: 'a', role: 'b' }], realm: 'r' });
    expect(missing({ user: 'a', realm: 'r' })).toBe('role');
    expect(missing({ user: ['a'] })).toBe('realm');
    const none = operation({ role: requiredField(textField('Role', '', { perItem: true })) });
    expect(getThrownError(() => parseInput(none, { undefined: ['a'] }))?.message).toContain('is not a field');
    expect(getThrownError(() => parseInput(none, {}))?.details.missing?.name).toBe('role');
  });

  it('parseInput marks the untrusted parts of its error messages', () => {
    const check = (value: string) => (value === 'plain' ? 'is plain.' : safeMessage`is odd: ${value}`);
    const told = (value: string): string | undefined =>
      getThrownError(() => parseField('id', textField('Id', '', { check }), value))?.safeMessage.text(() => '•');
    expect(told('plain')).toBe('id is plain.');
    expect(told('secret')).toBe('id is odd: •');
  });

  it('parseInput ignores inherited properties', () => {
    expect(getThrownCode(() => parseInput(example, { id: 'a', constructor: 'x' }))).toBe('BAD_INPUT');
    expect(getThrownCode(() => parseInput(operation({}), JSON.parse('{"__proto__":{"id":"a"}}') as Record<string, unknown>))).toBe(
      'BAD_INPUT',
    );
  });
});

describe('The JSON body of a request', () => {
  const holder: Record<string, unknown> = {};
  holder.self = holder;
  const throwing = (thrown: unknown) => ({
    toJSON: (): never => {
      throw thrown;
    },
  });

  it.each<[string, unknown, string]>([
    ['what was computed to NaN', { a: { b: NaN } }, 'NaN is at "b" and would be lost.'],
    ['Infinity', { a: [-Infinity] }, '-Infinity is at "0" and would be lost.'],
    ['a function', { f: () => 1 }, 'a function is at "f" and would be lost.'],
    ['a symbol', { s: Symbol('x') }, 'a symbol is at "s" and would be lost.'],
    ['a Map', { m: new Map() }, 'a Map is at "m" and would become an empty object.'],
    ['a big number', { n: 1n }, 'Do not know how to serialize a BigInt.'],
    ['what holds itself', holder, 'Converting circular structure to JSON.'],
    ['what says so itself', throwing(new Error('not me\nnor this')), 'not me.'],
    ['what says so in a text', throwing('odd'), 'odd.'],
  ])('The JSON body of a request rejects %s', (_what, body, words) => {
    const error = getThrownError(() => toJsonText(body));
    expect([error?.code, error?.message]).toEqual(['BAD_INPUT', `The body cannot be sent as JSON: ${words}`]);
  });

  it('An error about a JSON body marks the parts that come from the body as untrusted', () => {
    const told = (body: unknown): string | undefined => getThrownError(() => toJsonText(body))?.safeMessage.text(() => '•');
    expect(told({ secret: NaN })).toBe('The body cannot be sent as JSON: NaN is at • and would be lost.');
    expect(told({ n: 1n })).toBe('The body cannot be sent as JSON: Do not know how to serialize a BigInt.');
    expect(told(throwing(new Error('secret')))).toBe('The body cannot be sent as JSON: •.');
  });

  it('A JSON body keeps all its values unchanged', () => {
    const body = { a: null, b: [1, 'x', { c: true }], d: Object.assign(Object.create(null) as object, { e: 0 }), f: '', at: new Date(0) };
    expect(toJsonText(body)).toBe('{"a":null,"b":[1,"x",{"c":true}],"d":{"e":0},"f":"","at":"1970-01-01T00:00:00.000Z"}');
  });

  it('A JSON body sent to the configuration has its booleans as text', () => {
    expect([toBooleanText(true), toBooleanText(false)]).toEqual(['true', 'false']);
    expect(withBooleanTexts({ a: true, b: [false, { c: true }], d: 'x', e: 1, f: null })).toEqual({
      a: 'true',
      b: ['false', { c: 'true' }],
      d: 'x',
      e: 1,
      f: null,
    });
  });
});

describe('Gateway.run with an unknown operation or a bad body', () => {
  it.each(['sessions.lst', 'sessions', '', 'toString', 'config.constructor'])('Gateway.run rejects the operation name %s', async (name) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run(name));
    expect(error).toMatchObject({ code: 'BAD_INPUT', cause: { ok: false, operation: name, request: null, requests: 0 } });
    expect(simulator.requests).toEqual([]);
  });

  it('Gateway.run lists the operations of the area in the error', async () => {
    const { gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('sessions.lst'))).message).toMatch(/sessions\.list.*sessions\.kill-all/);
  });

  it('Gateway.run rejects a body that JSON cannot represent before it sends anything, also in a dry run', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const body: Record<string, unknown> = { name: 'a' };
    body.self = body;
    for (const dryRun of [true, false]) {
      for (const odd of [body, { big: 1n }]) {
        const error = await expectFailure(gateway.run('config.update', { path: 'users', body: odd }, { dryRun }));
        expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('JSON') as string });
      }
    }
    expect(simulator.requests).toEqual([]);
  });
});

describe('Input with many levels', () => {
  const nest = (levels: number): Record<string, unknown> => {
    let value: Record<string, unknown> = {};
    for (let level = 1; level < levels; level++) value = level % 2 ? { a: value } : { list: [value], b: 1 };
    return value;
  };

  it('Input with more than 200 levels is rejected before anything is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('config.update', { path: 'users', body: nest(3000) }));
    expect(error).toMatchObject({ code: 'BAD_INPUT', cause: { ok: false } });
    expect(error.message).toMatch(/^body \(Body\) cannot be sent as JSON: it is nested more than 200 levels deep, or contains itself\./);
    expect(simulator.requests).toEqual([]);
  });

  it('Input with 100 levels is accepted', () => {
    const body = nest(100);
    expect(parseInput(getOperation('config.update'), { path: 'users', body })).toEqual({ path: 'users', body, 'prove-login': true });
  });
});
