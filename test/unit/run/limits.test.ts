import { getEventListeners } from 'node:events';
import { rootCertificates } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Gateway } from '../../../src/gateway/gateway';
import { RateLimiter } from '../../../src/http/rate-limiter';
import { getProcessMap } from '../../helpers/reset-process-state';
import { LightAbortController } from '../../../src/model/abort';
import {
  startTestSimulator,
  simulatorCertificate,
  expectFailure,
  gatewayFor,
  getThrownError,
  settingsFor,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const INFO = httpResponse(200, '{"host-name":"gateway-1"}');
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const info = (gateway: AnyGateway, options = {}): Promise<unknown> => gateway.run('system.info', {}, options);

/** An appliance that holds back its answers until it is told. */
async function holding(holds = true) {
  const held: (() => void)[] = [];
  const server = await startRawServer((_asked, socket) => {
    if (!holds) return INFO;
    held.push(() => socket.write(INFO));
    return undefined;
  });
  const answer = (): void => {
    holds = false;
    for (const give of held.splice(0)) give();
  };
  const hold = (): void => void (holds = true);
  return { server, answer, hold };
}

/** When each of so many turns came, by a clock of its own. */
async function turns(rate: number, count: number): Promise<number[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const pace = new RateLimiter(rate);
  const left: number[] = [];
  const all = times(count, async () => {
    await pace.acquire(pace, undefined);
    left.push(performance.now());
  });
  while (left.length < count) await vi.advanceTimersByTimeAsync(50);
  await all;
  return left;
}

describe('A limit of requests per second', () => {
  it.each([0.5, 1, 2.5, 7, 100])(
    'A rate limit of %d requests per second is never exceeded in any second, and is fully used',
    async (rate) => {
      const count = Math.ceil(rate * 4) + 1;
      const left = await turns(rate, count);
      const most = Math.max(1, Math.floor(rate));
      const window = (most / rate) * 1000;
      for (const [index, at] of left.entries())
        if (index >= most) expect(at - (left[index - most] as number)).toBeGreaterThanOrEqual(window);
      // Timers count in whole milliseconds.
      expect((left.at(-1) as number) - (left[0] as number)).toBeLessThanOrEqual(Math.ceil(count / most) * (window + 51));
    },
  );

  it('requests above the limit per second wait in their order', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const pace = new RateLimiter(1);
    const order: string[] = [];
    const stop = new LightAbortController();
    expect(pace.acquire(pace, undefined)).toBeUndefined();
    const owner = {};
    const waiting = [
      pace.acquire(pace, undefined)?.then(() => order.push('one')),
      pace.acquire(pace, stop.signal)?.catch(() => order.push('cancelled')),
      pace.acquire(owner, undefined)?.catch(() => order.push('left')),
      pace.acquire(pace, undefined)?.then(() => order.push('two')),
    ];
    stop.abort();
    pace.cancelWaiters(owner);
    await expect(pace.acquire(pace, stop.signal)).rejects.toMatchObject({ code: 'ABORTED' });
    await vi.advanceTimersByTimeAsync(2100);
    expect(order).toEqual(['cancelled', 'left', 'one', 'two']);
    for (const each of waiting) await each;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('A rate limit counts earlier requests correctly when it changes, and keeps the order', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let now = 0;
    const pace = new RateLimiter(4, () => now);
    const owner = {};
    /** Whether one may leave then; who may not leaves again. */
    const may = (at: number): boolean => {
      now = at;
      const turn = pace.acquire(owner, undefined);
      turn?.catch(() => undefined);
      pace.cancelWaiters(owner);
      return turn === undefined;
    };
    expect([0, 100, 200, 300, 400, 1000].map(may)).toEqual([true, true, true, true, false, true]);
    // Of those that left at 100, 200, 300 and 1000 the latest two count.
    pace.rate = 2;
    expect([1299, 1300, 1301, 1999, 2000].map(may)).toEqual([false, true, false, false, true]);
    pace.rate = 2;
    expect(may(2299)).toBe(false);
    pace.rate = 4;
    expect([2299, 2299, 2299, 2300, 2999, 3000].map(may)).toEqual([true, true, false, true, false, true]);
    const planned = vi.spyOn(globalThis, 'setTimeout');
    now = 3100;
    const stop = new AbortController();
    const waiting = pace.acquire(owner, stop.signal);
    expect([pace.waitingCount, planned.mock.calls.at(-1)?.[1]]).toEqual([1, 199]);
    planned.mockRestore();
    // It is free by now, and somebody waits for it already.
    now = 3299;
    const late = pace.acquire(pace, undefined);
    expect([late instanceof Promise, pace.waitingCount]).toEqual([true, 2]);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', details: { sent: false } });
    await expect(pace.acquire(owner, stop.signal)).rejects.toMatchObject({ code: 'ABORTED', details: { sent: false } });
    pace.releaseAll();
    await late;
    const kept = new AbortController();
    now = 3299;
    const last = pace.acquire(owner, kept.signal);
    expect(getEventListeners(kept.signal, 'abort')).toHaveLength(last ? 1 : 0);
    pace.releaseAll();
    await last;
    expect([getEventListeners(kept.signal, 'abort').length, pace.waitingCount]).toEqual([0, 0]);
  });

  it('A rate limit can change while requests wait', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const pace = new RateLimiter(0.01);
    let left = 0;
    const all = times(5, async () => {
      await pace.acquire(pace, undefined);
      left++;
    });
    await vi.advanceTimersByTimeAsync(1000);
    expect(left).toBe(1);
    pace.rate = 2;
    await vi.advanceTimersByTimeAsync(500);
    expect(left).toBe(3);
    pace.releaseAll();
    await all;
    expect([left, vi.getTimerCount()]).toEqual([5, 0]);
  });

  it('A rate limit counts logins and requests together, and reports a canceled request as not sent', async () => {
    const server = await startRawServer(() => INFO);
    const gateway = gatewayFor(server, { rate: 0.01 });
    const stop = new LightAbortController();
    const waits = expectFailure(info(gateway, { signal: stop.signal }));
    await expect.poll(() => server.sockets.size).toBe(1);
    const closed = expectFailure(info(gateway));
    stop.abort();
    expect(await waits).toMatchObject({ code: 'ABORTED', details: {}, cause: { status: null } });
    gateway.close();
    expect((await closed).code).toBe('ABORTED');
    expect(server.requests).toEqual([]);
  });

  it('A rate limit applies to all nodes of an account together, until the node that set it closes', async () => {
    const server = await startRawServer(() => INFO);
    const [slow, other] = [gatewayFor(server, { rate: 0.01 }), gatewayFor(server)];
    // The login takes the one turn that there is.
    const first = expectFailure(info(slow));
    await expect.poll(() => server.sockets.size).toBe(1);
    const second = info(other);
    slow.close();
    expect((await first).code).toBe('ABORTED');
    await second;
    await times(50, () => info(other));
    expect(server.requests).toHaveLength(51);
  });
});

