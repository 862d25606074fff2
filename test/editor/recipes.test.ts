import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeInitializer } from 'node-red';
import helper from 'node-red-node-test-helper';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { RECIPES } from '../../nodes/editor/sidebar/recipes';
import { checkRecipeValue, type RecipeFlow } from '../../nodes/editor/sidebar/recipes/recipe';
import { toImportableFlow } from '../../nodes/editor/sidebar/recipes/to-flow';
import { decideWaitingPlan, listWaitingPlans } from '../../nodes/action/approvals';
import { isObject } from '../../src/model/json';
import { getLookup } from '../helpers/catalog';
import { gatewayNodes, NodeRedHarness } from '../helpers/node-red';

const load = createRequire(createRequire(__filename).resolve('node-red/package.json'));
const CORE = ['network/05-tls', 'network/21-httpin', 'function/10-switch', 'function/15-change', 'common/20-inject', 'common/21-debug'];
const SECRET = 'a secret of the test';
const text = getLookup();

/** A recipe with its default values and these. */
function build(name: string, values: Record<string, string> = {}): RecipeFlow {
  const recipe = RECIPES.find((candidate) => candidate.name === name);
  if (!recipe) throw new Error(`There is no recipe ${name}.`);
  const defaults = Object.fromEntries(recipe.fields.map((field) => [field.name, field.default]));
  return recipe.build({ ...defaults, appliance: 'a1', secret: SECRET, ...values }, text);
}

