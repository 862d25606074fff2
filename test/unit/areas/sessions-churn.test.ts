import { describe, expect, it, onTestFinished } from 'vitest';
import { startRawServer, httpResponse, type RawServer } from '../../helpers/raw-server';
import { ACTIVE_USERS_PATH, asBulkResult, expectFailure, gatewayFor, readSessionIds } from '../../helpers/simulated-appliance';
import { startWatch } from '../../helpers/watch';
import { resetContainmentStores } from '../../helpers/reset-process-state';

const SESSIONS_PER_PAGE = 200;
/** 100 changes per second at 5 ms per page. */
const CHANGES_PER_PAGE = 0.5;

type Order = 'appended' | 'in front' | 'sorted by name';

interface Session {
  readonly id: string;
  readonly name: string;
  readonly realm: string;
}

interface ChurningAppliance {
  readonly server: RawServer;
  readonly sessions: Session[];
  /** Sessions that nobody ends. */
  readonly stable: ReadonlySet<string>;
  readonly deleted: string[];
  /** Number of changes per page. */
  pace: number;
}

/** A random number below 1, the same sequence in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** An appliance whose sessions start and end with each page that it sends. Every tenth session is stable. */
async function startChurningAppliance(
  order: Order,
  count: number,
  { base = 0, hasFlags = true, stableName = '' } = {},
): Promise<ChurningAppliance> {
  const nextRandom = createRandom(count + base);
  let next = 0;
  const create = (isStable: boolean): Session => {
    const number = next++;
    const name = isStable && stableName !== '' ? stableName : `${String.fromCharCode(97 + Math.floor(nextRandom() * 26))}${number}`;
    return { id: `sid${number}`, name, realm: isStable ? 'Stable' : 'Users' };
  };
  const sessions = Array.from({ length: count }, (_, index) => create(index % 10 === 0));
  const sort = (): unknown => order === 'sorted by name' && sessions.sort((a, b) => (a.name < b.name ? -1 : 1));
  sort();
  const stable = new Set(sessions.filter(({ realm }) => realm === 'Stable').map(({ id }) => id));
  let due = 0;
  const change = (): void => {
    if (nextRandom() < 0.5) {
      const session = create(false);
      if (order === 'in front') sessions.unshift(session);
      else sessions.push(session);
      sort();
      return;
    }
    const index = Math.floor(nextRandom() * sessions.length);
    if (sessions[index]?.realm === 'Users') sessions.splice(index, 1);
  };
  const deleted: string[] = [];
  const server = await startRawServer(({ method, path }) => {
    if (method === 'DELETE') {
      const id = decodeURIComponent(path.split('/').at(-1) ?? '');
      deleted.push(id);
      return httpResponse(204);
    }
    for (due += appliance.pace; due >= 1; due--) change();
    const query = new URL(path, 'https://localhost').searchParams;
    const from = Math.max(0, Number(query.get('start')) - base);
    const page = sessions.slice(from, from + SESSIONS_PER_PAGE);
    const records = page.map(({ id, name, realm }) => ({ 'session-id': id, 'active-user-name': name, 'authentication-realm': realm }));
    const flags = hasFlags ? { 'is-last-record': from + page.length >= sessions.length } : {};
    const users = { 'active-user-records': { 'active-user-record': records }, 'total-matched-record-number': sessions.length, ...flags };
    return httpResponse(200, JSON.stringify({ 'active-users': users }));
  });
  const appliance: ChurningAppliance = { server, sessions, stable, deleted, pace: CHANGES_PER_PAGE };
  return appliance;
}

const cases = (['appended', 'in front', 'sorted by name'] as const).flatMap((order) =>
  ([0, 1] as const).flatMap((base) => [true, false].map((hasFlags) => ({ order, base, hasFlags }))),
);

