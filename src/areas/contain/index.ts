import { toApplianceHash } from '../../contain/appliance-hash';
import { contain as containPerson, listContained, release as releasePerson } from '../../contain/contain';
import { getContainmentStores } from '../../contain/containment-store';
import { badInput } from '../../model/error';
import { defineArea, listField, numberField, defineOperation, subjectField, textField, type OperationContext } from '../../model/operation';
import { safeMessage } from '../../model/safe-message';
import { normalizeAddress } from '../sessions/addresses';
import { isOwnAccount } from '../sessions/end-sessions';
import { containmentActionsFor } from './containment-actions';

const folderField = textField(
  'Folder',
  'Where it is kept who is contained, on the machine that runs Node-RED, so that it survives a restart. It has to be there.',
  {
    guard: true,
    example: '/var/lib/gateway/contained',
    check: (path) => (path.trim() === '' ? 'is blank.' : undefined),
  },
);

const MAX_MINUTES = 525_600;
const USERS = 'GET /api/v1/system/active-users?name=j.doe&number=200&start=0';

/** Whom to keep out. Errors: `BAD_INPUT` for none or both, for an address that is none, and for our own account. */
function parsePerson(
  name: string | undefined,
  address: string | undefined,
  servers: readonly string[],
  call: OperationContext,
): { name: string } | { 'source-ip': string } {
  if ((name === undefined) === (address === undefined)) throw badInput('name (User) or source-ip has to be given, and only one of them.');
  if (name !== undefined) {
    if (name.trim() === '') throw badInput('name is blank.');
    if (!isOwnAccount(call.settings.accounts, name)) return { name };
    throw badInput(
      safeMessage`${JSON.stringify(name)} is the account that this package itself uses here: contained, nobody could release it. Nothing was done.`,
    );
  }
  if (servers.length > 0) throw badInput('servers is for a name: an address has no account that could be disabled.');
  const normalizedAddress = normalizeAddress((address ?? '').trim().toLowerCase());
  if (normalizedAddress === undefined) throw badInput(safeMessage`source-ip is ${JSON.stringify(address)}, which is no address.`);
  return { 'source-ip': normalizedAddress };
}

/** Looks there from now on, too. */
function registerFolder(path: string | undefined, call: OperationContext): string {
  const appliance = toApplianceHash(call.settings.base);
  if (path !== undefined) getContainmentStores(appliance).forFolder(path);
  return appliance;
}

/** What acts on the appliance: unless it does, nothing has changed. */
function prepareActions(call: OperationContext): ReturnType<typeof containmentActionsFor> {
  call.reportUnchanged();
  if (call.dryRun) call.addToEnvelope({ wouldChange: true });
  return containmentActionsFor(call);
}

/** Keeps people out (contract, section 7). */
export const containArea = defineArea({
  name: 'contain',
  label: 'Gateway contain',
  help: 'Keeps a person out for a while, also one whom a directory authenticates: each new session is ended within seconds.',
  icon: 'gateway-contain.svg',
  color: '#31B987',
  events: { every: 10 },
  operations: {
    contain: defineOperation({
      effect: 'destroy',
      label: 'Contain',
      help: 'Ends the sessions of a person or an address, disables the local accounts that are enabled, and ends each new session until the time is over or somebody releases them. Whoever is contained already stays so, until the later end.',
      summary: { unchanged: '__title__: done; there was no session to end.', none: '__title__: would send nothing now.' },
      data: '`{ id, name, disabled, ended, until }`: servers whose account was disabled, sessions that were ended',
      fields: {
        name: subjectField(
          textField('User', 'The user name, exactly as in the session record. Or give Address.', {
            example: 'j.doe',
            names: 'session-user',
          }),
        ),
        'source-ip': textField('Address', 'Contains everybody who comes from this address, but for the account of this package itself.', {
          example: '203.0.113.9',
          rule: 'address',
        }),
        servers: listField('Auth servers', 'Local authentication servers on which the account of the user is disabled meanwhile.', {
          example: ['System Local'],
          names: 'local-server',
        }),
        minutes: numberField('Minutes', 'How long. Afterwards what was disabled is enabled again.', {
          default: 60,
          range: 'positive',
          check: (minutes) => (minutes > MAX_MINUTES ? `has to be at most ${MAX_MINUTES}, which is a year.` : undefined),
        }),
        folder: folderField,
        max: numberField('Most people', 'When more than this many would be contained at once, nothing is done (LIMIT).', {
          guard: true,
          default: 25,
          range: 'count',
        }),
      },
      run: async ({ name, 'source-ip': address, servers = [], minutes, folder: path, max }, call) => {
        const person = parsePerson(name, address, servers, call);
        return containPerson({ ...person, servers, minutes, folder: path, max }, prepareActions(call));
      },
      example: { input: { name: 'j.doe' }, request: USERS },
    }),
    release: defineOperation({
      effect: 'write',
      label: 'Release',
      help: 'Lets somebody in again before the time is over: enables exactly the accounts that Contain has disabled.',
      summary: { unchanged: '__title__: done; no account had to be enabled.', none: '__title__: would send nothing.' },
      data: '`{ id, enabled, ended-meanwhile }`: servers whose account was enabled, and how many sessions were ended since',
      fields: {
        id: subjectField(
          textField('Id', 'What Contain gave. Or give User.', { example: '0b8e4c1a-6d2f-4f0e-9a57-3c1d2b7e8f90', names: 'contained' }),
        ),
        name: textField('User', 'The name or the address that is contained.', { example: 'j.doe', names: 'contained-name' }),
        folder: folderField,
      },
      run: ({ id, name, folder: path }, call) => {
        registerFolder(path, call);
        return releasePerson({ id, name }, prepareActions(call));
      },
      example: { input: { name: 'j.doe' }, request: '' },
    }),
    list: defineOperation({
      effect: 'read',
      label: 'List who is contained',
      help: 'Everybody who is kept out of this appliance now.',
      summary: { found: '__n__ are contained.', 'found-one': '1 is contained.' },
      data: 'array of `{ id, name, disabled, since, until, ended-meanwhile }`',
      fields: { folder: folderField },
      run: ({ folder: path }, call) => listContained(registerFolder(path, call)),
      example: { input: {}, request: '' },
    }),
  },
});
