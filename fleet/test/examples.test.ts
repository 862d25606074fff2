import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dashboardFolders } from '../../scripts/demo/dashboard.mjs';
import { watchDebug } from '../../scripts/demo/debug.mjs';
import { exampleNames, readExample, type FlowNode } from '../../scripts/demo/examples.mjs';
import { startNodeRed, type NodeRed } from '../../scripts/demo/node-red.mjs';
import type { Demo } from '../../scripts/demo/start.mjs';
import { chromiumPath } from '../../test/browser/editor';
import { inject } from '../../test/examples/running';
import { LOGIN_PATH as PATH } from '../../test/helpers/simulated-appliance';
import { dialogs } from '../nodes/dialogs.mjs';
import { TestFleet, ADMIN_LOGIN, waitUntil } from './support/test-fleet';
import { startPostgres, type TestPostgres } from './support/postgres';

// Every example runs in a Node-RED with only the changes that its comment names.

const ROOT = join(__dirname, '..', '..');
const names = readdirSync(join(__dirname, '..', 'examples')).map((name) => `fleet/examples/${name}`);
const APPLIANCES = ['berlin-1', 'berlin-2', 'boston-1'];
const SHARED = ['gateway-fleet-engine', 'gateway-inventory', 'tls-config', 'ui-base', 'ui-theme'];
/** Properties that name other nodes. */
const REFERENCES = ['id', 'z', 'engine', 'inventory', 'tls', 'wires', 'scope', 'ui', 'theme', 'page', 'group'];
/** Properties that the editor adds to every node. */
const FRAME = ['id', 'type', 'name', 'z', 'x', 'y', 'wires'];

const propertiesOf = new Map(
  dialogs.map(({ name, properties }) => [
    `gateway-fleet-${name}`,
    properties.filter(({ kind }) => kind !== 'credential').map((property) => property.name),
  ]),
);
const ours = (nodes: FlowNode[]): FlowNode[] => nodes.filter(({ type }) => propertiesOf.has(type));

/** All values in a node, at any depth. */
function* valuesOf(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) yield value;
  else for (const inner of Object.values(value)) yield* valuesOf(inner);
}

describe.each(names)('example %s', (name) => {
  const nodes = readExample(name);

  it('an example flow of the fleet sets exactly the properties that its node types have', () => {
    for (const node of ours(nodes)) {
      const frame = node.type === 'gateway-fleet-engine' ? ['id', 'type', 'name'] : FRAME;
      expect(Object.keys(node).sort(), String(node['name'])).toEqual([...frame, ...(propertiesOf.get(node.type) ?? [])].sort());
    }
    expect(ours(nodes).length).toBeGreaterThan(1);
  });

  it('an example flow of the fleet can be imported alone and together with every other example flow', () => {
    const ids = new Set(nodes.map(({ id }) => id));
    const references = nodes.flatMap((node) => REFERENCES.map((property) => node[property]));
    for (const id of valuesOf(references)) if (typeof id === 'string' && id !== '') expect(ids).toContain(id);
    const others = [...exampleNames(), ...names.filter((other) => other !== name)].flatMap(readExample);
    const own = nodes.filter(({ type }) => !SHARED.includes(type)).map(({ id }) => id);
    expect(others.filter(({ id }) => own.includes(id))).toEqual([]);
    for (const node of nodes) for (const other of others) if (node.id === other.id) expect(node).toEqual(other);
  });

  it('an example flow of the fleet has unique ids, no credentials and a comment that says what to change', () => {
    const ids = new Set<unknown>(nodes.map(({ id }) => id));
    expect(ids.size).toBe(nodes.length);
    const rest = nodes.map((node) => Object.entries(node).filter(([property]) => !REFERENCES.includes(property)));
    expect([...valuesOf(rest)].filter((value) => ids.has(value))).toEqual([]);
    expect(nodes.filter((node) => 'credentials' in node)).toEqual([]);
    const comments = nodes.filter(({ type }) => type === 'comment');
    expect(comments).toMatchObject([
      { name: expect.stringMatching(/^Change first: /) as string, info: expect.stringContaining('### What to change') as string },
    ]);
  });

  it('an example flow of the fleet has a file name that the editor can load', () => {
    expect(name.split('/').at(-1)).toMatch(/^[\w ,()-]+\.json$/);
  });
});

