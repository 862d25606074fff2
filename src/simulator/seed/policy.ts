import { type Shape, filledText, flag, object, required, text, texts } from '../fields';
import type { Settings } from '../options';
import { type Child, Collection, Resource, branch, children } from '../tree';

/** The policy appliance's `uac` subtree (appliance-api.md, "Configuration root", "Enforcer connection", "RADIUS client"). */
function enforcers(vendor: string): Collection {
  const shape: Shape = {
    name: required(filledText),
    'serial-number': required(texts),
    'severity-filter': text,
    'use-idp': flag,
    'idp-for-local-sessions-only': flag,
    [`${vendor}os`]: object({ 'location-group': text, 'password-encrypted': text }),
  };
  return new Collection(`${vendor}-enforcer`, 'name', () => new Resource({}, new Map(), shape));
}

/** Location groups to which clients refer. */
function named(itemName: string, shape: Shape, defaults: Record<string, string> = {}): Collection {
  return new Collection(itemName, 'name', () => new Resource(defaults, new Map(), { name: required(filledText), ...shape }));
}

export function policy(settings: Settings): Resource {
  const { vendor } = settings;
  const enforcer = enforcers(vendor);
  enforcer.add({
    name: 'fw-core-1',
    'serial-number': ['AB1234567890'],
    'severity-filter': 'medium',
    'use-idp': 'false',
    'idp-for-local-sessions-only': 'false',
  });
  const radius = named('radius-client', { 'location-group': text }, { 'location-group': 'Default' });
  radius.add({ name: 'Switch Hall 1', 'location-group': 'Default' });
  radius.add({ name: 'WLAN Büro/EU #2', 'location-group': 'Guest' });
  const snmp = named('client', { 'ip-address': text, community: text }, { 'ip-address': '', community: 'public' });
  for (const name of ['access-switch-1', 'access switch 2']) snmp.add({ name, 'ip-address': '192.0.2.10' });
  const parts: Record<string, Child> = {
    admissionControl: branch({ policies: branch({ policy: named('policy', { enabled: flag }, { enabled: 'true' }) }) }),
    'host-enforcer': branch({ policies: branch({ policy: named('policy', { enabled: flag }, { enabled: 'true' }) }) }),
    [`${vendor}-enforcer`]: branch({ connections: branch({ [`${vendor}-enforcer`]: enforcer }) }),
    'mac-address-realms': branch({ realm: named('realm', { description: text }, { description: '' }) }),
    'network-access': branch({ 'radius-clients': branch({ 'radius-client': radius }) }),
    snmpEnforcement: branch({ clients: branch({ client: snmp }) }),
  };
  if (settings.variants.uac === 'device-administration') parts.networkDeviceAdministration = new Resource({ enabled: 'disabled' });
  return new Resource({}, children(parts));
}
