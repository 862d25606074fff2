import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBenchmarkAppliance, type BenchmarkAppliance } from '../../../../bench/server/benchmark-appliance';
import { simulatorCertificate, gatewayFor, settingsFor } from '../../../helpers/simulated-appliance';
import { listFiles, runGit, SNAPSHOT_MANIFEST_FILE, createTemporaryFolder, writeSnapshot } from '../../../helpers/snapshot';
import { startChild, readOutput } from '../../../helpers/transfer';

const POLICIES = 10_000;
/** All resources together need more memory than the process may use. */
const HEAP_MIB = 96;
const LENGTH = 12_000;

async function large(policies: number): Promise<BenchmarkAppliance> {
  const appliance = await startBenchmarkAppliance({ tls: simulatorCertificate });
  onTestFinished(() => appliance.close());
  appliance.policies = policies;
  return appliance;
}

describe('a large configuration', () => {
  it('A snapshot of 10,000 resources is taken and compared with less memory than its objects need', async () => {
    const appliance = await large(POLICIES);
    appliance.policyLength = LENGTH;
    const settings = settingsFor(appliance, { name: 'large' });
    const run = async (operation: string, input: object): Promise<string> => {
      const process = startChild('backup-child.ts', { settings, operation, input }, 1024, [`--max-old-space-size=${HEAP_MIB}`]);
      return readOutput(process);
    };
    expect(POLICIES * LENGTH).toBeGreaterThan(HEAP_MIB * 2 ** 20);
    const folder = createTemporaryFolder();
    const [taken] = JSON.parse(await run('snapshot.take', { folder })) as { added: number }[];
    expect(taken?.added).toBeGreaterThanOrEqual(POLICIES);
    expect(JSON.parse(await run('snapshot.compare', { folder }))).toEqual([{ equal: true, added: [], removed: [], changed: [] }]);
  }, 400_000);

  it('a large configuration with three changes gives three changed files and three hunks in Git', async () => {
    const gateway = gatewayFor(await large(2000), { name: 'large' });
    const set = (name: string, description: string): Promise<unknown> =>
      gateway.run('config.update', { path: ['users', 'user-roles', 'user-role', name], body: { description } });
    const names = ['First', 'Second / Ä', 'Third'];
    for (const name of names) await set(name, 'before');
    const folder = createTemporaryFolder();
    const { added } = await writeSnapshot(gateway, folder);
    runGit(folder, 'init', '-q');
    runGit(folder, 'add', '-A');
    runGit(folder, 'commit', '-qm', 'before');
    const times = (): Map<string, bigint> =>
      new Map(listFiles(folder).map((name) => [name, statSync(join(folder, name), { bigint: true }).ctimeNs]));
    const before = times();
    expect(before.size).toBe(added + 1);
    expect([...before.keys()]).toContain(SNAPSHOT_MANIFEST_FILE);
    for (const name of names) await set(name, 'after');
    expect(await writeSnapshot(gateway, folder)).toMatchObject({ resources: added, added: 0, changed: 3, removed: 0 });
    expect([...times()].filter(([name, time]) => before.get(name) !== time)).toHaveLength(3);
    expect(runGit(folder, 'diff', '-U0').match(/^@@/gm)).toHaveLength(3);
    expect(runGit(folder, 'status', '--porcelain').trim().split('\n')).toHaveLength(3);
  }, 400_000);
});
