import { ensureAll, toResourcePath } from '../change/ensure-all';
import { ensureOneResource } from '../change/ensure';
import { proveLoginField } from '../change/lock-out';
import { missingOkField } from '../change/if-exists';
import { badInput } from '../model/error';
import { readLinks } from './links';
import {
  defineArea,
  booleanField,
  objectField,
  defineOperation,
  pathField,
  recordsField,
  requiredField,
  subjectField,
} from '../model/operation';
import { CONFIGURATION_ROOT, toConfigurationPath } from '../model/path';
import type { JsonObject } from '../model/json';
import { parseQueryObject } from './query';
import type { Request } from '../model/request';
import { withBooleanTexts } from '../model/json-text';

const resourcePathField = pathField('Path', 'Path below the configuration root, an `href` of the appliance, or an array of raw names.', {
  example: 'users/user-roles/user-role/Staff',
  names: 'path',
});
const bodyField = requiredField(
  objectField('Body', 'The resource as the appliance wants it: an object, or one field as `{ "field": value }`.', { editor: 'resource' }),
);

function toRequest(target: string | string[], prefix: string, method: Request['method'], content?: JsonObject): Request {
  const path = toConfigurationPath(target, prefix);
  if (method !== 'GET' && path === CONFIGURATION_ROOT) throw badInput('path is the root of the configuration, which can only be read.');
  return content === undefined ? { method, path } : { method, path, body: withBooleanTexts(content) };
}

const example = { path: 'users/user-roles/user-role/Staff' };
const examplePath = '/api/v1/configuration/users/user-roles/user-role/Staff';

/** Any resource of the tree (appliance-api.md, "Generic configuration tree"). */
export const configArea = defineArea({
  name: 'config',
  label: 'Gateway configuration',
  help: 'Reads and writes any resource of the configuration tree.',
  icon: 'gateway-config.svg',
  color: '#75C4C7',
  operations: {
    get: defineOperation({
      effect: 'read',
      label: 'Get a resource',
      help: 'Reads one resource. To change it, wire it on: `msg.envelope.request.path` is the path of the update.',
      summary: { done: 'Read __path__.' },
      data: 'the resource',
      fields: {
        path: subjectField(requiredField(resourcePathField)),
        query: objectField('Query', 'Query of the request: `{ "expand": true }` for a flag, `{ "key": "text" }` for a value.', {
          guard: true,
        }),
      },
      request: ({ path, query }, prefix) => ({ ...toRequest(path, prefix, 'GET'), ...(query && { query: parseQueryObject(query) }) }),
      example: { input: example, request: `GET ${examplePath}` },
    }),
    list: defineOperation({
      effect: 'read',
      label: 'List what is below',
      help: 'Reads one resource and gives the names and links of what is below it.',
      summary: { found: '__n__ entries below __path__.', 'found-one': '1 entry below __path__.' },
      data: 'array of `{ name, href }`; `href` is null where there is only a name',
      fields: { path: subjectField(requiredField(resourcePathField)) },
      request: ({ path }, prefix) => toRequest(path, prefix, 'GET'),
      read: readLinks,
      example: { input: { path: '/' }, request: 'GET /api/v1/configuration' },
    }),
    create: defineOperation({
      effect: 'write',
      label: 'Create a resource',
      help: 'Posts a new resource to a collection.',
      summary: { done: 'Created a resource at __path__.', 'planned-one': 'Would create a resource at __path__.' },
      data: 'result',
      fields: { path: requiredField(resourcePathField), body: subjectField(bodyField), 'prove-login': proveLoginField },
      request: ({ path, body }, prefix) => toRequest(path, prefix, 'POST', body),
      example: {
        input: { path: 'users/user-roles/user-role', body: { name: 'Staff' } },
        request: 'POST /api/v1/configuration/users/user-roles/user-role',
        body: { name: 'Staff' },
      },
    }),
    update: defineOperation({
      effect: 'write',
      label: 'Update a resource',
      help: 'Puts a resource, or one field of it. A path that does not exist yet is created by most appliances.',
      summary: { done: 'Updated __path__.', 'planned-one': 'Would update __path__.' },
      data: 'result',
      fields: { path: requiredField(resourcePathField), body: subjectField(bodyField), 'prove-login': proveLoginField },
      request: ({ path, body }, prefix) => toRequest(path, prefix, 'PUT', body),
      example: {
        input: { path: ['users', 'user-roles', 'user-role', '.Staff #1', 'description'], body: { description: 'Day shift' } },
        request: 'PUT /api/v1/configuration/users/user-roles/user-role/%2EStaff%20%231/description',
        body: { description: 'Day shift' },
      },
    }),
    ensure: defineOperation({
      effect: 'write',
      label: 'Ensure a resource',
      help: 'Makes a resource so: reads it, compares what is given but links and secrets, writes only if something differs, and reads it back. What is not given stays; `msg.envelope.changed` and `msg.envelope.diff` tell what it did.',
      summary: {
        done: 'Made __path__ as given.',
        unchanged: '__path__ was as given already.',
        'planned-one': 'Would make __path__ as given.',
        none: '__path__ is as given already.',
      },
      data: 'the resource as it stands afterwards',
      fields: { path: requiredField(resourcePathField), body: subjectField(bodyField), 'prove-login': proveLoginField },
      run: ({ path, body }, call) => ensureOneResource({ path: toResourcePath(path, call.settings.prefix), body }, call),
      example: { input: { ...example, body: { description: 'Day shift' } }, request: `GET ${examplePath}` },
    }),
    'ensure-all': defineOperation({
      effect: 'write',
      label: 'Ensure many resources',
      help: 'The same for each of an array, such as a file of the desired state; what differs is written in the order given. An item `{ "path": …, "absent": true }` deletes, where May delete is set.',
      summary: {
        many: '__ok__ of __total__ resources are as given',
        gone: '; __n__ have no place on this appliance',
        'gone-one': '; 1 has no place on this appliance',
        planned: 'Would make resources as given by __n__ requests.',
        'planned-one': 'Would make resources as given by one request.',
        none: 'All resources are as given already.',
      },
      data: 'many; `item` is the path',
      fields: {
        resources: subjectField(
          requiredField(
            recordsField('Resources', 'Objects with `path` and `body`, or `path` and `absent: true`.', {
              example: [{ ...example, body: { description: 'Day shift' } }],
            }),
          ),
        ),
        'allow-absent': booleanField('May delete', 'Resources with `absent: true` are deleted. Without it such a one is an error.', {
          guard: true,
        }),
        'prove-login': proveLoginField,
      },
      run: ({ resources, 'allow-absent': allowAbsent = false }, call) =>
        ensureAll(Array.isArray(resources) ? resources : [resources], allowAbsent, call),
      example: { input: { resources: [{ ...example, body: { description: 'Day shift' } }] }, request: `GET ${examplePath}` },
    }),
    delete: defineOperation({
      effect: 'destroy',
      label: 'Delete a resource',
      help: 'Deletes one resource for good.',
      summary: { done: 'Deleted __path__.', unchanged: '__path__ was not there.', 'planned-one': 'Would delete __path__.' },
      data: 'result',
      fields: { path: subjectField(requiredField(resourcePathField)), 'missing-ok': missingOkField, 'prove-login': proveLoginField },
      request: ({ path }, prefix) => toRequest(path, prefix, 'DELETE'),
      example: { input: example, request: `DELETE ${examplePath}` },
    }),
  },
});
