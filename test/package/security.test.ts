import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';

/** Names of tests in the last column of the threat model. */
const namedTests = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\|.*\|$/.test(line))
  .flatMap((line) => [...(line.split('|').at(-2) ?? '').matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name));

const testFiles = readdirSync(join(root, 'test'), { recursive: true }).map(String);

describe('the threat model in SECURITY.md', () => {
  it('the threat model in SECURITY.md cites more than 25 tests', () => expect(namedTests.length).toBeGreaterThan(25));

  it.each([...new Set(namedTests)])('the threat model in SECURITY.md names a test that exists: %s', (name) => {
    expect(testFiles.some((file) => file.endsWith(`/${name}.test.ts`))).toBe(true);
  });
});
