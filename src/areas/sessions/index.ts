import type { BulkResult, WriteResult } from '../../model/envelope';
import {
  amountField,
  defineArea,
  choiceField,
  numberField,
  objectField,
  defineOperation,
  recordsField,
  requiredField,
  payloadField,
  textField,
} from '../../model/operation';
import { encodedPath } from '../../model/path';
import {
  endSessions,
  endSession,
  toUniqueRecords,
  findMatchingSessions,
  listSessionsOfUser,
  excludeOwnSessions,
  assertNotOwnAccount,
  nameMatchModeField,
} from './end-sessions';
import { parseSessionFilter } from './session-filter';
import { listSessions } from './list-sessions';

const SESSIONS = '/api/v1/system/active-users';
const maxField = amountField(
  'Max sessions',
  'If more sessions than this would end, nothing is done (LIMIT): a number, or a share of all sessions such as `10%`.',
  {
    guard: true,
    default: 25,
    range: 'count',
    rule: 'amount',
    example: '10%',
  },
);

/** Active user sessions (appliance-api.md, "Active sessions"). */
export const sessionsArea = defineArea({
  name: 'sessions',
  label: 'Gateway sessions',
  help: 'Lists the active user sessions and ends them.',
  icon: 'gateway-sessions.svg',
  color: '#7AC9EB',
  operations: {
    list: defineOperation({
      effect: 'read',
      label: 'List sessions',
      help: 'Lists all active sessions: the node reads every page and returns each session once.',
      summary: { found: '__n__ sessions on __appliance__.', 'found-one': '1 session on __appliance__.' },
      data: 'array of session records',
      fields: {
        name: textField('User', 'Only the sessions of this user, as the appliance compares names.', {
          filter: true,
          aliases: ['user', 'username'],
          example: 'j.doe',
          names: 'session-user',
        }),
        limit: numberField('Limit', 'Stops after this many records. `msg.envelope.truncated` is then true.', {
          guard: true,
          range: 'count',
        }),
        emit: choiceField(
          'Send',
          'One message with all records, one per page (fastest for thousands of records), or one per record.',
          ['array', 'page', 'record'],
          {
            guard: true,
            default: 'array',
          },
        ),
      },
      run: listSessions,
      example: { input: {}, request: `GET ${SESSIONS}?number=200&start=0` },
    }),
    kill: defineOperation({
      effect: 'destroy',
      label: 'End sessions',
      help: 'Ends the sessions with the given ids. The node also accepts one record or an array of records from `sessions.list`.',
      summary: {
        done: 'Ended the session: __session-id__.',
        many: 'Ended __ok__ of __total__ sessions',
        planned: 'Would end __n__ sessions.',
        'planned-one': 'Would end 1 session.',
        none: 'No session to end.',
      },
      data: 'a result for each item; for a single id or record, one plain result',
      fields: {
        'session-id': payloadField(
          requiredField(
            recordsField('Session', 'A session id, a session record, or an array of either.', { example: 'sid1a2b3c', names: 'session' }),
          ),
        ),
        max: maxField,
      },
      run: (input, call): Promise<BulkResult | WriteResult> => {
        const sessionInput = input['session-id'];
        return Array.isArray(sessionInput)
          ? endSessions(toUniqueRecords(sessionInput), input.max, call)
          : endSession(sessionInput, call, input.max);
      },
      example: {
        input: { 'session-id': 'sid1a2b3c' },
        request: `DELETE ${encodedPath`/api/v1/system/active-users/session/${'sid1a2b3c'}`}`,
      },
    }),
    'kill-user': defineOperation({
      effect: 'destroy',
      label: "End a user's sessions",
      help: 'Finds the sessions of one user, never the account that this package itself uses, and ends them. If nobody has the name, `msg.envelope.similar` lists similar names.',
      summary: {
        many: 'Ended __ok__ of __total__ sessions of __name__',
        planned: 'Would end __n__ sessions of __name__.',
        'planned-one': 'Would end 1 session of __name__.',
        none: '__name__ has no session.',
      },
      data: 'a result for each item',
      fields: {
        name: payloadField(
          requiredField(
            textField('User', 'The user name, exactly as in the session record.', {
              aliases: ['user', 'username'],
              example: 'j.doe',
              names: 'session-user',
            }),
          ),
        ),
        match: nameMatchModeField,
        max: maxField,
      },
      run: async ({ name, match, max }, call) => {
        const sessions = await listSessionsOfUser(assertNotOwnAccount(name, call), match, call);
        return endSessions(excludeOwnSessions(sessions, call), max, call);
      },
      example: { input: { name: 'j.doe' }, request: `GET ${SESSIONS}?name=j.doe&number=200&start=0` },
    }),
    'kill-matching': defineOperation({
      effect: 'destroy',
      label: 'End matching sessions',
      help: 'Ends the sessions that match every field of the filter, except those of the account that this package uses: `msg.envelope.spared` lists them.',
      summary: {
        many: 'Ended __ok__ of __total__ matching sessions',
        planned: 'Would end __n__ matching sessions.',
        'planned-one': 'Would end 1 matching session.',
        none: 'No session on __appliance__ matches.',
      },
      data: 'a result for each item',
      fields: {
        filter: payloadField(
          requiredField(
            objectField(
              'Filter',
              'Record fields and their required values: text with `*` as wildcard, for an address also a network such as `203.0.113.0/24`, or an array of texts of which one must match. `older-than` is the age of the session: hours, or text such as `90 min`.',
              {
                editor: 'session-filter',
                example: { 'authentication-realm': 'Contractors', 'source-ip': '203.0.113.0/24', 'older-than': '8 h' },
              },
            ),
          ),
        ),
        max: maxField,
      },
      run: async ({ filter, max }, call) => {
        // A wrong filter fails before anything is sent. The responses then show the clock of the appliance.
        parseSessionFilter(filter);
        const sessions = await findMatchingSessions(() => parseSessionFilter(filter, call.clockOffsetSeconds), call);
        return endSessions(sessions, max, call);
      },
      example: { input: { filter: { 'authentication-realm': 'Contractors' } }, request: `GET ${SESSIONS}?number=200&start=0` },
    }),
    'kill-all': defineOperation({
      effect: 'destroy',
      label: 'End ALL sessions',
      help: 'Ends every session on the appliance, including those of this package. There is no guard.',
      summary: { done: 'Ended all sessions on __appliance__.', 'planned-one': 'Would end all sessions on __appliance__.' },
      data: 'result',
      fields: {},
      request: () => ({ method: 'DELETE', path: SESSIONS, query: { all: true } }),
      example: { input: {}, request: `DELETE ${SESSIONS}?all` },
    }),
  },
});
