import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulatedFleet, type SimulatedFleet } from '../../src/simulator';
import { expectFailure } from '../../test/helpers/simulated-appliance';
import { Database } from '../store/database';
import { hashInventory, hashFleetAppliance, InventoryFingerprint, encodeFleetKey } from '../worker/fleet-identity';
import { countWrites, ENSURE_INPUT, TestFleet, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 30;
let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.close());

const ensure = { operation: 'config.ensure', input: ENSURE_INPUT };
const countWritten = (fleet: SimulatedFleet): number => fleet.appliances.filter((appliance) => countWrites(appliance) > 0).length;
const findReport = (member: FleetMember, id: string) => member.delivered.find(({ run }) => run.id === id)?.data;
async function waitForReport(member: FleetMember, id: string) {
  await waitUntil(() => findReport(member, id) !== undefined, `no report of ${id}`);
  return findReport(member, id);
}

describe('fleet identity', () => {
  it('the key of a fleet differs for different inventories and names', () => {
    const identities = [
      { inventory: 'a', name: '' },
      { inventory: 'a', name: 'b' },
      { inventory: 'a/b', name: '' },
      { inventory: 'b', name: 'a' },
    ];
    expect(new Set(identities.map(encodeFleetKey)).size).toBe(4);
  });

  it('the hash of an inventory depends on its names and hosts, but not on their order', () => {
    const [one, other] = [
      { name: 'vpn-1', url: 'https://one.example.com/admin' },
      { name: 'vpn-2', url: 'https://two.example.com' },
    ];
    expect(hashInventory([one, other])).toBe(hashInventory([other, { ...one, url: 'https://ONE.example.com' }]));
    expect(hashInventory([one, other])).not.toBe(hashInventory([one, { ...other, url: 'https://three.example.com' }]));
    expect(hashInventory([one])).not.toBe(hashInventory([one, other]));
    expect(hashFleetAppliance(one)).not.toBe(hashFleetAppliance({ ...one, name: 'vpn-2' }));
    expect(hashFleetAppliance(one)).not.toContain('one');
  });

  it('fleet identity follows changes of an inventory, also of an entry in place', () => {
    const fingerprint = new InventoryFingerprint();
    const entries = [{ name: 'vpn-1', url: 'https://one.example.com' }];
    fingerprint.update([]);
    const ofEmpty = fingerprint.value;
    expect(ofEmpty).toBe(hashInventory([]));
    fingerprint.update(entries);
    expect(fingerprint.value).toBe(hashInventory(entries));
    Object.assign(entries[0] ?? {}, { url: 'https://two.example.com' });
    fingerprint.update(entries);
    expect(fingerprint.value).toBe(hashInventory(entries));
    fingerprint.update([]);
    expect(fingerprint.value).toBe(ofEmpty);
  });
});

