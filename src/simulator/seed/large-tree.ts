import { type JsonObject, nonEmptyTextField, requiredField } from '../body-shape';
import { Collection, Resource, createBranch, toChildMap } from '../tree';

/** One set and its policies. */
const POLICIES_PER_SET = 200;
const PARTS = ['web', 'files', 'network'];

/** Generates the policies of a large configuration, in sets. The result is always the same. */
export function createLargeTree(count: number): Resource {
  const sets = new Collection('policy-set', 'name', () => createSet());
  for (let number = 0; number * POLICIES_PER_SET < count; number++) {
    const set = sets.add({ name: `Set ${padNumber(number, 4)}`, description: `Generated set ${number}` });
    const policies = set.collection('policy');
    const last = Math.min(POLICIES_PER_SET, count - number * POLICIES_PER_SET);
    for (let index = 1; index < last; index++) policies.add(createPolicy(number * POLICIES_PER_SET + index));
  }
  return createBranch({ 'policy-set': sets });
}

function createSet(): Resource {
  const make = (): Resource => new Resource({}, new Map(), { name: requiredField(nonEmptyTextField) });
  return new Resource({ description: '' }, toChildMap({ policy: new Collection('policy', 'name', make) }), {
    name: requiredField(nonEmptyTextField),
  });
}

function createPolicy(number: number): JsonObject {
  return {
    name: `Policy ${padNumber(number, 6)}`,
    description: `Generated policy ${number}`,
    enabled: number % 3 === 0 ? 'false' : 'true',
    'order-number': number,
    part: PARTS[number % PARTS.length] ?? '',
    resources: [`tcp://10.${(number >> 8) & 255}.${number & 255}.0/24:443`, `https://host-${number}.example.com/*`],
    roles: { apply: 'selected', names: ['Users', 'Contractors'] },
    timeouts: { idle: 10 + (number % 50), max: 480 },
  };
}

/** The number in the name of a generated policy. */
export function parsePolicyNumber(name: string): number | undefined {
  return /^Policy \d{6}$/.test(name) ? Number(name.slice(-6)) : undefined;
}

const padNumber = (number: number, digits: number): string => String(number).padStart(digits, '0');
