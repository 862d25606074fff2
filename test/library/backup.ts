import { readFileSync } from 'node:fs';
import type { Manifest } from '../../src/backup/manifest';
import type { RunResult } from '../../src/backup/run';
import type { Simulator } from '../../src/simulator';
import { pair, type AnyGateway } from './appliance';

/** Name of a backup of the appliance `vpn-1`. */
export const NAME = /^vpn-1_[^_]+_\d{8}T\d{6}\.\d{3}Z$/;

/** One backup. */
export async function run(gateway: AnyGateway, input: Record<string, unknown>): Promise<RunResult> {
  return (await gateway.run('backup.run', input)).data as RunResult;
}

export function manifestOf({ manifest }: RunResult): Manifest {
  return JSON.parse(readFileSync(manifest, 'utf8')) as Manifest;
}

/** Changes one value of the configuration. */
export function change(simulator: Simulator, fullname: string): void {
  const [server] = [...simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.values()];
  const [user] = [...(server?.collection('local', 'users', 'user').items.values() ?? [])];
  if (!user) throw new Error('The simulator has no user to change');
  user.values.set('fullname', fullname);
}

/** A simulator and a gateway named `vpn-1`. */
export function named(): Promise<{ simulator: Simulator; gateway: AnyGateway }> {
  return pair({}, { name: 'vpn-1' });
}
