import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coordinationSuite } from '../../test/helpers/coordination-suite';
import { Database } from '../store/database';
import { LeaseCoordination } from '../store/lease-coordination';
import { migrateSchema } from '../store/schema';
import { waitUntil } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';
import { createSeededRandom } from './support/seeded-random';

const ROUNDS = Number(process.env['FLEET_LEASES'] ?? 6);
const SEED = Number(process.env['FLEET_SEED'] ?? Date.now() % 1_000_000);
const LEASE_MS = 800;

let postgres: TestPostgres;
let url: string;
let databases: Database[];
let one: LeaseCoordination;
let other: LeaseCoordination;

beforeAll(async () => {
  postgres = await startPostgres();
  url = await postgres.createDatabase();
  databases = [new Database(url), new Database(url)];
  await Promise.all(databases.map(migrateSchema));
  [one, other] = databases.map((database) => new LeaseCoordination(database)) as [LeaseCoordination, LeaseCoordination];
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.close()));
  await postgres?.close();
});

coordinationSuite('on PostgreSQL', () => ({ one, other, pass: (ms) => pause(ms) }));

/** Removes the grace time after a start of the database. */
const settle = (): Promise<unknown> =>
  databases[0]!.query(
    `CREATE OR REPLACE FUNCTION gateway_fleet.is_over(expires timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT expires < clock_timestamp()'`,
  );

describe('LeaseCoordination', () => {
  const expire = (key: string): Promise<unknown> =>
    databases[0]!.query(`UPDATE gateway_fleet.lease SET expires = clock_timestamp() - interval '1 h' WHERE key = $1`, [key]);
  it('LeaseCoordination gives a lease to the next process only after the lease expired', async () => {
    await settle();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let isIn = false;
    let begin = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => (begin = resolve));
    const first = one.runExclusive('place', () => (begin(), held), { leaseMs: 3_600_000 });
    await isHeld;
    let waits = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (waits = resolve));
    const second = other.runExclusive('place', () => Promise.resolve((isIn = true)), { onWait: waits });
    await waiting;
    await pause(1200);
    expect(isIn).toBe(false);
    // Expire the lease, as if its holder were gone.
    await databases[0]!.query(`UPDATE gateway_fleet.lease SET expires = clock_timestamp() - interval '1 h' WHERE key = 'place' AND held`);
    await second;
    release();
    await first;
  });

  it('LeaseCoordination skips a process that died while it waited for a lease', async () => {
    await databases[0]!.query(
      `INSERT INTO gateway_fleet.lease (key, holder, expires) VALUES ('dead', 'dead', clock_timestamp() - interval '1 h')`,
    );
    expect(await one.runExclusive('dead', () => Promise.resolve('through'))).toBe('through');
    expect(await databases[0]!.query(`SELECT FROM gateway_fleet.lease WHERE key = 'dead'`)).toEqual([]);
  });

  it('LeaseCoordination deletes expired shared values', async () => {
    await one.set('kept', 1, 3_600_000);
    await one.set('over', 1, 3_600_000);
    await expire('over');
    await one.deleteExpired();
    expect(await other.get('kept')).toBe(1);
    expect(await databases[0]!.query(`SELECT FROM gateway_fleet.lease WHERE key = 'over'`)).toEqual([]);
  });
});

/** Three processes that take turns, and the log of their steps. */
class Turns {
  readonly folder = mkdtempSync(join(tmpdir(), 'fleet-turns-'));
  readonly #file = join(this.folder, 'told');
  readonly #running = new Map<string, ChildProcess>();
  #count = 0;

  constructor() {
    writeFileSync(this.#file, '');
    for (let index = 0; index < 3; index++) this.start();
  }

  start(): void {
    const name = `p${this.#count++}`;
    const script = join(__dirname, 'support/lease-holder.mjs');
    const env = { ...process.env, FLEET_URL: url };
    this.#running.set(name, spawn(process.execPath, [script, name, this.#file, 'turns', String(LEASE_MS)], { env, stdio: 'inherit' }));
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#running.get(name)?.kill(signal);
    if (signal === 'SIGKILL') this.#running.delete(name);
  }

  get names(): string[] {
    return [...this.#running.keys()];
  }

  get told(): { name: string; turn: string; what: string }[] {
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [name = '', turn = '', what = ''] = line.split(' ');
      return { name, turn: `${name} ${turn}`, what };
    });
  }

  /** Current holder according to the log. */
  get holder(): string | undefined {
    const last = this.told.findLast(({ what }) => what !== 'lost');
    return last && last.what !== 'out' ? last.name : undefined;
  }

  end(): void {
    for (const name of this.names) this.signal(name, 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

describe(`processes that share a lease (FLEET_SEED=${SEED})`, () => {
  it('processes that share a lease never work at the same time, even if the holder is killed or suspended for longer than its lease', async () => {
    await settle();
    const random = createSeededRandom(SEED);
    const turns = new Turns();
    const frozen: string[] = [];
    const killed: string[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const isFrozen = round % 2 === 1;
        const victim = await stopped(turns, random);
        if (!isFrozen) turns.signal(victim, 'SIGKILL');
        (isFrozen ? frozen : killed).push(victim);
        if (!isFrozen) turns.start();
        await waitUntil(() => turns.told.findLast(({ what }) => what === 'in')?.name !== victim, `nobody came after ${victim}`);
        if (!isFrozen) continue;
        await pause(random() * 100);
        const before = turns.told.length;
        turns.signal(victim, 'SIGCONT');
        await waitUntil(
          () => turns.told.slice(before).some(({ name, what }) => name === victim && what !== 'write'),
          `${victim} did not go on`,
        );
      }
    } finally {
      for (const name of turns.names) turns.signal(name, 'SIGKILL');
    }
    const { told } = turns;
    turns.end();
    const { late, leftOver } = overlaps(told);
    console.log(
      `${told.filter(({ what }) => what === 'in').length} turns, ${killed.length} killed, ${frozen.length} stood still, late: ${late.length}`,
    );
    // Only killed or suspended holders may be followed early, and each suspended one may have one write that was already sent.
    for (const name of leftOver) expect([...frozen, ...killed]).toContain(name);
    expect(late.filter((name) => !frozen.includes(name))).toEqual([]);
    for (const name of frozen)
      expect(late.filter((one) => one === name).length).toBeLessThanOrEqual(frozen.filter((one) => one === name).length);
    expect(told.some(({ what }) => what === 'lost')).toBe(true);
  });
});

/** Suspends the current holder and gives its name. */
async function stopped(turns: Turns, random: () => number): Promise<string> {
  for (;;) {
    await waitUntil(() => turns.holder !== undefined);
    await pause(random() * 60);
    const victim = turns.holder;
    if (victim === undefined) continue;
    turns.signal(victim, 'SIGSTOP');
    // A signal arrives after a moment.
    await pause(30);
    if (turns.holder === victim) return victim;
    turns.signal(victim, 'SIGCONT');
  }
}

/** Names that logged a step after another process held the lease, and names that were followed before they left. */
function overlaps(told: Turns['told']): { late: string[]; leftOver: string[] } {
  const late: string[] = [];
  const leftOver: string[] = [];
  let present: { turn: string; name: string; isOver: boolean } | undefined;
  for (const { name, turn, what } of told) {
    if (what === 'in') {
      if (present?.isOver === false) leftOver.push(present.name);
      present = { turn, name, isOver: false };
    } else if (what === 'write' || what === 'out') {
      if (present?.turn !== turn) late.push(name);
      else if (what === 'out') present.isOver = true;
    }
  }
  return { late, leftOver };
}
