import { resolve } from 'node:path';
import { readManifests } from './catalogue';
import { summary } from './run';

/** The backups in a folder, the newest first. Errors: those of `fileFault` for the folder, or a manifest in it, that cannot be read. */
export async function listBackups(folder: string): Promise<ReturnType<typeof summary>[]> {
  const place = resolve(folder);
  return (await readManifests(place)).map((manifest) => summary(place, manifest));
}
