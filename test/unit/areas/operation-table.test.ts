import { describe, expect, it } from 'vitest';
import { areas, getOperation, operations } from '../../../src/areas';
import { parseInput } from '../../../src/model/input';
import type { Field } from '../../../src/model/operation';
import { encodeQuery } from '../../../src/model/path';
import { getThrownError } from '../../helpers/thrown-error';

/**
 * What a dialog offers for each field, and what a flow gets that does not give it. Where the operations of an area differ, each has a row.
 * The words of a field are held against the dictionaries (test/docs), its effect and marks against the contract (test/unit/areas/operations.test.ts).
 */
const OFFERED: Readonly<Record<string, string>> = {
  'config.path': 'path, names path, such as "users/user-roles/user-role/Staff"',
  'config.query': 'object',
  'config.body': 'object, editor resource',
  'config.prove-login': 'boolean, default true',
  'config.resources': 'records, such as [{"path":"users/user-roles/user-role/Staff","body":{"description":"Day shift"}}]',
  'config.allow-absent': 'boolean',
  'config.missing-ok': 'boolean',
  'users.server of list, get, create, update, enable, disable, ensure, delete': 'text, names local-server, such as "System Local"',
  'users.server of reset-one-time-password': 'text, names auth-server, such as "Second Factor TOTP"',
  'users.username of reset-one-time-password': 'text, names session-user, such as "j.doe"',
  'users.username of get': 'text, names local-user, such as "j.doe"',
  'users.username of create, update, enable, disable, ensure, delete': 'names, names local-user, such as "j.doe"',
  'users.password-cleartext': 'text, secret',
  'users.fullname': 'text',
  'users.enabled': 'boolean',
  'users.console-access': 'boolean',
  'users.change-password-at-signin': 'boolean',
  'users.one-time-use': 'boolean',
  'users.more': 'object, such as {"user-timezone":"Europe/Berlin"}',
  'users.max': 'number, range count, default 25',
  'users.set-password': 'boolean',
  'users.missing-ok': 'boolean',
  'groups.server': 'text, names directory-server, such as "Corporate AD"',
  'groups.directory': 'choice, one of ad ldap',
  'groups.groups': 'records, names directory-group, such as [{"name":"VPN Users","group":"EXAMPLE/VPN Users"}]',
  'administrators.realm': 'text, names admin-realm, such as "Admin Users"',
  'administrators.customized': 'text, known any-ip selected-ip, such as "selected-ip"',
  'administrators.prove-login': 'boolean, default true',
  'administrators.access': 'text, known allow deny, default "allow"',
  'administrators.address': 'text, rule address, such as "198.51.100.0"',
  'administrators.netmask': 'text, rule mask, such as "255.255.255.0"',
  'administrators.rules':
    'object, such as {"user-selects-role":"false","user-selects-roleset":"false","rule":[{"name":"Operators","roles":[".Read-Only Administrators"],"stop-rules-processing":"true","group":{"group-names":["VPN Operators"]}}]}',
  'administrators.role': 'text, names admin-role, such as ".Administrators"',
  'administrators.idle-timeout': 'text, such as "20", a number payload too',
  'administrators.max-timeout': 'text',
  'administrators.reminder-time': 'text',
  'policy.enforcer': 'object, such as {"name":"Edge","serial-number":["0123456789"]}',
  'policy.name of get-radius-client, set-radius-client, ensure-radius-client': 'text, names radius-client, such as "Switch 3/1"',
  'policy.name of delete-snmp-client': 'text, names snmp-client, such as "Switch 7"',
  'policy.client': 'object, such as {"name":"Switch 3/1","location-group":"Default"}',
  'policy.missing-ok': 'boolean',
  'sessions.name of list': 'text, names session-user, such as "j.doe", filter',
  'sessions.name of kill-user': 'text, names session-user, such as "j.doe"',
  'sessions.limit': 'number, range count',
  'sessions.emit': 'choice, one of array page record, default "array"',
  'sessions.session-id': 'records, names session, such as "sid1a2b3c"',
  'sessions.max': 'amount, rule amount, range count, default 25, such as "10%"',
  'sessions.filter':
    'object, editor session-filter, such as {"authentication-realm":"Contractors","source-ip":"203.0.113.0/24","older-than":"8 h"}',
  'license.client-kind': 'text, names client-kind, such as "gateway", filter',
  'license.users': 'list, names named-user, such as ["j.doe"]',
  'license.delete-active-sessions': 'boolean',
  'certificates.cert': 'data, secret',
  'certificates.file': 'text',
  'certificates.password': 'text, secret',
  'certificates.internal-interfaces': 'list, names interface',
  'certificates.external-interfaces': 'list, names interface',
  'certificates.management-interface': 'boolean',
  'certificates.prove': 'boolean',
  'certificates.prove-within': 'number, range positive, default 60',
  'certificates.subject-common-name': 'text, such as "vpn.example.com"',
  'certificates.key-type': 'text, known ECDSA RSA, default "ECDSA"',
  'certificates.ecc-curve': 'text, known P-256 P-384, default "P-384"',
  'certificates.csr-name': 'text, names csr, such as "vpn.example.com 1"',
  'certificates.certificate': 'data, such as "MIIB"',
  'certificates.format': 'choice, one of base64 text, default "base64"',
  'certificates.host': 'text, such as "vpn.example.com"',
  'certificates.port': 'number, range count',
  'certificates.subject-name': 'text, names certificate, such as "vpn.example.com"',
  'certificates.missing-ok': 'boolean',
  'system.status': 'choice, one of all sbr',
  'system.parts': 'list, known health sessions license cluster certificate, such as ["health","license"]',
  'system.expand': 'boolean',
  'system.exclude-packages': 'boolean',
  'cluster.cluster-name': 'text, such as "Edge"',
  'cluster.cluster-password': 'text, secret',
  'cluster.member-name of create': 'text, such as "node-a"',
  'cluster.member-name of add-member': 'text, such as "node-b"',
  'cluster.member-name of remove-member': 'text, names cluster-member, such as "node-b"',
  'cluster.member-address': 'text, rule host, such as "10.0.0.11"',
  'cluster.member-ip': 'text, rule ipv4, such as "10.0.0.12"',
  'cluster.member-netmask': 'text, rule netmask, such as "255.255.255.0"',
  'cluster.member-gateway': 'text, rule ipv4, such as "10.0.0.1"',
  'cluster.member-external-ip': 'text, rule ipv4, such as "192.0.2.12"',
  'cluster.member-external-netmask': 'text, rule netmask, such as "255.255.255.0"',
  'cluster.member-external-gateway': 'text, rule ipv4, such as "192.0.2.1"',
  'cluster.missing-ok': 'boolean',
  'transfer.password': 'text, secret',
  'transfer.options': 'object',
  'transfer.file': 'text',
  'transfer.check': 'choice, one of content hash none, default "content"',
  'transfer.xml': 'data, such as "<configuration/>"',
  'transfer.export': 'choice, one of system_config user_config',
  'transfer.data': 'data, such as "UEsDBA=="',
  'transfer.import': 'choice, one of normal full',
  'backup.folder': 'text, editor folder, such as "/var/backups/gateway"',
  'backup.what': 'choice, one of xml binary both, default "xml"',
  'backup.keep': 'number, range count',
  'backup.keep-days': 'number, range positive',
  'backup.gzip': 'boolean, default false',
  'backup.passphrase': 'text, secret',
  'backup.password': 'text, secret',
  'backup.ignore': 'list',
  'backup.backup of verify': 'text, names backup',
  'backup.backup of restore': 'text, names backup, such as "latest"',
  'backup.kind': 'choice, one of xml binary',
  'backup.import': 'choice, one of normal full',
  'backup.backup-first': 'boolean, default true',
  'backup.any-appliance': 'boolean, default false',
  'contain.name of contain': 'text, names session-user, such as "j.doe"',
  'contain.name of release': 'text, names contained-name, such as "j.doe"',
  'contain.source-ip': 'text, rule address, such as "203.0.113.9"',
  'contain.servers': 'list, names local-server, such as ["System Local"]',
  'contain.minutes': 'number, range positive, default 60',
  'contain.folder': 'text, editor folder, such as "/var/lib/gateway/contained"',
  'contain.max': 'number, range count, default 25',
  'contain.id': 'text, names contained, such as "0b8e4c1a-6d2f-4f0e-9a57-3c1d2b7e8f90"',
  'snapshot.path of take, compare': 'path, names path, such as "users/user-roles"',
  'snapshot.path of revert': 'list, names path, such as ["users/user-roles"]',
  'snapshot.folder': 'text, editor folder, such as "/var/lib/gateway/vpn-1"',
  'snapshot.ignore': 'list, such as ["last-*"]',
  'snapshot.with':
    'object, such as {"format":"gateway-snapshot/1","appliance":"vpn-1","path":"/api/v1/configuration/users","resources":{}}',
  'snapshot.other': 'text, names appliance, such as "vpn-2"',
  'journal.since': 'text, filter',
  'journal.until': 'text, filter',
  'journal.operation-name': 'text, names operation, such as "users.disable", filter',
  'journal.actor': 'text, names journal-actor, filter',
  'journal.limit': 'number, range count',
  'journal.id': 'records, names journal-entry, such as "20261121-5f0c1a2b-4711-0a1b2c3d4e5f-17"',
  'request.path': 'path, names path, such as "system/status/overview"',
  'request.query': 'content, such as {"config-type":"system"}',
  'request.body': 'content',
  'request.content-type': 'text, known text/plain application/xml application/json application/octet-stream, such as "text/plain"',
  'request.missing-ok': 'boolean',
  'login.code': 'text, secret',
  'login.resumeId': 'text',
};

