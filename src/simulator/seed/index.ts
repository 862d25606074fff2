import { nonEmptyTextField, requiredField } from '../body-shape';
import type { SimulatorSettings } from '../options';
import { Collection, Resource, createBranch, toChildMap } from '../tree';
import { addRoleMappingRule, createRealms, createRoleReferenceFinder, createSessionOptions } from './roles-and-realms';
import { createAuthServers, createAuthentication } from './authentication';
import { createLargeTree } from './large-tree';
import { createPolicyTree } from './policy-appliance';

/** Creates the configuration of a new appliance with some users, roles and realms (appliance-api.md, "Configuration root"). */
function createAdminRoles(settings: SimulatorSettings, findReference: (name: string) => string | undefined): Collection {
  const make = (): Resource =>
    new Resource(
      { description: '' },
      toChildMap({
        general: createBranch({
          'session-options': createSessionOptions(settings.variants),
          'ui-options': new Resource({ theme: 'default' }),
        }),
        'system-tasks': new Resource({ access: 'write' }),
      }),
      { name: requiredField(nonEmptyTextField) },
    );
  return new Collection('admin-role', 'name', make, findReference);
}

function createUserRoles(settings: SimulatorSettings, findReference: (name: string) => string | undefined): Collection {
  const make = (): Resource =>
    new Resource(
      { description: '' },
      toChildMap({
        general: createBranch({
          overview: new Resource({ web: 'enabled', files: 'disabled', 'network-connect': 'enabled' }),
          'session-options': createSessionOptions(settings.variants, {
            roaming: 'disabled',
            'persistent-session': 'enabled',
            'split-tunnel': 0,
          }),
        }),
      }),
      { name: requiredField(nonEmptyTextField) },
    );
  return new Collection('user-role', 'name', make, findReference);
}

function createSystem(settings: SimulatorSettings): Resource {
  const port = (address: string): Resource =>
    new Resource({ 'ip-address': address, netmask: '255.255.255.0', 'default-gateway': address.replace(/\d+$/, '1'), 'ipv6-enabled': 0 });
  return createBranch({
    network: createBranch({
      overview: new Resource({ 'node-name': settings.name, 'dns-domain': 'example.com' }),
      'internal-port': port('10.10.0.10'),
      'external-port': port('203.0.113.10'),
      'management-port': port('10.20.0.10'),
    }),
    log: createBranch({
      events: new Resource({ 'max-log-size': 200, 'log-login': 'enabled' }),
      syslog: new Resource({ enabled: 'false', server: '' }),
    }),
    configuration: createBranch({
      'date-and-time': new Resource({ 'time-zone': 'Europe/Berlin', 'ntp-server': 'pool.ntp.org' }),
      security: new Resource({ 'min-tls': 'TLSv1.2' }),
    }),
  });
}

/** `onSwitch` is called when a local account is enabled or disabled, because its API keys end. */
export function seedConfiguration(settings: SimulatorSettings, onSwitch: (username: string) => void): Resource {
  const { variants } = settings;
  const findServerReference = (name: string): string | undefined => {
    for (const collection of [adminRealms, userRealms])
      for (const [realm, item] of collection.items)
        if (item.text('authentication-server') === name) return `Reference error: the auth server ${name} is used by the realm ${realm}.`;
    return undefined;
  };
  const servers: Collection = createAuthServers(variants, findServerReference, onSwitch);
  const adminRole: Collection = createAdminRoles(
    settings,
    createRoleReferenceFinder(() => adminRealms),
  );
  const userRole: Collection = createUserRoles(
    settings,
    createRoleReferenceFinder(() => userRealms),
  );
  const adminRealms: Collection = createRealms({ variants, roles: () => adminRole, servers: () => servers });
  const userRealms: Collection = createRealms({ variants, roles: () => userRole, servers: () => servers });
  const authTree = createAuthentication(settings, servers);

  for (const name of ['.Administrators', '.Read-Only Administrators', 'Helpdesk']) adminRole.add({ name });
  const logins = { [settings.realm]: 'Administrators', 'Directory Admins': 'Corp AD', 'SAML Admins': 'Corp SAML' };
  for (const [name, server] of Object.entries(logins))
    addRoleMappingRule(adminRealms.add({ name, 'authentication-server': server }), '.Administrators', 'Gateway Admins');

  for (const name of ['Users', 'Intranet', 'Contractors', 'Partner Portal', 'Büro #1/EU & 50%', '.Administrators', 'Unused'])
    userRole.add({ name });
  const people = {
    Employees: ['Corp AD', 'Users'],
    Contractors: ['System Local', 'Contractors'],
    Partners: ['Partner LDAP', 'Partner Portal'],
    'Büro #1 / EU': ['Corp AD', 'Büro #1/EU & 50%'],
  } as const;
  for (const [name, [server, role]] of Object.entries(people))
    addRoleMappingRule(userRealms.add({ name, 'authentication-server': server }), role, 'VPN Users');

  const tree: Record<string, Resource> = {
    administrators: createBranch({
      'admin-realms': createBranch({ realm: adminRealms }),
      'admin-roles': createBranch({ 'admin-role': adminRole }),
    }),
    authentication: authTree,
    system: createSystem(settings),
    users: createBranch({
      'user-realms': createBranch({ realm: userRealms }),
      'user-roles': createBranch({ 'user-role': userRole }),
      ...(variants.largeTree > 0 && { 'resource-policies': createLargeTree(variants.largeTree) }),
    }),
  };
  if (variants.uac !== 'absent') tree.uac = createPolicyTree(settings);
  const root = createBranch(tree);
  root.unlisted.add('uac');
  return root;
}
