import type { Settings } from './settings';

/** Settings that log in: they are kept apart from all others, as credentials. */
export const CREDENTIAL_NAMES = ['username', 'password', 'secondUsername', 'secondPassword', 'totpSecret', 'apiKey'] as const;
export type CredentialName = (typeof CREDENTIAL_NAMES)[number];

/** Settings that are one text, number or truth value: what can stand in a cell of a table. */
export type PlainSetting = Exclude<keyof Settings, CredentialName | 'tls' | 'proxy'>;

/** All of them, and what each is: a setting that is missing here does not compile. */
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
  pin: 'text',
  permissions: 'text',
  rate: 'number',
  waiting: 'number',
  log: 'boolean',
} as const satisfies Readonly<Record<PlainSetting, 'text' | 'number' | 'boolean'>>;
