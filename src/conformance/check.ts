import { asGatewayError, GatewayError } from '../model/error';
import type { Handshake } from '../http/peer-certificate';
import type { RawConnection } from '../model/raw-exchange';
import { trusted } from '../model/safe-message';
import { MASKED_KEY } from './key-names';
import { DEFAULT_MAX_REQUESTS, DEFAULT_REQUESTS_PER_SECOND, RequestPacer, systemCheckClock, type CheckClock } from './pacer';
import { reportHandshake, reportLoginSteps } from './probe-connection';
import { probeProtocol } from './probe-protocol';
import { measureTimes, probeServices } from './probe-services';
import { probeSessions } from './probe-sessions';
import { probeTree } from './probe-tree';
import { probeWrites } from './probe-writes';
import { ProbeRunner } from './probe-runner';
import { PROFILE_FORMAT, type ConformanceProfile } from './profile';
import { writeConformanceReport } from './report';

export interface ConformanceResult {
  /** Markdown for people. */
  readonly report: string;
  readonly profile: ConformanceProfile;
  /** Why the check ended early, without values of the appliance. */
  readonly failure?: string;
}

export interface ConformanceProgress {
  readonly requests: number;
  readonly maxRequests: number;
  /** Method and path of the current request, with `*` for names. */
  readonly step: string;
}

export interface ConformanceLimits {
  /** Default 200. */
  readonly maxRequests?: number | undefined;
  /** Requests per second on average. Eight simultaneous requests have a pause before and after them. Default: 4. */
  readonly requestsPerSecond?: number | undefined;
  readonly onProgress?: ((progress: ConformanceProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For tests. */
  readonly clock?: CheckClock | undefined;
}

interface ProbeSubject {
  readonly connection: RawConnection;
  /** User name of our login. */
  readonly account: string | undefined;
  readonly realm: string | undefined;
  readonly writes: boolean;
  /** Whether a failure rejects the promise of the check. Otherwise the check ends early and returns what it found. */
  readonly failsEarly?: boolean;
  /** The TLS handshake; undefined when the check cannot make one. */
  readonly handshake?: Handshake | undefined;
  /** Steps of our own login, once the key was used. */
  readonly countLoginSteps?: () => number;
}

/** Runs all probes. Errors: only `ABORTED` and those before the first response; later ones end the check early with what was found. */
export async function runProbes(subject: ProbeSubject, limits: ConformanceLimits): Promise<ConformanceResult> {
  const { maxRequests = DEFAULT_MAX_REQUESTS, requestsPerSecond = DEFAULT_REQUESTS_PER_SECOND, clock = systemCheckClock, signal } = limits;
  const pacer = new RequestPacer(maxRequests, requestsPerSecond, clock, signal);
  const prober = new ProbeRunner(subject.connection, pacer, (step) => limits.onProgress?.({ requests: pacer.sent, maxRequests, step }));
  if (subject.handshake) reportHandshake(prober, subject.handshake);
  let failure: string | undefined;
  try {
    await runAll(prober, subject);
  } catch (thrown) {
    if (subject.failsEarly) throw thrown;
    failure = await describeFailure(prober, asGatewayError(thrown), subject);
  }
  const profile = toProfile(prober);
  const report = `${writeConformanceReport({ prober, profile, hasWrites: subject.writes, failure })}\n`;
  return { report, profile, ...(failure !== undefined && { failure }) };
}

async function runAll(prober: ProbeRunner, { account, realm, writes, countLoginSteps }: ProbeSubject): Promise<void> {
  await probeProtocol(prober);
  if (countLoginSteps) reportLoginSteps(prober, countLoginSteps());
  prober.found('restAccess', true);
  prober.found('loginAnswer', 'key');
  await probeSessions(prober, account);
  await probeServices(prober);
  const server = await probeTree(prober);
  if (writes) await probeWrites(prober, server, realm);
  await measureTimes(prober);
  prober.found('restarting', false);
}

/** Returns what a failed login shows. Errors: the given error if nothing was learned, or if a created object was left behind. */
async function describeFailure(prober: ProbeRunner, error: GatewayError, { realm }: ProbeSubject): Promise<string> {
  const { code, details } = error;
  const { status } = details;
  const isLogin = prober.toEndpoints().length === 0;
  if (prober.leftBehind.length === 0 && (code === 'ABORTED' || (isLogin && status === undefined))) throw error;
  if (isLogin && status === 500) prober.found('restarting', true);
  else if (isLogin && code === 'FORBIDDEN') prober.found('restAccess', false);
  else if (isLogin && typeof status === 'number' && status < 400) await probeLoginAnswer(prober, realm, status);
  const what = code === 'LIMIT' ? 'the requests are used up' : isLogin ? 'the login failed' : 'the appliance could no longer be used';
  return `${what} (${code}${typeof status === 'number' ? `, status ${status}` : ''}).`;
}

/** Probes the login without credentials, because a sign-in page answers anybody. */
async function probeLoginAnswer(prober: ProbeRunner, realm: string | undefined, status: number): Promise<void> {
  if (status >= 300) prober.found('loginAnswer', 'redirect');
  else {
    const body = { realm: realm ?? '' };
    const reply = await prober.send({ template: '/api/v1/realm_auth', method: 'POST', body, credentials: 'none' });
    prober.found('loginAnswer', reply.body === 'html' ? 'page' : 'neither');
  }
}

function toProfile(prober: ProbeRunner): ConformanceProfile {
  const { changedField, keyNames, release, variants } = prober;
  const shownField = changedField === undefined ? undefined : keyNames.show(changedField);
  if (shownField === MASKED_KEY) prober.note('The appliance changes a field by itself after a write. Its name is not shown.');
  const times = prober.timesByEndpoint().map(([name, values]) => [name, summarizeTimes(values)] as const);
  return {
    format: PROFILE_FORMAT,
    release,
    variants: { ...variants, ...(shownField !== undefined && shownField !== MASKED_KEY && { changesField: shownField }) },
    endpoints: prober.toEndpoints(),
    times: Object.fromEntries(times),
  };
}

function summarizeTimes(values: readonly number[]): { count: number; median: number; p95: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => Math.round((sorted[Math.ceil(sorted.length * share) - 1] ?? 0) * 10) / 10;
  return { count: sorted.length, median: at(0.5), p95: at(0.95) };
}

/** Checks the limits. Errors: `BAD_CONFIG` for a limit that is not possible. */
export function assertConformanceLimits({ maxRequests, requestsPerSecond }: ConformanceLimits): void {
  if (maxRequests !== undefined && !(Number.isInteger(maxRequests) && maxRequests > 0 && maxRequests <= 10_000))
    throw new GatewayError('BAD_CONFIG', trusted('maxRequests must be a whole number from 1 to 10000.'));
  if (requestsPerSecond !== undefined && !(requestsPerSecond > 0 && requestsPerSecond <= 1000))
    throw new GatewayError('BAD_CONFIG', trusted('requestsPerSecond must be a number above 0, at most 1000.'));
}
