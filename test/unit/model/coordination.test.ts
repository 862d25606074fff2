import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sharedInventoryCoordination, shareInventoryStateBetweenProcesses } from '../../../nodes/inventory/coordination';
import { toAbortSignal, LightAbortController, rejectOnAbort } from '../../../src/model/abort';
import { coordinationKey, type Coordination } from '../../../src/model/coordination';
import { GatewayError } from '../../../src/model/error';
import { mapConcurrently } from '../../../src/model/map-concurrently';
import { ProcessCoordination } from '../../../src/model/process-coordination';
import { HeldLeases } from '../../../src/run/held-leases';
import { expectFailure, startSimulatorWithGateway, USER_ROLES_PATH } from '../../helpers/simulated-appliance';
import { coordinationSuite } from '../../helpers/coordination-suite';

/** One with a clock of its own. */
function clocked(): { coordination: ProcessCoordination; pass: (ms: number) => void } {
  let now = 0;
  return { coordination: new ProcessCoordination(() => now), pass: (ms) => (now += ms) };
}

/** One by which `held` says whether a key is still held. */
function holding(held: () => Promise<void>): Coordination {
  const inner = clocked().coordination;
  return {
    runExclusive: (key, work, options) => inner.runExclusive(key, () => work(held), options),
    get: (key) => inner.get(key),
    set: (key, value, ttlMs) => inner.set(key, value, ttlMs),
    update: (key, change, ttlMs) => inner.update(key, change, ttlMs),
  };
}

/** Held, until somebody says that it is not. */
function losing(): { held: () => Promise<void>; lose: () => void } {
  let isLost = false;
  const lost = new GatewayError('ABORTED', 'Lost.', { sent: false });
  return { held: () => (isLost ? Promise.reject(lost) : Promise.resolve()), lose: () => void (isLost = true) };
}

coordinationSuite('of one process', () => {
  const { coordination, pass } = clocked();
  return { one: coordination, other: coordination, pass: (ms) => Promise.resolve(pass(ms)) };
});

coordinationSuite('of the inventories of a process that shares with others', () => {
  const { coordination, pass } = clocked();
  const end = shareInventoryStateBetweenProcesses(coordination, 'rank');
  onTestFinished(end);
  return { one: sharedInventoryCoordination, other: sharedInventoryCoordination, pass: (ms) => Promise.resolve(pass(ms)) };
});

describe('The coordination of several engines', () => {
  it('a process uses the coordination of the engine with the lowest rank, whichever engine started first', async () => {
    const [low, high] = [clocked().coordination, clocked().coordination];
    const ends = [shareInventoryStateBetweenProcesses(high, 'b'), shareInventoryStateBetweenProcesses(low, 'a')];
    onTestFinished(() => ends.forEach((end) => end()));
    await sharedInventoryCoordination.set('key', 'low', 1000);
    expect([await low.get('key'), await high.get('key')]).toEqual(['low', undefined]);
    // Whoever ends twice ends nobody else.
    for (let times = 0; times < 2; times++) ends[1]?.();
    expect(await sharedInventoryCoordination.get('key')).toBeUndefined();
    await high.set('key', 'high', 1000);
    expect(await sharedInventoryCoordination.get('key')).toBe('high');
  });

  it('a process uses the coordination of the latest of several engines with the same rank', async () => {
    const [before, after] = [clocked().coordination, clocked().coordination];
    const ends = [
      shareInventoryStateBetweenProcesses(before, 'a'),
      shareInventoryStateBetweenProcesses(clocked().coordination, 'b'),
      shareInventoryStateBetweenProcesses(after, 'a'),
    ];
    onTestFinished(() => ends.forEach((end) => end()));
    await sharedInventoryCoordination.set('key', 'after', 1000);
    expect([await before.get('key'), await after.get('key')]).toEqual([undefined, 'after']);
  });

  it('without a shared coordination, gateways use the coordination of their process', async () => {
    const stop = new LightAbortController();
    const held = await Promise.race([
      sharedInventoryCoordination.runExclusive('alone', (held) => Promise.resolve(held), { signal: stop }),
      new Promise((resolve) => setImmediate(resolve, 'it waits for itself')),
    ]);
    stop.abort();
    expect(held).toBeUndefined();
  });

  it('the shared coordination calls onWait for each waiting run, and passes on the check of the lease', async () => {
    const still = (): Promise<void> => Promise.resolve();
    const inner = holding(still);
    const runExclusive: Coordination['runExclusive'] = (key, work, options) => {
      options?.onWait?.();
      return inner.runExclusive(key, work, options);
    };
    onTestFinished(shareInventoryStateBetweenProcesses({ ...inner, runExclusive }, 'rank'));
    let waits = 0;
    const enter = (): Promise<unknown> =>
      sharedInventoryCoordination.runExclusive('key', (held) => Promise.resolve(held), { onWait: () => waits++ });
    expect(await Promise.all([enter(), enter()])).toEqual([still, still]);
    expect(waits).toBe(2);
  });

  it('The coordination never runs two tasks with the same key at the same time, even if an engine starts meanwhile', async () => {
    let leave = (): void => undefined;
    const first = sharedInventoryCoordination.runExclusive('changing', () => new Promise<void>((resolve) => (leave = resolve)));
    const end = shareInventoryStateBetweenProcesses(clocked().coordination, 'rank');
    onTestFinished(end);
    let isIn = false;
    let waits = 0;
    const second = sharedInventoryCoordination.runExclusive('changing', () => Promise.resolve((isIn = true)), { onWait: () => waits++ });
    await new Promise((resolve) => setImmediate(resolve));
    expect([isIn, waits]).toEqual([false, 1]);
    leave();
    await Promise.all([first, second]);
    expect(isIn).toBe(true);
  });
});

