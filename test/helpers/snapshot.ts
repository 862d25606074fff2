import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Simulator } from '../../src/simulator';
import type { Snapshot, SnapshotFolderResult } from '../../src/snapshot/take';
import { SYSTEM_INFORMATION_PATH, type AnyGateway } from './simulated-appliance';
import { httpResponse, startRawServer, type RawServer } from './raw-server';

export const CONFIGURATION_PATH = '/api/v1/configuration';
/** Files of a snapshot folder that are not resources. */
export const SNAPSHOT_MANIFEST_FILE = '.gateway-snapshot.json';

export { createTemporaryFolder } from './temporary';

export async function readSnapshot(gateway: AnyGateway, input: Record<string, unknown> = {}): Promise<Snapshot> {
  return (await gateway.run('snapshot.take', input)).data as Snapshot;
}

export async function writeSnapshot(
  gateway: AnyGateway,
  folder: string,
  input: Record<string, unknown> = {},
): Promise<SnapshotFolderResult> {
  return (await gateway.run('snapshot.take', { folder, ...input })).data as SnapshotFolderResult;
}

/** Names of all files below a folder, without those of Git. */
export function listFiles(folder: string): string[] {
  return (readdirSync(folder, { recursive: true }) as string[])
    .filter((name) => !/^\.git(\/|$)/.test(name) && statSync(join(folder, name)).isFile())
    .sort();
}

export function readResourceFile(folder: string, file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, unknown>;
}

export function runGit(folder: string, ...words: string[]): string {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', ['-C', folder, ...who, ...words], { encoding: 'utf8' });
}

/** A few values of the simulator's tree that tests change. */
export const getClockValues = ({ state }: Simulator) => state.configuration.resource('system', 'configuration', 'date-and-time').values;
export const getUserRoles = ({ state }: Simulator) => state.configuration.collection('users', 'user-roles', 'user-role');
export const getResourcePolicies = ({ state }: Simulator, set = 'Set 0000') =>
  state.configuration.collection('users', 'resource-policies', 'policy-set', set, 'policy');

type Served = object | number;
export type ServedTree = Record<string, Served | (() => Served)>;

/** A link to a place below the root. */
export const linkTo = (path: string): { href: string } => ({ href: CONFIGURATION_PATH + path });

/** An appliance with any tree, by places below the root; a number is a status, and what is not in it is 404. */
export function serveTree(tree: ServedTree): Promise<RawServer> {
  return startRawServer(({ path }) => {
    const identity = path === SYSTEM_INFORMATION_PATH ? { 'system-information': { 'serial-number': 'S1', 'os-version': '22.7' } } : 404;
    const found = tree[path.startsWith(CONFIGURATION_PATH) ? path.slice(CONFIGURATION_PATH.length) : path] ?? identity;
    const served = typeof found === 'function' ? (found as () => Served)() : found;
    return typeof served === 'number'
      ? httpResponse(served, '{"result":{"errors":[{"message":"No."}]}}')
      : httpResponse(200, JSON.stringify(served));
  });
}

/** The requested paths. */
export const listRequestedPaths = ({ requests: all }: RawServer): string[] =>
  all.filter(({ path }) => path !== SYSTEM_INFORMATION_PATH).map(({ path }) => path.slice(CONFIGURATION_PATH.length));
