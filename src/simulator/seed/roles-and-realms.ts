import {
  type Json,
  type JsonObject,
  type BodyShape,
  ipv4Field,
  digitsField,
  flagField,
  netmaskField,
  listField,
  objectField,
  oneOfField,
  requiredField,
  textField,
  textListField,
} from '../body-shape';
import { type ResourceHooks, Collection, Resource, createBranch, toChildMap } from '../tree';
import type { Variants } from '../variants';

/** Roles and realms, of administrators and of users alike (appliance-api.md, "Admin realm objects"). */
const SOURCE_IP: BodyShape = {
  access: requiredField(oneOfField('allow', 'deny')),
  address: requiredField(ipv4Field),
  netmask: requiredField(netmaskField),
};

export function createSessionOptions(variants: Variants, extra: JsonObject = {}): Resource {
  const shape: BodyShape = {
    'idle-timeout': digitsField,
    ...(variants.sessionOptionsExtra ? { 'max-timeout': digitsField, 'reminder-time': digitsField } : {}),
  };
  const values: JsonObject = {
    'idle-timeout': '60',
    ...(variants.sessionOptionsExtra ? { 'max-timeout': '1440', 'reminder-time': '5' } : {}),
    ...extra,
  };
  return new Resource(values, new Map(), shape);
}

function createSourceIp(): Resource {
  const ips = new Collection('ip', 'address', () => new Resource({}, new Map(), SOURCE_IP));
  return new Resource({ customized: 'any-ip' }, toChildMap({ ips: createBranch({ ip: ips }) }), {
    customized: oneOfField('any-ip', 'selected-ip'),
  });
}

function createRuleShape(variants: Variants): BodyShape {
  const group = objectField({ 'group-names': requiredField(textListField) });
  const userName = objectField({ test: requiredField(textField), 'user-names': requiredField(textListField) });
  return {
    name: requiredField(textField),
    roles: requiredField(textListField),
    'stop-rules-processing': flagField,
    group,
    ...(variants.ruleUserNames ? { 'user-name': userName } : {}),
  };
}

const findRoleNames = (rules: Json | undefined): string[] =>
  Array.isArray(rules) ? rules.flatMap((rule) => (rule as { roles?: string[] }).roles ?? []) : [];

/** Role-mapping rules may name only roles that exist. */
function createMappingRules(variants: Variants, roles: () => Collection): Resource {
  const verify: ResourceHooks['verify'] = (values) => {
    const unknown = findRoleNames(values.rule).find((name) => !roles().items.has(name));
    return unknown === undefined ? undefined : `Reference error: the role ${unknown} does not exist.`;
  };
  const shape: BodyShape = {
    'user-selects-role': flagField,
    'user-selects-roleset': flagField,
    rule: listField(createRuleShape(variants)),
  };
  return new Resource({ 'user-selects-role': 'false', 'user-selects-roleset': 'false', rule: [] }, new Map(), shape, { verify });
}

interface RealmContext {
  variants: Variants;
  roles: () => Collection;
  servers: () => Collection;
}

export function createRealms(context: RealmContext): Collection {
  const verify: ResourceHooks['verify'] = (values) => {
    const server = values['authentication-server'];
    if (typeof server !== 'string' || context.servers().items.has(server)) return undefined;
    return `Reference error: the auth server ${server} does not exist.`;
  };
  const make = (): Resource =>
    new Resource(
      { description: '', 'authentication-server': 'System Local', 'editing-time': 0 },
      toChildMap({
        'authentication-policy': createBranch({ 'source-ip': createSourceIp(), password: new Resource({ 'minimum-length': 0 }) }),
        'role-mapping-rules': createMappingRules(context.variants, context.roles),
      }),
      { name: requiredField(textField), 'authentication-server': textField },
      { verify },
    );
  return new Collection('realm', 'name', make);
}

/** Creates a function that names the realm whose rules use a role. Such a role cannot be deleted. */
export function createRoleReferenceFinder(realm: () => Collection): (name: string) => string | undefined {
  return (name) => {
    for (const [realmName, item] of realm().items)
      if (findRoleNames(item.resource('role-mapping-rules').values.get('rule')).includes(name))
        return `Reference error: the role ${name} is used by the realm ${realmName}.`;
    return undefined;
  };
}

/** Adds a rule that gives `role` to all members of `group`. */
export function addRoleMappingRule(realm: Resource, role: string, group: string): void {
  realm
    .resource('role-mapping-rules')
    .values.set('rule', [
      { name: `${group} to ${role}`, roles: [role], 'stop-rules-processing': 'false', group: { 'group-names': [group] } },
    ]);
}
