import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import { CREDENTIAL_NAMES, type CredentialName } from '../model/setting-kinds';

export type CredentialSet = Readonly<Partial<Record<CredentialName, string>>>;

/** Where credential sets are kept. */
export interface CredentialSource {
  /** What there is of a set; nothing where there is none of that name. Errors: `BAD_CONFIG` for what cannot be read. */
  readonly read: (set: string) => CredentialSet;
  /** In words, where one value of a set has to be put. */
  readonly describeLocation: (set: string, name: CredentialName) => string;
}

/** Sets by name, as they are given. */
export function credentialsFromObject(
  sets: Readonly<Record<string, CredentialSet>>,
  location = 'the credentials of the inventory',
): CredentialSource {
  return {
    read: (set) => (Object.hasOwn(sets, set) ? (sets[set] ?? {}) : {}),
    describeLocation: (set, name) => `Enter ${name} of the set ${set} in ${location}.`,
  };
}

/** `totpSecret` is `TOTP_SECRET`. */
const toConstantCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** Variables of the environment: `GATEWAY_EU_PASSWORD` for the password of the set `eu`. */
export function credentialsFromEnvironment(
  prefix = 'GATEWAY',
  environment: Readonly<Record<string, string | undefined>> = process.env,
): CredentialSource {
  const variableName = (set: string, name: CredentialName): string =>
    `${prefix}_${set.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_${toConstantCase(name)}`;
  return {
    read: (set) => readCredentialSet((name) => environment[variableName(set, name)]),
    describeLocation: (set, name) => `Set the environment variable ${variableName(set, name)} where this process is started.`,
  };
}

/** A folder with one folder for each set, and in it one file for each value, such as `eu/password`. A line end behind the value is none of it. */
export function credentialsFromFolder(folder: string): CredentialSource {
  const readValue = (set: string, name: CredentialName): string | undefined => {
    try {
      return readFileSync(join(folder, set, name), 'utf8').replace(/\r?\n$/, '');
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      const errorText = safeMessage`${trusted(name)} of the credential set ${set} cannot be read from its file (${trusted(code ?? 'unknown')}).`;
      throw new GatewayError('BAD_CONFIG', errorText, { sent: false });
    }
  };
  return {
    read: (set) => readCredentialSet((name) => readValue(set, name)),
    describeLocation: (set, name) => `Put it into the file ${join(folder, set, name)}.`,
  };
}

function readCredentialSet(read: (name: CredentialName) => string | undefined): CredentialSet {
  const values = CREDENTIAL_NAMES.map((name) => [name, read(name)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== ''));
}
