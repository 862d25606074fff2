import { clearCatalog, ensureCatalog, groupsOf, readCatalog, replaceCatalog, changeCatalog, type Catalog } from './catalog';
import { area, choice, op, records, required, subject, text } from '../../model/operation';

const server = required(
  text('Auth server', 'Name of the AD or LDAP authentication server.', {
    example: 'Corporate AD',
    names: 'directory-server',
  }),
);
const directory = required(choice('Directory', 'Kind of the server: `ad` or `ldap`.', ['ad', 'ldap']));
const groups = required(
  records(
    'Groups',
    'A group or an array of them: for AD objects with `name` and `group`, for LDAP with `dn`, `name` and `group-type`. To remove one, its `sid`, `name` or `dn` as text is enough.',
    {
      example: [{ name: 'VPN Users', group: 'EXAMPLE/VPN Users' }],
      names: 'directory-group',
    },
  ),
);

const fields = { server, directory, groups: subject(groups) };
const of = ({ server, directory }: Catalog): Catalog => ({ server, directory });
const example = { server: 'Corporate AD', directory: 'ad', groups: [{ name: 'VPN Users', group: 'EXAMPLE/VPN Users' }] };
const AD = '/api/v1/configuration/authentication/auth-servers/auth-server/Corporate%20AD/ad/server-catalog/groups';

/** Group catalogues of AD and LDAP servers (appliance-api.md, "Group catalog rules"): a PUT replaces the whole list. */
export const groupsArea = area({
  name: 'groups',
  label: 'Gateway groups',
  help: 'Manages which directory groups role mapping can choose from.',
  icon: 'gateway-groups.svg',
  color: '#69AB92',
  operations: {
    list: op({
      effect: 'read',
      label: 'List groups',
      help: 'All groups of one catalogue.',
      summary: { found: '__n__ groups in the catalogue of __server__.', 'found-one': '1 group in the catalogue of __server__.' },
      data: 'array of groups',
      fields: { server: subject(server), directory },
      run: (input, call) => readCatalog(of(input), call),
      example: { input: { server: 'Corporate AD', directory: 'ad' }, request: `GET ${AD}` },
    }),
    replace: op({
      effect: 'destroy',
      label: 'Replace all groups',
      help: 'Makes the given groups the whole catalogue: every group that is not among them goes.',
      summary: { done: 'Replaced all groups of __server__.', 'planned-one': 'Would replace all groups of __server__.' },
      data: 'result',
      fields,
      run: (input, call) => replaceCatalog(of(input), groupsOf(input), call),
      example: { input: example, request: `PUT ${AD}`, body: { 'ad-group': example.groups } },
    }),
    add: op({
      effect: 'write',
      label: 'Add groups',
      help: 'Adds groups that are not there yet. The list is read, changed, written and read again; `msg.envelope.changed` is false when all were there.',
      summary: {
        done: 'Added groups to __server__.',
        unchanged: 'All groups were in __server__ already.',
        'planned-one': 'Would add groups to __server__.',
      },
      data: 'result',
      fields,
      run: (input, call) => changeCatalog(of(input), 'add', groupsOf(input), call),
      example: { input: example, request: `GET ${AD}` },
    }),
    remove: op({
      effect: 'write',
      label: 'Remove groups',
      help: 'Removes groups that are there. The list is read, changed, written and read again; `msg.envelope.changed` is false when none was there.',
      summary: {
        done: 'Removed groups from __server__.',
        unchanged: 'None of the groups was in __server__.',
        'planned-one': 'Would remove groups from __server__.',
      },
      data: 'result',
      fields,
      run: (input, call) => changeCatalog(of(input), 'remove', groupsOf(input, true), call),
      example: { input: example, request: `GET ${AD}` },
    }),
    ensure: op({
      effect: 'destroy',
      label: 'Ensure exactly these groups',
      help: 'Makes the given groups the whole catalogue, whatever their order: writes only if that is not so, and reads back. `msg.envelope.changed` tells whether it did, `msg.envelope.diff` what.',
      summary: {
        done: 'Made the groups of __server__ exactly those given.',
        unchanged: 'The groups of __server__ were exactly those given.',
        'planned-one': 'Would make the groups of __server__ exactly those given.',
        none: 'The groups of __server__ are exactly those given.',
      },
      data: 'array of groups as they stand afterwards',
      fields,
      run: (input, call) => ensureCatalog(of(input), groupsOf(input), call),
      example: { input: example, request: `GET ${AD}` },
    }),
    clear: op({
      effect: 'destroy',
      label: 'Remove ALL groups',
      help: 'Empties one catalogue: no group is left in it.',
      summary: { done: 'Removed all groups of __server__.', 'planned-one': 'Would remove all groups of __server__.' },
      data: 'result',
      fields: { server: subject(server), directory },
      run: (input, call) => clearCatalog(of(input), call),
      example: { input: { server: 'Corporate AD', directory: 'ad' }, request: `PUT ${AD}`, body: { 'ad-group': [] } },
    }),
  },
});
