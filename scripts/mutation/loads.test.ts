import { expect, it } from 'vitest';

// A mutant that keeps the library from loading fails test files as a whole, of which Stryker sees no test that fails.
it('the library loads', { timeout: 60_000 }, async () => {
  const { operations } = await import('../../src/index.js');
  expect(operations.size).toBeGreaterThan(50);
});
