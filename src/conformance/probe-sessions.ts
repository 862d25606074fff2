import { randomBytes } from 'node:crypto';
import { isObject, readBoolean, type JsonObject } from '../model/json';
import { encodeQuery } from '../model/path';
import { NULLABLE_RECORD_FIELDS, SESSIONS_PATH } from './documented';
import type { ProbeResponse, ProbeRunner } from './probe-runner';

const MAX_PAGE = 200;
const NAME = 'active-user-name';

interface Page {
  readonly isSuccess: boolean;
  readonly inside: JsonObject | undefined;
  readonly document: JsonObject;
  readonly records: readonly JsonObject[];
  readonly ids: readonly string[];
  readonly total: number | undefined;
}

/** Probes the session list: paging, last-record flag, totals, order, name filter and keys without a value. */
export async function probeSessions(prober: ProbeRunner, ownName: string | undefined): Promise<void> {
  const first = await readPage(prober, { number: MAX_PAGE, start: 0 });
  if (!first.isSuccess) {
    prober.skip('the list of sessions', 'it could not be read');
    return;
  }
  readFlags(prober, first);
  readNullKeys(prober, first.records);
  await probeOrder(prober, first);
  await probePaging(prober, first);
  await probeNameFilter(prober, first.records);
  await probeOwnSession(prober, ownName);
}

async function readPage(prober: ProbeRunner, query: { number: number; start: number }): Promise<Page> {
  return toPage(await prober.get(SESSIONS_PATH, { path: `${SESSIONS_PATH}?number=${query.number}&start=${query.start}` }));
}

/** Each kind of search has its own entry in the profile, because some find nobody. */
async function readPageByName(prober: ProbeRunner, name: string, kind = '*'): Promise<Page> {
  const path = `${SESSIONS_PATH}${encodeQuery({ name, number: String(MAX_PAGE), start: '0' })}`;
  return toPage(await prober.get(`${SESSIONS_PATH}?name=${kind}`, { path }));
}

function toPage({ document, isSuccess }: ProbeResponse): Page {
  const inside = isObject(document['active-users']) ? document['active-users'] : undefined;
  const container = inside?.['active-user-records'];
  const list = isObject(container) ? container['active-user-record'] : undefined;
  const records = Array.isArray(list) ? list.filter(isObject) : isObject(list) ? [list] : [];
  const total = inside?.['total-matched-record-number'];
  return {
    isSuccess,
    inside,
    document,
    records,
    ids: records.map((record) => String(record['session-id'])),
    total: total === undefined || Number.isNaN(Number(total)) ? undefined : Number(total),
  };
}

function readFlags(prober: ProbeRunner, { inside = {}, document }: Page): void {
  const findSpelling = (where: JsonObject): string | undefined => Object.keys(where).find((key) => key.toLowerCase() === 'is-last-record');
  const [insideSpelling, besideSpelling] = [findSpelling(inside), findSpelling(document)];
  const spelling = insideSpelling ?? besideSpelling;
  prober.found('isLastRecord', insideSpelling !== undefined ? 'inside' : besideSpelling !== undefined ? 'beside' : 'absent');
  if (spelling === 'is-last-record' || spelling === 'Is-last-record') prober.found('isLastRecordSpelling', spelling);
  const total = inside['total-matched-record-number'];
  if (total !== undefined) prober.found('totals', typeof total === 'string' ? 'text' : 'number');
  const flag = insideSpelling === undefined ? document[besideSpelling ?? ''] : inside[insideSpelling];
  if (flag !== undefined && readBoolean(flag) === undefined)
    prober.note('The last-record flag is not a boolean.', 'Lists of sessions are completed by their totals.');
}

function readNullKeys(prober: ProbeRunner, records: readonly JsonObject[]): void {
  if (records.length === 0) {
    prober.skip('nullKeys', 'nobody is signed in');
    return;
  }
  const isMissing = records.some((record) => NULLABLE_RECORD_FIELDS.some((field) => record[field] === undefined));
  const hasNull = records.some((record) => Object.values(record).includes(null));
  if (!isMissing && !hasNull) prober.skip('nullKeys', 'each key has a value in all sessions');
  else prober.found('nullKeys', !hasNull ? 'absent' : isMissing ? 'mixed' : 'null');
}

async function probeOwnSession(prober: ProbeRunner, ownName: string | undefined): Promise<void> {
  if (!ownName) return prober.skip('ownSession', 'the account of the API key is not known');
  const { records } = await readPageByName(prober, ownName, 'own');
  const isOwn = (record: JsonObject): boolean =>
    String(record[NAME]).toLowerCase() === ownName.toLowerCase() && /\.Administrators/.test(JSON.stringify(record['user-roles'] ?? ''));
  prober.found('ownSession', records.some(isOwn));
}

async function probeOrder(prober: ProbeRunner, first: Page): Promise<void> {
  if (first.ids.length < 2) return prober.skip('the order of sessions', 'fewer than two people are signed in');
  const again = await readPage(prober, { number: MAX_PAGE, start: 0 });
  const known = new Set(first.ids);
  const common = again.ids.filter((id) => known.has(id));
  const later = new Set(again.ids);
  if (first.ids.filter((id) => later.has(id)).join() === common.join()) prober.note('Two reads of the sessions have the same order.');
  else prober.note('Two reads of the sessions have a different order.', 'Long lists are read again until they are complete.');
}

async function probePaging(prober: ProbeRunner, first: Page): Promise<void> {
  if (first.ids.length < 3) {
    prober.skip('startCountsFrom, ignoresStart', 'fewer than three people are signed in');
  } else {
    const second = await readPage(prober, { number: 1, start: 2 });
    const at = first.ids.indexOf(second.ids[0] ?? '');
    if (second.ids.length > 1) prober.note('The query key number is ignored.', 'Pages may be larger than the nodes ask for.');
    if (at >= 0) prober.found('ignoresStart', at === 0);
    if (at === 1 || at === 2) prober.found('startCountsFrom', at === 1 ? 1 : 0);
    else if (at !== 0) prober.skip('startCountsFrom', 'the second page does not follow the first');
  }
  if ((first.total ?? first.ids.length) <= MAX_PAGE) return prober.skip('clipAt200', `at most ${MAX_PAGE} people are signed in`);
  const large = await readPage(prober, { number: MAX_PAGE + 1, start: 0 });
  prober.found('clipAt200', large.records.length <= MAX_PAGE);
}

async function probeNameFilter(prober: ProbeRunner, records: readonly JsonObject[]): Promise<void> {
  const names = records.map((record) => record[NAME]).filter((name) => typeof name === 'string');
  const name = names.find((one) => /^[\w.-]{4,}$/.test(one));
  if (name === undefined) prober.skip('nameFilter', 'no session has a suitable user name');
  else {
    const exact = await readPageByName(prober, name);
    if (exact.records.length === 0)
      prober.note('The name filter does not find a user by the exact name.', 'Ending the sessions of a user finds nobody.');
    const part = await readPageByName(prober, name.slice(0, -1), 'part');
    prober.found('nameFilter', part.records.some((record) => record[NAME] === name) ? 'prefix' : 'exact');
  }
  const nobody = await readPageByName(prober, randomBytes(8).toString('hex'), 'nobody');
  if (!nobody.isSuccess || nobody.records.length > 0) return prober.skip('noRecords', 'a search for nobody did not give an empty list');
  const container = nobody.inside?.['active-user-records'];
  prober.found(
    'noRecords',
    container === undefined ? 'no-container' : isObject(container) && container['active-user-record'] !== undefined ? 'empty' : 'no-array',
  );
}
