import { join, resolve } from 'node:path';
import type { WriteResult } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import type { ConfigurationKind } from '../transfer/content-check';
import { sendBinary, sendXml, type ConfigurationSource } from '../transfer/import';
import { runExclusiveImport } from '../transfer/exclusive-import';
import { requireAuthentic } from './authenticity';
import { findLatestBackup, findBackupByName, readBackupManifests } from './backup-index';
import type { BackupFile, BackupManifest } from './manifest';
import { isUnchanged, openRegularFile, type RegularFile } from '../files/open-regular-file';
import { readIdentity } from '../run/identity';
import { createBackup, type BackupInput } from './run';
import { openCheckedContent } from './stored-file';
import { verifyFile } from './verify';

export interface RestoreInput {
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
 * Imports one backup: reads it whole and checks it, compares the serial number, takes a fresh backup, and only then sends it. With a
 * passphrase only what it made. The file is opened once; what is sent is checked again on its way, and never completed when it is not
 * what was checked. Data: the result; `envelope.restored` and `envelope.before` name the two backups. Errors: `LIMIT` when it is of
 * another appliance, `BAD_INPUT` when it is damaged or a secret is missing; nothing was restored then.
 */
export async function restoreBackup(input: RestoreInput, call: OperationContext): Promise<WriteResult> {
  const folder = resolve(input.folder);
  const { kind, passphrase, password } = input;
  const manifest = await selectBackup(folder, input, call);
  const file = selectFile(manifest, kind);
  if (file.encryption !== null && passphrase === undefined) throw badInput(safeMessage`${file.file} is encrypted: give the passphrase.`);
  if (passphrase !== undefined) await requireAuthentic(folder, manifest, passphrase);
  if (file.kind === 'xml' && manifest['password-protected'] && password === undefined) {
    throw badInput('The export was made with a password: give it, or the appliance cannot read the secrets in it.');
  }
  const opened = await openRegularFile(join(folder, file.file));
  try {
    await verifyFile(opened, file, passphrase, call);
    call.addToEnvelope({ restored: manifest.backup });
    // The backup before and the import are one turn: no other import comes in between.
    return await runExclusiveImport(call, async () => {
      if ((input['backup-first'] ?? true) && !call.dryRun) {
        call.addToEnvelope({ before: await backUpBeforeRestore({ ...toBackupInput(file, input), folder }, call) });
      }
      // It may have waited long for its turn, and been rotated away or replaced by then.
      if (!(await isUnchanged(opened)))
        throw badInput(safeMessage`${opened.path} has gone or changed since it was checked. Nothing was restored.`);
      const source = toImportSource(opened, file, passphrase);
      return file.kind === 'xml'
        ? await sendXml(source, manifest['password-protected'] ? password : undefined, call)
        : await sendBinary(source, input.import, call);
    });
  } finally {
    await opened.handle.close();
  }
}

/** The backup that is meant; it belongs to this appliance, unless others are allowed. */
async function selectBackup(folder: string, { backup, kind, ...input }: RestoreInput, call: OperationContext): Promise<BackupManifest> {
  const isAnyApplianceAllowed = input['any-appliance'] ?? false;
  // What is wrong with the folder shows before anything is sent.
  const found = backup === 'latest' ? await readBackupManifests(folder) : await findBackupByName(folder, backup);
  const { 'serial-number': serial } = await readIdentity(call);
  // The newest may be of the other kind: XML every night, binary once a week.
  const isMatch = (candidate: BackupManifest): boolean =>
    (isAnyApplianceAllowed || candidate['serial-number'] === serial) && (kind === undefined || hasKind(candidate, kind));
  const manifest = 'backup' in found ? found : findLatestBackup(folder, found, isMatch);
  if (!isAnyApplianceAllowed) rejectForeignBackup(manifest, serial);
  return manifest;
}

/** Name of a fresh backup. Errors: those of `makeBackup`, which then stopped the restore. */
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
      ? trusted('it cannot be told whether it is of this appliance')
      : safeMessage`it is of the appliance ${backupSerial}, this is ${serial}`;
  throw new GatewayError(
    'LIMIT',
    safeMessage`${backup} was not restored: ${reason}. Give any-appliance (Any appliance) if that is meant.`,
    {
      sent: false,
    },
  );
}

function hasKind({ files }: BackupManifest, kind: ConfigurationKind): boolean {
  return files.some((file) => file.kind === kind);
}

/** XML where both are there: it is what an appliance takes whatever its release and network. */
function selectFile({ backup, files }: BackupManifest, kind: ConfigurationKind | undefined): BackupFile {
  const file = kind
    ? files.find((candidate) => candidate.kind === kind)
    : (files.find((candidate) => candidate.kind === 'xml') ?? files[0]);
  if (!file) throw badInput(safeMessage`${backup} holds no ${trusted(kind ?? 'file')}.`);
  return file;
}

/** The fresh backup is protected like the one that is restored. */
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
    // What is sent is checked against it anyway.
    digest: () => Promise.resolve(file.content.sha256),
    open: () => {
      const content = openCheckedContent(opened, file, passphrase);
      return Promise.resolve({ content, length: file.content.bytes, read: () => content.bytesRead });
    },
  };
}
