import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areas, operations } from '../src/areas';
import { readField, readInput } from '../src/input';
import type { Field, Operation } from '../src/operation';
import { gatewayFor, LOGIN, USERS } from './library/appliance';
import { http, wire, type Asked, type Wire } from './library/wire';

const table = [...operations];
const fields = table.flatMap(([name, { fields: own }]) =>
  Object.entries(own).map(([field, of]) => [`${name} ${field}`, of, field] as const),
);

/** Rows of the contract's table, section 5: effect, then fields with `*` required, `!` subject, `^` guard or place. */
const CONTRACT: Record<string, string> = {
  'config.get': 'read path*! query^',
  'config.list': 'read path*!',
  'config.create': 'write path* body*!',
  'config.update': 'write path* body*!',
  'config.delete': 'destroy path*!',
  'sessions.list': 'read name limit^ emit^',
  'sessions.kill': 'destroy session-id*! max^',
  'sessions.kill-user': 'destroy name*! max^',
  'sessions.kill-matching': 'destroy filter*! max^',
  'sessions.kill-all': 'destroy',
  'system.info': 'read',
  'system.health': 'read status!',
  'system.esap-packages': 'read expand exclude-packages',
};

/** Sentences of a help text; what stands in backticks is no end of one. */
function sentences(help: string): string[] {
  return help.replace(/`[^`]*`/g, 'code').split(/(?<=[.!?])\s+/);
}

/** An appliance that writes down what comes and answers that all is well. */
function recorder(): Promise<Wire> {
  const empty = JSON.stringify({ 'active-users': { 'active-user-records': { 'active-user-record': [] } } });
  const reply = ({ method, path }: Asked): string => {
    if (path === LOGIN) return http(200, '{"api_key":"key"}');
    if (path.startsWith(USERS) && method === 'GET') return http(200, empty);
    return method === 'GET' ? http(200, '{}') : http(204);
  };
  return wire(reply, { logins: true });
}

/** Runs an example and gives what reached the appliance besides logins, unless the login is the example. */
async function sentBy(name: string, { example }: Operation, dryRun = false): Promise<Asked[]> {
  const server = await recorder();
  const gateway = gatewayFor(server, { vendor: 'acme', brand: 'apex' });
  // What the recorder answers may not be what the operation needs next; its first request is what counts here.
  await gateway.run(name, example.input, { dryRun, onPart: () => undefined }).catch(() => undefined);
  return server.asked.filter(({ path }) => path !== LOGIN || example.request.endsWith(LOGIN));
}

describe('the registry', () => {
  it('has every area and operation once, under a plain name', () => {
    expect(new Set(areas.map(({ name }) => name)).size).toBe(areas.length);
    expect(operations.size).toBe(areas.reduce((sum, area) => sum + Object.keys(area.operations).length, 0));
    for (const [name] of table) expect(name).toMatch(/^[a-z]+\.[a-z]+(-[a-z]+)*$/);
  });

  it.each(areas.map((area) => [area.name, area] as const))('%s has words, an icon and a colour', (_name, area) => {
    expect(area.label).toMatch(/^Gateway /);
    expect(sentences(area.help)).toHaveLength(1);
    expect(area.color).toMatch(/^#[0-9A-F]{6}$/i);
    expect(existsSync(join(__dirname, '../icons', area.icon))).toBe(true);
  });

  it.each(Object.entries(CONTRACT))('has %s as the contract does', (name, row) => {
    const { effect, fields: own } = operations.get(name) ?? { effect: 'missing', fields: {} };
    const marks = ({ required, subject, guard }: Field): string => `${required ? '*' : ''}${subject ? '!' : ''}${guard ? '^' : ''}`;
    expect([effect, ...Object.entries(own).map(([field, of]) => field + marks(of))].join(' ')).toBe(row);
  });
});

describe.each(table)('%s', (name, operation) => {
  const { label, help, data, example } = operation;

  it('has label, data and a help of one or two sentences', () => {
    expect(label).toMatch(/^[A-Z].*[^.]$/);
    expect(data).not.toBe('');
    expect(help).toMatch(/^[A-Z].*[.!]$/s);
    expect(sentences(help).length, help).toBeLessThanOrEqual(2);
  });

  it('is one exchange or several, and has one subject at most', () => {
    expect([operation.request, operation.run].filter(Boolean)).toHaveLength(1);
    expect(Object.values(operation.fields).filter(({ subject }) => subject).length).toBeLessThanOrEqual(1);
  });

  it('has an example that can be read', () => {
    const input = readInput(operation, example.input);
    for (const field of Object.keys(example.input)) expect(input).toHaveProperty([field]);
  });

  it('sends what its example says', async () => {
    const [first] = await sentBy(name, operation);
    expect(first ? `${first.method} ${first.path}` : '').toBe(example.request);
    if (example.body) expect(JSON.parse(first?.body ?? '')).toEqual(example.body);
  });

  it('has a request that is pure', () => {
    const input = Object.freeze(readInput(operation, structuredClone(example.input)));
    expect(operation.request?.(input, '')).toEqual(operation.request?.(input, ''));
    expect(input).toEqual(readInput(operation, example.input));
  });
});

describe.each(table.filter(([, { effect }]) => effect !== 'read'))('%s', (name, operation) => {
  it('sends no write in a dry run', async () => {
    const sent = await sentBy(name, operation, true);
    expect(sent.filter(({ method, path }) => method !== 'GET' && path !== LOGIN)).toEqual([]);
  });
});

describe.each(fields)('%s', (_name, field, name) => {
  it('has label and help', () => {
    expect(field.label).toMatch(/^[A-Z0-9`]/);
    expect(field.help).toMatch(/[.!]$/);
    expect(sentences(field.help).length, field.help).toBeLessThanOrEqual(2);
  });

  it('has flags that agree', () => {
    // A guard has only its default, a subject comes from the payload.
    expect(field.guard && (field.subject || field.required)).toBe(false);
    expect(field.filter && field.required).toBe(false);
    expect(field.default !== undefined && field.required).toBe(false);
    expect(field.choices !== undefined).toBe(field.kind === 'choice');
  });

  it('has a default and an example that it would take', () => {
    for (const value of [field.default, field.example]) {
      if (value !== undefined) expect(readField(name, field, value)).toEqual(value);
    }
    for (const choice of field.choices ?? []) expect(readField(name, field, choice)).toBe(choice);
  });
});
