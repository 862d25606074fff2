import { closeSync, constants, fstatSync, openSync, readFileSync, type BigIntStats, type Stats } from 'node:fs';
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

/** Errors: `BAD_INPUT` when the file cannot be read, has more than `maxBytes`, or is a link, pipe, folder or device. */
export async function openRegularFile(path: string, noFollow = O_NOFOLLOW, maxBytes = Infinity): Promise<RegularFile> {
  let handle: FileHandle | undefined;
  try {
    // The flags avoid following links and waiting for a pipe's writer.
    handle = await open(path, O_RDONLY | noFollow | O_NONBLOCK);
    const stats = await handle.stat({ bigint: true });
    const isLink = noFollow === 0 && (await lstat(path)).isSymbolicLink();
    if (!stats.isFile() || isLink) throw badInput(safeMessage`${path} cannot be read: it is not a regular file.`);
    checkReadable(path, stats, maxBytes);
    return { path, handle, stats };
  } catch (error) {
    await handle?.close();
    throw toFileError(error, path, 'read');
  }
}

/** True when the path still names this file and nobody has written to it since it was opened. */
export async function isFileUnchanged({ path, stats }: RegularFile): Promise<boolean> {
  const current = await lstat(path, { bigint: true }).catch(() => undefined);
  return current?.ino === stats.ino && current.dev === stats.dev && current.size === stats.size && current.mtimeNs === stats.mtimeNs;
}

/**
 * Reads a whole file without waiting, whatever stands at its path. Follows links. Errors: `BAD_INPUT` for a pipe, folder or device and for
 * more than `maxBytes`; those of `node:fs`.
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await open(path, O_RDONLY | O_NONBLOCK);
  try {
    const stats = await handle.stat();
    checkReadable(path, stats, maxBytes);
    return await readToEnd(handle, stats.size);
  } finally {
    await handle.close();
  }
}

/** Reads a file of a known size with a single read, if it does not change meanwhile. */
async function readToEnd(handle: FileHandle, size: number): Promise<Buffer> {
  // One byte more shows that the file has grown.
  const buffer = Buffer.allocUnsafe(size + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
    length += bytesRead;
    if (bytesRead === 0 || length === size) return buffer.subarray(0, length);
  }
  return Buffer.concat([buffer, await handle.readFile()]);
}

/** Like `readRegularFile`, synchronously. */
export function readRegularFileSync(path: string, maxBytes: number): Buffer {
  const descriptor = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    checkReadable(path, fstatSync(descriptor), maxBytes);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function checkReadable(path: string, stats: Stats | BigIntStats, maxBytes: number): void {
  // The code lets callers name the problem in their own words.
  if (stats.isDirectory()) throw Object.assign(new Error('EISDIR: illegal operation on a directory, read'), { code: 'EISDIR' });
  if (!stats.isFile()) throw badInput(safeMessage`${path} cannot be read: it is not a regular file.`);
  if (stats.size <= maxBytes) return;
  throw badInput(safeMessage`${path} cannot be read: it has ${Number(stats.size)} bytes, but at most ${maxBytes} are allowed.`);
}
