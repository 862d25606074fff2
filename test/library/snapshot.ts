import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Simulator } from '../../src/simulator';
import type { Snapshot, Taken } from '../../src/snapshot/take';
import { INFO, type AnyGateway } from './appliance';
import { http, wire, type Wire } from './wire';

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

type Served = object | number;
export type Tree = Record<string, Served | (() => Served)>;

/** A link to a place below the root. */
export const to = (place: string): { href: string } => ({ href: TREE + place });

/** An appliance with any tree, by places below the root; a number is a status, and what is not in it is 404. */
export function serve(tree: Tree): Promise<Wire> {
  return wire(({ path }) => {
    const identity = path === INFO ? { 'system-information': { 'serial-number': 'S1', 'os-version': '22.7' } } : 404;
    const found = tree[path.startsWith(TREE) ? path.slice(TREE.length) : path] ?? identity;
    const served = typeof found === 'function' ? (found as () => Served)() : found;
    return typeof served === 'number' ? http(served, '{"result":{"errors":[{"message":"No."}]}}') : http(200, JSON.stringify(served));
  });
}

/** The places that were asked for. */
export const asked = ({ asked: all }: Wire): string[] => all.filter(({ path }) => path !== INFO).map(({ path }) => path.slice(TREE.length));
