/** An operation and its input. */
export type WriteStep = readonly [operation: string, input: Record<string, unknown>];

const ROLES = ['users', 'user-roles', 'user-role'];
const SERVERS = ['authentication', 'auth-servers', 'auth-server'];
const LOCAL = 'System Local';

/** Valid writes of every kind; each `round` writes the same to other resources. */
export function createMixedWrites(count: number): WriteStep[] {
  const steps: WriteStep[] = [];
  for (let round = 0; steps.length < count; round++) steps.push(...ofRound(round));
  return steps.slice(0, count);
}

function ofRound(round: number): WriteStep[] {
  const role = `Role ${round} / Ä`;
  const user = `user-${round}`;
  const server = `Server ${round}`;
  const group = (name: string) => ({ name, group: `CORP\\${name}` });
  return [
    ['config.create', { path: ROLES, body: { name: role, description: 'new' } }],
    ['config.update', { path: [...ROLES, role], body: { description: `round ${round}` } }],
    ['config.update', { path: [...ROLES, role, 'general', 'session-options'], body: { 'idle-timeout': String(20 + round) } }],
    ['config.update', { path: [...ROLES, 'Users', 'description'], body: { description: `round ${round}` } }],
    ['users.create', { server: LOCAL, username: user, 'password-cleartext': 's3cret-word', fullname: 'New' }],
    ['users.update', { server: LOCAL, username: user, fullname: 'Newer', enabled: false }],
    ['users.disable', { server: LOCAL, username: 'contractor1' }],
    ['users.enable', { server: LOCAL, username: 'contractor1' }],
    ['users.ensure', { server: LOCAL, username: 'contractor1', fullname: `Round ${round}` }],
    ['users.delete', { server: LOCAL, username: user }],
    ['groups.add', { server: 'Corp AD', directory: 'ad', groups: [group(`Group ${round}`)] }],
    ['groups.replace', { server: 'Partner LDAP', directory: 'ldap', groups: [{ dn: `cn=g${round}`, name: 'g', 'group-type': 'static' }] }],
    ['policy.set-radius-client', { name: `Switch ${round}/1`, client: { 'location-group': 'Default' } }],
    ['policy.ensure-radius-client', { name: 'Switch Hall 1', client: { 'location-group': `Hall ${round}` } }],
    ['config.ensure', { path: [...SERVERS, server], body: { 'auth-server-type': 'local', description: 'trial' } }],
    ['users.create', { server, username: 'inner', 'password-cleartext': 's3cret-word' }],
    ['config.delete', { path: [...SERVERS, server] }],
    ['config.delete', { path: [...ROLES, role] }],
    ['administrators.set-session-options', { role: '.Administrators', 'idle-timeout': String(30 + round) }],
    ['administrators.add-source-ip', { realm: 'Admin Users', address: `198.51.100.${round}`, netmask: '255.255.255.255' }],
  ];
}
