// @ts-check
// The tests that Stryker runs: the requested quick tests, one file at a time.
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { SLOW } from '../../vitest.config.mjs';

const tests = process.env['GATEWAY_MUTATION_TESTS'];

export default defineConfig({
  test: {
    include: ['scripts/mutation/loads.test.ts', ...(tests ? tests.split(',') : ['test/**/*.test.ts'])],
    exclude: SLOW,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
