import { createHash } from 'node:crypto';
import { type JsonObject, type Shape, checkBody, flag, oneOf, required, texts } from './fields';
import { type Reply, Refusal, info, json } from './reply';
import type { Call, Router } from './router';
import { APPLIANCES, type NamedUser } from './state/license';

/** License leases and named users (appliance-api.md, "License", "License lease information", "Named user"). */
const onServer = (call: Call): boolean => call.state.settings.role === 'license-server';

function ownUser(user: NamedUser): JsonObject {
  return { IP: user.ip, 'Last Agent Type': user.agent, 'Last Role': user.role.split(', '), 'Last Sign in': user.at, User: user.user };
}

function leasedUser(user: NamedUser): JsonObject {
  return {
    Appliance: user.appliance,
    'Last Login IP': user.ip,
    'Last Login time': user.at,
    'Login Realm': user.realm,
    Role: user.role,
    User: user.user,
    'User Agent': user.agent,
  };
}

/** On a client or an independent appliance every user is its own, whatever the kind. */
function own(users: readonly NamedUser[]): NamedUser[] {
  return [...new Map(users.map((user) => [user.user, user])).values()];
}

function kindOf(call: Call): string {
  const { gatewayKind, policyKind } = call.state.settings;
  if (![gatewayKind, policyKind].includes(call.parameter)) throw new Refusal(404, `The client kind ${call.parameter} does not exist.`);
  return call.parameter;
}

const ofKind = (call: Call, kind: string): JsonObject => ({
  'named-users': call.state.license.users.filter((user) => user.kind === kind).map(leasedUser),
});

function namedUsers(call: Call): Reply {
  const { gatewayKind, policyKind } = call.state.settings;
  if (!onServer(call)) return json({ 'named-users': own(call.state.license.users).map(ownUser) });
  return json({ [gatewayKind]: ofKind(call, gatewayKind), [policyKind]: ofKind(call, policyKind) });
}

function namedUsersOfKind(call: Call): Reply {
  if (!onServer(call)) throw new Refusal(404, 'Named users by client kind do not exist: this appliance is not a license server.');
  return json(ofKind(call, kindOf(call)));
}

const REMOVAL: Shape = { action: required(oneOf('remove', 'remove-all')), users: texts };

/** Who is to be removed: `users` is ignored with remove-all (rule 2), and must name existing users otherwise. */
function victims(call: Call, among: readonly NamedUser[]): ReadonlySet<string> {
  const names = new Set(among.map((user) => user.user));
  if (call.body.action === 'remove-all') return names;
  const users = (call.body.users ?? []) as string[];
  if (users.length === 0) throw new Refusal(422, 'Validation failed: users is missing or empty');
  const unknown = users.find((user) => !names.has(user));
  if (unknown !== undefined) throw new Refusal(422, `The named user ${unknown} does not exist.`);
  return new Set(users);
}

function removeOfKind(call: Call): Reply {
  if (!onServer(call)) throw new Refusal(422, 'This request is for a license server only.');
  const kind = kindOf(call);
  checkBody(call.body, REMOVAL);
  const { license, variants } = call.state;
  const gone = victims(
    call,
    license.users.filter((user) => user.kind === kind),
  );
  license.users = license.users.filter((user) => user.kind !== kind || !gone.has(user.user));
  return info(variants, 200, call.body.action === 'remove-all' ? 'Deleted all users' : 'Deleted users');
}

function removeOwn(call: Call): Reply {
  if (onServer(call)) throw new Refusal(422, 'This request is for a license client or an independent appliance only.');
  checkBody(call.body, { ...REMOVAL, 'delete-active-sessions': flag });
  const { license, sessions, variants } = call.state;
  const gone = victims(call, license.users);
  license.users = license.users.filter((user) => !gone.has(user.user));
  const withSessions = call.body['delete-active-sessions'] === 'true';
  if (withSessions) sessions.endOf(gone);
  if (call.body.action === 'remove-all') return info(variants, 200, 'Deleted all users');
  return info(variants, 200, withSessions ? 'Deleted users and their sessions' : 'Deleted users');
}

function leaseInformation(call: Call): Reply {
  const { settings, system } = call.state;
  if (settings.role === 'license-client') throw new Refusal(404, 'Lease information does not exist: this appliance is a license client.');
  const clients = onServer(call) ? APPLIANCES.map((name, index) => ({ name, 'leased-count': 50 * (index + 1) })) : [];
  const feature = ['Concurrent Users', 'Named Users'].map((name, index) => ({
    name,
    'total-count': 1000 * (index + 1),
    clients: { 'client-info': clients },
  }));
  return json({
    'leased-license-counts': {
      features: { feature },
      'machine-id': createHash('sha256').update(settings.name).digest('hex').slice(0, 20).toUpperCase(),
      'query-summary': {},
      'release-info': { 'build-number': system.build, version: system.release },
      'serial-number': onServer(call) ? system.serialNumber : null,
      signature: createHash('sha256').update(`signature ${settings.name}`).digest('base64'),
      'time-stamp': new Date().toUTCString(),
    },
  });
}

function pullState(call: Call): Reply {
  if (onServer(call)) throw new Refusal(422, 'A license server has no client lease state to pull.');
  checkBody(call.body, {});
  return info(call.state.variants, 200, 'Success');
}

export function licenseRoutes(router: Router): void {
  router.add('GET', 'license/license-server-lease-information', leaseInformation);
  router.add('PUT', 'license/license-client-lease-state', pullState, { body: 'json' });
  router.add('GET', 'license/named-users', namedUsers);
  router.add('PUT', 'license/named-users', removeOwn, { body: 'json' });
  router.add('GET', 'license/named-users/*', namedUsersOfKind);
  router.add('PUT', 'license/named-users/*', removeOfKind, { body: 'json' });
}
