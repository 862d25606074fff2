import { describe, expect, it } from 'vitest';
import { hashLastCharacters, SessionIdSet } from '../../../src/areas/sessions/session-id-set';

/** Two texts with the same number for their ends: "Aa" and "BB" are a known pair for a factor of 31. */
const alike = (bits: string): string => `sid-${[...bits].map((bit) => (bit === '0' ? 'Aa' : 'BB')).join('')}`;

describe('SessionIdSet', () => {
  it('SessionIdSet stores each id once, even if ids have the same end', () => {
    const ids = ['0000', '0001', '1111', '1010'].map(alike);
    const seen = new SessionIdSet();
    for (const id of ids) expect([seen.has(id), seen.add(id), seen.add(id), seen.has(id)]).toEqual([false, true, false, true]);
    expect(seen.size).toBe(4);
    expect(seen.has(alike('0110'))).toBe(false);
  });

  it('SessionIdSet distinguishes ids that differ only at their beginning, and accepts short ids', () => {
    const seen = new SessionIdSet();
    for (const id of ['a12345678', 'b12345678', 'b', 'ba', '']) expect([seen.add(id), seen.add(id)]).toEqual([true, false]);
    expect(seen.size).toBe(5);
  });

  it('SessionIdSet computes different hashes for the last eight characters', () => {
    const numbers = Array.from({ length: 5000 }, (_, index) => hashLastCharacters(`sid${index}`));
    expect(new Set(numbers).size).toBe(5000);
    for (const number of numbers) expect(number).toBe(number & 0x3fffffff);
    expect(hashLastCharacters('one-12345678')).toBe(hashLastCharacters('another 12345678'));
    expect(hashLastCharacters('12345678')).not.toBe(hashLastCharacters('02345678'));
    expect([hashLastCharacters(''), hashLastCharacters('a'), hashLastCharacters('ab')]).toEqual([0, 97, 97 * 31 + 98]);
  });
});
