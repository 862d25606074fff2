import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/model/json';
import { DEFAULT_AUDIT_LIMITS } from '../../../src/audit/rules';
import { checkRule } from './audit-subject';

const SERVER = 'authentication/auth-servers/auth-server';
const ADMIN_REALM = 'administrators/admin-realms/realm/Admins';
const user = (fields: JsonObject): Record<string, JsonObject> => ({
  [`${SERVER}/Local/local/users/user/jo`]: { username: 'jo', enabled: 'true', ...fields },
});

describe('audit rules for users', () => {
  it.each(['0', '12', '-1', 'Never', '', '999', '99/99/2020', '01.12.2026', 20_200_101])(
    'the rule user-one-time does not treat expires %j as a date in the past',
    async (expires) => {
      expect(await checkRule('user-one-time', user({ expires }))).toEqual([]);
    },
  );

  it.each([
    '2020-01-01',
    '2020/01/31 10:00:00',
    '01/31/2020',
    'Jan 31 10:00:00 2020 GMT',
    '31 Jan 2020',
    '31-Jan-2020',
    '31.01.2020',
    '05.01.2020',
    '31/01/2020 10:00',
    '31-01-2020',
    'Jan. 31, 2020',
  ])('the rule user-one-time treats expires %j as a date in the past', async (expires) => {
    expect(await checkRule('user-one-time', user({ expires }))).toMatchObject([
      { name: 'jo', evidence: { field: '/expires', value: expires } },
    ]);
  });

  it.each(['false', 'False', false, 'disabled', 0, '0'])(
    'the rule user-one-time ignores a user whose field enabled is %j',
    async (enabled) => {
      expect(await checkRule('user-one-time', user({ enabled, 'one-time-use': 'true' }))).toEqual([]);
    },
  );

  it('the rule user-never-used does not apply if no user has the time of the last sign-in', async () => {
    expect(await checkRule('user-never-used', user({ expires: '2099-01-01' }))).toBeUndefined();
  });

  it('the rule user-one-time finds a user whose user name differs from the field name', async () => {
    expect(await checkRule('user-one-time', user({ name: 'Jo Miller', 'one-time-use': 'true' }))).toMatchObject([{ name: 'jo' }]);
  });

  it('the rule user-one-time finds a user that has its user name also in the field name', async () => {
    expect(await checkRule('user-one-time', user({ name: 'jo', 'one-time-use': 'true' }))).toMatchObject([{ name: 'jo' }]);
  });
});

describe('audit rules for admin realms', () => {
  it.each([
    ['a number of seconds', { 'poll-seconds': '60', 'requests-per-second': 5 }],
    ['a template of the second user name', { 'secondary-username': '<USER>', 'secondary-authentication-server': 'None' }],
  ])('the rule admin-realm-single-factor does not count %s as a second factor', async (_title, fields) => {
    const realm = { name: 'Admins', 'authentication-server': 'Local', ...fields };
    expect(await checkRule('admin-realm-single-factor', { [ADMIN_REALM]: realm })).toMatchObject([{ name: 'Admins' }]);
  });

  it.each([
    [{ access: 'allow', address: '0.0.0.0', netmask: '0.0.0.0' }, '/ips/ip/1/netmask'],
    [{ access: 'allow', address: '::/0' }, '/ips/ip/1/address'],
    [{ access: 'allow', address: '0.0.0.0/0' }, '/ips/ip/1/address'],
    [{ access: 'allow', address: '10.0.0.0', netmask: '255.0.0.0' }, undefined],
    [{ access: 'deny', address: '0.0.0.0', netmask: '0.0.0.0' }, undefined],
  ])('the rule admin-realm-open reads the list of allowed addresses: %j', async (entry, field) => {
    const first = { access: 'allow', address: '10.1.1.1', netmask: '255.255.255.255' };
    const resource = { customized: 'selected-ip', ips: { ip: [first, entry] } };
    const found = await checkRule('admin-realm-open', { [`${ADMIN_REALM}/authentication-policy/source-ip`]: resource });
    expect(found?.map(({ evidence }) => evidence?.field)).toEqual(field === undefined ? [] : [field]);
  });
});

describe('audit rules and names of objects', () => {
  it('the rule well-known-community does not treat an object as an SNMP client because of the name of its server', async () => {
    const resources = {
      [`${SERVER}/SNMP%20people`]: { name: 'SNMP people' },
      [`${SERVER}/SNMP%20people/local/users/user/admin`]: { username: 'admin' },
    };
    expect(await checkRule('well-known-community', resources)).toBeUndefined();
  });

  it('the rule well-known-community reports a client once, not each resource below it', async () => {
    const client = 'uac/snmpEnforcement/clients/client/public';
    const resources = { [client]: { name: 'public' }, [`${client}/settings`]: { timeout: 5 } };
    expect(await checkRule('well-known-community', resources)).toHaveLength(1);
  });

  it('the rule certificate-ends does not mistake the end of a user account for the end of a certificate', async () => {
    const people = `${SERVER}/Certificate%20people`;
    const users = {
      [people]: { name: 'Certificate people' },
      [`${people}/local/users/user/jo`]: { username: 'jo', 'certificate-attributes': '', expires: '2026-06-02' },
    };
    expect(await checkRule('certificate-ends', users)).toBeUndefined();
  });

  it('the rule dangling-reference reads objects whose name is in another field than name', async () => {
    const resources: Record<string, JsonObject> = { 'users/realm/Staff': { name: 'Staff' } };
    for (let number = 0; number < 20; number++)
      resources[`signin/access-url/%2A%2F${number}%2F`] = {
        'url-pattern': `*/${number}/`,
        realms: ['Staff', ...(number === 7 ? ['Gone'] : [])],
      };
    expect(await checkRule('dangling-reference', resources)).toMatchObject([{ evidence: { field: '/realms/1', value: 'Gone' } }]);
  });

  it('the rules unused-object and dangling-reference treat a number and its text as the same name', async () => {
    const resources: Record<string, JsonObject> = {
      'users/user-role/42': { name: 42 },
      'users/user-role/43': { name: '43' },
      'users/user-role/44': { name: 44 },
    };
    for (let number = 0; number < 20; number++)
      resources[`users/map/M${number}`] = { name: `M${number}`, role: number % 2 ? '42' : 43, port: 443 };
    expect(await checkRule('dangling-reference', resources)).toEqual([]);
    expect(await checkRule('unused-object', resources)).toMatchObject([{ name: '44' }]);
  });
});

