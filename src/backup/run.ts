import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import type { OperationContext } from '../model/operation';
import { createContentCheck, type ConfigurationKind } from '../transfer/content-check';
import { EXPORT_ACCEPT_HEADERS, downloadConfiguration } from '../transfer/export';
import { readIdentity, type ApplianceIdentity } from '../run/identity';
import { toFileError } from '../files/file-error';
import { checkFolderWritable } from '../files/file-error';
import { createProgressReporter } from '../transfer/batching-sink';
import { BINARY_CONFIGURATION_PATH, MAINTENANCE_PATH } from '../transfer/constants';
import { ConfigurationReceiver } from '../transfer/configuration-receiver';
import type { ZipEntry } from '../transfer/zip';
import { assertAuthenticManifest, signManifest } from './authenticity';
import { readBackupManifests } from './backup-index';
import { claimBackupName, type BackupNameClaim } from './name-claim';
import { ENCRYPTION_METHOD } from './encryption';
import { XmlFingerprint } from './xml-fingerprint';
import { commitBackup, findLastGoodBackup, recoverBackupFolder, rotateBackups } from './backup-folder';
import { AUTHENTICATED_BACKUP_FORMAT, BACKUP_FORMAT, type BackupFile, type BackupManifest } from './manifest';
import { openRegularFile } from '../files/open-regular-file';
import { openBackupContent, BackupFileOutput, type StoredBackupFileInfo } from './stored-file';
import { canImportBinaryPassword } from './binary-password';
import { computeBinaryFingerprint } from './binary-fingerprint';
import { rejectOnAbort } from '../model/abort';
import type { Request } from '../model/request';

export interface BackupInput {
  readonly folder: string;
  readonly what?: 'xml' | 'binary' | 'both';
  readonly gzip?: boolean;
  readonly passphrase?: string;
  readonly password?: string;
  readonly keep?: number;
  readonly 'keep-days'?: number;
  readonly ignore?: string[];
}

/** The input of one exported file; `password` protects this export. */
type ExportInput = Omit<BackupInput, 'password'> & { readonly password: string | undefined };

/** A backup in a folder, as `backup.list` returns it. */
export interface BackupRecord {
  /** Name of the backup, for `backup.verify` and `backup.restore`. */
  readonly backup: string;
  /** Absolute path of the folder. */
  readonly folder: string;
  /** Name of the appliance. */
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly release: string | null;
  /** Time of the backup (ISO 8601, UTC). */
  readonly time: string;
  /** Length of all files of the backup in bytes. */
  readonly bytes: number;
  readonly files: readonly Pick<BackupFile, 'file' | 'kind' | 'bytes' | 'sha256'>[];
}

/** A new backup, as `backup.run` returns it. */
export interface BackupResult extends BackupRecord {
  /** Whether the configuration differs from the last good backup. */
  readonly changed: boolean;
  /** Name of the last good backup before this one. */
  readonly previous: string | null;
  /** Path of the manifest. */
  readonly manifest: string;
  /** Names of the old backups that were deleted. */
  readonly rotated: readonly string[];
  /** Names of the files of interrupted backups that were deleted. */
  readonly cleaned: readonly string[];
}

interface ExportedFile {
  readonly output: BackupFileOutput;
  readonly file: BackupFile;
}

/** A complete backup that is in the folder. */
interface CreatedBackup {
  readonly manifest: BackupManifest;
  /** Path of its manifest. */
  readonly path: string;
  readonly cleaned: readonly string[];
  /** Names of the files that existed before. */
  readonly before: ReadonlySet<string>;
}

/**
 * Exports, checks and stores the configuration, writes the manifest, compares, and rotates. Throws the errors of an export and of
 * `toFileError`; existing backups stay, and no partial file gets a final name.
 */
