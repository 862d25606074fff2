import { missingOk } from '../../change/missing-ok';
import { area, boolean, names, number, object, op, required, subject, text } from '../../model/operation';
import { LocalUsers } from './local-users';
import { eachUser, ensureUsers } from './several';

const server = required(
  text('Auth server', 'Name of the local authentication server.', { example: 'System Local', names: 'local-server' }),
);
const username = required(text('User', 'User name of the local user.', { example: 'j.doe', names: 'local-user' }));
const password = text('Password', 'Password in clear; it is never given back.', { secret: true });

/** What a user has besides name and password; booleans travel as text (appliance-api.md, "Local user"). */
const settings = {
  fullname: text('Full name', 'Name shown to administrators.'),
  enabled: boolean('Enabled', 'Whether the user may sign in.'),
  'console-access': boolean('Console access', 'Whether the user may use the console.'),
  'change-password-at-signin': boolean('Change password', 'Whether a new password has to be chosen at the next sign-in.'),
  'one-time-use': boolean('One-time use', 'Whether the account is disabled after the first sign-in.'),
};

const own = { 'password-cleartext': { ...password, perItem: true } as const, ...settings };
const more = object('More', 'Further fields of a user that this release has, such as `user-timezone`; sent as they are.', {
  example: { 'user-timezone': 'Europe/Berlin' },
});
const max = number('Most users', 'When an array has more users than this, nothing is done (LIMIT).', {
  guard: true,
  default: 25,
  range: 'count',
});
/** For the operations on one user or several. */
const several = subject(
  required(
    names('User', 'A user name, or an array of names or users: then each is done by itself, and the results name the users.', {
      example: 'j.doe',
      names: 'local-user',
    }),
  ),
);

const example = { server: 'System Local', username: 'j.doe' };
const examplePath = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user';

