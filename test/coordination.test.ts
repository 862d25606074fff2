import { describe, expect, it } from 'vitest';
import { Canceller } from '../src/model/cancelling';
import { coordinationKey } from '../src/model/coordination';
import { ProcessCoordination } from '../src/model/process-coordination';
import { coordinationSuite } from './library/coordination-suite';

/** One with a clock of its own. */
function clocked(): { coordination: ProcessCoordination; pass: (ms: number) => void } {
  let now = 0;
  return { coordination: new ProcessCoordination(() => now), pass: (ms) => (now += ms) };
}

coordinationSuite('of one process', () => {
  const { coordination, pass } = clocked();
  return { one: coordination, other: coordination, pass: (ms) => Promise.resolve(pass(ms)) };
});

describe('of one process, bounds', () => {
  it('keeps no key when nobody holds it or waits for it, however it ended', async () => {
    const { coordination } = clocked();
    const stop = new Canceller();
    const works = [
      coordination.exclusive('a', () => Promise.resolve()),
      coordination.exclusive('a', () => Promise.reject(new Error('on purpose'))),
      coordination.exclusive('a', () => Promise.resolve(), { signal: stop }),
      coordination.exclusive('b', () => Promise.resolve()),
    ];
    expect(coordination.size.held).toBe(2);
    stop.abort();
    await Promise.allSettled(works);
    expect(coordination.size.held).toBe(0);
  });

  it('sweeps up what is over without being asked for it', async () => {
    const { coordination, pass } = clocked();
    for (let index = 0; index < 5000; index++) {
      await coordination.remember(`key ${index}`, index, 100);
      pass(10);
    }
    // Ten are alive at a time.
    expect(coordination.size.entries).toBeLessThanOrEqual(64);
    expect(await coordination.remembered('key 4999')).toBe(4999);
  });

  it('forgets what was written longest ago when there is too much', async () => {
    const { coordination } = clocked();
    for (let index = 0; index < 25_000; index++) await coordination.remember(`key ${index}`, index, 3_600_000);
    expect(coordination.size.entries).toBeLessThanOrEqual(10_000);
    expect(await coordination.remembered('key 24999')).toBe(24_999);
    expect(await coordination.remembered('key 0')).toBeUndefined();
  });

  it('does not follow the clock of the machine', async () => {
    const coordination = new ProcessCoordination();
    const real = Date.now;
    try {
      await coordination.remember('key', 1, 3_600_000);
      Date.now = () => real() + 46 * 86_400_000;
      expect(await coordination.remembered('key')).toBe(1);
    } finally {
      Date.now = real;
    }
  });
});

describe('the keys', () => {
  it('say of what kind they are, and nothing else', () => {
    const key = coordinationKey('exclusive', 'https://vpn.example.com', 'import');
    expect(key).toMatch(/^exclusive:[0-9a-f]{64}$/);
    expect(key).not.toBe(coordinationKey('exclusive', 'https://vpn.example.com', 'export'));
    expect(coordinationKey('a', 'b', 'c')).not.toBe(coordinationKey('a', 'bc'));
  });
});
