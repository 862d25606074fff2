import { resolve } from 'node:path';
import { readManifests } from './manifest';
import { summary } from './run';

/** The backups in a folder, the newest first. Errors: those of `fileFault` for a folder that cannot be read. */
export async function listBackups(folder: string): Promise<ReturnType<typeof summary>[]> {
  const place = resolve(folder);
  return (await readManifests(place)).map((manifest) => summary(place, manifest));
}
