import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Many } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';
import type { Call } from '../model/operation';
import { contentCheck } from '../transfer/content';
import { fileFault } from '../transfer/file-fault';
import { Malformed } from '../transfer/malformed';
import { requireAuthentic } from './authenticity';
import { findBackup, readCatalogue, type Catalogue } from './catalogue';
import { NOT_DECRYPTED } from './encryption';
import type { BackupFile, Manifest } from './manifest';
import { openRegular, type RegularFile } from './regular-file';
import { openStored } from './store';

/** How far a backup could be checked: its content, or without the passphrase only that the files did not change. */
export type Depth = 'content' | 'hash';

/**
 * Reads one backup again, or all in the folder, and checks them: with a passphrase also that it made them. Data as of an operation on
 * many; an item is `{ backup, time, checked, authentic }`. Errors: `BAD_INPUT` when there is no such backup, or when all are bad.
 */
export async function verifyBackups(input: { folder: string; backup?: string; passphrase?: string }, call: Call): Promise<Many> {
  const folder = resolve(input.folder);
  const { backup: wanted, passphrase } = input;
  const all: Catalogue =
    wanted === undefined ? await readCatalogue(folder) : { manifests: [await findBackup(folder, wanted)], faults: new Map(), orphans: [] };
  const items: unknown[] = [];
  const failures = new Map<number, GatewayError>();
  const failed = (item: Record<string, unknown>, error: GatewayError): void => {
    failures.set(items.length, error);
    items.push(item);
  };
  for (const manifest of all.manifests) {
    const { backup, time } = manifest;
    try {
      if (passphrase !== undefined) await requireAuthentic(folder, manifest, passphrase);
      const checked = await verifyBackup(folder, manifest, passphrase, call);
      items.push({ backup, time, checked, authentic: passphrase !== undefined });
    } catch (thrown) {
      const error = fileFault(thrown, join(folder, backup), 'read');
      if (error.code === 'ABORTED') throw error;
      failed({ backup, time }, error);
    }
  }
  for (const [backup, error] of all.faults) failed({ backup }, error);
  for (const backup of all.orphans) {
    failed({ backup }, badInput(sentence`${join(folder, backup)}.json is missing: what belongs to it cannot be checked.`));
  }
  return call.gather(items, failures);
}

/** Errors: `BAD_INPUT` naming the file and what is wrong with it, `ABORTED`. */
async function verifyBackup(folder: string, manifest: Manifest, passphrase: string | undefined, call: Call): Promise<Depth> {
  let depth: Depth = 'content';
  for (const file of manifest.files) {
    const opened = await openRegular(join(folder, file.file));
    try {
      if ((await verifyFile(opened, file, passphrase, call)) === 'hash') depth = 'hash';
    } finally {
      await opened.handle.close();
    }
  }
  return depth;
}

/** Reads an open file once. Errors: as of `verifyBackup`. */
export async function verifyFile(opened: RegularFile, file: BackupFile, passphrase: string | undefined, call: Call): Promise<Depth> {
  const { path, handle } = opened;
  const depth = file.encryption !== null && passphrase === undefined ? 'hash' : 'content';
  const stored = createHash('sha256');
  const content = createHash('sha256');
  const check = contentCheck(file.kind);
  let bytes = 0;
  try {
    const known = depth === 'hash' ? { ...file, encryption: null, compression: null } : file;
    for await (const part of openStored(handle, known, passphrase, stored) as AsyncIterable<Buffer>) {
      if (call.signal?.aborted) throw new GatewayError('ABORTED', 'Cancelled while a backup was read.', { sent: false });
      if (depth === 'hash') continue;
      bytes += part.length;
      // No more is unpacked than was ever packed.
      if (bytes > file.content.bytes) throw badInput(sentence`${path} does not hold what was exported: it holds more.`);
      content.update(part);
      check.write(part);
    }
    if (depth === 'content') check.end();
  } catch (thrown) {
    throw badFile(thrown, path, file);
  }
  if (stored.digest('hex') !== file.sha256) throw badInput(sentence`${path} is not what was written: its SHA-256 is another one.`);
  if (depth === 'content' && content.digest('hex') !== file.content.sha256)
    throw badInput(sentence`${path} does not hold what was exported.`);
  return depth;
}

/** What is wrong with a stored file, from what the check, zlib or the file system says of it. */
function badFile(thrown: unknown, path: string, { encryption }: BackupFile): GatewayError {
  const inflating = (thrown as NodeJS.ErrnoException).code?.startsWith('Z_') ?? false;
  if (!(thrown instanceof Malformed) && !inflating) return fileFault(thrown, path, 'read');
  // The wrong key makes noise of it, which shows before its end does.
  if (encryption !== null) return badInput(sentence`${path}: ${ours(NOT_DECRYPTED)}`);
  return badInput(
    inflating
      ? sentence`${path} is damaged: it cannot be decompressed.`
      : sentence`${path} is not a whole configuration: ${(thrown as Error).message}.`,
  );
}
