import type { ConfigurationKind, VerificationLevel } from '../transfer/content-check';
import { isObject } from '../model/json';
import { parseBackupFileName } from './names';

/** Format without a passphrase. */
export const BACKUP_FORMAT = 'gateway-backup/1';
/** Format with a passphrase: `authentication` holds a MAC over the manifest. */
export const AUTHENTICATED_BACKUP_FORMAT = 'gateway-backup/2';
export const AUTHENTICATION_METHOD = 'hmac-sha256-pbkdf2-sha256-600000';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** One file of a backup. `bytes` and `sha256` describe the stored file, `content` the exported configuration. */
export interface BackupFile {
  readonly file: string;
  readonly kind: ConfigurationKind;
  readonly bytes: number;
  readonly sha256: string;
  readonly compression: 'gzip' | null;
  readonly encryption: string | null;
  readonly 'hmac-sha256'?: string;
  /** Set if a binary export needs a password for its import. */
  readonly 'password-protected'?: true;
  readonly content: {
    readonly bytes: number;
    readonly sha256: string;
    readonly verified: VerificationLevel;
    /** Does not change while the configuration stays the same, even if the export has another time. */
    readonly fingerprint: string;
  };
}

/** The content of `<backup>.json`. It holds no secret. Times are ISO 8601 in UTC. */
export interface BackupManifest {
  readonly format: typeof BACKUP_FORMAT | typeof AUTHENTICATED_BACKUP_FORMAT;
  readonly backup: string;
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly 'host-name': string | null;
  readonly 'hardware-model': string | null;
  readonly release: string | null;
  readonly time: string;
  /** Whether the XML export needs a password for its import. A binary export says so itself. */
  readonly 'password-protected': boolean;
  readonly files: readonly BackupFile[];
  /** MAC with a key from the passphrase over all other fields. The salt is hexadecimal. */
  readonly authentication?: { readonly method: typeof AUTHENTICATION_METHOD; readonly salt: string; readonly 'hmac-sha256': string };
}

/** Parses a manifest; undefined for JSON that is not one. Throws an `Error` that says what is wrong. */
export function parseBackupManifest(text: string, backup: string): BackupManifest | undefined {
  const value = parseJson(text);
  if (!isObject(value) || typeof value.format !== 'string' || !value.format.startsWith('gateway-backup/')) return undefined;
  if (value.format !== BACKUP_FORMAT && value.format !== AUTHENTICATED_BACKUP_FORMAT) {
    throw new Error(`its format is ${JSON.stringify(value.format.slice(0, 40))}, which this version does not know`);
  }
  if (value.backup !== backup) throw new Error('it belongs to another backup name');
  if (!isBackupManifest(value)) throw new Error('it is damaged');
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is damaged: it is not JSON');
  }
}

function isBackupManifest(value: object): value is BackupManifest {
  const { backup, time, appliance, files, authentication, ...rest } = value as Record<string, unknown>;
  return (
    [backup, time, appliance].every(isString) &&
    TIME.test(time as string) &&
    ['serial-number', 'host-name', 'hardware-model', 'release'].every((name) => rest[name] === null || isString(rest[name])) &&
    typeof rest['password-protected'] === 'boolean' &&
    (authentication === undefined || isAuthentication(authentication)) &&
    Array.isArray(files) &&
    files.length > 0 &&
    files.length <= 2 &&
    // A changed manifest must not name a file outside the folder or a foreign file.
    files.every((file: unknown) => isBackupFile(file) && parseBackupFileName(file.file) === backup)
  );
}

function isBackupFile(file: unknown): file is BackupFile {
  return (
    isObject(file) &&
    isString(file.file) &&
    (file.kind === 'xml' || file.kind === 'binary') &&
    isByteCount(file.bytes) &&
    isString(file.sha256) &&
    (file.compression === null || file.compression === 'gzip') &&
    (file.encryption === null || isString(file.encryption)) &&
    (file['hmac-sha256'] === undefined || isString(file['hmac-sha256'])) &&
    (file['password-protected'] === undefined || file['password-protected'] === true) &&
    isContent(file.content)
  );
}

function isContent(content: unknown): boolean {
  return isObject(content) && isString(content.sha256) && isByteCount(content.bytes) && isString(content.fingerprint);
}

function isAuthentication(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { method, salt, 'hmac-sha256': mac } = value;
  return method === AUTHENTICATION_METHOD && isString(salt) && /^[0-9a-f]{32}$/.test(salt) && isString(mac);
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isByteCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
