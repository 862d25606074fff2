import { access, constants, stat } from 'node:fs/promises';
import { badInput, GatewayError } from '../model/error';
import type { ErrorReason } from '../model/error-reasons';
import { trusted, safeMessage } from '../model/safe-message';

const NO_SPACE_CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it, or its folder, does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'this process may not use it',
  EPERM: 'this process may not use it',
  EROFS: 'the file system is read-only',
  ELOOP: 'it is a symbolic link, or links lead in a circle',
  EMFILE: 'this process has too many files open',
  ENFILE: 'this machine has too many files open',
  EBUSY: 'another program uses it',
  EIO: 'the disk does not answer',
};

const STATUS_REASONS: Readonly<Record<string, ErrorReason>> = {
  ENOENT: 'folder-missing',
  ENOTDIR: 'not-a-folder',
  EACCES: 'no-file-access',
  EPERM: 'no-file-access',
};

/**
 * Converts a file system error to a `GatewayError`: `LIMIT` when the disk is full, else `BAD_INPUT`. `cause.system` and `cause.file` hold
 * the code and the path.
 */
export function toFileError(thrown: unknown, file: string, action: 'read' | 'written'): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const { code = '', message } = thrown as NodeJS.ErrnoException;
  const statusReason = NO_SPACE_CODES.has(code)
    ? 'disk-full'
    : (STATUS_REASONS[code] ?? (action === 'read' ? 'file-not-read' : 'file-not-written'));
  const details = { sent: false, statusReason, extra: { system: code, file } } as const;
  if (NO_SPACE_CODES.has(code)) {
    return new GatewayError(
      'LIMIT',
      safeMessage`${file} cannot be written: there is no room left on the disk (${trusted(code)}). Free space there, for example by removing old backups or journals, then try again.`,
      details,
    );
  }
  const reason = REASONS[code];
  const system = trusted(code && ` (${code})`);
  return new GatewayError(
    'BAD_INPUT',
    safeMessage`${file} cannot be ${trusted(action)}: ${reason ? trusted(reason) : message}${system}.`,
    details,
  );
}

/** Checks that a folder is writable before anything is sent. Errors: `BAD_INPUT`. */
export async function checkFolderWritable(folder: string): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw badInput(safeMessage`${folder} is not a folder.`, { statusReason: 'not-a-folder' });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw toFileError(error, folder, 'written');
  }
}
