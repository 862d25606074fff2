import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { operations } from '../../src/areas';
import { Gateway } from '../../src/gateway/gateway';
import type { Field, Operation } from '../../src/model/operation';
import { startRowAppliance, type RowAppliance } from '../package/coverage/appliance';
import { expectFailure, type AnyGateway } from '../helpers/simulated-appliance';
import type { ErrorCode } from '../../src/model/error-codes';

/** Names as directories and administrators make them. */
const AWKWARD = [
  'two words',
  'a/b',
  '50%',
  '%41',
  'j.doe@example.com',
  '.hidden',
  '..up',
  'Zoë 山田 🙂',
  `"quoted" 'twice'`,
  'a?b#c&d=e',
  'a+b*c(d)!',
  'CORP\\j.doe',
  ' edges ',
];

const table = [...operations];
const fieldsOf = (operation: Operation): [string, Field][] => Object.entries(operation.fields);

let appliance: RowAppliance;
let gateway: AnyGateway;
/** With a backup in it, for what restores one. */
const folder = mkdtempSync(join(tmpdir(), 'gateway-'));
beforeAll(async () => {
  appliance = await startRowAppliance();
  await new Gateway({ url: appliance.url, realm: 'Admin Users', username: 'admin', password: 'p' }).run('backup.run', { folder });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  return appliance.close();
});
const fresh = (): AnyGateway => new Gateway({ url: appliance.url, realm: 'Admin Users', username: 'admin', password: 'p', vendor: 'acme' });
beforeEach(() => {
  gateway = fresh();
  appliance.answerWith(undefined);
  appliance.seen.length = 0;
});

interface Sent {
  method: string;
  segments: string[];
  query: string[];
  body: unknown;
}

/** What an operation sends besides logins. */
async function sentBy(name: string, input: Record<string, unknown>): Promise<Sent[]> {
  appliance.answerWith(undefined);
  appliance.seen.length = 0;
  await gateway.run(name, input);
  const seen = appliance.seen.filter(({ request }) => !request.endsWith('/realm_auth'));
  for (const { request, row } of seen) expect(row, `${request} is no row of the interface`).toBeDefined();
  return seen.map(({ request, body }) => {
    const [method = '', target = ''] = request.split(' ');
    const [path = '', query = ''] = target.split('?');
    const values = query.split('&').map((part) => decodeURIComponent(part.slice(part.indexOf('=') + 1)));
    return { method, segments: path.split('/'), query: values, body: readBody(body) };
  });
}

/** JSON, or the lines of a form and other text. */
function readBody(body: string): unknown {
  return body.startsWith('{') ? JSON.parse(body) : body === '' ? undefined : body.split('\r\n');
}

/** Every text inside a JSON value. */
function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}

/** The same input with another text in a field, in the form that the field takes. */
function withText({ example, fields }: Operation, name: string, field: Field, value: string): Record<string, unknown> {
  const input: Record<string, unknown> = { ...example.input };
  // To a user that is there a password is sent only so.
  if (name === 'password-cleartext' && 'set-password' in fields) input['set-password'] = true;
  // One is for license servers, the other for everybody else.
  if (name === 'client-kind') delete input['delete-active-sessions'];
  return { ...input, [name]: field.kind === 'path' ? ['users', value] : field.kind === 'list' ? [value] : value };
}

const takesText = ([name, field]: [string, Field]): boolean =>
  // An address with a rule of its own is refused; test/unit/model/rules.test.ts has what passes.
  !('check' in field) &&
  field.rule === undefined &&
  !field.guard &&
  (['text', 'list', 'path'].includes(field.kind) || name === 'session-id');

// The name of a backup, and that of an entry or a snapshot, is looked up in a folder here; who is contained is remembered here.
const named = table
  .filter(([name]) => !/^(login|backup|journal|contain|snapshot)\./.test(name))
  .flatMap(([name, operation]) => {
    return fieldsOf(operation)
      .filter(takesText)
      .map(([field, of]) => ({ name, field, of, operation }));
  });

