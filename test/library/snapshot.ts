import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Simulator } from '../../src/simulator';
import type { Snapshot, Taken } from '../../src/snapshot/take';
import type { AnyGateway } from './appliance';

export const TREE = '/api/v1/configuration';
/** What every folder of a snapshot has beside its resources. */
export const MANIFEST = '.gateway-snapshot.json';

export { temporaryFolder } from '../support/temporary';

export async function take(gateway: AnyGateway, input: Record<string, unknown> = {}): Promise<Snapshot> {
  return (await gateway.run('snapshot.take', input)).data as Snapshot;
}

export async function takeInto(gateway: AnyGateway, folder: string, input: Record<string, unknown> = {}): Promise<Taken> {
  return (await gateway.run('snapshot.take', { folder, ...input })).data as Taken;
}

/** Names of all files below a folder, but for those of Git. */
export function filesIn(folder: string): string[] {
  return (readdirSync(folder, { recursive: true }) as string[])
    .filter((name) => !/^\.git(\/|$)/.test(name) && statSync(join(folder, name)).isFile())
    .sort();
}

export function resourceIn(folder: string, file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, unknown>;
}

export function git(folder: string, ...words: string[]): string {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', ['-C', folder, ...who, ...words], { encoding: 'utf8' });
}

/** A few values of the simulator's tree that tests change. */
export const clock = ({ state }: Simulator) => state.configuration.resource('system', 'configuration', 'date-and-time').values;
export const roles = ({ state }: Simulator) => state.configuration.collection('users', 'user-roles', 'user-role');
export const policies = ({ state }: Simulator, set = 'Set 0000') =>
  state.configuration.collection('users', 'resource-policies', 'policy-set', set, 'policy');
