import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import type { PgBoss } from 'pg-boss';
import { PgBoss as PreviousPgBoss } from 'pg-boss-12.27';
import type { GatewayError } from '../../src';
import { expectFailure } from '../../test/helpers/simulated-appliance';
import type { FleetAppliance } from '../engine';
import { JobQueues } from '../engine/job-queues';
import { QueueWorker } from '../engine/queue-worker';
import { createDatabaseInterruptedError, Database } from '../store/database';
import { trusted } from '../../src/model/safe-message';
import { PG_BOSS_SCHEMA } from '../store/schema';
import { encodeFleetKey } from '../worker/fleet-identity';
import { ENSURE_INPUT, ROLE_PATH, TestFleet, waitUntil, type FleetMember } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 3;
const UPDATE = { operation: 'config.update', input: { path: ROLE_PATH, body: { description: 'updated' } } };
let postgres: TestPostgres;
let bench: TestFleet;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT);
});
afterAll(async () => {
  await bench?.close();
  await postgres?.close();
});

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await work(client);
  await client.end();
}

const findReport = (member: FleetMember, id: string) => member.delivered.find(({ run }) => run.id === id)?.data;

/** Appliances whose write fails as the plan of each attempt says, after the state `sending` was recorded. */
function createUnreliableAppliances(attempts: (() => unknown)[]) {
  let attempt = 0;
  const sent: string[] = [];
  const run = async (_operation: string, _input: unknown, { beforeWrite }: { beforeWrite: () => Promise<void> }) => {
    await beforeWrite();
    attempts[attempt++]?.();
    sent.push('write');
    return { data: {}, many: null, envelope: { changed: true, requests: 1, retries: 0, logins: 0 } };
  };
  const findAppliance = (name: string) => ({ name, gateway: () => ({ run }) }) as unknown as FleetAppliance;
  return { sent, appliances: { findAppliance, listAppliances: () => [], getSecret: () => '' } };
}

const interrupt = (): never => {
  throw createDatabaseInterruptedError('CONNECTION', trusted('The database of the fleet cannot be reached.'));
};

describe('an interruption of the database between the record of a write and the write', () => {
  const fleet = { inventory: 'unreliable', name: '' };

  it('an interrupted canary repeats an operation without a recovery rule, and does not stop the run', async () => {
    const { sent, appliances } = createUnreliableAppliances([interrupt, interrupt]);
    const member = await bench.startMember({ fleet, appliances });
    await member.engine.startRun(bench.createRun('canary', { ...UPDATE, canary: 1, ends: [1, COUNT] }));
    await waitUntil(() => findReport(member, 'canary') !== undefined);
    expect(findReport(member, 'canary')).toMatchObject({ total: COUNT, ok: COUNT, failed: 0, unknown: 0, skipped: 0 });
    expect(sent).toHaveLength(COUNT);
    await member.stop();
  });

  it('the outcome of an interrupted item is unknown if an earlier write of the item was sent', async () => {
    const run = async (_operation: string, _input: unknown, { beforeWrite }: { beforeWrite: () => Promise<void> }) => {
      await beforeWrite();
      await beforeWrite();
      interrupt();
    };
    const findAppliance = (name: string) => ({ name, gateway: () => ({ run }) }) as unknown as FleetAppliance;
    const appliances = { findAppliance, listAppliances: () => [], getSecret: () => '' };
    const member = await bench.startMember({ fleet: { inventory: 'two-writes', name: '' }, appliances });
    await member.engine.startRun(bench.createRun('two', { ...UPDATE, items: [{ appliance: 'vpn-001' }] }));
    await waitUntil(() => findReport(member, 'two') !== undefined);
    expect(findReport(member, 'two')).toMatchObject({ unknown: 1, failed: 0, results: [{ error: { code: 'OUTCOME_UNKNOWN' } }] });
    await member.stop();
  });
});

describe('the state of an item during a login', () => {
  it('a process that dies during the login of an item leaves no unknown outcome', async () => {
    const member = await bench.startMember({ fleet: { inventory: 'login', name: '' } });
    const [appliance] = bench.fleet.appliances;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    appliance?.fault({ match: ({ path }) => path.includes('realm_auth'), until: held, times: 1 });
    const request = {
      operation: 'request.put',
      input: { path: `configuration/${ROLE_PATH}`, body: { description: 'raw' } },
    };
    await member.engine.startRun(bench.createRun('login', { ...request, items: [{ appliance: 'vpn-001' }] }));
    await waitUntil(() => appliance?.requests.some(({ path }) => path.includes('realm_auth')) === true);
    expect((await member.engine.store.listItems('login')).map(({ state }) => state)).toEqual(['claimed']);
    release();
    await waitUntil(() => findReport(member, 'login') !== undefined);
    expect(findReport(member, 'login')).toMatchObject({ ok: 1 });
    await member.stop();
  });
});

