import { type BodyShape, nonEmptyTextField, flagField, objectField, requiredField, textField, textListField } from '../body-shape';
import type { SimulatorSettings } from '../options';
import { type TreeNode, Collection, Resource, createBranch, toChildMap } from '../tree';

/** The policy appliance's `uac` subtree (appliance-api.md, "Configuration root", "Enforcer connection", "RADIUS client"). */
function createEnforcers(vendor: string): Collection {
  const shape: BodyShape = {
    name: requiredField(nonEmptyTextField),
    'serial-number': requiredField(textListField),
    'severity-filter': textField,
    'use-idp': flagField,
    'idp-for-local-sessions-only': flagField,
    [`${vendor}os`]: objectField({ 'location-group': textField, 'password-encrypted': textField }),
  };
  return new Collection(`${vendor}-enforcer`, 'name', () => new Resource({}, new Map(), shape));
}

/** Location groups to which clients refer. */
function createNamedCollection(itemName: string, shape: BodyShape, defaults: Record<string, string> = {}): Collection {
  return new Collection(itemName, 'name', () => new Resource(defaults, new Map(), { name: requiredField(nonEmptyTextField), ...shape }));
}

export function createPolicyTree(settings: SimulatorSettings): Resource {
  const { vendor } = settings;
  const enforcer = createEnforcers(vendor);
  enforcer.add({
    name: 'fw-core-1',
    'serial-number': ['AB1234567890'],
    'severity-filter': 'medium',
    'use-idp': 'false',
    'idp-for-local-sessions-only': 'false',
  });
  const radius = createNamedCollection('radius-client', { 'location-group': textField }, { 'location-group': 'Default' });
  radius.add({ name: 'Switch Hall 1', 'location-group': 'Default' });
  radius.add({ name: 'WLAN Büro/EU #2', 'location-group': 'Guest' });
  const snmp = createNamedCollection(
    'client',
    { 'ip-address': textField, community: textField },
    { 'ip-address': '', community: 'public' },
  );
  for (const name of ['access-switch-1', 'access switch 2']) snmp.add({ name, 'ip-address': '192.0.2.10' });
  const parts: Record<string, TreeNode> = {
    admissionControl: createBranch({
      policies: createBranch({ policy: createNamedCollection('policy', { enabled: flagField }, { enabled: 'true' }) }),
    }),
    'host-enforcer': createBranch({
      policies: createBranch({ policy: createNamedCollection('policy', { enabled: flagField }, { enabled: 'true' }) }),
    }),
    [`${vendor}-enforcer`]: createBranch({ connections: createBranch({ [`${vendor}-enforcer`]: enforcer }) }),
    'mac-address-realms': createBranch({ realm: createNamedCollection('realm', { description: textField }, { description: '' }) }),
    'network-access': createBranch({ 'radius-clients': createBranch({ 'radius-client': radius }) }),
    snmpEnforcement: createBranch({ clients: createBranch({ client: snmp }) }),
  };
  if (settings.variants.uac === 'device-administration') parts.networkDeviceAdministration = new Resource({ enabled: 'disabled' });
  return new Resource({}, toChildMap(parts));
}
