import { afterEach, describe, expect, it } from 'vitest';
import { type Client, start, stopAll } from './client';

const USERS = '/api/v1/system/active-users';
type Rec = Record<string, unknown>;
interface Page {
  'active-users': { 'active-user-records'?: { 'active-user-record'?: Rec[] }; [key: string]: unknown };
  [key: string]: unknown;
}

afterEach(stopAll);

const pageOf = async (client: Client, query = ''): Promise<Page> => (await client.get(USERS + query)).json as Page;
const recordsOf = (page: Page): Rec[] => page['active-users']['active-user-records']?.['active-user-record'] ?? [];
const idsOf = (page: Page): unknown[] => recordsOf(page).map((record) => record['session-id']);

describe('list', () => {
  it('the simulated session list covers all sessions by pages of 200 without a gap or a duplicate', async () => {
    const client = await start({ sessions: 450 });
    const pages = [await pageOf(client), await pageOf(client, '?number=200&start=201'), await pageOf(client, '?number=200&start=401')];
    expect(pages.map((page) => recordsOf(page).length)).toEqual([200, 200, 50]);
    expect(new Set(pages.flatMap(idsOf)).size).toBe(450);
    expect(pages.map((page) => page['active-users']['is-last-record'])).toEqual([false, false, true]);
    expect(pages[0]?.['active-users']).toMatchObject({
      'total-matched-record-number': 450,
      'total-returned-record-number': 200,
      'user-login-permission': true,
    });
    const full = await pageOf(client, '?number=50&start=401');
    expect([recordsOf(full).length, full['active-users']['is-last-record']]).toEqual([50, true]);
    expect(idsOf(await pageOf(client, '?start=0'))).toEqual(idsOf(await pageOf(client, '?start=1')));
  });

  it('the simulated session list counts from 0 with the variant for it', async () => {
    const client = await start({ sessions: 450, variants: { startCountsFrom: 0 } });
    const all = [...idsOf(await pageOf(client)), ...idsOf(await pageOf(client, '?start=200'))];
    expect(new Set(all).size).toBe(400);
    expect(idsOf(await pageOf(client, '?start=201&number=1'))).not.toEqual(all.slice(200, 201));
  });

  it('the simulated session list limits number to 200 unless the release is older', async () => {
    const client = await start({ sessions: 450 });
    expect(recordsOf(await pageOf(client, '?number=450'))).toHaveLength(200);
    client.simulator.state.variants.clipAt200 = false;
    expect(recordsOf(await pageOf(client, '?number=450'))).toHaveLength(450);
  });

  it.each([
    '?number=0',
    '?number=-1',
    '?number=many',
    '?start=',
    '?start=1.5',
    '?limit=3',
    '?name=',
    '?number=1&number=2',
    '?name=a+b',
    '?name=a@b',
    '?name=%zz',
    '?name=%ff',
  ])('the simulated session list refuses the query %s', async (query) => {
    const client = await start();
    expect((await client.get(USERS + query)).status).toBe(400);
  });

  it('the session list has every field of a record, with null for no value', async () => {
    const client = await start({ brand: 'Nova' });
    const [record] = recordsOf(await pageOf(client));
    expect(Object.keys(record ?? {})).toHaveLength(25);
    expect(record).toHaveProperty('nova-client-version');
    expect(record?.['session-id']).toMatch(/^sid/);
    expect(record?.['user-sign-in-time']).toMatch(/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d$/);
    expect(record?.['sign-in-time-micro']).toMatch(/^\d+\.\d{6}$/);
    expect(record?.['endpoint-security-status']).toContain('\n');
  });

  it('a variant of the simulator omits the session keys without a value, always or at random', async () => {
    const client = await start({ variants: { nullKeys: 'absent' } });
    const nulls = async (): Promise<number> =>
      recordsOf(await pageOf(client))
        .flatMap((record) => Object.values(record))
        .filter((value) => value === null).length;
    expect(await nulls()).toBe(0);
    client.simulator.state.variants.nullKeys = 'null';
    const all = await nulls();
    client.simulator.state.variants.nullKeys = 'mixed';
    const mixed = await nulls();
    expect(mixed).toBeGreaterThan(0);
    expect(mixed).toBeLessThan(all);
  });

  it('variants of the simulator move, respell or omit is-last-record, or send totals as text', async () => {
    const client = await start({ variants: { isLastRecord: 'beside', isLastRecordSpelling: 'Is-last-record', totals: 'text' } });
    const page = await pageOf(client);
    expect(page['Is-last-record']).toBe('true');
    expect(page['active-users']['total-matched-record-number']).toBe('25');
    client.simulator.state.variants.isLastRecord = 'absent';
    expect((await client.get(USERS)).text).not.toMatch(/is-last-record/i);
  });

  it.each([
    ['empty', { 'active-user-record': [] }],
    ['no-array', {}],
    ['no-container', undefined],
  ] as const)('the simulated session list without sessions has the form %s', async (noRecords, expected) => {
    const client = await start({ sessions: 0, variants: { noRecords } });
    const page = await pageOf(client);
    expect(page['active-users']['active-user-records']).toEqual(expected);
    expect(page['active-users']['total-matched-record-number']).toBe(0);
  });

  it('the simulated session list finds sessions by exact name or prefix, with a subset of the fields', async () => {
    const client = await start({ sessions: 900 });
    const exact = recordsOf(await pageOf(client, '?name=anna.weber'));
    expect(new Set(exact.map((record) => record['active-user-name']))).toEqual(new Set(['anna.weber']));
    expect(Object.keys(exact[0] ?? {}).length).toBeLessThan(20);
    expect(Object.values(exact[0] ?? {})).not.toContain(null);
    client.simulator.state.sessions.add({ 'active-user-name': 'anna.weber-2' });
    expect(recordsOf(await pageOf(client, '?name=anna.weber'))).toHaveLength(exact.length);
    client.simulator.state.variants.nameFilter = 'prefix';
    const byPrefix = recordsOf(await pageOf(client, '?name=anna.weber')).map((record) => record['active-user-name']);
    expect(byPrefix).toEqual(expect.arrayContaining(['anna.weber', 'anna.weber-2']));
    expect(byPrefix).not.toContain('ben.schmidt');
    expect(recordsOf(await pageOf(client, `?name=${encodeURIComponent('a&b 50%/#1')}`))).not.toHaveLength(0);
  });

  it('the simulated session list contains users with two sessions and names that need encoding', async () => {
    const client = await start();
    const names = recordsOf(await pageOf(client)).map((record) => String(record['active-user-name'] as string));
    expect(new Set(names).size).toBeLessThan(names.length);
    expect(names.some((name) => encodeURIComponent(name) !== name)).toBe(true);
  });

  it('the simulated session list contains sessions of administrators', async () => {
    const client = await start();
    expect(recordsOf(await pageOf(client)).some((record) => record['user-roles'] === '.Administrators')).toBe(true);
  });

  it('the simulator serves pages of 100,000 sessions', async () => {
    const client = await start({ sessions: 100_000 });
    const pages = await Promise.all([0, 50_001, 99_801].map((at) => pageOf(client, `?number=200&start=${at}`)));
    await pageOf(client, '?name=nobody');
    expect(new Set(pages.flatMap(idsOf)).size).toBe(600);
  });
});

