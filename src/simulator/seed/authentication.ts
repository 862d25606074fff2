import { createHash } from 'node:crypto';
import {
  type JsonObject,
  type BodyShape,
  booleanField,
  nonEmptyTextField,
  flagField,
  isObject,
  listField,
  oneOfField,
  requiredField,
  secretField,
  textField,
} from '../body-shape';
import type { SimulatorSettings } from '../options';
import type { Variants } from '../variants';
import { type TreeNode, Collection, Resource, createBranch, toChildMap } from '../tree';

/** Authentication servers with their users and catalogs, and the host checker's ESAP packages. */
const SWITCHES = { enabled: 'true', 'console-access': 'false', 'change-password-at-signin': 'false', 'one-time-use': 'false' };

/** Additional fields of a user of a policy appliance (field notes, "Local users"). */
const POLICY_FIELDS: JsonObject = { 'user-timezone': '', guestcreatedby: '', 'attributes-table': {} };

/** "Local user": all values are strings. `onSwitch` is called when an account is enabled or disabled. */
function createLocalUsers({ userFields }: Variants, onSwitch: (username: string) => void): Collection {
  const more = userFields === 'policy' ? POLICY_FIELDS : {};
  const shape: BodyShape = {
    username: requiredField(nonEmptyTextField),
    fullname: textField,
    'password-cleartext': requiredField(secretField(nonEmptyTextField)),
    ...Object.fromEntries(Object.keys(SWITCHES).map((name) => [name, flagField])),
  };
  const make = (): Resource => {
    const user: Resource = new Resource({ fullname: '', ...SWITCHES, ...more }, new Map(), shape, {
      onChange: (fields) => {
        if (fields.includes('enabled')) onSwitch(user.text('username'));
      },
    });
    return user;
  };
  return new Collection('user', 'username', make);
}

/** An AD knows the id of each of its groups; it is optional in a PUT ("AD group catalog"). */
function addSids(values: JsonObject): JsonObject {
  const groups = values['ad-group'];
  if (!Array.isArray(groups)) return values;
  return {
    ...values,
    'ad-group': groups.map((group) => (isObject(group) ? { ...group, sid: group.sid ?? toSid(JSON.stringify(group.name)) } : group)),
  };
}

function toSid(name: string): string {
  const digest = createHash('sha256').update(name).digest();
  return `S-1-5-21-1004336348-1177238915-682003330-${1000 + (digest.readUInt32BE(0) % 900_000)}`;
}

function createCatalog(type: 'ad' | 'ldap'): Resource {
  const ad: BodyShape = {
    'ad-group': requiredField(listField({ group: requiredField(textField), name: requiredField(textField), sid: textField })),
  };
  const ldap: BodyShape = {
    'user-group': requiredField(
      listField({ dn: requiredField(textField), 'group-type': requiredField(textField), name: requiredField(textField) }),
    ),
  };
  const groups =
    type === 'ad'
      ? new Resource({ 'ad-group': [] }, new Map(), ad, { prepare: addSids })
      : new Resource({ 'user-group': [] }, new Map(), ldap);
  return createBranch({ 'server-catalog': createBranch({ groups }) });
}

const TYPES = ['local', 'ad', 'ldap', 'radius', 'totp', 'saml', 'oauth'];

export function createAuthServers(
  variants: Variants,
  findReference: (name: string) => string | undefined,
  onSwitch: (username: string) => void,
): Collection {
  const make = (body: JsonObject): Resource => {
    const parts: Record<string, TreeNode> = {};
    const type = body['auth-server-type'] ?? 'local';
    if (type === 'local')
      parts.local = createBranch({
        settings: new Resource({ 'password-minimum-length': 8 }),
        users: createBranch({ user: createLocalUsers(variants, onSwitch) }),
      });
    if (type === 'ad' || type === 'ldap') parts[type] = createCatalog(type);
    return new Resource({ 'auth-server-type': 'local', description: '' }, toChildMap(parts), {
      name: requiredField(nonEmptyTextField),
      'auth-server-type': oneOfField(...TYPES),
    });
  };
  return new Collection('auth-server', 'name', make, findReference);
}

