import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import type { FleetReport } from '../engine';
import { Gateway } from '../../src';
import { TestFleet, ADMIN_LOGIN, ENSURE_INPUT, waitUntil } from './support/test-fleet';
import { FleetNodeRed, type FlowNode } from './support/node-red';
import { startPostgres, type TestPostgres } from './support/postgres';
import { createSeededRandom } from './support/seeded-random';

const COUNT = Number(process.env['FLEET_ITEMS'] ?? 120);
const KILLS = Number(process.env['FLEET_KILLS'] ?? 3);
const SEED = Number(process.env['FLEET_SEED'] ?? Date.now() % 1_000_000);
const field = (value: unknown): object => ({
  type: typeof value === 'string' ? 'str' : 'json',
  value: typeof value === 'string' ? value : JSON.stringify(value),
});
/** A longer round logs its slowest items. */
const SLOW_MS = 30_000;
const ENSURE = { operation: 'config.ensure', fields: { path: field(ENSURE_INPUT.path), body: field(ENSURE_INPUT.body) } };

/** A task flow with a write in its middle. `repeat` is the setting for flows whose Node-RED died. */
const drawn = (name: string, repeat: 'ask' | 'begin-again'): FlowNode[] => [
  { id: `${name}-in`, type: 'http in', url: `/${name}`, method: 'post', wires: [[`${name}-read`, 'n-thanks']] },
  { id: `${name}-read`, type: 'function', func: 'return { run: msg.payload.run, payload: {} };', outputs: 1, wires: [[`${name}-task`]] },
  {
    ...{ id: `${name}-task`, type: 'gateway-fleet-task', name: `drawn ${name}`, engine: 'eng', select: '*', atOnce: 8, repeat },
    wires: [[`${name}-write`], ['told-report'], []],
  },
  {
    ...{ id: `${name}-write`, type: 'gateway-config', operation: 'update', appliance: '', applianceFrom: 'msg' },
    fields: { path: field(ENSURE_INPUT.path), body: field({ description: `by ${name}` }) },
    wires: [[`${name}-done`]],
  },
  { id: `${name}-catch`, type: 'catch', scope: [`${name}-write`], uncaught: false, wires: [[`${name}-done`]] },
  { id: `${name}-done`, type: 'gateway-fleet-done', wires: [] },
];
const BACKUPS = mkdtempSync(join(tmpdir(), 'fleet-backups-'));
const backups: FlowNode[] = [
  { id: 'backup-in', type: 'http in', url: '/backup', method: 'post', wires: [['backup-read', 'n-thanks']] },
  { id: 'backup-read', type: 'function', func: 'return { run: msg.payload.run };', outputs: 1, wires: [['backup-run']] },
  {
    ...{ id: 'backup-run', type: 'gateway-fleet-run', name: 'the backups', engine: 'eng', select: '*', area: 'backup', operation: 'run' },
    ...{ fields: { folder: field(BACKUPS) }, wires: [['told-report'], []] },
  },
];
const MORE = [...backups, ...drawn('asking', 'ask'), ...drawn('repeating', 'begin-again')];

const rounds = Array.from({ length: KILLS }, (_, round) => round);

let postgres: TestPostgres;
let bench: TestFleet;
let reds: [FleetNodeRed, FleetNodeRed];
let sql: Client;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT, { delayMs: 40 });
  reds = [new FleetNodeRed(bench.url, bench.fleet, ENSURE, MORE), new FleetNodeRed(bench.url, bench.fleet, ENSURE, MORE)];
  await Promise.all(reds.map((red) => red.start()));
  sql = new Client({ connectionString: bench.url });
  await sql.connect();
});
afterEach(async () => {
  // A failed round must not affect the next one.
  for (const red of reds) red.resume();
  await Promise.all(reds.filter((red) => !red.isRunning).map((red) => red.start()));
  bench.reset();
});
afterAll(async () => {
  await sql?.end();
  await Promise.all((reds ?? []).map((red) => red.close()));
  await bench?.close();
  await postgres?.close();
  rmSync(BACKUPS, { recursive: true, force: true, maxRetries: 5 });
});

const counts = (): number[] => [...bench.countWritesByAppliance().values()];
const done = (): number => counts().filter(Boolean).length;
const reports = (run: string): unknown[] => reds.flatMap((red) => red.readReports(run));

