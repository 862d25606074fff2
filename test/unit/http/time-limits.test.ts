import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DeadlineTimer, type DeadlineItem } from '../../../src/http/deadline-timer';
import { UnorderedList } from '../../../src/model/unordered-list';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  isInformationRequest,
  isWriteRequest,
  startSimulatorWithGateway,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { startRawServer } from '../../helpers/raw-server';

describe('time limits and cancellation', () => {
  it.each([
    ['headers never come', { hang: true }],
    ['comes late', { delayMs: 8000 }],
  ])('a time limit ends an exchange whose response %s', async (_name, fault) => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { timeout: 2.5 });
    await gateway.run('system.info');
    simulator.fault({ ...fault, times: 2 });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('it did not answer within 2.5 s. If this is normal') as string,
    });
    expect(await expectFailure(gateway.run('sessions.kill-all'))).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'TIMEOUT' } });
  });

  it('a time limit does not include the wait for a connection while the appliance answers other requests', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 450 }, { timeout: 3, connections: 1 });
    await gateway.run('system.info');
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => gateway.run('system.info')));
    expect(outcomes.every(({ envelope }) => envelope.ok)).toBe(true);
    expect(listRequests(simulator)).toHaveLength(9);
  });

  it('a time limit ends an exchange whose body arrives too slowly', async () => {
    const server = await startRawServer((_asked, socket) => {
      const timer = setInterval(() => socket.write(' '), 50);
      socket.on('close', () => clearInterval(timer));
      return 'HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n{';
    });
    const gateway = gatewayFor(server, { timeout: 2 });
    expect(await expectFailure(gateway.run('system.info'))).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('its answer did not end within 2 s.') as string,
    });
    expect(await expectFailure(gateway.run('sessions.kill-all'))).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'TIMEOUT' } });
  });

  it('a write that waits for a connection until its time limit is reported as not sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { connections: 1, timeout: 2.5 });
    await gateway.run('system.info');
    simulator.fault({ match: isInformationRequest, hang: true });
    const blocking = expectFailure(gateway.run('system.info'));
    const abort = new AbortController();
    const cancelled = expectFailure(gateway.run('sessions.kill-all', {}, abort.signal));
    setTimeout(() => abort.abort(), 100);
    expect((await cancelled).code).toBe('ABORTED');
    expect((await blocking).code).toBe('TIMEOUT');
    await gateway.run('system.info');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a write that gets no connection fails with TIMEOUT', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { connections: 1, timeout: 2.5 });
    await gateway.run('system.info');
    simulator.fault({ match: isInformationRequest, hang: true });
    const blocking = gateway.run('system.info', {}, { signal: AbortSignal.timeout(60_000) });
    const [first, second] = await Promise.all([expectFailure(blocking), expectFailure(gateway.run('sessions.kill-all'))]);
    expect([first.code, second.code]).toEqual(['TIMEOUT', 'TIMEOUT']);
    expect(second.message).toContain('no connection was free within 2.5 s.');
    await gateway.run('system.info');
    expect(listWriteLines(simulator)).toEqual([]);
    expect(simulator.state.sessions.count).toBe(25);
  });

  it('a canceled write is reported as sent or not sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ match: isWriteRequest, hang: true });
    const abort = new AbortController();
    const cancelled = expectFailure(gateway.run('sessions.kill-all', {}, abort.signal));
    await expect.poll(() => listWriteLines(simulator).length).toBe(1);
    abort.abort();
    expect(await cancelled).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'ABORTED' } });
    expect((await expectFailure(gateway.run('sessions.kill-all', {}, AbortSignal.abort()))).code).toBe('ABORTED');
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('a time limit applies while the HTTP client is still loading', async () => {
    // A pasted key avoids the login.
    const simulator = await startTestSimulator();
    const keyed = gatewayFor(simulator, { login: 'key', apiKey: 'a' });
    const abort = new AbortController();
    const run = expectFailure(keyed.run('sessions.kill-all', {}, abort.signal));
    abort.abort();
    expect((await run).code).toBe('ABORTED');
    expect(simulator.requests).toEqual([]);
  });

  it('closing a gateway aborts all its exchanges', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ hang: true, times: 2 });
    const runs = [expectFailure(gateway.run('system.info')), expectFailure(gateway.run('sessions.kill-all'))];
    await expect.poll(() => simulator.requests.filter(({ status }) => status === 0).length).toBe(2);
    gateway.close();
    expect((await Promise.all(runs)).map(({ code }) => code)).toEqual(['ABORTED', 'OUTCOME_UNKNOWN']);
    expect((await expectFailure(gateway.run('sessions.kill-all'))).code).toBe('ABORTED');
    await expect.poll(() => simulator.openConnections).toBe(0);
  });
});

describe('DeadlineTimer', () => {
  /** Uses a stopped clock and counts its timers. */
  function clocked() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const deadlines = new DeadlineTimer<DeadlineItem>();
    const expired: string[] = [];
    const begun = performance.now();
    const add = (name: string, due: number): DeadlineItem => {
      const item = {
        index: -1,
        deadline: begun + due,
        expire: (): void => {
          expired.push(name);
          deadlines.delete(item);
        },
      };
      deadlines.add(item);
      return item;
    };
    return { deadlines, expired, add };
  }

  it('DeadlineTimer uses one timer for all items with the same millisecond', () => {
    const { deadlines, expired, add } = clocked();
    add('second', 200);
    add('first', 100);
    add('third', 300);
    add('with the first', 101);
    add('after the first', 102);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(99);
    expect(expired).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expired).toEqual(['first', 'with the first']);
    vi.advanceTimersByTime(2);
    expect([expired.at(-1), vi.getTimerCount()]).toEqual(['after the first', 1]);
    vi.advanceTimersByTime(198);
    expect(expired.slice(3)).toEqual(['second', 'third']);
    // No item and no timer remain.
    expect([deadlines.items, vi.getTimerCount()]).toEqual([[], 0]);
    add('later', 1000);
    expect(vi.getTimerCount()).toBe(1);
    deadlines.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('DeadlineTimer checks the new deadline of a moved item, and skips removed items', () => {
    const { deadlines, expired, add } = clocked();
    const [longer, over] = [add('longer', 100), add('over', 100)];
    longer.deadline += 100;
    deadlines.delete(over);
    vi.advanceTimersByTime(150);
    expect([expired, vi.getTimerCount()]).toEqual([[], 1]);
    vi.advanceTimersByTime(50);
    expect([expired, vi.getTimerCount()]).toEqual([['longer'], 0]);
  });

  it('DeadlineTimer lists each item once, whatever the order of removals', () => {
    const list = new UnorderedList<{ name: string; index: number }>();
    const items = ['a', 'b', 'c', 'd'].map((name) => ({ name, index: -1 }));
    for (const item of items) list.add(item);
    const seen = (): string => list.items.map(({ name, index }) => `${name}${index}`).join(' ');
    expect(seen()).toBe('a0 b1 c2 d3');
    const gone = (...names: string[]): void => {
      for (const item of items.filter(({ name }) => names.includes(name))) {
        list.delete(item);
        expect(item.index).toBe(-1);
      }
    };
    gone('b');
    expect(seen()).toBe('a0 d1 c2');
    gone('a', 'd');
    expect(seen()).toBe('c0');
    list.add({ name: 'e', index: -1 });
    expect(seen()).toBe('c0 e1');
    gone('c');
    expect(seen()).toBe('e0');
  });
});
