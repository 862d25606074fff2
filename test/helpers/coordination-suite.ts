import { describe, expect, it } from 'vitest';
import { LightAbortController } from '../../src/model/abort';
import { coordinationKey, type Coordination, type CoordinationValue } from '../../src/model/coordination';
import { expectFailure } from './simulated-appliance';

/** The pair under test: two instances that share state like two processes, or one instance twice. */
export interface CoordinationPair {
  readonly one: Coordination;
  readonly other: Coordination;
  /** Advances the time of the implementation. */
  readonly pass: (ms: number) => Promise<void>;
}

interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

function gate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const number = (value: CoordinationValue | undefined): number => (typeof value === 'number' ? value : 0);
let keys = 0;
/** A unique key for each test, so that no state needs to be cleared between tests. */
const freshKey = (): string => coordinationKey('suite', String(process.pid), String(Date.now()), String(keys++));

/** The tests that every implementation of `Coordination` must pass; `make` is called for each test. */
export function coordinationSuite(name: string, make: () => Promise<CoordinationPair> | CoordinationPair): void {
  describe(`${name}: exclusive`, () => {
    it('runs one task at a time, in the order of arrival', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const order: number[] = [];
      let inside = 0;
      let most = 0;
      const work = (index: number) => async (): Promise<number> => {
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 2));
        order.push(index);
        inside--;
        return index;
      };
      const runs: Promise<number>[] = [];
      for (let index = 0; index < 12; index++) {
        const waits = gate();
        runs.push((index % 2 ? one : other).runExclusive(key, work(index), { onWait: waits.open }));
        // The next one comes when this one is in the queue, or done.
        await Promise.race([waits.opened, runs[index]]);
      }
      const all = Array.from({ length: 12 }, (_, index) => index);
      expect(await Promise.all(runs)).toEqual(all);
      expect([order, most]).toEqual([all, 1]);
    });

    it('does not wait for a task of another key', async () => {
      const { one, other } = await make();
      const held = gate();
      const first = one.runExclusive(freshKey(), () => held.opened);
      expect(await other.runExclusive(freshKey(), () => Promise.resolve('through'))).toBe('through');
      held.open();
      await first;
    });

    it('runs the next task when a task throws, and passes on the error', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const fault = new Error('on purpose');
      const waits = gate();
      const begun = gate();
      const first = one.runExclusive(key, async () => {
        begun.open();
        await waits.opened;
        throw fault;
      });
      // Of two processes that ask at the same moment either may be the first.
      await begun.opened;
      const second = other.runExclusive(key, () => Promise.resolve('next'), { onWait: waits.open });
      await expect(first).rejects.toBe(fault);
      expect(await second).toBe('next');
    });

    it('reports once to each task that must wait', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const told: string[] = [];
      const held = gate();
      const waits = gate();
      const begun = gate();
      const work = (): Promise<void> => (begun.open(), held.opened);
      const first = one.runExclusive(key, work, { onWait: () => told.push('first') });
      await begun.opened;
      const second = other.runExclusive(key, () => Promise.resolve(), {
        onWait: () => {
          told.push('second');
          waits.open();
        },
      });
      await waits.opened;
      held.open();
      await Promise.all([first, second]);
      expect(told).toEqual(['second']);
    });

    it('rejects a canceled waiting task at once and moves the others up', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const held = gate();
      const begun = gate();
      const first = one.runExclusive(key, () => {
        begun.open();
        return held.opened;
      });
      await begun.opened;
      const stop = new LightAbortController();
      let worked = false;
      const waits = gate();
      const second = other.runExclusive(key, () => Promise.resolve((worked = true)), {
        signal: stop,
        onWait: waits.open,
        abortMessage: 'Cancelled in the suite.',
      });
      await waits.opened;
      const third = one.runExclusive(key, () => Promise.resolve('third'));
      stop.abort();
      // The first one still holds it.
      expect(await expectFailure(second)).toMatchObject({ code: 'ABORTED', message: 'Cancelled in the suite.', details: { sent: false } });
      held.open();
      await first;
      expect(await third).toBe('third');
      expect(worked).toBe(false);
    });

    it('does not start a task that was canceled before, and leaves the key free', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const stop = new LightAbortController();
      stop.abort();
      let worked = false;
      const run = one.runExclusive(key, () => Promise.resolve((worked = true)), { signal: stop });
      expect((await expectFailure(run)).code).toBe('ABORTED');
      expect(worked).toBe(false);
      expect(await other.runExclusive(key, () => Promise.resolve('free'))).toBe('free');
    });

    it('does not end a running task when its signal aborts', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const stop = new LightAbortController();
      const held = gate();
      const begun = gate();
      const work = async (): Promise<string> => {
        begun.open();
        await held.opened;
        return 'done';
      };
      const first = one.runExclusive(key, work, { signal: stop });
      await begun.opened;
      stop.abort();
      let second = 'waits';
      const waits = gate();
      const next = other.runExclusive(key, () => Promise.resolve((second = 'in')), { onWait: waits.open });
      await waits.opened;
      expect(second).toBe('waits');
      held.open();
      expect(await first).toBe('done');
      await next;
      expect(second).toBe('in');
    });
  });

  describe(`${name}: remembered`, () => {
    it('returns the stored value until it expires', async () => {
      const { one, other, pass } = await make();
      const key = freshKey();
      expect(await one.get(key)).toBeUndefined();
      await one.set(key, { until: 12.5, code: 'TIMEOUT', status: null, list: [true, 'ü'] }, 400);
      expect(await other.get(key)).toEqual({ until: 12.5, code: 'TIMEOUT', status: null, list: [true, 'ü'] });
      await pass(500);
      expect(await other.get(key)).toBeUndefined();
      expect(await one.get(key)).toBeUndefined();
    });

    it('replaces a value together with its expiry', async () => {
      const { one, other, pass } = await make();
      const key = freshKey();
      await one.set(key, 1, 200);
      await other.set(key, null, 60_000);
      await pass(300);
      expect(await one.get(key)).toBeNull();
    });

    it('returns a copy of the stored value', async () => {
      const { one } = await make();
      const key = freshKey();
      const given = { list: [1] };
      await one.set(key, given, 60_000);
      given.list.push(2);
      ((await one.get(key)) as typeof given).list.push(3);
      expect(await one.get(key)).toEqual({ list: [1] });
      const fail = (present: CoordinationValue | undefined): never => {
        (present as typeof given).list.push(4);
        throw new Error('on purpose');
      };
      await expect(one.update(key, fail, 60_000)).rejects.toThrow('on purpose');
      expect(await one.get(key)).toEqual({ list: [1] });
    });
  });

  describe(`${name}: update`, () => {
    it('loses none of many concurrent updates', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const increase = (by: Coordination): Promise<unknown> => by.update(key, (count) => number(count) + 1, 60_000);
      await Promise.all(Array.from({ length: 50 }, (_, index) => increase(index % 2 ? one : other)));
      expect(await one.get(key)).toBe(50);
    });

    it('gives a unique value to exactly one of many concurrent updates', async () => {
      const { one, other } = await make();
      const key = freshKey();
      const take = async (by: Coordination): Promise<boolean> => {
        let mine = false;
        await by.update(key, (taken) => ((mine = taken !== true), true), 60_000);
        return mine;
      };
      const won = await Promise.all(Array.from({ length: 20 }, (_, index) => take(index % 2 ? one : other)));
      expect(won.filter(Boolean)).toHaveLength(1);
    });

    it('passes undefined for an expired value and sets a new expiry', async () => {
      const { one, other, pass } = await make();
      const key = freshKey();
      await one.update(key, () => 7, 200);
      await pass(300);
      const seen: unknown[] = [];
      expect(await other.update(key, (present) => (seen.push(present), 8), 60_000)).toBe(8);
      expect(seen.at(-1)).toBeUndefined();
      await pass(300);
      expect(await one.get(key)).toBe(8);
    });

    it('deletes the value for undefined and keeps it when the update throws', async () => {
      const { one, other } = await make();
      const key = freshKey();
      await one.set(key, 'kept', 60_000);
      const fault = new Error('on purpose');
      const fail = (): never => {
        throw fault;
      };
      await expect(other.update(key, fail, 60_000)).rejects.toBe(fault);
      expect(await one.get(key)).toBe('kept');
      expect(await other.update(key, () => undefined, 60_000)).toBeUndefined();
      expect(await one.get(key)).toBeUndefined();
    });
  });
}
