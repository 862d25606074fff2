import type { Settings } from './settings';

/** Settings for the login. They are stored as credentials, apart from all others. */
export const CREDENTIAL_NAMES = ['username', 'password', 'secondUsername', 'secondPassword', 'totpSecret', 'apiKey', 'signingKey'] as const;
export type CredentialName = (typeof CREDENTIAL_NAMES)[number];

/** Settings that are one text, number or boolean and fit into a table cell. */
export type ScalarSetting = Exclude<keyof Settings, CredentialName | 'tls' | 'proxy'>;

/** The kind of each plain setting. A missing setting does not compile. */
export const SETTING_KINDS = {
  name: 'text',
  url: 'text',
  login: 'text',
  realm: 'text',
  secondFactor: 'text',
  timeout: 'number',
  transferTimeout: 'number',
  connections: 'number',
  vendor: 'text',
  brand: 'text',
  journal: 'text',
  dryRun: 'boolean',
  rehearsal: 'text',
  pin: 'text',
  permissions: 'text',
  rate: 'number',
  waiting: 'number',
  log: 'boolean',
} as const satisfies Readonly<Record<ScalarSetting, 'text' | 'number' | 'boolean'>>;
