import type { Json } from './body-shape';
import { type Reply, Refusal, noContentReply } from './reply';
import type { ApiRequest, Router } from './router';
import type { Variants } from './variants';

const MAX_PAGE_RECORDS = 200;

/** Active sessions (appliance-api.md, "Active sessions", "Active user record" and "Limits"). */
function readCount(request: ApiRequest, key: string): number | undefined {
  if (!request.query.has(key)) return undefined;
  const value = request.query.get(key) ?? '';
  if (!/^\d{1,9}$/.test(value)) throw new Refusal(400, `The query key ${key} must be a whole number`);
  return Number(value);
}

function readPage(request: ApiRequest): { size: number; from: number } {
  const { variants } = request.state;
  const requested = readCount(request, 'number') ?? MAX_PAGE_RECORDS;
  if (requested === 0) throw new Refusal(400, 'The query key number must be at least 1');
  const size = variants.clipAt200 ? Math.min(requested, MAX_PAGE_RECORDS) : requested;
  const start = variants.ignoresStart ? 0 : (readCount(request, 'start') ?? 0);
  return { size, from: Math.max(0, start - variants.startCountsFrom) };
}

function listSessions(request: ApiRequest): Reply {
  const { variants, sessions } = request.state;
  const name = request.query.get('name');
  if (request.query.has('name') && !name) throw new Refusal(400, 'The query key name must not be empty');
  const { size, from } = readPage(request);
  const matched = sessions.findNumbers(name ? { name, prefix: variants.nameFilter === 'prefix' } : undefined);
  const page = matched.slice(from, from + size);
  const records = page.map((index) => sessions.toRecordText(index, name !== undefined, variants));
  const formatTotal = (value: number | boolean): Json => (variants.totals === 'text' ? String(value) : value);
  const inside: Record<string, Json> = {
    'total-matched-record-number': formatTotal(matched.length),
    'total-returned-record-number': formatTotal(page.length),
    'user-login-permission': formatTotal(true),
  };
  const beside: Record<string, Json> = {};
  const last = formatTotal(from + page.length >= matched.length);
  if (variants.isLastRecord !== 'absent') (variants.isLastRecord === 'inside' ? inside : beside)[variants.isLastRecordSpelling] = last;
  const members = [toRecordsMember(records, variants), JSON.stringify(inside).slice(1, -1)].filter((part) => part !== '');
  const rest = Object.keys(beside).length > 0 ? `,${JSON.stringify(beside).slice(1, -1)}` : '';
  return { status: 200, type: 'application/json', body: `{"active-users":{${members.join()}}${rest}}` };
}

/** The records are joined as text, because most of them are stored as text. */
function toRecordsMember(records: readonly string[], variants: Variants): string {
  if (records.length > 0 || variants.noRecords === 'empty') return `"active-user-records":{"active-user-record":[${records.join()}]}`;
  return variants.noRecords === 'no-array' ? '"active-user-records":{}' : '';
}

function endSession(request: ApiRequest): Reply {
  if (!request.state.sessions.end(request.parameter)) throw new Refusal(404, `The session ${request.parameter} does not exist.`);
  return noContentReply();
}

function endAllSessions(request: ApiRequest): Reply {
  if (!request.query.has('all') || request.query.get('all') !== undefined)
    throw new Refusal(400, 'Deleting all sessions needs the bare query flag all');
  request.state.sessions.endAll();
  return noContentReply();
}

export function addSessionRoutes(router: Router): void {
  router.add('GET', 'system/active-users', listSessions, { query: ['number', 'start', 'name'] });
  router.add('DELETE', 'system/active-users', endAllSessions, { query: ['all'] });
  router.add('DELETE', 'system/active-users/session/*', endSession);
}
