import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';
import { badInput } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from './file-error';

const { O_RDONLY, O_NONBLOCK = 0 } = constants;
/** Windows lacks this flag. */
const O_NOFOLLOW = (constants as { O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0;

/** An open regular file. The handle stays valid when the name changes; the caller closes it. */
export interface RegularFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
}

/** Errors: `BAD_INPUT` when the file cannot be read, or is a link, pipe, folder or device. */
export async function openRegularFile(path: string, noFollow = O_NOFOLLOW): Promise<RegularFile> {
  let handle: FileHandle | undefined;
  try {
    // The flags avoid following links and waiting for a pipe's writer.
    handle = await open(path, O_RDONLY | noFollow | O_NONBLOCK);
    const stats = await handle.stat({ bigint: true });
    const isLink = noFollow === 0 && (await lstat(path)).isSymbolicLink();
    if (!stats.isFile() || isLink) throw badInput(safeMessage`${path} cannot be read: it is not a regular file.`);
    return { path, handle, stats };
  } catch (error) {
    await handle?.close();
    throw toFileError(error, path, 'read');
  }
}

/** True when the path still names this file and nobody has written to it since it was opened. */
export async function isUnchanged({ path, stats }: RegularFile): Promise<boolean> {
  const current = await lstat(path, { bigint: true }).catch(() => undefined);
  return current?.ino === stats.ino && current.dev === stats.dev && current.size === stats.size && current.mtimeNs === stats.mtimeNs;
}
