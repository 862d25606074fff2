import { asGatewayError } from '../../model/error';
import { isObject, type JsonObject } from '../../model/json';
import type { Call, Finding, SupportFacts } from '../../model/call';
import { at } from '../../model/path';

/** Minutes without use: a flow that asks less often logs in each time, and each login is a second. */
const SHORT_IDLE = 10;
/** Logins an hour that are more than keys should need. */
const MANY_LOGINS = 6;
const FEW_LOGINS = 5;
const REALMS = '/api/v1/configuration/administrators/admin-realms/realm';
const ROLES = '/api/v1/configuration/administrators/admin-roles/admin-role';

/** What in the settings should be another way, as far as they tell it. */
export function findingsIn({ settings, counters }: SupportFacts, now = Date.now()): Finding[] {
  const { url, login, tls, proxy, permissions, pin } = settings;
  const found = [
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
      hourly(counters, now) > MANY_LOGINS && counters.logins > FEW_LOGINS,
      'many-logins',
      'There are more logins than one every ten minutes: keys end early, or are refused. Raise the session time limit of the role of this account.',
    ],
  ] as const;
  return found.flatMap(([holds, code, text]) => (holds ? [{ code, text }] : []));
}

function hourly({ logins, since }: SupportFacts['counters'], now: number): number {
  return logins / Math.max(1, (now - Date.parse(since)) / 3_600_000);
}

/** The shortest idle time limit of the roles that the realm of our account leads to. Errors: none; what may not be read is not told. */
export async function idleFinding(call: Call, realm: string | undefined): Promise<Finding[]> {
  if (realm === undefined) return [];
  try {
    const { rule } = await read(call, `${at`/${realm}`}/role-mapping-rules`, REALMS);
    const rules = Array.isArray(rule) ? (rule as unknown[]).filter(isObject) : [];
    const roles = new Set(rules.flatMap(({ roles }) => (Array.isArray(roles) ? (roles as unknown[]) : [roles])));
    const names = [...roles].filter((role): role is string => typeof role === 'string' && role !== '').slice(0, 20);
    const limits = await Promise.all(names.map((role) => idleOf(call, role)));
    const shortest = Math.min(...limits);
    if (shortest >= SHORT_IDLE) return [];
    const text = `A role of the realm ends keys after ${shortest} minutes without use: a flow that asks less often logs in each time. Raise its idle timeout, or give this account a role of its own.`;
    return [{ code: 'short-idle-limit', text }];
  } catch (thrown) {
    if (asGatewayError(thrown).code === 'ABORTED') throw thrown;
    return [];
  }
}

async function idleOf(call: Call, role: string): Promise<number> {
  const { 'idle-timeout': idle } = await read(call, `${at`/${role}`}/general/session-options`, ROLES);
  const minutes = Number(idle);
  return minutes > 0 ? minutes : Infinity;
}

function read(call: Call, path: string, below: string): Promise<JsonObject> {
  return call.read({ method: 'GET', path: below + path }, { lookUp: true });
}
