// @ts-check
// What `npm run mutate` tells Stryker; it is scripts/mutate.mjs that names files and tests.
import process from 'node:process';

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: ['src/**/*.ts', '!src/simulator/**'],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'scripts/mutation/vitest.config.mjs', related: false },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  ignorePatterns: ['.stryker-tmp', 'dist', 'tools', 'fleet', '.demo', '*.log'],
  reporters: ['json'],
  jsonReporter: { fileName: process.env['GATEWAY_MUTATION_REPORT'] ?? '.stryker-tmp/mutation.json' },
  tempDirName: '.stryker-tmp',
  // A mutant that never ends is one that was noticed; a busy machine is none.
  timeoutMS: 30_000,
  timeoutFactor: 4,
};