describe('the session list with 100 changes per second', () => {
  it.each(cases)(
    'with 100 changes per second, the session list has every lasting session once: new sessions $order, counted from $base, is-last-record $hasFlags',
    async (options) => {
      const { server, stable } = await startChurningAppliance(options.order, 2700, options);
      const gateway = gatewayFor(server);
      for (let list = 0; list < 6; list++) {
        const ids = readSessionIds((await gateway.run('sessions.list')).data);
        expect(new Set(ids).size).toBe(ids.length);
        expect([...stable].filter((id) => !ids.includes(id))).toEqual([]);
      }
    },
  );

  it.each(['appended', 'in front', 'sorted by name'] as const)(
    'the session list is complete with 4,000 changes per second: new sessions %s',
    async (order) => {
      const appliance = await startChurningAppliance(order, 2700);
      appliance.pace = 20;
      const gateway = gatewayFor(appliance.server);
      for (let list = 0; list < 4; list++) {
        const ids = readSessionIds((await gateway.run('sessions.list')).data);
        expect(new Set(ids).size).toBe(ids.length);
        expect([...appliance.stable].filter((id) => !ids.includes(id))).toEqual([]);
      }
    },
  );

  it.each(['appended', 'in front', 'sorted by name'] as const)(
    'with 100 changes per second, kill-matching ends every lasting session: new sessions %s',
    async (order) => {
      const { server, stable, deleted } = await startChurningAppliance(order, 2700);
      const { data } = await gatewayFor(server).run('sessions.kill-matching', { filter: { 'authentication-realm': 'Stable' }, max: 1000 });
      expect(asBulkResult(data).ok).toBe(stable.size);
      expect([...deleted].sort()).toEqual([...stable].sort());
    },
  );

  // Few records and many changes: ten times the changes of a busy appliance.
  it.each(['appended', 'in front', 'sorted by name'] as const)(
    'kill-user and contain end all sessions of a person while others start and end: %s',
    async (order) => {
      for (const operation of ['sessions.kill-user', 'contain.contain']) {
        const appliance = await startChurningAppliance(order, 500, { stableName: 'm.stable' });
        appliance.pace = 5;
        const gateway = gatewayFor(appliance.server);
        onTestFinished(resetContainmentStores);
        await gateway.run(operation, { name: 'm.stable', ...(operation === 'sessions.kill-user' && { max: 1000 }) });
        expect([...new Set(appliance.deleted)].sort(), operation).toEqual([...appliance.stable].sort());
      }
    },
  );

  it.each(['appended', 'in front', 'sorted by name'] as const)(
    'a watch reports no lasting session as ended while others come and go: %s',
    async (order) => {
      const appliance = await startChurningAppliance(order, 500);
      appliance.pace = 5;
      const { watcher, takePayloads } = await startWatch(gatewayFor(appliance.server), { watch: 'sessions' });
      let eventCount = 0;
      for (let check = 0; check < 8; check++) {
        await watcher.check();
        const payloads = takePayloads() as unknown as { event: string; session: Record<string, string> }[];
        eventCount += payloads.length;
        expect(payloads.filter(({ session }) => appliance.stable.has(session['session-id'] ?? ''))).toEqual([]);
      }
      expect(eventCount).toBeGreaterThan(20);
    },
  );

  it('sessions.list reads only the pages around a gap again if many sessions end between two pages', async () => {
    const appliance = await startChurningAppliance('appended', 2700);
    appliance.pace = 0;
    const { server, sessions } = appliance;
    const gateway = gatewayFor(server, { connections: 1 });
    const quiet = (await gateway.run('sessions.list')).envelope.requests;
    const before = new Set(sessions.map(({ id }) => id));
    let hasEnded = false;
    Object.defineProperty(appliance, 'pace', {
      get: () => {
        if (server.requests.at(-1)?.path.endsWith('start=788') && !hasEnded) {
          hasEnded = true;
          sessions.splice(100, 60);
        }
        return 0;
      },
    });
    const { data, envelope } = await gateway.run('sessions.list');
    const ids = readSessionIds(data);
    expect(hasEnded).toBe(true);
    expect(sessions.filter(({ id }) => before.has(id) && !ids.includes(id))).toEqual([]);
    expect(envelope.requests).toBeLessThanOrEqual(quiet + 3);
  });

  it('sessions.list fails after a bounded number of requests if its pages never overlap, and says why', async () => {
    let next = 0;
    const random = await startRawServer(() => {
      const records = Array.from({ length: SESSIONS_PER_PAGE }, () => ({ 'session-id': `x${next++}` }));
      const users = {
        'active-user-records': { 'active-user-record': records },
        'total-matched-record-number': 2700,
        'is-last-record': false,
      };
      return httpResponse(200, JSON.stringify({ 'active-users': users }));
    });
    const error = await expectFailure(gatewayFor(random).run('sessions.list'));
    expect(error).toMatchObject({
      code: 'BAD_RESPONSE',
      message: expect.stringMatching(/^The pages of the session list do not join/) as string,
    });
    expect(random.requests.length).toBeLessThan(80);
  });

  it('sessions.list sends at most 3 percent more requests than pages for a quiet list of 20,000 sessions', async () => {
    for (const base of [0, 1]) {
      const appliance = await startChurningAppliance('appended', 20_000, { base });
      appliance.pace = 0;
      const { data, envelope } = await gatewayFor(appliance.server).run('sessions.list');
      expect(readSessionIds(data)).toHaveLength(20_000);
      expect(envelope.requests).toBeLessThanOrEqual(103);
      expect(appliance.server.requests.filter(({ path }) => path.startsWith(ACTIVE_USERS_PATH)).length).toBeLessThanOrEqual(103);
    }
  });
});