describe('cluster-member-down', () => {
  it.each([
    ['Leader, ready for failover', true, 0],
    ['Fail-over ready', true, 0],
    ['Failed', true, 1],
    ['Enabled, Unreachable', true, 1],
    ['', 'disabled', 1],
  ])('the rule cluster-member-down judges a member with the notes %j and enabled %j', async (notes, enabled, count) => {
    const found = await checkRule('cluster-member-down', {}, { cluster: { members: [{ name: 'b', enabled, notes }] } });
    expect(found).toHaveLength(count);
  });
});

describe('audit rules and lists with one object', () => {
  it('the rules for the status read a single object that comes without an array', async () => {
    const members = { name: 'b', enabled: 'false' };
    expect(await checkRule('cluster-member-down', {}, { cluster: { members } })).toMatchObject([
      { name: 'b', evidence: { field: '/members/enabled', value: 'false' } },
    ]);
    const feature = { name: 'F', 'total-count': '100', clients: { 'client-info': { 'leased-count': '99' } } };
    expect(await checkRule('license-nearly-used', {}, { leases: { 'leased-license-counts': { features: { feature } } } })).toMatchObject([
      { name: 'F', evidence: { field: '/leased-license-counts/features/feature/total-count', value: '100' } },
    ]);
  });

  it('the rule account-has-more-rights reads a single role mapping rule with one role', async () => {
    const roles = {
      'administrators/admin-roles/admin-role/Flows/system-tasks': { access: 'write' },
      'administrators/admin-realms/realm/API/role-mapping-rules': { rule: { name: 'all', roles: 'Flows' } },
    };
    const found = await checkRule(
      'account-has-more-rights',
      roles,
      { realm: 'API' },
      { limits: { ...DEFAULT_AUDIT_LIMITS, operations: ['sessions.list'] } },
    );
    expect(found).toMatchObject([{ name: 'Flows' }]);
  });
});

describe('audit rules and what could not be read', () => {
  const resources = { 'users/user-role/Old': { name: 'Old' } };

  it.each([
    ['may not read a part of the configuration', { unreadable: new Set(['/api/v1/configuration/users/user-realms']) }],
    ['audits a snapshot of a part', { isPart: true }],
  ])('unused-object is not applicable if the account %s', async (_title, facts) => {
    expect(await checkRule('unused-object', resources)).toHaveLength(1);
    expect(await checkRule('unused-object', resources, {}, facts)).toBeUndefined();
  });

  it.each([
    ['everything was read', {}, 1],
    ['the server may not be read', { unreadable: new Set(['/api/v1/configuration/authentication/auth-servers']) }, 0],
    ['the snapshot holds only administrators', { isPart: true }, 0],
  ])('admin-realm-single-factor judges a realm by its server if %s', async (_title, facts, count) => {
    const realms = { [ADMIN_REALM]: { name: 'Admins', 'authentication-server': 'Corp SAML' } };
    expect(await checkRule('admin-realm-single-factor', realms, {}, facts)).toHaveLength(count);
  });

  it('the rule dangling-reference does not report an object that is unreadable or has no content of its own', async () => {
    const role = 'users/user-role';
    const used: Record<string, JsonObject> = { [`${role}/Staff`]: { name: 'Staff' }, [`${role}/Only%20below/general`]: { note: 'x' } };
    for (let number = 0; number < 40; number++)
      used[`users/map/M${number}`] = { name: `M${number}`, role: ['Hidden', 'Only below', 'Gone'][number] ?? 'Staff' };
    const facts = { unreadable: new Set([`/api/v1/configuration/${role}/Hidden`]) };
    expect(await checkRule('dangling-reference', used, {}, facts)).toMatchObject([{ evidence: { value: 'Gone' } }]);
  });
});

describe('license-nearly-used', () => {
  it('the rule license-nearly-used shows the licenses of the feature as evidence', async () => {
    const feature = [10, 99].map((leased, number) => ({
      name: `F${number}`,
      'total-count': '100',
      clients: { 'client-info': [{ 'leased-count': leased }] },
    }));
    const found = await checkRule('license-nearly-used', {}, { leases: { 'leased-license-counts': { features: { feature } } } });
    const evidence = { field: '/leased-license-counts/features/feature/1/total-count', value: '100' };
    expect(found).toMatchObject([{ name: 'F1', message: '99% of the licenses are leased. The limit is 90%.', evidence }]);
  });

  it.each([
    ['YES', 1],
    ['NO', 0],
  ])('the rule license-nearly-used reads MAX-LICENSED-USERS-REACHED %s if the appliance has no leases', async (value, count) => {
    expect(await checkRule('license-nearly-used', {}, { health: { 'MAX-LICENSED-USERS-REACHED': value } })).toHaveLength(count);
  });
});
