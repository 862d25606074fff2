import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '@gateway-admin/node-red';
import { getPreferredPriorityRange, toPriorityOfAppliance } from '../engine/appliance-share';
import { ConnectedApplianceLimit } from '../worker/connection-limit';

const NAMES = Array.from({ length: 600 }, (_, index) => `vpn-${index}`);

describe('the share of an engine', () => {
  it('each appliance is preferred by exactly one engine, and each engine prefers a similar number of appliances', () => {
    for (const engines of [['b', 'a'], ['c', 'a', 'b'], Array.from({ length: 20 }, (_, index) => `engine-${index}`)]) {
      const ranges = engines.map((engine) => getPreferredPriorityRange(engine, engines));
      const counts = engines.map(() => 0);
      for (const priority of NAMES.map(toPriorityOfAppliance)) {
        const owners = ranges.flatMap((range, index) =>
          range && priority >= range.minPriority && priority <= range.maxPriority ? [index] : [],
        );
        expect(owners).toHaveLength(1);
        counts[owners[0] ?? 0]!++;
      }
      expect(Math.min(...counts)).toBeGreaterThan(NAMES.length / engines.length / 2);
    }
  });

  it('the appliances that an engine prefers do not depend on the order of the list of engines', () => {
    expect(getPreferredPriorityRange('a', ['a', 'b', 'c'])).toEqual(getPreferredPriorityRange('a', ['c', 'b', 'a']));
  });

  it('an engine that is alone, or is not in the list of engines, prefers no appliances', () => {
    expect(getPreferredPriorityRange('a', ['a'])).toBeUndefined();
    expect(getPreferredPriorityRange('a', ['b', 'c'])).toBeUndefined();
  });
});

describe('the limit of connected appliances', () => {
  it('an engine that exceeds its limit of connected appliances closes the idle connections of the least recently used one', async () => {
    const closed: string[] = [];
    const createGateway = (name: string): Gateway => ({ name, closeIdleConnections: () => void closed.push(name) }) as unknown as Gateway;
    const [a, b, c] = ['a', 'b', 'c'].map(createGateway) as [Gateway, Gateway, Gateway];
    const limit = new ConnectedApplianceLimit(2);
    for (const gateway of [a, b, a, c]) limit.recordUse(gateway);
    expect(closed).toEqual([]);
    await nextTurn();
    expect(closed).toEqual(['b']);
    // The second use of `a` comes before its connections are closed.
    for (const gateway of [b, a]) limit.recordUse(gateway);
    await nextTurn();
    expect(closed).toEqual(['b', 'c']);
  });
});