describe.each(named)('$field of $name', ({ name, field, of, operation }) => {
  let usual: Sent[];
  beforeAll(async () => {
    gateway = fresh();
    usual = await sentBy(name, withText(operation, field, of, 'plain'));
  });

  it.each(AWKWARD)('a name that becomes a path segment reaches the appliance unchanged: %j', async (text) => {
    const sent = await sentBy(name, withText(operation, field, of, text));
    // Names of people are trimmed.
    const value = name === 'sessions.kill-user' ? text.trim() : text;
    expect(sent.map(({ method, segments }) => [method, segments.length])).toEqual(
      usual.map(({ method, segments }) => [method, segments.length]),
    );
    const changed = sent.flatMap(({ segments }, index) => segments.filter((segment, at) => segment !== usual[index]?.segments[at]));
    // What may not stand literally does not, and nothing is encoded twice.
    for (const segment of changed) expect(segment).toMatch(/^(?:[\w~-]|%[0-9A-F]{2})(?:[\w.~-]|%[0-9A-F]{2})*$/);
    for (const segment of changed) expect(decodeURIComponent(segment)).toBe(value);
    const elsewhere = sent.flatMap(({ query, body }) => [...query, ...texts(body)]);
    expect(changed.length > 0 || elsewhere.includes(value), `${value} was not sent`).toBe(true);
  });

  it.each(['.', '..'])('a name that becomes a path segment never leads to another path: %j', async (value) => {
    const inPath = usual.some(({ segments }) => segments.includes('plain'));
    if (!inPath) return;
    appliance.seen.length = 0;
    expect((await expectFailure(gateway.run(name, withText(operation, field, of, value)))).code).toBe('BAD_INPUT');
    expect(appliance.seen.filter(({ request }) => !request.endsWith('/realm_auth'))).toEqual([]);
  });
});

// What those write was kept before; they have test files of their own.
const writes = table.filter(([name, { effect }]) => effect !== 'read' && !/^(login|journal|contain|snapshot)\./.test(name));
const REFUSALS: [number, ErrorCode][] = [
  [400, 'INVALID_REQUEST'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [422, 'REJECTED'],
  [500, 'APPLIANCE_ERROR'],
];

const NEEDED: Readonly<Record<string, Record<string, unknown>>> = {
  // The catalog of this appliance holds one group, and removing another sends nothing.
  'groups.remove': { groups: ['Staff'] },
  // What is so already is not written.
  'users.ensure': { fullname: 'Somebody Else' },
  // The backup before would be what is refused.
  'backup.restore': { folder, 'backup-first': false },
};

describe.each(writes)('the write %s', (name, { example }) => {
  const input = { ...example.input, ...NEEDED[name] };
  const written = (): string[] => appliance.seen.map(({ request }) => request).filter((request) => !/^GET|realm_auth$/.test(request));

  it.each([200, 201, 204])('a write succeeds if the appliance answers with status %i', async (status) => {
    appliance.answerWith(status);
    expect(await gateway.run(name, input)).toMatchObject({ envelope: { ok: true, status } });
    expect(written().length).toBeGreaterThan(0);
  });

  it.each(REFUSALS)('a write that gets status %i is sent once and reports the message of the appliance', async (status, code) => {
    const words = `“${name}” is not possible now.`;
    appliance.refuseWith(status, words);
    const error = await expectFailure(gateway.run(name, input));
    expect([error.code, error.message]).toEqual([code, expect.stringContaining(words)]);
    const results = error.cause?.results as { error: { message: string } }[] | undefined;
    const said = results ? results[0]?.error.message : error.cause?.result.errors[0]?.message;
    expect(said).toContain(words);
    expect(new Set(written()).size).toBe(written().length);
  });
});

/** Values that a field of that kind must not take. */
const WRONG: Record<Field['kind'], unknown[]> = {
  text: [{}, ['a'], true, Number.NaN, Buffer.from('a')],
  number: ['many', {}, true, Infinity],
  amount: ['many', '0%', '101%', '10%%', {}, true, Infinity],
  boolean: ['maybe', 2, {}, []],
  choice: ['no such choice', 5, true, {}],
  object: ['text', 5, [], true],
  list: [{}, [{}], [''], true],
  path: [{}, true],
  records: [5, true, [5], ['']],
  names: [true, [true], [''], [['a']]],
  data: [5, true, {}, ['a']],
  content: [5, true, ['a']],
};

async function refused(name: string, input: Record<string, unknown>, field: string): Promise<void> {
  const error = await expectFailure(gateway.run(name, input));
  expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining(field)]);
  expect(appliance.seen).toEqual([]);
}

const inputs = table.flatMap(([name, operation]) => fieldsOf(operation).map(([field, of]) => ({ name, field, of, operation })));

describe.each(inputs)('$field of $name', ({ name, field, of, operation: { example } }) => {
  it.each(WRONG[of.kind])(
    'a name that cannot be a path segment is refused with the name of its field, and nothing is sent: %j',
    async (value) => {
      await refused(name, { ...example.input, [field]: value }, field);
    },
  );

  it('a required name that is missing or empty is refused with the name of its field', async () => {
    const none = of.required ? [undefined, null, ''] : of.filter ? [null, ''] : of.kind === 'text' ? [] : [''];
    for (const value of none) await refused(name, { ...example.input, [field]: value }, field);
  });
});

it.each(table)('the operation %s refuses an unknown field', async (name, { example }) => {
  await refused(name, { ...example.input, 'no-such-field': 1 }, 'no-such-field');
});