/** In the words of the rows. */
function offered(field: Field): string {
  const { kind, names, rule, range, known, choices, editor, filter, secret, numberPayload, default: usual, example } = field;
  const parts: [unknown, string][] = [
    [names, `names ${names}`],
    [rule, `rule ${rule}`],
    [range, `range ${range}`],
    [known, `known ${known?.join(' ')}`],
    [choices, `one of ${choices?.join(' ')}`],
    [editor, `editor ${editor}`],
    [usual !== undefined, `default ${JSON.stringify(usual)}`],
    [example !== undefined, `such as ${JSON.stringify(example)}`],
    [numberPayload, 'a number payload too'],
    [filter, 'filter'],
    [secret, 'secret'],
  ];
  return [kind, ...parts.flatMap(([has, words]) => (has ? [words] : []))].join(', ');
}

/** One row for a field that is alike in all operations of its area, else one for each way that it is. */
function rowsOf({ name: area, operations: own }: (typeof areas)[number]): [string, string][] {
  const ways = new Map<string, Map<string, string[]>>();
  for (const [operation, { fields }] of Object.entries(own)) {
    for (const [name, field] of Object.entries(fields)) {
      const of = ways.get(name) ?? new Map<string, string[]>();
      ways.set(name, of.set(offered(field), [...(of.get(offered(field)) ?? []), operation]));
    }
  }
  return [...ways].flatMap(([name, of]) =>
    [...of].map(([words, among]): [string, string] => [`${area}.${name}${of.size === 1 ? '' : ` of ${among.join(', ')}`}`, words]),
  );
}

