import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { post } from '../scripts/demo/check.mjs';
import { watchDebug } from '../scripts/demo/debug.mjs';
import { exampleNames, readExample, type FlowNode } from '../scripts/demo/examples.mjs';
import { startDemo, TOKEN, USER, type Demo } from '../scripts/demo/start.mjs';
import { areas } from '../src/areas';
import { selfSigned, type FaultRule } from '../src/simulator';

type Debug = Awaited<ReturnType<typeof watchDebug>>;
type Running = Demo & { debug: Debug };

/** Presses the button of the Inject node of that name. */
async function inject({ nodeRed }: Demo, example: string, name: string): Promise<void> {
  const node = readExample(example).find((one) => one.type === 'inject' && one.name === name);
  const response = await fetch(`${nodeRed.url}/inject/${node?.id}`, { method: 'POST' });
  expect(response.status, name).toBe(200);
}

/** What each example has to do. A new example needs an entry here. */
const outcomes: Record<string, (running: Running, example: string) => Promise<void>> = {
  'End sessions from a webhook.json': async ({ nodeRed, simulator }) => {
    const { state, requests } = simulator;
    const before = state.sessions.ids();
    const end = (user: unknown, token = TOKEN) => post(nodeRed.url, token, user);

    // Other flows, such as that of the health, ask for other things at any moment.
    const asked = () => requests.filter(({ path }) => path.includes('/active-users')).length;
    const sofar = asked();
    for (const token of ['', 'wrong', `${TOKEN} `.repeat(2)]) expect(await end(USER, token)).toMatchObject({ status: 401 });
    expect(asked()).toBe(sofar);

    for (const user of [undefined, '', null, { name: USER }, ['a', 'b'], true])
      expect(await end(user), JSON.stringify(user)).toMatchObject({ status: 400, body: { code: 'BAD_INPUT' } });
    expect(await end('nobody')).toMatchObject({
      status: 200,
      body: { message: 'nobody has no open session. Nothing was done.', ended: [] },
    });
    expect(state.sessions.ids()).toEqual(before);

    for (let count = 0; count < 26; count++) state.sessions.add({ 'active-user-name': 'crowd' });
    expect(await end('crowd')).toMatchObject({ status: 409, body: { code: 'LIMIT', ended: [] } });
    expect(state.sessions.count).toBe(before.length + 26);

    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 422, body: '{"result":{"errors":[{"message":"Not now."}]}}' });
    const part = await end(USER);
    expect(part).toMatchObject({ status: 502, body: { message: `Ended 2 of 3 sessions of ${USER}. The others may still be open.` } });
    expect(part.body.ended).toHaveLength(2);
    expect(part.body.failed).toEqual([
      expect.objectContaining({ 'active-user-name': USER, reason: expect.stringContaining('Not now.') as string }),
    ]);

    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 403 });
    expect(await end(USER)).toMatchObject({ status: 502, body: { code: 'FORBIDDEN', ended: [], failed: [{ 'active-user-name': USER }] } });
    expect(await end(USER)).toMatchObject({ status: 200, body: { message: `Ended 1 session of ${USER}.`, failed: [] } });
  },

  'List the sessions of a realm.json': async (running, example) => {
    const { sessions } = running.simulator.state;
    const records = sessions.numbers().map((index) => sessions.record(index));
    const expected = records.filter((record) => record['authentication-realm'] === 'Employees');
    await inject(running, example, 'Click: sessions of one realm');
    let rows: string[] = [];
    while (rows.length < expected.length) {
      const text = (await running.debug.next('Table')) as string;
      // The sidebar cuts longer ones.
      expect(text.length).toBeLessThan(1000);
      const [title, , header, ...lines] = text.split('\n');
      expect(title).toBe(`Employees: sessions ${rows.length + 1} to ${rows.length + lines.length} of ${expected.length}`);
      expect(header).toMatch(/^User +From$/);
      rows = [...rows, ...lines];
    }
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual(expected.map((record) => [record['active-user-name'], record['source-ip']]));
  },

  'Change one field of the configuration.json': async (running, example) => {
    const role = running.simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.get('Users');
    expect(role?.text('description')).not.toBe('Changed from Node-RED');
    await inject(running, example, 'Click: change it');
    expect(await running.debug.next('What it is now')).toMatchObject({ name: 'Users', description: 'Changed from Node-RED' });
    expect(role?.text('description')).toBe('Changed from Node-RED');

    running.simulator.fault({ match: ({ method }) => method === 'PUT', status: 403 });
    await inject(running, example, 'Click: change it');
    expect(await running.debug.next('Why it failed')).toMatchObject({ code: 'FORBIDDEN', cause: { ok: false } });
  },

  'Watch the health.json': async (running, example) => {
    const { simulator, debug } = running;
    const asked = () => simulator.requests.filter(({ path, status }) => path.includes('healthcheck') && status > 0).length;
    const tick = async (fault?: Omit<FaultRule, 'match'>) => {
      const before = asked();
      if (fault) simulator.fault({ ...fault, match: ({ path }) => path.includes('healthcheck') });
      await inject(running, example, 'Every minute');
      // One after the other, as minutes are.
      await vi.waitFor(() => expect(asked()).toBe(before + 1), 5000);
    };
    const load = (value: number) => ({
      body: (text: string) => JSON.stringify({ ...(JSON.parse(text) as object), 'CPU-UTILIZATION4': value }),
    });
    expect(await debug.next('Fine again')).toMatchObject({ state: 'normal', load: 7 });
    await tick();
    await tick(load(93));
    expect(await debug.next('Alert')).toMatchObject({ state: 'high', load: 93, message: 'The CPU load is 93 %, over the line of 80 %.' });
    await tick(load(94));
    await tick(load(-1));
    expect(await debug.next('Alert')).toMatchObject({ state: 'unknown' });
    simulator.state.variants.cpuKey = 'CPU-UTILIZATION';
    await tick();
    expect(await debug.next('Fine again')).toMatchObject({ state: 'normal' });
    await tick({ status: 403 });
    expect(await debug.next('Alert')).toMatchObject({ state: 'down' });
    await tick();
    expect(await debug.next('Fine again')).toMatchObject({ state: 'normal' });
    // Nothing was said twice: neither the second normal one nor the second high one.
    expect(debug.shown.filter(({ name }) => name === 'Alert' || name === 'Fine again')).toEqual([]);
  },
};

