import { createHash } from 'node:crypto';
import { type JsonObject, type BodyShape, checkBody, flagField, oneOfField, requiredField, textListField } from './body-shape';
import { type Reply, Refusal, infoReply, jsonReply } from './reply';
import type { ApiRequest, Router } from './router';
import { LICENSED_APPLIANCES, type NamedUser } from './state/license';

/** License leases and named users (appliance-api.md, "License", "License lease information", "Named user"). */
const isLicenseServer = (request: ApiRequest): boolean => request.state.settings.role === 'license-server';

function toOwnUser(user: NamedUser): JsonObject {
  return { IP: user.ip, 'Last Agent Type': user.agent, 'Last Role': user.role.split(', '), 'Last Sign in': user.at, User: user.user };
}

function toLeasedUser(user: NamedUser): JsonObject {
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

/** On a client or an independent appliance, the client kind of a user does not matter. */
function uniqueUsers(users: readonly NamedUser[]): NamedUser[] {
  return [...new Map(users.map((user) => [user.user, user])).values()];
}

function readKind(request: ApiRequest): string {
  const { gatewayKind, policyKind } = request.state.settings;
  if (![gatewayKind, policyKind].includes(request.parameter))
    throw new Refusal(404, `The client kind ${request.parameter} does not exist.`);
  return request.parameter;
}

const usersOfKind = (request: ApiRequest, kind: string): JsonObject => ({
  'named-users': request.state.license.users.filter((user) => user.kind === kind).map(toLeasedUser),
});

function namedUsers(request: ApiRequest): Reply {
  const { gatewayKind, policyKind } = request.state.settings;
  if (!isLicenseServer(request)) return jsonReply({ 'named-users': uniqueUsers(request.state.license.users).map(toOwnUser) });
  return jsonReply({ [gatewayKind]: usersOfKind(request, gatewayKind), [policyKind]: usersOfKind(request, policyKind) });
}

function namedUsersOfKind(request: ApiRequest): Reply {
  if (!isLicenseServer(request)) throw new Refusal(404, 'Named users by client kind do not exist: this appliance is not a license server.');
  return jsonReply(usersOfKind(request, readKind(request)));
}

const REMOVAL: BodyShape = { action: requiredField(oneOfField('remove', 'remove-all')), users: textListField };

/** Returns the users to remove. `users` is ignored with remove-all (rule 2), and must otherwise name existing users. */
function findUsersToRemove(request: ApiRequest, users: readonly NamedUser[]): ReadonlySet<string> {
  const names = new Set(users.map((user) => user.user));
  if (request.body.action === 'remove-all') return names;
  const requestedUsers = (request.body.users ?? []) as string[];
  if (requestedUsers.length === 0) throw new Refusal(422, 'Validation failed: users is missing or empty');
  const unknown = requestedUsers.find((user) => !names.has(user));
  if (unknown !== undefined) throw new Refusal(422, `The named user ${unknown} does not exist.`);
  return new Set(requestedUsers);
}

function removeOfKind(request: ApiRequest): Reply {
  if (!isLicenseServer(request)) throw new Refusal(422, 'This request is for a license server only.');
  const kind = readKind(request);
  checkBody(request.body, REMOVAL);
  const { license, variants } = request.state;
  const removed = findUsersToRemove(
    request,
    license.users.filter((user) => user.kind === kind),
  );
  license.users = license.users.filter((user) => user.kind !== kind || !removed.has(user.user));
  return infoReply(variants, 200, request.body.action === 'remove-all' ? 'Deleted all users' : 'Deleted users');
}

function removeOwn(request: ApiRequest): Reply {
  if (isLicenseServer(request)) throw new Refusal(422, 'This request is for a license client or an independent appliance only.');
  checkBody(request.body, { ...REMOVAL, 'delete-active-sessions': flagField });
  const { license, sessions, variants } = request.state;
  const removed = findUsersToRemove(request, license.users);
  license.users = license.users.filter((user) => !removed.has(user.user));
  const withSessions = request.body['delete-active-sessions'] === 'true';
  if (withSessions) sessions.endUsers(removed);
  if (request.body.action === 'remove-all') return infoReply(variants, 200, 'Deleted all users');
  return infoReply(variants, 200, withSessions ? 'Deleted users and their sessions' : 'Deleted users');
}

function leaseInformation(request: ApiRequest): Reply {
  const { settings, system } = request.state;
  if (settings.role === 'license-client') throw new Refusal(404, 'Lease information does not exist: this appliance is a license client.');
  const clients = isLicenseServer(request) ? LICENSED_APPLIANCES.map((name, index) => ({ name, 'leased-count': 50 * (index + 1) })) : [];
  const feature = ['Concurrent Users', 'Named Users'].map((name, index) => ({
    name,
    'total-count': 1000 * (index + 1),
    clients: { 'client-info': clients },
  }));
  return jsonReply({
    'leased-license-counts': {
      features: { feature },
      'machine-id': createHash('sha256').update(settings.name).digest('hex').slice(0, 20).toUpperCase(),
      'query-summary': {},
      'release-info': { 'build-number': system.build, version: system.release },
      'serial-number': isLicenseServer(request) ? system.serialNumber : null,
      signature: createHash('sha256').update(`signature ${settings.name}`).digest('base64'),
      'time-stamp': new Date().toUTCString(),
    },
  });
}

function pullState(request: ApiRequest): Reply {
  if (isLicenseServer(request)) throw new Refusal(422, 'A license server has no client lease state to pull.');
  checkBody(request.body, {});
  return infoReply(request.state.variants, 200, 'Success');
}

export function addLicenseRoutes(router: Router): void {
  router.add('GET', 'license/license-server-lease-information', leaseInformation);
  router.add('PUT', 'license/license-client-lease-state', pullState, { body: 'json' });
  router.add('GET', 'license/named-users', namedUsers);
  router.add('PUT', 'license/named-users', removeOwn, { body: 'json' });
  router.add('GET', 'license/named-users/*', namedUsersOfKind);
  router.add('PUT', 'license/named-users/*', removeOfKind, { body: 'json' });
}
