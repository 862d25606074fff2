import { describe, expect, it } from 'vitest';
import { operations } from '../../../src/areas';
import { asGatewayError } from '../../../src/model/error';
import { parseInput } from '../../../src/model/input';
import {
  containsColon,
  isValidConnections,
  isNumberOutOfRange,
  isValidRate,
  isValidTimeout,
  isValidWaiting,
  matchesTextFormat,
  listRequiredCredentials,
  parseIdentityPins,
  parsePercentage,
  findUrlFault,
  type TextFormat,
} from '../../../src/model/rules';

/** What a text under each rule may be, what it may not, and what is said then: the same at run time as in the dialog. */
const TEXTS: Readonly<Record<TextFormat, { good: string[]; bad: string[]; wanted: string }>> = {
  ipv4: {
    good: ['192.0.2.10', '0.0.0.0'],
    bad: ['10.0.0.999', '10.0.0', '10.0.0.1.', '010.0.0.1', '2001:db8::1', 'host', ' 10.0.0.1', '1.2.3.4.5'],
    wanted: 'an IPv4 address such as 192.0.2.10',
  },
  netmask: {
    good: ['255.255.255.0', '255.255.255.255', '128.0.0.0'],
    bad: ['0.0.0.0', '255.0.255.0', '24', '255.255.255', '0.0.0.255', '4294967040'],
    wanted: 'a netmask such as 255.255.255.0',
  },
  host: {
    good: ['vpn.example.com', 'node-1', '10.0.0.11', '2001:db8::1', 'vpn_1'],
    bad: ['10.0.0.999', '10.0.0', 'a b', 'https://vpn.example.com', 'a/b', '2001:db8:::1', '::1]:80/[', 'x]@[::1'],
    wanted: 'an address or the name of a host, such as 192.0.2.10 or vpn.example.com',
  },
  address: {
    good: ['198.51.100.0', '2001:db8::1', '::1'],
    bad: ['10.0.0.999', '2001:db8:::1', 'fe80::1%eth0', 'a:b', 'host'],
    wanted: 'an address such as 198.51.100.0 or 2001:db8::1',
  },
  amount: { good: ['10%', '0.5%', '0.55%', '100%'], bad: ['0%', '101%', '-1%', '10%%', '1e1%', 'a%', '%', '0', '-3', '2.5'], wanted: '' },
  mask: {
    good: ['255.255.255.0', '24', '64', '128'],
    bad: ['0', '129', '24 ', '-1', '255.0.255.0', 'all'],
    wanted: 'a netmask such as 255.255.255.0, or the length of a network such as 64',
  },
};

const ruled = [...operations].flatMap(([name, operation]) =>
  Object.entries(operation.fields).flatMap(([field, { rule }]) => (rule ? [{ name, operation, field, rule }] : [])),
);

it('Each validation rule is used by a field', () => {
  expect(new Set(ruled.map(({ rule }) => rule))).toEqual(new Set(Object.keys(TEXTS)));
});

describe.each(ruled)('The rule of $field of $name', ({ operation, field, rule }) => {
  const input = (text: string): Record<string, unknown> => ({ ...operation.example.input, [field]: text });

  it.each(TEXTS[rule].good)('the format of a text field accepts %j', (text) => {
    expect(parseInput(operation, input(text))).toMatchObject({ [field]: text });
  });

  it.each(TEXTS[rule].bad)('a field with a format rejects %j with the name of the field', (text) => {
    let error: unknown;
    try {
      parseInput(operation, input(text));
    } catch (thrown) {
      error = thrown;
    }
    const came = rule === 'amount' ? '' : `, not ${JSON.stringify(text)}.`;
    expect(asGatewayError(error)).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(`${field} must be ${TEXTS[rule].wanted}${came}`) as string,
    });
  });
});

