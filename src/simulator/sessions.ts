import type { Json } from './fields';
import { type Reply, Refusal, noContent } from './reply';
import type { Call, Router } from './router';
import type { Variants } from './variants';

const PAGE = 200;

/** Active sessions (appliance-api.md, "Active sessions", "Active user record" and "Limits"). */
function count(call: Call, key: string): number | undefined {
  if (!call.query.has(key)) return undefined;
  const value = call.query.get(key) ?? '';
  if (!/^\d{1,9}$/.test(value)) throw new Refusal(400, `The query key ${key} must be a whole number`);
  return Number(value);
}

function pageOf(call: Call): { size: number; from: number } {
  const { variants } = call.state;
  const asked = count(call, 'number') ?? PAGE;
  if (asked === 0) throw new Refusal(400, 'The query key number must be at least 1');
  const size = variants.clipAt200 ? Math.min(asked, PAGE) : asked;
  const start = variants.ignoresStart ? 0 : (count(call, 'start') ?? 0);
  return { size, from: Math.max(0, start - variants.startCountsFrom) };
}

function list(call: Call): Reply {
  const { variants, sessions } = call.state;
  const name = call.query.get('name');
  if (call.query.has('name') && !name) throw new Refusal(400, 'The query key name must not be empty');
  const { size, from } = pageOf(call);
  const matched = sessions.numbers(name ? { name, prefix: variants.nameFilter === 'prefix' } : undefined);
  const page = matched.slice(from, from + size);
  const records = page.map((index) => sessions.text(index, name !== undefined, variants));
  const as = (value: number | boolean): Json => (variants.totals === 'text' ? String(value) : value);
  const inside: Record<string, Json> = {
    'total-matched-record-number': as(matched.length),
    'total-returned-record-number': as(page.length),
    'user-login-permission': as(true),
  };
  const beside: Record<string, Json> = {};
  const last = as(from + page.length >= matched.length);
  if (variants.isLastRecord !== 'absent') (variants.isLastRecord === 'inside' ? inside : beside)[variants.isLastRecordSpelling] = last;
  const members = [container(records, variants), JSON.stringify(inside).slice(1, -1)].filter((part) => part !== '');
  const rest = Object.keys(beside).length > 0 ? `,${JSON.stringify(beside).slice(1, -1)}` : '';
  return { status: 200, type: 'application/json', body: `{"active-users":{${members.join()}}${rest}}` };
}

/** The records are put together as text, since most of them are kept as text. */
function container(records: readonly string[], variants: Variants): string {
  if (records.length > 0 || variants.noRecords === 'empty') return `"active-user-records":{"active-user-record":[${records.join()}]}`;
  return variants.noRecords === 'no-array' ? '"active-user-records":{}' : '';
}

function endOne(call: Call): Reply {
  if (!call.state.sessions.end(call.parameter)) throw new Refusal(404, `The session ${call.parameter} does not exist.`);
  return noContent();
}

function endEveryone(call: Call): Reply {
  if (!call.query.has('all') || call.query.get('all') !== undefined)
    throw new Refusal(400, 'Deleting all sessions needs the bare query flag all');
  call.state.sessions.endAll();
  return noContent();
}

export function sessionRoutes(router: Router): void {
  router.add('GET', 'system/active-users', list, { query: ['number', 'start', 'name'] });
  router.add('DELETE', 'system/active-users', endEveryone, { query: ['all'] });
  router.add('DELETE', 'system/active-users/session/*', endOne);
}
