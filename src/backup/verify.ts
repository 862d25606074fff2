import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { BulkResult } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import { createContentCheck } from '../transfer/content-check';
import { toFileError } from '../files/file-error';
import { MalformedContentError } from '../transfer/malformed-content-error';
import { requireAuthentic } from './authenticity';
import { findBackup, readBackupIndex, type BackupIndex } from './backup-index';
import { DECRYPTION_FAILED } from './encryption';
import type { BackupFile, BackupManifest } from './manifest';
import { openRegularFile, type RegularFile } from '../files/open-regular-file';
import { openStoredContent } from './stored-file';

/** How far a backup could be checked: its content, or without the passphrase only that the files did not change. */
export type VerificationDepth = 'content' | 'hash';

/**
 * Reads one backup again, or all in the folder, and checks them: with a passphrase also that it made them. Data as of an operation on
 * many; an item is `{ backup, time, checked, authentic }`. Errors: `BAD_INPUT` when there is no such backup, or when all are bad.
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
      if (passphrase !== undefined) await requireAuthentic(folder, manifest, passphrase);
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
    addFailure({ backup }, badInput(safeMessage`${join(folder, backup)}.json is missing: what belongs to it cannot be checked.`));
  }
  return call.collectResults(items, failures);
}

/** Errors: `BAD_INPUT` naming the file and what is wrong with it, `ABORTED`. */
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
      if ((await verifyFile(opened, file, passphrase, call)) === 'hash') depth = 'hash';
    } finally {
      await opened.handle.close();
    }
  }
  return depth;
}

/** Reads an open file once. Errors: as of `verifyBackup`. */
export async function verifyFile(
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
    for await (const part of openStoredContent(handle, storedForm, passphrase, stored) as AsyncIterable<Buffer>) {
      if (call.signal?.aborted) throw new GatewayError('ABORTED', 'Cancelled while a backup was read.', { sent: false });
      if (depth === 'hash') continue;
      bytes += part.length;
      // No more is unpacked than was ever packed.
      if (bytes > file.content.bytes) throw badInput(safeMessage`${path} does not hold what was exported: it holds more.`);
      content.update(part);
      check.write(part);
    }
    if (depth === 'content') check.end();
  } catch (thrown) {
    throw toBadFileError(thrown, path, file);
  }
  if (stored.digest('hex') !== file.sha256) throw badInput(safeMessage`${path} is not what was written: its SHA-256 is another one.`);
  if (depth === 'content' && content.digest('hex') !== file.content.sha256)
    throw badInput(safeMessage`${path} does not hold what was exported.`);
  return depth;
}

/** What is wrong with a stored file, from what the check, zlib or the file system says of it. */
function toBadFileError(thrown: unknown, path: string, { encryption }: BackupFile): GatewayError {
  const isInflateError = (thrown as NodeJS.ErrnoException).code?.startsWith('Z_') ?? false;
  if (!(thrown instanceof MalformedContentError) && !isInflateError) return toFileError(thrown, path, 'read');
  // The wrong key makes noise of it, which shows before its end does.
  if (encryption !== null) return badInput(safeMessage`${path}: ${trusted(DECRYPTION_FAILED)}`);
  return badInput(
    isInflateError
      ? safeMessage`${path} is damaged: it cannot be decompressed.`
      : safeMessage`${path} is not a whole configuration: ${(thrown as Error).message}.`,
  );
}
