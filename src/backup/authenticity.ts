import { createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { badInput, type GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { ENCRYPTION_METHOD, areMacsEqual, PBKDF2_ITERATIONS } from './encryption';
import { AUTHENTICATION_METHOD, AUTHENTICATED_BACKUP_FORMAT, type BackupFile, type BackupManifest } from './manifest';

/** Binds the MAC to its purpose, so that no other MAC can take its place. */
const MAC_DOMAIN = 'gateway-backup manifest\n';
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/** Adds an HMAC with a key from the passphrase over the whole manifest. */
export async function signManifest(manifest: BackupManifest, passphrase: string): Promise<BackupManifest> {
  const salt = randomBytes(SALT_BYTES).toString('hex');
  const mac = await computeMac(manifest, salt, passphrase);
  return { ...manifest, authentication: { method: AUTHENTICATION_METHOD, salt, 'hmac-sha256': mac } };
}

/**
 * With a passphrase, accepts only a backup that it made: all files encrypted, each with a MAC, and a MAC over the manifest. Throws
 * `BAD_INPUT` that says what is missing or wrong.
 */
export async function assertAuthenticManifest(folder: string, manifest: BackupManifest, passphrase: string): Promise<void> {
  const { files, format, authentication } = manifest;
  const unencrypted = files.find(({ encryption }) => encryption === null);
  if (unencrypted) throw unencryptedError(join(folder, unencrypted.file));
  if (format !== AUTHENTICATED_BACKUP_FORMAT || !authentication || !files.every(hasMac)) throw unsignedError(folder, manifest);
  const mac = await computeMac(manifest, authentication.salt, passphrase);
  if (!areMacsEqual(mac, authentication['hmac-sha256'])) {
    throw badInput(
      safeMessage`${join(folder, manifest.backup)}.json: the passphrase is wrong, or the manifest was changed or made by somebody else. With a passphrase, only backups made with it are restored. Check the passphrase, or select another backup.`,
    );
  }
}

/** Computes the MAC over the parsed fields in their order. No other content of the file is used. */
async function computeMac(manifest: BackupManifest, salt: string, passphrase: string): Promise<string> {
  const key = await promisify(pbkdf2)(passphrase, Buffer.from(salt, 'hex'), PBKDF2_ITERATIONS, KEY_BYTES, 'sha256');
  return createHmac('sha256', key)
    .update(MAC_DOMAIN)
    .update(JSON.stringify({ ...manifest, authentication: undefined }))
    .digest('hex');
}

function hasMac(file: BackupFile): boolean {
  return file.encryption === ENCRYPTION_METHOD && file['hmac-sha256'] !== undefined;
}

function unencryptedError(path: string): GatewayError {
  return badInput(
    safeMessage`${path} was made without a passphrase. With a passphrase, only backups made with it are restored. Omit the passphrase if you trust everybody who can write to the folder, or select another backup.`,
  );
}

function unsignedError(folder: string, { backup }: BackupManifest): GatewayError {
  return badInput(
    safeMessage`${join(folder, backup)}.json has no authentication code from the passphrase, so it was changed or made by other software. Make a new backup. If you need this one and trust the folder, decrypt its file with openssl (docs/guide/backups.md shows how) and import it with a transfer node.`,
  );
}
