import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needsDashboard } from '../../scripts/demo/dashboard.mjs';
import { watchDebug } from '../../scripts/demo/debug.mjs';
import { cookbookNames, exampleNames, readExample, type FlowNode } from '../../scripts/demo/examples.mjs';
import { startDemo } from '../../scripts/demo/start.mjs';
import { root } from '../../scripts/tools.mjs';
import { Page, shown } from './cookbook/pages';
import { recipes, type Recipe } from './cookbook/recipes';
import { inject, type Running } from './running';
import { eventually } from '../helpers/eventually';

// `UPDATE=1 npx vitest run test/examples/cookbook.test.ts` writes the messages of this run into the pages.
const UPDATE = Boolean(process.env.UPDATE);
const DASHBOARD = 'dashboard';
const folder = join(root, 'docs', 'cookbook');
const slugs = readdirSync(folder).flatMap((name) => (name.endsWith('.md') && name !== 'README.md' ? [name.replace('.md', '')] : []));

/** Debug nodes before and after a node. */
function withTaps(flows: FlowNode[], of: Record<string, Recipe>): FlowNode[] {
  const all = structuredClone(flows);
  for (const [slug, { flow, node: name }] of Object.entries(of)) {
    const own = readExample(flow).find((node) => node.name === name && node.type.startsWith('gateway-'));
    const node = all.find(({ id }) => id === own?.id);
    if (!node) throw new Error(`${flow} has no node ${name}.`);
    const tap = (which: string) => ({
      id: `${which}-${slug}`,
      type: 'debug',
      z: node.z,
      name: `${which} ${slug}`,
      active: true,
      tosidebar: true,
      complete: 'true',
      targetType: 'full',
      x: 100,
      y: 900,
      wires: [],
    });
    for (const source of all)
      for (const port of (source.wires ?? []) as string[][]) if (port.includes(node.id)) port.push(`before-${slug}`);
    const [first] = node.wires as string[][];
    // With approval, the plan leaves first.
    for (const port of node.approval ? [(node.wires as string[][]).at(-1)] : [first]) port?.push(`after-${slug}`);
    all.push(tap('before'), tap('after'));
  }
  return all;
}

async function start(of: Record<string, Recipe>, names: string[]): Promise<Running> {
  const demo = await startDemo({ names, nodeRed: { settings: { debugMaxLength: 100_000 } } });
  const headers = { 'content-type': 'application/json', 'node-red-api-version': 'v2' };
  const deployed = (await (await fetch(`${demo.nodeRed.url}/flows`, { headers })).json()) as { flows: FlowNode[]; rev: string };
  const answer = await fetch(`${demo.nodeRed.url}/flows`, {
    method: 'POST',
    headers: { ...headers, 'node-red-deployment-type': 'full' },
    body: JSON.stringify({ ...deployed, flows: withTaps(deployed.flows, of) }),
  });
  expect(answer.status).toBe(200);
  await eventually(() => expect(demo.nodeRed.output().match(/Started flows/g)).toHaveLength(2));
  return { ...demo, debug: await watchDebug(demo.nodeRed) };
}

/** Runs a recipe and compares its messages with those of its page. */
async function cook(running: Running, slug: string, recipe: Recipe): Promise<void> {
  const page = new Page(slug);
  recipe.prepare?.(running);
  await recipe.press(running, recipe.flow);
  const before = shown(await running.debug.next(`before ${slug}`, 20_000));
  const next = (): Promise<{ appliance?: unknown }> => running.debug.next(`after ${slug}`, 20_000);
  let left = await next();
  while (recipe.after?.(left) === false) left = await next();
  const messages = { before, after: shown(left) };
  await recipe.check(running);
  for (const which of ['before', 'after'] as const) {
    if (UPDATE) page.set(which, messages[which]);
    expect(page.get(which), which).toBe(messages[which]);
  }
}

describe.each(slugs)('%s', (slug) => {
  const { text } = new Page(slug);
  const link = /\]\(([^)]+\.json)\)/.exec(text)?.[1] ?? '';

  it('every task of the cookbook has a small picture and a small flow, and is listed on the page', () => {
    const picture = join(folder, `${slug}.png`);
    expect(existsSync(picture)).toBe(true);
    expect(statSync(picture).size).toBeLessThan(120_000);
    expect(existsSync(join(folder, decodeURIComponent(link)))).toBe(true);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(`](${slug}.md) |`);
  });
});

it('the cookbook has exactly sixteen tasks', () => {
  expect(slugs.sort()).toEqual([...Object.keys(recipes), DASHBOARD].sort());
  expect(slugs).toHaveLength(16);
  expect(cookbookNames().filter((name) => !Object.values(recipes).some(({ flow }) => flow === name))).toEqual([]);
});

it('every flow of the cookbook shares only appliance nodes with the examples, so that both can be imported together', () => {
  const config = ['gateway-appliance', 'gateway-inventory', 'tls-config', 'ui-base', 'ui-theme', 'ui-page', 'ui-group'];
  const all = [...exampleNames(), ...cookbookNames()].flatMap(readExample);
  const ids = all.filter(({ type }) => !config.includes(type)).map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  for (const node of all) if (config.includes(node.type)) expect(node).toEqual(all.find(({ id }) => id === node.id));
  const text = JSON.stringify(cookbookNames().flatMap(readExample));
  expect(text).not.toContain('"credentials"');
});

describe('run', () => {
  let running: Running;
  beforeAll(async () => {
    const examples = exampleNames().filter((name) => !needsDashboard(name));
    running = await start(recipes, [...examples, ...cookbookNames()]);
  });
  afterAll(async () => {
    running?.debug.close();
    await running?.end();
  });

  it('Node-RED loads every node type that the cookbook uses', () => {
    expect(running.nodeRed.output()).not.toMatch(/Waiting for missing types/);
  });

  it.each(Object.entries(recipes))('%s does what its page says, with the messages of the page', async (slug, recipe) => {
    await cook(running, slug, recipe);
  });
});

describe('with a dashboard', () => {
  const dashboard: Recipe = {
    flow: 'Dashboard.json',
    node: 'Sessions',
    press: (running, flow) => inject(running, flow, 'Every 30 seconds'),
    check: () => undefined,
  };

  it('a flow of the cookbook lists the signed-in users on the dashboard', async () => {
    const running = await start({ [DASHBOARD]: dashboard }, ['Dashboard.json']);
    try {
      await cook(running, DASHBOARD, dashboard);
    } finally {
      running.debug.close();
      await running.end();
    }
  });
});
