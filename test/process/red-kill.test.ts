import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startTestSimulator } from '../helpers/simulated-appliance';
import { KillableNodeRed, createHttpEndpoint } from '../helpers/killable';
import { eventually } from '../helpers/eventually';

function linesOf<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** Both start a Node-RED several times, which takes its time where others work too. */
const PATIENCE = { timeout: 400_000 };

it('a watch reports every start and end of twenty simulated minutes exactly once although Node-RED is killed twice', PATIENCE, async () => {
  const simulator = await startTestSimulator({ sessions: 0 });
  const { sessions } = simulator.state;
  const script = simulator.script({ seed: 7, starts: 3440, seconds: 1200 });
  expect(script.length).toBeGreaterThan(6500);
  const red = new KillableNodeRed(simulator, (folder) => [
    ...createHttpEndpoint('/check', 'watch'),
    // It checks on demand, so that the test need not wait.
    {
      id: 'watch',
      type: 'gateway-watch',
      appliance: 'a1',
      watch: 'sessions',
      every: 86_400,
      remember: join(folder, 'memory'),
      wires: [['tell']],
    },
    { id: 'checked', type: 'complete', scope: ['watch'], uncaught: false, wires: [['answer']] },
    {
      id: 'tell',
      type: 'function',
      func: `const { event, id, session = {} } = msg.payload;
global.get('tell')({ event, id, session: session['session-id'] });`,
      outputs: 1,
      wires: [[]],
    },
  ]);
  await red.start();
  /** Who was there in each check that was over before Node-RED was killed. */
  const checks: Set<string>[] = [];
  const kills = new Set([405, 810]);
  for (let second = 0; second <= 1200; second += 5) {
    script.play(second);
    const check = red.post('/check');
    if (kills.has(second)) {
      // In the midst of telling: the first event of this check is out.
      const before = linesOf(red.logFile).length;
      const late = check.catch(() => undefined);
      await eventually(() => expect(linesOf(red.logFile).length).toBeGreaterThan(before), 1);
      await red.kill();
      await late;
      await red.start();
    } else {
      await check;
      checks.push(new Set(sessions.ids()));
    }
  }
  await red.kill();

  const lines = linesOf<{ event: string; id: string; session: string }>(red.logFile);
  // What was just being told at a kill is told again, under the same id: nobody can know whether it was heard.
  const told = [...new Map(lines.map((line) => [line.id, line])).values()];
  expect(lines.length - told.length).toBeLessThanOrEqual(kills.size);
  const [first, last] = [checks[0] ?? new Set(), checks.at(-1) ?? new Set()];
  const times = (event: string): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const line of told) if (line.event === event) counts.set(line.session, (counts.get(line.session) ?? 0) + 1);
    return counts;
  };
  const [started, ended] = [times('started'), times('ended')];
  const seen = new Set(checks.flatMap((check) => [...check]));
  expect(started.size).toBeGreaterThan(3000);
  expect([...seen].filter((id) => started.get(id) !== (first.has(id) ? undefined : 1))).toEqual([]);
  expect([...seen].filter((id) => ended.get(id) !== (last.has(id) ? undefined : 1))).toEqual([]);
  expect([...started.values(), ...ended.values()].filter((count) => count !== 1)).toEqual([]);
  expect(told.filter(({ event }) => event !== 'started' && event !== 'ended')).toEqual([]);
});

it(
  'a containment keeps exactly the contained users out although Node-RED is killed and the appliance is unreachable',
  PATIENCE,
  async () => {
    const simulator = await startTestSimulator({ sessions: 30 });
    const { sessions, configuration } = simulator.state;
    const users = configuration
      .collection('authentication', 'auth-servers', 'auth-server')
      .items.get('System Local')
      ?.collection('local', 'users', 'user');
    for (const [username, enabled] of [
      ['a.smith', 'true'],
      ['b.jones', 'true'],
    ] as const)
      users?.add({ username, 'password-cleartext': 'x', enabled });
    const accounts = (): string => JSON.stringify([...(users?.items ?? [])].map(([name, user]) => [name, user.text('enabled')]));
    const before = { ids: sessions.ids(), accounts: accounts() };

    const red = new KillableNodeRed(simulator, (folder) => {
      const kept = join(folder, 'contained');
      mkdirSync(kept);
      const node = { type: 'gateway-contain', appliance: 'a1', operationType: 'op', output: 'payload', every: 1 };
      const where = { folder: { type: 'str', value: kept }, name: { type: 'str', value: 'a.smith' } };
      const servers = { servers: { type: 'json', value: '["System Local"]' } };
      return [
        ...createHttpEndpoint('/contain', 'n1'),
        { id: 'in-release', type: 'http in', url: '/release', method: 'post', wires: [['n2']] },
        // Node-RED takes a property for a reference when it equals the id of a node.
        { id: 'n1', ...node, operation: 'contain', fields: { ...where, ...servers }, wires: [['answer'], ['tell']] },
        { id: 'n2', ...node, operation: 'release', fields: where, wires: [['answer'], []] },
        { id: 'tell', type: 'function', func: `global.get('tell')(msg.payload);`, outputs: 1, wires: [[]] },
      ];
    });
    await red.start();
    await red.post('/contain');
    expect(accounts()).not.toBe(before.accounts);

    const looks = (): number => simulator.requests.filter(({ path, status }) => path.includes('active-users?') && status === 200).length;
    for (let time = 1; time <= 20; time++) {
      let back = (): void => undefined;
      if (time === 7) await red.kill();
      if (time === 13) {
        back = simulator.restart();
        const { length } = simulator.requests;
        // Some looks find nobody there.
        await eventually(() => expect(simulator.requests.length).toBeGreaterThan(length + 6));
      }
      const id = sessions.add({ 'active-user-name': 'a.smith' });
      const bystander = sessions.add({ 'active-user-name': time % 2 === 0 ? 'A.Smith' : 'a.smithers' });
      before.ids.push(bystander);
      if (time === 7) await red.start();
      back();
      const looked = looks();
      await eventually(() => expect(sessions.has(id)).toBe(false), 5);
      // The first look after that sign-in, or one that had begun before it and the next.
      expect(looks() - looked).toBeLessThanOrEqual(2);
      // Each is told, before Node-RED is killed.
      await eventually(() => expect(linesOf(red.logFile)).toHaveLength(time));
    }

    expect(sessions.ids().sort()).toEqual([...before.ids].sort());
    expect(await red.post('/release')).toMatchObject({ enabled: ['System Local'] });
    expect(accounts()).toBe(before.accounts);
  },
);
