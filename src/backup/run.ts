import { basename, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { asGatewayError, GatewayError } from '../model/error';
import type { Call } from '../model/operation';
import { contentCheck, type Kind } from '../transfer/content';
import { ACCEPT, download } from '../transfer/export';
import { fileFault } from '../transfer/file-fault';
import { meter } from '../transfer/meter';
import { BINARY, MAINTENANCE } from '../transfer/names';
import { Receiver } from '../transfer/receiver';
import type { ZipEntry } from '../transfer/zip';
import { ENCRYPTION } from './encryption';
import { XmlFingerprint } from './fingerprint';
import { checkFolder, commitBackup, lastGood, recover, rotate } from './folder';
import { FORMAT, type BackupFile, type Manifest } from './manifest';
import { backupName, uniqueTime } from './names';
import { openStored, StoredOutput, type Stored } from './store';
import { binaryFingerprint } from './zip-fingerprint';
import { unlessAborted } from '../model/cancelling';
import { isObject, type JsonObject } from '../model/json';
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

type Identity = Pick<Manifest, 'serial-number' | 'host-name' | 'hardware-model' | 'release'>;

interface Exported {
  readonly output: StoredOutput;
  readonly file: BackupFile;
}

/**
 * One backup: exports, checks and stores what was asked for, then the manifest, then rotates. Errors: those of an export and of
 * `fileFault`; the backups that were there stay as they are, nothing half-written has a good name.
 */
export async function runBackup(input: RunInput, call: Call): Promise<RunResult> {
  const folder = resolve(input.folder);
  await checkFolder(folder);
  const identity = await readIdentity(call);
  const cleaned = await recover(folder).catch((error: unknown) => {
    throw fileFault(error, folder, 'written');
  });
  const time = uniqueTime();
  const backup = backupName(call.settings.name, identity['serial-number'] ?? '', time);
  const exported: Exported[] = [];
  try {
    const { what = 'xml' } = input;
    for (const kind of what === 'both' ? (['xml', 'binary'] as const) : [what]) {
      exported.push(await exportOne(kind, join(folder, backup), input, call));
    }
    const manifest: Manifest = {
      format: FORMAT,
      backup,
      appliance: call.settings.name,
      ...identity,
      time: time.toISOString(),
      'password-protected': input.password !== undefined,
      files: exported.map(({ file }) => file),
    };
    const previous = await lastGood(folder, manifest);
    const place = await commitBackup(
      folder,
      manifest,
      exported.map(({ output }) => output),
    );
    const rotated = await rotateAfter(manifest, folder, input, time);
    return {
      ...summary(folder, manifest),
      changed: isChanged(manifest, previous),
      previous: previous?.backup ?? null,
      manifest: place,
      rotated,
      cleaned,
    };
  } finally {
    // After the commit there is nothing left to discard.
    for (const { output } of exported) await output.discard();
  }
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

/** Serial number and release (appliance-api.md, "System information"); what the appliance does not tell is null. */
export async function readIdentity(call: Call): Promise<Identity> {
  const document = await call.read({ method: 'GET', path: '/api/v1/system/system-information' }, { lookUp: true });
  const nested = document['system-information'];
  const system: JsonObject = isObject(nested) ? nested : document;
  const textOf = (name: string): string | null => (typeof system[name] === 'string' && system[name] !== '' ? system[name] : null);
  return {
    'serial-number': textOf('serial-number'),
    'host-name': textOf('host-name'),
    'hardware-model': textOf('hardware-model'),
    release: textOf('os-version'),
  };
}

function isChanged(manifest: Manifest, previous: Manifest | undefined): boolean {
  return !previous || manifest.files.some(({ content }, index) => content.fingerprint !== previous.files[index]?.content.fingerprint);
}

async function rotateAfter(manifest: Manifest, folder: string, input: RunInput, time: Date): Promise<string[]> {
  try {
    return await rotate(folder, manifest, { count: input.keep, days: input['keep-days'] }, time);
  } catch (thrown) {
    const { code, message, details } = fileFault(thrown, folder, 'written');
    const words = `The backup ${manifest.backup} was made, but an old one could not be removed: ${message}`;
    throw new GatewayError(code, words, details);
  }
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
    const text = (): Readable => openStored(written.beside.path, file, passphrase);
    const print = kind === 'xml' ? fingerprint.digest() : await binaryPrint(text(), checked?.entries, ignore, call);
    return { output: written, file: { ...file, content: { ...file.content, fingerprint: print } } };
  } catch (error) {
    await written.discard();
    throw asGatewayError(error);
  }
}

/** Unlike XML it is read once more, which takes its time where it is large. */
async function binaryPrint(text: Readable, entries: readonly ZipEntry[] | undefined, ignore: string[], call: Call): Promise<string> {
  try {
    return await unlessAborted(binaryFingerprint(text, entries, ignore), call.signal, 'Cancelled while the backup was compared.');
  } finally {
    text.destroy();
  }
}

function exportRequest(kind: Kind, { password }: RunInput): Request {
  // A binary export with a password could not be imported again over the interface, whose import takes none.
  if (kind === 'binary') return { method: 'POST', path: BINARY };
  return { method: 'POST', path: `${MAINTENANCE}/export-xml`, body: password === undefined ? {} : { password } };
}
