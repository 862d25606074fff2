import { createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { badInput, type GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { ENCRYPTION, ROUNDS } from './encryption';
import { AUTHENTICATION, AUTHENTICATED_FORMAT, type BackupFile, type Manifest } from './manifest';
import { sameCode } from './same-code';

/** Says what the code is of, so that one of anything else can never be taken for it. */
const DOMAIN = 'gateway-backup manifest\n';
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/** The manifest with a code of the passphrase over all that stands in it: names, serial number, time, and the hashes of the files. */
export async function withCode(manifest: Manifest, passphrase: string): Promise<Manifest> {
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const code = await codeOf(manifest, salt, passphrase);
  return { ...manifest, authentication: { method: AUTHENTICATION, salt, 'hmac-sha256': code } };
}

/**
 * With a passphrase only what it made is believed: every file encrypted, each with a code, and a code over the manifest. Errors:
 * `BAD_INPUT` that says what is missing, or that the code is another one.
 */
export async function requireAuthentic(folder: string, manifest: Manifest, passphrase: string): Promise<void> {
  const { files, format, authentication } = manifest;
  const plain = files.find(({ encryption }) => encryption === null);
  if (plain) throw madeWithout(join(folder, plain.file));
  if (format !== AUTHENTICATED_FORMAT || !authentication || !files.every(hasCode)) throw madeBefore(folder, manifest);
  const code = await codeOf(manifest, authentication.salt, passphrase);
  if (!sameCode(code, authentication['hmac-sha256'])) {
    throw badInput(
      sentence`${join(folder, manifest.backup)}.json: the passphrase is wrong, or the manifest was changed or made by somebody else. With a passphrase only what it made is restored: check the passphrase, or take another backup.`,
    );
  }
}

/** Over what was read, in the order in which it was read: nothing else of the file is ever used. */
async function codeOf(manifest: Manifest, salt: string, passphrase: string): Promise<string> {
  const key = await promisify(pbkdf2)(passphrase, Buffer.from(salt, 'hex'), ROUNDS, KEY_BYTES, 'sha256');
  return createHmac('sha256', key)
    .update(DOMAIN)
    .update(JSON.stringify({ ...manifest, authentication: undefined }))
    .digest('hex');
}

function hasCode(file: BackupFile): boolean {
  return file.encryption === ENCRYPTION && file['hmac-sha256'] !== undefined;
}

function madeWithout(path: string): GatewayError {
  return badInput(
    sentence`${path} was made without a passphrase, and with one only what it made is restored. Leave the passphrase out if you trust everybody who can write to that folder, or take another backup.`,
  );
}

function madeBefore(folder: string, { backup }: Manifest): GatewayError {
  return badInput(
    sentence`${join(folder, backup)}.json has no code of the passphrase over the manifest: it was made by an earlier version, or changed. Make a new backup. If you need this one and trust the folder, open its file with openssl (the README shows how) and import it with a transfer node.`,
  );
}
