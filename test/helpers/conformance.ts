import type { CheckClock } from '../../src/conformance/pacer';
import { checkConformance, type ConformanceOptions, type ConformanceResult } from '../../src/conformance';
import type { Settings } from '../../src/model/settings';
import { settingsFor } from './simulated-appliance';

/** A clock whose waits are over at once. `waits` has their lengths. */
export function createTestClock(): CheckClock & { readonly waits: number[]; time: number } {
  return {
    waits: [],
    time: 0,
    now() {
      return this.time;
    },
    wait(ms) {
      this.waits.push(ms);
      this.time += ms;
      return Promise.resolve();
    },
  };
}

/** Checks a simulator without waiting between requests. */
export function checkSimulator(
  target: { url: string },
  options: ConformanceOptions = {},
  more: Partial<Settings> = {},
): Promise<ConformanceResult> {
  return checkConformance(settingsFor(target, more), { clock: createTestClock(), ...options });
}
