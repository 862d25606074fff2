import { inspect } from 'node:util';
import { onTestFinished } from 'vitest';
import { operations } from '../../src/areas';
import { GatewayError } from '../../src/model/error';
import type { Many } from '../../src/model/envelope';
import { Gateway, type GatewayOptions, type Outcome, type RunOptions } from '../../src/gateway';
import type { Settings } from '../../src/model/settings';
import { selfSigned, startSimulator, type JournalEntry, type Simulator, type SimulatorOptions } from '../../src/simulator';
import { forgetAppliances } from '../support/fresh';

export { codeOf, refusalOf } from './refusal';

/** One key pair for all simulators of a test file: making one costs more than most tests. */
export const certificate = selfSigned();

export const LOGIN = '/api/v1/realm_auth';
export const USERS = '/api/v1/system/active-users';
export const INFO = '/api/v1/system/system-information';
export const ROLES = '/api/v1/configuration/users/user-roles/user-role';

/** Which request a fault is for. */
export const isInfo = ({ path }: { path: string }): boolean => path === INFO;
export const isWrite = ({ method }: { method: string }): boolean => method === 'DELETE' || method === 'PUT';

/** A simulator that ends with the test. */
export async function appliance(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ tls: certificate, ...options });
  onTestFinished(async () => {
    await simulator.close();
    forgetAppliances();
  });
  return simulator;
}

/** Settings that log in to a simulator with its defaults. */
export function settingsFor({ url }: { url: string }, more: Partial<Settings> = {}): Settings {
  return { url, realm: 'Admin Users', username: 'api-admin', password: 'simulator', tls: { ca: certificate.cert }, timeout: 30, ...more };
}

/** Takes any input: what the types refuse, the library has to refuse as well. */
export type AnyGateway = {
  run(name: string, input?: Readonly<Record<string, unknown>>, options?: RunOptions | AbortSignal): Promise<Outcome>;
} & Gateway;

/** A gateway that is closed with the test. */
export function gatewayFor(target: { url: string }, more: Partial<Settings> = {}, options: GatewayOptions = {}): AnyGateway {
  const gateway = new Gateway(settingsFor(target, more), options);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** Both at once, for the tests that need nothing special. */
export async function pair(
  options: SimulatorOptions = {},
  more: Partial<Settings> = {},
  gatewayOptions: GatewayOptions = {},
): Promise<{ simulator: Simulator; gateway: AnyGateway }> {
  const simulator = await appliance(options);
  return { simulator, gateway: gatewayFor(simulator, more, gatewayOptions) };
}

/** The error of a run that has to fail. */
export async function failure(run: Promise<unknown>): Promise<GatewayError> {
  const outcome = await run.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof GatewayError) return outcome;
  throw new Error(outcome === undefined ? 'It succeeded, but it had to fail' : `Not a GatewayError: ${inspect(outcome)}`);
}

/** The input of an operation whose login is not to be proved: what the proof sends is a matter of test/lock-out.test.ts. */
export function unguarded(name: string, input: Record<string, unknown>): Record<string, unknown> {
  return operations.get(name)?.fields['prove-login'] ? { ...input, 'prove-login': false } : input;
}

/** What reached the appliance besides logins. */
export function calls(simulator: Simulator): JournalEntry[] {
  return simulator.requests.filter(({ path }) => !path.endsWith(LOGIN));
}

/** The same as lines: `GET /api/v1/…`. */
export function lines(simulator: Simulator): string[] {
  return calls(simulator).map(({ method, path }) => `${method} ${path}`);
}

export function writes(simulator: Simulator): string[] {
  return lines(simulator).filter((line) => !line.startsWith('GET '));
}

export function idsOf(data: unknown): string[] {
  return (data as { 'session-id': string }[]).map((record) => record['session-id']);
}

export function many(data: unknown): Many {
  return data as Many;
}
