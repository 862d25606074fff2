import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseSessionPage } from '../../../src/areas/sessions/session-page';
import { hashApplianceAddress } from '../../../src/contain/containment-record';
import type { ContainmentActions } from '../../../src/contain/contain';
import { startEnforcement } from '../../../src/contain/enforcement-loop';
import { getContainmentStores } from '../../../src/contain/containment-store';
import type { Envelope } from '../../../src/model/envelope';
import type { Gateway } from '../../../src/gateway/gateway';
import type { Simulator, SimulatorOptions, Variants } from '../../../src/simulator';
import {
  expectFailure,
  readSessionIds,
  listRequestLines,
  startSimulatorWithGateway,
  ACTIVE_USERS_PATH,
  getThrownError,
} from '../../helpers/simulated-appliance';
import { resetContainmentStores } from '../../helpers/reset-process-state';

const isList = ({ path }: { path: string }): boolean => path.startsWith(`${ACTIVE_USERS_PATH}?`);
const page = (start: number): string => `GET ${ACTIVE_USERS_PATH}?number=200&start=${start}`;

interface Part {
  data: unknown;
  part: { index: number; count?: number };
  envelope: Envelope;
}

async function parts(gateway: Gateway, input: Record<string, unknown>): Promise<{ parts: Part[]; data: unknown; streamed: boolean }> {
  const taken: Part[] = [];
  const { data, streamed } = await gateway.run('sessions.list', input, {
    onPart: (data, part, envelope) => taken.push({ data, part, envelope }),
  });
  return { parts: taken, data, streamed };
}

/** 450 sessions of which one of the first page ends once that page was read: the next page begins one further on. */
async function shrinking(): Promise<{ simulator: Simulator; gateway: Gateway }> {
  const both = await startSimulatorWithGateway({ sessions: 450, variants: { startCountsFrom: 0 } });
  const { sessions } = both.simulator.state;
  let pages = 0;
  const endOne = (answer: string): string => {
    if (++pages === 1) sessions.end(sessions.ids()[0] ?? '');
    return answer;
  };
  both.simulator.fault({ match: isList, times: 99, body: endOne });
  return both;
}