function createEsaps(settings: SimulatorSettings): Resource {
  const packages = new Collection(
    'esap',
    'esap-version',
    () =>
      new Resource({ 'last-activated-time': 'Never', 'upload-time': '', bundled: false }, new Map(), {
        'esap-version': requiredField(textField),
        bundled: secretField(booleanField),
      }),
  );
  packages.add({ 'esap-version': '4.3.8', 'last-activated-time': 'Mon Jan 12 09:14:03 2026', 'upload-time': 'Mon Jan 12 09:12:41 2026' });
  packages.add({ 'esap-version': '4.0.5', 'last-activated-time': 'Never', 'upload-time': 'Tue Sep 30 14:02:11 2025' });
  packages.add({ 'esap-version': '3.9.2', 'last-activated-time': 'Never', 'upload-time': 'Sun Jun 01 00:00:00 2025', bundled: true });
  return new Resource(
    {
      'active-version': '4.3.8',
      'default-version': '3.9.2',
      'force-same-esap': 'false',
      [`${settings.thirdParty}-sdk-version`]: '4.3.3217.0',
    },
    toChildMap({ esap: packages }),
  );
}

export function createAuthentication(settings: SimulatorSettings, servers: Collection): Resource {
  const administrators = servers.add({ name: 'Administrators', 'auth-server-type': 'local' }).collection('local', 'users', 'user');
  administrators.add({
    username: settings.username,
    fullname: 'REST administrator',
    'password-cleartext': settings.password,
    'console-access': 'true',
  });
  administrators.add({ username: 'admin', fullname: 'Administrator', 'password-cleartext': 'unused-password', 'console-access': 'true' });
  const local = servers.add({ name: 'System Local', 'auth-server-type': 'local' }).collection('local', 'users', 'user');
  for (const [username, fullname] of [
    ['contractor1', 'Carla Contractor'],
    ['jürgen.müller', 'Jürgen Müller'],
    ['guest 50% / #1', 'Guest & Co'],
  ] as const)
    local.add({ username, fullname, 'password-cleartext': `initial-${fullname.length}` });
  const ad = servers.add({ name: 'Corp AD', 'auth-server-type': 'ad' }).resource('ad', 'server-catalog', 'groups');
  ad.values.set(
    'ad-group',
    ['Domain Users', 'VPN Users', 'Gateway Admins'].map((name) => ({ group: `CORP\\${name}`, name, sid: toSid(JSON.stringify(name)) })),
  );
  const ldap = servers.add({ name: 'Partner LDAP', 'auth-server-type': 'ldap' }).resource('ldap', 'server-catalog', 'groups');
  ldap.values.set(
    'user-group',
    ['partners', 'suppliers'].map((name) => ({ dn: `cn=${name},ou=groups,dc=example,dc=com`, 'group-type': 'static', name })),
  );
  servers.add({ name: 'Second Factor TOTP', 'auth-server-type': 'totp' });
  servers.add({ name: 'Corp SAML', 'auth-server-type': 'saml' });
  return createBranch({
    'auth-servers': createBranch({ 'auth-server': servers }),
    endpoint: createBranch({
      'host-checker': createBranch({ esaps: createEsaps(settings), options: new Resource({ 'auto-update': 'enabled', interval: 10 }) }),
    }),
    signin: createBranch({ urls: createBranch({ 'access-url': createSignInUrls() }) }),
  });
}

function createSignInUrls(): Collection {
  const urls = new Collection(
    'access-url',
    'url-pattern',
    () => new Resource({ enabled: 'true', description: '' }, new Map(), { 'url-pattern': requiredField(nonEmptyTextField) }),
  );
  urls.add({ 'url-pattern': '*/', description: 'Users' });
  urls.add({ 'url-pattern': '*/admin/', description: 'Administrators' });
  return urls;
}
