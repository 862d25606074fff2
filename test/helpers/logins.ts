import type { Simulator } from '../../src/simulator';
import { LOGIN_PATH } from './simulated-appliance';

export const LEGACY_LOGIN_PATH = '/api/v1/auth';

export const createBasicAuthorization = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

export interface LoginStep {
  method: string;
  path: string;
  authorization: string | undefined;
  body: unknown;
}

/** Every login step that reached the appliance. */
export function listLoginSteps(simulator: Simulator): LoginStep[] {
  return simulator.requests
    .filter(({ path }) => path.endsWith(LOGIN_PATH) || path.endsWith(LEGACY_LOGIN_PATH))
    .map(({ method, path, headers, body }) => ({
      method,
      path,
      authorization: headers.authorization,
      body: body === '' ? undefined : (JSON.parse(body) as unknown),
    }));
}

/** The code or password of every second step. */
export function listSecondStepAnswers(simulator: Simulator): string[] {
  const seconds = listLoginSteps(simulator).filter(({ body }) => typeof body === 'object' && body !== null && 'resume_id' in body);
  return seconds.map(({ authorization = '' }) => Buffer.from(authorization.slice(6), 'base64').toString().split(':')[1] ?? '');
}
