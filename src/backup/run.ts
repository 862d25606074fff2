import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import type { Call } from '../model/operation';
import { contentCheck, type Kind } from '../transfer/content';
import { ACCEPT, download } from '../transfer/export';
import { readIdentity } from '../run/identity';
import { fileFault } from '../transfer/file-fault';
import { checkFolder } from '../transfer/folder';
import { meter } from '../transfer/meter';
import { BINARY, MAINTENANCE } from '../transfer/names';
import { Receiver } from '../transfer/receiver';
import type { ZipEntry } from '../transfer/zip';
import { requireAuthentic, withCode } from './authenticity';
import { readManifests } from './catalogue';
import { claimName, type Claim } from './claim';
import { ENCRYPTION } from './encryption';
import { XmlFingerprint } from './fingerprint';
import { commitBackup, lastGood, recover, rotate } from './folder';
import { AUTHENTICATED_FORMAT, FORMAT, type BackupFile, type Manifest } from './manifest';
import { openRegular } from './regular-file';
import { openStored, StoredOutput, type Stored } from './store';
import { binaryFingerprint } from './zip-fingerprint';
import { unlessAborted } from '../model/cancelling';
import type { Request } from '../model/request';

export interface RunInput {
  readonly folder: string;
  readonly what?: 'xml' | 'binary' | 'both';
  readonly gzip?: boolean;
  readonly passphrase?: string;
  readonly password?: string;
  readonly keep?: number;
  readonly 'keep-days'?: number;
  readonly ignore?: string[];
}

/** Data of a run. Names are those in `folder`; `changed` is against the last good backup, `previous` its name or null. */
export interface RunResult {
  readonly backup: string;
  readonly folder: string;
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly release: string | null;
  readonly time: string;
  readonly changed: boolean;
  readonly previous: string | null;
  readonly bytes: number;
  readonly files: readonly Pick<BackupFile, 'file' | 'kind' | 'bytes' | 'sha256'>[];
  readonly manifest: string;
  readonly rotated: readonly string[];
  readonly cleaned: readonly string[];
}

interface Exported {
  readonly output: StoredOutput;
  readonly file: BackupFile;
}

/** A backup that is in the folder, whole. */
export interface Made {
  readonly manifest: Manifest;
  /** Path of the manifest. */
  readonly path: string;
  readonly cleaned: readonly string[];
  /** Names of the files that were there when it began. */
  readonly before: ReadonlySet<string>;
}

/**
 * One backup: exports, checks and stores what was asked for, then the manifest, then compares and rotates. Errors: those of an export and
 * of `fileFault`; the backups that were there stay as they are, nothing half-written has a good name.
 */
export async function runBackup(input: RunInput, call: Call): Promise<RunResult> {
  const { manifest, path, cleaned, before } = await makeBackup(input, call);
  const folder = resolve(input.folder);
  const { passphrase, keep: count, 'keep-days': days } = input;
  try {
    const present = await readManifests(folder);
    const previous = await comparable(folder, manifest, present, passphrase);
    // Of two that are made at the same moment each would remove the other.
    const earlier = present.filter(({ backup }) => before.has(`${backup}.json`));
    const rotated = await rotate(folder, manifest, earlier, { count, days }, new Date(manifest.time));
    return {
      ...summary(folder, manifest),
      changed: isChanged(manifest, previous),
      previous: previous?.backup ?? null,
      manifest: path,
      rotated,
      cleaned,
    };
  } catch (thrown) {
    const fault = fileFault(thrown, folder, 'read');
    throw new GatewayError(
      fault.code,
      sentence`The backup ${manifest.backup} was made, but it could not be compared with the others, or an old one not be removed: ${fault}`,
      fault.details,
    );
  }
}

/** Without a look at the backups that are there. Errors: those of `runBackup`. */
export async function makeBackup(input: RunInput, call: Call): Promise<Made> {
  const folder = resolve(input.folder);
  const { what = 'xml', passphrase, password } = input;
  await checkFolder(folder);
  const identity = await readIdentity(call);
  const { cleaned, before, claim } = await prepare(folder, call.settings.name, identity['serial-number'] ?? '').catch((error: unknown) => {
    throw fileFault(error, folder, 'written');
  });
  const { backup, time } = claim;
  const exported: Exported[] = [];
  try {
    for (const kind of what === 'both' ? (['xml', 'binary'] as const) : [what]) {
      exported.push(await exportOne(kind, join(folder, backup), input, call));
    }
    const plain: Manifest = {
      format: passphrase === undefined ? FORMAT : AUTHENTICATED_FORMAT,
      backup,
      appliance: call.settings.name,
      ...identity,
      time: time.toISOString(),
      'password-protected': password !== undefined,
      files: exported.map(({ file }) => file),
    };
    const manifest = passphrase === undefined ? plain : await withCode(plain, passphrase);
    const outputs = exported.map(({ output }) => output);
    return { manifest, path: await commitBackup(folder, manifest, outputs), cleaned, before };
  } finally {
    // After the commit there is nothing left to discard.
    for (const { output } of exported) await output.discard();
    await claim.release();
  }
}