async function states(run: string): Promise<Record<string, number>> {
  const { rows } = await sql.query<{ state: string; n: number }>(
    'SELECT state, count(*)::int AS n FROM gateway_fleet.item WHERE run = $1 GROUP BY state',
    [run],
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}

/** Seconds until other engines finished the items of the killed ones, by the clock of the database. */
async function takenUp(run: string, since: Date): Promise<string> {
  const { rows } = await sql.query<{ n: number; seconds: string | null }>(
    `SELECT count(*)::int AS n, round(extract(epoch FROM max(ended) - $2::timestamptz), 1) AS seconds FROM gateway_fleet.item
     WHERE run = $1 AND attempt > 1 AND ended > $2`,
    [run, since],
  );
  const [{ n, seconds } = { n: 0, seconds: null }] = rows;
  return n === 0 ? 'it had none in flight' : `the ${n} that it had in flight were done after ${seconds} s`;
}

/** The last items of a run and their jobs, with times in seconds since the start of the run. */
async function slowest(run: string): Promise<string> {
  const since = (column: string): string => `round(extract(epoch FROM ${column} - run.created), 1)`;
  const { rows } = await sql.query<{ line: string }>(
    `SELECT concat_ws(' ', item.appliance, 'attempt', attempt, 'claimed', ${since('item.claimed')}, 'sending', ${since('item.sending')},
       'ended', ${since('item.ended')}, '| job', job.state, 'retries', job.retry_count, 'fetched', ${since('job.started_on')},
       'after', ${since('job.start_after')}, '| run ended', ${since('run.ended')}, 'reported', ${since('run.reported')}) AS line
     FROM gateway_fleet.item JOIN gateway_fleet.run ON run.id = item.run LEFT JOIN gateway_fleet_jobs.job ON job.id = item.job
     WHERE run = $1 ORDER BY item.ended DESC NULLS FIRST LIMIT 6`,
    [run],
  );
  return rows.map(({ line }) => line).join('\n');
}

describe(`settings under kills (FLEET_SEED=${SEED})`, () => {
  it.each(rounds)('each setting is written exactly once although an engine is killed (kill %i)', async (round) => {
    const random = createSeededRandom(SEED + round);
    const run = `killed-${round}`;
    const both = random() < 0.25;
    const victim = random() < 0.5 ? 0 : 1;
    const at = Math.floor(random() * COUNT * 0.9);
    await reds[Math.floor(random() * 2)]?.startRun(run);
    // Kill only after the run is stored, because a message without a run dies with its Node-RED.
    await waitUntil(async () => (await states(run))['waiting'] !== undefined || done() > 0, 'the run was not stored');
    await waitUntil(() => done() >= at, 'the run did not get so far');
    const killed = both ? reds : [reds[victim]];
    const [since] = (await sql.query<{ now: Date }>('SELECT now()')).rows;
    await Promise.all(killed.map((red) => red.kill()));
    if (both) await Promise.all(reds.map((red) => red.start()));
    const gap = new Gap(done);
    await waitUntil(
      () => {
        gap.look();
        return reports(run).length > 0;
      },
      `no report of ${run} (${JSON.stringify({ both, victim, at, states: await states(run) })})`,
    );
    console.log(
      `kill ${round}: ${both ? 'both' : 'one'} at ${at} of ${COUNT}; nothing was written for ${gap.longest} ms at most, ${await takenUp(run, since?.now ?? new Date())}, over after ${gap.all} ms`,
    );
    if (gap.all > SLOW_MS) console.log(await slowest(run));
    if (!both) await reds[victim]?.start();
    expect(await states(run)).toEqual({ ok: COUNT });
    // The logs of the appliances show the writes.
    expect(counts()).toEqual(new Array(COUNT).fill(1));
    expect(reports(run)).toHaveLength(1);
  });
});

describe(`task flows under kills (FLEET_SEED=${SEED})`, () => {
  /** Number of writes of a flow that each appliance received. */
  const sent = (name: string): number[] =>
    bench.fleet.appliances.map(
      ({ requests }) => requests.filter(({ method, body }) => method === 'PUT' && body.includes(`by ${name}`)).length,
    );
  const some = (name: string): number => sent(name).filter(Boolean).length;

  /**
   * Suspends a Node-RED while it runs a flow of a run. At any moment all its flows may just have ended, and a kill then leaves no unknown
   * outcome. The Node-RED started the run `started`.
   */
  async function suspendDuringFlow(victim: number, run: string, started: string): Promise<void> {
    const open = `SELECT FROM gateway_fleet.item WHERE run = $1 AND state = 'sending' AND holder = (SELECT origin FROM gateway_fleet.run WHERE id = $2)`;
    const hasOpenFlow = async (): Promise<boolean> => (await sql.query(open, [run, started])).rows.length > 0;
    const isInFlow = async (): Promise<boolean> => {
      if (!(await hasOpenFlow())) return false;
      reds[victim]?.suspend();
      // The database may still execute what the process sent before.
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (await hasOpenFlow()) return true;
      reds[victim]?.resume();
      return false;
    };
    await waitUntil(isInFlow, `no flow of ${run} was in flight (${JSON.stringify(await states(run))})`);
  }

  it.each(rounds)(
    'after a kill of the engine, a task flow starts again or its outcome is unknown, as its node is configured (kill %i)',
    async (round) => {
      const random = createSeededRandom(SEED + 500 + round);
      const victim = random() < 0.5 ? 0 : 1;
      // Kill only after the run is stored, because a message without a run dies with its Node-RED.
      const at = Math.ceil((0.05 + random() * 0.65) * COUNT);
      const [asking, repeating] = [`asking-${round}`, `repeating-${round}`];
      await reds[0].post('/asking', { run: asking });
      await reds[1].post('/repeating', { run: repeating });
      // The faster run may be over before the other one has come as far.
      await waitUntil(() => some('asking') >= at && some('repeating') > 0, 'the runs did not get so far');
      await suspendDuringFlow(victim, asking, [asking, repeating][victim] ?? '');
      await reds[victim]?.kill();
      const startedAt = performance.now();
      await waitUntil(() => [asking, repeating].every((run) => reports(run).length > 0), 'no report');
      console.log(`kill ${round}: one at ${at} of ${COUNT}; over after ${Math.round(performance.now() - startedAt)} ms`);

      expect(await states(repeating)).toEqual({ ok: COUNT });
      expect(sent('repeating').every((count) => count === 1 || count === 2)).toBe(true);
      const { ok = 0, unknown = 0, ...others } = await states(asking);
      expect([ok + unknown, others]).toEqual([COUNT, {}]);
      // At most the concurrency of the killed node.
      expect(unknown).toBeGreaterThan(0);
      expect(unknown).toBeLessThanOrEqual(8);
      expect(Math.max(...sent('asking'))).toBe(1);
      const [report] = reports(asking) as FleetReport[];
      const open = report?.results.filter((result) => result.unknown) ?? [];
      expect([report?.unknown, open.length, report?.ok, report?.total]).toEqual([unknown, unknown, ok, COUNT]);
      for (const { appliance, ok: isOk } of report?.results ?? [])
        if (isOk) expect(sent('asking')[bench.fleet.entries.findIndex(({ name }) => name === appliance)], appliance).toBe(1);

      const alive = reds[1 - victim];
      const again = `${asking} again`;
      expect(await alive?.post('/control', { operation: 'repeat-failed', run: asking, as: again })).toMatchObject({ total: unknown });
      await waitUntil(() => reports(again).length > 0, 'no report of what was repeated');
      expect(reports(again)).toMatchObject([{ total: unknown, ok: unknown }]);
      expect(Math.min(...sent('asking'))).toBe(1);
      for (const run of [asking, repeating]) expect(reports(run)).toHaveLength(1);
      await reds[victim]?.start();
    },
  );
});

describe('reports under kills', () => {
  const LOCK = 4711;
  /** Stops the database from recording one delivery and delays the claim of another report, so that a kill hits both moments. */
  const HELD = `
    CREATE FUNCTION cannot_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'On purpose' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER cannot_note BEFORE UPDATE OF reported ON gateway_fleet.run FOR EACH ROW WHEN (NEW.id = 'given') EXECUTE FUNCTION cannot_note();
    CREATE FUNCTION is_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK}); RETURN NULL; END $$;
    CREATE TRIGGER is_long AFTER UPDATE OF reported_by ON gateway_fleet.run FOR EACH ROW WHEN (NEW.id = 'taken') EXECUTE FUNCTION is_long();
    SELECT pg_advisory_lock(${LOCK})`;
  /** Connections of the engines. */
  const CONNECTED = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gateway-fleet'`;

  it('a report is delivered again with redelivered if the process died before it recorded the delivery', async () => {
    const told = (run: string): unknown[] =>
      reds.flatMap((red) => red.readLog('report').flatMap((one) => (one.run === run ? [one.redelivered === true] : [])));
    await sql.query(HELD);
    await reds[0].startRun('given');
    await reds[1].startRun('taken');
    const waits = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted`;
    await waitUntil(async () => told('given').length > 0 && (await sql.query(waits)).rows.length > 0, 'no report, or none taken');
    await Promise.all(reds.map((red) => red.kill()));
    // The database still executes what the dead processes sent. Only then may it record deliveries again.
    await sql.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await waitUntil(async () => (await sql.query(CONNECTED)).rows.length === 0, 'connections of the dead processes are still open');
    await sql.query('DROP FUNCTION cannot_note, is_long CASCADE');
    expect([told('given'), told('taken')]).toEqual([[false], []]);
    await Promise.all(reds.map((red) => red.start()));
    const noted = `SELECT FROM gateway_fleet.run WHERE id IN ('given', 'taken') AND reported IS NOT NULL`;
    await waitUntil(async () => (await sql.query(noted)).rows.length === 2, 'the reports were not delivered again');
    // The next node gets the message a moment after it was sent.
    await waitUntil(() => told('given').length > 1 && told('taken').length > 0, 'the flows did not get the reports');
    expect([told('given').sort(), told('taken')]).toEqual([[false, true], [true]]);
    const [again] = reds.flatMap((red) => red.readLog('report')).filter(({ redelivered }) => redelivered);
    expect(again).toMatchObject({
      payload: { total: COUNT, ok: COUNT },
      envelope: { text: expect.stringMatching(/^This report may/) as string },
    });
  });
});

describe(`backups under kills (FLEET_SEED=${SEED})`, () => {
  it('each appliance has a complete backup although engines are killed during the run', async () => {
    const random = createSeededRandom(SEED + 900);
    const kills = Math.min(KILLS, 4);
    const first = random() < 0.5 ? 0 : 1;
    const startedAt = performance.now();
    await reds[first].post('/backup', { run: 'backups' });
    // Kill both in turn, because one coordinates and the other only works.
    for (let kill = 0; kill < kills; kill++) {
      const at = Math.floor(((kill + random()) / kills) * COUNT * 0.9);
      await waitUntil(async () => ((await states('backups'))['ok'] ?? -1) >= at, 'the backups did not get so far');
      const victim = reds[(first + kill) % 2];
      await victim?.kill();
      await victim?.start();
    }
    await waitUntil(() => reports('backups').length > 0, 'no report of the backups');
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    expect(reports('backups')).toMatchObject([{ total: COUNT, ok: COUNT }]);
    const { ca, entries } = bench.fleet;
    const gateway = new Gateway({ url: entries[0]?.url ?? '', realm: 'Admin Users', ...ADMIN_LOGIN, tls: { ca } });
    const { data } = await gateway.run('backup.verify', { folder: BACKUPS });
    gateway.close();
    const results = data.results as { item: { backup: string; checked: string }; ok: boolean }[];
    console.log(
      `${COUNT} backups with ${kills} kills: ${seconds} s, ${results.length} in the folder, ${results.filter(({ ok }) => ok).length} whole`,
    );
    expect(results.filter(({ ok, item }) => !ok || item.checked !== 'content')).toEqual([]);
    const names = new Set(results.map(({ item }) => item.backup.split('_')[0]));
    expect([...names].sort()).toEqual(entries.map(({ name }) => name).sort());
    // Only items in flight of a killed process are backed up twice.
    expect(results.length - COUNT).toBeLessThanOrEqual(kills * 16);
  });
});

/** Measures the longest time without a write, for the log only. */
class Gap {
  readonly #startedAt = performance.now();
  readonly #count: () => number;
  #last = performance.now();
  #seen = 0;
  #longest = 0;

  constructor(count: () => number) {
    this.#count = count;
  }

  look(): void {
    const now = performance.now();
    const count = this.#count();
    if (count === this.#seen) return;
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#seen = count;
    this.#last = now;
  }

  get longest(): number {
    return Math.round(this.#longest);
  }

  get all(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}
