import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder that is removed after the test. */
export function createTemporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gateway-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }));
  return path;
}
