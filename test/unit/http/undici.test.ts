import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
}
const manifest = (path: string): Manifest => JSON.parse(readFileSync(join(__dirname, '../../..', path), 'utf8')) as Manifest;

it('CI tests the oldest and newest undici that package.json allows', () => {
  const range = manifest('package.json').dependencies['undici'] ?? '';
  expect(manifest('tools/undici/package.json').dependencies).toEqual({
    oldest: `npm:undici@${range.slice(1)}`,
    newest: `npm:undici@${range}`,
  });
});

// Runs only in scripts/test-undici.mjs, which installs another release.
it.runIf(process.env['GATEWAY_UNDICI'])('the tests use the requested release of undici', async () => {
  const { Client } = await import('undici');
  const { createRequire } = await import('node:module');
  const asked = createRequire(__filename)(process.env['GATEWAY_UNDICI'] ?? '') as { Client: unknown };
  expect(Client).toBe(asked.Client);
});
