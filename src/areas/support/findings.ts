import { asGatewayError } from '../../model/error';
import { isObject, type JsonObject } from '../../model/json';
import type { OperationContext, Finding, SupportInfo } from '../../model/operation-context';
import { encodedPath } from '../../model/path';

/** Shortest idle limit without a finding. With a shorter one, a flow that polls less often logs in for each request. */
const MIN_IDLE_MINUTES = 10;
/** Maximum number of logins per hour without a finding. */
const MAX_LOGINS_PER_HOUR = 6;
const MIN_LOGINS_TO_REPORT = 5;
const REALMS = '/api/v1/configuration/administrators/admin-realms/realm';
const ROLES = '/api/v1/configuration/administrators/admin-roles/admin-role';

/** Returns advice on the settings and the number of logins. */
export function collectSupportFindings({ settings, counters }: SupportInfo, now = Date.now()): Finding[] {
  const { url, login, tls, proxy, permissions, pin } = settings;
  const checks = [
    [
      isObject(tls) && tls['verified'] === false,
      'tls-not-verified',
      'The certificate of the appliance is not verified, so the password can reach another server. Add its CA to the TLS configuration, and switch verification on.',
    ],
    [login === 'legacy', 'legacy-login', 'Releases from 22.7R2.1 do not support the legacy login. Choose the realm login.'],
    [login === 'key', 'pasted-key', 'The pasted API key expires and cannot be renewed. Choose the realm login.'],
    [
      typeof url === 'string' && url.startsWith('http:'),
      'plain-http',
      'The URL has no TLS. Use http:// only for a simulator on the same machine.',
    ],
    [
      isObject(proxy) && proxy['account'] === true && proxy['encrypted'] === false,
      'proxy-password-in-clear',
      'The proxy password is sent in clear text. Use https:// for the proxy, if it supports it.',
    ],
    [
      permissions === 'full' && pin === false,
      'no-guard-rails',
      'Any flow can make any change, on any appliance that answers. Enter the serial number as identity pin, and limit the permissions.',
    ],
    [
      loginsPerHour(counters, now) > MAX_LOGINS_PER_HOUR && counters.logins > MIN_LOGINS_TO_REPORT,
      'many-logins',
      'There is more than one login every ten minutes, because keys end early or are rejected. Raise the session time limit of the role of this account.',
    ],
  ] as const;
  return checks.flatMap(([isProblem, code, text]) => (isProblem ? [{ code, text }] : []));
}

function loginsPerHour({ logins, since }: SupportInfo['counters'], now: number): number {
  return logins / Math.max(1, (now - Date.parse(since)) / 3_600_000);
}

/** Finds the shortest idle limit of the roles in the realm of the account. Errors: `ABORTED`; unreadable parts are skipped. */
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
    const text = `A role of the realm ends keys after ${shortest} idle minutes, so a flow that polls less often logs in each time. Raise its idle timeout, or give this account a separate role.`;
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
