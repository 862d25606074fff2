import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { BulkResult } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import { createContentCheck } from '../transfer/content-check';
import { toFileError } from '../files/file-error';
import { MalformedContentError } from '../transfer/malformed-content-error';
import { assertAuthenticManifest } from './authenticity';
import { findBackup, readBackupIndex, type BackupIndex } from './backup-index';
import { DECRYPTION_FAILED_MESSAGE } from './encryption';
import type { BackupFile, BackupManifest } from './manifest';
import { openRegularFile, type RegularFile } from '../files/open-regular-file';
import { openBackupContent } from './stored-file';

/** What was verified: the content, or without the passphrase only the hash of the file. */
type VerificationDepth = 'content' | 'hash';

/**
 * Verifies one backup or all in the folder, with a passphrase also their authenticity. Returns a result of many items `{ backup, time,
 * checked, authentic }`. Throws `BAD_INPUT` if the backup does not exist or if all fail.
 */
export async function verifyBackups(
  input: { folder: string; backup?: string; passphrase?: string },
  call: OperationContext,
): Promise<BulkResult> {
  const folder = resolve(input.folder);
  const { backup: selector, passphrase } = input;
  const index: BackupIndex =
    selector === undefined
      ? await readBackupIndex(folder)
      : { manifests: [await findBackup(folder, selector)], faults: new Map(), orphans: [] };
  const items: unknown[] = [];
  const failures = new Map<number, GatewayError>();
  const addFailure = (item: Record<string, unknown>, error: GatewayError): void => {
    failures.set(items.length, error);
    items.push(item);
  };
  for (const manifest of index.manifests) {
    const { backup, time } = manifest;
    try {
      if (passphrase !== undefined) await assertAuthenticManifest(folder, manifest, passphrase);
      const checked = await verifyBackup(folder, manifest, passphrase, call);
      items.push({ backup, time, checked, authentic: passphrase !== undefined });
    } catch (thrown) {
      const error = toFileError(thrown, join(folder, backup), 'read');
      if (error.code === 'ABORTED') throw error;
      addFailure({ backup, time }, error);
    }
  }
  for (const [backup, error] of index.faults) addFailure({ backup }, error);
  for (const backup of index.orphans) {
    addFailure({ backup }, badInput(safeMessage`${join(folder, backup)}.json is missing, so its files cannot be checked.`));
  }
  return call.collectResults(items, failures);
}

/** Verifies a file of a backup. Throws `BAD_INPUT` with the file and the problem, or `ABORTED`. */
async function verifyBackup(
  folder: string,
  manifest: BackupManifest,
  passphrase: string | undefined,
  call: OperationContext,
): Promise<VerificationDepth> {
  let depth: VerificationDepth = 'content';
  for (const file of manifest.files) {
    const opened = await openRegularFile(join(folder, file.file));
    try {
      if ((await verifyBackupFile(opened, file, passphrase, call)) === 'hash') depth = 'hash';
    } finally {
      await opened.handle.close();
    }
  }
  return depth;
}

/** Verifies an open file in one pass. Throws like `verifyBackup`. */
export async function verifyBackupFile(
  opened: RegularFile,
  file: BackupFile,
  passphrase: string | undefined,
  call: OperationContext,
): Promise<VerificationDepth> {
  const { path, handle } = opened;
  const depth = file.encryption !== null && passphrase === undefined ? 'hash' : 'content';
  const stored = createHash('sha256');
  const content = createHash('sha256');
  const check = createContentCheck(file.kind);
  let bytes = 0;
  try {
    const storedForm = depth === 'hash' ? { ...file, encryption: null, compression: null } : file;
    for await (const part of openBackupContent(handle, storedForm, passphrase, stored) as AsyncIterable<Buffer>) {
      if (call.signal?.aborted) throw new GatewayError('ABORTED', 'Canceled while a backup was read.', { sent: false });
      if (depth === 'hash') continue;
      bytes += part.length;
      // The file must not unpack to more than the export had.
      if (bytes > file.content.bytes) throw badInput(safeMessage`${path} does not hold the exported content: it is longer.`);
      content.update(part);
      check.write(part);
    }
    if (depth === 'content') check.end();
  } catch (thrown) {
    throw toBadFileError(thrown, path, file);
  }
  if (stored.digest('hex') !== file.sha256) throw badInput(safeMessage`${path} was changed: its SHA-256 differs.`);
  if (depth === 'content' && content.digest('hex') !== file.content.sha256)
    throw badInput(safeMessage`${path} does not hold the exported content.`);
  return depth;
}

/** Converts an error of the content check, zlib or the file system. */
function toBadFileError(thrown: unknown, path: string, { encryption }: BackupFile): GatewayError {
  const isInflateError = (thrown as NodeJS.ErrnoException).code?.startsWith('Z_') ?? false;
  if (!(thrown instanceof MalformedContentError) && !isInflateError) return toFileError(thrown, path, 'read');
  // The wrong key produces random bytes, which fail before the MAC is checked.
  if (encryption !== null) return badInput(safeMessage`${path}: ${trusted(DECRYPTION_FAILED_MESSAGE)}`);
  return badInput(
    isInflateError
      ? safeMessage`${path} is damaged: it cannot be decompressed.`
      : safeMessage`${path} is not a complete configuration: ${(thrown as Error).message}.`,
  );
}
