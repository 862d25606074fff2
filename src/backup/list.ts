import { resolve } from 'node:path';
import { readBackupManifests } from './backup-index';
import { toBackupSummary } from './run';

/** The backups in a folder, the newest first. Errors: those of `fileFault` for the folder, or a manifest in it, that cannot be read. */
export async function listBackups(folder: string): Promise<ReturnType<typeof toBackupSummary>[]> {
  const folderPath = resolve(folder);
  return (await readBackupManifests(folderPath)).map((manifest) => toBackupSummary(folderPath, manifest));
}
