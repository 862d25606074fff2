import { rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** What Windows says of a file that a virus scanner, an indexer or a backup program has open for a moment. */
const LOCKED_CODES = new Set(['EPERM', 'EACCES', 'EBUSY']);
/** Two and a half seconds in all: scanners take longer for large files. */
const RETRY_DELAYS_MS = [10, 20, 40, 80, 150, 300, 400, 500, 500, 500];

/** Renames or removes a file. Elsewhere those codes mean that it is not allowed, and no wait changes that. */
export async function retryWhileLocked<T>(work: () => Promise<T>, platform: string = process.platform): Promise<T> {
  for (const pause of platform === 'win32' ? RETRY_DELAYS_MS : []) {
    try {
      return await work();
    } catch (error) {
      if (!LOCKED_CODES.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      await wait(pause);
    }
  }
  return work();
}

/** One that is not there is removed already. */
export function removeFile(path: string): Promise<void> {
  return retryWhileLocked(() => rm(path, { force: true }));
}
