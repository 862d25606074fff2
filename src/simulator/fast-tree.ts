import type { Json, JsonObject } from './fields';
import { encodeSegment } from './url';

/** The configuration of the fast appliance: as many generated policies as it is told to have, and whatever was written. */
const ROOT = '/api/v1/configuration';
const ROLES = `${ROOT}/users/user-roles/user-role`;
const SETS = `${ROOT}/users/policy-sets/policy-set`;
const IN_A_SET = 500;

const number = (index: number): string => String(index).padStart(6, '0');
const entry = (collection: string, name: string): JsonObject => ({ name, href: `${collection}/${encodeSegment(name)}` });
const link = (place: string): JsonObject => ({ href: place });

/** The name of a resource. */
export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export class FastTree {
  /** How many policies are generated. */
  policies = 0;
  /** How long each one's description is. */
  length = 0;
  readonly #written = new Map<string, JsonObject>();

  /** What stands there as JSON, or undefined. */
  get(place: string): JsonObject | undefined {
    if (place.startsWith(`${ROLES}/`)) return this.#written.get(place);
    if (place.startsWith(`${SETS}/`)) return this.#generated(place);
    if (place === ROOT) return { users: link(`${ROOT}/users`) };
    if (place === `${ROOT}/users`)
      return { 'user-roles': link(`${ROOT}/users/user-roles`), 'policy-sets': link(`${ROOT}/users/policy-sets`) };
    if (place === `${ROOT}/users/user-roles`)
      return { 'user-role': [...this.#written.values()].map(({ name }) => entry(ROLES, textOf(name))) };
    if (place === `${ROOT}/users/policy-sets`) return { 'policy-set': this.#sets().map((name) => entry(SETS, name)) };
    return undefined;
  }

  /** Whether it was there. */
  put(place: string, body: JsonObject): boolean {
    if (!place.startsWith(`${ROLES}/`)) return false;
    const name = decodeURIComponent(place.slice(ROLES.length + 1));
    this.#written.set(place, { name, description: '', enabled: 'true', ...this.#written.get(place), ...body });
    return true;
  }

  remove(place: string): boolean {
    return this.#written.delete(place);
  }

  #sets(): string[] {
    return Array.from({ length: Math.ceil(this.policies / IN_A_SET) }, (_, index) => `Set ${number(index)}`);
  }

  #generated(place: string): JsonObject | undefined {
    const [, set = '', policy] = /^\/Set%20(\d{6})(?:\/policy\/Policy%20(\d{6}))?$/.exec(place.slice(SETS.length)) ?? [];
    const first = Number(set) * IN_A_SET;
    if (set === '' || first >= this.policies) return undefined;
    if (policy !== undefined) return Number(policy) < this.policies ? this.#policy(Number(policy)) : undefined;
    const count = Math.min(IN_A_SET, this.policies - first);
    const collection = `${place}/policy`;
    return {
      name: `Set ${set}`,
      policy: Array.from({ length: count }, (_, index) => entry(collection, `Policy ${number(first + index)}`)),
    };
  }

  #policy(index: number): JsonObject {
    return {
      name: `Policy ${number(index)}`,
      description: `Generated policy ${index}`.padEnd(this.length, '.'),
      enabled: 'true',
      action: index % 3 === 0 ? 'deny' : 'allow',
      resources: [`tcp://10.${index >> 8}.${index & 255}.0/24:443`, `tcp://intranet-${index}.example.com:80,443`],
      roles: { apply: 'selected', names: ['Users', 'Staff'] },
    };
  }
}