describe('complete session list', () => {
  it.each<[string, SimulatorOptions]>([
    ['450, counted from 0', { sessions: 450, variants: { startCountsFrom: 0 } }],
    ['450, counted from 1', { sessions: 450, variants: { startCountsFrom: 1 } }],
    ['400, counted from 0', { sessions: 400, variants: { startCountsFrom: 0 } }],
    ['400, counted from 1', { sessions: 400, variants: { startCountsFrom: 1 } }],
    ['401, counted from 1', { sessions: 401, variants: { startCountsFrom: 1 } }],
    ['200', { sessions: 200 }],
    ['1', { sessions: 1 }],
    ['0', { sessions: 0 }],
    ['10,000, counted from 0', { sessions: 10_000, variants: { startCountsFrom: 0 } }],
    ['10,000, counted from 1', { sessions: 10_000, variants: { startCountsFrom: 1 } }],
    ['is-last-record beside', { sessions: 450, variants: { isLastRecord: 'beside' } }],
    ['is-last-record misspelled', { sessions: 450, variants: { isLastRecordSpelling: 'Is-last-record' } }],
    [
      'is-last-record misspelled and beside',
      { sessions: 450, variants: { isLastRecord: 'beside', isLastRecordSpelling: 'Is-last-record' } },
    ],
    ['is-last-record absent', { sessions: 450, variants: { isLastRecord: 'absent' } }],
    ['is-last-record absent, counted from 0', { sessions: 400, variants: { isLastRecord: 'absent', startCountsFrom: 0 } }],
    ['an older release', { sessions: 450, variants: { clipAt200: false } }],
    ['totals as text', { sessions: 450, variants: { totals: 'text' } }],
    ['totals as text, is-last-record absent', { sessions: 450, variants: { totals: 'text', isLastRecord: 'absent' } }],
    ['no array', { sessions: 0, variants: { noRecords: 'no-array' } }],
    ['no container', { sessions: 0, variants: { noRecords: 'no-container', isLastRecord: 'absent' } }],
    ['keys absent', { sessions: 250, variants: { nullKeys: 'absent' } }],
    ['keys now null, now absent', { sessions: 250, variants: { nullKeys: 'mixed' } }],
  ])('sessions.list contains every session once: %s', async (_name, options) => {
    const { simulator, gateway } = await startSimulatorWithGateway(options);
    const { data, envelope, streamed } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({
      ok: true,
      total: options.sessions,
      loginPermission: true,
      truncated: false,
      changed: null,
      status: 200,
    });
    expect(streamed).toBe(false);
  });

  it.each<[string, string[]]>([
    ['without is-last-record and totals', ['is-last-record', 'total-matched-record-number', 'total-returned-record-number']],
    ['without totals', ['total-matched-record-number']],
  ])('sessions.list contains every session once with these fields per page: %s', async (_name, fields) => {
    for (const sessions of [450, 400, 0]) {
      const { simulator, gateway } = await startSimulatorWithGateway({ sessions });
      simulator.fault({ match: isList, times: 9, stripField: fields.map((field) => `active-users.${field}`) });
      const { data, envelope } = await gateway.run('sessions.list');
      expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
      expect(envelope).toMatchObject({ total: sessions, truncated: false });
    }
  });

  it.each<Partial<Variants>>([
    { isLastRecord: 'inside' },
    { isLastRecord: 'beside' },
    { isLastRecordSpelling: 'Is-last-record' },
    { isLastRecord: 'beside', isLastRecordSpelling: 'Is-last-record', totals: 'text' },
  ])('sessions.list ends by is-last-record alone, without one more request: %j', async (variants) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 397, variants: { startCountsFrom: 0, ...variants } });
    simulator.fault({ match: isList, times: 9, stripField: 'active-users.total-matched-record-number' });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ total: 397, requests: 2 });
  });

  it('sessions.list ends at the reported total if is-last-record never becomes true', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: { startCountsFrom: 0 } });
    simulator.fault({ match: isList, times: 9, body: (answer) => answer.replace('"is-last-record":true', '"is-last-record":false') });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ total: 450, requests: 4 });
  });

  it('sessions.list accepts is-last-record as the text True and at any place in the response', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 397, variants: { startCountsFrom: 0 } });
    simulator.fault({
      match: isList,
      times: 9,
      body: (answer) => answer.replace(/":(true|false)/g, (_, word) => `":"${word === 'true' ? 'True' : 'False'}"`),
    });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ loginPermission: true, requests: 2 });
  });

  it('sessions.list requests 200 records per page, starting three before the end of the previous page', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: { startCountsFrom: 0 } });
    const { envelope } = await gateway.run('sessions.list');
    expect(listRequestLines(simulator)).toEqual([page(0), page(197), page(394)]);
    expect(envelope).toMatchObject({ requests: 3, retries: 0, request: { method: 'GET', path: ACTIVE_USERS_PATH } });
  });

  it('sessions.list returns the records unchanged', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    expect((await gateway.run('sessions.list')).data).toEqual([0, 1, 2].map((index) => simulator.state.sessions.record(index)));
  });

  it('sessions.list filters by name on the appliance', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const ids = ['a&b 50%/#1', 'a&b 50%/#1'].map((name) => simulator.state.sessions.add({ 'active-user-name': name }));
    expect(readSessionIds((await gateway.run('sessions.list', { name: 'a&b 50%/#1' })).data)).toEqual(ids);
    expect(listRequestLines(simulator)).toEqual([`GET ${ACTIVE_USERS_PATH}?name=a%26b%2050%25%2F%231&number=200&start=0`]);
  });

  it('sessions.list accepts a single record that is not in an array', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 1 });
    simulator.fault({ match: isList, body: (answer) => answer.replace('[', '').replace(']', '') });
    expect(readSessionIds((await gateway.run('sessions.list')).data)).toEqual(simulator.state.sessions.ids());
  });
});

describe('appliance that ignores start', () => {
  const ignoring = { ignoresStart: true, clipAt200: false } as const;
  const inOne = (total: number): string => `GET ${ACTIVE_USERS_PATH}?number=${total}`;

  it.each<Partial<Variants>>([{}, { isLastRecord: 'absent' }, { totals: 'text', isLastRecord: 'beside' }])(
    'an appliance that ignores start is asked for all records at once after the first page came again: %j',
    async (variants) => {
      const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: { ...ignoring, ...variants } });
      const { data, envelope } = await gateway.run('sessions.list');
      expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
      expect(listRequestLines(simulator)).toEqual([page(0), page(197), inOne(450)]);
      expect(envelope).toMatchObject({ total: 450, truncated: false });
    },
  );

  it('an appliance that ignores the parameter start is asked for all records at once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: ignoring });
    const { sessions } = simulator.state;
    let pages = 0;
    const changing = (answer: string): string => {
      if (++pages === 1) sessions.end(sessions.ids()[0] ?? '');
      return answer;
    };
    simulator.fault({ match: isList, times: 9, body: changing });
    expect(readSessionIds((await gateway.run('sessions.list')).data).sort()).toEqual(sessions.ids().sort());
    expect(listRequestLines(simulator)).toContain(inOne(449));
    for (let more = 0; more < 201; more++) sessions.add({ 'active-user-name': 'twice' });
    expect((await gateway.run('sessions.list', { name: 'twice' })).data).toHaveLength(201);
    expect(listRequestLines(simulator).at(-1)).toBe(`GET ${ACTIVE_USERS_PATH}?name=twice&number=201`);
  });

  it('sessions.list in parts respects the limit and sends no session twice', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: ignoring });
    const ids = simulator.state.sessions.ids();
    const { data, envelope } = await gateway.run('sessions.list', { limit: 300 });
    expect(readSessionIds(data)).toEqual(ids.slice(0, 300));
    expect(envelope).toMatchObject({ total: 450, truncated: true });
    const { parts: pages } = await parts(gateway, { emit: 'page' });
    expect(pages.map((one) => readSessionIds(one.data))).toEqual([ids.slice(0, 200), ids.slice(200)]);
    expect(pages.at(-1)?.part).toEqual({ index: 1, count: 2 });
  });

  it('sessions.list accepts a complete list without the field is-last-record', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: ignoring });
    simulator.fault({ match: isList, times: 9, body: (answer) => answer.replace('"is-last-record":true', '"is-last-record":false') });
    expect(readSessionIds((await gateway.run('sessions.list')).data)).toEqual(simulator.state.sessions.ids());
    expect(listRequestLines(simulator)).toHaveLength(3);
  });

  it('sessions.list fails after two tries if the appliance returns only a part of a page that requests all records', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: { ignoresStart: true } });
    const error = await expectFailure(gateway.run('sessions.list'));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringMatching(/450.*200/)]);
    expect(listRequestLines(simulator)).toEqual([page(0), page(197), inOne(450), page(0), page(197), inOne(450)]);
  });

  it('sessions.list fails if the appliance reports no total', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450, variants: ignoring });
    simulator.fault({ match: isList, times: 9, stripField: 'active-users.total-matched-record-number' });
    const error = await expectFailure(gateway.run('sessions.list'));
    expect([error.code, error.message]).toEqual(['BAD_RESPONSE', expect.stringMatching(/reports more sessions/)]);
    expect(listRequestLines(simulator)).toHaveLength(4);
  });
});

describe('incomplete session list', () => {
  it('sessions.list fails after a bounded number of requests if a later page repeats', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 850, variants: { startCountsFrom: 0 } });
    let second = '';
    const repeat = (answer: string): string => (second ||= answer);
    const later = ({ path }: { path: string }): boolean => isList({ path }) && !path.endsWith('start=0');
    simulator.fault({ match: later, times: 99, body: repeat });
    const error = await expectFailure(gateway.run('sessions.list'));
    expect(error).toMatchObject({ code: 'BAD_RESPONSE', cause: { ok: false, total: 850, status: 200 } });
    expect(error.message).toMatch(/do not join around record \d+ of 850, after \d+ requests\. .*The list was discarded\./);
    expect(listRequestLines(simulator).length).toBeLessThan(50);
    expect(listRequestLines(simulator).some((line) => line.includes('number=850'))).toBe(false);
  });

  it('sessions.list tries a list with fewer records than the total once more and then fails', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 210 });
    simulator.fault({ match: isList, times: 99, body: (answer) => answer.replace(/(matched-record-number":)210/, '$1211') });
    const error = await expectFailure(gateway.run('sessions.list'));
    expect([error.code, error.details.sent]).toEqual(['BAD_RESPONSE', true]);
    expect(error.message).toBe(
      'The appliance reports 211 sessions but listed only 210 different ones in 2 attempts. The list was discarded.',
    );
    expect(listRequestLines(simulator)).toHaveLength(4);
  });

  it('sessions.list succeeds if the second try returns a complete list', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 210 });
    simulator.fault({ match: isList, skip: 1, body: (answer) => answer.replace(/(matched-record-number":)210/, '$1215') });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ total: 210, requests: 4 });
  });

  it('sessions.list misses no session while others end, and does not read the list again', async () => {
    const { simulator, gateway } = await shrinking();
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(expect.arrayContaining(simulator.state.sessions.ids()));
    expect(envelope).toMatchObject({ total: 449, truncated: false, requests: 3 });
  });

  it('sessions.list with a limit or in parts misses no session while others end', async () => {
    const limited = await shrinking();
    const { data } = await limited.gateway.run('sessions.list', { limit: 450 });
    expect(readSessionIds(data)).toEqual(expect.arrayContaining(limited.simulator.state.sessions.ids()));
    const { simulator, gateway } = await shrinking();
    const { parts: pages } = await parts(gateway, { emit: 'page' });
    expect(pages.flatMap((page) => readSessionIds(page.data))).toEqual(expect.arrayContaining(simulator.state.sessions.ids()));
    expect(pages.map(({ part }) => part)).toEqual([{ index: 0 }, { index: 1 }, { index: 2, count: 3 }]);
  });

  it('a session list is complete and has no duplicates even if the key expires before each page', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 601 });
    const pages = new Set<string>();
    const ends = ({ path }: { path: string }): boolean => {
      const isNew = path.includes('start=') && !pages.has(path);
      pages.add(path);
      if (isNew) simulator.expireKeys();
      return false;
    };
    simulator.fault({ times: Infinity, match: ends });
    const { data, envelope } = await gateway.run('sessions.list');
    const ids = (data as Record<string, string>[]).map((record) => record['session-id']);
    expect([ids.length, new Set(ids).size]).toEqual([601, 601]);
    expect(envelope).toMatchObject({ ok: true, total: 601, truncated: false });
    expect(pages.size).toBeGreaterThan(2);
    expect(simulator.logins).toBeLessThanOrEqual(1 + simulator.requests.filter(({ status }) => status === 401).length);
    expect(simulator.logins).toBeGreaterThan(2);
  });

  it('sessions.list includes sessions that start while it reads the pages', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    const join = (answer: string): string => {
      if (simulator.state.sessions.count < 460) simulator.state.sessions.add();
      return answer;
    };
    simulator.fault({ match: isList, times: 99, body: join });
    expect(readSessionIds((await gateway.run('sessions.list')).data).slice(0, 450)).toEqual(simulator.state.sessions.ids().slice(0, 450));
  });

  it.each([
    ['no active-users', '{}'],
    ['active-users null', '{"active-users":null}'],
    ['a list of lists', '{"active-users":{"active-user-records":{"active-user-record":[[]]}}}'],
    ['a record without id', '{"active-users":{"active-user-records":{"active-user-record":[{"active-user-name":"a"}]}}}'],
    ['a record with an empty id', '{"active-users":{"active-user-records":{"active-user-record":[{"session-id":""}]}}}'],
    ['an array', '[]'],
    ['nothing', ''],
    ['HTML', '<!DOCTYPE html><p>Log in</p>'],
  ])('sessions.list fails for an invalid response: %s', async (_name, body) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    simulator.fault({ match: isList, body });
    const error = await expectFailure(gateway.run('sessions.list'));
    expect(error.code).toBe('BAD_RESPONSE');
    expect(listRequestLines(simulator)).toHaveLength(1);
  });
});

describe('session list limit', () => {
  it.each([
    [450, 7, 1, true],
    [450, 200, 1, true],
    [450, 201, 2, true],
    [450, 449, 3, true],
    [450, 450, 3, false],
    [450, 1000, 3, false],
    [200, 200, 1, false],
  ])('sessions.list returns the requested number of %i sessions at a limit of %i', async (sessions, limit, requests, truncated) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions, variants: { startCountsFrom: 0 } });
    const { data, envelope } = await gateway.run('sessions.list', { limit });
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids().slice(0, limit));
    expect(envelope).toMatchObject({ total: sessions, truncated, requests });
  });

  it.each([
    [3, false],
    [2, true],
  ])('sessions.list counts each of three sessions once at a limit of %i, although two are listed twice', async (limit, truncated) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const double = (answer: string): string => {
      const document = JSON.parse(answer) as { 'active-users': { 'active-user-records': { 'active-user-record': unknown[] } } };
      const { 'active-user-records': records } = document['active-users'];
      records['active-user-record'].push(...records['active-user-record'].slice(0, 2));
      return JSON.stringify(document);
    };
    simulator.fault({ match: isList, body: double });
    const { data, envelope } = await gateway.run('sessions.list', { limit });
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids().slice(0, limit));
    expect(envelope).toMatchObject({ total: 3, truncated });
  });

  it.each([0, -1, 1.5, 'many', '', true])('sessions.list rejects the limit %j', async (limit) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await expectFailure(gateway.run('sessions.list', { limit }))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
  });
});

describe('session list in parts', () => {
  it('sessions.list sends one message per page', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    const { parts: pages, data, streamed } = await parts(gateway, { emit: 'page' });
    expect(pages.map(({ data: records }) => (records as unknown[]).length)).toEqual([200, 196, 54]);
    expect(pages.map(({ part }) => part)).toEqual([{ index: 0 }, { index: 1 }, { index: 2, count: 3 }]);
    expect(pages.flatMap(({ data: records }) => readSessionIds(records))).toEqual(simulator.state.sessions.ids());
    expect(pages[0]?.envelope).toMatchObject({ ok: true, operation: 'sessions.list', total: 450, requests: 1 });
    expect({ data, streamed }).toEqual({ data: undefined, streamed: true });
  });

  it('sessions.list sends one message per record', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 201 });
    const { parts: records, streamed } = await parts(gateway, { emit: 'record' });
    expect(readSessionIds(records.map(({ data }) => data))).toEqual(simulator.state.sessions.ids());
    expect(records.map(({ part }) => part)).toEqual(Array.from({ length: 201 }, (_, index) => ({ index, count: 201 })));
    expect(streamed).toBe(true);
  });

  it('sessions.list sends records without a count when the total is unknown, except for the last page', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 201 });
    simulator.fault({ match: isList, times: 99, stripField: 'active-users.total-matched-record-number' });
    const { parts: records } = await parts(gateway, { emit: 'record' });
    expect(records.slice(0, 200).map(({ part }) => part)).toStrictEqual(Array.from({ length: 200 }, (_, index) => ({ index })));
    expect(records.at(-1)?.part).toEqual({ index: 200, count: 201 });
  });

  it('sessions.list sends one empty page, or no record, when there is no session', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 0 });
    const page = await parts(gateway, { emit: 'page' });
    expect(page.parts.map(({ data, part }) => ({ data, part }))).toEqual([{ data: [], part: { index: 0, count: 1 } }]);
    expect(await parts(gateway, { emit: 'record' })).toEqual({ parts: [], data: undefined, streamed: true });
  });

  it('sessions.list respects the limit when it sends parts', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 450 });
    const { parts: pages } = await parts(gateway, { emit: 'page', limit: 250 });
    expect(pages.map(({ data }) => (data as unknown[]).length)).toEqual([200, 50]);
    expect(pages.at(-1)).toMatchObject({ part: { index: 1, count: 2 }, envelope: { truncated: true } });
    expect((await parts(gateway, { emit: 'record', limit: 3 })).parts.map(({ part }) => part)).toEqual([
      { index: 0, count: 3 },
      { index: 1, count: 3 },
      { index: 2, count: 3 },
    ]);
  });

  it('sessions.list reports how many parts were sent before it failed', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    simulator.fault({ match: isList, skip: 1, times: 9, status: 404 });
    const taken: unknown[] = [];
    const error = await expectFailure(gateway.run('sessions.list', { emit: 'record' }, { onPart: (data) => taken.push(data) }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', cause: { ok: false, sent: 200 } });
    expect(taken).toHaveLength(200);
  });

  it('sessions.list sends no session twice if it reads the list again', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 450 });
    simulator.fault({ match: isList, skip: 2, body: (answer) => answer.replace(/(matched-record-number":)450/, '$1451') });
    const { parts: records } = await parts(gateway, { emit: 'record' });
    expect(readSessionIds(records.map(({ data }) => data))).toEqual(simulator.state.sessions.ids());
  });

  it('sessions.list in parts requires a receiver before it sends anything', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const emit of ['page', 'record', 'all'])
      expect((await expectFailure(gateway.run('sessions.list', { emit }))).code).toBe('BAD_INPUT');
    expect(simulator.requests).toEqual([]);
  });
});

describe('parseSessionPage', () => {
  const record = { 'session-id': 'a' };
  const page = (users: unknown, more: Record<string, unknown> = {}) => parseSessionPage({ 'active-users': users, ...more });

  it('parseSessionPage reads every spelling of the keys of a page', () => {
    const empty = { records: [], total: undefined, last: undefined, loginPermission: undefined };
    expect(page({})).toEqual(empty);
    for (const none of [null, '', { 'active-user-record': null }, { 'active-user-record': '' }, {}])
      expect(page({ 'active-user-records': none })).toEqual(empty);
    for (const list of [{ 'active-user-record': [record] }, { 'active-user-record': record }, [record]])
      expect(page({ 'active-user-records': list }).records).toEqual([record]);
    for (const flag of ['is-last-record', 'Is-Last-Record', 'IS-LAST-RECORD']) {
      expect(page({ [flag]: 'True' }).isLast).toBe(true);
      expect(page({ [flag]: false }).isLast).toBe(false);
      expect(page({}, { [flag]: true }).isLast).toBe(true);
      expect(page({ 'active-user-records': { [flag]: 'true' } }).isLast).toBe(true);
    }
    expect(page({ 'is-last-record': 'odd' }, { 'is-last-record': true }).isLast).toBe(false);
    expect(page({ 'is-last-recordx': true, is_last_record: true }).isLast).toBeUndefined();
    expect([0, 7, '7', '', 'x', -1, 1.5, '1.5', null].map((n) => page({ 'total-matched-record-number': n }).total)).toEqual([
      0,
      7,
      7,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect([true, 'True', false, 'odd'].map((one) => page({ 'user-login-permission': one }).loginPermission)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it.each<[unknown, string]>([
    [undefined, 'has no active-users'],
    [[], 'has no active-users'],
    [{ 'active-user-records': { 'active-user-record': ['a'] } }, 'has a record that is not an object'],
    [{ 'active-user-records': 'a' }, 'has a record that is not an object'],
    [{ 'active-user-records': [{}] }, 'has a record without session-id'],
    [{ 'active-user-records': [record, { 'session-id': '' }] }, 'has a record without session-id'],
    [{ 'active-user-records': [{ 'session-id': 7 }] }, 'has a record without session-id'],
  ])('parseSessionPage rejects %j', (users, what) => {
    expect(getThrownError(() => page(users))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: `The session list from the appliance ${what}. Check the URL and the release. The list was discarded.`,
      details: { sent: true },
    });
  });
});

describe('complete list that another operation reads', () => {
  it('the enforcement loop uses a complete session list that another operation has read', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const kept = hashApplianceAddress(simulator.url);
    onTestFinished(resetContainmentStores);
    await getContainmentStores(kept).forFolder(undefined).put({
      id: 'a',
      appliance: kept,
      name: 'nobody',
      accounts: [],
      ended: 0,
      since: '2026-11-20T08:00:00.000Z',
      until: '2999-01-01T00:00:00.000Z',
      releasing: false,
    });
    const served: unknown[] = [];
    const hands: ContainmentActions = {
      appliance: kept,
      isDryRun: false,
      listSessions: () => Promise.resolve([]),
      listSessionsOf: () => Promise.resolve([]),
      isSessionOf: (session) => (served.push(session['session-id']), false),
      endSession: () => Promise.resolve(false),
      isEnabled: () => Promise.resolve(false),
      setEnabled: () => Promise.resolve(),
      toReportedSession: (session) => session,
      runExclusive: (work) => work(),
    };
    let looks = 0;
    const onLook = (): void => void looks++;
    onTestFinished(
      startEnforcement({
        appliance: kept,
        every: 3600,
        canContain: true,
        perform: (work) => work(hands),
        onEvent: () => undefined,
        onPoll: onLook,
      }),
    );
    await expect.poll(() => looks).toBe(1);
    // Each a quarter of an hour and more after the one before.
    const now = performance.now.bind(performance);
    let later = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
    onTestFinished(() => void vi.restoreAllMocks());
    for (const input of [{ name: 'a' }, { limit: 2 }, { limit: 99 }, { emit: 'page' }, { emit: 'record' }, { emit: 'array' }, {}]) {
      later += 1e6;
      const before = looks;
      await gateway.run('sessions.list', input, { onPart: () => undefined });
      const isWhole = !('name' in input || 'limit' in input) && !('emit' in input && input.emit !== 'array');
      if (isWhole) await expect.poll(() => looks).toBe(before + 1);
    }
    const all = simulator.state.sessions.ids();
    expect([looks, served]).toEqual([3, [...all, ...all]]);
  });
});
