import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/model/json';
import { SessionTracker } from '../../../../src/watch/session-tracker';
import { startTestSimulator, startSimulatorWithGateway, settingsFor } from '../../../helpers/simulated-appliance';
import { startChild } from '../../../helpers/transfer';
import { createTemporaryFolder as folder } from '../../../helpers/temporary';

interface ReportedEvent {
  readonly event: string;
  readonly id: string;
  readonly session: string;
}

it('a watch of sessions reports every start and end of twenty simulated minutes exactly once although it is killed twice', async () => {
  const simulator = await startTestSimulator({ sessions: 0 });
  const remember = join(folder(), 'sessions.jsonl');
  const script = simulator.script({ seed: 12, starts: 3440, seconds: 1200 });
  expect(script.length).toBeGreaterThan(6500);

  /** The sessions of each check that was completed. */
  const checks: string[][] = [];
  let second = 0;
  let present: string[] | undefined;
  // The first page of each check advances the script by five seconds.
  const match = ({ path }: { path: string }): boolean => {
    if (!path.includes('start=0')) return false;
    if (present) checks.push(present);
    script.play((second += 5));
    present = simulator.state.sessions.ids();
    return false;
  };
  simulator.fault({ match, times: Infinity });

  const reportedEvents: ReportedEvent[] = [];
  const errors: unknown[] = [];
  for (const until of [400, 800, 1300]) {
    const watching = startChild('watch-child.ts', { settings: settingsFor(simulator), remember });
    const ended = once(watching, 'exit');
    for await (const text of createInterface({ input: watching.stdout ?? process.stdin })) {
      const line = JSON.parse(text) as ReportedEvent | { error: string };
      if ('error' in line) errors.push(line);
      else reportedEvents.push(line);
      // Kill the process between the events of a check.
      if (second >= until) watching.kill('SIGKILL');
      if (second < 1200) continue;
      while (second < until) await new Promise((resolve) => setTimeout(resolve, 20));
      watching.kill('SIGKILL');
    }
    await ended;
    // The last check may be incomplete.
    present = undefined;
  }
  expect(errors).toEqual([]);

  const first = new Set(checks[0]);
  const seen = new Set(checks.flat());
  const last = new Set(checks.at(-1));
  const ids = new Map(reportedEvents.map((line) => [line.id, line]));
  const count = (event: string): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const line of ids.values()) if (line.event === event) counts.set(line.session, (counts.get(line.session) ?? 0) + 1);
    return counts;
  };
  const [started, over] = [count('started'), count('ended')];
  expect([...seen].filter((id) => !first.has(id) && started.get(id) !== 1)).toEqual([]);
  expect([...seen].filter((id) => !last.has(id) && over.get(id) !== 1)).toEqual([]);
  expect([...started.values(), ...over.values()].filter((times) => times !== 1)).toEqual([]);
  expect([...started.keys()].filter((id) => first.has(id))).toEqual([]);
  expect([...over.keys()].filter((id) => last.has(id))).toEqual([]);
  // A repeated event has the same id. Each kill repeats at most one event.
  expect(reportedEvents.length - ids.size).toBeLessThanOrEqual(2);
  expect(started.size).toBeGreaterThan(3000);
});

it('a watch of sessions uses at most 200 bytes of memory for each session', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const { simulator } = await startSimulatorWithGateway({ sessions: 40_000 });
  const { sessions, variants } = simulator.state;
  const records = (): JsonObject[] =>
    sessions.findNumbers().map((index) => JSON.parse(sessions.toRecordText(index, false, variants)) as JsonObject);
  // A separate function, so that the records are not kept alive here.
  const countEvents = (tracker: SessionTracker): number => tracker.update(records()).events.length;
  const trackers: SessionTracker[] = [];
  // The difference after releasing the tracker excludes other memory.
  const held = async () => {
    for (let i = 0; i < 3; i++) await new Promise((next) => setTimeout(next, 20)).then(gc);
    return process.memoryUsage().heapUsed;
  };
  trackers.push(new SessionTracker());
  expect(trackers.map(countEvents)).toEqual([0]);
  expect(trackers.map(countEvents)).toEqual([0]);
  const before = await held();
  trackers.pop();
  const each = (before - (await held())) / sessions.count;
  expect(each).toBeLessThan(200);
  // The tracker used memory, which was freed.
  expect(each).toBeGreaterThan(50);
});
