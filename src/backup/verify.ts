import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Many, ManyItem } from '../model/envelope';
import { badInput, GatewayError } from '../model/error';
import type { Call } from '../model/operation';
import { contentCheck } from '../transfer/content';
import { fileFault } from '../transfer/file-fault';
import { Malformed } from '../transfer/malformed';
import { NOT_DECRYPTED } from './encryption';
import { findBackup, readManifests, type BackupFile, type Manifest } from './manifest';
import { backupOfFile, backupOfManifest } from './names';
import { openStored } from './store';

/** How far a backup could be checked: its content, or without the passphrase only that the files did not change. */
export type Depth = 'content' | 'hash';

/**
 * Reads one backup again, or all in the folder, and checks them. Data as of an operation on many; an item is `{ backup, time, checked }`.
 * Errors: `BAD_INPUT` when there is no such backup, or when all are bad.
 */
export async function verifyBackups(input: { folder: string; backup?: string; passphrase?: string }, call: Call): Promise<Many> {
  const folder = resolve(input.folder);
  const present = await readManifests(folder);
  const manifests = input.backup === undefined ? present : [findBackup(present, input.backup)];
  const results: ManyItem[] = [];
  const failures = new Map<number, GatewayError>();
  for (const manifest of manifests) {
    const { backup, time } = manifest;
    try {
      const checked = await verifyBackup(folder, manifest, input.passphrase, call);
      results.push({ item: { backup, time, checked }, ok: true, status: null });
    } catch (thrown) {
      const error = fileFault(thrown, join(folder, backup), 'read');
      if (error.code === 'ABORTED') throw error;
      failures.set(results.length, error);
      results.push({ item: { backup, time }, ok: false, error: { code: error.code, message: error.message } });
    }
  }
  if (input.backup === undefined) {
    for (const backup of await withoutManifest(folder, manifests)) {
      const error = badInput(`${join(folder, backup)}.json is missing or damaged: what belongs to it cannot be checked.`);
      failures.set(results.length, error);
      results.push({ item: { backup }, ok: false, error: { code: error.code, message: error.message } });
    }
  }
  return call.gather(results, failures);
}

/** Names of backups of which there are files, but no manifest that can be read. */
async function withoutManifest(folder: string, manifests: readonly Manifest[]): Promise<string[]> {
  const known = new Set(manifests.map(({ backup }) => backup));
  const names = (await readdir(folder)).flatMap((name) => backupOfFile(name) ?? backupOfManifest(name) ?? []);
  return [...new Set(names)].filter((name) => !known.has(name));
}

/** Errors: `BAD_INPUT` naming the file and what is wrong with it, `ABORTED`. */
export async function verifyBackup(folder: string, manifest: Manifest, passphrase: string | undefined, call: Call): Promise<Depth> {
  let depth: Depth = 'content';
  for (const file of manifest.files) {
    if ((await verifyFile(folder, file, passphrase, call)) === 'hash') depth = 'hash';
  }
  return depth;
}

async function verifyFile(folder: string, file: BackupFile, passphrase: string | undefined, call: Call): Promise<Depth> {
  const path = join(folder, file.file);
  const depth = file.encryption !== null && passphrase === undefined ? 'hash' : 'content';
  const stored = createHash('sha256');
  const content = createHash('sha256');
  const check = contentCheck(file.kind);
  try {
    const known = depth === 'hash' ? { ...file, encryption: null, compression: null } : file;
    for await (const part of openStored(path, known, passphrase, stored) as AsyncIterable<Buffer>) {
      if (call.signal?.aborted) throw new GatewayError('ABORTED', 'Cancelled while a backup was read.', { sent: false });
      if (depth === 'hash') continue;
      content.update(part);
      check.write(part);
    }
    if (depth === 'content') check.end();
  } catch (thrown) {
    throw badFile(thrown, path, file);
  }
  if (stored.digest('hex') !== file.sha256) throw badInput(`${path} is not what was written: its SHA-256 is another one.`);
  if (depth === 'content' && content.digest('hex') !== file.content.sha256) throw badInput(`${path} does not hold what was exported.`);
  return depth;
}

/** What is wrong with a stored file, from what the check, zlib or the file system says of it. */
function badFile(thrown: unknown, path: string, { encryption }: BackupFile): GatewayError {
  const inflating = (thrown as NodeJS.ErrnoException).code?.startsWith('Z_') ?? false;
  if (!(thrown instanceof Malformed) && !inflating) return fileFault(thrown, path, 'read');
  // The wrong key makes noise of it, which shows before its end does.
  if (encryption !== null) return badInput(`${path}: ${NOT_DECRYPTED}`);
  return badInput(
    inflating ? `${path} is damaged: it cannot be decompressed.` : `${path} is not a whole configuration: ${(thrown as Error).message}.`,
  );
}
