import { GatewayError } from '../model/error';
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

/**
 * A fault of the file system as a `GatewayError`: `LIMIT` when there is no room left, else `BAD_INPUT`, because it is the file named
 * there that cannot be used. `cause.system` and `cause.file` tell which.
 */
export function toFileError(thrown: unknown, file: string, action: 'read' | 'written'): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const { code = '', message } = thrown as NodeJS.ErrnoException;
  const details = { sent: false, extra: { system: code, file } };
  if (NO_SPACE_CODES.has(code)) {
    return new GatewayError(
      'LIMIT',
      safeMessage`${file} cannot be written: there is no room left on the disk (${trusted(code)}). Make room, then try again.`,
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