it('the operation table keeps all fields and defaults that existing flows use', () => {
  expect(Object.fromEntries(areas.flatMap(rowsOf))).toMatchObject(OFFERED);
});

it.each(areas.map(({ name, icon }) => [name, icon]))('the operation table gives %s an icon with its name', (name, icon) => {
  expect(icon).toBe(`gateway-${name}.svg`);
});

const single = [...operations].filter(([, operation]) => 'request' in operation);

it.each(single)('the operation %s sends the request of its example', (_name, operation) => {
  const { method, path, query, rawQuery, body } = operation.request?.(parseInput(operation, operation.example.input), '') ?? {};
  const asked = rawQuery === undefined ? encodeQuery(query) : `?${rawQuery}`;
  expect(`${method} ${path}${asked}`).toBe(operation.example.request);
  expect(body).toEqual(operation.example.body);
});

/** Reads the input, and makes the request where there is one: both without an appliance. */
const asking = (name: string, input: Record<string, unknown>) => (): unknown => {
  const operation = getOperation(name);
  const read = parseInput(operation, input);
  return operation.request?.(read, '') ?? read;
};

describe('operation inputs', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['config.create', { path: '/', body: { a: 1 } }, 'path is the root of the configuration, which can only be read.'],
    ['config.delete', { path: '' }, 'path (Path) is empty.'],
    [
      'license.remove-named-users',
      { users: [] },
      'users is an empty array. Give at least one name, or use Remove ALL named users. Nothing was sent.',
    ],
    [
      'license.remove-all-named-users',
      { 'client-kind': 'gateway', 'delete-active-sessions': false },
      'client-kind is for a license server, delete-active-sessions for other appliances. Give only one of them. Nothing was sent.',
    ],
    ['license.list-named-users', { 'client-kind': '' }, 'client-kind (Client kind) is empty.'],
    ['certificates.delete', { 'subject-name': ' ' }, 'subject-name is blank. Nothing was sent.'],
    ['transfer.export-xml', { file: ' ' }, 'file is blank.'],
    ['transfer.import-binary', { file: '\t' }, 'file is blank.'],
    ['snapshot.take', { folder: ' ' }, 'folder is blank.'],
    ['backup.list', { folder: ' ' }, 'folder is blank.'],
    ['backup.verify', { folder: '/x', passphrase: '' }, 'passphrase is empty.'],
    ['contain.list', { folder: ' ' }, 'folder is blank.'],
    ['contain.contain', { minutes: 525_601 }, 'minutes must be at most 525600 (one year).'],
    ['system.metrics', { parts: [] }, 'parts is an empty array.'],
    ['journal.list', { since: '' }, 'since (Since) is empty.'],
    ...['text', 'text/', '/plain', ' text/plain', 'text/plain ', 'text/plain;x', 'text/plain; charset=', 'text/plain; a=b c'].map(
      (type): [string, Record<string, unknown>, string] => [
        'request.post',
        { path: 'x', 'content-type': type },
        'content-type is not a content type such as text/plain; charset=utf-8.',
      ],
    ),
  ])('inputs of operations are checked: %s rejects %j', (name, input, message) => {
    expect(getThrownError(asking(name, input))).toMatchObject({ code: 'BAD_INPUT', message });
  });

  it.each<[string, Record<string, unknown>]>([
    ['contain.contain', { minutes: 525_600, folder: ' x ' }],
    ['transfer.export-binary', { file: ' x' }],
    ['snapshot.compare', { folder: ' x' }],
    ['backup.run', { folder: '.', passphrase: ' ' }],
    ['license.list-named-users', {}],
    ...['text/plain', 'a.b+c-d/x_1', 'text/plain;charset=utf-8', 'text/plain; charset="utf-8"', 'a/b; c=d; e=f:1+x'].map(
      (type): [string, Record<string, unknown>] => ['request.put', { path: 'x', 'content-type': type }],
    ),
  ])('operation inputs are checked: %s accepts %j', (name, input) => {
    expect(asking(name, input)).not.toThrow();
  });

  it('an unknown operation name is rejected with the valid names of its area, or with all names', () => {
    expect(getThrownError(() => getOperation('contain.start'))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'There is no operation "contain.start". Use one of: contain.contain, contain.release, contain.list.',
    });
    for (const name of ['nothing.at-all', ''])
      expect(getThrownError(() => getOperation(name))?.message).toBe(
        `There is no operation ${JSON.stringify(name)}. Use one of: ${[...operations.keys()].join(', ')}.`,
      );
  });
});