describe('A lease of a process', () => {
  it('a run sends no write after it has lost a lease', async () => {
    const { held, lose } = losing();
    const { simulator, gateway } = await startSimulatorWithGateway({}, {}, { coordination: holding(held) });
    const ensure = (description: string): Promise<unknown> =>
      gateway.run('config.ensure', { path: 'users/user-roles/user-role/Users', body: { description } });
    const writes = (): number =>
      simulator.requests.filter(({ method, path }) => method === 'PUT' && path.startsWith(USER_ROLES_PATH)).length;
    await ensure('held');
    expect(writes()).toBe(1);
    // Lost between reading and writing.
    simulator.fault({
      match: ({ method }) => method === 'GET',
      times: 1,
      until: Promise.resolve().then(lose),
    });
    expect(await expectFailure(ensure('lost'))).toMatchObject({ code: 'ABORTED', details: { sent: false } });
    expect(writes()).toBe(1);
  });

  it('a run checks its leases again after the last wait before a write', async () => {
    const { held, lose } = losing();
    const { simulator, gateway } = await startSimulatorWithGateway({}, {}, { coordination: holding(held) });
    const input = { path: 'users/user-roles/user-role/Users', body: { description: 'late' } };
    const beforeWrite = (): Promise<void> => Promise.resolve().then(lose);
    expect(await expectFailure(gateway.run('config.ensure', input, { beforeWrite }))).toMatchObject({ code: 'ABORTED' });
    expect(simulator.requests.filter(({ method }) => method === 'PUT')).toEqual([]);
  });
});

describe('The leases of a run', () => {
  it('a run also checks the leases of the run that contains it', async () => {
    const outer = new HeldLeases();
    const inner = new HeldLeases(outer);
    const asked: string[] = [];
    const held = (name: string) => () => Promise.resolve(void asked.push(name));
    const seen = (): boolean[] => [outer.hasAny, inner.hasAny];
    // Nobody else can have it.
    expect(await inner.run(undefined, () => Promise.resolve(seen()))).toEqual([false, false]);
    await outer.run(held('outer'), async () => {
      expect(seen()).toEqual([true, true]);
      const cut = inner.run(held('inner'), async () => {
        await inner.assertHeld();
        await outer.assertHeld();
        throw new Error('on purpose');
      });
      await expect(cut).rejects.toThrow('on purpose');
      await inner.assertHeld();
    });
    expect(asked).toEqual(['inner', 'outer', 'outer', 'outer']);
    expect(seen()).toEqual([false, false]);
    await inner.run(held('alone'), () => Promise.resolve(expect(seen()).toEqual([false, true])));
    const lost = inner.run(
      () => Promise.reject(new GatewayError('ABORTED', 'Lost.', { sent: false })),
      () => inner.assertHeld(),
    );
    expect((await expectFailure(lost)).code).toBe('ABORTED');
  });
});

