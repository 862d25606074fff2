import { join, resolve } from 'node:path';
import type { WriteResult } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import type { ConfigurationKind } from '../transfer/content-check';
import { sendBinaryImport, sendXmlImport, type ConfigurationSource } from '../transfer/import';
import { runExclusiveImport } from '../transfer/import';
import { assertAuthenticManifest } from './authenticity';
import { findLatestBackup, findBackupByName, readBackupManifests } from './backup-index';
import type { BackupFile, BackupManifest } from './manifest';
import { isFileUnchanged, openRegularFile, type RegularFile } from '../files/open-regular-file';
import { readIdentity } from '../run/identity';
import { createBackup, type BackupInput } from './run';
import { openVerifiedBackupContent } from './stored-file';
import { verifyBackupFile } from './verify';

interface RestoreInput {
  readonly folder: string;
  readonly backup: string;
  readonly kind?: ConfigurationKind;
  readonly import?: 'normal' | 'full';
  readonly password?: string;
  readonly passphrase?: string;
  readonly 'backup-first'?: boolean;
  readonly 'any-appliance'?: boolean;
}

/**
 * Restores one backup: verifies it, compares the serial number, takes a new backup, and then imports. The file is opened once and checked
 * again while it is sent; a changed file is never sent to its end. Adds `restored` and `before` to the envelope. Throws `LIMIT` for a
 * backup of another appliance and `BAD_INPUT` for a damaged backup or a missing secret; then nothing was restored.
 */
export async function restoreBackup(input: RestoreInput, call: OperationContext): Promise<WriteResult> {
  const folder = resolve(input.folder);
  const { kind, passphrase, password } = input;
  const manifest = await selectBackup(folder, input, call);
  const file = selectFile(manifest, kind);
  if (file.encryption !== null && passphrase === undefined) throw badInput(safeMessage`${file.file} is encrypted. Enter the passphrase.`);
  if (passphrase !== undefined) await assertAuthenticManifest(folder, manifest, passphrase);
  const needsPassword = file.kind === 'xml' ? manifest['password-protected'] : file['password-protected'] === true;
  if (needsPassword && password === undefined) {
    throw badInput(
      'The export was made with a password. Enter it, because the appliance needs it to read the secrets. Nothing was restored.',
    );
  }
  const opened = await openRegularFile(join(folder, file.file));
  try {
    await verifyBackupFile(opened, file, passphrase, call);
    call.addToEnvelope({ restored: manifest.backup });
    // No other import runs between the backup and the import.
    return await runExclusiveImport(call, async () => {
      if ((input['backup-first'] ?? true) && !call.dryRun) {
        call.addToEnvelope({ before: await backUpBeforeRestore({ ...toBackupInput(file, input), folder }, call) });
      }
      // The file may have been removed or replaced while this run waited.
      if (!(await isFileUnchanged(opened)))
        throw badInput(safeMessage`${opened.path} was removed or changed after the check. Nothing was restored.`);
      const source = toImportSource(opened, file, passphrase);
      return file.kind === 'xml'
        ? await sendXmlImport(source, needsPassword ? password : undefined, call)
        : await sendBinaryImport(source, { mode: input.import, password: needsPassword ? password : undefined }, call);
    });
  } finally {
    await opened.handle.close();
  }
}

/** Selects the backup, which must be of this appliance unless others are allowed. */
async function selectBackup(folder: string, { backup, kind, ...input }: RestoreInput, call: OperationContext): Promise<BackupManifest> {
  const isAnyApplianceAllowed = input['any-appliance'] ?? false;
  // Folder errors appear before anything is sent.
  const candidates = backup === 'latest' ? await readBackupManifests(folder) : await findBackupByName(folder, backup);
  const { 'serial-number': serial } = await readIdentity(call);
  // The newest backup may be of another kind: XML every night, binary once a week.
  const isMatch = (candidate: BackupManifest): boolean =>
    (isAnyApplianceAllowed || candidate['serial-number'] === serial) && (kind === undefined || hasKind(candidate, kind));
  const manifest = 'backup' in candidates ? candidates : findLatestBackup(folder, candidates, isMatch);
  if (!isAnyApplianceAllowed) rejectForeignBackup(manifest, serial);
  return manifest;
}

/** Creates a new backup and returns its name. Throws the errors of `createBackup`; then nothing was restored. */
async function backUpBeforeRestore(input: BackupInput, call: OperationContext): Promise<string> {
  try {
    return (await createBackup(input, call)).manifest.backup;
  } catch (thrown) {
    const fault = asGatewayError(thrown);
    throw new GatewayError(fault.code, safeMessage`Nothing was restored, because the backup before it failed: ${fault}`, fault.details);
  }
}

function rejectForeignBackup(manifest: BackupManifest, serial: string | null): void {
  const { backup, 'serial-number': backupSerial } = manifest;
  if (backupSerial !== null && backupSerial === serial) return;
  const reason =
    backupSerial === null || serial === null
      ? trusted('it is unknown whether it is from this appliance')
      : safeMessage`it is from the appliance ${backupSerial}, but this is ${serial}`;
  throw new GatewayError(
    'LIMIT',
    safeMessage`${backup} was not restored: ${reason}. Set any-appliance (Any appliance) if you want to restore it here.`,
    {
      sent: false,
    },
  );
}

function hasKind({ files }: BackupManifest, kind: ConfigurationKind): boolean {
  return files.some((file) => file.kind === kind);
}

/** Selects the file to restore. Prefers XML, because an appliance accepts it on any release and network. */
function selectFile({ backup, files }: BackupManifest, kind: ConfigurationKind | undefined): BackupFile {
  const file = kind
    ? files.find((candidate) => candidate.kind === kind)
    : (files.find((candidate) => candidate.kind === 'xml') ?? files[0]);
  if (!file) throw badInput(safeMessage`${backup} holds no ${trusted(kind ?? 'file')}.`);
  return file;
}

/** Returns the input of the new backup, which gets the same protection as the restored one. */
function toBackupInput(file: BackupFile, { password, passphrase }: RestoreInput): Omit<BackupInput, 'folder'> {
  return {
    what: file.kind,
    gzip: file.compression !== null,
    ...(password !== undefined && { password }),
    ...(passphrase !== undefined && { passphrase }),
  };
}

function toImportSource(opened: RegularFile, file: BackupFile, passphrase: string | undefined): ConfigurationSource {
  return {
    description: file.file,
    // The sent content is checked against this hash.
    digest: () => Promise.resolve(file.content.sha256),
    open: () => {
      const content = openVerifiedBackupContent(opened, file, passphrase);
      return Promise.resolve({ content, length: file.content.bytes, read: () => content.bytesRead });
    },
  };
}
