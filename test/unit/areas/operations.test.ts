import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { areas, operations } from '../../../src/areas';
import { parseField, parseInput } from '../../../src/model/input';
import type { Field, Operation } from '../../../src/model/operation';
import { gatewayFor, LOGIN_PATH, withoutLoginProof, ACTIVE_USERS_PATH } from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer, type RawRequest, type RawServer } from '../../helpers/raw-server';

const table = [...operations];
const fields = table.flatMap(([name, { fields: own }]) =>
  Object.entries(own).map(([field, of]) => [`${name} ${field}`, of, field] as const),
);

/** Rows of the contract's table, section 5, and of `gateway-backup`: effect, then fields with `*` required, `!` subject, `^` guard or place. */
const CONTRACT: Record<string, string> = {
  'config.get': 'read path*! query^',
  'config.list': 'read path*!',
  'config.create': 'write path* body*! prove-login^',
  'config.update': 'write path* body*! prove-login^',
  'config.ensure': 'write path* body*! unordered^ prove-login^',
  'config.ensure-all': 'write resources*! allow-absent^ max^ unordered^ prove-login^',
  'config.delete': 'destroy path*! max^ missing-ok^ prove-login^',
  'sessions.list': 'read name limit^ emit^',
  'sessions.kill': 'destroy session-id*! max^',
  'sessions.kill-user': 'destroy name*! match^ max^',
  'sessions.kill-matching': 'destroy filter*! max^',
  'sessions.kill-all': 'destroy',
  'system.info': 'read',
  'system.health': 'read status!',
  'system.esap-packages': 'read expand exclude-packages',
  'system.ntp-status': 'read',
  'system.user-statistics': 'read',
  'system.metrics': 'read parts^',
  'users.list': 'read server*!',
  'users.get': 'read server* username*!',
  'users.create':
    'write server* username*! password-cleartext* fullname enabled console-access change-password-at-signin one-time-use more max^',
  'users.update':
    'write server* username*! password-cleartext fullname enabled console-access change-password-at-signin one-time-use more max^',
  'users.enable': 'write server* username*! max^',
  'users.disable': 'write server* username*! max^',
  'users.ensure':
    'write server* username*! password-cleartext fullname enabled console-access change-password-at-signin one-time-use more set-password^ max^',
  'users.reset-one-time-password': 'destroy server* username*!',
  'users.delete': 'destroy server* username*! max^ missing-ok^',
  'groups.list': 'read server*! directory*',
  'groups.replace': 'destroy server* directory* groups*!',
  'groups.add': 'write server* directory* groups*!',
  'groups.remove': 'write server* directory* groups*!',
  'groups.ensure': 'destroy server* directory* groups*!',
  'groups.clear': 'destroy server*! directory*',
  'administrators.set-source-ip-mode': 'destroy realm* customized*! prove-login^',
  'administrators.add-source-ip': 'write realm* access address*! netmask* prove-login^',
  'administrators.set-role-mapping': 'destroy realm* rules*! prove-login^',
  'administrators.set-session-options': 'write role* idle-timeout*! max-timeout reminder-time prove-login^',
  'policy.list': 'read',
  'policy.add-enforcer': 'write enforcer*!',
  'policy.get-radius-client': 'read name*!',
  'policy.set-radius-client': 'write name* client*!',
  'policy.ensure-radius-client': 'write name* client*!',
  'policy.delete-snmp-client': 'destroy name*! missing-ok^',
  'license.lease-info': 'read',
  'license.pull-state': 'write',
  'license.list-named-users': 'read client-kind!',
  'license.remove-named-users': 'destroy users*! client-kind delete-active-sessions',
  'license.remove-all-named-users': 'destroy client-kind delete-active-sessions',
  'certificates.upload': 'write cert! file^ password* internal-interfaces external-interfaces management-interface prove^ prove-within^',
  'certificates.create-csr': 'write subject-common-name*! key-type ecc-curve',
  'certificates.upload-signed': 'write csr-name* certificate*! format prove^ prove-within^',
  'certificates.served': 'read host^ port^',
  'certificates.delete': 'destroy subject-name*! missing-ok^',
  'cluster.status': 'read',
  'cluster.create': 'destroy cluster-name* cluster-password* member-name*',
  'cluster.join': 'destroy cluster-name* cluster-password* member-address*',
  'cluster.add-member':
    'write member-name* member-ip* member-netmask* member-gateway* member-external-ip* member-external-netmask* member-external-gateway*',
  'cluster.remove-member': 'destroy member-name*! missing-ok^',
  'cluster.failover': 'destroy',
  'transfer.export-xml': 'read password options^ file^ check^',
  'transfer.import-xml': 'destroy xml! file^ password',
  'transfer.export-binary': 'read export password file^ check^',
  'transfer.import-binary': 'destroy data! file^ import^ password',
  'backup.run': 'read folder*^ what^ keep^ keep-days^ gzip^ passphrase^ password^ ignore^',
  'backup.list': 'read folder*^',
  'backup.verify': 'read folder*^ backup! passphrase^',
  'backup.restore': 'destroy folder*^ backup*! kind^ import^ backup-first^ any-appliance^ password^ passphrase^',
  'snapshot.take': 'read path! folder^ ignore^ unordered^',
  'snapshot.compare': 'read with! folder^ other^ path ignore^ unordered^',
  'snapshot.revert': 'destroy folder*^ path*!',
  'contain.contain': 'destroy name! source-ip servers match^ minutes folder^ max^',
  'contain.release': 'write id! name match^ folder^',
  'contain.list': 'read folder^',
  'request.get': 'read path*! query^',
  'request.post': 'destroy path* query^ body! content-type^',
  'request.put': 'destroy path* query^ body! content-type^',
  'request.delete': 'destroy path*! query^ missing-ok^',
  'journal.list': 'read since until operation-name actor limit^',
  'journal.verify': 'read',
  'journal.undo': 'destroy id*!',
  'login.login': 'write',
  'login.resume': 'write code*! resumeId',
  'login.forget': 'write',
};

