// @ts-check
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';

// Tests of what is built, that start processes of their own (a real Node-RED, npm, a browser, one to be killed), that measure what they
// compute, or derive keys as slowly as a passphrase needs it; and the second line of Node-RED. Three at a time fill a small machine: each
// waits now and then.
export const whole = [
  'test/linear.test.ts',
  'test/secrets.test.ts',
  'test/nodes-secrets.test.ts',
  'test/nodes-v5.test.ts',
  'test/fault-suite*.test.ts',
  'test/*-kill.test.ts',
  'test/journal-shared.test.ts',
  'test/simulator-cli.test.ts',
  'test/watch-memory.test.ts',
  'test/backup-passphrase.test.ts',
  'test/backup-processes.test.ts',
  'test/transfer-large.test.ts',
  'test/snapshot-large.test.ts',
  'test/library-types.test.ts',
  'test/sentences-marked.test.ts',
  'test/editor.test.ts',
  'test/locales.test.ts',
  'test/package*.test.ts',
  'test/examples*.test.ts',
  'test/cookbook.test.ts',
  'test/scorecard*.test.ts',
  'test/bench*.test.ts',
  'test/browser/**/*.test.ts',
];

/** What takes longest: begun last, it would run alone at the end. */
const LONG = [
  ...[
    'nodes.test',
    'time-limits',
    'contain.test',
    'transfer-file',
    'fleet.test',
    'repeats',
    'faults',
    'second-factor',
    'watch.test',
    'reach',
  ],
  ...['backup-folder', 'watch-node', 'login-pauses', 'awkward', 'sentences', 'snapshot'],
  ...['browser/dialogs', 'browser/languages', 'fault-suite', 'red-kill', 'browser/', 'bench', 'secrets', 'snapshot-large', 'linear'],
];

class LongFirst extends BaseSequencer {
  /** @param {import('vitest/node').TestSpecification[]} files @override */
  async sort(files) {
    const rank = (/** @type {import('vitest/node').TestSpecification} */ { moduleId }) => {
      const found = LONG.findIndex((part) => moduleId.includes(`/test/${part}`));
      return found < 0 ? LONG.length : found;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

// Another release of undici than the installed one: see scripts/test-undici.mjs.
const undici = process.env['GATEWAY_UNDICI'];

export default defineConfig({
  ...(undici && { resolve: { alias: { undici } } }),
  test: {
    pool: 'forks',
    // However busy the machine is: what is waited for comes.
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: LongFirst },
    // Three browsers and their Node-REDs on two cores: what failed is tried once more there, and the report says of which that was true.
    retry: process.env['CI'] ? 1 : 0,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: whole,
          // A process for each file costs a third of the time.
          isolate: false,
          setupFiles: 'test/support/as-if-started.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Most of their time they wait for a pause or a time limit to pass.
          maxWorkers: 7,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: whole,
          globalSetup: 'scripts/built.mjs',
          testTimeout: 120_000,
          hookTimeout: 180_000,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
