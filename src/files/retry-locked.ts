import { rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** Codes of Windows for a file that a virus scanner, indexer or backup program has open. */
const LOCKED_CODES = new Set(['EPERM', 'EACCES', 'EBUSY']);
/** Delays between attempts, 2.5 s in total, because scanners need longer for large files. */
const RETRY_DELAYS_MS = [10, 20, 40, 80, 150, 300, 400, 500, 500, 500];

/** Retries a rename or removal on Windows. Other systems use these codes for missing permissions, which no wait changes. */
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

/** Succeeds when the file does not exist. */
export function removeFile(path: string): Promise<void> {
  return retryWhileLocked(() => rm(path, { force: true }));
}
