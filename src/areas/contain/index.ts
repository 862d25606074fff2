import { hashApplianceAddress } from '../../contain/containment-record';
import { containUsers as containPerson, listContainments, releaseContainment as releasePerson } from '../../contain/contain';
import { getContainmentStores } from '../../contain/containment-store';
import { badInput } from '../../model/error';
import { defineArea, listField, numberField, defineOperation, payloadField, textField, type OperationContext } from '../../model/operation';
import { safeMessage } from '../../model/safe-message';
import { normalizeAddress } from '../sessions/addresses';
import type { NameMatchMode } from '../../model/user-names';
import { isOwnAccount, nameMatchModeField } from '../sessions/end-sessions';
import { containmentActionsFor } from './containment-actions';

const folderField = textField(
  'Folder',
  'Stores the containments on the machine that runs Node-RED, so that they survive a restart. The folder must exist.',
  {
    guard: true,
    editor: 'folder',
    example: '/var/lib/gateway/contained',
    check: (path) => (path.trim() === '' ? 'is blank.' : undefined),
  },
);

const MAX_MINUTES = 525_600;
const USERS = 'GET /api/v1/system/active-users?name=j.doe&number=200&start=0';

/** Reads the person or address to contain. Errors: `BAD_INPUT` for none or both, for an invalid address, and for the own account. */
function parsePerson(
  name: string | undefined,
  address: string | undefined,
  { servers, match }: { readonly servers: readonly string[]; readonly match: NameMatchMode },
  call: OperationContext,
): { name: string; match?: NameMatchMode } | { 'source-ip': string } {
  if ((name === undefined) === (address === undefined)) throw badInput('Enter either name (User) or source-ip (Address).');
  if (name !== undefined) {
    const trimmedName = name.trim();
    if (trimmedName === '') throw badInput('name is blank.');
    if (!isOwnAccount(call.settings.accounts, name)) return match === 'exact' ? { name: trimmedName } : { name: trimmedName, match };
    throw badInput(
      safeMessage`${JSON.stringify(name)} is the account of this package at this appliance. It cannot be contained, because nothing could release it. Nothing was sent.`,
    );
  }
  if (servers.length > 0) throw badInput('servers (Auth servers) needs a name: an address has no account to disable.');
  if (match !== 'exact') throw badInput('match (Match) needs a name: an address has no spelling.');
  const normalizedAddress = normalizeAddress((address ?? '').trim().toLowerCase());
  if (normalizedAddress === undefined)
    throw badInput(safeMessage`source-ip is ${JSON.stringify(address)}. It must be an IPv4 or IPv6 address.`);
  return { 'source-ip': normalizedAddress };
}

/** Adds a folder to those that the enforcement reads. */
function registerFolder(path: string | undefined, call: OperationContext): string {
  const appliance = hashApplianceAddress(call.settings.base);
  if (path !== undefined) getContainmentStores(appliance).forFolder(path, call.settings.signer);
  return appliance;
}

/** Creates the containment actions of a run. The run counts as unchanged until one of them writes. */
function prepareActions(call: OperationContext): ReturnType<typeof containmentActionsFor> {
  call.reportUnchanged();
  if (call.dryRun) call.addToEnvelope({ wouldChange: true });
  return containmentActionsFor(call);
}

