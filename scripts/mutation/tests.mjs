// @ts-check
// The tests of a file are in the folder of test/unit that mirrors its folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tools.mjs';

/** Tests of these folders stand elsewhere. @type {Record<string, string>} */
const ELSEWHERE = { files: 'transfer', support: 'areas' };

/** @param {string} file below the root @returns {string[]} patterns of test files */
export function testsOf(file) {
  const [, folder = '', rest] = file.split('/');
  if (rest === undefined) return ['test/unit/*.test.ts', 'test/unit/run/*.test.ts'];
  const mirrored = ELSEWHERE[folder] ?? folder;
  return [existsSync(join(root, 'test', 'unit', mirrored)) ? `test/unit/${mirrored}/*.test.ts` : 'test/unit/run/*.test.ts'];
}
