import { result, type Row } from './row';

const CONFIGURATION = '/api/v1/configuration';
const AUTH_SERVER = `${CONFIGURATION}/authentication/auth-servers/auth-server/<server>`;
const USERS = `${AUTH_SERVER}/local/users/user`;
const REALM = `${CONFIGURATION}/administrators/admin-realms/realm/<realm>`;
const UAC = `${CONFIGURATION}/uac`;

const user = {
  username: 'j.doe',
  fullname: 'Jane Doe',
  enabled: 'true',
  'console-access': 'false',
  'change-password-at-signin': 'false',
  'one-time-use': 'false',
};
const userKeys = ['username', 'password-cleartext', 'fullname', 'enabled', 'console-access', 'change-password-at-signin', 'one-time-use'];
const adGroups = { 'ad-group': [{ group: 'EXAMPLE/Staff', name: 'Staff', sid: 'S-1-5-1' }] };
/** Authentication endpoints and the configuration tree. */
export const treeRows: readonly Row[] = [
  // Authentication endpoints
  { method: 'POST', path: '/api/v1/auth', statuses: [200], answer: { api_key: 'k' }, operations: ['login.login'] },
  {
    method: 'POST',
    path: '/api/v1/realm_auth',
    body: { keys: ['realm'], needed: 1 },
    statuses: [200],
    answer: { resume_id: 'r1' },
    operations: ['login.login'],
  },
  {
    method: 'POST',
    path: '/api/v1/realm_auth',
    body: { keys: ['resume_id'], needed: 1 },
    statuses: [200],
    answer: { api_key: 'k' },
    operations: ['login.resume'],
  },

  // Generic configuration tree
  {
    method: 'GET',
    path: CONFIGURATION,
    statuses: [200],
    answer: { users: { href: `${CONFIGURATION}/users` } },
    operations: ['config.list', 'audit.run'],
  },
  {
    method: 'GET',
    path: `${CONFIGURATION}/<...>`,
    query: /^[\w=&%-]+$/,
    statuses: [200],
    answer: { name: 'Staff' },
    operations: [
      'config.get',
      'config.delete',
      'config.ensure',
      'config.ensure-all',
      'audit.run',
      'snapshot.take',
      'snapshot.compare',
      'snapshot.revert',
      'system.support-bundle',
    ],
  },
  {
    method: 'POST',
    path: `${CONFIGURATION}/<...>`,
    body: { keys: 'any' },
    statuses: [200, 201, 204],
    answer: result('ok'),
    operations: ['config.create'],
  },
  {
    method: 'PUT',
    path: `${CONFIGURATION}/<...>`,
    body: { keys: 'any' },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['config.update', 'config.ensure', 'config.ensure-all'],
  },
  {
    method: 'DELETE',
    path: `${CONFIGURATION}/<...>`,
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['config.delete', 'config.ensure-all'],
  },

  // Paths shown
  { method: 'GET', path: USERS, statuses: [200], answer: { user: [user] }, operations: ['users.list'] },
  {
    method: 'GET',
    path: `${USERS}/<username>`,
    statuses: [200],
    answer: user,
    operations: ['users.get', 'users.update', 'users.enable', 'users.disable', 'users.ensure', 'contain.contain'],
  },
  {
    method: 'POST',
    path: USERS,
    body: { keys: userKeys, needed: 2 },
    statuses: [200, 201, 204],
    answer: result('ok'),
    operations: ['users.create'],
  },
  {
    method: 'PUT',
    path: `${USERS}/<username>`,
    body: { keys: userKeys },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['users.update', 'users.ensure'],
  },
  {
    method: 'PUT',
    path: `${USERS}/<username>/<field>`,
    body: { keys: userKeys, needed: 0 },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['users.update', 'users.enable', 'users.disable', 'contain.contain'],
  },
  { method: 'DELETE', path: `${USERS}/<username>`, statuses: [200, 204], answer: result('ok'), operations: ['users.delete'] },
  {
    method: 'GET',
    path: UAC,
    statuses: [200],
    answer: { 'host-enforcer': { href: `${UAC}/host-enforcer` }, 'acme-enforcer': { href: `${UAC}/acme-enforcer` } },
    operations: ['audit.run', 'policy.list', 'policy.add-enforcer'],
  },
  {
    method: 'POST',
    path: `${UAC}/acme-enforcer/connections/acme-enforcer/`,
    body: { keys: 'any' },
    statuses: [201],
    answer: result('ok'),
    operations: ['policy.add-enforcer'],
  },
  {
    method: 'GET',
    path: `${UAC}/network-access/radius-clients/radius-client/<client>`,
    statuses: [200],
    answer: { name: 'c', 'location-group': 'Default' },
    operations: ['policy.get-radius-client', 'policy.ensure-radius-client'],
  },
  {
    method: 'PUT',
    path: `${UAC}/network-access/radius-clients/radius-client/<client>`,
    body: { keys: ['name', 'location-group'] },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['policy.set-radius-client', 'policy.ensure-radius-client'],
  },
  { method: 'DELETE', path: `${UAC}/snmpEnforcement/clients/client/<client>`, statuses: [204], operations: ['policy.delete-snmp-client'] },
  {
    method: 'PUT',
    path: `${REALM}/authentication-policy/source-ip/customized`,
    body: { keys: ['customized'], needed: 1 },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['administrators.set-source-ip-mode'],
  },
  {
    method: 'POST',
    path: `${REALM}/authentication-policy/source-ip/ips/ip`,
    body: { keys: ['access', 'address', 'netmask'], needed: 3 },
    statuses: [201],
    answer: result('ok'),
    operations: ['administrators.add-source-ip'],
  },
  {
    method: 'PUT',
    path: `${REALM}/role-mapping-rules`,
    body: { keys: ['user-selects-role', 'user-selects-roleset', 'rule'] },
    statuses: [200],
    answer: result('ok'),
    operations: ['administrators.set-role-mapping'],
  },
  {
    method: 'PUT',
    path: `${CONFIGURATION}/administrators/admin-roles/admin-role/<role>/general/session-options`,
    body: { keys: ['idle-timeout', 'max-timeout', 'reminder-time'], needed: 1 },
    statuses: [200],
    answer: result('ok'),
    operations: ['administrators.set-session-options'],
  },
  {
    method: 'GET',
    path: `${AUTH_SERVER}/ad/server-catalog/groups`,
    statuses: [200],
    answer: adGroups,
    operations: ['groups.list', 'groups.add', 'groups.remove', 'groups.ensure'],
  },
  {
    method: 'PUT',
    path: `${AUTH_SERVER}/ad/server-catalog/groups`,
    body: { keys: ['ad-group'], needed: 1 },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['groups.replace', 'groups.add', 'groups.remove', 'groups.ensure', 'groups.clear'],
  },
  {
    method: 'GET',
    path: `${AUTH_SERVER}/ldap/server-catalog/groups`,
    statuses: [200],
    answer: { 'user-group': [{ dn: 'cn=a,dc=b', name: 'a', 'group-type': 'static' }] },
    operations: ['groups.list', 'groups.add', 'groups.remove', 'groups.ensure'],
  },
  {
    method: 'PUT',
    path: `${AUTH_SERVER}/ldap/server-catalog/groups`,
    body: { keys: ['user-group'], needed: 1 },
    statuses: [200, 204],
    answer: result('ok'),
    operations: ['groups.replace', 'groups.add', 'groups.remove', 'groups.ensure', 'groups.clear'],
  },
  {
    method: 'GET',
    path: `${CONFIGURATION}/authentication/endpoint/host-checker/esaps`,
    query: /^(expand)?(&&)?(exclude[A-Z]\w+Packages)?$/,
    statuses: [200],
    answer: { esap: [] },
    operations: ['system.esap-packages'],
  },
];
