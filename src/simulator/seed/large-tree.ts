import { type JsonObject, filledText, required } from '../fields';
import { Collection, Resource, branch, children } from '../tree';

/** One set and its policies. */
const SET = 200;
const PARTS = ['web', 'files', 'network'];

/** So many generated resources, the same every time: policies in sets, as many as a large configuration has. */
export function largeTree(count: number): Resource {
  const sets = new Collection('policy-set', 'name', () => makeSet());
  for (let number = 0; number * SET < count; number++) {
    const set = sets.add({ name: `Set ${padded(number, 4)}`, description: `Generated set ${number}` });
    const policies = set.collection('policy');
    const last = Math.min(SET, count - number * SET);
    for (let index = 1; index < last; index++) policies.add(policy(number * SET + index));
  }
  return branch({ 'policy-set': sets });
}

function makeSet(): Resource {
  const make = (): Resource => new Resource({}, new Map(), { name: required(filledText) });
  return new Resource({ description: '' }, children({ policy: new Collection('policy', 'name', make) }), { name: required(filledText) });
}

function policy(number: number): JsonObject {
  return {
    name: `Policy ${padded(number, 6)}`,
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
export function policyNumber(name: string): number | undefined {
  return /^Policy \d{6}$/.test(name) ? Number(name.slice(-6)) : undefined;
}

const padded = (number: number, digits: number): string => String(number).padStart(digits, '0');