describe('end', () => {
  it('the simulator ends one session by its id, once, and keeps the others', async () => {
    const client = await start({ sessions: 3 });
    const [, second] = client.simulator.state.sessions.ids();
    expect((await pageOf(client, '?name=ben.schmidt'))['active-users']['total-matched-record-number']).toBe(1);
    expect((await client.delete(`${USERS}/session/${second}`)).status).toBe(204);
    expect((await client.delete(`${USERS}/session/${second}`)).status).toBe(404);
    expect(idsOf(await pageOf(client))).toEqual(client.simulator.state.sessions.ids());
    expect(client.simulator.state.sessions.count).toBe(2);
    expect((await pageOf(client, '?name=ben.schmidt'))['active-users']['total-matched-record-number']).toBe(0);
  });

  it('the simulator ends all sessions only if the query is ?all', async () => {
    const client = await start();
    for (const query of ['', '?all=true', '?all=', '?everyone', '?all&x']) expect((await client.delete(USERS + query)).status).toBe(400);
    expect(client.simulator.state.sessions.count).toBe(25);
    expect((await client.delete(`${USERS}?all`)).status).toBe(204);
    expect(client.simulator.state.sessions.count).toBe(0);
  });

  it('the simulator invalidates the API key when the session of the key ends, with the variant for it', async () => {
    const client = await start({ variants: { ownSession: true } });
    expect(client.simulator.state.sessions.count).toBe(26);
    const own = client.simulator.state.sessions.ids().at(-1);
    expect((await client.delete(`${USERS}/session/${own}`)).status).toBe(204);
    expect((await client.get(USERS)).status).toBe(401);
  });
});
