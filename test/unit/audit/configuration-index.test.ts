import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConfigurationIndex } from '../../../src/audit/configuration-index';
import { ReferenceFieldPattern } from '../../../src/audit/reference-field-pattern';
import type { JsonObject } from '../../../src/model/json';
import { plantFaults } from './planted-faults';

const ROOT = '/api/v1/configuration';

/** Bytes that the value takes in memory, and the value. */
function measure<T>(create: () => T): { bytes: number; value: T } {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const usedBytes = (): number => {
    for (let round = 0; round < 3; round++) collectGarbage();
    return getHeapStatistics().used_heap_size;
  };
  const before = usedBytes();
  const value = create();
  return { bytes: usedBytes() - before, value };
}

describe('the index of a configuration', () => {
  it('a configuration index uses less memory than the configuration', () => {
    const text = Buffer.from(JSON.stringify([...plantFaults(1, 10_000, 60).resources]));
    // Compiled code is not a part of the index.
    for (let round = 0; round < 3; round++) new ConfigurationIndex(plantFaults(2, 500, 20).resources);
    const configuration = measure(() => new Map(JSON.parse(text.toString()) as [string, JsonObject][]));
    const { bytes, value } = measure(() => new ConfigurationIndex(configuration.value));
    expect(value.members.size).toBeGreaterThan(4000);
    // About 0.4; other tests of the same process can add to it.
    expect(bytes / configuration.bytes).toBeLessThan(0.9);
  });

  it('a configuration index finds references among thousands of members of the same name, without comparing all with all', () => {
    const resources = new Map<string, JsonObject>();
    const collections = new Set<string>();
    for (let number = 0; number < 4000; number++) {
      const collection = `${ROOT}/role/R${number}/bookmark`;
      collections.add(collection);
      resources.set(`${ROOT}/role/R${number}`, { name: `R${number}` });
      resources.set(`${collection}/Intranet`, { name: 'Intranet', next: number === 7 ? 'Gone' : 'Intranet' });
    }
    let comparisons = 0;
    const countReference = vi.spyOn(ReferenceFieldPattern.prototype, 'countReference').mockImplementation(() => void comparisons++);
    onTestFinished(() => countReference.mockRestore());
    const index = new ConfigurationIndex(resources);
    expect(index.findDanglingReferences()).toMatchObject([{ field: '/next', value: 'Gone' }]);
    expect([...collections].every((collection) => index.isReferenced(collection))).toBe(true);
    expect(comparisons).toBeLessThan(10 * resources.size);
  });

  it('a configuration index treats the same field of nested objects as one field', () => {
    const resources = new Map<string, JsonObject>();
    for (const name of ['A', 'A!', 'A-1', 'B'])
      for (const [path, resource] of Object.entries<JsonObject>({
        [`${ROOT}/realm/${name}`]: { name },
        [`${ROOT}/realm/${name}/rules`]: { rule: [{ role: name === 'B' ? 'Gone' : 'Staff' }] },
        [`${ROOT}/realm/${name}/a/role/Staff`]: { name: 'Staff', n: name },
        [`${ROOT}/realm/${name}/a/role/Staff/options`]: { next: 'Staff' },
      }))
        resources.set(path, resource);
    for (let number = 0; number < 8; number++) {
      resources.set(`${ROOT}/realm/R${number}`, { name: `R${number}` });
      resources.set(`${ROOT}/realm/R${number}/rules`, { rule: [{ role: 'Staff' }] });
    }
    const found = new ConfigurationIndex(resources).findDanglingReferences();
    expect(found.map(({ path, field, value }) => [path, field, value])).toEqual([[`${ROOT}/realm/B/rules`, '/rule/0/role', 'Gone']]);
  });

  it('a configuration index does not treat a field as a reference if its resources belong to different collections', () => {
    const resources = new Map<string, JsonObject>([[`${ROOT}/role/Staff`, { name: 'Staff' }]]);
    for (let number = 0; number < 20; number++) resources.set(`${ROOT}/url/${number}`, { role: number < 19 ? 'Staff' : 'Gone' });
    const index = new ConfigurationIndex(resources);
    expect(index.findDanglingReferences()).toEqual([]);
    expect(index.isReferenced(`${ROOT}/role`)).toBe(false);
    expect([...index.members.values()].map((member) => index.isUsed(member))).toEqual([true]);
  });

  it('a configuration index reports an unknown name once for each field, with its first location', () => {
    const resources = new Map<string, JsonObject>([[`${ROOT}/role/Staff`, { name: 'Staff' }]]);
    for (let number = 0; number < 20; number++)
      resources.set(`${ROOT}/realm/${number}`, { name: `${number}`, roles: number < 19 ? ['Staff'] : ['Staff', 'Gone', 'Gone, Staff'] });
    const found = new ConfigurationIndex(resources).findDanglingReferences();
    expect(found).toEqual([{ path: `${ROOT}/realm/19`, field: '/roles/1', value: 'Gone', collection: `${ROOT}/role` }]);
  });

  it.each(['none', 'None', 'ANY'])('a configuration index does not count the value %s as a name in a reference field', (none) => {
    const resources = new Map<string, JsonObject>([[`${ROOT}/server/Corp`, { name: 'Corp' }]]);
    for (let number = 0; number < 20; number++)
      resources.set(`${ROOT}/realm/${number}`, { name: `${number}`, server: number < 10 ? none : 'Corp' });
    resources.set(`${ROOT}/realm/lost`, { name: 'lost', server: 'Gone' });
    expect(new ConfigurationIndex(resources).findDanglingReferences().map(({ value }) => value)).toEqual(['Gone']);
  });
});
