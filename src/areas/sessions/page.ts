import { GatewayError } from '../../model/error';
import { isObject, truthOf, type JsonObject } from '../../model/json';
import { ours, sentence } from '../../model/sentence';

/** Records of a full page: what releases that clip give at most. */
export const PAGE = 200;

/** One page of active sessions, whichever of its spellings the release uses (appliance-api.md, "Active user record"; field-notes.md). */
export interface Page {
  records: JsonObject[];
  /** Records that match in all, where the appliance tells. */
  total: number | undefined;
  /** Whether this is the last page, where the appliance tells. */
  last: boolean | undefined;
  loginPermission: boolean | undefined;
}

/** Reads one page. Errors: `BAD_RESPONSE` when it is no listing of sessions. */
export function pageOf(document: JsonObject): Page {
  const users = document['active-users'];
  if (!isObject(users)) throw odd('has no active-users');
  const wrapper = users['active-user-records'];
  const permission = users['user-login-permission'];
  return {
    records: recordsOf(isObject(wrapper) ? wrapper['active-user-record'] : wrapper),
    total: wholeNumber(users['total-matched-record-number']),
    last: lastFlag(users) ?? lastFlag(document) ?? (isObject(wrapper) ? lastFlag(wrapper) : undefined),
    loginPermission: permission === undefined ? undefined : truthOf(permission) === true,
  };
}

export function sessionId(record: JsonObject): string {
  return record['session-id'] as string;
}

function recordsOf(list: unknown): JsonObject[] {
  // The array is missing when there is no session; a single one may stand alone.
  if (list === undefined || list === null || list === '') return [];
  const records: unknown[] = Array.isArray(list) ? list : [list];
  for (const record of records) {
    if (!isObject(record)) throw odd('has a record that is not an object');
    const id = record['session-id'];
    if (typeof id !== 'string' || id === '') throw odd('has a record without session-id');
  }
  return records as JsonObject[];
}

function lastFlag(holder: JsonObject): boolean | undefined {
  for (const key of Object.keys(holder)) {
    if (key.length === 14 && key.toLowerCase() === 'is-last-record') return truthOf(holder[key]) === true;
  }
  return undefined;
}

function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined;
}

function odd(what: string): GatewayError {
  return new GatewayError('BAD_RESPONSE', sentence`The list of sessions ${ours(what)}. Nothing was concluded from it.`, { sent: true });
}
