import { readFileSync } from 'node:fs';
import type { BackupManifest } from '../../src/backup/manifest';
import type { BackupResult } from '../../src/backup/run';
import type { Simulator } from '../../src/simulator';
import { startSimulatorWithGateway, type AnyGateway } from './simulated-appliance';

/** Name of a backup of the appliance `vpn-1`. */
export const BACKUP_NAME_PATTERN = /^vpn-1_[^_]+_\d{8}T\d{6}\.\d{3}Z$/;

/** One backup. */
export async function takeBackup(gateway: AnyGateway, input: Record<string, unknown>): Promise<BackupResult> {
  return (await gateway.run('backup.run', input)).data as BackupResult;
}

export function readManifestFile({ manifest }: BackupResult): BackupManifest {
  return JSON.parse(readFileSync(manifest, 'utf8')) as BackupManifest;
}

/** Changes one value of the configuration. */
export function changeUserFullname(simulator: Simulator, fullname: string): void {
  const [server] = [...simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server').items.values()];
  const [user] = [...(server?.collection('local', 'users', 'user').items.values() ?? [])];
  if (!user) throw new Error('The simulator has no user to change');
  user.values.set('fullname', fullname);
}

/** A simulator and a gateway named `vpn-1`. */
export function startNamedSimulatorWithGateway(): Promise<{ simulator: Simulator; gateway: AnyGateway }> {
  return startSimulatorWithGateway({}, { name: 'vpn-1' });
}
