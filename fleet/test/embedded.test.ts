import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulatedFleet, type SimulatedFleet } from '../../src/simulator';
import { createEmbeddedPostgres } from '../engine/npm-postgres';
import { waitUntil } from './support/test-fleet';
import { FleetNodeRed } from './support/node-red';

let fleet: SimulatedFleet;
let red: FleetNodeRed;

beforeAll(async () => {
  fleet = await startSimulatedFleet(10);
  red = new FleetNodeRed('', fleet, { operation: 'system.info', fields: {} });
  // PostgreSQL runs as another user where the tests run as root.
  chmodSync(red.folder, 0o755);
  await red.start();
});
afterAll(async () => {
  await red?.close();
  await fleet?.close();
});

const place = (...parts: string[]): string => join(red.folder, 'user', 'gateway-fleet-postgres', ...parts);
const pid = (): number => Number(readFileSync(place('data', 'postmaster.pid'), 'utf8').split('\n')[0]);
const runs = async (): Promise<unknown[]> => (await red.post('/control', { operation: 'list' })) as unknown[];

describe('EmbeddedPostgres', () => {
  it('EmbeddedPostgres fails if its data has another major version, and names both versions and what to do', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-version-'));
    mkdirSync(join(folder, 'gateway-fleet-postgres', 'data'), { recursive: true });
    writeFileSync(join(folder, 'gateway-fleet-postgres', 'data', 'PG_VERSION'), '12\n');
    try {
      await expect(createEmbeddedPostgres(folder).start()).rejects.toThrow(
        /is of PostgreSQL 12, but the installed version is \d+\. Move the data .*#upgrade-the-embedded-postgresql/,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('an engine without a database address', () => {
  it('an engine without a database address starts a PostgreSQL in the user folder and never logs its password', async () => {
    await red.startRun('first');
    await waitUntil(() => red.readReports('first').length > 0, red.output());
    expect(red.readReports('first')).toMatchObject([{ total: 10, ok: 10 }]);
    expect(existsSync(place('data', 'PG_VERSION'))).toBe(true);
    const password = readFileSync(place('password'), 'utf8').trim();
    expect(password.length).toBeGreaterThan(20);
    expect(red.output()).not.toContain(password);
  });

  it('an engine without a database address restarts its PostgreSQL after a crash', async () => {
    process.kill(pid(), 'SIGKILL');
    // A run may be rejected until the database is back, so start it again.
    await waitUntil(async () => {
      await red.startRun('second');
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return red.readReports('second').length > 0;
    }, red.output());
    expect(red.readReports('second')).toMatchObject([{ total: 10, ok: 10 }]);
  });

  it('an engine without a database address stops its PostgreSQL when Node-RED stops, and finds all runs at the next start', async () => {
    const before = pid();
    await red.stop();
    await waitUntil(() => {
      try {
        process.kill(before, 0);
        return false;
      } catch {
        return true;
      }
    }, 'PostgreSQL outlived its Node-RED');
    await red.start();
    await waitUntil(async () => (await runs().catch(() => [])).length >= 2, red.output());
  });
});
