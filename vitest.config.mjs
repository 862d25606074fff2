// @ts-check
import process from 'node:process';
import { defineConfig } from 'vitest/config';

/** Tests that need the built package, a browser or processes, or that take long: `npm run test:slow`. */
export const SLOW = ['test/{process,package,browser,examples}/**/*.test.ts', 'test/**/slow/**/*.test.ts'];

// scripts/test-undici.mjs runs the tests with another release of undici.
const undici = process.env['GATEWAY_UNDICI'];

export default defineConfig({
  ...(undici && { resolve: { alias: { undici } } }),
  test: {
    pool: 'forks',
    // A busy machine must not fail a test.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: SLOW,
          // A process per file would take a third of the time.
          isolate: false,
          setupFiles: 'test/helpers/setup.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Most tests wait for a pause or a time limit.
          maxWorkers: 7,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: SLOW,
          globalSetup: ['scripts/built.mjs', 'test/browser/rig-pool.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // Most of them wait for a browser or another process: five at a time keep two cores busy.
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
