import { BlockList, isIP, isIPv4 } from 'node:net';
import { type Json, isObject } from './body-shape';
import type { ApplianceState } from './state';
import type { Resource } from './tree';

/** Applies the settings of an admin realm (appliance-api.md, "Admin realm objects" and "Authentication", 9 and 10). */
const toPlainAddress = (address: string): string => address.replace(/^::ffff:/, '');

/** Source-IP restriction: with `selected-ip`, an address needs an `allow` entry, and a `deny` entry takes precedence. */
export function isAddressAllowed(realm: Resource, remote: string): boolean {
  const source = realm.resource('authentication-policy', 'source-ip');
  if (source.text('customized') !== 'selected-ip') return true;
  const lists = { allow: new BlockList(), deny: new BlockList() };
  for (const entry of source.collection('ips', 'ip').items.values()) {
    const access = entry.text('access') === 'deny' ? 'deny' : 'allow';
    lists[access].addSubnet(entry.text('address'), toPrefixLength(entry.text('netmask')));
  }
  const address = toPlainAddress(remote);
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  return isIP(address) > 0 && lists.allow.check(address, family) && !lists.deny.check(address, family);
}

function toPrefixLength(netmask: string): number {
  return [
    ...netmask
      .split('.')
      .map((part) => Number(part).toString(2))
      .join(''),
  ].filter((bit) => bit === '1').length;
}

/** Finds the role of a user by the rules of the realm. The first rule that applies decides. */
export function findMappedRole(state: ApplianceState, realm: Resource, username: string): Resource | undefined {
  const rules = realm.resource('role-mapping-rules').values.get('rule');
  if (!Array.isArray(rules)) return undefined;
  const rule = rules.find((candidate) => isObject(candidate) && isRuleApplicable(state, candidate, username));
  const name = isObject(rule) && Array.isArray(rule.roles) ? rule.roles[0] : undefined;
  return typeof name === 'string'
    ? state.configuration.collection('administrators', 'admin-roles', 'admin-role').items.get(name)
    : undefined;
}

function isRuleApplicable(state: ApplianceState, rule: { [key: string]: Json }, username: string): boolean {
  const group = rule.group;
  if (isObject(group) && Array.isArray(group['group-names'])) {
    const member = state.login.groups.get(username);
    if (member && !group['group-names'].some((name) => typeof name === 'string' && member.has(name))) return false;
  }
  const user = rule['user-name'];
  if (isObject(user) && Array.isArray(user['user-names'])) {
    const named = user['user-names'].includes(username) || user['user-names'].includes('*');
    if (named === (user.test === 'is-not')) return false;
  }
  return true;
}