describe('mapConcurrently', () => {
  it.each([
    [0, 3, 0],
    [2, 3, 2],
    [9, 3, 3],
    [4, 1, 1],
  ])('mapConcurrently runs each of %i items once, at most %i at a time, and keeps their order', async (count, atOnce, expected) => {
    const items = Array.from({ length: count }, (_, index) => index);
    const begun: number[] = [];
    let now = 0;
    let most = 0;
    const results = await mapConcurrently(items, atOnce, async (item) => {
      begun.push(item);
      most = Math.max(most, ++now);
      // Those that came first are done last.
      for (let wait = count - item; wait > 0; wait--) await Promise.resolve();
      now--;
      return `done ${item}`;
    });
    expect(results).toEqual(items.map((item) => `done ${item}`));
    expect([begun, most]).toEqual([items, expected]);
  });

  it('mapConcurrently rejects with the first error', async () => {
    const error = new Error('on purpose');
    await expect(mapConcurrently([1, 2, 3], 2, (item) => (item === 2 ? Promise.reject(error) : Promise.resolve(item)))).rejects.toBe(error);
  });
});

describe('Memory of the process coordination', () => {
  it('The process coordination keeps no entry for a key that nobody holds or awaits, however the task ended', async () => {
    const { coordination } = clocked();
    const stop = new LightAbortController();
    const works = [
      coordination.runExclusive('a', () => Promise.resolve()),
      coordination.runExclusive('a', () => Promise.reject(new Error('on purpose'))),
      coordination.runExclusive('a', () => Promise.resolve(), { signal: stop }),
      coordination.runExclusive('b', () => Promise.resolve()),
    ];
    expect(coordination.size.held).toBe(2);
    stop.abort();
    await Promise.allSettled(works);
    expect(coordination.size.held).toBe(0);
  });

  it('processCoordination removes expired values automatically', async () => {
    const { coordination, pass } = clocked();
    for (let index = 0; index < 5000; index++) {
      await coordination.set(`key ${index}`, index, 100);
      pass(10);
    }
    // Ten are alive at a time.
    expect(coordination.size.entries).toBeLessThanOrEqual(64);
    expect(await coordination.get('key 4999')).toBe(4999);
  });

  it('processCoordination removes only expired values if many new values arrive', async () => {
    const { coordination, pass } = clocked();
    for (let index = 0; index < 64; index++) await coordination.set(`key ${index}`, index, index < 60 ? 100 : 101);
    pass(100);
    expect(coordination.size.entries).toBe(64);
    await coordination.set('key 64', 64, 100);
    expect(coordination.size.entries).toBe(5);
    expect([await coordination.get('key 59'), await coordination.get('key 60')]).toEqual([undefined, 60]);
    pass(1);
    expect(await coordination.get('key 60')).toBeUndefined();
    expect(coordination.size.entries).toBe(4);
    expect(await coordination.get('key 64')).toBe(64);
  });

  it('processCoordination drops the oldest values if it holds too many', async () => {
    const { coordination } = clocked();
    for (let index = 0; index <= 10_000; index++) await coordination.set(`key ${index}`, index, 3_600_000);
    // A quarter, and then there is one more.
    expect(coordination.size.entries).toBe(7501);
    expect([await coordination.get('key 2499'), await coordination.get('key 2500')]).toEqual([undefined, 2500]);
    for (let index = 10_001; index < 25_000; index++) await coordination.set(`key ${index}`, index, 3_600_000);
    expect(coordination.size.entries).toBeLessThanOrEqual(10_000);
    expect(await coordination.get('key 24999')).toBe(24_999);
    expect(await coordination.get('key 0')).toBeUndefined();
  });

  it('processCoordination drops all values on reset, except leases that are held', async () => {
    const { coordination } = clocked();
    await coordination.set('key', 1, 1000);
    let leave = (): void => undefined;
    const ended = new Promise<void>((resolve) => (leave = resolve));
    const held = coordination.runExclusive('held', () => ended);
    coordination.clear();
    expect(coordination.size).toEqual({ held: 1, entries: 0 });
    leave();
    await held;
    expect(coordination.size.held).toBe(0);
  });

  it('processCoordination removes its abort listener as soon as nobody waits', async () => {
    const { coordination } = clocked();
    const [began, left] = [new AbortController(), new AbortController()];
    let leave = (): void => undefined;
    const ended = new Promise<void>((resolve) => (leave = resolve));
    const first = coordination.runExclusive('key', () => ended);
    const second = coordination.runExclusive('key', () => Promise.resolve('in'), { signal: began.signal });
    const third = coordination.runExclusive('key', () => Promise.resolve('in'), { signal: left.signal });
    const listening = (): number[] => [began, left].map(({ signal }) => getEventListeners(signal, 'abort').length);
    expect(listening()).toEqual([1, 1]);
    left.abort();
    expect(await expectFailure(third)).toMatchObject({ code: 'ABORTED', message: 'Canceled while waiting for its turn.' });
    leave();
    await first;
    expect(await second).toBe('in');
    expect(listening()).toEqual([0, 0]);
  });

  it('processCoordination does not depend on the system clock', async () => {
    const coordination = new ProcessCoordination();
    const real = Date.now;
    try {
      await coordination.set('key', 1, 3_600_000);
      Date.now = () => real() + 46 * 86_400_000;
      expect(await coordination.get('key')).toBe(1);
    } finally {
      Date.now = real;
    }
  });
});

