import type { JsonObject } from './body-shape';
import { type SimulatorProfile, readProfile } from './profile';
import { computeTotpCode } from './totp';
import { type Variants, defaultVariants } from './variants';

export interface SecondFactor {
  /** A fixed second password. */
  password?: string;
  /** Base32 secret of RFC 6238 codes (SHA-1, 30 s, 6 digits). */
  totpSecret?: string;
  /** Number of steps that return `resume_id` before a key is issued, 1 by default. Infinity: never a key. */
  steps?: number;
}

export interface SimulatorOptions {
  /** 0 = any free port (default). */
  port?: number;
  /** Loopback only, default 127.0.0.1. */
  host?: string;
  /** host-name in system information. */
  name?: string;
  /** Active sessions, generated on demand and the same every time, default 25. */
  sessions?: number;
  /** The administrator; defaults `api-admin`, `simulator`, `Admin Users`. */
  username?: string;
  password?: string;
  realm?: string;
  secondFactor?: SecondFactor;
  /** Lifetime of every key. Unlimited if absent. */
  keyLifetimeMs?: number;
  variants?: Partial<Variants>;
  /** Think time per request. */
  delayMs?: number;
  role?: 'independent' | 'license-server' | 'license-client';
  cluster?: 'none' | 'active-active' | 'active-passive';
  /** The word in `<vendor>-enforcer`, default `acme`. */
  vendor?: string;
  /** The word in `exclude<Brand>Packages` and, first letter lower-case, in `<brand>-client-version`; default `Apex`. */
  brand?: string;
  /** The word in `<thirdparty>-sdk-version`, default `vector`. */
  thirdParty?: string;
  /** Keys of the named users on a license server, defaults `gateway` and `policy`. */
  gatewayKind?: string;
  policyKind?: string;
  /** A path prefix before /api/v1, as a reverse proxy adds it, e.g. `/vpn1`. */
  pathPrefix?: string;
  /** The log keeps this number of latest requests, 50,000 by default. */
  journalLimit?: number;
  /** What a conformance check found, or the path of its file: the simulator answers like that appliance. */
  profile?: string | object;
  /** A copy of another configuration: snapshot folders or JSON files by their paths, or JSON documents. */
  from?: string | JsonObject | readonly (string | JsonObject)[];
  /** PEM; else a fresh self-signed certificate is made. */
  tls?: { key: string; cert: string };
}

export type SimulatorSettings = Required<
  Omit<SimulatorOptions, 'tls' | 'secondFactor' | 'keyLifetimeMs' | 'variants' | 'profile' | 'from'>
> &
  Pick<SimulatorOptions, 'tls' | 'secondFactor' | 'keyLifetimeMs' | 'from'> & { variants: Variants; profile?: SimulatorProfile };

const DEFAULTS: Omit<SimulatorSettings, 'variants'> = {
  port: 0,
  host: '127.0.0.1',
  name: 'gateway-1',
  sessions: 25,
  username: 'api-admin',
  password: 'simulator',
  realm: 'Admin Users',
  delayMs: 0,
  role: 'independent',
  cluster: 'none',
  vendor: 'acme',
  brand: 'Apex',
  thirdParty: 'vector',
  gatewayKind: 'gateway',
  policyKind: 'policy',
  pathPrefix: '',
  journalLimit: 50_000,
};

// The simulator issues keys for a known password, so other machines must not reach it.
const LOOPBACK = /^(localhost|::1|127(\.\d{1,3}){3})$/;

/** Returns the options with all defaults. Throws a sentence about the first invalid option. */
export function resolveOptions(options: SimulatorOptions): SimulatorSettings {
  const definedOptions = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as SimulatorOptions;
  const { profile: source, variants, ...others } = definedOptions;
  const profile = source === undefined ? undefined : readProfile(source);
  const settings: SimulatorSettings = {
    ...DEFAULTS,
    ...profile?.defaults,
    ...others,
    variants: { ...defaultVariants(), ...profile?.variants, ...variants },
    ...(profile && { profile }),
  };
  if (!LOOPBACK.test(settings.host)) throw new Error(`The simulator listens on loopback addresses only, not on "${settings.host}".`);
  if (!Number.isInteger(settings.port) || settings.port < 0 || settings.port > 65_535)
    throw new Error('The port must be a number from 0 to 65535.');
  if (!Number.isInteger(settings.sessions) || settings.sessions < 0 || settings.sessions > 0xffffff)
    throw new Error('The number of sessions must be a whole number from 0 to 16777215.');
  if (!(settings.delayMs >= 0)) throw new Error('The delay must be a number of milliseconds.');
  if (settings.keyLifetimeMs !== undefined && !(settings.keyLifetimeMs >= 0))
    throw new Error('The key lifetime must be a number of milliseconds.');
  if (!/^(\/[A-Za-z0-9\-._~]+)*$/.test(settings.pathPrefix))
    throw new Error('The path prefix must look like /name, without a slash at the end.');
  const { secondFactor } = settings;
  if (secondFactor && (secondFactor.password === undefined) === (secondFactor.totpSecret === undefined))
    throw new Error('A second factor needs either a password or a TOTP secret.');
  if (secondFactor?.totpSecret !== undefined) computeTotpCode(secondFactor.totpSecret, 0); // throws where it is not base32
  return settings;
}
