import { badInput } from '../model/error';
import { defineArea, booleanField, listField, defineOperation, requiredField, subjectField, textField } from '../model/operation';
import { encodedPath } from '../model/path';
import type { Request } from '../model/request';
import { toBooleanText } from '../model/json-text';

const NAMED_USERS_PATH = '/api/v1/license/named-users';
const clientKindField = textField(
  'Client kind',
  'On a licence server: the kind of client, one of the keys that List named users gives. Elsewhere leave it out.',
  {
    example: 'gateway',
    filter: true,
    names: 'client-kind',
  },
);
const deleteSessionsField = booleanField('End sessions', 'Also ends the sessions of the users that are removed. Not on a licence server.');

interface RemovalOptions {
  'client-kind'?: string;
  'delete-active-sessions'?: boolean;
}

/** The two PUTs of named users: a licence server names the client kind, everyone else may end sessions (appliance-api.md, "License"). */
function toRemovalRequest(
  action: 'remove' | 'remove-all',
  users: string[],
  { 'client-kind': kind, 'delete-active-sessions': deleteSessions }: RemovalOptions,
): Request {
  if (kind !== undefined && deleteSessions !== undefined) {
    throw badInput('client-kind is for a licence server and delete-active-sessions for every other appliance: give one of them, not both.');
  }
  const path = kind === undefined ? NAMED_USERS_PATH : encodedPath`/api/v1/license/named-users/${kind}`;
  return {
    method: 'PUT',
    path,
    body: { action, users, ...(deleteSessions !== undefined && { 'delete-active-sessions': toBooleanText(deleteSessions) }) },
  };
}

/** Licences and named users (appliance-api.md, "License"). */
export const licenseArea = defineArea({
  name: 'license',
  label: 'Gateway licence',
  help: 'Reads licence leases and manages named users.',
  icon: 'gateway-license.svg',
  color: '#66D6AD',
  operations: {
    'lease-info': defineOperation({
      effect: 'read',
      label: 'Lease information',
      help: 'How many licences the licence server has leased, and to which clients.',
      summary: { done: 'Read the licence leases.' },
      data: 'lease information',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/license/license-server-lease-information' }),
      example: { input: {}, request: 'GET /api/v1/license/license-server-lease-information' },
    }),
    'pull-state': defineOperation({
      effect: 'write',
      label: 'Pull the state from the server',
      help: 'Makes a licence client fetch its lease from the licence server now.',
      summary: { done: 'Pulled the lease from the licence server.', 'planned-one': 'Would pull the lease from the licence server.' },
      data: 'result',
      fields: {},
      // The interface wants a body, and it is empty.
      request: () => ({ method: 'PUT', path: '/api/v1/license/license-client-lease-state', body: {} }),
      example: { input: {}, request: 'PUT /api/v1/license/license-client-lease-state', body: {} },
    }),
    'list-named-users': defineOperation({
      effect: 'read',
      label: 'List named users',
      help: 'Users that hold a licence. A licence server groups them by the kind of client; the names of the kinds differ from site to site.',
      summary: { done: 'Read the named users.' },
      data: 'named users as the appliance groups them',
      fields: { 'client-kind': subjectField(clientKindField) },
      request: ({ 'client-kind': kind }) => ({
        method: 'GET',
        path: kind === undefined ? NAMED_USERS_PATH : encodedPath`/api/v1/license/named-users/${kind}`,
      }),
      example: { input: { 'client-kind': 'gateway' }, request: `GET ${NAMED_USERS_PATH}/gateway` },
    }),
    'remove-named-users': defineOperation({
      effect: 'destroy',
      label: 'Remove named users',
      help: 'Takes the licence from the given users.',
      summary: { done: 'Took the licence from named users.', 'planned-one': 'Would take the licence from named users.' },
      data: 'result',
      fields: {
        users: subjectField(
          requiredField(listField('Users', 'One user name or an array of them.', { example: ['j.doe'], names: 'named-user' })),
        ),
        'client-kind': clientKindField,
        'delete-active-sessions': deleteSessionsField,
      },
      request: ({ users, ...options }) => {
        if (users.length === 0) throw badInput('users is an empty array. Give at least one name, or use Remove ALL named users.');
        return toRemovalRequest('remove', users, options);
      },
      example: {
        input: { users: ['j.doe'], 'delete-active-sessions': true },
        request: `PUT ${NAMED_USERS_PATH}`,
        body: { action: 'remove', users: ['j.doe'], 'delete-active-sessions': 'true' },
      },
    }),
    'remove-all-named-users': defineOperation({
      effect: 'destroy',
      label: 'Remove ALL named users',
      help: 'Takes the licence from every named user.',
      summary: { done: 'Took the licence from all named users.', 'planned-one': 'Would take the licence from all named users.' },
      data: 'result',
      fields: { 'client-kind': clientKindField, 'delete-active-sessions': deleteSessionsField },
      request: (options) => toRemovalRequest('remove-all', [], options),
      example: {
        input: { 'client-kind': 'gateway' },
        request: `PUT ${NAMED_USERS_PATH}/gateway`,
        body: { action: 'remove-all', users: [] },
      },
    }),
  },
});