describe('A limit of waiting messages', () => {
  it('A limit of queued messages rejects further messages before anything is sent', async () => {
    const { server, answer } = await holding();
    const gateway = gatewayFor(server, { connections: 2, waiting: 3 });
    const running = times(5, () => info(gateway));
    await expect.poll(() => server.requests.length).toBe(2);
    const error = await expectFailure(gateway.run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'LIMIT', cause: { changed: false, requests: 0 } });
    expect(error.message).toContain('Too many messages: 3 wait');
    answer();
    await running;
    await times(5, () => info(gateway));
    expect(server.requests.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('A limit of queued messages does not count failed messages and those that wait for an approval', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { connections: 1, waiting: 0 });
    await info(gateway);
    await expectFailure(gateway.run('no.such'));
    await expectFailure(gateway.run('sessions.kill', {}));
    simulator.fault({ match: () => true, status: 404 });
    await expectFailure(info(gateway));
    let approved = (): void => undefined;
    const approve = () => new Promise<{ by: null; at: string }>((resolve) => (approved = () => resolve({ by: null, at: '' })));
    const held = gateway.run('sessions.kill-all', {}, { approve });
    await expect.poll(() => approved.toString()).toContain('resolve');
    await info(gateway);
    approved();
    await held;
    await info(gateway);
  });
});

