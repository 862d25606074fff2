import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestFleet, ENSURE_INPUT, waitUntil } from './support/test-fleet';
import { FleetNodeRed, type FlowNode } from './support/node-red';
import { dumpRows, startPostgres, type TestPostgres } from './support/postgres';

const COUNT = 40;
const field = (value: unknown): object => ({
  type: typeof value === 'string' ? 'str' : 'json',
  value: typeof value === 'string' ? value : JSON.stringify(value),
});
const ENSURE = { operation: 'config.ensure', fields: { path: field(ENSURE_INPUT.path), body: field(ENSURE_INPUT.body) } };

/** A task flow that reads the appliance and ends in a done node, with or without an error. */
const TASK: FlowNode[] = [
  { id: 'begin', type: 'http in', url: '/task', method: 'post', wires: [['unpack', 'n-thanks']] },
  { id: 'unpack', type: 'function', func: 'return { run: msg.payload.run, payload: { n: 1 } };', outputs: 1, wires: [['n-task']] },
  {
    id: 'n-task',
    type: 'gateway-fleet-task',
    name: 'the task',
    engine: 'eng',
    select: '*',
    data: 'all',
    wires: [['n-info'], ['told-report'], []],
  },
  { id: 'n-info', type: 'gateway-system', operation: 'info', appliance: '', applianceFrom: 'msg', wires: [['n-done']] },
  { id: 'broken', type: 'catch', scope: ['n-info'], uncaught: false, wires: [['n-done']] },
  { id: 'n-done', type: 'gateway-fleet-done', wires: [] },
];

/** Function node that puts secrets of several types into the message. */
const PLANTED = `
const own = 'planted-' + msg.appliance;
msg.payload = { password: own, psk: 81726354, tokens: [own + '-a', { in: own + '-b' }], pair: { name: 'shared-secret', value: own + '-c' },
  text: JSON.stringify({ passphrase: own + '-d' }), quoted: 'it said ' + own + ' and ' + own + '-d', file: Buffer.from(own), kept: 'all else' };
if (msg.appliance === 'vpn-002') msg.error = { message: own + ' was refused by ' + msg.payload.tokens[0] + ', not 81726354', code: 'REJECTED' };
return msg;`;
const LEAKING: FlowNode[] = [
  { id: 'leak', type: 'http in', url: '/leak', method: 'post', wires: [['leak-unpack', 'n-thanks']] },
  { id: 'leak-unpack', type: 'function', func: 'return { run: msg.payload.run, payload: {} };', outputs: 1, wires: [['leak-task']] },
  {
    id: 'leak-task',
    type: 'gateway-fleet-task',
    engine: 'eng',
    select: 'vpn-001 | vpn-002',
    data: 'all',
    wires: [['leak-say'], ['told-report'], []],
  },
  { id: 'leak-say', type: 'function', func: PLANTED, outputs: 1, wires: [['n-done']] },
];

/** Two tasks with the same name, and an engine with another database. */
const clashing = (url: string): FlowNode[] => [
  ...['n-once', 'n-twice'].map((id) => ({
    id,
    type: 'gateway-fleet-task',
    name: 'doubled',
    engine: 'eng',
    select: '*',
    wires: [[], [], []],
  })),
  { id: 'engine-2', type: 'gateway-fleet-engine', inventory: 'inv', credentials: { url } },
];

let postgres: TestPostgres;
let bench: TestFleet;
let one: FleetNodeRed;
let other: FleetNodeRed;

beforeAll(async () => {
  postgres = await startPostgres();
  bench = await TestFleet.start(await postgres.createDatabase(), COUNT);
  one = new FleetNodeRed(bench.url, bench.fleet, ENSURE, [...TASK, ...LEAKING]);
  other = new FleetNodeRed(bench.url, bench.fleet, ENSURE, [...TASK, ...LEAKING, ...clashing(await postgres.createDatabase())], 'de');
  await Promise.all([one.start(), other.start()]);
});
afterEach(() => bench.reset());
afterAll(async () => {
  await Promise.all([one?.close(), other?.close()]);
  await bench?.close();
  await postgres?.close();
});