describe('coordinationKey', () => {
  it('coordinationKey shows the kind of the key as its prefix and hides everything else', () => {
    const key = coordinationKey('exclusive', 'https://vpn.example.com', 'import');
    expect(key).toMatch(/^exclusive:[0-9a-f]{64}$/);
    expect(key).not.toBe(coordinationKey('exclusive', 'https://vpn.example.com', 'export'));
    expect(coordinationKey('a', 'b', 'c')).not.toBe(coordinationKey('a', 'bc'));
  });
});

describe('LightAbortController', () => {
  it('LightAbortController calls each listener once, and never a removed listener', () => {
    const canceller = new LightAbortController();
    const told: string[] = [];
    const left = (): void => void told.push('left');
    canceller.signal.addEventListener('abort', () => told.push('one'), { once: true });
    canceller.signal.addEventListener('abort', left, { once: true });
    canceller.signal.removeEventListener('abort', left);
    canceller.signal.addEventListener('abort', () => canceller.abort(), { once: true });
    expect(canceller.aborted).toBe(false);
    canceller.abort();
    canceller.signal.addEventListener('abort', () => told.push('late'), { once: true });
    canceller.abort();
    expect([canceller.aborted, ...told]).toEqual([true, 'one']);
  });

  it('LightAbortController aborts with the signal that it follows until it is told to stop', () => {
    const source = new AbortController();
    const [followed, left, late] = [new LightAbortController(), new LightAbortController(), new LightAbortController()];
    followed.follow(source.signal);
    left.follow(source.signal)();
    source.abort();
    late.follow(source.signal);
    expect([followed.aborted, left.aborted, late.aborted]).toEqual([true, false, true]);
  });

  it('LightAbortController provides a real AbortSignal', () => {
    const real = new AbortController().signal;
    expect(toAbortSignal(real)).toBe(real);
    const canceller = new LightAbortController();
    const signal = toAbortSignal(canceller);
    expect(signal.aborted).toBe(false);
    canceller.abort();
    expect([signal.aborted, toAbortSignal(canceller).aborted]).toEqual([true, true]);
    expect(signal).toBeInstanceOf(AbortSignal);
    const types: string[] = [];
    toAbortSignal({ aborted: false, addEventListener: (type) => void types.push(type), removeEventListener: () => undefined });
    expect(types).toEqual(['abort']);
  });

  it('rejectOnAbort rejects with the given message, keeps shared work running and leaves no listener', async () => {
    const never = new Promise<never>(() => undefined);
    const words = { code: 'ABORTED', message: 'Not now.', details: { sent: false } };
    const listeners = new Set<unknown>();
    const counted = (canceller: LightAbortController) => ({
      get aborted() {
        return canceller.aborted;
      },
      addEventListener(type: 'abort', listener: () => void) {
        listeners.add(listener);
        canceller.addEventListener(type, listener);
      },
      removeEventListener(type: 'abort', listener: () => void) {
        listeners.delete(listener);
        canceller.removeEventListener(type, listener);
      },
    });
    const canceller = new LightAbortController();
    const left = rejectOnAbort(never, counted(canceller), 'Not now.');
    expect(listeners.size).toBe(1);
    canceller.abort();
    await expect(left).rejects.toMatchObject(words);
    await expect(rejectOnAbort(never, counted(canceller), 'Not now.')).rejects.toMatchObject(words);
    expect(await rejectOnAbort(Promise.resolve(1), counted(new LightAbortController()), '')).toBe(1);
    expect(await rejectOnAbort(Promise.resolve(2), undefined, '')).toBe(2);
    const real = new AbortController();
    const followed = new LightAbortController();
    followed.follow(real.signal)();
    expect(await rejectOnAbort(Promise.resolve(3), real.signal, '')).toBe(3);
    expect(getEventListeners(real.signal, 'abort')).toEqual([]);
    const cut = rejectOnAbort(never, real.signal, 'Not now.');
    real.abort();
    await expect(cut).rejects.toMatchObject(words);
    expect(listeners.size).toBe(0);
  });
});
