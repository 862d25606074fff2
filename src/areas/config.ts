import { ensureAll, toResourcePath } from '../change/ensure-all';
import { ensureOneResource } from '../change/ensure';
import { UnorderedLists } from '../change/unordered-lists';
import { unorderedListsField } from './unordered-lists-field';
import { loginProofField } from '../change/lock-out';
import { assertDeletionLimit, maxDeletionsField } from '../change/deletion-limit';
import { deleteIfExists, allowMissingField } from '../change/if-exists';
import { badInput } from '../model/error';
import { readResourceLinks } from './links';
import {
  defineArea,
  booleanField,
  objectField,
  defineOperation,
  pathField,
  recordsField,
  requiredField,
  payloadField,
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
  objectField('Body', 'The resource as the appliance expects it: an object, or one field as `{ "field": value }`.', { editor: 'resource' }),
);

function toRequest(target: string | string[], prefix: string, method: Request['method'], content?: JsonObject): Request {
  const path = toConfigurationPath(target, prefix);
  if (method !== 'GET' && path === CONFIGURATION_ROOT) throw badInput('path is the root of the configuration, which can only be read.');
  return content === undefined ? { method, path } : { method, path, body: withBooleanTexts(content) };
}

const example = { path: 'users/user-roles/user-role/Staff' };
const examplePath = '/api/v1/configuration/users/user-roles/user-role/Staff';

/** Operations on any resource of the tree (appliance-api.md, "Generic configuration tree"). */
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
      help: 'Reads one resource. To change it, connect an update: `msg.envelope.request.path` is its path.',
      summary: { done: 'Read __path__.' },
      data: 'the resource',
      fields: {
        path: payloadField(requiredField(resourcePathField)),
        query: objectField('Query', 'Query of the request: `{ "expand": true }` for a flag, `{ "key": "text" }` for a value.', {
          guard: true,
        }),
      },
      request: ({ path, query }, prefix) => ({ ...toRequest(path, prefix, 'GET'), ...(query && { query: parseQueryObject(query) }) }),
      example: { input: example, request: `GET ${examplePath}` },
    }),
    list: defineOperation({
      effect: 'read',
      label: 'List child resources',
      help: 'Lists the names and links of the resources below one resource.',
      summary: { found: '__n__ entries below __path__.', 'found-one': '1 entry below __path__.' },
      data: 'array of `{ name, href }`; `href` is null where there is only a name',
      fields: { path: payloadField(requiredField(resourcePathField)) },
      request: ({ path }, prefix) => toRequest(path, prefix, 'GET'),
      read: readResourceLinks,
      example: { input: { path: '/' }, request: 'GET /api/v1/configuration' },
    }),
    create: defineOperation({
      effect: 'write',
      label: 'Create a resource',
      help: 'Posts a new resource to a collection.',
      summary: { done: 'Created a resource at __path__.', 'planned-one': 'Would create a resource at __path__.' },
      data: 'result',
      fields: { path: requiredField(resourcePathField), body: payloadField(bodyField), 'prove-login': loginProofField },
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
      help: 'Replaces a resource or one field of it. Most appliances create the resource if the path does not exist.',
      summary: { done: 'Updated __path__.', 'planned-one': 'Would update __path__.' },
      data: 'result',
      fields: { path: requiredField(resourcePathField), body: payloadField(bodyField), 'prove-login': loginProofField },
      request: ({ path, body }, prefix) => toRequest(path, prefix, 'PUT', body),
      example: {
        input: { path: ['users', 'user-roles', 'user-role', '.Staff #1', 'description'], body: { description: 'Day shift' } },
        request: 'PUT /api/v1/configuration/users/user-roles/user-role/%2EStaff%20%231/description',
        body: { description: 'Day shift' },
      },
    }),
    ensure: defineOperation({
      effect: 'write',
      permissions: { reads: 'the path and, for what does not exist, its parent', writes: 'the path' },
      label: 'Ensure a resource',
      help: 'Sets the given fields of a resource: the node compares them (except links and secrets), writes only if something differs, and reads them back. Other fields stay; `msg.envelope.changed` and `msg.envelope.diff` report the changes.',
      summary: {
        done: 'Gave __path__ the given fields.',
        unchanged: '__path__ already had the given fields.',
        'planned-one': 'Would give __path__ the given fields.',
        none: '__path__ already has the given fields.',
      },
      data: 'the resource after the change',
      fields: {
        path: requiredField(resourcePathField),
        body: payloadField(bodyField),
        unordered: unorderedListsField,
        'prove-login': loginProofField,
      },
      run: ({ path, body, unordered }, call) =>
        ensureOneResource({ path: toResourcePath(path, call.settings.prefix), body, unordered: new UnorderedLists(unordered) }, call),
      example: { input: { ...example, body: { description: 'Day shift' } }, request: `GET ${examplePath}` },
    }),
    'ensure-all': defineOperation({
      effect: 'write',
      permissions: { reads: 'the path and, for what does not exist, its parent', writes: 'the path' },
      label: 'Ensure many resources',
      help: 'Sets the fields of each resource in an array, in the given order, for example from a file of the desired state. An item `{ "path": …, "absent": true }` deletes a resource if May delete is set.',
      summary: {
        many: '__ok__ of __total__ resources match the desired state',
        gone: '; __n__ cannot exist on this appliance',
        'gone-one': '; 1 cannot exist on this appliance',
        planned: 'Would change resources with __n__ requests.',
        'planned-one': 'Would change resources with one request.',
        none: 'All resources already match the desired state.',
      },
      data: 'a result for each item; `item` is the path',
      fields: {
        resources: payloadField(
          requiredField(
            recordsField('Resources', 'Objects with `path` and `body`, or `path` and `absent: true`.', {
              example: [{ ...example, body: { description: 'Day shift' } }],
            }),
          ),
        ),
        'allow-absent': booleanField('May delete', 'Deletes resources with `absent: true`. Otherwise such an item is an error.', {
          guard: true,
        }),
        max: maxDeletionsField,
        unordered: unorderedListsField,
        'prove-login': loginProofField,
      },
      run: ({ resources, 'allow-absent': allowAbsent = false, max, unordered }, call) =>
        ensureAll(
          Array.isArray(resources) ? resources : [resources],
          { allowAbsent, maxDeletions: max, unordered: new UnorderedLists(unordered) },
          call,
        ),
      example: { input: { resources: [{ ...example, body: { description: 'Day shift' } }] }, request: `GET ${examplePath}` },
    }),
    delete: defineOperation({
      effect: 'destroy',
      label: 'Delete a resource',
      permissions: { reads: 'the path and everything below it', writes: 'the path' },
      help: 'Deletes a resource with everything below it permanently. The node counts these resources first, and reports the number in `msg.envelope.resources`.',
      summary: {
        done: 'Deleted __path__.',
        unchanged: '__path__ did not exist.',
        'planned-one': 'Would delete __path__; resources in total: __resources__.',
      },
      data: 'result',
      fields: {
        path: payloadField(requiredField(resourcePathField)),
        max: maxDeletionsField,
        'missing-ok': allowMissingField,
        'prove-login': loginProofField,
      },
      run: async ({ path, max, 'missing-ok': missing = false }, call) => {
        const request = toRequest(path, call.settings.prefix, 'DELETE');
        await assertDeletionLimit([request.path], max, call);
        return missing ? deleteIfExists(request, call) : call.write(request);
      },
      example: { input: example, request: `GET ${examplePath}` },
    }),
  },
});
