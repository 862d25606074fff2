// @ts-check
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // One library in a test, as in a Node-RED: what it throws is known everywhere.
  resolve: { alias: [{ find: /^@gateway-admin\/node-red$/, replacement: fileURLToPath(new URL('../src/index.ts', import.meta.url)) }] },
  test: {
    pool: 'forks',
    include: ['test/**/*.test.ts'],
    // However busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Each file has a PostgreSQL of its own; some have two Node-REDs.
    maxWorkers: 2,
  },
});
