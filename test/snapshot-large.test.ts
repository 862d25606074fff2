import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFastAppliance, type FastAppliance } from '../src/simulator';
import { certificate, gatewayFor, settingsFor } from './library/appliance';
import { filesIn, git, MANIFEST, temporaryFolder, takeInto } from './library/snapshot';
import { child, output } from './library/transfer';

const POLICIES = 20_000;
/** All resources together are longer than what a process may use. */
const HEAP_MIB = 96;
const LENGTH = 6000;

async function large(policies: number): Promise<FastAppliance> {
  const appliance = await startFastAppliance({ tls: certificate });
  onTestFinished(() => appliance.close());
  appliance.policies = policies;
  return appliance;
}

describe('a large configuration', () => {
  it('of 20,000 resources is taken, and compared, in a process that has not the memory for all of them', async () => {
    const appliance = await large(POLICIES);
    appliance.policyLength = LENGTH;
    const settings = settingsFor(appliance, { name: 'large' });
    const run = async (operation: string, input: object): Promise<string> => {
      const process = child('backup-child.ts', { settings, operation, input }, 1024, [`--max-old-space-size=${HEAP_MIB}`]);
      return output(process);
    };
    expect(POLICIES * LENGTH).toBeGreaterThan(HEAP_MIB * 2 ** 20);
    const folder = temporaryFolder();
    const [taken] = JSON.parse(await run('snapshot.take', { folder })) as { added: number }[];
    expect(taken?.added).toBeGreaterThanOrEqual(POLICIES);
    expect(JSON.parse(await run('snapshot.compare', { folder }))).toEqual([{ equal: true, added: [], removed: [], changed: [] }]);
  }, 400_000);

  it('taken again with three changes, gives three files that changed and three hunks', async () => {
    const gateway = gatewayFor(await large(2000), { name: 'large' });
    const set = (name: string, description: string): Promise<unknown> =>
      gateway.run('config.update', { path: ['users', 'user-roles', 'user-role', name], body: { description } });
    const names = ['First', 'Second / Ä', 'Third'];
    for (const name of names) await set(name, 'before');
    const folder = temporaryFolder();
    const { added } = await takeInto(gateway, folder);
    git(folder, 'init', '-q');
    git(folder, 'add', '-A');
    git(folder, 'commit', '-qm', 'before');
    const times = (): Map<string, bigint> =>
      new Map(filesIn(folder).map((name) => [name, statSync(join(folder, name), { bigint: true }).ctimeNs]));
    const before = times();
    expect(before.size).toBe(added + 1);
    expect([...before.keys()]).toContain(MANIFEST);
    for (const name of names) await set(name, 'after');
    expect(await takeInto(gateway, folder)).toMatchObject({ resources: added, added: 0, changed: 3, removed: 0 });
    expect([...times()].filter(([name, time]) => before.get(name) !== time)).toHaveLength(3);
    expect(git(folder, 'diff', '-U0').match(/^@@/gm)).toHaveLength(3);
    expect(git(folder, 'status', '--porcelain').trim().split('\n')).toHaveLength(3);
  }, 400_000);
});
