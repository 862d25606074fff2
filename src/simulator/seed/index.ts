import { filledText, required } from '../fields';
import type { Settings } from '../options';
import { Collection, Resource, branch, children } from '../tree';
import { mapRole, realms, roleUsedBy, sessionOptions } from './access';
import { authServers, authentication } from './authentication';
import { largeTree } from './large-tree';
import { policy } from './policy';

/** A freshly installed appliance with a little life in it (appliance-api.md, "Configuration root"). */
function adminRoles(settings: Settings, usedBy: (name: string) => string | undefined): Collection {
  const make = (): Resource =>
    new Resource(
      { description: '' },
      children({
        general: branch({ 'session-options': sessionOptions(settings.variants), 'ui-options': new Resource({ theme: 'default' }) }),
        'system-tasks': new Resource({ access: 'write' }),
      }),
      { name: required(filledText) },
    );
  return new Collection('admin-role', 'name', make, usedBy);
}

function userRoles(settings: Settings, usedBy: (name: string) => string | undefined): Collection {
  const make = (): Resource =>
    new Resource(
      { description: '' },
      children({
        general: branch({
          overview: new Resource({ web: 'enabled', files: 'disabled', 'network-connect': 'enabled' }),
          'session-options': sessionOptions(settings.variants, { roaming: 'disabled', 'persistent-session': 'enabled', 'split-tunnel': 0 }),
        }),
      }),
      { name: required(filledText) },
    );
  return new Collection('user-role', 'name', make, usedBy);
}

function system(settings: Settings): Resource {
  const port = (address: string): Resource =>
    new Resource({ 'ip-address': address, netmask: '255.255.255.0', 'default-gateway': address.replace(/\d+$/, '1'), 'ipv6-enabled': 0 });
  return branch({
    network: branch({
      overview: new Resource({ 'node-name': settings.name, 'dns-domain': 'example.com' }),
      'internal-port': port('10.10.0.10'),
      'external-port': port('203.0.113.10'),
      'management-port': port('10.20.0.10'),
    }),
    log: branch({
      events: new Resource({ 'max-log-size': 200, 'log-login': 'enabled' }),
      syslog: new Resource({ enabled: 'false', server: '' }),
    }),
    configuration: branch({
      'date-and-time': new Resource({ 'time-zone': 'Europe/Berlin', 'ntp-server': 'pool.ntp.org' }),
      security: new Resource({ 'min-tls': 'TLSv1.2' }),
    }),
  });
}

/** `onSwitch` hears of a local account that was enabled or disabled: its API keys end. */
export function seedConfiguration(settings: Settings, onSwitch: (username: string) => void): Resource {
  const { variants } = settings;
  const serverUsedBy = (name: string): string | undefined => {
    for (const collection of [adminRealms, userRealms])
      for (const [realm, item] of collection.items)
        if (item.text('authentication-server') === name) return `Reference error: the auth server ${name} is used by the realm ${realm}.`;
    return undefined;
  };
  const servers: Collection = authServers(variants, serverUsedBy, onSwitch);
  const adminRole: Collection = adminRoles(
    settings,
    roleUsedBy(() => adminRealms),
  );
  const userRole: Collection = userRoles(
    settings,
    roleUsedBy(() => userRealms),
  );
  const adminRealms: Collection = realms({ variants, roles: () => adminRole, servers: () => servers });
  const userRealms: Collection = realms({ variants, roles: () => userRole, servers: () => servers });
  const authTree = authentication(settings, servers);

  for (const name of ['.Administrators', '.Read-Only Administrators', 'Helpdesk']) adminRole.add({ name });
  const logins = { [settings.realm]: 'Administrators', 'Directory Admins': 'Corp AD', 'SAML Admins': 'Corp SAML' };
  for (const [name, server] of Object.entries(logins))
    mapRole(adminRealms.add({ name, 'authentication-server': server }), '.Administrators', 'Gateway Admins');

  for (const name of ['Users', 'Intranet', 'Contractors', 'Partner Portal', 'Büro #1/EU & 50%', '.Administrators', 'Unused'])
    userRole.add({ name });
  const people = {
    Employees: ['Corp AD', 'Users'],
    Contractors: ['System Local', 'Contractors'],
    Partners: ['Partner LDAP', 'Partner Portal'],
    'Büro #1 / EU': ['Corp AD', 'Büro #1/EU & 50%'],
  } as const;
  for (const [name, [server, role]] of Object.entries(people))
    mapRole(userRealms.add({ name, 'authentication-server': server }), role, 'VPN Users');

  const tree: Record<string, Resource> = {
    administrators: branch({ 'admin-realms': branch({ realm: adminRealms }), 'admin-roles': branch({ 'admin-role': adminRole }) }),
    authentication: authTree,
    system: system(settings),
    users: branch({
      'user-realms': branch({ realm: userRealms }),
      'user-roles': branch({ 'user-role': userRole }),
      ...(variants.largeTree > 0 && { 'resource-policies': largeTree(variants.largeTree) }),
    }),
  };
  if (variants.uac !== 'absent') tree.uac = policy(settings);
  const root = branch(tree);
  root.unlisted.add('uac');
  return root;
}
