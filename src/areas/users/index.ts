import { allowMissingField } from '../../change/if-exists';
import {
  defineArea,
  booleanField,
  nameListField,
  numberField,
  objectField,
  defineOperation,
  requiredField,
  payloadField,
  textField,
} from '../../model/operation';
import { encodedPath } from '../../model/path';
import { LocalUsers } from './local-users';
import { forEachUser, ensureUsers } from './bulk-users';

const serverField = requiredField(
  textField('Auth server', 'Name of the local authentication server.', { example: 'System Local', names: 'local-server' }),
);
const usernameField = requiredField(
  textField('User', 'User name of the local user.', { aliases: ['user'], example: 'j.doe', names: 'local-user' }),
);
const passwordField = textField('Password', 'Password in clear text. It is never returned.', { secret: true });

/** Fields of a user besides name and password; booleans are sent as text (appliance-api.md, "Local user"). */
const settingsFields = {
  fullname: textField('Full name', 'Name shown to administrators.'),
  enabled: booleanField('Enabled', 'Whether the user may sign in.'),
  'console-access': booleanField('Console access', 'Whether the user may use the console.'),
  'change-password-at-signin': booleanField('Change password', 'Whether the user must choose a new password at the next sign-in.'),
  'one-time-use': booleanField('One-time use', 'Whether the account is disabled after the first sign-in.'),
};

const userFields = { 'password-cleartext': { ...passwordField, perItem: true } as const, ...settingsFields };
const moreField = objectField('More', 'Other fields that users have in this release, such as `user-timezone`; sent unchanged.', {
  example: { 'user-timezone': 'Europe/Berlin' },
});
const maxField = numberField('Max users', 'If an array has more users than this, nothing is done (LIMIT).', {
  guard: true,
  default: 25,
  range: 'count',
});
/** The subject of operations on one or several users. */
const usersField = payloadField(
  requiredField(
    nameListField('User', 'A user name, or an array of names or users. An array has one result per user.', {
      aliases: ['user'],
      example: 'j.doe',
      names: 'local-user',
    }),
  ),
);

const example = { server: 'System Local', username: 'j.doe' };
const examplePath = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user';