describe('Gateways of many appliances', () => {
  it('Gateways of many appliances share the TLS context of equal certificates', async () => {
    const [one, other] = [await startTestSimulator(), await startTestSimulator()];
    // Held on to: those of other tests go as the collector likes.
    const list = (): unknown[] =>
      [...getProcessMap('secure contexts').values()].flatMap((context) => (context as WeakRef<object>).deref() ?? []);
    const before = new Set(list());
    const added = (): unknown[] => list().filter((context) => !before.has(context));
    // The same certificate in a text that nobody else has.
    const [ca, another] = [`${simulatorCertificate.cert}\n\n\n`, `${simulatorCertificate.cert}\n\n\n\n`];
    const kept = new Set<unknown>();
    for (const simulator of [one, other, one]) {
      await info(gatewayFor(simulator, { tls: { ca } }));
      for (const context of added()) kept.add(context);
    }
    // The very same one, not another one in its place.
    expect([added().length, kept.size]).toEqual([1, 1]);
    await info(gatewayFor(one, { tls: { ca: another } }));
    expect(added()).toHaveLength(2);
    const foreign = expectFailure(info(gatewayFor(one, { tls: { ca: rootCertificates[0] ?? '' } })));
    expect((await foreign).code).toBe('TLS');
  });
});

describe('Gateways that reach the same account in the same way', () => {
  it('Gateways with the same account and route share as many connections as the strictest of them allows', async () => {
    const before = getProcessMap('connection pools').size;
    const { server, answer, hold } = await holding(false);
    const gateways = [8, 2, 5].map((connections, index) => gatewayFor(server, { connections, name: `vpn-${index}` }));
    for (const gateway of gateways) await info(gateway);
    expect(server.sockets.size).toBe(1);
    hold();
    const running = gateways.map((gateway) => times(10, () => info(gateway)));
    await expect.poll(() => server.requests.length).toBe(5);
    expect(server.sockets.size).toBe(2);
    answer();
    await Promise.all(running);
    expect([server.sockets.size, server.requests.length, getProcessMap('connection pools').size - before]).toEqual([2, 33, 1]);
  });

  it('Gateways with the same account and route get more connections when the strictest closes, and fewer when a stricter one opens', async () => {
    const { server, answer, hold } = await holding(false);
    const [strict, wide] = [gatewayFor(server, { connections: 1 }), gatewayFor(server, { connections: 4 })];
    await info(strict);
    await info(wide);
    hold();
    const running = times(8, () => info(wide));
    await expect.poll(() => server.requests.length).toBe(3);
    const cut = expectFailure(info(strict));
    strict.close();
    expect((await cut).code).toBe('ABORTED');
    await expect.poll(() => server.requests.length).toBe(6);
    answer();
    await running;
    await info(gatewayFor(server, { connections: 1 }));
    await expect.poll(() => server.sockets.size).toBe(1);
    await times(20, () => info(wide));
    expect(server.sockets.size).toBe(1);
  });

  it('Gateways with the same account and route lose no request when one of them closes during it', async () => {
    const before = getProcessMap('connection pools').size;
    const { server, answer } = await holding();
    const [one, other] = [gatewayFor(server), gatewayFor(server)];
    const mine = times(4, () => expectFailure(info(one)));
    const theirs = times(20, () => info(other));
    await expect.poll(() => server.requests.length).toBe(8);
    one.close();
    for (const { code } of await mine) expect(code).toBe('ABORTED');
    answer();
    await theirs;
    expect((await expectFailure(info(one))).code).toBe('ABORTED');
    other.close();
    await expect.poll(() => server.sockets.size).toBe(0);
    expect(getProcessMap('connection pools').size).toBe(before);
  });

  it.each([
    ['another account', { username: 'somebody' }, {}],
    ['another proxy', { proxy: { url: 'http://127.0.0.1:9', noproxy: ['*'], username: 'a' } }, {}],
    ['another trust', { tls: { rejectUnauthorized: false } }, {}],
    ['a login of its own', {}, { isolatedLogin: true }],
  ])('gateways of the same account share no connections with %s', async (_what, more, options) => {
    const server = await startRawServer(() => INFO);
    await info(gatewayFor(server));
    await info(gatewayFor(server, more, options));
    expect(server.sockets.size).toBe(2);
  });
});

it.each([
  ['rate', [0, -1, 10_001, Number.NaN, 'x']],
  ['waiting', [-1, 1.5, 1_000_001, Number.NaN, 'x']],
])('a gateway rejects an invalid value of %s', (name, odd) => {
  for (const value of odd)
    expect(
      getThrownError(() => new Gateway({ ...settingsFor({ url: 'https://vpn.example.com' }), [name]: value })),
      String(value),
    ).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining(name) as string,
    });
});
