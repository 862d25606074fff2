import type { WriteResult } from '../model/envelope';
import { GatewayError } from '../model/error';
import { area, boolean, op, required, subject, text, type Call } from '../model/operation';
import { at } from '../model/path';
import { isObject, type JsonObject } from '../model/json';
import { truth } from '../model/json-text';

const server = required(text('Auth server', 'Name of the local authentication server.', { example: 'System Local' }));
const username = required(text('User', 'User name of the local user.', { example: 'j.doe' }));
const password = text('Password', 'Password in clear; it is never given back.', { secret: true });

/** What a user has besides name and password; booleans travel as text (appliance-api.md, "Local user"). */
const settings = {
  fullname: text('Full name', 'Name shown to administrators.'),
  enabled: boolean('Enabled', 'Whether the user may sign in.'),
  'console-access': boolean('Console access', 'Whether the user may use the console.'),
  'change-password-at-signin': boolean('Change password', 'Whether a new password has to be chosen at the next sign-in.'),
  'one-time-use': boolean('One-time use', 'Whether the account is disabled after the first sign-in.'),
};

const collection = (server: string): string => at`/api/v1/configuration/authentication/auth-servers/auth-server/${server}/local/users/user`;
const user = (server: string, username: string): string => `${collection(server)}${at`/${username}`}`;

/** The user as the interface wants it: every value is text. */
function asTexts(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  const given = Object.entries(fields).filter((entry): entry is [string, string | boolean] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([key, value]) => [key, typeof value === 'boolean' ? truth(value) : value]));
}

/** Changes a user that is there. A PUT to a new path would create one, so it is read first; what was not named stays as it is. */
async function change(
  where: { server: string; username: string },
  changes: Readonly<Record<string, unknown>>,
  call: Call,
): Promise<WriteResult> {
  const changed = asTexts(changes);
  const path = user(where.server, where.username);
  const present = await call.read({ method: 'GET', path });
  if (Object.keys(changed).length === 0) return call.unchanged();
  // An old password, in whatever form an appliance shows it, must not meet a new one.
  const plain = Object.entries(withoutPassword(present)).filter(([, value]) => typeof value === 'string');
  return call.write({ method: 'PUT', path, body: { ...Object.fromEntries(plain), ...changed } });
}

/** Errors: `BAD_RESPONSE` when what stands there is no list of users. */
function usersOf(document: JsonObject): JsonObject[] {
  const list = document['user'] ?? [];
  const users: unknown[] = Array.isArray(list) ? list : [list];
  if (users.every(isObject)) return users.map(withoutPassword);
  throw new GatewayError('BAD_RESPONSE', 'The appliance answered a list of users that holds something else.', { sent: true });
}

function withoutPassword(user: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(user).filter(([name]) => !/^password-(cleartext|encrypted)$/.test(name)));
}

const example = { server: 'System Local', username: 'j.doe' };
const examplePath = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user';

/** Local users of an authentication server (appliance-api.md, "Generic configuration tree"). */
export const users = area({
  name: 'users',
  label: 'Gateway users',
  help: 'Manages the local users of an authentication server.',
  icon: 'gateway-users.svg',
  color: '#DEB887',
  operations: {
    list: op({
      effect: 'read',
      label: 'List users',
      help: 'All local users of one authentication server.',
      data: 'array of users',
      fields: { server: subject(server) },
      request: ({ server }) => ({ method: 'GET', path: collection(server) }),
      read: usersOf,
      example: { input: { server: 'System Local' }, request: `GET ${examplePath}` },
    }),
    get: op({
      effect: 'read',
      label: 'Get a user',
      help: 'One local user. The password is not part of it.',
      data: 'user',
      fields: { server, username: subject(username) },
      request: ({ server, username }) => ({ method: 'GET', path: user(server, username) }),
      read: withoutPassword,
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    create: op({
      effect: 'write',
      label: 'Create a user',
      help: 'Creates a local user. With One-time use the account serves a single sign-in.',
      data: 'result',
      fields: { server, username, 'password-cleartext': required(password), ...settings },
      request: ({ server, ...user }) => ({ method: 'POST', path: collection(server), body: asTexts(user) }),
      example: {
        input: { ...example, 'password-cleartext': 'correct horse', enabled: true },
        request: `POST ${examplePath}`,
        body: { username: 'j.doe', 'password-cleartext': 'correct horse', enabled: 'true' },
      },
    }),
    update: op({
      effect: 'write',
      label: 'Update a user',
      help: 'Changes fields of a user that exists; what is not given stays. It never creates one.',
      data: 'result',
      fields: { server, username, 'password-cleartext': password, ...settings },
      run: ({ server, username, ...changes }, call) => change({ server, username }, changes, call),
      example: { input: { ...example, fullname: 'Jane Doe' }, request: `GET ${examplePath}/j.doe` },
    }),
    enable: op({
      effect: 'write',
      label: 'Enable a user',
      help: 'Lets a user sign in again. It never creates one.',
      data: 'result',
      fields: { server, username: subject(username) },
      run: (where, call) => change(where, { enabled: true }, call),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    disable: op({
      effect: 'write',
      label: 'Disable a user',
      help: 'Keeps a user from signing in. Sessions that are open stay open: end them with the sessions node.',
      data: 'result',
      fields: { server, username: subject(username) },
      run: (where, call) => change(where, { enabled: false }, call),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    delete: op({
      effect: 'destroy',
      label: 'Delete a user',
      help: 'Deletes a local user for good.',
      data: 'result',
      fields: { server, username: subject(username) },
      request: ({ server, username }) => ({ method: 'DELETE', path: user(server, username) }),
      example: { input: example, request: `DELETE ${examplePath}/j.doe` },
    }),
  },
});
