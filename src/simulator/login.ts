import { randomBytes } from 'node:crypto';
import { type JsonObject } from './body-shape';
import { checkCopyAdministrator, findLocalUsers as findLocalUsersOf } from './copy/copy-login';
import { type Reply, ExpiredKey, Refusal, htmlReply, jsonReply } from './reply';
import type { ApiRequest, Router } from './router';
import { isAddressAllowed, findMappedRole } from './realm';
import type { ApplianceState } from './state';
import type { ApiKey, LoginInProgress } from './state/login';
import type { Collection, Resource } from './tree';

/** Login and API keys (appliance-api.md, "Authentication endpoints" and "Authentication"). */
interface Credentials {
  username: string;
  password: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseBasicCredentials(header: string | undefined): Credentials {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) throw new Refusal(401, 'Basic credentials are required');
  let decoded: string;
  try {
    decoded = utf8.decode(Buffer.from(encoded, 'base64'));
  } catch {
    throw new Refusal(401, 'The credentials are not UTF-8');
  }
  const colon = decoded.indexOf(':');
  if (colon < 0) throw new Refusal(401, 'The credentials hold no colon');
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function toKeyHeader(key: string): string {
  return `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
}

/** Returns the valid key of a request, or throws 401 (section "Authentication", 5). */
export function authorizeRequest(state: ApplianceState, header: string | undefined, now: number): ApiKey {
  const key = header === undefined ? undefined : state.login.keys.get(header);
  if (!key || header === undefined) {
    parseBasicCredentials(header);
    throw new ExpiredKey(401, 'Invalid or expired API key');
  }
  if (isEnded(state, key, now)) {
    state.login.keys.delete(header);
    throw new ExpiredKey(401, 'The API key has expired');
  }
  key.lastUsed = now;
  return key;
}

function isEnded(state: ApplianceState, key: ApiKey, now: number): boolean {
  const { keyLifetimeMs } = state.settings;
  if (keyLifetimeMs !== undefined && now - key.issued >= keyLifetimeMs) return true;
  if (key.server !== undefined && !findLocalUsers(state, key.server)?.items.has(key.username)) return true;
  const role = key.role === undefined || state.copy ? undefined : getAdminRoles(state).items.get(key.role);
  if (!role) return false;
  const unit = state.variants.idleUnitMs;
  const options = role.resource('general', 'session-options');
  const isPast = (field: string, since: number): boolean => {
    const units = Number(options.values.get(field) ?? 0);
    return units > 0 && now - since >= units * unit;
  };
  return isPast('idle-timeout', key.lastUsed) || isPast('max-timeout', key.issued);
}

function createWrongPasswordRefusal(state: ApplianceState, username: string, message: string): Refusal {
  const failures = (state.login.failures.get(username) ?? 0) + 1;
  state.login.failures.set(username, failures);
  return new Refusal(
    state.variants.wrongPasswordStatus,
    failures >= state.variants.lockAfter ? 'The account is locked after too many failed logins' : message,
  );
}

const getAdminRoles = (state: ApplianceState): Collection => state.configuration.collection('administrators', 'admin-roles', 'admin-role');
const findAuthServer = (state: ApplianceState, name: string): Resource | undefined =>
  state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.get(name);

const findLocalUsers = (state: ApplianceState, serverName: string): Collection | undefined =>
  findLocalUsersOf(state.configuration, serverName);

/** Checks a password with the auth server of the realm. Directories have only the administrator of the options. */
function verifyPassword(state: ApplianceState, serverName: string, { username, password }: Credentials): Resource | undefined {
  if ((state.login.failures.get(username) ?? 0) >= state.variants.lockAfter)
    throw new Refusal(401, 'The account is locked after too many failed logins');
  const server = findAuthServer(state, serverName);
  const type = server?.text('auth-server-type') ?? '';
  if (!server || type === 'saml' || type === 'oauth') throw new Refusal(401, 'The auth server of this realm does not support REST login');
  const account = findLocalUsers(state, serverName)?.items.get(username);
  const expected =
    type === 'local' ? account?.text('password-cleartext') : username === state.settings.username ? state.settings.password : undefined;
  if (expected === undefined || expected !== password) throw createWrongPasswordRefusal(state, username, 'Invalid username or password');
  if (account && account.text('enabled') !== 'true') throw new Refusal(401, 'The account is disabled');
  if (!state.variants.restAccess) throw new Refusal(403, 'The account does not allow REST API access');
  return account;
}

function getRealm(state: ApplianceState, name: string): Resource {
  const realm = state.configuration.collection('administrators', 'admin-realms', 'realm').items.get(name);
  if (!realm) throw new Refusal(401, 'Invalid realm');
  return realm;
}

function firstStep(request: ApiRequest, realmName: string): Reply {
  const { state } = request;
  state.login.attempts++;
  const credentials = parseBasicCredentials(request.headers.authorization);
  if (state.copy) return copyLogin(state, credentials, realmName);
  const realm = getRealm(state, realmName);
  if (!isAddressAllowed(realm, request.remoteAddress)) throw new Refusal(403, 'Login to this realm is not allowed from this address');
  verifyPassword(state, realm.text('authentication-server'), credentials);
  return afterFirstStep(state, credentials.username, realmName);
}

function afterFirstStep(state: ApplianceState, username: string, realm: string): Reply {
  if (state.variants.loginAnswer === 'neither') return jsonReply({});
  const steps = state.settings.secondFactor ? (state.settings.secondFactor.steps ?? 1) : 0;
  return nextStep(state, { username, realm, remainingSteps: steps });
}

/** The options hold the administrator of a copy, because snapshots contain no password. */
function copyLogin(state: ApplianceState, { username, password }: Credentials, realm: string): Reply {
  const { copy, settings, login, variants } = state;
  if ((login.failures.get(username) ?? 0) >= variants.lockAfter)
    throw new Refusal(401, 'The account is locked after too many failed logins');
  if (username !== settings.username || password !== settings.password)
    throw createWrongPasswordRefusal(state, username, 'Invalid username or password');
  if (copy) checkCopyAdministrator(copy, copy.administrator, realm, settings);
  if (!variants.restAccess) throw new Refusal(403, 'The account does not allow REST API access');
  return afterFirstStep(state, username, realm);
}

/** Returns the next login step, or the key after the last one. */
function nextStep(state: ApplianceState, login: LoginInProgress): Reply {
  if (login.remainingSteps <= 0) {
    state.login.failures.delete(login.username);
    return jsonReply({ api_key: issueKey(state, login.username, login.realm) });
  }
  const resumeId = randomBytes(16).toString('hex');
  state.login.pending.set(resumeId, login);
  return jsonReply({ resume_id: resumeId });
}

function secondStep(request: ApiRequest, resumeId: string): Reply {
  const { state } = request;
  const { password } = parseBasicCredentials(request.headers.authorization);
  const login = state.login.pending.get(resumeId);
  // Each id accepts one answer, right or wrong, so that a client cannot try several codes with one id.
  state.login.pending.delete(resumeId);
  if (!login) throw new Refusal(401, 'The resume_id is unknown or has expired');
  const factor = state.settings.secondFactor;
  const now = Date.now() + state.variants.clockAhead * 1000;
  const isCorrect =
    factor?.totpSecret === undefined ? password === factor?.password : state.login.totp.accept(factor.totpSecret, password, now);
  if (!isCorrect) throw createWrongPasswordRefusal(state, login.username, 'The second factor was refused');
  return nextStep(state, { ...login, remainingSteps: login.remainingSteps - 1 });
}

function issueKey(state: ApplianceState, username: string, realmName: string | undefined): string {
  const realm = realmName === undefined || state.copy ? undefined : getRealm(state, realmName);
  const server = state.copy ? state.copy.administrator.server : realm ? realm.text('authentication-server') : 'Administrators';
  const role = realm && findMappedRole(state, realm, username);
  if (realm && !role) throw new Refusal(403, 'No role is mapped to this administrator in this realm');
  const key = randomBytes(32).toString('base64');
  const header = toKeyHeader(key);
  const now = Date.now();
  state.login.keys.set(header, {
    key,
    username,
    realm: realmName,
    role: role?.text('name'),
    server: server !== undefined && findLocalUsers(state, server) ? server : undefined,
    issued: now,
    lastUsed: now,
  });
  if (state.variants.ownSession) {
    const own = {
      'active-user-name': username,
      'authentication-realm': realmName ?? 'Admin Users',
      'user-roles': '.Administrators',
      'agent-type': 'REST',
      'source-ip': '127.0.0.1',
    };
    state.sessions.add(own, () => state.login.keys.delete(header));
  }
  return key;
}

/** Answers like the user portal, which does not have this interface. */
function portalReply(request: ApiRequest): Reply | undefined {
  const { loginAnswer } = request.state.variants;
  if (loginAnswer !== 'redirect' && loginAnswer !== 'page') return undefined;
  request.state.login.attempts++;
  if (loginAnswer === 'page') return htmlReply(200, 'Please sign in.');
  return { ...htmlReply(302, 'The sign-in page is elsewhere.'), headers: { location: '/portal/sign-in' } };
}

function realmAuth(request: ApiRequest): Reply {
  const portal = portalReply(request);
  if (portal) return portal;
  const body: JsonObject = request.body;
  const names = Object.keys(body).join();
  if (names === 'realm' && typeof body.realm === 'string') return firstStep(request, body.realm);
  if (names === 'resume_id' && typeof body.resume_id === 'string') return secondStep(request, body.resume_id);
  throw new Refusal(400, 'The body must hold either realm or resume_id, a string, and nothing else');
}

/** Deprecated, without a realm: the administrators auth server only, and no second step. */
function legacyAuth(request: ApiRequest): Reply {
  const portal = portalReply(request);
  if (portal) return portal;
  const { state } = request;
  const { legacyLogin } = state.variants;
  if (legacyLogin === 'unsupported') throw new Refusal(404, 'The resource /api/v1/auth does not exist.');
  if (legacyLogin !== 'both' && legacyLogin !== request.method.toLowerCase())
    throw new Refusal(state.variants.wrongMethodStatus, `${request.method} is not supported on this path`);
  state.login.attempts++;
  const credentials = parseBasicCredentials(request.headers.authorization);
  if (state.copy) copyLogin(state, credentials, state.settings.realm);
  else verifyPassword(state, 'Administrators', credentials);
  if (state.settings.secondFactor) throw new Refusal(401, 'This account needs a second factor: log in at /api/v1/realm_auth');
  state.login.failures.delete(credentials.username);
  return jsonReply({ api_key: issueKey(state, credentials.username, undefined) });
}

export function addLoginRoutes(router: Router): void {
  const isPublic = (): boolean => true;
  router.add('POST', 'realm_auth', realmAuth, { body: 'json', isPublic });
  router.add('POST', 'auth', legacyAuth, { body: 'optional', isPublic });
  router.add('GET', 'auth', legacyAuth, { isPublic });
}
