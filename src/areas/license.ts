import { badInput } from '../model/error';
import { area, boolean, list, op, required, subject, text } from '../model/operation';
import { at } from '../model/path';
import type { Request } from '../model/request';
import { truth } from '../model/json-text';

const NAMED = '/api/v1/license/named-users';
const kind = text(
  'Client kind',
  'On a licence server: the kind of client, one of the keys that List named users gives. Elsewhere leave it out.',
  {
    example: 'gateway',
    filter: true,
    names: 'client-kind',
  },
);
const deleteSessions = boolean('End sessions', 'Also ends the sessions of the users that are removed. Not on a licence server.');

interface Removal {
  'client-kind'?: string;
  'delete-active-sessions'?: boolean;
}

/** The two PUTs of named users: a licence server names the client kind, everyone else may end sessions (appliance-api.md, "License"). */
function removal(
  action: 'remove' | 'remove-all',
  users: string[],
  { 'client-kind': kind, 'delete-active-sessions': ending }: Removal,
): Request {
  if (kind !== undefined && ending !== undefined) {
    throw badInput('client-kind is for a licence server and delete-active-sessions for every other appliance: give one of them, not both.');
  }
  const path = kind === undefined ? NAMED : at`/api/v1/license/named-users/${kind}`;
  return { method: 'PUT', path, body: { action, users, ...(ending !== undefined && { 'delete-active-sessions': truth(ending) }) } };
}

/** Licences and named users (appliance-api.md, "License"). */
export const license = area({
  name: 'license',
  label: 'Gateway licence',
  help: 'Reads licence leases and manages named users.',
  icon: 'gateway-license.svg',
  color: '#66D6AD',
  operations: {
    'lease-info': op({
      effect: 'read',
      label: 'Lease information',
      help: 'How many licences the licence server has leased, and to which clients.',
      summary: { done: 'Read the licence leases.' },
      data: 'lease information',
      fields: {},
      request: () => ({ method: 'GET', path: '/api/v1/license/license-server-lease-information' }),
      example: { input: {}, request: 'GET /api/v1/license/license-server-lease-information' },
    }),
    'pull-state': op({
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
    'list-named-users': op({
      effect: 'read',
      label: 'List named users',
      help: 'Users that hold a licence. A licence server groups them by the kind of client; the names of the kinds differ from site to site.',
      summary: { done: 'Read the named users.' },
      data: 'named users as the appliance groups them',
      fields: { 'client-kind': subject(kind) },
      request: ({ 'client-kind': kind }) => ({ method: 'GET', path: kind === undefined ? NAMED : at`/api/v1/license/named-users/${kind}` }),
      example: { input: { 'client-kind': 'gateway' }, request: `GET ${NAMED}/gateway` },
    }),
    'remove-named-users': op({
      effect: 'destroy',
      label: 'Remove named users',
      help: 'Takes the licence from the given users.',
      summary: { done: 'Took the licence from named users.', 'planned-one': 'Would take the licence from named users.' },
      data: 'result',
      fields: {
        users: subject(required(list('Users', 'One user name or an array of them.', { example: ['j.doe'], names: 'named-user' }))),
        'client-kind': kind,
        'delete-active-sessions': deleteSessions,
      },
      request: ({ users, ...where }) => {
        if (users.length === 0) throw badInput('users is an empty array. Give at least one name, or use Remove ALL named users.');
        return removal('remove', users, where);
      },
      example: {
        input: { users: ['j.doe'], 'delete-active-sessions': true },
        request: `PUT ${NAMED}`,
        body: { action: 'remove', users: ['j.doe'], 'delete-active-sessions': 'true' },
      },
    }),
    'remove-all-named-users': op({
      effect: 'destroy',
      label: 'Remove ALL named users',
      help: 'Takes the licence from every named user.',
      summary: { done: 'Took the licence from all named users.', 'planned-one': 'Would take the licence from all named users.' },
      data: 'result',
      fields: { 'client-kind': kind, 'delete-active-sessions': deleteSessions },
      request: (where) => removal('remove-all', [], where),
      example: { input: { 'client-kind': 'gateway' }, request: `PUT ${NAMED}/gateway`, body: { action: 'remove-all', users: [] } },
    }),
  },
});
