import { badInput } from '../model/error';
import { defineArea, booleanField, listField, defineOperation, requiredField, payloadField, textField } from '../model/operation';
import { encodedPath } from '../model/path';
import type { Request } from '../model/request';
import { toBooleanText } from '../model/json-text';
import type { LeaseInformation, NamedUserList } from './license-records';

const NAMED_USERS_PATH = '/api/v1/license/named-users';
const clientKindField = textField(
  'Client kind',
  'On a license server: the kind of client, one of the keys that List named users returns. Leave it empty on other appliances.',
  {
    example: 'gateway',
    filter: true,
    names: 'client-kind',
  },
);
const deleteSessionsField = booleanField('End sessions', 'Also ends the sessions of the removed users. Not on a license server.');

interface RemovalOptions {
  'client-kind'?: string;
  'delete-active-sessions'?: boolean;
}

/** Builds the PUT: only a license server takes a client kind, only other appliances end sessions (appliance-api.md, "License"). */
function toRemovalRequest(
  action: 'remove' | 'remove-all',
  users: string[],
  { 'client-kind': kind, 'delete-active-sessions': deleteSessions }: RemovalOptions,
): Request {
  if (kind !== undefined && deleteSessions !== undefined) {
    throw badInput(
      'client-kind is for a license server, delete-active-sessions for other appliances. Give only one of them. Nothing was sent.',
    );
  }
  const path = kind === undefined ? NAMED_USERS_PATH : encodedPath`/api/v1/license/named-users/${kind}`;
  return {
    method: 'PUT',
    path,
    body: { action, users, ...(deleteSessions !== undefined && { 'delete-active-sessions': toBooleanText(deleteSessions) }) },
  };
}

/** Licenses and named users (appliance-api.md, "License"). */
export const licenseArea = defineArea({
  name: 'license',
  label: 'Gateway license',
  help: 'Reads license leases and manages named users.',
  icon: 'gateway-license.svg',
  color: '#66D6AD',
  operations: {
    'lease-info': defineOperation({
      effect: 'read',
      label: 'Lease information',
      help: 'Reads how many licenses the license server has leased, and to which clients.',
      summary: { done: 'Read the license leases of __appliance__.' },
      data: 'lease information',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/license/license-server-lease-information' }),
      read: (document): LeaseInformation => document,
      example: { input: {}, request: 'GET /api/v1/license/license-server-lease-information' },
    }),
    'pull-state': defineOperation({
      effect: 'write',
      label: 'Pull the state from the server',
      help: 'Makes a license client fetch its lease from the license server now.',
      summary: {
        done: 'Pulled the lease of __appliance__ from the license server.',
        'planned-one': 'Would pull the lease of __appliance__ from the license server.',
      },
      data: 'result',
      fields: {},
      // The API requires an empty body.
      request: () => ({ method: 'PUT', path: '/api/v1/license/license-client-lease-state', body: {} }),
      example: { input: {}, request: 'PUT /api/v1/license/license-client-lease-state', body: {} },
    }),
    'list-named-users': defineOperation({
      effect: 'read',
      label: 'List named users',
      help: 'Lists the users that hold a license. A license server groups the users by the kind of client; the names of the kinds differ from site to site.',
      summary: { done: 'Read the named users of __appliance__.' },
      data: 'named users as the appliance groups them',
      fields: { 'client-kind': payloadField(clientKindField) },
      request: ({ 'client-kind': kind }) => ({
        method: 'GET',
        path: kind === undefined ? NAMED_USERS_PATH : encodedPath`/api/v1/license/named-users/${kind}`,
      }),
      read: (document): NamedUserList => document,
      example: { input: { 'client-kind': 'gateway' }, request: `GET ${NAMED_USERS_PATH}/gateway` },
    }),
    'remove-named-users': defineOperation({
      effect: 'destroy',
      permissions: { writes: 'licenses; with *End sessions*, also what ends sessions' },
      label: 'Remove named users',
      help: 'Takes the license from the given users.',
      summary: { done: 'Took the license from __users__.', 'planned-one': 'Would take the license from __users__.' },
      data: 'result',
      fields: {
        users: payloadField(
          requiredField(listField('Users', 'One user name or an array of them.', { example: ['j.doe'], names: 'named-user' })),
        ),
        'client-kind': clientKindField,
        'delete-active-sessions': deleteSessionsField,
      },
      request: ({ users, ...options }) => {
        if (users.length === 0)
          throw badInput('users is an empty array. Give at least one name, or use Remove ALL named users. Nothing was sent.');
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
      permissions: { writes: 'licenses; with *End sessions*, also what ends sessions' },
      label: 'Remove ALL named users',
      help: 'Takes the license from every named user.',
      summary: {
        done: 'Took the license from all named users of __appliance__.',
        'planned-one': 'Would take the license from all named users of __appliance__.',
      },
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
