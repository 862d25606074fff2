import { randomBytes } from 'node:crypto';
import { type JsonObject } from './fields';
import { type Reply, DeadKey, Refusal, htmlPage, json } from './reply';
import type { Call, Router } from './router';
import { addressAllowed, roleOf } from './realm';
import type { State } from './state';
import type { ApiKey, Pending } from './state/login';
import type { Collection, Resource } from './tree';

/** Login and API keys (appliance-api.md, "Authentication endpoints" and "Authentication"). */
interface Credentials {
  username: string;
  password: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function basic(header: string | undefined): Credentials {
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

export function headerOf(key: string): string {
  return `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
}

/** The key that a request presents, or 401. A key stands until its account, its lifetime or its role's timeouts end it (section "Authentication", 5). */
export function authorise(state: State, header: string | undefined, now: number): ApiKey {
  const key = header === undefined ? undefined : state.login.keys.get(header);
  if (!key || header === undefined) {
    basic(header);
    throw new DeadKey(401, 'Invalid or expired API key');
  }
  if (ended(state, key, now)) {
    state.login.keys.delete(header);
    throw new DeadKey(401, 'The API key has expired');
  }
  key.lastUsed = now;
  return key;
}

function ended(state: State, key: ApiKey, now: number): boolean {
  const { keyLifetimeMs } = state.settings;
  if (keyLifetimeMs !== undefined && now - key.issued >= keyLifetimeMs) return true;
  if (key.server !== undefined && !localUsers(state, key.server)?.items.has(key.username)) return true;
  const role = key.role === undefined ? undefined : adminRoles(state).items.get(key.role);
  if (!role) return false;
  const unit = state.variants.idleUnitMs;
  const options = role.resource('general', 'session-options');
  const past = (field: string, since: number): boolean => {
    const units = Number(options.values.get(field) ?? 0);
    return units > 0 && now - since >= units * unit;
  };
  return past('idle-timeout', key.lastUsed) || past('max-timeout', key.issued);
}

function wrongPassword(state: State, username: string, message: string): Refusal {
  const failures = (state.login.failures.get(username) ?? 0) + 1;
  state.login.failures.set(username, failures);
  return new Refusal(
    state.variants.wrongPasswordStatus,
    failures >= state.variants.lockAfter ? 'The account is locked after too many failed logins' : message,
  );
}

const adminRoles = (state: State): Collection => state.configuration.collection('administrators', 'admin-roles', 'admin-role');
const authServer = (state: State, name: string): Resource | undefined =>
  state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.get(name);

function localUsers(state: State, serverName: string): Collection | undefined {
  const server = authServer(state, serverName);
  return server?.children.has('local') ? server.collection('local', 'users', 'user') : undefined;
}

/** Checks a password against the auth server of the realm; directories know the one administrator of the options. */
function verify(state: State, serverName: string, { username, password }: Credentials): Resource | undefined {
  if ((state.login.failures.get(username) ?? 0) >= state.variants.lockAfter)
    throw new Refusal(401, 'The account is locked after too many failed logins');
  const server = authServer(state, serverName);
  const type = server?.text('auth-server-type') ?? '';
  if (!server || type === 'saml' || type === 'oauth') throw new Refusal(401, 'The auth server of this realm does not support REST login');
  const account = localUsers(state, serverName)?.items.get(username);
  const expected =
    type === 'local' ? account?.text('password-cleartext') : username === state.settings.username ? state.settings.password : undefined;
  if (expected === undefined || expected !== password) throw wrongPassword(state, username, 'Invalid username or password');
  if (account && account.text('enabled') !== 'true') throw new Refusal(401, 'The account is disabled');
  if (!state.variants.restAccess) throw new Refusal(403, 'The account does not allow REST API access');
  return account;
}

function realmOf(state: State, name: string): Resource {
  const realm = state.configuration.collection('administrators', 'admin-realms', 'realm').items.get(name);
  if (!realm) throw new Refusal(401, 'Invalid realm');
  return realm;
}

function firstStep(call: Call, realmName: string): Reply {
  const { state } = call;
  state.login.attempts++;
  const credentials = basic(call.headers.authorization);
  const realm = realmOf(state, realmName);
  if (!addressAllowed(realm, call.remoteAddress)) throw new Refusal(403, 'Login to this realm is not allowed from this address');
  verify(state, realm.text('authentication-server'), credentials);
  if (state.variants.loginAnswer === 'neither') return json({});
  const steps = state.settings.secondFactor ? (state.settings.secondFactor.steps ?? 1) : 0;
  return proceed(state, { username: credentials.username, realm: realmName, left: steps });
}

/** The next round, or the key when none is left. */
function proceed(state: State, login: Pending): Reply {
  if (login.left <= 0) {
    state.login.failures.delete(login.username);
    return json({ api_key: issue(state, login.username, login.realm) });
  }
  const resumeId = randomBytes(16).toString('hex');
  state.login.pending.set(resumeId, login);
  return json({ resume_id: resumeId });
}

function secondStep(call: Call, resumeId: string): Reply {
  const { state } = call;
  const { password } = basic(call.headers.authorization);
  const login = state.login.pending.get(resumeId);
  // Each id serves one answer, right or wrong: a client must not be able to try codes on one id.
  state.login.pending.delete(resumeId);
  if (!login) throw new Refusal(401, 'The resume_id is unknown or has expired');
  const factor = state.settings.secondFactor;
  const now = Date.now() + state.variants.clockAhead * 1000;
  const right =
    factor?.totpSecret === undefined ? password === factor?.password : state.login.totp.accept(factor.totpSecret, password, now);
  if (!right) throw wrongPassword(state, login.username, 'The second factor was refused');
  return proceed(state, { ...login, left: login.left - 1 });
}

function issue(state: State, username: string, realmName: string | undefined): string {
  const realm = realmName === undefined ? undefined : realmOf(state, realmName);
  const server = realm ? realm.text('authentication-server') : 'Administrators';
  const role = realm && roleOf(state, realm, username);
  if (realm && !role) throw new Refusal(403, 'No role is mapped to this administrator in this realm');
  const key = randomBytes(32).toString('base64');
  const header = headerOf(key);
  const now = Date.now();
  state.login.keys.set(header, {
    key,
    username,
    realm: realmName,
    role: role?.text('name'),
    server: localUsers(state, server) ? server : undefined,
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

/** What answers at the address of the user portal, which knows nothing of this interface. */
function portalAnswer(call: Call): Reply | undefined {
  const { loginAnswer } = call.state.variants;
  if (loginAnswer !== 'redirect' && loginAnswer !== 'page') return undefined;
  call.state.login.attempts++;
  if (loginAnswer === 'page') return htmlPage(200, 'Please sign in.');
  return { ...htmlPage(302, 'The sign-in page is elsewhere.'), headers: { location: '/portal/sign-in' } };
}

function realmAuth(call: Call): Reply {
  const portal = portalAnswer(call);
  if (portal) return portal;
  const body: JsonObject = call.body;
  const names = Object.keys(body).join();
  if (names === 'realm' && typeof body.realm === 'string') return firstStep(call, body.realm);
  if (names === 'resume_id' && typeof body.resume_id === 'string') return secondStep(call, body.resume_id);
  throw new Refusal(400, 'The body must hold either realm or resume_id, a string, and nothing else');
}

/** Deprecated, without a realm: the administrators auth server only, and no second step. */
function legacyAuth(call: Call): Reply {
  const portal = portalAnswer(call);
  if (portal) return portal;
  const { state } = call;
  const { legacyLogin } = state.variants;
  if (legacyLogin === 'unsupported') throw new Refusal(404, 'The resource /api/v1/auth does not exist.');
  if (legacyLogin !== 'both' && legacyLogin !== call.method.toLowerCase())
    throw new Refusal(state.variants.wrongMethodStatus, `${call.method} is not supported on this path`);
  state.login.attempts++;
  const credentials = basic(call.headers.authorization);
  verify(state, 'Administrators', credentials);
  if (state.settings.secondFactor) throw new Refusal(401, 'This account needs a second factor: log in at /api/v1/realm_auth');
  state.login.failures.delete(credentials.username);
  return json({ api_key: issue(state, credentials.username, undefined) });
}

export function loginRoutes(router: Router): void {
  const open = (): boolean => true;
  router.add('POST', 'realm_auth', realmAuth, { body: 'json', open });
  router.add('POST', 'auth', legacyAuth, { body: 'optional', open });
  router.add('GET', 'auth', legacyAuth, { open });
}
