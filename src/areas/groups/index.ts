import {
  clearGroupCatalog,
  ensureGroupCatalog,
  parseGroups,
  readGroupCatalog,
  replaceGroupCatalog,
  changeGroupCatalog,
  type GroupCatalog,
} from './catalog';
import { defineArea, choiceField, defineOperation, recordsField, requiredField, payloadField, textField } from '../../model/operation';

const serverField = requiredField(
  textField('Auth server', 'Name of the AD or LDAP authentication server.', {
    example: 'Corporate AD',
    names: 'directory-server',
  }),
);
const directoryField = requiredField(choiceField('Directory', 'Kind of the server: `ad` or `ldap`.', ['ad', 'ldap']));
const groupsField = requiredField(
  recordsField(
    'Groups',
    'A group or an array of them: for AD objects with `name` and `group`, for LDAP with `dn`, `name` and `group-type`. To remove one, its `sid`, `name` or `dn` as text is enough.',
    {
      example: [{ name: 'VPN Users', group: 'EXAMPLE/VPN Users' }],
      names: 'directory-group',
    },
  ),
);

const fields = { server: serverField, directory: directoryField, groups: payloadField(groupsField) };
const toCatalog = ({ server, directory }: GroupCatalog): GroupCatalog => ({ server, directory });
const example = { server: 'Corporate AD', directory: 'ad', groups: [{ name: 'VPN Users', group: 'EXAMPLE/VPN Users' }] };
const AD = '/api/v1/configuration/authentication/auth-servers/auth-server/Corporate%20AD/ad/server-catalog/groups';

/** Group catalogs of AD and LDAP servers (appliance-api.md, "Group catalog rules"): a PUT replaces the whole list. */
export const groupsArea = defineArea({
  name: 'groups',
  label: 'Gateway groups',
  help: 'Manages which directory groups role mapping can choose from.',
  icon: 'gateway-groups.svg',
  color: '#69AB92',
  operations: {
    list: defineOperation({
      effect: 'read',
      label: 'List groups',
      help: 'Lists all groups of one catalog.',
      summary: { found: '__n__ groups in the catalog of __server__.', 'found-one': '1 group in the catalog of __server__.' },
      data: 'array of groups',
      fields: { server: payloadField(serverField), directory: directoryField },
      run: (input, call) => readGroupCatalog(toCatalog(input), call),
      example: { input: { server: 'Corporate AD', directory: 'ad' }, request: `GET ${AD}` },
    }),
    replace: defineOperation({
      effect: 'destroy',
      label: 'Replace all groups',
      help: 'Replaces the catalog with the given groups. All other groups are removed.',
      summary: { done: 'Replaced all groups of __server__.', 'planned-one': 'Would replace all groups of __server__.' },
      data: 'result',
      fields,
      run: (input, call) => replaceGroupCatalog(toCatalog(input), parseGroups(input), call),
      example: { input: example, request: `PUT ${AD}`, body: { 'ad-group': example.groups } },
    }),
    add: defineOperation({
      effect: 'write',
      label: 'Add groups',
      help: 'Adds groups that the catalog does not have. The node reads, changes, writes and rereads the list; `msg.envelope.changed` is false if the catalog already had all groups.',
      summary: {
        done: 'Added __groups__ to __server__.',
        unchanged: 'All groups were in __server__ already.',
        'planned-one': 'Would add __groups__ to __server__.',
      },
      data: 'result',
      fields,
      run: (input, call) => changeGroupCatalog(toCatalog(input), 'add', parseGroups(input), call),
      example: { input: example, request: `GET ${AD}` },
    }),
    remove: defineOperation({
      effect: 'write',
      label: 'Remove groups',
      help: 'Removes groups from the catalog. The node reads, changes, writes and rereads the list; `msg.envelope.changed` is false if the catalog had none of the groups.',
      summary: {
        done: 'Removed __groups__ from __server__.',
        unchanged: 'None of the groups was in __server__.',
        'planned-one': 'Would remove __groups__ from __server__.',
      },
      data: 'result',
      fields,
      run: (input, call) => changeGroupCatalog(toCatalog(input), 'remove', parseGroups(input, true), call),
      example: { input: example, request: `GET ${AD}` },
    }),
    ensure: defineOperation({
      effect: 'destroy',
      label: 'Ensure exactly these groups',
      help: 'Sets the groups of the catalog to exactly the given ones, in any order: the node writes only if something differs, and reads them back. `msg.envelope.changed` and `msg.envelope.diff` report the changes.',
      summary: {
        done: 'Set the groups of __server__ to exactly the given ones.',
        unchanged: 'The groups of __server__ were already exactly the given ones.',
        'planned-one': 'Would set the groups of __server__ to exactly the given ones.',
        none: 'The groups of __server__ are already exactly the given ones.',
      },
      data: 'array of groups after the change',
      fields,
      run: (input, call) => ensureGroupCatalog(toCatalog(input), parseGroups(input), call),
      example: { input: example, request: `GET ${AD}` },
    }),
    clear: defineOperation({
      effect: 'destroy',
      label: 'Remove ALL groups',
      help: 'Removes every group from one catalog.',
      summary: { done: 'Removed all groups of __server__.', 'planned-one': 'Would remove all groups of __server__.' },
      data: 'result',
      fields: { server: payloadField(serverField), directory: directoryField },
      run: (input, call) => clearGroupCatalog(toCatalog(input), call),
      example: { input: { server: 'Corporate AD', directory: 'ad' }, request: `PUT ${AD}`, body: { 'ad-group': [] } },
    }),
  },
});
