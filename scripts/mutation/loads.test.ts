import { expect, it } from 'vitest';

// A mutant that prevents the library from loading fails whole test files. Stryker then sees no failing test.
it('the library loads', { timeout: 60_000 }, async () => {
  const { operations } = await import('../../src/index.js');
  expect(operations.size).toBeGreaterThan(50);
});