describe('the start of an engine', () => {
  const createRole = (client: Client, role: string, password: string): Promise<unknown> =>
    client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  const withRole = (url: string, role: string, password: string): string =>
    Object.assign(new URL(url), { username: role, password }).toString();

  it('a starting engine repeats the login at the database until the password is accepted', async () => {
    const url = await postgres.createDatabase();
    const role = `retry_${randomUUID().slice(0, 8)}`;
    await withClient(url, async (client) => {
      await createRole(client, role, 'old');
      await client.query(`GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${role}`);
    });
    const other = await TestFleet.start(withRole(url, role, 'new'), 1);
    const faults: GatewayError[] = [];
    const starting = other.startMember({ onFault: (fault) => faults.push(fault) });
    await waitUntil(() => faults.length > 1);
    expect(faults[0]).toMatchObject({ code: 'CONNECTION', message: expect.stringContaining('rejected the login (28P01)') as string });
    expect(faults[0]?.message).not.toContain('new');
    await withClient(url, (client) => client.query(`ALTER ROLE ${role} PASSWORD 'new'`));
    const member = await starting;
    await member.engine.startRun(other.createRun('one', { operation: 'system.info' }));
    await waitUntil(() => findReport(member, 'one')?.ok === 1);
    await other.close();
  });

  it('an engine starts with a database role without the right CREATE if both schemas exist', async () => {
    const url = await postgres.createDatabase();
    const role = `limited_${randomUUID().slice(0, 8)}`;
    await withClient(url, async (client) => {
      await createRole(client, role, 'limited');
      // The same commands as in docs/guide/fleet.md.
      await client.query('CREATE SCHEMA gateway_fleet; CREATE SCHEMA gateway_fleet_jobs');
      await client.query(
        `GRANT USAGE, CREATE ON SCHEMA gateway_fleet TO ${role}; GRANT USAGE, CREATE ON SCHEMA gateway_fleet_jobs TO ${role}`,
      );
    });
    const limited = withRole(url, role, 'limited');
    await withClient(limited, async (client) => {
      await expect(client.query('CREATE SCHEMA another')).rejects.toMatchObject({ code: '42501' });
    });
    const other = await TestFleet.start(limited, COUNT);
    // A second start finds its own tables.
    await (await other.startMember()).stop();
    const member = await other.startMember();
    await member.engine.startRun(other.createRun('one', { operation: 'config.ensure', input: ENSURE_INPUT }));
    await waitUntil(() => findReport(member, 'one')?.ok === COUNT);
    await other.close();
  });

  it('an engine that finds tables of a newer release reports them once at its start', async () => {
    const url = await postgres.createDatabase();
    const other = await TestFleet.start(url, 1);
    await (await other.startMember()).stop();
    await withClient(url, (client) => client.query(`COMMENT ON TABLE gateway_fleet.run IS '99'`));
    const faults: GatewayError[] = [];
    const error = await expectFailure(other.startMember({ onFault: (fault) => faults.push(fault) }));
    expect(error).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/newer release \(version 99\)\. Update .*[^.]\.$/) as string,
    });
    expect(faults).toEqual([]);
    await other.close();
  });
});

describe('an upgrade of one engine after the other', () => {
  it('an engine with the previous release of pg-boss keeps working after another engine has updated the tables', async () => {
    const url = await postgres.createDatabase();
    const [oldDatabase, database] = [new Database(url), new Database(url)];
    const options = { schema: PG_BOSS_SCHEMA, schedule: false, superviseIntervalSeconds: 2, persistWarnings: false };
    const old = new PreviousPgBoss({ db: oldDatabase.createBossExecutor(), ...options });
    const faults: unknown[] = [];
    old.on('error', (fault) => faults.push(fault));
    await old.start();
    const queues = new JobQueues(database, 'upgraded', (fault) => faults.push(fault));
    const queue = queues.names.normal;
    await old.createQueue(queue, { retryLimit: 3, retryDelay: 1, heartbeatSeconds: 10 });
    const done: unknown[] = [];
    const startWorker = (boss: unknown, name: string): QueueWorker<{ index: number }> => {
      const worker = new QueueWorker<{ index: number }>({
        boss: boss as PgBoss,
        queue,
        concurrency: 2,
        work: ({ index }) => {
          done.push([name, index]);
          return Promise.resolve('done');
        },
        mayHaveJobs: () => true,
        getPreferredPriorityRange: () => undefined,
        onFault: (fault) => faults.push(fault),
      });
      worker.start();
      return worker;
    };
    const oldWorker = startWorker(old, 'old');
    await old.insert(queue, [{ data: { index: 1 } }]);
    await waitUntil(() => done.length === 1);

    await queues.start();
    await old.insert(queue, [{ data: { index: 2 } }]);
    await waitUntil(() => done.length === 2);
    await queues.boss.insert(queue, [{ data: { index: 3 } }]);
    await waitUntil(() => done.length === 3);
    await oldWorker.stop();
    const newWorker = startWorker(queues.boss, 'new');
    await old.insert(queue, [{ data: { index: 4 } }]);
    await waitUntil(() => done.length === 4);
    await newWorker.stop();
    expect(done).toEqual([
      ['old', 1],
      ['old', 2],
      ['old', 3],
      ['new', 4],
    ]);
    expect((await queues.boss.findJobs(queue)).map(({ state }) => state)).toEqual(Array.from({ length: 4 }, () => 'completed'));
    expect(faults).toEqual([]);
    await old.stop({ graceful: false, close: false });
    await queues.stop();
    await Promise.all([oldDatabase.close(), database.close()]);
  });
});

