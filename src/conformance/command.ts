import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { asGatewayError } from '../model/error';
import type { Settings } from '../model/settings';
import { checkConformance, type ConformanceLimits } from './index';

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  url: { type: 'string' },
  realm: { type: 'string' },
  username: { type: 'string' },
  login: { type: 'string' },
  'second-factor': { type: 'string' },
  'second-username': { type: 'string' },
  'ca-file': { type: 'string' },
  servername: { type: 'string' },
  timeout: { type: 'string' },
  out: { type: 'string' },
  writes: { type: 'boolean' },
  yes: { type: 'boolean' },
  'max-requests': { type: 'string' },
  rate: { type: 'string' },
} as const;

const CONFORMANCE_USAGE = `gateway-conformance: checks how an appliance answers, and writes a report and a profile

  --url <url>                base address of the appliance
  --realm <realm>            admin realm of the login
  --username <name>          the administrator
  --login <kind>             realm (default), legacy or key
  --second-factor <kind>     none (default), password or totp
  --second-username <name>   user name of the second step, if it differs
  --ca-file <pem>            certificates of the authorities to trust
  --servername <name>        expected name in the certificate
  --timeout <seconds>        for one request, default 30
  --out <folder>             where conformance.md and profile.json are written
  --writes --yes             also creates one local user and one role, and removes both
  --max-requests <number>    default 200
  --rate <number>            requests per second on average, default 4
  --help                     this text

Secrets come from the environment: GATEWAY_PASSWORD, GATEWAY_SECOND_PASSWORD, GATEWAY_TOTP_SECRET, GATEWAY_API_KEY.
Exit code: 0 if the check ran to its end, 2 if it could not.
`;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

/** The functions of the process that the command uses. */
interface ConformanceCommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
  readonly signal?: AbortSignal;
  readonly limits?: ConformanceLimits;
}

/** Runs the command and returns its exit code. */
export async function runConformanceCommand(args: readonly string[], context: ConformanceCommandContext): Promise<0 | 2> {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    if (values.help) {
      context.print(CONFORMANCE_USAGE);
      return 0;
    }
    return await check(values, context);
  } catch (thrown) {
    const text = asGatewayError(thrown).message.split('\n')[0] ?? '';
    context.printError(`gateway-conformance: ${text}\n`);
    return 2;
  }
}

async function check(values: Values, { env, print, printError, signal, limits }: ConformanceCommandContext): Promise<0 | 2> {
  const { out, writes = false, yes = false } = values;
  if (!values.url) throw new Error('--url is missing. Nothing was sent.');
  if (!out) throw new Error('--out is missing: the folder for conformance.md and profile.json. Nothing was sent.');
  if (writes && !yes)
    throw new Error(
      '--writes creates one local user and one role on the appliance, and removes both. Add --yes to confirm. Nothing was sent.',
    );
  const options = {
    writes,
    maxRequests: readNumber(values['max-requests'], 'max-requests'),
    requestsPerSecond: readNumber(values.rate, 'rate'),
    signal,
    ...limits,
  };
  // A folder that cannot be written to is an error before anything is sent.
  mkdirSync(out, { recursive: true });
  const { report, profile, failure } = await checkConformance(toSettings(values, env), options);
  writeFileSync(join(out, 'conformance.md'), report);
  writeFileSync(join(out, 'profile.json'), `${JSON.stringify(profile, null, 2)}\n`);
  print(`${report.split('\n\n')[1] ?? ''}\nWrote ${join(out, 'conformance.md')} and ${join(out, 'profile.json')}.\n`);
  if (failure === undefined) return 0;
  printError(`gateway-conformance: the check could not run to its end: ${failure}\n`);
  return 2;
}

function toSettings(values: Values, env: ConformanceCommandContext['env']): Settings {
  const caFile = values['ca-file'];
  const timeout = readNumber(values.timeout, 'timeout');
  const tls = {
    ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
    ...(values.servername && { servername: values.servername }),
  };
  const settings = {
    url: values.url,
    login: values.login,
    realm: values.realm,
    username: values.username,
    secondFactor: values['second-factor'],
    secondUsername: values['second-username'],
    password: env['GATEWAY_PASSWORD'],
    secondPassword: env['GATEWAY_SECOND_PASSWORD'],
    totpSecret: env['GATEWAY_TOTP_SECRET'],
    apiKey: env['GATEWAY_API_KEY'],
    tls,
    timeout,
  };
  // The library checks the values.
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as unknown as Settings;
}

function readNumber(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d+(\.\d+)?$/.test(value)) throw new Error(`--${name} takes a number, not "${value}". Nothing was sent.`);
  return Number(value);
}
