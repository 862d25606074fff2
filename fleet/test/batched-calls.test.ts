import { describe, expect, it } from 'vitest';
import { BatchedCalls } from '../store/batched-calls';

const createUnavailable = (): Error => Object.assign(new Error('The database is away.'), { code: '57P01' });

describe('BatchedCalls', () => {
  it('BatchedCalls executes the calls of one event loop turn together, and gives each its own output', async () => {
    const batches: number[][] = [];
    const calls = new BatchedCalls<number, number>(async (inputs) => {
      batches.push([...inputs]);
      return Promise.resolve(inputs.map((input) => input * 2));
    });
    expect(await Promise.all([1, 2, 3].map((input) => calls.run(input)))).toEqual([2, 4, 6]);
    expect(await calls.run(4)).toBe(8);
    expect(batches).toEqual([[1, 2, 3], [4]]);
  });

  it('BatchedCalls adds no call to a batch that has started', async () => {
    const batches: string[][] = [];
    const late: Promise<string>[] = [];
    const calls = new BatchedCalls<string, string>(async (inputs) => {
      batches.push([...inputs]);
      if (batches.length === 1) late.push(calls.run('second'), calls.run('third'));
      return Promise.resolve(inputs);
    });
    expect(await calls.run('first')).toBe('first');
    expect(await Promise.all(late)).toEqual(['second', 'third']);
    expect(batches).toEqual([['first'], ['second', 'third']]);
  });

  it('BatchedCalls puts inputs of different groups into different batches of at most 64', async () => {
    const sizes: string[] = [];
    const calls = new BatchedCalls<number, number>(
      async (inputs) => {
        sizes.push(`${inputs.length} ${(inputs[0] ?? 0) % 2}`);
        return Promise.resolve(inputs);
      },
      (input) => String(input % 2),
    );
    const inputs = Array.from({ length: 150 }, (_, index) => index);
    expect(await Promise.all(inputs.map((input) => calls.run(input)))).toEqual(inputs);
    expect(sizes).toEqual(['64 0', '64 1', '11 0', '11 1']);
  });

  it('BatchedCalls repeats each call alone if the database rejects a batch, so that only the rejected call fails', async () => {
    const batches: number[][] = [];
    const calls = new BatchedCalls<number, number>(async (inputs) => {
      batches.push([...inputs]);
      return inputs.includes(2) ? Promise.reject(new Error('invalid')) : Promise.resolve(inputs);
    });
    const outcomes = await Promise.allSettled([1, 2, 3].map((input) => calls.run(input)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(batches).toEqual([[1, 2, 3], [1], [2], [3]]);
    expect(await calls.run(4)).toBe(4);
  });

  it('BatchedCalls fails all calls of a batch while the database is unavailable', async () => {
    let attempts = 0;
    const calls = new BatchedCalls<number, number>(async () => {
      attempts++;
      return Promise.reject(createUnavailable());
    });
    const outcomes = await Promise.allSettled([1, 2].map((input) => calls.run(input)));
    expect([outcomes.map(({ status }) => status), attempts]).toEqual([['rejected', 'rejected'], 1]);
  });
});
