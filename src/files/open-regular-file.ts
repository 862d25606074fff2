import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';
import { badInput } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from './file-error';

const { O_RDONLY, O_NONBLOCK = 0 } = constants;
/** Windows has none. */
const O_NOFOLLOW = (constants as { O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0;

/** A regular file that stays the same whatever happens to its name; whoever opens it closes it. */
export interface RegularFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
}

/** Errors: `BAD_INPUT` for what cannot be read and for whatever is no regular file: a link, a pipe, a folder, a device. */
export async function openRegularFile(path: string, noFollow = O_NOFOLLOW): Promise<RegularFile> {
  let handle: FileHandle | undefined;
  try {
    // Neither follows a link nor waits for whoever writes into a pipe.
    handle = await open(path, O_RDONLY | noFollow | O_NONBLOCK);
    const stats = await handle.stat({ bigint: true });
    const isLink = noFollow === 0 && (await lstat(path)).isSymbolicLink();
    if (!stats.isFile() || isLink) throw badInput(safeMessage`${path} cannot be read: it is no ordinary file.`);
    return { path, handle, stats };
  } catch (error) {
    await handle?.close();
    throw toFileError(error, path, 'read');
  }
}

/** Whether this very file has its name still, and was not written to since it was opened. */
export async function isUnchanged({ path, stats }: RegularFile): Promise<boolean> {
  const current = await lstat(path, { bigint: true }).catch(() => undefined);
  return current?.ino === stats.ino && current.dev === stats.dev && current.size === stats.size && current.mtimeNs === stats.mtimeNs;
}