describe('two fleets with the same database and the same appliance names', () => {
  let production: TestFleet;
  let laboratory: TestFleet;
  let productionMember: FleetMember;
  let laboratoryMember: FleetMember;

  beforeAll(async () => {
    const url = await postgres.createDatabase();
    [production, laboratory] = await Promise.all([TestFleet.start(url, COUNT), TestFleet.start(url, COUNT)]);
    productionMember = await production.startMember({ fleet: { inventory: 'production', name: '' } });
    laboratoryMember = await laboratory.startMember({ fleet: { inventory: 'laboratory', name: '' } });
  });
  afterAll(() => Promise.all([production?.close(), laboratory?.close()]));

  it('two fleets with the same database send the items of a run only to the appliances of their own inventory', async () => {
    for (const id of ['first', 'second', 'third']) {
      await productionMember.engine.startRun(production.createRun(id, ensure));
      expect(await waitForReport(productionMember, id)).toMatchObject({ total: COUNT, ok: COUNT });
    }
    expect(countWritten(production.fleet)).toBe(COUNT);
    expect(laboratory.fleet.appliances.flatMap(({ requests }) => requests)).toEqual([]);
  });

  it('two fleets may have runs with the same name, and neither sees the runs of the other', async () => {
    await Promise.all([
      productionMember.engine.startRun(production.createRun('nightly', ensure)),
      laboratoryMember.engine.startRun(laboratory.createRun('nightly', { ...ensure, items: [{ appliance: 'vpn-001' }] })),
    ]);
    expect(await waitForReport(productionMember, 'nightly')).toMatchObject({ total: COUNT });
    expect(await waitForReport(laboratoryMember, 'nightly')).toMatchObject({ total: 1 });
    expect((await laboratoryMember.engine.store.listRuns(100)).map(({ id }) => id)).toEqual(['nightly']);
    expect(await laboratoryMember.engine.store.findRun('first')).toBeUndefined();
    expect(await laboratoryMember.engine.store.controlRun('first', 'cancel')).toBe(false);
    expect(await expectFailure(laboratoryMember.engine.repeatFailed('first', 'again'))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('a fleet refuses a job of another fleet', async () => {
    await productionMember.engine.startRun(production.createRun('paused', { ...ensure, canary: 1, ends: [1, COUNT] }));
    await productionMember.engine.store.controlRun('paused', 'pause');
    expect(await laboratoryMember.engine.store.claimItem('paused', 5, 'anybody', laboratoryMember.engine.fingerprint)).toEqual({
      kind: 'over',
    });
    await productionMember.engine.store.controlRun('paused', 'cancel');
  });
});

describe('engines of one fleet with different inventories', () => {
  let right: TestFleet;
  let wrong: SimulatedFleet;
  const checks: Record<'right' | 'wrong', boolean[]> = { right: [], wrong: [] };

  beforeAll(async () => {
    right = await TestFleet.start(await postgres.createDatabase(), COUNT);
    wrong = await startSimulatedFleet(COUNT);
  });
  afterAll(async () => {
    await right?.close();
    await wrong?.close();
  });

  it('engines of one fleet with different inventories do not share a run, report the difference, and never write to an appliance with another address', async () => {
    const first = await right.startMember({ onInventoryCheck: (hasDifferences) => checks.right.push(hasDifferences) });
    const second = await right.startMember({
      entries: wrong.entries,
      node: 'other',
      onInventoryCheck: (hasDifferences) => checks.wrong.push(hasDifferences),
    });
    expect(checks.wrong).toEqual([true]);
    for (const id of ['one', 'two', 'three']) {
      await first.engine.startRun(right.createRun(id, ensure));
      expect(await waitForReport(first, id)).toMatchObject({ total: COUNT, ok: COUNT });
    }
    const holders = (await first.engine.store.listItems('one')).map(({ holder }) => holder);
    expect(new Set(holders)).toEqual(new Set([first.engine.id]));
    await waitUntil(() => checks.right.includes(true), 'the first engine did not notice the other inventory');

    // After the death of the first engine, the other one takes over the run, but its appliances have other addresses.
    await second.engine.store.createRun({
      ...right.createRun('orphan', ensure),
      items: right.fleet.entries.map((entry) => ({ appliance: entry.name, target: hashFleetAppliance(entry) })),
      token: '00000000-0000-4000-8000-000000000000',
      origin: 'gone',
      node: 'other',
      fingerprint: first.engine.fingerprint,
    });
    await first.stop();
    const report = await waitForReport(second, 'orphan');
    expect(report).toMatchObject({ total: COUNT });
    const refused = report?.results.filter(({ error }) => error?.code === 'BAD_CONFIG' && error.message.includes('has another address'));
    expect(refused?.length).toBeGreaterThan(0);
    expect(report?.results.filter(({ ok }) => ok).length).toBe(COUNT - (refused?.length ?? 0));
    expect(wrong.appliances.flatMap(({ requests }) => requests)).toEqual([]);
  });

  it('engines of one fleet with different inventories store neither hosts nor addresses in any table', async () => {
    const database = new Database(right.url);
    const rows = await database.query('SELECT item::text FROM gateway_fleet.item UNION ALL SELECT lease::text FROM gateway_fleet.lease');
    await database.close();
    for (const { url } of [...right.fleet.entries, ...wrong.entries]) expect(JSON.stringify(rows)).not.toContain(new URL(url).host);
  });
});