describe('examples in a Node-RED', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-examples-'));
  let postgres: TestPostgres;
  let bench: TestFleet;
  let red: NodeRed;
  let debug: Awaited<ReturnType<typeof watchDebug>>;

  beforeAll(async () => {
    postgres = await startPostgres();
    bench = await TestFleet.start(await postgres.createDatabase(), APPLIANCES.length);
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, bench.fleet.ca);
    const list = bench.fleet.entries.map((entry, index) => ({ ...entry, name: APPLIANCES[index] }));
    const credentials: Record<string, Record<string, string>> = {};
    // Shared configuration nodes are in each example.
    const flows = [...new Map(names.flatMap(readExample).map((node) => [node.id, node])).values()].map((node) => {
      if (node.type === 'tls-config') return { ...node, ca };
      if (node.type === 'gateway-fleet-engine') credentials[node.id] = { url: bench.url };
      if (node.type === 'gateway-inventory') credentials[node.id] = ADMIN_LOGIN;
      // A timer that goes off during the test would mix its rows with those of the test.
      if (node.type === 'inject') return { ...node, crontab: '', repeat: '' };
      return node.type === 'gateway-inventory' ? { ...node, list: JSON.stringify(list) } : node;
    });
    const nodesDir = [ROOT, join(ROOT, 'fleet'), ...dashboardFolders(names)];
    red = await startNodeRed({ userDir: join(folder, 'user'), version: 5, nodesDir, flows, credentials });
    debug = await watchDebug(red);
  });
  afterAll(async () => {
    debug?.close();
    await red?.stop();
    await bench?.close();
    await postgres?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const PATIENCE = 100_000;
  const next = (name: string): Promise<unknown> => debug.next(name, PATIENCE);
  const press = (part: string, button: string, values: Record<string, unknown> = {}): Promise<void> =>
    inject({ nodeRed: red } as Demo, names.find((name) => name.includes(part)) ?? '', button, values);
  const failed = (): unknown[] => debug.shown.filter(({ name }) => name === 'Why it failed').map(({ msg }) => msg);

  it('the example flows of the fleet start without errors', async () => {
    expect(red.output()).not.toMatch(/unknown|missing type|\[error\]/i);
    const types = (await (await fetch(`${red.url}/nodes`, { headers: { accept: 'application/json' } })).json()) as { types: string[] }[];
    const known = types.flatMap((one) => one.types);
    for (const type of propertiesOf.keys()) expect(known).toContain(type);
  });

  it('the example flow for nightly backups backs up the other appliances when one fails, and names the failed one', async () => {
    const place = mkdtempSync(join(folder, 'backups-'));
    bench.fleet.appliances[0]?.fault({ match: ({ path }) => !path.startsWith(PATH), status: 404, body: '{}', times: Infinity });
    await press('Nightly', 'Every night at 2', { folder: place, run: 'one fails' });
    expect(await next('Mail')).toMatchObject({
      topic: 'Backup of the fleet: something FAILED',
      text: expect.stringMatching(/2 of 3 appliances; failed: 1 \(berlin-1\)\.\nberlin-1: /) as string,
    });
    expect(readdirSync(place).filter((name) => name.endsWith('.xml.gz'))).toHaveLength(2);
    bench.reset();
  });

  it('the example flow for nightly backups sends one report when the timers of two engines start it', async () => {
    const place = mkdtempSync(join(folder, 'backups-'));
    await press('Nightly', 'Every night at 2', { folder: place });
    expect(await next('Mail')).toMatchObject({ topic: 'Backup of the fleet', text: expect.stringContaining('3 of 3') as string });
    const files = readdirSync(place).filter((name) => name.endsWith('.xml.gz'));
    expect(files.map((file) => file.split('_')[0]).sort()).toEqual(APPLIANCES);
    await press('Nightly', 'Every night at 2', { folder: place });
    await press('Which', 'Click: who differs?');
    await next('Differ');
    expect([
      debug.shown.filter(({ name }) => name === 'Mail'),
      failed(),
      readdirSync(place).filter((name) => name.endsWith('.gz')),
    ]).toEqual([[], [], files]);
  });

  it('the example flow that ends a user everywhere ends the sessions on all appliances', async () => {
    const all = bench.fleet.appliances.map(({ state }) => state.sessions);
    for (const sessions of all) sessions.endUsers(new Set(['j.doe']));
    const before = all.map((sessions) => sessions.ids());
    for (const sessions of all) sessions.add({ 'active-user-name': 'j.doe' });
    await press('End a user', 'Click: end j.doe everywhere');
    expect(await next('Ended')).toContain('3 of 3');
    expect(all.map((sessions) => sessions.ids())).toEqual(before);
  });

  it('the example flow that changes one setting writes only after the approval, and repeats the failed item', async () => {
    const part = 'One setting';
    for (const { state } of bench.fleet.appliances) state.configuration.resource('system', 'log', 'syslog').values.set('server', '');
    await press(part, '2. Click: approve it');
    expect(await next('Not started')).toContain('There is no plan');
    await press(part, '1. Click: plan it');
    expect(await next('To approve')).toMatch(/would send 3 requests to 3 appliances/);
    const writes = (): number[] =>
      bench.fleet.appliances.map(
        ({ requests }) => requests.filter(({ method, path }) => method === 'PUT' && path.includes('/syslog')).length,
      );
    expect(writes()).toEqual([0, 0, 0]);
    bench.fleet.appliances[2]?.fault({ match: ({ method }) => method === 'PUT', status: 500, body: '{}', times: 1 });
    await press(part, '2. Click: approve it');
    expect(await next('Run')).toMatchObject({ total: 3, planOf: expect.stringContaining('syslog-plan-') as string });
    expect(await next('Done')).toContain('2 of 3');
    await press(part, '2. Click: approve it');
    expect(await next('Not started')).toContain('There is no plan');
    await press(part, '4. Click: repeat the rest');
    expect(await next('Run')).toMatchObject({ total: 1, repeatOf: expect.stringContaining('syslog-') as string });
    expect(await next('Done')).toContain('1 of 1');
    expect(writes()).toEqual([1, 1, 2]);
    await press(part, '3. Click: pause');
    await waitUntil(() => failed().length > 0);
    expect(failed()).toEqual([expect.stringMatching(/\w.*\.$/)]);
  });

  it('the example flow for sessions sends the rows of each appliance and one report', async () => {
    const wanted = bench.fleet.appliances.map(({ state }) => state.sessions.ids().length);
    await press('Sessions', 'Every minute');
    const rows = [await next('Rows of one appliance'), await next('Rows of one appliance'), await next('Rows of one appliance')] as {
      appliance: string;
      minute: string;
      user: string;
    }[][];
    rows.sort(([one], [other]) => String(one?.appliance).localeCompare(String(other?.appliance)));
    expect(rows.map((list) => [list[0]?.appliance, list.length])).toEqual(APPLIANCES.map((name, index) => [name, wanted[index]]));
    expect(rows[0]?.[0]).toMatchObject({
      minute: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/) as string,
      user: expect.any(String) as string,
    });
    expect(await next('All appliances')).toContain('3 of 3');
  });

  it('the example flow for metrics serves the metrics of the fleet over HTTP', async () => {
    await press('Metrics', 'Click: see what Prometheus gets');
    expect(await next('Metrics text')).toMatch(/^gateway_fleet_engines\{.*\} 1$/m);
    const response = await fetch(`${red.url}/gateway-fleet-metrics`);
    expect(response.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
    expect(await response.text()).toMatch(/# EOF\n$/);
  });

  it.skipIf(chromiumPath() === undefined)(
    'the example flow "dashboard" shows the metrics and the runs of the fleet on a page',
    async () => {
      const browser = await chromium.launch({ executablePath: chromiumPath() ?? '', args: ['--no-sandbox'] });
      try {
        const page = await browser.newPage();
        page.setDefaultTimeout(PATIENCE);
        await page.goto(`${red.url}/dashboard/fleet`);
        const metric = (label: string) =>
          page.locator('.nrdb-ui-text', { has: page.locator('.nrdb-ui-text-label', { hasText: new RegExp(`^${label}$`) }) });
        await press('Sessions', 'Every minute', { run: 'shown on a page' });
        await expect
          .poll(
            async () => {
              await press('Dashboard', 'Every 10 seconds');
              return (await page.locator('tbody tr', { hasText: 'shown on a page' }).allInnerTexts()).join('');
            },
            { timeout: PATIENCE, interval: 500 },
          )
          .toMatch(/done\s+3\s+3\s+0\s+0/);
        const values = await Promise.all(
          ['Engines', 'Their inventories', 'Waiting', 'Unknown outcome'].map((label) =>
            metric(label).locator('.nrdb-ui-text-value').innerText(),
          ),
        );
        expect(values).toEqual(['1', 'the same', '0', '0']);
      } finally {
        await browser.close();
      }
    },
  );

  it('the example flow for comparisons lists the appliances that differ from a reference appliance, with their differences', async () => {
    const [, second] = bench.fleet.appliances;
    second?.state.configuration.resource('system', 'log', 'syslog').values.set('server', '192.0.2.99');
    await press('Which', 'Click: who differs?');
    expect(await next('Differ')).toMatchObject([{ appliance: 'berlin-2', changed: ['/system/log/syslog /server'] }]);
  });
});
