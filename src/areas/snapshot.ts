import { unorderedListsField } from './unordered-lists-field';
import { defineArea, listField, objectField, defineOperation, pathField, requiredField, payloadField, textField } from '../model/operation';
import type { JsonObject } from '../model/json';

// Loaded on first use, so that Node-RED starts faster.
const loadSnapshot = () => import('../snapshot/index.js');

const EXAMPLE_REQUEST = 'GET /api/v1/system/system-information';

const folderField = textField(
  'Folder',
  'Folder of the snapshot, on the machine that runs Node-RED. Each appliance needs a separate folder.',
  {
    guard: true,
    editor: 'folder',
    example: '/var/lib/gateway/vpn-1',
    check: (folderPath) => (folderPath.trim() === '' ? 'is blank.' : undefined),
  },
);
const resourcePathField = pathField(
  'Path',
  'Path of a part of the configuration, an `href` of the appliance, or an array of raw names. Empty: everything.',
  {
    example: 'users/user-roles',
    names: 'path',
  },
);
const ignoreField = listField(
  'Ignore',
  'Names of fields or resources to ignore, or pointers such as `/system/log/*/max-log-size`. `*` stands for any characters of one name.',
  { guard: true, example: ['last-*'] },
);

/** Names the other side of a comparison: an appliance, a folder, or the appliance and the day of a snapshot in a message. */
function describeReference(input: { with?: JsonObject; folder?: string; other?: string }): { reference: string | undefined } {
  const { appliance, time } = input.with ?? {};
  const snapshot = [appliance, time].filter((part) => typeof part === 'string').join(' ');
  return { reference: input.other ?? input.folder ?? snapshot };
}

/** Takes, compares and reverts snapshots of the configuration (contract, section 6). */
export const snapshotArea = defineArea({
  name: 'snapshot',
  label: 'Gateway snapshot',
  help: 'Takes snapshots of the configuration, compares them, and restores resources from them.',
  icon: 'gateway-snapshot.svg',
  color: '#33E1B8',
  operations: {
    take: defineOperation({
      effect: 'read',
      permissions: { reads: 'system information; the configuration that the account may read: `msg.envelope.forbidden` names the rest' },
      label: 'Take a snapshot',
      summary: { done: 'Took a snapshot of __appliance__ with __resources__ resources.' },
      help: 'Reads every resource of the configuration by following all links, into the message or into a folder with one file for each, ready for Git. `msg.envelope.forbidden` names the resources that the account may not read.',
      data: '`{ format, appliance, serial-number, release, time, path, resources }`, or with Folder `{ folder, resources, added, changed, removed, bytes }` (counts)',
      fields: { path: payloadField(resourcePathField), folder: folderField, ignore: ignoreField, unordered: unorderedListsField },
      run: async (input, call) => (await loadSnapshot()).takeSnapshot(input, call),
      example: { input: { path: 'users/user-roles' }, request: EXAMPLE_REQUEST },
    }),
    compare: defineOperation({
      effect: 'read',
      permissions: { reads: 'system information; the configuration that the account may read: `msg.envelope.forbidden` names the rest' },
      label: 'Compare',
      help: 'Compares the current configuration with a snapshot or with another appliance; give exactly one of them. `msg.envelope.text` shows the differences as readable text.',
      summary: {
        done: '__appliance__ differs from __reference__: __added__ added, __removed__ removed, __changed__ changed.',
        unchanged: 'No difference between __appliance__ and __reference__.',
      },
      summaryValues: describeReference,
      data: '`{ equal, added: [path], removed: [path], changed: [{ path, field, before, after }] }`',
      fields: {
        with: payloadField(
          objectField('With', 'A snapshot that `take` returned.', {
            example: { format: 'gateway-snapshot/1', appliance: 'vpn-1', path: '/api/v1/configuration/users', resources: {} },
          }),
        ),
        folder: folderField,
        other: textField('Other appliance', 'Name of another appliance node. It is only read.', {
          guard: true,
          example: 'vpn-2',
          names: 'appliance',
        }),
        path: resourcePathField,
        ignore: ignoreField,
        unordered: unorderedListsField,
      },
      run: async (input, call) => (await loadSnapshot()).compareSnapshot(input, call),
      example: {
        input: { with: { format: 'gateway-snapshot/1', appliance: 'vpn-1', path: '/api/v1/configuration/users', resources: {} } },
        request: 'GET /api/v1/configuration/users',
      },
    }),
    revert: defineOperation({
      effect: 'destroy',
      permissions: { reads: 'the configuration below *Path*', writes: 'the same' },
      label: 'Revert',
      help: 'Restores resources from a snapshot in a folder: each is compared first and written only if it differs. Secrets cannot be restored and newer resources stay: `msg.envelope.incomplete` names what still differs.',
      summary: { many: '__incomplete__ still different, __ok__ of __total__ resources restored' },
      data: 'a result for each item, with `incomplete`; `item` is the path',
      fields: {
        folder: requiredField(folderField),
        path: payloadField(
          requiredField(
            listField('Path', 'One or several paths of resources or parts of the configuration.', {
              example: ['users/user-roles'],
              names: 'path',
            }),
          ),
        ),
      },
      run: async (input, call) => (await loadSnapshot()).revertSnapshot(input, call),
      example: { input: { folder: '/var/tmp', path: 'system/log' }, request: '' },
    }),
  },
});
