import { join, resolve } from 'node:path';
import type { WriteResult } from '../model/envelope';
import { asGatewayError, badInput, GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';
import type { Call } from '../model/operation';
import type { Kind } from '../transfer/content';
import { sendBinary, sendXml, type Source } from '../transfer/import';
import { exclusiveImport } from '../transfer/exclusive-import';
import { requireAuthentic } from './authenticity';
import { latestBackup, namedBackup, readManifests } from './catalogue';
import type { BackupFile, Manifest } from './manifest';
import { isThere, openRegular, type RegularFile } from './regular-file';
import { readIdentity } from '../run/identity';
import { makeBackup, type RunInput } from './run';
import { openChecked } from './store';
import { verifyFile } from './verify';

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
 * Imports one backup: reads it whole and checks it, compares the serial number, takes a fresh backup, and only then sends it. With a
 * passphrase only what it made. The file is opened once; what is sent is checked again on its way, and never completed when it is not
 * what was checked. Data: the result; `envelope.restored` and `envelope.before` name the two backups. Errors: `LIMIT` when it is of
 * another appliance, `BAD_INPUT` when it is damaged or a secret is missing; nothing was restored then.
 */
export async function restoreBackup(input: RestoreInput, call: Call): Promise<WriteResult> {
  const folder = resolve(input.folder);
  const { kind, passphrase, password } = input;
  const manifest = await chosen(folder, input, call);
  const file = fileOf(manifest, kind);
  if (file.encryption !== null && passphrase === undefined) throw badInput(sentence`${file.file} is encrypted: give the passphrase.`);
  if (passphrase !== undefined) await requireAuthentic(folder, manifest, passphrase);
  if (file.kind === 'xml' && manifest['password-protected'] && password === undefined) {
    throw badInput('The export was made with a password: give it, or the appliance cannot read the secrets in it.');
  }
  const opened = await openRegular(join(folder, file.file));
  try {
    await verifyFile(opened, file, passphrase, call);
    call.note({ restored: manifest.backup });
    // The backup before and the import are one turn: no other import comes in between.
    return await exclusiveImport(call, async () => {
      if ((input['backup-first'] ?? true) && !call.dryRun) {
        call.note({ before: await backupBefore({ ...backupLike(file, input), folder }, call) });
      }
      // It may have waited long for its turn, and been rotated away or replaced by then.
      if (!(await isThere(opened)))
        throw badInput(sentence`${opened.path} has gone or changed since it was checked. Nothing was restored.`);
      const source = sourceOf(opened, file, passphrase);
      return file.kind === 'xml'
        ? await sendXml(source, manifest['password-protected'] ? password : undefined, call)
        : await sendBinary(source, input.import, call);
    });
  } finally {
    await opened.handle.close();
  }
}

/** The backup that is meant; it belongs to this appliance, unless others are allowed. */
async function chosen(folder: string, { backup, kind, ...input }: RestoreInput, call: Call): Promise<Manifest> {
  const anyAppliance = input['any-appliance'] ?? false;
  // What is wrong with the folder shows before anything is sent.
  const found = backup === 'latest' ? await readManifests(folder) : await namedBackup(folder, backup);
  const { 'serial-number': serial } = await readIdentity(call);
  // The newest may be of the other kind: XML every night, binary once a week.
  const isMeant = (candidate: Manifest): boolean =>
    (anyAppliance || candidate['serial-number'] === serial) && (kind === undefined || holds(candidate, kind));
  const manifest = 'backup' in found ? found : latestBackup(folder, found, isMeant);
  if (!anyAppliance) refuseForeign(manifest, serial);
  return manifest;
}

/** Name of a fresh backup. Errors: those of `makeBackup`, which then stopped the restore. */
async function backupBefore(input: RunInput, call: Call): Promise<string> {
  try {
    return (await makeBackup(input, call)).manifest.backup;
  } catch (thrown) {
    const fault = asGatewayError(thrown);
    throw new GatewayError(fault.code, sentence`Nothing was restored, because the backup before it failed: ${fault}`, fault.details);
  }
}

function refuseForeign(manifest: Manifest, serial: string | null): void {
  const { backup, 'serial-number': own } = manifest;
  if (own !== null && own === serial) return;
  const why =
    own === null || serial === null
      ? ours('it cannot be told whether it is of this appliance')
      : sentence`it is of the appliance ${own}, this is ${serial}`;
  throw new GatewayError('LIMIT', sentence`${backup} was not restored: ${why}. Give any-appliance (Any appliance) if that is meant.`, {
    sent: false,
  });
}

function holds({ files }: Manifest, kind: Kind): boolean {
  return files.some((file) => file.kind === kind);
}

/** XML where both are there: it is what an appliance takes whatever its release and network. */
function fileOf({ backup, files }: Manifest, kind: Kind | undefined): BackupFile {
  const file = kind
    ? files.find((candidate) => candidate.kind === kind)
    : (files.find((candidate) => candidate.kind === 'xml') ?? files[0]);
  if (!file) throw badInput(sentence`${backup} holds no ${ours(kind ?? 'file')}.`);
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

function sourceOf(opened: RegularFile, file: BackupFile, passphrase: string | undefined): Source {
  return {
    shown: file.file,
    // What is sent is checked against it anyway.
    digest: () => Promise.resolve(file.content.sha256),
    open: () => {
      const content = openChecked(opened, file, passphrase);
      return Promise.resolve({ content, length: file.content.bytes, read: () => content.bytesRead });
    },
  };
}