describe('recipes', () => {
  const rig = new NodeRedHarness('node-red', { sessions: 5 });
  const folder = mkdtempSync(join(tmpdir(), 'gateway-recipes-'));
  beforeAll(() => rig.start());
  afterEach(() => rig.reset());
  afterAll(async () => {
    await rig.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Deploys what an import would add. Nodes at the end of a flow are replaced by such that tell what arrived, by their name. */
  async function deploy(flow: RecipeFlow): Promise<Record<string, unknown[]>> {
    const [group = {}, ...nodes] = toImportableFlow(flow, { tab: 'f1', top: 0, title: 'T', createId: createIds() });
    const ends = nodes.filter(({ type }) => type === 'debug' || type === 'http response');
    const replaced = nodes.map((node) => (ends.includes(node) ? { ...node, type: 'helper' } : node));
    const credentials = { a1: { username: 'api-admin', password: 'simulator' }, tls1: { cadata: rig.sim.ca } };
    const secrets = flow.secret ? { [String(group.id)]: { [flow.secret.name]: flow.secret.value } } : {};
    const core = CORE.map((file) => load(`@node-red/nodes/core/${file}.js`) as NodeInitializer);
    const all = [...rig.flow({ nodes: [] }), group, ...replaced];
    await helper.load([...core, gatewayNodes], all as never, { ...credentials, ...secrets });
    const arrived: Record<string, unknown[]> = {};
    for (const { id, name, type, complete } of ends) {
      const seen: unknown[] = (arrived[type === 'debug' ? String(name) : 'answer'] = []);
      const shown = type === 'debug' ? String(complete).split('.') : [];
      helper.getNode(String(id)).on('input', (message) => void seen.push(shown.reduce<unknown>(readProperty, message)));
    }
    return arrived;
  }

  const press = (flow: RecipeFlow): void => {
    expect(flow.nodes[0]?.type).toBe('inject');
    helper.getNode('r2').receive({});
  };
  /** Sends what an HTTP request would, to the node behind it. The helper of Node-RED serves no such paths. */
  async function call(answers: unknown[], user: unknown, secret = SECRET): Promise<unknown> {
    const before = answers.length;
    helper.getNode('r3').receive({ payload: { user }, req: { headers: { 'x-webhook-token': secret } } });
    await vi.waitFor(() => expect(answers.length).toBe(before + 1), { timeout: 10_000 });
    return answers.at(-1);
  }

  it('the recipe for a backup writes a backup into the chosen folder and reports it', async () => {
    const flow = build('backup', { folder });
    expect(flow.nodes[0]).toMatchObject({ crontab: '0 2 * * *' });
    const arrived = await deploy(flow);
    press(flow);
    await vi.waitFor(() => expect(arrived['What was saved']).toEqual([expect.stringMatching(/^Made the backup /)]), { timeout: 10_000 });
    expect(readdirSync(folder).length).toBeGreaterThan(0);
  });

  it('the recipe for a webhook ends the sessions of a user, and refuses a wrong secret', async () => {
    const { answer = [] } = await deploy(build('webhook'));
    rig.sim.state.sessions.add({ 'active-user-name': 'j.visitor' });
    expect(await call(answer, 'j.visitor', 'another')).toMatchObject({ statusCode: 401 });
    expect(rig.sim.requests.some(({ method }) => method === 'DELETE')).toBe(false);
    const done = { statusCode: 200, payload: { message: expect.stringContaining('j.visitor') as unknown } };
    expect(await call(answer, 'j.visitor')).toMatchObject(done);
    expect(await call(answer, undefined)).toMatchObject({ statusCode: 400, payload: { code: 'BAD_INPUT' } });
  });

  it('the recipe for a SIEM contains the person whom the webhook names', async () => {
    const { answer = [] } = await deploy(build('contain'));
    const done = { statusCode: 200, payload: { message: expect.stringContaining('k.lost') as unknown } };
    expect(await call(answer, 'k.lost')).toMatchObject(done);
  });

  it.each([
    ['end', /contractor1/],
    ['disable', /Disabled contractor1 on System Local/],
  ])('the recipe for a change with approval (%s) waits for the decision, and changes what was approved', async (change, sentence) => {
    if (change === 'end') rig.sim.state.sessions.add({ 'active-user-name': 'contractor1' });
    const flow = build('approval', { change, user: 'contractor1' });
    const arrived = await deploy(flow);
    press(flow);
    await vi.waitFor(() => expect(arrived['Waits in the sidebar']).toEqual([expect.stringMatching(/^Would /)]), { timeout: 10_000 });
    const [plan] = listWaitingPlans();
    decideWaitingPlan({ property: 'approve', id: plan?.id }, 'tester');
    await vi.waitFor(() => expect(arrived['What was changed']).toEqual([expect.stringMatching(sentence)]), { timeout: 10_000 });
  });

  it('the recipe for licenses reports the use of each feature, and warns above the chosen share', async () => {
    const flow = build('license', { percent: '0' });
    expect(flow.nodes[0]).toMatchObject({ crontab: '0 7 * * 1' });
    const arrived = await deploy(flow);
    press(flow);
    await vi.waitFor(() => expect(arrived['Report']).toEqual([expect.stringMatching(/^.+: \d+ \/ \d+ \(\d+ %\)/)]), { timeout: 10_000 });
    await vi.waitFor(() => expect(arrived['Warning']).toEqual(arrived['Report']), { timeout: 10_000 });
  });

  it('recipes have a text for each field, unique node ids, and wires to existing nodes', () => {
    for (const { name, fields, build: create } of RECIPES) {
      for (const key of ['title', 'help', 'then']) expect(text(`recipe.${name}.${key}`)).not.toBe(`recipe.${name}.${key}`);
      for (const field of fields)
        for (const key of [field.name, `${field.name}-help`]) expect(text(`recipe.field.${key}`)).not.toBe(`recipe.field.${key}`);
      const { nodes } = create({ ...Object.fromEntries(fields.map((field) => [field.name, field.default])), appliance: 'a1' }, text);
      const ids = nodes.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(nodes.flatMap(({ wires = [] }) => wires.flat())));
      for (const node of nodes) expect([node.id, node['name']]).not.toEqual([node.id, expect.stringContaining('recipe.')]);
    }
  });

  it.each([
    [{ name: 'user', kind: 'text' as const, default: '' }, ' ', 'recipe.check.empty'],
    [{ name: 'path', kind: 'text' as const, default: '' }, '/end-sessions', undefined],
    [{ name: 'path', kind: 'text' as const, default: '' }, 'end sessions', 'recipe.check.path'],
    [{ name: 'time', kind: 'time' as const, default: '' }, '23:59', undefined],
    [{ name: 'time', kind: 'time' as const, default: '' }, '24:00', 'recipe.check.time'],
    [{ name: 'percent', kind: 'number' as const, default: '', range: [1, 100] as const }, '101', 'recipe.check.number'],
    [{ name: 'percent', kind: 'number' as const, default: '', range: [1, 100] as const }, '90', undefined],
  ])('the form of a recipe checks %j with the value %j', (field, value, complaint) => {
    expect(checkRecipeValue(field, value)).toBe(complaint);
  });
});

/** Nodes have the IDs `r2`, `r3` and so on, in the order of the recipe. */
function createIds(): () => string {
  let count = 1;
  return () => `r${++count}`;
}

const readProperty = (value: unknown, key: string): unknown => (isObject(value) ? value[key] : undefined);
