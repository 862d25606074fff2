import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENSURE_INPUT, TestFleet, waitUntil } from './support/test-fleet';
import { FleetNodeRed } from './support/node-red';
import { startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 5;
const field = (value: unknown): object => ({
  type: typeof value === 'string' ? 'str' : 'json',
  value: typeof value === 'string' ? value : JSON.stringify(value),
});
const ENSURE = { operation: 'config.ensure', fields: { path: field(ENSURE_INPUT.path), body: field(ENSURE_INPUT.body) } };

let postgres: TestPostgres;
let bench: TestFleet;
let red: FleetNodeRed;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT);
  red = new FleetNodeRed(bench.url, bench.fleet, ENSURE, [], 'en-US', 4);
  await red.start();
});
afterAll(async () => {
  await red?.close();
  await bench?.close();
  await postgres?.close();
});

describe('the package in Node-RED 4.1', () => {
  it('the fleet package loads in Node-RED 4.1 and runs an operation on every appliance', async () => {
    expect(red.output()).toMatch(/Node-RED version: v4\.1\./);
    await red.startRun('four');
    await waitUntil(() => red.readReports('four').length > 0, red.output());
    expect(red.readReports('four')).toMatchObject([{ total: COUNT, ok: COUNT }]);
  });

  it('the version limits of the fleet package allow Node-RED 4.1', () => {
    const manifest = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as {
      engines: { node: string };
      'node-red': { version: string };
    };
    expect([manifest['node-red'].version, manifest.engines.node]).toEqual(['>=4.1.0', '>=22.12']);
  });
});
