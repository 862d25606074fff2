import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFileSync } from '../files/open-regular-file';
import { GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import { CREDENTIAL_NAMES, type CredentialName } from '../model/setting-kinds';

export type CredentialSet = Readonly<Partial<Record<CredentialName, string>>>;

/** Reads credential sets by name. */
export interface CredentialSource {
  /** Returns the values of a set, or an empty object for an unknown set. Errors: `BAD_CONFIG` if a value cannot be read. */
  readonly read: (set: string) => CredentialSet;
  /** A sentence that says where to enter a value of a set. */
  readonly describeLocation: (set: string, name: CredentialName) => string;
  /** The names of the sets, for an error about an unknown one. */
  readonly listNames?: () => readonly string[];
}

/** Reads credential sets from an object. */
export function credentialsFromObject(
  sets: Readonly<Record<string, CredentialSet>>,
  location = 'the credentials of the inventory',
): CredentialSource {
  return {
    read: (set) => (Object.hasOwn(sets, set) ? (sets[set] ?? {}) : {}),
    describeLocation: (set, name) => `Enter ${name} of the set ${set} in ${location}.`,
    listNames: () => Object.keys(sets).filter((set) => Object.keys(sets[set] ?? {}).length > 0),
  };
}

/** Converts `totpSecret` to `TOTP_SECRET`. */
const toConstantCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** Reads credential sets from environment variables, such as `GATEWAY_EU_PASSWORD` for the password of the set `eu`. */
export function credentialsFromEnvironment(
  prefix = 'GATEWAY',
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CredentialSource {
  const variableName = (set: string, name: CredentialName): string =>
    `${prefix}_${set.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_${toConstantCase(name)}`;
  const variables = new RegExp(`^(.+?)_(?:${CREDENTIAL_NAMES.map(toConstantCase).join('|')})$`);
  return {
    read: (set) => readCredentialSet((name) => environment[variableName(set, name)]),
    listNames: () => {
      const names = Object.keys(environment).filter((key) => key.startsWith(`${prefix}_`) && environment[key] !== '');
      return [...new Set(names.flatMap((key) => variables.exec(key.slice(prefix.length + 1))?.[1]?.toLowerCase() ?? []))];
    },
    describeLocation: (set, name) => `Set the environment variable ${variableName(set, name)} where this process is started.`,
  };
}

const MAX_VALUE_BYTES = 64 * 1024;

/** Reads credential sets from a folder with a file for each value, such as `eu/password`. A line end after the value is removed. */
export function credentialsFromFolder(folder: string): CredentialSource {
  const readValue = (set: string, name: CredentialName): string | undefined => {
    try {
      return readRegularFileSync(join(folder, set, name), MAX_VALUE_BYTES)
        .toString('utf8')
        .replace(/\r?\n$/, '');
    } catch (thrown) {
      if (thrown instanceof GatewayError) throw new GatewayError('BAD_CONFIG', thrown.safeMessage, { sent: false });
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      const errorText = safeMessage`${trusted(name)} of the credential set ${set} cannot be read from its file (${trusted(code ?? 'unknown')}).`;
      throw new GatewayError('BAD_CONFIG', errorText, { sent: false });
    }
  };
  return {
    read: (set) => readCredentialSet((name) => readValue(set, name)),
    describeLocation: (set, name) => `Put it into the file ${join(folder, set, name)}.`,
    listNames: () => listFolders(folder),
  };
}

function listFolders(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

function readCredentialSet(read: (name: CredentialName) => string | undefined): CredentialSet {
  const values = CREDENTIAL_NAMES.map((name) => [name, read(name)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== ''));
}
