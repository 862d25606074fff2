import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { NodeRedHarness, type NodeDefinition, type Message, type Runtime } from '../../helpers/node-red';
import { resetContainmentStores } from '../../helpers/reset-process-state';

interface Happened {
  event: string;
  id: string;
  name: string;
  appliance: string;
  session: Record<string, string>;
}

/** A node that keeps people out, and tells by an output of its own. */
export function containmentSuite(runtime: Runtime): void {
  const rig = new NodeRedHarness(runtime, { sessions: 12 });
  const folder = mkdtempSync(join(tmpdir(), 'gateway-contain-'));
  beforeAll(() => rig.start());
  afterEach(async () => {
    await rig.reset();
    resetContainmentStores();
  });
  afterAll(async () => {
    await rig.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  const kept = { folder: { type: 'str', value: folder } };
  const node = { type: 'gateway-contain', operation: 'contain', every: 0.05, fields: kept, wires: [['out'], ['events']] };
  const happened: Message[] = [];

  async function deploy(nodes: NodeDefinition[], appliance: NodeDefinition = {}): Promise<void> {
    happened.length = 0;
    await rig.deploy({ nodes, appliance, more: [{ id: 'events', type: 'helper', z: 'f1', x: 1, y: 1 }] });
    rig.node('events').on('input', (message) => void happened.push(message));
  }

  const signIn = (): string => rig.sim.state.sessions.add({ 'active-user-name': 'j.doe' });

  it('gateway-contain ends new sessions with an event each, continues after a deploy, and stops after a release', async () => {
    await deploy([node]);
    // Looks go on meanwhile, and what they find is said though the outcome of the message is shown after that.
    rig.sim.fault({ match: ({ path }) => path.includes('active-users'), delayMs: 400 });
    const { out } = await rig.run({ _msgid: 'm1', payload: 'j.doe' });
    const { id } = out[0]?.payload as { id: string };
    const first = signIn();
    await rig.until(() => happened.length > 0);
    expect(happened[0]).toMatchObject({ topic: 'contain/ended' });
    const payload = happened[0]?.payload as Happened;
    expect(payload).toMatchObject({ event: 'ended', id, name: 'j.doe', appliance: 'vpn-1', session: { 'session-id': first } });
    await rig.until(() => rig.statuses().some(({ text }) => text === '1 contained'));

    // As after a restart: only the folder knows.
    await rig.reset();
    resetContainmentStores();
    const release = { id: 'n2', type: 'gateway-contain', operation: 'release', fields: kept };
    await deploy([{ ...node, failures: 'output', wires: [['out'], ['failed'], ['events']] }, release]);
    const second = signIn();
    await rig.until(() => happened.some((message) => (message.payload as Happened).session['session-id'] === second));
    rig.node('n2').receive({ _msgid: 'm2', payload: { id } });
    await rig.until(() => readdirSync(folder).length === 0);
    signIn();
    expect(rig.sim.state.sessions.findNumbers({ name: 'j.doe', prefix: false })).toHaveLength(1);
  });

  it('gateway-contain records its node in the journal regardless of who ends the session', async () => {
    const journal = join(folder, 'journal');
    mkdirSync(journal);
    // One that only lists is there first.
    const list = { id: 'n0', type: 'gateway-contain', operation: 'list', name: 'List', every: 0.05, fields: kept, wires: [[], []] };
    await deploy([list, { ...node, id: 'n1', name: 'Keep out' }], { journal });
    const { out } = await rig.run({ _msgid: 'm1', payload: 'j.doe' });
    signIn();
    await rig.until(() => happened.length > 0);
    const entries = readdirSync(journal)
      .filter((name) => name.endsWith('.jsonl'))
      .flatMap((name) => readFileSync(join(journal, name), 'utf8').trim().split('\n'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const own = entries.filter(({ operation }) => operation === 'contain.keep');
    expect(own.length).toBeGreaterThan(0);
    for (const entry of own) expect(entry).toMatchObject({ node: 'Keep out (n1)', flow: 'tab (f1)' });
    const release = { id: 'n2', type: 'gateway-contain', operation: 'release', fields: kept };
    await rig.reset();
    await deploy([release]);
    rig.node('n2').receive({ _msgid: 'm2', payload: { id: (out[0]?.payload as { id: string }).id } });
    await rig.until(() => !readdirSync(folder).some((name) => name.endsWith('.json')));
    rmSync(journal, { recursive: true });
  });

  it('gateway-contain rejects an invalid poll interval', async () => {
    await deploy([{ ...node, every: 'often' }]);
    const { caught } = await rig.run({ _msgid: 'm1', payload: 'j.doe' });
    expect(caught[0]).toMatchObject({ error: { code: 'BAD_CONFIG', message: expect.stringContaining('every') as string } });
  });
}
