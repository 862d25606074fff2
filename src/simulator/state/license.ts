import { readText } from '../body-shape';
import type { SimulatorSettings } from '../options';
import { type SessionRealm, generateSession, toUserName } from '../generated-sessions';

/** Named users (appliance-api.md, "Named user"). */
export interface NamedUser {
  /** The client kind, on a license server only. */
  kind: string;
  appliance: string;
  user: string;
  ip: string;
  at: string;
  realm: string;
  role: string;
  agent: string;
}

export interface LicenseState {
  users: NamedUser[];
}

export const LICENSED_APPLIANCES = ['gateway-a', 'gateway-b', 'policy-a'];
const SEEDED_USER_COUNT = 24;

export function seedLicense(settings: SimulatorSettings, realms: readonly SessionRealm[] = []): LicenseState {
  const users = new Map<string, NamedUser>();
  for (let index = 0; index < SEEDED_USER_COUNT; index++) {
    const session = generateSession(index, settings, realms);
    const text = (field: string): string => readText(session, field);
    const appliance = LICENSED_APPLIANCES[index % 3] ?? '';
    const kind = appliance.startsWith('policy') ? settings.policyKind : settings.gatewayKind;
    const at = text('user-sign-in-time').replaceAll('/', '-');
    const user = {
      kind,
      appliance,
      user: toUserName(index, realms),
      ip: text('source-ip'),
      at,
      realm: text('authentication-realm'),
      role: text('user-roles'),
      agent: text('agent-type'),
    };
    users.set(`${kind} ${user.user}`, user);
  }
  return { users: [...users.values()] };
}
