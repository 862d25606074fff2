import { describe, expect, it } from 'vitest';
import { Ids } from '../src/areas/sessions/ids';

function expectSame(ids: Iterable<string>, seed?: number): void {
  const ours = new Ids(seed);
  const theirs = new Set<string>();
  for (const id of ids) {
    expect(ours.has(id)).toBe(theirs.has(id));
    expect(ours.add(id)).toBe(!theirs.has(id));
    theirs.add(id);
    expect(ours.size).toBe(theirs.size);
  }
  for (const id of theirs) expect(ours.has(id) && !ours.add(id)).toBe(true);
  expect(ours.has('never added')).toBe(false);
}

describe('a set of session ids', () => {
  it('has none at first', () => {
    const ids = new Ids();
    expect([ids.size, ids.has(''), ids.has('a')]).toEqual([0, false, false]);
  });

  it('takes any text', () => {
    expectSame(['', ' ', 'a', 'b', 'ab', 'ba', 'A', '\u0000', '山田', '山田', '🙂', '__proto__', 'constructor', '', 'a']);
  });

  it('knows each of many again, numbered or not', () => {
    expectSame(Array.from({ length: 5000 }, (_, index) => `sid${String(index % 4000).padStart(40, '0')}`));
    expectSame(Array.from({ length: 3000 }, (_, index) => String((index * 7919) % 2500)));
  });

  it.each([
    ['sid16559', 'sid28336'],
    ['sid81915', 'sid112689'],
  ])('tells %s and %s apart, which have the same hash', (one, other) => {
    // With this seed, that is.
    const seed = 0x811c9dc5;
    expectSame([one, other, one], seed);
    expectSame([other, 'between', one, other], seed);
  });
});
