import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../scripts/tools.mjs';

/** Names of tests in the last column of the threat model. */
const named = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\|.*\|$/.test(line))
  .flatMap((line) => [...(line.split('|').at(-2) ?? '').matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name));

it('the threat model names tests', () => expect(named.length).toBeGreaterThan(25));

it.each([...new Set(named)])('%s, which the threat model names, is a test', (name) => {
  expect(existsSync(join(root, `test/${name}.test.ts`))).toBe(true);
});
