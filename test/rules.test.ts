import { describe, expect, it } from 'vitest';
import { operations } from '../src/areas';
import { asGatewayError } from '../src/model/error';
import { readInput } from '../src/model/input';
import type { Rule } from '../src/model/rules';

/** What a text under each rule may be, and what it may not: the same at run time as in the dialog. */
const TEXTS: Readonly<Record<Rule, { good: string[]; bad: string[] }>> = {
  ipv4: { good: ['192.0.2.10', '0.0.0.0'], bad: ['10.0.0.999', '10.0.0', '10.0.0.1.', '010.0.0.1', '2001:db8::1', 'host', ' 10.0.0.1'] },
  netmask: { good: ['255.255.255.0', '255.255.255.255', '128.0.0.0'], bad: ['0.0.0.0', '255.0.255.0', '24', '255.255.255'] },
  host: {
    good: ['vpn.example.com', 'node-1', '10.0.0.11', '2001:db8::1', 'vpn_1'],
    bad: ['10.0.0.999', '10.0.0', 'a b', 'https://vpn.example.com', 'a/b', '2001:db8:::1'],
  },
  address: { good: ['198.51.100.0', '2001:db8::1', '::1'], bad: ['10.0.0.999', '2001:db8:::1', 'fe80::1%eth0', 'a:b', 'host'] },
  amount: { good: ['10%', '0.5%', '100%'], bad: ['0%', '101%', '-1%', '10%%', '1e1%', 'a%', '%', '0', '-3', '2.5'] },
  mask: { good: ['255.255.255.0', '24', '64', '128'], bad: ['0', '129', '-1', '255.0.255.0', 'all'] },
};

const ruled = [...operations].flatMap(([name, operation]) =>
  Object.entries(operation.fields).flatMap(([field, { rule }]) => (rule ? [{ name, operation, field, rule }] : [])),
);

it('are asked of some field each', () => {
  expect(new Set(ruled.map(({ rule }) => rule))).toEqual(new Set(Object.keys(TEXTS)));
});

describe.each(ruled)('$field of $name', ({ operation, field, rule }) => {
  const input = (text: string): Record<string, unknown> => ({ ...operation.example.input, [field]: text });

  it.each(TEXTS[rule].good)('takes %j', (text) => {
    expect(readInput(operation, input(text))).toMatchObject({ [field]: text });
  });

  it.each(TEXTS[rule].bad)('is refused by name as %j', (text) => {
    let error: unknown;
    try {
      readInput(operation, input(text));
    } catch (thrown) {
      error = thrown;
    }
    expect(asGatewayError(error)).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining(`${field} has to be`) as string });
  });
});
