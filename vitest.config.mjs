// @ts-check
import { defineConfig } from 'vitest/config';

// Tests that start a real Node-RED, npm or a browser; two of them fill a small machine.
const whole = [
  'test/package*.test.ts',
  'test/examples*.test.ts',
  'test/scorecard*.test.ts',
  'test/bench*.test.ts',
  'test/browser/**/*.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: 'scripts/built.mjs',
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: whole,
          testTimeout: 20_000,
          hookTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'whole', include: whole, testTimeout: 120_000, hookTimeout: 180_000, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
