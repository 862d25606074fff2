import { resolve } from 'node:path';
import { readBackupManifests } from './backup-index';
import { toBackupSummary } from './run';

/** Lists the backups in a folder, newest first. Throws the errors of `toFileError` for an unreadable folder or manifest. */
export async function listBackups(folder: string): Promise<ReturnType<typeof toBackupSummary>[]> {
  const folderPath = resolve(folder);
  return (await readBackupManifests(folderPath)).map((manifest) => toBackupSummary(folderPath, manifest));
}
