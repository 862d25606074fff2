import { vi } from 'vitest';

const MAX_WAIT_MS = 60_000;

/** Repeats a check until it passes, for at most a minute. */
export function eventually<T>(check: () => T | Promise<T>, interval = 25): Promise<T> {
  return vi.waitFor(check, { timeout: MAX_WAIT_MS, interval });
}
