import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder that is removed after the test. */
export function createTemporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gateway-'));
  // A write that was running at the end of the test can add a file meanwhile.
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10 }));
  return path;
}
