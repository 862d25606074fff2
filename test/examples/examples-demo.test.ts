import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needsDashboard } from '../../scripts/demo/dashboard.mjs';
import { watchDebug } from '../../scripts/demo/debug.mjs';
import { exampleNames, readExample, startHere, type FlowNode } from '../../scripts/demo/examples.mjs';
import { startDemo } from '../../scripts/demo/start.mjs';
import { USER } from '../../scripts/demo/people.mjs';
import type { Running } from './running';
import { eventually } from '../helpers/eventually';

// A person who tries the demo presses every button: each must show something, and none may fail.

/** In reading order. */
const buttonsOf = (nodes: FlowNode[]): FlowNode[] =>
  nodes.filter(({ type }) => type === 'inject').sort((a, b) => Number(a.y) - Number(b.y) || Number(a.x) - Number(b.x));

/** The dashboard has no buttons, but a separate page. */
const names = exampleNames().filter((name) => !needsDashboard(name));
const tabs: [string, FlowNode[]][] = [
  ['Start here', startHere()],
  ...names.map((name): [string, FlowNode[]] => [name.replace('.json', ''), readExample(name)]),
];

/** Adds a Catch node with a unique name to each tab. */
function watchers(): object[] {
  return tabs.flatMap(([name, nodes], index) => {
    const z = nodes.find(({ type }) => type === 'tab')?.id;
    return [
      { id: `caught-${index}`, type: 'catch', z, name: '', scope: null, uncaught: false, x: 100, y: 900, wires: [[`shown-${index}`]] },
      {
        id: `shown-${index}`,
        type: 'debug',
        z,
        name: `FAILED: ${name}`,
        active: true,
        tosidebar: true,
        complete: 'error',
        targetType: 'msg',
        x: 300,
        y: 900,
        wires: [],
      },
    ];
  });
}

describe('every button of the demo', () => {
  let running: Running;

  beforeAll(async () => {
    const demo = await startDemo({ names, lively: true, guide: true });
    const headers = { 'content-type': 'application/json', 'node-red-api-version': 'v2' };
    const deployed = (await (await fetch(`${demo.nodeRed.url}/flows`, { headers })).json()) as { flows: object[]; rev: string };
    const body = JSON.stringify({ ...deployed, flows: [...deployed.flows, ...watchers()] });
    const answer = await fetch(`${demo.nodeRed.url}/flows`, {
      method: 'POST',
      headers: { ...headers, 'node-red-deployment-type': 'nodes' },
      body,
    });
    expect(answer.status).toBe(200);
    running = { ...demo, debug: await watchDebug(demo.nodeRed) };
  });
  afterAll(async () => {
    running?.debug.close();
    await running?.end();
  });

  it('the demo starts with no pending changes and with local accounts for the signed-in users', async () => {
    const flows = (await (await fetch(`${running.nodeRed.url}/flows`)).json()) as FlowNode[];
    expect(flows.filter(({ name }) => String(name).startsWith('Change first'))).toEqual([]);
    expect(flows.filter(({ name }) => String(name).startsWith('Nothing to change here'))).toHaveLength(names.length);
    const { sessions, configuration } = running.simulator.state;
    const local = configuration.collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user').items;
    const people = sessions.findNumbers().map((index) => sessions.record(index)['active-user-name'] as string);
    expect(people).toContain(USER);
    expect(people.filter((name) => !local.has(name))).toEqual(['admin']);
  });

  it.each(tabs)('a button of the demo works: %s', async (name, nodes) => {
    const { debug, nodeRed } = running;
    const own = new Set(nodes.map(({ id }) => id));
    // Waiting for approval and rejection are not failures.
    const wanted = name === 'Log in with a code' ? 'SECOND_FACTOR_REQUIRED' : 'DECLINED';
    const failed = () => debug.shown.filter((one) => one.name === `FAILED: ${name}` && !one.raw.includes(`"code":"${wanted}"`));
    for (const button of buttonsOf(nodes)) {
      const before = debug.shown.length;
      const isShown = () => debug.shown.slice(before).some(({ id }) => own.has(id));
      expect((await fetch(`${nodeRed.url}/inject/${button.id}`, { method: 'POST' })).status).toBe(200);
      await eventually(() => expect(isShown() || failed().length > 0, `"${String(button.name)}" shows nothing`).toBe(true), 100);
      expect(
        failed().map(({ raw }) => raw),
        String(button.name),
      ).toEqual([]);
    }
  });
});