async function prepare(folder: string, appliance: string, serial: string): Promise<Pick<Made, 'cleaned' | 'before'> & { claim: Claim }> {
  const cleaned = await recover(folder);
  const before = new Set(await readdir(folder));
  return { cleaned, before, claim: await claimName(folder, appliance, serial) };
}

/** With a passphrase only one that it made: whoever can write to the folder must not hide a change. */
async function comparable(
  folder: string,
  manifest: Manifest,
  present: readonly Manifest[],
  passphrase: string | undefined,
): Promise<Manifest | undefined> {
  const candidate = await lastGood(folder, manifest, present);
  if (!candidate || passphrase === undefined) return candidate;
  return requireAuthentic(folder, candidate, passphrase).then(
    () => candidate,
    () => undefined,
  );
}

/** What a list, a run and a restore tell of a backup. */
export function summary(folder: string, manifest: Manifest): Omit<RunResult, 'changed' | 'previous' | 'manifest' | 'rotated' | 'cleaned'> {
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

function isChanged(manifest: Manifest, previous: Manifest | undefined): boolean {
  return !previous || manifest.files.some(({ content }, index) => content.fingerprint !== previous.files[index]?.content.fingerprint);
}

async function exportOne(kind: Kind, base: string, input: RunInput, call: Call): Promise<Exported> {
  const { gzip = false, passphrase, ignore = [] } = input;
  const name = `${base}.${kind === 'xml' ? 'xml' : 'bin'}${gzip ? '.gz' : ''}${passphrase === undefined ? '' : '.enc'}`;
  let output: StoredOutput | undefined;
  let fingerprint = new XmlFingerprint(ignore);
  const received = await download(kind, exportRequest(kind, input), call, async () => {
    output = await StoredOutput.create(name, gzip, passphrase);
    fingerprint = new XmlFingerprint(ignore);
    return new Receiver<Stored>({
      accept: ACCEPT[kind],
      output,
      check: contentCheck(kind, { events: fingerprint, zipOnly: true }),
      hash: true,
      onBytes: meter(call),
    });
  });
  const { bytes, sha256, checked, stored } = received;
  const written = output as StoredOutput;
  const file = {
    file: basename(name),
    kind,
    bytes: stored.bytes,
    sha256: stored.sha256,
    compression: gzip ? 'gzip' : null,
    encryption: passphrase === undefined ? null : ENCRYPTION,
    ...(stored.mac !== undefined && { 'hmac-sha256': stored.mac }),
    content: { bytes, sha256: sha256 ?? '', verified: checked?.verified ?? 'base64', fingerprint: '' },
  } as const satisfies BackupFile;
  try {
    const print = kind === 'xml' ? fingerprint.digest() : await binaryPrint(written, file, checked?.entries, input, call);
    return { output: written, file: { ...file, content: { ...file.content, fingerprint: print } } };
  } catch (error) {
    await written.discard();
    throw asGatewayError(error);
  }
}

/** Unlike XML it is read once more, which takes its time where it is large. */
async function binaryPrint(
  { partial }: StoredOutput,
  file: BackupFile,
  entries: readonly ZipEntry[] | undefined,
  { passphrase, ignore = [] }: RunInput,
  call: Call,
): Promise<string> {
  const { handle } = await openRegular(partial.path);
  const text = openStored(handle, file, passphrase);
  try {
    return await unlessAborted(binaryFingerprint(text, entries, ignore), call.signal, 'Cancelled while the backup was compared.');
  } finally {
    text.destroy();
    await handle.close();
  }
}

function exportRequest(kind: Kind, { password }: RunInput): Request {
  // A binary export with a password could not be imported again over the interface, whose import takes none.
  if (kind === 'binary') return { method: 'POST', path: BINARY };
  return { method: 'POST', path: `${MAINTENANCE}/export-xml`, body: password === undefined ? {} : { password } };
}
