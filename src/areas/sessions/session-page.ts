import { GatewayError } from '../../model/error';
import { isObject, readBoolean, type JsonObject } from '../../model/json';
import { trusted, safeMessage } from '../../model/safe-message';
import type { SessionRecord } from './session-record';

/** Records in a full page: the maximum of releases that limit pages. */
export const SESSIONS_PER_PAGE = 200;

/** One page of active sessions, independent of the spelling of the release (appliance-api.md, "Active user record"; field-notes.md). */
export interface SessionPage {
  records: SessionRecord[];
  /** Number of all matching records, if the appliance reports it. */
  total: number | undefined;
  /** Whether this is the last page, if the appliance reports it. */
  isLast: boolean | undefined;
  loginPermission: boolean | undefined;
}

/** Reads one page. Errors: `BAD_RESPONSE` for a document that is not a list of sessions. */
export function parseSessionPage(document: JsonObject): SessionPage {
  const users = document['active-users'];
  if (!isObject(users)) throw createListError('has no active-users');
  const wrapper = users['active-user-records'];
  const permission = users['user-login-permission'];
  return {
    records: parseRecords(isObject(wrapper) ? wrapper['active-user-record'] : wrapper),
    total: toCount(users['total-matched-record-number']),
    isLast: readLastFlag(users) ?? readLastFlag(document) ?? (isObject(wrapper) ? readLastFlag(wrapper) : undefined),
    loginPermission: permission === undefined ? undefined : readBoolean(permission) === true,
  };
}

export function getSessionId(record: SessionRecord): string {
  return record['session-id'];
}

function parseRecords(list: unknown): SessionRecord[] {
  // Without sessions the array is missing; a single session may come without an array.
  if (list === undefined || list === null || list === '') return [];
  const records: unknown[] = Array.isArray(list) ? list : [list];
  for (const record of records) {
    if (!isObject(record)) throw createListError('has a record that is not an object');
    const id = record['session-id'];
    if (typeof id !== 'string' || id === '') throw createListError('has a record without session-id');
  }
  return records as SessionRecord[];
}

function readLastFlag(parent: JsonObject): boolean | undefined {
  for (const key of Object.keys(parent)) {
    if (key.length === 14 && key.toLowerCase() === 'is-last-record') return readBoolean(parent[key]) === true;
  }
  return undefined;
}

function toCount(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined;
}

function createListError(problem: string): GatewayError {
  return new GatewayError(
    'BAD_RESPONSE',
    safeMessage`The session list from the appliance ${trusted(problem)}. Check the URL and the release. The list was discarded.`,
    {
      sent: true,
    },
  );
}