/** Sentences of a help text; what stands in backticks is no end of one. */
function sentences(help: string): string[] {
  return help.replace(/`[^`]*`/g, 'code').split(/(?<=[.!?])\s+/);
}

/** An appliance that writes down what comes and answers that all is well. */
function recorder(): Promise<RawServer> {
  const empty = JSON.stringify({ 'active-users': { 'active-user-records': { 'active-user-record': [] } } });
  const reply = ({ method, path }: RawRequest): string => {
    if (path === LOGIN_PATH) return httpResponse(200, '{"api_key":"key"}');
    if (path.startsWith(ACTIVE_USERS_PATH) && method === 'GET') return httpResponse(200, empty);
    return method === 'GET' ? httpResponse(200, '{}') : httpResponse(204);
  };
  return startRawServer(reply, { forwardsLogins: true });
}

/** Runs an example and gives what reached the appliance besides logins, unless the login is the example. */
async function sentBy(name: string, { example }: Operation, dryRun = false): Promise<RawRequest[]> {
  const server = await recorder();
  const gateway = gatewayFor(server, { vendor: 'acme', brand: 'apex' });
  // What the recorder answers may not be what the operation needs next; its first request is what counts here.
  await gateway.run(name, withoutLoginProof(name, example.input), { dryRun, onPart: () => undefined }).catch(() => undefined);
  return server.requests.filter(({ path }) => path !== LOGIN_PATH || example.request.endsWith(LOGIN_PATH));
}

describe('the area registry', () => {
  it('the registry of areas contains every area and operation once, under a name of letters and hyphens', () => {
    expect(new Set(areas.map(({ name }) => name)).size).toBe(areas.length);
    expect(operations.size).toBe(areas.reduce((sum, area) => sum + Object.keys(area.operations).length, 0));
    for (const [name] of table) expect(name).toMatch(/^[a-z]+\.[a-z]+(-[a-z]+)*$/);
  });

  it.each(areas.map((area) => [area.name, area] as const))(
    'the area registry gives %s a label, a help text, an icon and a color',
    (_name, area) => {
      expect(area.label).toMatch(/^Gateway /);
      expect(sentences(area.help)).toHaveLength(1);
      expect(area.color).toMatch(/^#[0-9A-F]{6}$/i);
      expect(existsSync(join(__dirname, '../../../icons', area.icon))).toBe(true);
    },
  );

  it('the area registry gives every area a different color', () => {
    const colors = areas.map(({ color }) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)));
    const near = (one: number[], other: number[]): boolean => Math.hypot(...one.map((part, at) => part - (other[at] ?? 0))) < 28;
    const alike = areas.filter((_, index) => colors.slice(0, index).some((color) => near(color, colors[index] ?? [])));
    expect(alike.map(({ name }) => name)).toEqual([]);
    // One family, green and blue together, that none of Node-RED's own nodes has. Free: #33DBE1 #21DE99 #31B987 #1ECCBB.
    const others = areas.filter((_, index) => {
      const [red = 0, green = 0, blue = 0] = colors[index] ?? [];
      return red >= Math.min(green, blue) || Math.abs(green - blue) > 70;
    });
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  it.each(Object.entries(CONTRACT))('the area registry defines %s as the contract does', (name, row) => {
    const { effect, fields: own } = operations.get(name) ?? { effect: 'missing', fields: {} };
    const marks = ({ required, subject, guard }: Field): string => `${required ? '*' : ''}${subject ? '!' : ''}${guard ? '^' : ''}`;
    expect([effect, ...Object.entries(own).map(([field, of]) => field + marks(of))].join(' ')).toBe(row);
  });
});

describe.each(table)('operation %s', (name, operation) => {
  const { label, help, data, example } = operation;

  it('every operation has a label, a data description and a help text of one or two sentences', () => {
    expect(label).toMatch(/^[A-Z].*[^.]$/);
    expect(data).not.toBe('');
    expect(help).toMatch(/^[A-Z].*[.!]$/s);
    expect(sentences(help).length, help).toBeLessThanOrEqual(2);
  });

  it('every operation has either the function request or the function run, and at most one subject field', () => {
    expect(['request', 'run'].filter((way) => way in operation)).toHaveLength(1);
    expect(Object.values(operation.fields).filter(({ subject }) => subject).length).toBeLessThanOrEqual(1);
  });

  it('every operation has an example with valid input', () => {
    const input = parseInput(operation, example.input);
    for (const field of Object.keys(example.input)) expect(input).toHaveProperty([field]);
  });

  it('every operation sends the request of its example', async () => {
    const [first] = await sentBy(name, operation);
    expect(first ? `${first.method} ${first.path}` : '').toBe(example.request);
    if (example.body) expect(JSON.parse(first?.body ?? '')).toEqual(example.body);
  });

  it('every operation builds the same request each time for the same input', () => {
    const input = Object.freeze(parseInput(operation, structuredClone(example.input)));
    expect(operation.request?.(input, '')).toEqual(operation.request?.(input, ''));
    expect(input).toEqual(parseInput(operation, example.input));
  });
});

describe.each(table.filter(([, { effect }]) => effect !== 'read'))('operation %s', (name, operation) => {
  it('every operation sends no write in a dry run', async () => {
    const sent = await sentBy(name, operation, true);
    expect(sent.filter(({ method, path }) => method !== 'GET' && path !== LOGIN_PATH)).toEqual([]);
  });
});

describe.each(fields)('field %s', (_name, field, name) => {
  it('every field has a label and a help text', () => {
    expect(field.label).toMatch(/^[A-Z0-9`]/);
    expect(field.help).toMatch(/[.!]$/);
    expect(sentences(field.help).length, field.help).toBeLessThanOrEqual(2);
  });

  it('no field of an operation has flags that contradict each other', () => {
    // A guard comes from the dialog, a subject from the payload.
    expect(field.guard && field.subject).toBe(false);
    expect(field.filter && field.required).toBe(false);
    expect(field.default !== undefined && field.required).toBe(false);
    expect(field.choices !== undefined).toBe(field.kind === 'choice');
  });

  it('every field has a default and an example that pass the checks of the field', () => {
    for (const value of [field.default, field.example]) {
      if (value !== undefined) expect(parseField(name, field, value)).toEqual(value);
    }
    for (const choice of field.choices ?? []) expect(parseField(name, field, choice)).toBe(choice);
  });
});
