import {
  type Json,
  type JsonObject,
  type Shape,
  address,
  digits,
  flag,
  netmask,
  list,
  object,
  oneOf,
  required,
  text,
  texts,
} from '../fields';
import { type Hooks, Collection, Resource, branch, children } from '../tree';
import type { Variants } from '../variants';

/** Roles and realms, of administrators and of users alike (appliance-api.md, "Admin realm objects"). */
const SOURCE_IP: Shape = { access: required(oneOf('allow', 'deny')), address: required(address), netmask: required(netmask) };

export function sessionOptions(variants: Variants, extra: JsonObject = {}): Resource {
  const shape: Shape = {
    'idle-timeout': digits,
    ...(variants.sessionOptionsExtra ? { 'max-timeout': digits, 'reminder-time': digits } : {}),
  };
  const values: JsonObject = {
    'idle-timeout': '60',
    ...(variants.sessionOptionsExtra ? { 'max-timeout': '1440', 'reminder-time': '5' } : {}),
    ...extra,
  };
  return new Resource(values, new Map(), shape);
}

function sourceIp(): Resource {
  const ips = new Collection('ip', 'address', () => new Resource({}, new Map(), SOURCE_IP));
  return new Resource({ customized: 'any-ip' }, children({ ips: branch({ ip: ips }) }), { customized: oneOf('any-ip', 'selected-ip') });
}

function ruleShape(variants: Variants): Shape {
  const group = object({ 'group-names': required(texts) });
  const userName = object({ test: required(text), 'user-names': required(texts) });
  return {
    name: required(text),
    roles: required(texts),
    'stop-rules-processing': flag,
    group,
    ...(variants.ruleUserNames ? { 'user-name': userName } : {}),
  };
}

const rolesIn = (rules: Json | undefined): string[] =>
  Array.isArray(rules) ? rules.flatMap((rule) => (rule as { roles?: string[] }).roles ?? []) : [];

/** Role-mapping rules may name only roles that exist. */
function mappingRules(variants: Variants, roles: () => Collection): Resource {
  const verify: Hooks['verify'] = (values) => {
    const unknown = rolesIn(values.rule).find((name) => !roles().items.has(name));
    return unknown === undefined ? undefined : `Reference error: the role ${unknown} does not exist.`;
  };
  const shape: Shape = { 'user-selects-role': flag, 'user-selects-roleset': flag, rule: list(ruleShape(variants)) };
  return new Resource({ 'user-selects-role': 'false', 'user-selects-roleset': 'false', rule: [] }, new Map(), shape, { verify });
}

export interface RealmContext {
  variants: Variants;
  roles: () => Collection;
  servers: () => Collection;
}

export function realms(context: RealmContext): Collection {
  const verify: Hooks['verify'] = (values) => {
    const server = values['authentication-server'];
    if (typeof server !== 'string' || context.servers().items.has(server)) return undefined;
    return `Reference error: the auth server ${server} does not exist.`;
  };
  const make = (): Resource =>
    new Resource(
      { description: '', 'authentication-server': 'System Local', 'editing-time': 0 },
      children({
        'authentication-policy': branch({ 'source-ip': sourceIp(), password: new Resource({ 'minimum-length': 0 }) }),
        'role-mapping-rules': mappingRules(context.variants, context.roles),
      }),
      { name: required(text), 'authentication-server': text },
      { verify },
    );
  return new Collection('realm', 'name', make);
}

/** The realm whose rules use a role, as a sentence: the role can't be deleted then. */
export function roleUsedBy(realm: () => Collection): (name: string) => string | undefined {
  return (name) => {
    for (const [realmName, item] of realm().items)
      if (rolesIn(item.resource('role-mapping-rules').values.get('rule')).includes(name))
        return `Reference error: the role ${name} is used by the realm ${realmName}.`;
    return undefined;
  };
}

/** One rule that gives `role` to everybody in `group`. */
export function mapRole(realm: Resource, role: string, group: string): void {
  realm
    .resource('role-mapping-rules')
    .values.set('rule', [
      { name: `${group} to ${role}`, roles: [role], 'stop-rules-processing': 'false', group: { 'group-names': [group] } },
    ]);
}
