import type { Kind, Verified } from '../transfer/content';
import { isObject } from '../model/json';
import { backupOfFile } from './names';

/** Without a passphrase. */
export const FORMAT = 'gateway-backup/1';
/** With one: a code of it over the manifest is in `authentication`. */
export const AUTHENTICATED_FORMAT = 'gateway-backup/2';
export const AUTHENTICATION = 'hmac-sha256-pbkdf2-sha256-600000';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** One file of a backup. `bytes` and `sha256` are those of the file as it lies there, `content` is what was exported. */
export interface BackupFile {
  readonly file: string;
  readonly kind: Kind;
  readonly bytes: number;
  readonly sha256: string;
  readonly compression: 'gzip' | null;
  readonly encryption: string | null;
  readonly 'hmac-sha256'?: string;
  readonly content: {
    readonly bytes: number;
    readonly sha256: string;
    readonly verified: Verified;
    /** The same as long as the configuration is, whatever the time of the export. */
    readonly fingerprint: string;
  };
}

/** What stands in `<backup>.json`. It holds no secret. Times are ISO 8601 in UTC. */
export interface Manifest {
  readonly format: typeof FORMAT | typeof AUTHENTICATED_FORMAT;
  readonly backup: string;
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly 'host-name': string | null;
  readonly 'hardware-model': string | null;
  readonly release: string | null;
  readonly time: string;
  /** Whether the XML export was protected with a password, which its import needs. */
  readonly 'password-protected': boolean;
  readonly files: readonly BackupFile[];
  /** Of the passphrase, over everything else here; the salt is hexadecimal. */
  readonly authentication?: { readonly method: typeof AUTHENTICATION; readonly salt: string; readonly 'hmac-sha256': string };
}

/** Undefined for JSON that claims to be nothing of ours. Throws an `Error` that says what is wrong with what does. */
export function parseManifest(text: string, backup: string): Manifest | undefined {
  const value = parse(text);
  if (!isObject(value) || typeof value.format !== 'string' || !value.format.startsWith('gateway-backup/')) return undefined;
  if (value.format !== FORMAT && value.format !== AUTHENTICATED_FORMAT) {
    throw new Error(`its format is ${JSON.stringify(value.format.slice(0, 40))}, which this version does not know`);
  }
  if (value.backup !== backup) throw new Error('it was made for another name');
  if (!isManifest(value)) throw new Error('it is damaged');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is damaged: what is in it is no JSON');
  }
}

function isManifest(value: object): value is Manifest {
  const { backup, time, appliance, files, authentication, ...rest } = value as Record<string, unknown>;
  return (
    [backup, time, appliance].every(isText) &&
    TIME.test(time as string) &&
    ['serial-number', 'host-name', 'hardware-model', 'release'].every((name) => rest[name] === null || isText(rest[name])) &&
    typeof rest['password-protected'] === 'boolean' &&
    (authentication === undefined || isAuthentication(authentication)) &&
    Array.isArray(files) &&
    files.length > 0 &&
    files.length <= 2 &&
    // A manifest that was tampered with must not lead to a file outside of the folder, nor to one that is not ours.
    files.every((file: unknown) => isFile(file) && backupOfFile(file.file) === backup)
  );
}

function isFile(file: unknown): file is BackupFile {
  return (
    isObject(file) &&
    isText(file.file) &&
    (file.kind === 'xml' || file.kind === 'binary') &&
    isCount(file.bytes) &&
    isText(file.sha256) &&
    (file.compression === null || file.compression === 'gzip') &&
    (file.encryption === null || isText(file.encryption)) &&
    (file['hmac-sha256'] === undefined || isText(file['hmac-sha256'])) &&
    isContent(file.content)
  );
}

function isContent(content: unknown): boolean {
  return isObject(content) && isText(content.sha256) && isCount(content.bytes) && isText(content.fingerprint);
}

function isAuthentication(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { method, salt, 'hmac-sha256': code } = value;
  return method === AUTHENTICATION && isText(salt) && /^[0-9a-f]{32}$/.test(salt) && isText(code);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
