import { asGatewayError } from '../../model/error';
import { isObject, type JsonObject } from '../../model/json';
import type { OperationContext, Finding, SupportInfo } from '../../model/operation-context';
import { encodedPath } from '../../model/path';

/** Minutes without use: a flow that asks less often logs in each time, and each login is a second. */
const MIN_IDLE_MINUTES = 10;
/** Logins an hour that are more than keys should need. */
const MAX_LOGINS_PER_HOUR = 6;
const MIN_LOGINS_TO_REPORT = 5;
const REALMS = '/api/v1/configuration/administrators/admin-realms/realm';
const ROLES = '/api/v1/configuration/administrators/admin-roles/admin-role';

/** What in the settings should be another way, as far as they tell it. */
export function collectFindings({ settings, counters }: SupportInfo, now = Date.now()): Finding[] {
  const { url, login, tls, proxy, permissions, pin } = settings;
  const checks = [
    [
      isObject(tls) && tls['verified'] === false,
      'tls-not-verified',
      'The certificate of the appliance is not verified: its password goes to whoever answers. Add its CA to the TLS configuration, and switch verification on.',
    ],
    [
      login === 'legacy',
      'legacy-login',
      'The legacy login is on its way out: releases from 22.7R2.1 on do not have it. Choose the realm login.',
    ],
    [
      login === 'key',
      'pasted-key',
      'The API key was pasted: it ends with its time limit, and nothing here can renew it. Choose the realm login.',
    ],
    [
      typeof url === 'string' && url.startsWith('http:'),
      'plain-http',
      'The appliance is asked without TLS. That is for a simulator on the same machine only.',
    ],
    [
      isObject(proxy) && proxy['account'] === true && proxy['encrypted'] === false,
      'proxy-password-in-clear',
      'The account of the proxy goes to it in clear. Give the address of the proxy with https://, if it can do that.',
    ],
    [
      permissions === 'full' && pin === false,
      'no-guard-rails',
      'Any flow may do anything to whichever appliance answers. Enter its serial number as identity pin, and choose permissions that are enough.',
    ],
    [
      loginsPerHour(counters, now) > MAX_LOGINS_PER_HOUR && counters.logins > MIN_LOGINS_TO_REPORT,
      'many-logins',
      'There are more logins than one every ten minutes: keys end early, or are refused. Raise the session time limit of the role of this account.',
    ],
  ] as const;
  return checks.flatMap(([isProblem, code, text]) => (isProblem ? [{ code, text }] : []));
}

function loginsPerHour({ logins, since }: SupportInfo['counters'], now: number): number {
  return logins / Math.max(1, (now - Date.parse(since)) / 3_600_000);
}

/** The shortest idle time limit of the roles that the realm of our account leads to. Errors: none; what may not be read is not told. */
export async function findShortIdleTimeout(call: OperationContext, realm: string | undefined): Promise<Finding[]> {
  if (realm === undefined) return [];
  try {
    const { rule } = await lookUpDocument(call, `${encodedPath`/${realm}`}/role-mapping-rules`, REALMS);
    const rules = Array.isArray(rule) ? (rule as unknown[]).filter(isObject) : [];
    const roles = new Set(rules.flatMap(({ roles }) => (Array.isArray(roles) ? (roles as unknown[]) : [roles])));
    const names = [...roles].filter((role): role is string => typeof role === 'string' && role !== '').slice(0, 20);
    const limits = await Promise.all(names.map((role) => readIdleMinutes(call, role)));
    const shortest = Math.min(...limits);
    if (shortest >= MIN_IDLE_MINUTES) return [];
    const text = `A role of the realm ends keys after ${shortest} minutes without use: a flow that asks less often logs in each time. Raise its idle timeout, or give this account a role of its own.`;
    return [{ code: 'short-idle-limit', text }];
  } catch (thrown) {
    if (asGatewayError(thrown).code === 'ABORTED') throw thrown;
    return [];
  }
}

async function readIdleMinutes(call: OperationContext, role: string): Promise<number> {
  const { 'idle-timeout': idle } = await lookUpDocument(call, `${encodedPath`/${role}`}/general/session-options`, ROLES);
  const minutes = Number(idle);
  return minutes > 0 ? minutes : Infinity;
}

function lookUpDocument(call: OperationContext, path: string, basePath: string): Promise<JsonObject> {
  return call.read({ method: 'GET', path: basePath + path }, { isLookup: true });
}
