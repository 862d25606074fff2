import { describe, expect, it } from 'vitest';
import type { Gateway } from '@gateway-admin/node-red';
import { getPreferredRange, toAppliancePriority } from '../engine/appliance-share';
import { ConnectionLimit } from '../worker/connection-limit';

const NAMES = Array.from({ length: 600 }, (_, index) => `vpn-${index}`);

describe('the share of an engine', () => {
  it('each appliance is preferred by exactly one engine, and each engine prefers a similar number of appliances', () => {
    for (const engines of [['b', 'a'], ['c', 'a', 'b'], Array.from({ length: 20 }, (_, index) => `engine-${index}`)]) {
      const ranges = engines.map((engine) => getPreferredRange(engine, engines));
      const counts = engines.map(() => 0);
      for (const priority of NAMES.map(toAppliancePriority)) {
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
    expect(getPreferredRange('a', ['a', 'b', 'c'])).toEqual(getPreferredRange('a', ['c', 'b', 'a']));
  });

  it('an engine that is alone, or is not in the list of engines, prefers no appliances', () => {
    expect(getPreferredRange('a', ['a'])).toBeUndefined();
    expect(getPreferredRange('a', ['b', 'c'])).toBeUndefined();
  });
});

describe('the limit of connected appliances', () => {
  it('an engine at its limit of open appliances closes the idle connections of the least recently used one', () => {
    const closed: string[] = [];
    const createGateway = (name: string): Gateway => ({ name, closeIdleConnections: () => void closed.push(name) }) as unknown as Gateway;
    const [a, b, c] = ['a', 'b', 'c'].map(createGateway) as [Gateway, Gateway, Gateway];
    const limit = new ConnectionLimit(2);
    for (const gateway of [a, b, a, c]) limit.recordUse(gateway);
    expect(closed).toEqual(['b']);
    limit.recordUse(b);
    expect(closed).toEqual(['b', 'a']);
  });
});