/** Local users of an authentication server (appliance-api.md, "Generic configuration tree"). */
export const usersArea = defineArea({
  name: 'users',
  label: 'Gateway users',
  help: 'Manages the local users of an authentication server.',
  icon: 'gateway-users.svg',
  color: '#A6E7D0',
  operations: {
    list: defineOperation({
      effect: 'read',
      label: 'List users',
      help: 'Lists all local users of one authentication server.',
      summary: { found: '__n__ users of __server__.', 'found-one': '1 user of __server__.' },
      data: 'array of users',
      fields: { server: payloadField(serverField) },
      run: ({ server }, call) => new LocalUsers(server, call).list(),
      example: { input: { server: 'System Local' }, request: `GET ${examplePath}` },
    }),
    get: defineOperation({
      effect: 'read',
      label: 'Get a user',
      help: 'Reads one local user, without the password.',
      summary: { done: 'Read __username__ on __server__.' },
      data: 'user',
      fields: { server: serverField, username: payloadField(usernameField) },
      run: ({ server, username }, call) => new LocalUsers(server, call).get(username),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    create: defineOperation({
      effect: 'write',
      label: 'Create users',
      help: 'Creates a local user, or each user of an array. With One-time use the account serves a single sign-in.',
      summary: {
        done: 'Created __username__ on __server__.',
        many: 'Created __ok__ of __total__ users',
        planned: 'Would create __n__ users on __server__.',
        'planned-one': 'Would create __username__ on __server__.',
      },
      data: 'result; for an array, a result for each item',
      fields: {
        server: serverField,
        username: usersField,
        ...userFields,
        'password-cleartext': { ...userFields['password-cleartext'], required: true } as const,
        more: moreField,
        max: maxField,
      },
      run: (input, call) =>
        forEachUser(input, call, (users, { username, fields }, itemCall) => users.create({ username, ...fields }, itemCall), {
          fields: { ...userFields, more: moreField },
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
    update: defineOperation({
      effect: 'write',
      label: 'Update users',
      help: 'Changes the given fields of an existing user, or of each user of an array. It never creates a user.',
      summary: {
        done: 'Updated __username__ on __server__.',
        many: 'Updated __ok__ of __total__ users',
        planned: 'Would update __n__ users on __server__.',
        'planned-one': 'Would update __username__ on __server__.',
      },
      data: 'result; for an array, a result for each item',
      fields: { server: serverField, username: usersField, ...userFields, more: moreField, max: maxField },
      run: (input, call) =>
        forEachUser(input, call, (users, { username, fields }, itemCall) => users.change(username, fields, itemCall), {
          fields: { ...userFields, more: moreField },
        }),
      example: { input: { ...example, fullname: 'Jane Doe' }, request: `GET ${examplePath}/j.doe` },
    }),
    enable: defineOperation({
      effect: 'write',
      label: 'Enable users',
      help: 'Lets a user, or each user of an array, sign in again. It never creates a user.',
      summary: {
        done: 'Enabled __username__ on __server__.',
        many: 'Enabled __ok__ of __total__ users',
        planned: 'Would enable __n__ users on __server__.',
        'planned-one': 'Would enable __username__ on __server__.',
      },
      data: 'result; for an array, a result for each item',
      fields: { server: serverField, username: usersField, max: maxField },
      run: (input, call) =>
        forEachUser(input, call, (users, { username }, itemCall) => users.change(username, { enabled: 'true' }, itemCall)),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    disable: defineOperation({
      effect: 'write',
      label: 'Disable users',
      help: 'Keeps a user, or each user of an array, from signing in. Open sessions stay open: end them with the sessions node.',
      summary: {
        done: 'Disabled __username__ on __server__.',
        many: 'Disabled __ok__ of __total__ users',
        planned: 'Would disable __n__ users on __server__.',
        'planned-one': 'Would disable __username__ on __server__.',
      },
      data: 'result; for an array, a result for each item',
      fields: { server: serverField, username: usersField, max: maxField },
      run: (input, call) =>
        forEachUser(input, call, (users, { username }, itemCall) => users.change(username, { enabled: 'false' }, itemCall)),
      example: { input: example, request: `GET ${examplePath}/j.doe` },
    }),
    'reset-one-time-password': defineOperation({
      effect: 'destroy',
      label: 'Reset the one-time password',
      help: 'Removes the registration of a user at a TOTP server, so that codes of the old device are refused. The user registers a device again at the next sign-in.',
      summary: {
        done: 'Reset the one-time password of __username__ on __server__.',
        'planned-one': 'Would reset the one-time password of __username__ on __server__.',
      },
      data: 'result',
      fields: {
        server: requiredField(
          textField('TOTP server', 'Name of the TOTP authentication server.', { example: 'Second Factor TOTP', names: 'auth-server' }),
        ),
        username: payloadField(
          requiredField(textField('User', 'User name at the TOTP server.', { aliases: ['user'], example: 'j.doe', names: 'session-user' })),
        ),
      },
      request: ({ server, username }) => ({
        method: 'PUT',
        path: encodedPath`/api/v1/totp/${server}/users/${username}`,
        query: { operation: 'reset' },
      }),
      example: {
        input: { server: 'Second Factor TOTP', username: 'j.doe' },
        request: 'PUT /api/v1/totp/Second%20Factor%20TOTP/users/j.doe?operation=reset',
      },
    }),
    ensure: defineOperation({
      effect: 'write',
      label: 'Ensure users',
      help: 'Sets the given fields of a local user, or of each user of an array: the node creates a missing user, writes only differences, reads them back, and reports them in `msg.envelope.changed` and `msg.envelope.diff`. The password is sent only for a new user, or with Set the password.',
      summary: {
        done: 'Gave __username__ on __server__ the given fields.',
        unchanged: '__username__ on __server__ already had the given fields.',
        many: '__ok__ of __total__ users have the given fields',
        gone: '; __n__ cannot exist on this appliance',
        'gone-one': '; 1 cannot exist on this appliance',
        planned: 'Would give __n__ users the given fields.',
        'planned-one': 'Would give __username__ on __server__ the given fields.',
        none: 'All users already have the given fields.',
      },
      data: 'the user after the change; for an array, a result for each item',
      fields: {
        server: serverField,
        username: usersField,
        ...userFields,
        more: moreField,
        'set-password': booleanField(
          'Set the password',
          'Also sends the password for an existing user, each time, because it cannot be compared.',
          {
            guard: true,
          },
        ),
        max: maxField,
      },
      run: (input, call) => ensureUsers(input, call, { ...userFields, more: moreField }),
      example: { input: { ...example, fullname: 'Jane M. Doe' }, request: `GET ${examplePath}/j.doe` },
    }),
    delete: defineOperation({
      effect: 'destroy',
      permissions: { reads: 'the local users of the server' },
      label: 'Delete users',
      help: 'Deletes a local user, or each user of an array, permanently.',
      summary: {
        done: 'Deleted __username__ on __server__.',
        unchanged: '__username__ did not exist on __server__.',
        many: 'Deleted __ok__ of __total__ users',
        planned: 'Would delete __n__ users on __server__.',
        'planned-one': 'Would delete __username__ on __server__.',
      },
      data: 'result; for an array, a result for each item',
      fields: { server: serverField, username: usersField, max: maxField, 'missing-ok': allowMissingField },
      run: ({ 'missing-ok': missing = false, ...input }, call) =>
        forEachUser(input, call, (users, { username }, itemCall) => users.delete(username, missing, itemCall)),
      example: { input: example, request: `DELETE ${examplePath}/j.doe` },
    }),
  },
});
