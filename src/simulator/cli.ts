#!/usr/bin/env node
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addExamplePerson } from './example-person';
import { limitMemory } from './copy/limit-memory';
import { type Simulator, type SimulatorOptions, startSimulator } from './index';
import { VARIANTS, type Variants, type VariantValue, parseVariant } from './variants';

/** `gateway-simulator`: an appliance to try flows against. */
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  port: { type: 'string' },
  host: { type: 'string' },
  name: { type: 'string' },
  sessions: { type: 'string' },
  username: { type: 'string' },
  password: { type: 'string' },
  realm: { type: 'string' },
  'second-factor': { type: 'string' },
  'second-password': { type: 'string' },
  'totp-secret': { type: 'string' },
  'key-lifetime': { type: 'string' },
  delay: { type: 'string' },
  role: { type: 'string' },
  cluster: { type: 'string' },
  vendor: { type: 'string' },
  brand: { type: 'string' },
  'path-prefix': { type: 'string' },
  'ca-file': { type: 'string' },
  profile: { type: 'string' },
  from: { type: 'string', multiple: true },
  save: { type: 'string' },
  variant: { type: 'string', multiple: true },
} as const;

const USAGE = `gateway-simulator: a remote-access gateway appliance to develop and demonstrate against (HTTPS, loopback only)

  --port <number>           default 8443; 0 = any free port
  --host <address>          loopback only, default 127.0.0.1
  --name <text>             host name in the system information
  --sessions <number>       active sessions besides the two of j.doe, default 25
  --username, --password, --realm <text>
                            the administrator: api-admin, simulator, Admin Users
  --second-factor <kind>    none, password or totp
  --second-password <text>  for password, default "second"
  --totp-secret <base32>    for totp, default JBSWY3DPEHPK3PXP
  --key-lifetime <seconds>  API keys end after this time; default never
  --delay <ms>              think time per request
  --role <kind>             independent, license-server or license-client
  --cluster <mode>          none, active-active or active-passive
  --vendor, --brand <word>  the words in <vendor>-enforcer and exclude<Brand>Packages: acme, Apex
  --path-prefix </path>     as if a proxy put a path before /api/v1
  --ca-file <file>          where the certificate to trust is written
  --from <folder>           a copy of the configuration in a snapshot folder, or in one or several JSON files
  --save <folder>           writes the configuration as a snapshot when it ends, and at SIGUSR2
  --variant <name[=value]>  what deployed appliances do differently; may be given more than once
  --profile <file>          answer like the appliance of this profile.json of gateway-conformance
  --help                    this text

Variants (first value = default):
`;

function helpText(): string {
  const entries: [string, { help: string; values: readonly VariantValue[] | undefined; default: VariantValue }][] =
    Object.entries(VARIANTS);
  const lines = entries.map(
    ([name, { help: text, values, default: value }]) => `  ${name} = ${values ? values.join(' | ') : JSON.stringify(value)}\n      ${text}`,
  );
  return `${USAGE}${lines.join('\n')}\n`;
}

function parseNumber(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) throw new Error(`--${name} takes a whole number; it was given "${value}".`);
  return Number(value);
}

function parseChoice<T extends string>(value: string | undefined, name: string, ...allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new Error(`--${name} takes ${allowed.join(', ')}; it was given "${value}".`);
  return found;
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

function parseSecondFactor(values: Values): SimulatorOptions['secondFactor'] {
  const kind = parseChoice(values['second-factor'], 'second-factor', 'none', 'password', 'totp');
  if (kind === 'password') return { password: values['second-password'] ?? 'second' };
  if (kind === 'totp') return { totpSecret: values['totp-secret'] ?? 'JBSWY3DPEHPK3PXP' };
  return undefined;
}

/** The options of `startSimulator` from those of the command line; absent ones keep their defaults. */
function toSimulatorOptions(values: Values): SimulatorOptions {
  const lifetime = parseNumber(values['key-lifetime'], 'key-lifetime');
  const variants: Partial<Variants> = Object.assign({}, ...(values.variant ?? []).map(parseVariant)) as Partial<Variants>;
  const options = {
    port: parseNumber(values.port, 'port') ?? 8443,
    host: values.host,
    name: values.name,
    sessions: parseNumber(values.sessions, 'sessions'),
    username: values.username,
    password: values.password,
    realm: values.realm,
    secondFactor: parseSecondFactor(values),
    keyLifetimeMs: lifetime === undefined ? undefined : lifetime * 1000,
    delayMs: parseNumber(values.delay, 'delay'),
    role: parseChoice(values.role, 'role', 'independent', 'license-server', 'license-client'),
    cluster: parseChoice(values.cluster, 'cluster', 'none', 'active-active', 'active-passive'),
    vendor: values.vendor,
    brand: values.brand,
    pathPrefix: values['path-prefix'],
    profile: values.profile,
    from: values.from,
    variants,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function welcomeText(simulator: Simulator, caFile: string): string {
  const { username, password, realm, secondFactor: second } = simulator.state.settings;
  const lines = [
    `The simulator listens on ${simulator.url}`,
    `Certificate to trust:    ${caFile}`,
    `Administrator:           ${username}   password: ${password}   realm: ${realm}`,
    ...(second
      ? [second.totpSecret === undefined ? `Second password:         ${second.password}` : `TOTP secret:             ${second.totpSecret}`]
      : []),
    'Stop it with Ctrl-C.',
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns false if the configuration could not be saved. */
function saveConfiguration(simulator: Simulator, folder: string | undefined): boolean {
  if (folder === undefined) return true;
  try {
    const { resources, written, removed } = simulator.save(folder);
    process.stdout.write(`Saved ${resources} resources to ${folder}: ${written} files written, ${removed} removed.\n`);
    return true;
  } catch (error) {
    process.stderr.write(`gateway-simulator: the configuration could not be saved to ${folder}: ${toErrorText(error)}\n`);
    return false;
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(helpText());
    return;
  }
  if (values.from !== undefined) limitMemory();
  const simulator = await startSimulator(toSimulatorOptions(values));
  if (values.from === undefined) addExamplePerson(simulator);
  const caFile = values['ca-file'] ?? join(tmpdir(), `gateway-simulator-${simulator.port}.pem`);
  try {
    writeFileSync(caFile, simulator.ca);
  } catch (error) {
    await simulator.close();
    throw error;
  }
  process.stdout.write(welcomeText(simulator, caFile));
  const stop = (): void => {
    const isSaved = saveConfiguration(simulator, values.save);
    void simulator.close().then(() => process.exit(isSaved ? 0 : 1));
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  if (process.platform !== 'win32') process.on('SIGUSR2', () => saveConfiguration(simulator, values.save));
}

function toErrorText(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'The port is in use; choose another with --port.';
  return message.split('\n')[0] ?? String(error);
}

main().catch((error: unknown) => {
  process.stderr.write(`gateway-simulator: ${toErrorText(error)}\n`);
  process.exit(1);
});

// esbuild takes a file without exports for CommonJS.
export {};