describe('The same rules in a dialog', () => {
  it('the validation rules of dialogs read an amount as a count or a percentage', () => {
    for (const text of ['1', ' 7 ', '10%', '0.000001 %', ' 100% ']) expect(matchesTextFormat('amount', text), text).toBe(true);
    for (const text of ['', ' ', '0', '-1', '2.5', 'x', '0%', '100.1%', '1000%', '.5%', '%', '10% of all', 'about 10%'])
      expect(matchesTextFormat('amount', text), text).toBe(false);
    expect([parsePercentage('0.55 %'), parsePercentage(' 7% '), parsePercentage('7'), parsePercentage('101%')]).toEqual([
      0.55,
      7,
      undefined,
      undefined,
    ]);
  });

  it.each<[string, ReturnType<typeof findUrlFault>]>([
    ['', 'missing'],
    ['vpn.example.com', 'invalid'],
    ['https://', 'invalid'],
    ['ftp://vpn.example.com', 'protocol'],
    ['https://admin@vpn.example.com', 'credentials'],
    ['https://:secret@vpn.example.com', 'credentials'],
    ['https://vpn.example.com/?a=b', 'query'],
    ['https://vpn.example.com/#a', 'query'],
    ['https://vpn.example.com/?', 'query'],
    ['https://vpn.example.com/#', 'query'],
    ['http://vpn.example.com', 'http'],
    ['http://localhost.example.com', 'http'],
    ['http://not-localhost', 'http'],
    ['http://128.0.0.1', 'http'],
    ['http://127.0.0.1.example.com', 'http'],
    ['https://vpn.example.com/a', undefined],
    ['http://localhost:8080', undefined],
    ['http://127.0.0.1', undefined],
    ['http://127.100.20.3', undefined],
    ['http://[::1]:1880', undefined],
  ])('The rules in a dialog report what is wrong with the address %j: %s', (url, fault) => expect(findUrlFault(url)).toBe(fault));

  it('the validation rules of dialogs limit the numbers of the settings', () => {
    const bounds: [(value: number) => boolean, number[], number[]][] = [
      [isValidTimeout, [0.001, 1, 86_400], [0, -1, 86_401, NaN]],
      [isValidConnections, [1, 256], [0, 257, 1.5, NaN]],
      [isValidRate, [0.01, 1, 10_000], [0.009, 0, 10_001, NaN]],
      [isValidWaiting, [0, 1, 1_000_000], [-1, 1_000_001, 0.5, NaN]],
    ];
    for (const [rule, good, bad] of bounds) expect([good.filter(rule), bad.filter(rule)], rule.name).toEqual([good, []]);
  });

  it('the validation rules of dialogs limit the numbers of fields', () => {
    const out = (range: 'count' | 'positive' | undefined): unknown[] =>
      [0, 0.5, 1, 2, -1].filter((value) => isNumberOutOfRange(range, value));
    expect(out('count')).toEqual([0, 0.5, -1]);
    expect(out('positive')).toEqual([0, -1]);
    expect(out(undefined)).toEqual([]);
    expect(isNumberOutOfRange('count', '2')).toBe(true);
  });

  it('the validation rules of dialogs know the required credentials of each login type', () => {
    const account = ['username', 'password'];
    expect(listRequiredCredentials('key', 'totp')).toEqual(['apiKey']);
    expect(listRequiredCredentials('realm', 'none')).toEqual(account);
    expect(listRequiredCredentials('realm', undefined)).toEqual(account);
    expect(listRequiredCredentials('realm', 'password')).toEqual([...account, 'secondPassword']);
    expect(listRequiredCredentials('realm', 'totp')).toEqual([...account, 'totpSecret']);
    expect(listRequiredCredentials('legacy', 'totp')).toEqual(account);
    expect([containsColon('a:b'), containsColon('ab'), containsColon(undefined)]).toEqual([true, false, false]);
  });

  it('the validation rules of dialogs read several pins in upper or lower case with any separator', () => {
    expect(parseIdentityPins(' a1b2, C3;d4\n ,e5 ')).toEqual(['A1B2', 'C3', 'D4', 'E5']);
    expect(parseIdentityPins(' ,; ')).toEqual([]);
  });
});