export async function runBackup(input: BackupInput, call: OperationContext): Promise<BackupResult> {
  const { manifest, path, cleaned, before } = await createBackup(input, call);
  const folder = resolve(input.folder);
  const { passphrase, keep: count, 'keep-days': days } = input;
  try {
    const existing = await readBackupManifests(folder);
    // Of simultaneous backups, only the earlier ones count.
    const olderBackups = existing.filter(({ backup, time }) => time < manifest.time || before.has(`${backup}.json`));
    const previous = await findComparableBackup(folder, manifest, olderBackups, passphrase);
    // Otherwise two simultaneous backups would remove each other.
    const earlier = existing.filter(({ backup }) => before.has(`${backup}.json`));
    const rotated = await rotateBackups(folder, manifest, earlier, { count, days }, new Date(manifest.time));
    return {
      ...toBackupRecord(folder, manifest),
      changed: isChanged(manifest, previous),
      previous: previous?.backup ?? null,
      manifest: path,
      rotated,
      cleaned,
    };
  } catch (thrown) {
    const fault = toFileError(thrown, folder, 'read');
    throw new GatewayError(
      fault.code,
      safeMessage`The backup ${manifest.backup} was made, but comparing it with the others or removing an old one failed: ${fault}`,
      fault.details,
    );
  }
}

/** Creates a backup without comparing and rotating. Throws like `runBackup`. */
export async function createBackup(input: BackupInput, call: OperationContext): Promise<CreatedBackup> {
  const folder = resolve(input.folder);
  const { what = 'xml', passphrase, password } = input;
  await checkFolderWritable(folder);
  const identity = await readIdentity(call);
  const { cleaned, before, claim } = await prepareFolder(folder, call.settings.name, identity['serial-number'] ?? '').catch(
    (error: unknown) => {
      throw toFileError(error, folder, 'written');
    },
  );
  const { backup, time } = claim;
  const exported: ExportedFile[] = [];
  try {
    for (const kind of what === 'both' ? (['xml', 'binary'] as const) : [what]) {
      exported.push(
        await exportKind(kind, join(folder, backup), { ...input, password: selectPassword(kind, input, identity, call) }, call),
      );
    }
    const unsigned: BackupManifest = {
      format: passphrase === undefined ? BACKUP_FORMAT : AUTHENTICATED_BACKUP_FORMAT,
      backup,
      appliance: call.settings.name,
      ...identity,
      time: time.toISOString(),
      'password-protected': password !== undefined,
      files: exported.map(({ file }) => file),
    };
    const manifest = passphrase === undefined ? unsigned : await signManifest(unsigned, passphrase);
    const outputs = exported.map(({ output }) => output);
    return { manifest, path: await commitBackup(folder, manifest, outputs), cleaned, before };
  } finally {
    // A committed output ignores this.
    for (const { output } of exported) await output.discard();
    await claim.release();
  }
}

async function prepareFolder(
  folder: string,
  appliance: string,
  serial: string,
): Promise<Pick<CreatedBackup, 'cleaned' | 'before'> & { claim: BackupNameClaim }> {
  const cleaned = await recoverBackupFolder(folder);
  const before = new Set(await readdir(folder));
  return { cleaned, before, claim: await claimBackupName(folder, appliance, serial) };
}

/** With a passphrase, accepts only a backup that was made with it, because somebody else's backup could hide a change. */
async function findComparableBackup(
  folder: string,
  manifest: BackupManifest,
  existing: readonly BackupManifest[],
  passphrase: string | undefined,
): Promise<BackupManifest | undefined> {
  const candidate = await findLastGoodBackup(folder, manifest, existing);
  if (!candidate || passphrase === undefined) return candidate;
  return assertAuthenticManifest(folder, candidate, passphrase).then(
    () => candidate,
    () => undefined,
  );
}

/** Returns the fields that a list, a run and a restore report. */
function toBackupRecord(folder: string, manifest: BackupManifest): BackupRecord {
  const { backup, appliance, release, time, files } = manifest;
  return {
    backup,
    folder,
    appliance,
    'serial-number': manifest['serial-number'],
    release,
    time,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.map(({ file, kind, bytes, sha256 }) => ({ file, kind, bytes, sha256 })),
  };
}

