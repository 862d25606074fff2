import type { SessionRealm } from '../generated-sessions';
import { type ConfigurationCopy, USER_REALMS, findCollection, findMappedRoles } from './build-copy';
import { findLocalUsers } from './copy-login';

const SERVER_TYPES: Readonly<Record<string, string>> = {
  local: 'Local Authentication',
  ad: 'Active Directory',
  ldap: 'LDAP Server',
  totp: 'TOTP Server',
};

/** The realms of a copy with the people who can sign in there. Empty if the copy has no realm of users. */
export function listSessionRealms({ root }: ConfigurationCopy): SessionRealm[] {
  const servers = findCollection(root, ['authentication', 'auth-servers', 'auth-server']);
  const roles = [...(findCollection(root, ['users', 'user-roles', 'user-role'])?.items.keys() ?? [])];
  return [...(findCollection(root, USER_REALMS)?.items ?? [])].map(([name, realm]) => {
    const { 'authentication-server': server } = Object.fromEntries(realm.fields());
    const serverName = typeof server === 'string' ? server : '';
    const item = servers?.items.get(serverName);
    const { 'auth-server-type': type } = Object.fromEntries(item?.fields() ?? []);
    const mapped = [...new Set(findMappedRoles(realm))];
    return {
      name,
      server: serverName,
      type: typeof type === 'string' ? (SERVER_TYPES[type] ?? type) : '',
      roles: (mapped.length > 0 ? mapped : roles.slice(0, 1)).join(', '),
      users: [...(findLocalUsers(root, serverName)?.items.keys() ?? [])],
    };
  });
}
