import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Inventory } from '../../src';
import { GatewayRegistry } from '../../src/inventory';
import { startSimulatedFleet } from '../../src/simulator';
import { expectFailure, LOGIN_PATH as PATH } from '../../test/helpers/simulated-appliance';
import { listSecondStepAnswers } from '../../test/helpers/logins';
import { Database } from '../store/database';
import { LeaseCoordination } from '../store/lease-coordination';
import { migrateSchema } from '../store/schema';
import { TestFleet, ADMIN_LOGIN } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';
import { resetAccounts } from '../../test/helpers/reset-process-state';

let postgres: TestPostgres;
let bench: TestFleet;
const open: { close(): unknown }[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), 2);
  const database = new Database(bench.url);
  await migrateSchema(database);
  await database.close();
});
afterEach(() => {
  bench.reset();
  resetAccounts();
});
afterAll(async () => {
  for (const one of open.reverse()) await one.close();
  await bench?.close();
  await postgres?.close();
});

/** The first appliance as a process of its own has it: nothing is shared but the database. */
async function process(password: string) {
  const database = new Database(bench.url);
  const gateways = new GatewayRegistry({ coordination: new LeaseCoordination(database) });
  const inventory = new Inventory({
    defaults: { realm: 'Admin Users', tls: { ca: bench.fleet.ca } },
    credentials: { default: { username: 'api-admin', password } },
    gateways,
  });
  await inventory.loadEntries(bench.fleet.entries);
  open.push(database, gateways);
  // What this process remembers beside that.
  resetAccounts();
  const [appliance] = inventory.appliances;
  return { run: () => appliance!.gateway().run('system.info') };
}

const logins = (): number => bench.fleet.getAppliance('vpn-001').requests.filter(({ path }) => path.startsWith(PATH)).length;

const STEP_MS = 30_000;
const SECRET = 'JBSWY3DPEHPK3PXP';

/** Two real ones, which have one account and log in at the same moment: shortly before the next step, since each step has one code. */
async function logInTwice(url: string, ca: string): Promise<unknown[]> {
  const settings = { url, realm: 'Admin Users', ...ADMIN_LOGIN, tls: { ca }, secondFactor: 'totp', totpSecret: SECRET, timeout: 30 };
  const env = { ...globalThis.process.env, ONE_LOGIN: JSON.stringify({ settings, database: bench.url }) };
  const both = [0, 1].map(() => fork(join(__dirname, 'support/one-login.mjs'), { env, execArgv: [] }));
  onTestFinished(() => both.forEach((child) => child.kill()));
  await Promise.all(both.map((child) => once(child, 'message')));
  const at = (Math.floor(Date.now() / STEP_MS) + 1) * STEP_MS - 3000;
  const ends = both.map(async (child) => {
    const end = once(child, 'message');
    child.send({ at });
    const [told] = (await end) as [unknown];
    return told;
  });
  return Promise.all(ends);
}

describe('processes with the same database', () => {
  it('processes with the same database never send the same one-time code twice', async () => {
    const fleet = await startSimulatedFleet(1, { secondFactor: { totpSecret: SECRET } });
    const simulator = fleet.getAppliance('vpn-001');
    try {
      expect(await logInTwice(simulator.url, fleet.ca)).toEqual(['ok', 'ok']);
      const sent = listSecondStepAnswers(simulator);
      expect(sent).toHaveLength(2);
      expect(new Set(sent).size).toBe(2);
    } finally {
      await fleet.close();
    }
  });

  it('processes with the same database do not try a rejected password again before the pause of another process is over', async () => {
    const one = await process('wrong');
    expect((await expectFailure(one.run())).code).toBe('LOGIN_REJECTED');
    expect(logins()).toBe(1);
    const other = await process('wrong');
    expect((await expectFailure(other.run())).code).toBe('LOGIN_PAUSED');
    expect(logins()).toBe(1);
  });

  it('processes with the same database store no secret and no address in shared values', async () => {
    const database = new Database(bench.url);
    const rows = await database.query('SELECT lease::text AS row FROM gateway_fleet.lease');
    await database.close();
    const text = JSON.stringify(rows);
    expect(rows.length).toBeGreaterThan(0);
    for (const secret of ['wrong', 'api-admin', '127.0.0.1', 'vpn-001']) expect(text).not.toContain(secret);
  });
});