/** Local users of an authentication server (appliance-api.md, "Generic configuration tree"). */
export const users = area({
  name: 'users',
  label: 'Gateway users',
  help: 'Manages the local users of an authentication server.',
  icon: 'gateway-users.svg',
  color: '#A6E7D0',
  operations: {
    list: op({
      effect: 'read',
      label: 'List users',
      help: 'All local users of one authentication server.',
      summary: { found: '__n__ users of __server__.', 'found-one': '1 user of __server__.' },
      data: 'array of users',
      fields: { server: subject(server) },
      run: ({ server }, call) => new LocalUsers(server, call).list(),
      example: { input: { server: 'System Local' }, request: `GET ${examplePath}` },
    }),
    get: op({
      effect: 'read',
      label: 'Get a user',
      help: 'One local user. The password is not part of it.',
      summary: { done: 'Read the user __username__.' },
      data: 'user',
      fields: { server, username: subject(username) },
      run: ({ server, username }, call) => new LocalUsers(server, call).get(username),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    create: op({
      effect: 'write',
      label: 'Create users',
      help: 'Creates a local user, or each user of an array. With One-time use the account serves a single sign-in.',
      summary: {
        done: 'Created the user __username__.',
        many: 'Created __ok__ of __total__ users',
        planned: 'Would create __n__ users.',
        'planned-one': 'Would create 1 user.',
      },
      data: 'result; for an array many',
      fields: {
        server,
        username: several,
        ...own,
        'password-cleartext': { ...own['password-cleartext'], required: true } as const,
        more,
        max,
      },
      run: (input, call) =>
        eachUser(input, call, (users, { username, fields }, one) => users.create({ username, ...fields }, one), {
          fields: { ...own, more },
          check: ({ fields }) =>
            fields['password-cleartext'] === undefined
              ? 'has no password-cleartext, and none is given for all. Nothing was sent.'
              : undefined,
        }),
      example: {
        input: { ...example, 'password-cleartext': 'correct horse', enabled: true },
        request: `POST ${examplePath}`,
        body: { username: 'j.doe', 'password-cleartext': 'correct horse', enabled: 'true' },
      },
    }),
    update: op({
      effect: 'write',
      label: 'Update users',
      help: 'Changes fields of a user that exists, or of each of an array; what is not given stays. It never creates one.',
      summary: {
        done: 'Updated the user __username__.',
        many: 'Updated __ok__ of __total__ users',
        planned: 'Would update __n__ users.',
        'planned-one': 'Would update 1 user.',
      },
      data: 'result; for an array many',
      fields: { server, username: several, ...own, more, max },
      run: (input, call) =>
        eachUser(input, call, (users, { username, fields }, one) => users.change(username, fields, one), { fields: { ...own, more } }),
      example: { input: { ...example, fullname: 'Jane Doe' }, request: `GET ${examplePath}/j.doe` },
    }),
    enable: op({
      effect: 'write',
      label: 'Enable users',
      help: 'Lets a user, or each of an array, sign in again. It never creates one.',
      summary: {
        done: 'Enabled the user __username__.',
        many: 'Enabled __ok__ of __total__ users',
        planned: 'Would enable __n__ users.',
        'planned-one': 'Would enable 1 user.',
      },
      data: 'result; for an array many',
      fields: { server, username: several, max },
      run: (input, call) => eachUser(input, call, (users, { username }, one) => users.change(username, { enabled: 'true' }, one)),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    disable: op({
      effect: 'write',
      label: 'Disable users',
      help: 'Keeps a user, or each of an array, from signing in. Sessions that are open stay open: end them with the sessions node.',
      summary: {
        done: 'Disabled the user __username__.',
        many: 'Disabled __ok__ of __total__ users',
        planned: 'Would disable __n__ users.',
        'planned-one': 'Would disable 1 user.',
      },
      data: 'result; for an array many',
      fields: { server, username: several, max },
      run: (input, call) => eachUser(input, call, (users, { username }, one) => users.change(username, { enabled: 'false' }, one)),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    ensure: op({
      effect: 'write',
      label: 'Ensure users',
      help: 'Makes a local user, or each of an array, so: creates one that is missing, writes only what differs, reads back, and tells what it did in `msg.envelope.changed` and `msg.envelope.diff`. The password is sent only to a new user, or with Set the password.',
      summary: {
        done: 'Made the user __username__ as given.',
        unchanged: 'The user __username__ was as given already.',
        many: '__ok__ of __total__ users are as given',
        gone: '; __n__ have no place on this appliance',
        'gone-one': '; 1 has no place on this appliance',
        planned: 'Would make __n__ users as given.',
        'planned-one': 'Would make 1 user as given.',
        none: 'All users are as given already.',
      },
      data: 'user as it stands afterwards; for an array many',
      fields: {
        server,
        username: several,
        ...own,
        more,
        'set-password': boolean('Set the password', 'Sends the password to a user that exists too, each time: it cannot be compared.', {
          guard: true,
        }),
        max,
      },
      run: (input, call) => ensureUsers(input, call, { ...own, more }),
      example: { input: { ...example, fullname: 'Jane M. Doe' }, request: `GET ${examplePath}/j.doe` },
    }),
    delete: op({
      effect: 'destroy',
      label: 'Delete users',
      help: 'Deletes a local user, or each of an array, for good.',
      summary: {
        done: 'Deleted the user __username__.',
        unchanged: 'The user __username__ was not there.',
        many: 'Deleted __ok__ of __total__ users',
        planned: 'Would delete __n__ users.',
        'planned-one': 'Would delete 1 user.',
      },
      data: 'result; for an array many',
      fields: { server, username: several, max, 'missing-ok': missingOk },
      run: ({ 'missing-ok': missing = false, ...input }, call) =>
        eachUser(input, call, (users, { username }, one) => users.delete(username, missing, one)),
      example: { input: example, request: `DELETE ${examplePath}/j.doe` },
    }),
  },
});
