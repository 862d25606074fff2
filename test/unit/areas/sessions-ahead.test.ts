import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { SessionPages } from '../../../src/areas/sessions/session-pages';
import { LightAbortController } from '../../../src/model/abort';
import type { Simulator } from '../../../src/simulator';
import {
  listRequests,
  expectFailure,
  readSessionIds,
  listRequestLines,
  startSimulatorWithGateway,
  ACTIVE_USERS_PATH,
} from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';

// Pages of a list that are fetched ahead: what comes out is the same, whatever happens on the way.
const isList = ({ path }: { path: string }): boolean => path.startsWith(`${ACTIVE_USERS_PATH}?`);
const isPage =
  (start: number) =>
  ({ path }: { path: string }): boolean =>
    path.endsWith(`start=${start}`);
const starts = (simulator: Simulator): number[] => listRequestLines(simulator).map((line) => Number(/start=(\d+)/.exec(line)?.[1]));

describe.each([0, 1] as const)('session list counted from %i', (startCountsFrom) => {
  it('sessions.list contains every session once and in order, whichever page response arrives first', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 4321, variants: { startCountsFrom } }, { connections: 3 });
    // The earlier of two is the later to come.
    for (let start = 394; start < 4321; start += 394) simulator.fault({ match: isPage(start), delayMs: 40 });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ total: 4321, requests: 22, retries: 0 });
    expect(simulator.openConnections).toBe(3);
  });

  it('sessions.list requests page by page after a page that is not full', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 2000, variants: { startCountsFrom } });
    const shorten = (answer: string): string => {
      const document = JSON.parse(answer) as { 'active-users': { 'active-user-records': { 'active-user-record': unknown[] } } };
      document['active-users']['active-user-records']['active-user-record'].length = 150;
      return JSON.stringify(document);
    };
    simulator.fault({ match: isPage(788), body: shorten });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ total: 2000, truncated: false });
    expect(starts(simulator)).toContain(935);
  });

  it.each([2000, 2001, 2199])('a list of %i sessions contains the last one', async (sessions) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions, variants: { startCountsFrom } });
    expect(readSessionIds((await gateway.run('sessions.list')).data)).toEqual(simulator.state.sessions.ids());
  });
});

describe('page prefetch', () => {
  it('sessions.list prefetches from the third page on, with at most twice as many requests as connections', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      { sessions: 10_000, variants: { startCountsFrom: 0 } },
      { connections: 2 },
    );
    simulator.fault({ match: isPage(394), hang: true });
    const stop = new AbortController();
    const canceled = expectFailure(gateway.run('sessions.list', {}, stop.signal));
    await expect.poll(() => starts(simulator)).toEqual([0, 197, 394, 591, 788, 985]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(starts(simulator)).toHaveLength(6);
    stop.abort();
    expect(await canceled).toMatchObject({ code: 'ABORTED' });
  });

  it('the prefetch of session pages stops at the limit', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 10_000, variants: { startCountsFrom: 0 } });
    const { data, envelope } = await gateway.run('sessions.list', { limit: 700 });
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids().slice(0, 700));
    expect(envelope).toMatchObject({ total: 10_000, truncated: true, requests: 4 });
    expect(Math.max(...starts(simulator))).toBe(591);
  });

  it('the prefetch of session pages is off if the appliance reports no total', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 1500, variants: { startCountsFrom: 1 } });
    simulator.fault({ match: isList, times: 99, stripField: 'active-users.total-matched-record-number' });
    expect(readSessionIds((await gateway.run('sessions.list')).data)).toEqual(simulator.state.sessions.ids());
    expect(starts(simulator)).toEqual([0, 197, 394, 591, 788, 985, 1182, 1379]);
  });

  it('the prefetch of session pages emits pages in order and fails at the page that fails', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      { sessions: 10_000, variants: { startCountsFrom: 0 } },
      { connections: 2 },
    );
    simulator.fault({ match: isPage(591), status: 404, delayMs: 50 });
    // They would keep both connections.
    for (const start of [788, 985]) simulator.fault({ match: isPage(start), hang: true });
    const indexes: number[] = [];
    const error = await expectFailure(gateway.run('sessions.list', { emit: 'page' }, { onPart: (_, { index }) => indexes.push(index) }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', cause: { sent: 3, total: 10_000 } });
    expect(indexes).toEqual([0, 1, 2]);
    // What was under way then is not needed any more, and nothing follows.
    const sent = listRequests(simulator).length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(listRequests(simulator).length).toBeLessThanOrEqual(sent + 1);
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
  });

  it('the prefetch of session pages starts again if the first page contains a session twice', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 1000, variants: { startCountsFrom: 0 } });
    const [first = '', second = ''] = simulator.state.sessions.ids();
    simulator.fault({ match: isPage(0), body: (answer) => answer.replace(second, first) });
    expect(readSessionIds((await gateway.run('sessions.list')).data).sort()).toEqual(simulator.state.sessions.ids().sort());
    expect(starts(simulator)).toHaveLength(12);
  });

  it('the prefetch of session pages removes its abort listeners and requests nothing after a cancellation', async () => {
    const { simulator } = await startSimulatorWithGateway({ sessions: 3 });
    const cancel = new LightAbortController();
    const call = createRunContext(simulator, { signal: cancel });
    const pages = new SessionPages({}, call);
    const { signal = AbortSignal.abort() } = call;
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    expect((await pages.read(0)).records).toHaveLength(3);
    pages.end();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    cancel.abort();
    const asked = listRequestLines(simulator).length;
    expect((await expectFailure(new SessionPages({}, call).read(0))).code).toBe('ABORTED');
    expect(listRequestLines(simulator)).toHaveLength(asked);
  });

  it('the prefetch of session pages repeats a page whose connection was cut', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      { sessions: 3000, variants: { startCountsFrom: 0 } },
      { connections: 2 },
    );
    simulator.fault({ match: isPage(985), cut: 'half' });
    const { data, envelope } = await gateway.run('sessions.list');
    expect(readSessionIds(data)).toEqual(simulator.state.sessions.ids());
    expect(envelope).toMatchObject({ requests: 17, retries: 1 });
  });
});