describe('two Node-RED instances', () => {
  it('two Node-RED instances share a run, and the instance that received the message sends progress and one report', async () => {
    await one.startRun('together');
    await waitUntil(() => one.readReports('together').length > 0, one.output());
    expect(one.readReports('together')).toMatchObject([{ run: 'together', total: COUNT, ok: COUNT, failed: 0, unknown: 0, skipped: 0 }]);
    expect([...bench.countWritesByAppliance().values()]).toEqual(new Array(COUNT).fill(1));
    expect(other.readReports('together')).toEqual([]);
    const [{ envelope } = {}] = one.readLog('report');
    expect(envelope).toMatchObject({ ok: true, changed: true, summary: expect.stringMatching(/done on 40 of 40 appliances/) as string });
    expect(one.readLog('progress').some(({ run }) => run === 'together')).toBe(true);
  });

  it('two Node-RED instances both reject a second run with the same id', async () => {
    await one.startRun('nightly');
    await waitUntil(() => one.readReports('nightly').length > 0);
    bench.reset();
    await other.startRun('nightly');
    await waitUntil(() => other.readLog('error').length > 0);
    expect(other.readLog('error').at(-1)).toMatchObject({ run: 'nightly', error: { code: 'CONFLICT' } });
    expect([...bench.countWritesByAppliance().values()].some(Boolean)).toBe(false);
  });

  it('two Node-RED instances write reports and errors in the language of the instance that got the message', async () => {
    await other.startRun('auf-deutsch');
    await waitUntil(() => other.readReports('auf-deutsch').length > 0, other.output());
    const said = other.readLog('report').find(({ run }) => run === 'auf-deutsch');
    expect(said?.envelope?.['summary']).toMatch(/^Ressource sicherstellen \(.*\): auf 40 von 40 Appliances erledigt\.$/);
    await waitUntil(() => other.readLog('status').some(({ status }) => status?.text === '40 von 40 OK'), other.output());
    await expect(other.post('/control', { operation: 'get', run: 'none' })).rejects.toThrow('NOT_FOUND');
    expect(other.readLog('error').at(-1)?.envelope?.['summary']).toBe('Lauf abrufen: fehlgeschlagen (NOT_FOUND).');
    await other.startRun('auf-deutsch');
    await waitUntil(() => other.readLog('error').at(-1)?.run === 'auf-deutsch');
    expect(other.readLog('error').at(-1)?.envelope?.['summary']).toBe('Ressource sicherstellen: fehlgeschlagen (CONFLICT).');
  });

  it('two Node-RED instances warn about engines with different databases and about tasks with the same name, each in its language', async () => {
    const SAID = [/zwei Flottenaufgaben mit dem Namen doubled,/, /Engines mit verschiedenen Datenbanken.* der Engine eng\./];
    for (const said of SAID) await waitUntil(() => said.test(other.output()), `${String(said)}\n${other.output()}`);
  });

  it('two Node-RED instances run a task flow for each appliance, and an error in the done node fails the item', async () => {
    bench.fleet
      .getAppliance('vpn-007')
      .fault({ match: ({ path }) => path.includes('system-information'), status: 404, body: '{}', times: Infinity });
    await one.post('/task', { run: 'drawn' });
    await waitUntil(() => one.readReports('drawn').length > 0, one.output());
    const [report] = one.readReports('drawn');
    expect(report).toMatchObject({ total: COUNT, ok: COUNT - 1, failed: 1 });
    expect(report?.results[6]).toMatchObject({ appliance: 'vpn-007', ok: false, error: { code: 'NOT_FOUND' } });
    expect(JSON.stringify(report?.results[0])).toContain('"data"');
    for (const appliance of bench.fleet.appliances)
      expect(appliance.requests.filter(({ path }) => path.includes('system-information'))).toHaveLength(1);
  });

  it('two Node-RED instances store the payload of a task flow without secrets of any type', async () => {
    await one.post('/leak', { run: 'leaking' });
    await waitUntil(() => one.readReports('leaking').length > 0, one.output());
    const [report] = one.readReports('leaking');
    expect(report).toMatchObject({ total: 2, ok: 1, failed: 1 });
    expect(report?.results[0]?.data).toMatchObject({ kept: 'all else', file: { bytes: 15 } });
    expect(report?.results[1]?.error).toMatchObject({ code: 'REJECTED', message: expect.stringContaining(' was refused by ') as string });
    const rows = await dumpRows(bench.url);
    expect(rows).toContain('all else');
    expect(rows).toContain(' was refused by ');
    for (const secret of ['planted', '81726354', Buffer.from('planted').toString('base64').slice(0, 9)]) expect(rows).not.toContain(secret);
  });

  it('two Node-RED instances list, pause and cancel runs and repeat failed items', async () => {
    bench.fleet.getAppliance('vpn-003').fault({ match: ({ method }) => method === 'PUT', status: 500, body: '{}', times: 1 });
    await one.startRun('mended');
    await waitUntil(() => one.readReports('mended').length > 0);
    expect(one.readReports('mended')).toMatchObject([{ ok: COUNT - 1, failed: 1 }]);
    expect(await other.post('/control', { operation: 'repeat-failed', run: 'mended', as: 'mended-2' })).toMatchObject({ total: 1 });
    await waitUntil(() => other.readReports('mended-2').length > 0);
    expect(other.readReports('mended-2')).toMatchObject([{ total: 1, ok: 1, results: [{ appliance: 'vpn-003', ok: true }] }]);
    const runs = (await one.post('/control', { operation: 'list' })) as { run: string; state: string; ok: number }[];
    expect(runs.find(({ run }) => run === 'mended')).toMatchObject({ state: 'done', ok: COUNT - 1, failed: 1 });
    expect(await one.post('/control', { operation: 'get', run: 'mended' })).toMatchObject({ run: 'mended', state: 'done', total: COUNT });
    await expect(one.post('/control', { operation: 'pause', run: 'mended' })).rejects.toThrow('CONFLICT');
    await expect(one.post('/control', { operation: 'get', run: 'none' })).rejects.toThrow('NOT_FOUND');

    bench.reset();
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    for (const appliance of bench.fleet.appliances) appliance.fault({ match: ({ method }) => method === 'PUT', until: held, times: 1 });
    await one.startRun('held');
    const written = (): number => [...bench.countWritesByAppliance().values()].filter(Boolean).length;
    await waitUntil(() => written() >= 32);
    expect(await one.post('/control', { operation: 'pause', run: 'held' })).toMatchObject({ state: 'paused' });
    answer();
    await waitUntil(
      async () =>
        ((await one.post('/control', { operation: 'list' })) as { run: string; open: number }[]).find(({ run }) => run === 'held')?.open ===
        0,
    );
    expect(written()).toBe(32);
    expect(await one.post('/control', { operation: 'cancel', run: 'held' })).toMatchObject({ run: 'held' });
    await waitUntil(() => one.readReports('held').length > 0);
    expect(one.readReports('held')).toMatchObject([{ ok: 32, skipped: COUNT - 32 }]);
  });
});
