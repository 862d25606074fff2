import { defineArea, listField, objectField, defineOperation, pathField, requiredField, subjectField, textField } from '../model/operation';

// Loaded by the first snapshot, not by every start of Node-RED.
const loadSnapshot = () => import('../snapshot/index.js');

const EXAMPLE_REQUEST = 'GET /api/v1/system/system-information';

const folderField = textField('Folder', 'Folder of the snapshot, on the machine that runs Node-RED. Each appliance needs one of its own.', {
  guard: true,
  example: '/var/lib/gateway/vpn-1',
  check: (folderPath) => (folderPath.trim() === '' ? 'is blank.' : undefined),
});
const resourcePathField = pathField(
  'Path',
  'Path of a part of the configuration, an `href` of the appliance, or an array of raw names. Nothing: everything.',
  {
    example: 'users/user-roles',
    names: 'path',
  },
);
const ignoreField = listField(
  'Ignore',
  'What does not count: names of fields or of resources, or pointers such as `/system/log/*/max-log-size`. `*` stands for any characters of one name.',
  { guard: true, example: ['last-*'] },
);

/** The whole configuration, resource by resource: kept, compared, put back (contract, section 6). */
export const snapshotArea = defineArea({
  name: 'snapshot',
  label: 'Gateway snapshot',
  help: 'Takes snapshots of the configuration, compares them, and puts back what was.',
  icon: 'gateway-snapshot.svg',
  color: '#33E1B8',
  operations: {
    take: defineOperation({
      effect: 'read',
      label: 'Take a snapshot',
      summary: { done: 'Took a snapshot.' },
      help: 'Reads every resource of the configuration by following all links, into the message, or into a folder with a file for each that can be kept in Git. `msg.envelope.forbidden` names what the account may not read.',
      data: '`{ format, appliance, serial-number, release, time, path, resources }`, or with Folder `{ folder, resources, added, changed, removed, bytes }` (counts)',
      fields: { path: subjectField(resourcePathField), folder: folderField, ignore: ignoreField },
      run: async (input, call) => (await loadSnapshot()).takeSnapshot(input, call),
      example: { input: { path: 'users/user-roles' }, request: EXAMPLE_REQUEST },
    }),
    compare: defineOperation({
      effect: 'read',
      label: 'Compare',
      help: 'Compares the configuration as it is now with a snapshot, or with that of another appliance; give exactly one of them. `msg.envelope.text` is the same for people to read.',
      summary: { done: 'Compared the configuration.' },
      data: '`{ equal, added: [path], removed: [path], changed: [{ path, field, before, after }] }`',
      fields: {
        with: subjectField(
          objectField('With', 'A snapshot, as `take` gives it.', {
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
      },
      run: async (input, call) => (await loadSnapshot()).compareSnapshot(input, call),
      example: {
        input: { with: { format: 'gateway-snapshot/1', appliance: 'vpn-1', path: '/api/v1/configuration/users', resources: {} } },
        request: 'GET /api/v1/configuration/users',
      },
    }),
    revert: defineOperation({
      effect: 'destroy',
      label: 'Revert',
      help: 'Puts back what a snapshot in a folder holds: each resource is compared first, and written only where it differs. Secrets cannot come back, and what was created since stays: `msg.envelope.incomplete` names what is not as it was.',
      summary: { many: '__ok__ of __total__ resources are as in the snapshot' },
      data: 'many; `item` is the path',
      fields: {
        folder: requiredField(folderField),
        path: subjectField(
          requiredField(
            listField('Path', 'Path of a resource, or of a part of the configuration; or several.', {
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
