import { join, resolve } from 'node:path';
import { pipeline, Transform } from 'node:stream';
import type { WriteResult } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import type { Call } from '../model/operation';
import type { Kind } from '../transfer/content';
import { sendBinary, sendXml, type Source } from '../transfer/import';
import { exclusiveImport } from '../transfer/exclusive-import';
import { findBackup, isComplete, readManifests, type BackupFile, type Manifest } from './manifest';
import { readIdentity, runBackup, type RunInput } from './run';
import { openStored } from './store';
import { verifyBackup } from './verify';

export interface RestoreInput {
  readonly folder: string;
  readonly backup: string;
  readonly kind?: Kind;
  readonly import?: 'normal' | 'full';
  readonly password?: string;
  readonly passphrase?: string;
  readonly 'backup-first'?: boolean;
  readonly 'any-appliance'?: boolean;
}

/**
 * Imports one backup: reads it whole and checks it, compares the serial number, takes a fresh backup, and only then sends it. Data: the
 * result; `envelope.restored` and `envelope.before` name the two backups. Errors: `LIMIT` when it is of another appliance, `BAD_INPUT`
 * when it is damaged or a secret is missing; nothing was sent then.
 */
export async function restoreBackup(input: RestoreInput, call: Call): Promise<WriteResult> {
  const folder = resolve(input.folder);
  const all = await readManifests(folder);
  // The newest may be of the other kind: XML every night, binary once a week.
  const manifests = input.backup === 'latest' && input.kind ? all.filter((manifest) => holds(manifest, input.kind)) : all;
  const named = input.backup === 'latest' ? undefined : findBackup(manifests, input.backup);
  const { 'serial-number': serial } = await readIdentity(call);
  const manifest = named ?? findBackup(manifests, 'latest', input['any-appliance'] ? undefined : serial);
  if (!input['any-appliance']) refuseForeign(manifest, serial);
  const file = fileOf(manifest, input.kind);
  if (file.encryption !== null && input.passphrase === undefined) throw badInput(`${file.file} is encrypted: give the passphrase.`);
  if (file.kind === 'xml' && manifest['password-protected'] && input.password === undefined) {
    throw badInput('The export was made with a password: give it, or the appliance cannot read the secrets in it.');
  }
  await verifyBackup(folder, { ...manifest, files: [file] }, input.passphrase, call);
  call.note({ restored: manifest.backup });
  // The backup before and the import are one turn: no other import comes in between.
  return exclusiveImport(call, async () => {
    if ((input['backup-first'] ?? true) && !call.dryRun) {
      call.note({ before: await backupBefore({ ...backupLike(file, input), folder }, call) });
    }
    const source = sourceOf(folder, file, input.passphrase);
    // It may have waited long for its turn, and been rotated away by then.
    if (!(await isComplete(folder, { ...manifest, files: [file] })))
      throw badInput(`${file.file} has gone or changed since it was checked. Nothing was restored.`);
    return file.kind === 'xml'
      ? sendXml(source, manifest['password-protected'] ? input.password : undefined, call)
      : sendBinary(source, input.import, call);
  });
}

/** Name of a fresh backup. Errors: those of `runBackup`, which then stopped the restore. */
async function backupBefore(input: RunInput, call: Call): Promise<string> {
  try {
    return (await runBackup(input, call)).backup;
  } catch (thrown) {
    const { code, message, details } = asGatewayError(thrown);
    throw new GatewayError(code, `Nothing was restored, because the backup before it failed: ${message}`, details);
  }
}

function refuseForeign(manifest: Manifest, serial: string | null): void {
  const { backup, 'serial-number': own } = manifest;
  if (own !== null && own === serial) return;
  const why =
    own === null || serial === null
      ? 'it cannot be told whether it is of this appliance'
      : `it is of the appliance ${own}, this is ${serial}`;
  throw new GatewayError('LIMIT', `${backup} was not restored: ${why}. Allow other appliances in the node if that is meant.`, {
    sent: false,
  });
}

function holds({ files }: Manifest, kind: Kind | undefined): boolean {
  return files.some((file) => file.kind === kind);
}

/** XML where both are there: it is what an appliance takes whatever its release and network. */
function fileOf({ backup, files }: Manifest, kind: Kind | undefined): BackupFile {
  const file = kind
    ? files.find((candidate) => candidate.kind === kind)
    : (files.find((candidate) => candidate.kind === 'xml') ?? files[0]);
  if (!file) throw badInput(`${backup} holds no ${kind ?? 'file'}.`);
  return file;
}

/** The fresh backup is protected like the one that is restored. */
function backupLike(file: BackupFile, { password, passphrase }: RestoreInput): Omit<RunInput, 'folder'> {
  return {
    what: file.kind,
    gzip: file.compression !== null,
    ...(password !== undefined && { password }),
    ...(passphrase !== undefined && { passphrase }),
  };
}

function sourceOf(folder: string, file: BackupFile, passphrase: string | undefined): Source {
  return {
    shown: file.file,
    open: () => {
      let read = 0;
      const count = new Transform({
        transform: (chunk: Buffer, _encoding, done) => {
          read += chunk.length;
          done(null, chunk);
        },
      });
      // The last stream carries the error of any.
      const content = pipeline(openStored(join(folder, file.file), file, passphrase), count, () => undefined);
      return Promise.resolve({ content, length: file.content.bytes, read: () => read });
    },
  };
}