/** Contains people (contract, section 7). */
export const containArea = defineArea({
  name: 'contain',
  label: 'Gateway contain',
  help: 'Keeps a person out for some time, even a user of a directory: the node ends each new session within seconds.',
  icon: 'gateway-contain.svg',
  color: '#31B987',
  events: { every: 10 },
  operations: {
    contain: defineOperation({
      effect: 'destroy',
      permissions: { reads: 'active users; for *Auth servers* their local users', writes: 'active users: delete; the local users' },
      label: 'Contain',
      help: 'Ends the sessions of a person or an address, disables enabled local accounts, and ends each new session until the time is over or until a release. A person who is already contained stays contained until the later end.',
      summary: {
        done: 'Contained __person__ at __appliance__ until __until__; sessions ended: __ended__, accounts disabled: __disabled__.',
        unchanged: 'Contained __person__ at __appliance__ until __until__; there was no session to end.',
        planned: 'Would contain __person__ at __appliance__ with __n__ requests.',
        'planned-one': 'Would contain __person__ at __appliance__ with one request.',
        none: '__title__: would send nothing now.',
      },
      summaryValues: ({ name, 'source-ip': address }) => ({ person: name ?? address }),
      data: '`{ id, name, disabled, ended, until }`: servers whose account was disabled, sessions that were ended',
      fields: {
        name: payloadField(
          textField('User', 'The user name, exactly as in the session record. Enter either User or Address.', {
            aliases: ['user', 'username'],
            example: 'j.doe',
            names: 'session-user',
          }),
        ),
        'source-ip': textField('Address', 'Contains every user from this address, except the account of this package.', {
          example: '203.0.113.9',
          rule: 'address',
        }),
        servers: listField('Auth servers', "Local authentication servers on which the user's account is disabled meanwhile.", {
          example: ['System Local'],
          names: 'local-server',
        }),
        match: nameMatchModeField,
        minutes: numberField('Minutes', 'The duration. Afterwards the disabled accounts are enabled again.', {
          default: 60,
          range: 'positive',
          check: (minutes) => (minutes > MAX_MINUTES ? `must be at most ${MAX_MINUTES} (one year).` : undefined),
        }),
        folder: folderField,
        max: numberField('Max people', 'The maximum number of people contained at the same time. With more, nothing is sent (LIMIT).', {
          guard: true,
          default: 25,
          range: 'count',
        }),
      },
      run: async ({ name, 'source-ip': address, servers = [], match, minutes, folder: path, max }, call) => {
        const person = parsePerson(name, address, { servers, match }, call);
        return containPerson({ ...person, servers, minutes, folder: path, max }, prepareActions(call));
      },
      example: { input: { name: 'j.doe' }, request: USERS },
    }),
    release: defineOperation({
      effect: 'write',
      permissions: { reads: 'the local users that were disabled', writes: 'the same' },
      label: 'Release',
      help: 'Ends a containment before its time is over: enables only the accounts that Contain disabled.',
      summary: {
        done: 'Released __person__ at __appliance__; accounts enabled: __enabled__.',
        unchanged: 'Released __person__ at __appliance__; no account had to be enabled.',
        planned: 'Would release __person__ at __appliance__ with __n__ requests.',
        'planned-one': 'Would release __person__ at __appliance__ with one request.',
        none: '__title__: would send nothing.',
      },
      summaryValues: ({ id, name }) => ({ person: name ?? id }),
      data: '`{ id, enabled, ended-meanwhile }`: servers whose account was enabled, and how many sessions were ended since',
      fields: {
        id: payloadField(
          textField('Id', 'The id from the data of Contain. Enter either Id or User.', {
            example: '0b8e4c1a-6d2f-4f0e-9a57-3c1d2b7e8f90',
            names: 'contained',
          }),
        ),
        name: textField('User', 'The contained name or address.', {
          aliases: ['user', 'username'],
          example: 'j.doe',
          names: 'contained-name',
        }),
        match: nameMatchModeField,
        folder: folderField,
      },
      run: ({ id, name, match, folder: path }, call) => {
        registerFolder(path, call);
        return releasePerson({ id, name, match }, prepareActions(call));
      },
      example: { input: { name: 'j.doe' }, request: '' },
    }),
    list: defineOperation({
      effect: 'read',
      label: 'List contained people',
      help: 'Lists everyone who is contained at this appliance.',
      summary: { found: '__n__ are contained at __appliance__.', 'found-one': '1 is contained at __appliance__.' },
      data: 'array of `{ id, name, disabled, pending, since, until, ended-meanwhile }`; `pending`: servers whose account is still to be disabled',
      fields: { folder: folderField },
      run: ({ folder: path }, call) => listContainments(registerFolder(path, call)),
      example: { input: {}, request: '' },
    }),
  },
});
