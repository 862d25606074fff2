import { result, type Row } from './row';

const CERTIFICATES = '/api/v1/system/certificates';

const session = {
  'session-id': 'sid1',
  'active-user-name': 'j.doe',
  'authentication-realm': 'Contractors',
  'source-ip': '203.0.113.9',
  'apex-client-version': '22.7',
};
const sessions = {
  'active-users': {
    'active-user-records': { 'active-user-record': [session] },
    'total-matched-record-number': 1,
    'total-returned-record-number': 1,
    'user-login-permission': true,
  },
  'is-last-record': true,
};

/** Sessions, licenses, certificates, system and cluster. */
export const serviceRows: readonly Row[] = [
  // Active sessions
  {
    method: 'GET',
    path: '/api/v1/system/active-users',
    query: /^(name=[^&]+&)?number=200&start=\d+$/,
    statuses: [200],
    answer: sessions,
    operations: [
      'sessions.list',
      'sessions.kill-user',
      'sessions.kill-matching',
      'system.esap-packages',
      'system.metrics',
      'contain.contain',
    ],
  },
  {
    method: 'DELETE',
    path: '/api/v1/system/active-users/session/<session_id>',
    statuses: [204],
    operations: ['sessions.kill', 'sessions.kill-user', 'sessions.kill-matching', 'contain.contain'],
  },
  { method: 'DELETE', path: '/api/v1/system/active-users', query: /^all$/, statuses: [204], operations: ['sessions.kill-all'] },

  // License
  {
    method: 'GET',
    path: '/api/v1/license/license-server-lease-information',
    statuses: [200],
    answer: { 'leased-license-counts': {} },
    operations: ['license.lease-info', 'system.metrics', 'audit.run'],
  },
  {
    method: 'PUT',
    path: '/api/v1/license/license-client-lease-state',
    body: { keys: [] },
    statuses: [200],
    answer: result('Success'),
    operations: ['license.pull-state'],
  },
  {
    method: 'GET',
    path: '/api/v1/license/named-users',
    statuses: [200],
    answer: { 'named-users': [] },
    operations: ['license.list-named-users'],
  },
  {
    method: 'GET',
    path: '/api/v1/license/named-users/<client_kind>',
    statuses: [200],
    answer: { 'named-users': [] },
    operations: ['license.list-named-users'],
  },
  {
    method: 'PUT',
    path: '/api/v1/license/named-users/<client_kind>',
    body: { keys: ['action', 'users'], needed: 2 },
    statuses: [200],
    answer: result('Deleted users'),
    operations: ['license.remove-named-users', 'license.remove-all-named-users'],
  },
  {
    method: 'PUT',
    path: '/api/v1/license/named-users',
    body: { keys: ['action', 'users', 'delete-active-sessions'], needed: 2 },
    statuses: [200],
    answer: result('Deleted users'),
    operations: ['license.remove-named-users', 'license.remove-all-named-users'],
  },

  // Certificates
  {
    method: 'POST',
    path: `${CERTIFICATES}/device-certificates`,
    body: { keys: ['cert', 'password', 'internal-interfaces', 'external-interfaces', 'management-interface'], needed: 2 },
    statuses: [201],
    answer: result('Operation completed'),
    operations: ['certificates.upload'],
  },
  {
    method: 'POST',
    path: `${CERTIFICATES}/device-certificate-csrs`,
    body: { keys: ['subject-common-name', 'key-type', 'ecc-curve'], needed: 3 },
    statuses: [201],
    answer: result('CSR vpn created', `Upload to ${CERTIFICATES}/device-certificate-csrs/vpn%201/certificate`),
    operations: ['certificates.create-csr'],
  },
  {
    method: 'POST',
    path: `${CERTIFICATES}/device-certificate-csrs/<csr_name>/certificate`,
    body: { keys: 'any' },
    statuses: [200, 201, 204],
    answer: result('ok'),
    operations: ['certificates.upload-signed'],
  },
  { method: 'DELETE', path: `${CERTIFICATES}/device-certificates/<subject_name>`, statuses: [204], operations: ['certificates.delete'] },

  // System
  {
    method: 'GET',
    path: '/api/v1/system/system-information',
    statuses: [200],
    answer: { 'system-information': { 'host-name': 'h', 'serial-number': 'S1' } },
    operations: ['system.info', 'system.support-bundle', 'backup.run', 'backup.restore', 'snapshot.take', 'snapshot.revert', 'audit.run'],
  },
  {
    method: 'GET',
    path: '/api/v1/system/healthcheck',
    query: /^(status=(all|sbr))?$/,
    statuses: [200],
    answer: { 'USER-COUNT': 1 },
    operations: ['system.health', 'system.metrics', 'audit.run'],
  },
  {
    method: 'GET',
    path: '/api/v1/system/status/ntp',
    statuses: [200],
    answer: { 'ntp-server-status': { '192.0.2.1': { stratum: '2' } } },
    operations: ['system.ntp-status'],
  },
  {
    method: 'GET',
    path: '/api/v1/system/user-stats',
    statuses: [200],
    answer: { 'user-stats': { 'current-user-count': '5' } },
    operations: ['system.user-statistics'],
  },
  {
    method: 'PUT',
    path: '/api/v1/totp/<server>/users/<username>',
    query: /^operation=reset$/,
    statuses: [200],
    answer: result('ok'),
    operations: ['users.reset-one-time-password'],
  },

  // Cluster
  {
    method: 'GET',
    path: '/api/v1/cluster',
    statuses: [200],
    answer: { name: 'c', members: [] },
    operations: ['cluster.status', 'system.metrics', 'audit.run'],
  },
  {
    method: 'PUT',
    path: '/api/v1/cluster',
    body: { keys: ['cluster-name', 'cluster-password', 'member-name', 'action'], needed: 4 },
    fixed: { action: 'create' },
    statuses: [200],
    answer: result('created cluster successfully'),
    operations: ['cluster.create'],
  },
  {
    method: 'PUT',
    path: '/api/v1/cluster',
    body: { keys: ['cluster-name', 'cluster-password', 'member-address', 'action'], needed: 4 },
    fixed: { action: 'join' },
    statuses: [200],
    answer: result('joined cluster successfully'),
    operations: ['cluster.join'],
  },
  {
    method: 'PUT',
    path: '/api/v1/cluster',
    body: { keys: ['action'], needed: 1 },
    fixed: { action: 'vip-failover' },
    statuses: [200],
    answer: result('VIP fail-over initiated'),
    operations: ['cluster.failover'],
  },
  {
    method: 'POST',
    path: '/api/v1/cluster/members',
    body: {
      keys: 'member-name member-ip member-netmask member-gateway member-external-ip member-external-netmask member-external-gateway'.split(
        ' ',
      ),
      needed: 7,
    },
    statuses: [200, 201],
    answer: result('added member to cluster successfully'),
    operations: ['cluster.add-member'],
  },
  {
    method: 'DELETE',
    path: '/api/v1/cluster/members/<member>',
    statuses: [200],
    answer: result('removed member from cluster successfully'),
    operations: ['cluster.remove-member'],
  },
];