describe('a PostgreSQL without free connections', () => {
  it('a run waits while PostgreSQL has no free connection, and succeeds once it has one', async () => {
    const url = await postgres.createDatabase();
    const name = new URL(url).pathname.slice(1);
    await withClient(bench.url, (admin) =>
      admin.query(`CREATE ROLE crowded LOGIN PASSWORD 'right'; ALTER DATABASE ${name} OWNER TO crowded`),
    );
    const limited = new URL(url);
    [limited.username, limited.password] = ['crowded', 'right'];
    const crowded = await TestFleet.start(limited.href, COUNT, { delayMs: 50 });
    const faults: GatewayError[] = [];
    const member = await crowded.startMember({ onFault: (fault) => faults.push(fault) });
    await withClient(bench.url, async (admin) => {
      const endConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'crowded'`;
      await admin.query('ALTER ROLE crowded CONNECTION LIMIT 0');
      await admin.query(endConnections);
      const started = member.engine.startRun(crowded.createRun('crowded', { ...UPDATE, canary: 1, ends: [1, COUNT] }));
      await waitUntil(() => faults.some(({ message }) => message.includes('53300')));
      await admin.query('ALTER ROLE crowded CONNECTION LIMIT -1');
      await started;
      // Again, in the middle of the run.
      await admin.query('ALTER ROLE crowded CONNECTION LIMIT 0');
      await admin.query(endConnections);
      faults.length = 0;
      await waitUntil(() => faults.some(({ message }) => message.includes('53300')) || member.delivered.length > 0);
      await admin.query('ALTER ROLE crowded CONNECTION LIMIT -1');
    });
    await waitUntil(() => member.delivered.length > 0);
    expect(findReport(member, 'crowded')).toMatchObject({ total: COUNT, ok: COUNT, failed: 0, unknown: 0 });
    expect([...crowded.countWritesByAppliance().values()]).toEqual(new Array(COUNT).fill(1));
    await crowded.close();
  });
});

describe('an idle engine', () => {
  it('an idle engine sends about one statement per second, and soon notices a run of another engine', async () => {
    const fleet = { inventory: 'idle', name: '' };
    const [one, other] = [await bench.startMember({ fleet }), await bench.startMember({ fleet, node: 'other' })];
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const before = other.engine.database.usage.statements;
    const started = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 6000));
    const seconds = (performance.now() - started) / 1000;
    // One statement a second, and a few that belong to intervals of pg-boss and of the maintenance.
    expect(other.engine.database.usage.statements - before).toBeLessThanOrEqual(seconds + 5);
    await one.engine.startRun(bench.createRun('woken', { operation: 'system.info' }));
    await waitUntil(() => findReport(one, 'woken')?.ok === COUNT);
    await Promise.all([one.stop(), other.stop()]);
  });
});

describe('a job without data', () => {
  it('a queue job without data is removed with an error that names the job, and does not disturb other jobs', async () => {
    const faults: GatewayError[] = [];
    const fleet = { inventory: 'null-payload', name: '' };
    const database = new Database(bench.url);
    const queues = new JobQueues(database, encodeFleetKey(fleet), () => undefined);
    await queues.start();
    const id = randomUUID();
    // An engine fetches the queues at its start, and then once a minute while the fleet has no runs.
    await queues.boss.send(queues.names.normal, null, { id });
    const member = await bench.startMember({ fleet, onFault: (fault) => faults.push(fault) });
    await waitUntil(() => faults.length > 0);
    expect(faults).toMatchObject([{ code: 'BAD_INPUT', message: expect.stringContaining(`The job ${id} in the queue items_`) as string }]);
    await waitUntil(async () => (await queues.boss.getJobById(queues.names.normal, id))?.state === 'completed');
    await member.engine.startRun(bench.createRun('after', { operation: 'system.info' }));
    await waitUntil(() => findReport(member, 'after')?.ok === COUNT);
    await queues.stop();
    await database.close();
    await member.stop();
  });
});