const wanted = ['gateway-appliance', ...areas.map((area) => `gateway-${area.name}`)];

describe.each(exampleNames())('%s', (example) => {
  const nodes = readExample(example);

  it('has nodes of Node-RED and of this package only', () => {
    const core = 'tab,comment,junction,tls-config,inject,debug,catch,function,switch,change,rbe,http in,http response'.split(',');
    expect(nodes.map((node) => node.type).filter((type) => ![...core, ...wanted].includes(type))).toEqual([]);
  });

  it('says what to change in a comment, on the canvas and when it is opened', () => {
    const comments = nodes.filter((node) => node.type === 'comment');
    expect(comments).toHaveLength(1);
    expect(comments[0]).toMatchObject({
      name: expect.stringMatching(/^Change first: /) as string,
      info: expect.stringContaining('### What to change') as string,
    });
  });

  it('can be imported on its own: every node that it refers to is in it', () => {
    const ids = new Set(nodes.map((node) => node.id));
    expect(ids.size).toBe(nodes.length);
    expect(nodes.flatMap(referencesOf).filter((id) => !ids.has(id))).toEqual([]);
  });

  it('holds no credentials, and verifies certificates', () => {
    expect(nodes.filter((node) => 'credentials' in node)).toEqual([]);
    expect(nodes.filter((node) => node.type === 'tls-config').map((node) => node.verifyservercert)).toEqual([true]);
  });
});

function referencesOf(node: FlowNode): string[] {
  const single = [node.z, node.appliance, node.tls].filter((id) => typeof id === 'string');
  return [...single, ...((node.wires ?? []) as string[][]).flat()];
}

it('share one appliance and one certificate, the same in each', () => {
  const shared = exampleNames().map((example) =>
    readExample(example).filter((node) => ['gateway-appliance', 'tls-config'].includes(node.type)),
  );
  for (const nodes of shared) expect(nodes).toEqual(shared[0]);
});

it('show every node but the appliance', () => {
  const used = new Set(exampleNames().flatMap((example) => readExample(example).map((node) => node.type)));
  expect(wanted.filter((type) => !used.has(type))).toEqual([]);
});

describe('side by side in a real Node-RED', () => {
  let running: Running | undefined;
  beforeAll(async () => {
    // What the health flow says at its start has to be seen too.
    const demo = await startDemo();
    running = { ...demo, debug: await watchDebug(demo.nodeRed) };
  });
  afterAll(async () => {
    running?.debug.close();
    await running?.end();
  });

  it.each(exampleNames())('%s does what it says', async (example) => {
    const outcome = outcomes[example];
    expect(outcome, 'This example has no entry in `outcomes`.').toBeDefined();
    await outcome?.(running as Running, example);
  });
});

describe('the webhook', () => {
  const webhook = ['End sessions from a webhook.json'];

  it('refuses every call when no secret is configured', async () => {
    const demo = await startDemo({ names: webhook, nodeRed: { env: { WEBHOOK_TOKEN: '' } } });
    try {
      for (const token of ['', 'undefined', TOKEN]) expect(await post(demo.nodeRed.url, token, USER)).toMatchObject({ status: 401 });
    } finally {
      await demo.end();
    }
  });

  it('sends nothing to an appliance whose certificate is not the trusted one', async () => {
    const demo = await startDemo({ names: webhook, ca: () => selfSigned(['127.0.0.1']).cert });
    try {
      expect(await post(demo.nodeRed.url, TOKEN, USER)).toMatchObject({ status: 502, body: { code: 'TLS' } });
      expect(demo.simulator.requests).toEqual([]);
    } finally {
      await demo.end();
    }
  });
});
