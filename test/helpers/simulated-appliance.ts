import { inspect } from 'node:util';
import { onTestFinished } from 'vitest';
import { operations } from '../../src/areas';
import { GatewayError } from '../../src/model/error';
import type { BulkResult } from '../../src/model/envelope';
import { Gateway, type GatewayOptions, type RunOutcome, type RunOptions } from '../../src/gateway/gateway';
import type { Settings } from '../../src/model/settings';
import { selfSigned, startSimulator, type RequestLogEntry, type Simulator, type SimulatorOptions } from '../../src/simulator';
import { resetProcessState } from './reset-process-state';

export { getThrownCode, getThrownError } from './thrown-error';

/** One key pair for all simulators of a test file: making one costs more than most tests. */
export const simulatorCertificate = selfSigned();

export const LOGIN_PATH = '/api/v1/realm_auth';
export const ACTIVE_USERS_PATH = '/api/v1/system/active-users';
export const SYSTEM_INFORMATION_PATH = '/api/v1/system/system-information';
export const USER_ROLES_PATH = '/api/v1/configuration/users/user-roles/user-role';

/** Which request a fault is for. */
export const isInformationRequest = ({ path }: { path: string }): boolean => path === SYSTEM_INFORMATION_PATH;
export const isWriteRequest = ({ method }: { method: string }): boolean => method === 'DELETE' || method === 'PUT';

/** A simulator that ends with the test. */
export async function startTestSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ tls: simulatorCertificate, ...options });
  onTestFinished(async () => {
    await simulator.close();
    resetProcessState();
  });
  return simulator;
}

/** Settings that log in to a simulator with its defaults. */
export function settingsFor({ url }: { url: string }, more: Partial<Settings> = {}): Settings {
  return {
    url,
    realm: 'Admin Users',
    username: 'api-admin',
    password: 'simulator',
    tls: { ca: simulatorCertificate.cert },
    timeout: 30,
    ...more,
  };
}

/** Takes any input: what the types refuse, the library has to refuse as well. */
export type AnyGateway = {
  run(name: string, input?: Readonly<Record<string, unknown>>, options?: RunOptions | AbortSignal): Promise<RunOutcome>;
} & Gateway;

/** A gateway that closes with the test. */
export function gatewayFor(target: { url: string }, more: Partial<Settings> = {}, options: GatewayOptions = {}): AnyGateway {
  const gateway = new Gateway(settingsFor(target, more), options);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** A simulator and a gateway for tests without special needs. */
export async function startSimulatorWithGateway(
  options: SimulatorOptions = {},
  more: Partial<Settings> = {},
  gatewayOptions: GatewayOptions = {},
): Promise<{ simulator: Simulator; gateway: AnyGateway }> {
  const simulator = await startTestSimulator(options);
  return { simulator, gateway: gatewayFor(simulator, more, gatewayOptions) };
}

/** Returns the error of a run that must fail. */
export async function expectFailure(run: Promise<unknown>): Promise<GatewayError> {
  const outcome = await run.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof GatewayError) return outcome;
  throw new Error(outcome === undefined ? 'It succeeded, but it had to fail' : `Not a GatewayError: ${inspect(outcome)}`);
}

/** The input of an operation whose login is not to be proved: what the proof sends is a matter of test/unit/change/lock-out.test.ts. */
export function withoutLoginProof(name: string, input: Record<string, unknown>): Record<string, unknown> {
  return operations.get(name)?.fields['prove-login'] ? { ...input, 'prove-login': false } : input;
}

/** Requests that reached the appliance, without logins. */
export function listRequests(simulator: Simulator): RequestLogEntry[] {
  return simulator.requests.filter(({ path }) => !path.endsWith(LOGIN_PATH));
}

/** The same as lines: `GET /api/v1/…`. */
export function listRequestLines(simulator: Simulator): string[] {
  return listRequests(simulator).map(({ method, path }) => `${method} ${path}`);
}

export function listWriteLines(simulator: Simulator): string[] {
  return listRequestLines(simulator).filter((line) => !line.startsWith('GET '));
}

export function readSessionIds(data: unknown): string[] {
  return (data as { 'session-id': string }[]).map((record) => record['session-id']);
}

export function asBulkResult(data: unknown): BulkResult {
  return data as BulkResult;
}