/** Lists the backups in a folder, newest first. Throws the errors of `toFileError` for an unreadable folder or manifest. */
export async function listBackups(folder: string): Promise<BackupRecord[]> {
  const folderPath = resolve(folder);
  return (await readBackupManifests(folderPath)).map((manifest) => toBackupRecord(folderPath, manifest));
}

function isChanged(manifest: BackupManifest, previous: BackupManifest | undefined): boolean {
  return !previous || manifest.files.some(({ content }, index) => content.fingerprint !== previous.files[index]?.content.fingerprint);
}

async function exportKind(kind: ConfigurationKind, base: string, input: ExportInput, call: OperationContext): Promise<ExportedFile> {
  const { gzip = false, passphrase, password, ignore = [] } = input;
  const name = `${base}.${kind === 'xml' ? 'xml' : 'bin'}${gzip ? '.gz' : ''}${passphrase === undefined ? '' : '.enc'}`;
  let output: BackupFileOutput | undefined;
  let fingerprint = new XmlFingerprint(ignore);
  const received = await downloadConfiguration(kind, exportRequest(kind, input), call, async () => {
    output = await BackupFileOutput.create(name, gzip, passphrase);
    fingerprint = new XmlFingerprint(ignore);
    return new ConfigurationReceiver<StoredBackupFileInfo>({
      accept: EXPORT_ACCEPT_HEADERS[kind],
      output,
      createCheck: () => createContentCheck(kind, { events: fingerprint, zipOnly: password === undefined }),
      shouldCheck: true,
      shouldHash: true,
      onBytes: createProgressReporter(call),
    });
  });
  const { bytes, sha256, checkResult, stored } = received;
  const written = output as BackupFileOutput;
  const file = {
    file: basename(name),
    kind,
    bytes: stored.bytes,
    sha256: stored.sha256,
    compression: gzip ? 'gzip' : null,
    encryption: passphrase === undefined ? null : ENCRYPTION_METHOD,
    ...(stored.mac !== undefined && { 'hmac-sha256': stored.mac }),
    ...(kind === 'binary' && password !== undefined && { 'password-protected': true as const }),
    content: { bytes, sha256: sha256 ?? '', verified: checkResult?.verified ?? 'base64', fingerprint: '' },
  } as const satisfies BackupFile;
  try {
    const digest = kind === 'xml' ? fingerprint.digest() : await fingerprintBinary(written, file, checkResult?.entries, input, call);
    return { output: written, file: { ...file, content: { ...file.content, fingerprint: digest } } };
  } catch (error) {
    await written.discard();
    throw asGatewayError(error);
  }
}

/** Computes the fingerprint of a binary configuration by reading it a second time, which takes long for large files. */
async function fingerprintBinary(
  { partial }: BackupFileOutput,
  file: BackupFile,
  entries: readonly ZipEntry[] | undefined,
  { passphrase, ignore = [] }: ExportInput,
  call: OperationContext,
): Promise<string> {
  const { handle } = await openRegularFile(partial.path);
  const text = openBackupContent(handle, file, passphrase);
  try {
    return await rejectOnAbort(computeBinaryFingerprint(text, entries, ignore), call.signal, 'Canceled while the backup was compared.');
  } finally {
    text.destroy();
    await handle.close();
  }
}

const UNPROTECTED_BINARY =
  'The binary configuration was exported without the password, because this release is not known to import it with one.';

/** Returns the password of an export. A binary export gets a password only if the release can import that file again. */
function selectPassword(
  kind: ConfigurationKind,
  { password }: BackupInput,
  { release }: ApplianceIdentity,
  call: OperationContext,
): string | undefined {
  if (kind === 'xml' || password === undefined || canImportBinaryPassword(release)) return password;
  call.addToEnvelope({ warnings: [UNPROTECTED_BINARY] });
  return undefined;
}

function exportRequest(kind: ConfigurationKind, { password }: ExportInput): Request {
  if (kind === 'binary')
    return { method: 'POST', path: BINARY_CONFIGURATION_PATH, ...(password !== undefined && { body: { Password: password } }) };
  return { method: 'POST', path: `${MAINTENANCE_PATH}/export-xml`, body: password === undefined ? {} : { password } };
}
