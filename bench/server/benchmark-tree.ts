import type { Json, JsonObject } from '../../src/simulator/body-shape';
import { encodePathSegment } from '../../src/simulator/url';

/** The configuration of the fast appliance: generated policies, and the written resources. */
const ROOT = '/api/v1/configuration';
const ROLES = `${ROOT}/users/user-roles/user-role`;
const SETS = `${ROOT}/users/policy-sets/policy-set`;
const POLICIES_PER_SET = 500;

const padNumber = (index: number): string => String(index).padStart(6, '0');
const toEntry = (collection: string, name: string): JsonObject => ({ name, href: `${collection}/${encodePathSegment(name)}` });
const toLink = (path: string): JsonObject => ({ href: path });

/** The name of a resource. */
export const toText = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export class BenchmarkTree {
  /** Number of generated policies. */
  policyCount = 0;
  /** Length of each description. */
  descriptionLength = 0;
  readonly #written = new Map<string, JsonObject>();

  /** The JSON of a resource, or undefined. */
  get(path: string): JsonObject | undefined {
    if (path.startsWith(`${ROLES}/`)) return this.#written.get(path);
    if (path.startsWith(`${SETS}/`)) return this.#generateSet(path);
    if (path === ROOT) return { users: toLink(`${ROOT}/users`) };
    if (path === `${ROOT}/users`)
      return { 'user-roles': toLink(`${ROOT}/users/user-roles`), 'policy-sets': toLink(`${ROOT}/users/policy-sets`) };
    if (path === `${ROOT}/users/user-roles`)
      return { 'user-role': [...this.#written.values()].map(({ name }) => toEntry(ROLES, toText(name))) };
    if (path === `${ROOT}/users/policy-sets`) return { 'policy-set': this.#setNames().map((name) => toEntry(SETS, name)) };
    return undefined;
  }

  /** Whether it was there. */
  put(path: string, body: JsonObject): boolean {
    if (!path.startsWith(`${ROLES}/`)) return false;
    const name = decodeURIComponent(path.slice(ROLES.length + 1));
    this.#written.set(path, { name, description: '', enabled: 'true', ...this.#written.get(path), ...body });
    return true;
  }

  remove(path: string): boolean {
    return this.#written.delete(path);
  }

  #setNames(): string[] {
    return Array.from({ length: Math.ceil(this.policyCount / POLICIES_PER_SET) }, (_, index) => `Set ${padNumber(index)}`);
  }

  #generateSet(path: string): JsonObject | undefined {
    const [, set = '', policy] = /^\/Set%20(\d{6})(?:\/policy\/Policy%20(\d{6}))?$/.exec(path.slice(SETS.length)) ?? [];
    const first = Number(set) * POLICIES_PER_SET;
    if (set === '' || first >= this.policyCount) return undefined;
    if (policy !== undefined) return Number(policy) < this.policyCount ? this.#generatePolicy(Number(policy)) : undefined;
    const count = Math.min(POLICIES_PER_SET, this.policyCount - first);
    const collection = `${path}/policy`;
    return {
      name: `Set ${set}`,
      policy: Array.from({ length: count }, (_, index) => toEntry(collection, `Policy ${padNumber(first + index)}`)),
    };
  }

  #generatePolicy(index: number): JsonObject {
    return {
      name: `Policy ${padNumber(index)}`,
      description: `Generated policy ${index}`.padEnd(this.descriptionLength, '.'),
      enabled: 'true',
      action: index % 3 === 0 ? 'deny' : 'allow',
      resources: [`tcp://10.${index >> 8}.${index & 255}.0/24:443`, `tcp://intranet-${index}.example.com:80,443`],
      roles: { apply: 'selected', names: ['Users', 'Staff'] },
    };
  }
}
