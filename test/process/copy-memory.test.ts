import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type * as Launcher from '../../src/rehearsal/copy-launcher';
import type { JsonObject } from '../../src/simulator/body-shape';
import { createRandomTree } from '../helpers/random-tree';
import { startTestSimulator } from '../helpers/simulated-appliance';
import { createTemporaryFolder, listFiles } from '../helpers/snapshot';

const SIZE = 8000;
const MB = 1_000_000;

/** Fields of each resource, without the links that a snapshot leaves out. */
function createConfiguration(): JsonObject {
  const isLink = (value: unknown): boolean => typeof value === 'object' && value !== null && 'href' in value;
  const isField = ([, value]: [string, unknown]): boolean => !isLink(value) && !(Array.isArray(value) && value.some(isLink));
  const entries = [...createRandomTree(1, SIZE)].map(([path, document]) => [
    path,
    Object.fromEntries(Object.entries(document).filter(isField)),
  ]);
  return JSON.parse(JSON.stringify(Object.fromEntries(entries))) as JsonObject;
}

function findCopyProcess(): string {
  const threads = readdirSync(`/proc/${process.pid}/task`);
  const children = threads.flatMap((thread) => readFileSync(`/proc/${process.pid}/task/${thread}/children`, 'utf8').trim().split(' '));
  return children.find((child) => child !== '' && readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('copy-process')) ?? '';
}

it('a copy of a configuration needs at most three times the size of its snapshot and 60 MB of memory', async () => {
  const folder = createTemporaryFolder();
  (await startTestSimulator({ from: createConfiguration() })).save(folder);
  const size = listFiles(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  // The built file, because the process of a copy is one.
  const built = join(__dirname, '../../dist/compiled/src/rehearsal/copy-launcher.js');
  const { launchSimulatedCopy } = createRequire(built)(built) as typeof Launcher;
  const options = { from: folder, username: 'rehearsal', password: 'secret', realm: 'Admin Users', port: 0 };
  const copy = await launchSimulatedCopy(options, new AbortController().signal);
  onTestFinished(() => copy.close());
  // The most that was ever resident. It depends on how the process is written, not on how busy the machine is.
  const status = readFileSync(`/proc/${findCopyProcess()}/status`, 'utf8');
  const peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  expect(peak / MB).toBeLessThan((3 * size) / MB + 60);
});