it.each(single)(
  'the operation %s has a summary for a change, a plan and a run that changed nothing',
  (_name, { effect, fields, summary = {} }) => {
    const said = Object.keys(summary);
    expect(said.some((key) => ['done', 'found'].includes(key))).toBe(true);
    if (effect !== 'read') expect(said).toContain('planned-one');
    if (fields['missing-ok']) expect(said).toContain('unchanged');
  },
);

it('only config.get sends a query for the configuration tree', () => {
  const path = '/api/v1/configuration/users';
  expect(asking('config.get', { path: 'users', query: { expand: true, key: 'a b' } })()).toEqual({
    method: 'GET',
    path,
    query: { expand: true, key: 'a b' },
  });
  expect(asking('config.get', { path: 'users' })()).toStrictEqual({ method: 'GET', path });
});

it('gateway-license removes named users, with their sessions when requested', () => {
  const removal = (name: string, input: object) =>
    getOperation(`license.${name}`).request?.(parseInput(getOperation(`license.${name}`), { ...input }), '');
  const path = '/api/v1/license/named-users';
  expect(removal('remove-named-users', { users: 'a', 'delete-active-sessions': false })).toEqual({
    method: 'PUT',
    path,
    body: { action: 'remove', users: ['a'], 'delete-active-sessions': 'false' },
  });
  expect(removal('remove-all-named-users', {})).toStrictEqual({ method: 'PUT', path, body: { action: 'remove-all', users: [] } });
});
