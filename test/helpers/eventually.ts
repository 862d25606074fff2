import { vi } from 'vitest';

const MAX_WAIT_MS = 60_000;

/** Waits until what is checked does not throw any more: a minute, which no machine is too busy for. */
export function eventually<T>(check: () => T | Promise<T>, interval = 25): Promise<T> {
  return vi.waitFor(check, { timeout: MAX_WAIT_MS, interval });
}
