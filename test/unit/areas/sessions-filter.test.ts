import { describe, expect, it } from 'vitest';
import { normalizeAddress } from '../../../src/areas/sessions/addresses';
import { parseSessionFilter, SESSION_FILTER_FIELDS } from '../../../src/areas/sessions/session-filter';
import { quotePattern, createWildcardMatcher } from '../../../src/areas/sessions/patterns';
import {
  startTestSimulator,
  getThrownCode,
  expectFailure,
  gatewayFor,
  asBulkResult,
  startSimulatorWithGateway,
  getThrownError,
} from '../../helpers/simulated-appliance';

const hoursAgo = (hours: number): string => (Date.now() / 1000 - hours * 3600).toFixed(6);

const people = [
  { 'active-user-name': 'v4', 'source-ip': '203.0.113.7', 'sign-in-time-micro': hoursAgo(1), events: 0 },
  { 'active-user-name': 'v4 near', 'source-ip': '203.0.113.130', 'sign-in-time-micro': hoursAgo(7.9), events: 3 },
  { 'active-user-name': 'v6', 'source-ip': '2001:DB8:0:0:0:0:0:1', 'network-connect-ipv6': 'fd00::7', 'sign-in-time-micro': hoursAgo(9) },
  { 'active-user-name': 'mapped', 'source-ip': '::ffff:198.51.100.7', 'mac-address': '02:AB:00:00:00:01', events: '12' },
  { 'active-user-name': 'odd', 'source-ip': 'unknown', 'sign-in-time-micro': '0', 'user-sign-in-time': '2026/01/15 09:30:00' },
  { 'active-user-name': 'none', 'source-ip': null, 'sign-in-time-micro': null },
];

/** Names of those who match, by the filter alone. */
const matched = (filter: Record<string, unknown>): string[] =>
  people.filter(parseSessionFilter(filter)).map((person) => person['active-user-name']);

describe('addresses in a session filter', () => {
  it.each<[unknown, string[]]>([
    ['203.0.113.0/24', ['v4', 'v4 near']],
    ['203.0.113.99/25', ['v4']],
    ['203.0.113.130/32', ['v4 near']],
    ['203.0.113.0/24 ', ['v4', 'v4 near']],
    ['198.51.100.0/24', ['mapped']],
    ['198.51.100.7', ['mapped']],
    ['::ffff:203.0.113.7', ['v4']],
    ['2001:db8::/32', ['v6']],
    ['2001:db8::1', ['v6']],
    ['2001:0DB8::0001', ['v6']],
    ['2001:db8:*', ['v6']],
    ['*::1', ['v6']],
    ['10.0.0.0/8', []],
    [
      ['10.0.0.0/8', '*.7', '2001:db8::/127'],
      ['v4', 'v6', 'mapped'],
    ],
    ['203.0.113.1*', ['v4 near']],
    ['2*9', []],
    ['25*.1*', []],
  ])('the session filter %j matches the expected sessions', (wanted, expected) => {
    expect(matched({ 'source-ip': wanted })).toEqual(expected);
  });

  it.each<unknown>([
    '10.0.0.999',
    '10.0.0',
    '10.0.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/0x8',
    '10.0.0.0/255.0.0.0',
    '/8',
    '2001:db8::/129',
    '2001:db8::g',
    'fe80::1%eth0',
    'fe80::1%eth0/64',
    '0.0.0.0/0',
    '::/0',
    '*.*',
    '*:*',
    '256.*',
    '*.999',
    '1.2.3.4.*',
    '1.2.3.9*99',
    '01.*',
    'vpn*',
    '20010:*',
    '1::2::*',
    '1:2:3:4:5:6:7:8:9*',
    `${'1*'.repeat(60)}1`,
    ['203.0.113.7', '10.0.0.999'],
  ])('the session filter %j is rejected', (wanted) => {
    expect(getThrownCode(() => parseSessionFilter({ 'source-ip': wanted }))).toBe('BAD_INPUT');
  });

  it('an address in a session filter must have the IP version of its field', () => {
    expect(matched({ 'network-connect-ipv6': 'fd00::/8' })).toEqual(['v6']);
    expect(matched({ 'network-connect-ipv6': '::ffff:10.0.0.1' })).toEqual([]);
    for (const wanted of ['10.0.0.0/8', '10.0.0.1', '10.*'])
      expect(getThrownCode(() => parseSessionFilter({ 'network-connect-ipv6': wanted }))).toBe('BAD_INPUT');
  });
});

describe('session-id in a session filter', () => {
  it.each(['sid*', 's*', '*sid*', 'si**', 's*d*', ['sid1a', 'sid*']])(
    'the session filter for ids %j matches every id, so it is rejected',
    (wanted) => {
      expect(getThrownError(() => parseSessionFilter({ 'session-id': wanted }))).toMatchObject({
        code: 'BAD_INPUT',
        message: expect.stringContaining('matches every session') as string,
      });
    },
  );

  it('a session filter accepts a part of an id', () => {
    const test = parseSessionFilter({ 'session-id': ['sid1*', '*f'] });
    expect(['sid1a', 'sid2a', 'sid2f', 'sid'].filter((id) => test({ 'session-id': id }))).toEqual(['sid1a', 'sid2f']);
  });
});

describe('older-than in a session filter', () => {
  it.each<[unknown, string[]]>([
    [8, ['v6']],
    ['8', ['v6']],
    ['8 h', ['v6']],
    ['0.5', ['v4', 'v4 near', 'v6']],
    ['90 min', ['v4 near', 'v6']],
    ['470minutes', ['v4 near', 'v6']],
    ['1 Day', []],
    ['3000 s', ['v4', 'v4 near', 'v6']],
    [['2 days', '8.5 hours'], ['v6']],
  ])('the session filter %j matches the expected sessions', (wanted, expected) => {
    expect(matched({ 'older-than': wanted })).toEqual(expected);
  });

  it.each<unknown>([0, '0 h', -1, '8 x', 'h', '8 h 30 min', '8*', '1e3', '9'.repeat(400), true, null])(
    'the session filter %j is rejected',
    (wanted) => {
      expect(getThrownCode(() => parseSessionFilter({ 'older-than': wanted }))).toBe('BAD_INPUT');
    },
  );

  it('older-than combines with the other fields of a session filter to select exactly the matching sessions', async () => {
    const simulator = await startTestSimulator({ sessions: 0 });
    for (const person of people) simulator.state.sessions.add(person);
    const filter = { 'older-than': '30 min', 'source-ip': ['203.0.113.0/25', '2001:db8::/32'] };
    const { data } = await gatewayFor(simulator).run('sessions.kill-matching', { filter });
    expect(asBulkResult(data).results.map(({ item }) => (item as Record<string, unknown>)['active-user-name'])).toEqual(['v4', 'v6']);
  });
});

describe('other fields in a session filter', () => {
  it.each<[Record<string, unknown>, string[]]>([
    [{ events: 3 }, ['v4 near']],
    [{ events: ['3', '12.0'] }, ['v4 near', 'mapped']],
    [{ 'mac-address': '02:ab:*' }, ['mapped']],
    [{ 'mac-address': '02:AB:00:00:00:01' }, ['mapped']],
    [{ 'mac-address': '02-ab-00-00-00-01' }, ['mapped']],
    [{ 'mac-address': '02-AB-*' }, ['mapped']],
    [{ 'user-sign-in-time': '2026/01/15 *' }, ['odd']],
    [{ 'user-sign-in-time': '*/15 09:*' }, ['odd']],
    [{ 'user-sign-in-time': '2026/01/15 09:30:00' }, ['odd']],
    [{ 'sign-in-time-micro': people[0]?.['sign-in-time-micro'] }, ['v4']],
  ])('the session filter %j matches the expected sessions', (filter, expected) => {
    expect(matched(filter)).toEqual(expected);
  });

  it.each<Record<string, unknown>>([
    { events: '1*' },
    { events: 'many' },
    { events: -1 },
    { 'sign-in-time-micro': '17*' },
    { 'mac-address': 'xx:*' },
    { 'mac-address': '02:ab' },
    { 'mac-address': '02:ab:00:00:00:01:02*' },
    { 'mac-address': '::::::' },
    { 'mac-address': '*:*' },
    { 'user-sign-in-time': '* *' },
    { 'user-sign-in-time': '15.01.2026*' },
    { 'user-sign-in-time': '26/01/15*' },
    { 'user-sign-in-time': '2026/01/15' },
    { 'user-sign-in-time': '*:30' + ':00:00' },
  ])('the session filter %j is rejected', (filter) => {
    expect(getThrownCode(() => parseSessionFilter(filter))).toBe('BAD_INPUT');
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{}, 'LIMIT', 'filter is empty, which would match every session. Name at least one field, or use End ALL sessions. Nothing was sent.'],
    [{ name: 'x' }, 'BAD_INPUT', 'filter names "name", which is not a field of a session record. Use one of: active-user-name, '],
    [{ 'acme-client-version-2': 'x' }, 'BAD_INPUT', 'filter names "acme-client-version-2", which'],
    [{ '-client-version': 'x' }, 'BAD_INPUT', 'filter names "-client-version", which'],
    [{ 'a b-client-version': 'x' }, 'BAD_INPUT', 'filter names "a b-client-version", which'],
    [{ 'user-roles': ' ' }, 'BAD_INPUT', 'filter.user-roles is empty. Give a text, with * as wildcard. Nothing was sent.'],
    [{ 'user-roles': ['A', ''] }, 'BAD_INPUT', 'filter.user-roles is empty.'],
    [
      { 'user-roles': '**' },
      'BAD_INPUT',
      'filter.user-roles is only *, which matches every session. Leave the field out, or be more specific. Nothing was sent.',
    ],
    [{ 'user-roles': ' * ' }, 'BAD_INPUT', 'filter.user-roles is only *'],
    [{ 'user-roles': [] }, 'BAD_INPUT', 'filter.user-roles is an empty array. Give at least one text. Nothing was sent.'],
    [{ 'user-roles': true }, 'BAD_INPUT', 'filter.user-roles is a boolean, but must be text or an array of texts. '],
    [{ 'user-roles': { a: 1 } }, 'BAD_INPUT', 'filter.user-roles is an object, but must be text'],
    [{ 'user-sign-in-time': 'x2026' }, 'BAD_INPUT', 'a time such as 2026/01/15 09:30:00, with * for the rest'],
    [{ 'user-sign-in-time': '2026x' }, 'BAD_INPUT', 'a time such as'],
    [{ 'network-connect-ip': 'vpn*' }, 'BAD_INPUT', 'filter.network-connect-ip'],
  ])('the session filter %j is rejected with an error that says what to do', (filter, code, words) => {
    const refusal = getThrownError(() => parseSessionFilter(filter));
    expect([refusal?.code, refusal?.message]).toEqual([code, expect.stringContaining(words)]);
  });

  it.each<[unknown]>([['Contractors, Users'], ['Users,Contractors'], [['Users', 'Contractors']]])(
    'other fields in a session filter match one role of the list %j',
    (roles) => {
      const record = { 'user-roles': roles };
      expect(parseSessionFilter({ 'user-roles': 'Contractors' })(record)).toBe(true);
      expect(parseSessionFilter({ 'user-roles': ['Admins', 'Contr*'] })(record)).toBe(true);
      expect(parseSessionFilter({ 'user-roles': 'Contractor' })(record)).toBe(false);
    },
  );

  it('a session filter accepts all text fields of a record, the client version and values that are not text', () => {
    const record = { 'user-roles': 'A', 'acme-client-version': '9.1', events: 3, 'device-id': null };
    expect(parseSessionFilter({ 'acme-client-version': '9.*' })(record)).toBe(true);
    expect(parseSessionFilter({ 'acme-client-version': '8.*' })(record)).toBe(false);
    expect(parseSessionFilter({ 'user-roles': 'A', events: 3 })(record)).toBe(true);
    expect(parseSessionFilter({ 'user-roles': 'A', events: 4 })(record)).toBe(false);
    for (const missing of ['device-id', 'browser-id'])
      expect(parseSessionFilter({ [missing]: ['null', 'undefined', 'x*'] })(record)).toBe(false);
    expect(parseSessionFilter({ 'agent-type': 5 })({ 'agent-type': 5 })).toBe(true);
    expect(SESSION_FILTER_FIELDS).toEqual(expect.arrayContaining(['hc-failed-reasons', 'source-ip', 'older-than', 'user-roles']));
    expect(SESSION_FILTER_FIELDS).not.toContain('');
  });

  it('an error in a session filter names the field and quotes the start of the pattern', () => {
    const { message = '' } = getThrownError(() => parseSessionFilter({ 'source-ip': `1${'0'.repeat(100_000)}` })) ?? {};
    expect(message).toMatch(/^filter\.source-ip: "10000/);
    expect(message.length).toBeLessThan(300);
  });
});

describe('pattern checks', () => {
  it.each<[string, unknown, string]>([
    [
      'source-ip',
      '10.0.0',
      '"10.0.0" is not an address, so it cannot match. Give an address, a network such as 203.0.113.0/24, or * for a part.',
    ],
    ['source-ip', '10.0.0.0/8/8', '"10.0.0.0/8/8" is not a network. Give one such as 203.0.113.0/24 or 2001:db8::/32.'],
    ['source-ip', 'x/8', '"x/8" is not a network. Give one such as 203.0.113.0/24 or 2001:db8::/32.'],
    ['source-ip', 'fe80::1%eth0/64', '"fe80::1%eth0/64" is not a network. Give one such as 203.0.113.0/24 or 2001:db8::/32.'],
    ['source-ip', '10.0.0.0/33', '"10.0.0.0/33" is not a network: an IPv4 prefix length is a number up to 32.'],
    ['source-ip', '2001:db8::/129', '"2001:db8::/129" is not a network: an IPv6 prefix length is a number up to 128.'],
    ['source-ip', '10.0.0.0/0', '"10.0.0.0/0" matches every address. Leave the field out, or be more specific.'],
    ['source-ip', ' *.** ', '" *.** " matches every address. Leave the field out, or be more specific.'],
    ['source-ip', '10.300.*', '"10.300.*" cannot match an address. Give an address, a network such as 203.0.113.0/24, or * for a part.'],
    ['network-connect-ipv6', '10.0.0.1', '"10.0.0.1" is not an IPv6 address, so it cannot match.'],
    ['network-connect-ipv6', '10.0.0.0/8', '"10.0.0.0/8" is not an IPv6 network, so it cannot match.'],
    [
      'mac-address',
      '02:00',
      'a hardware address such as 02:00:5e:10:00:01, or a part of one with *; "02:00" cannot match. Nothing was sent.',
    ],
    [
      'mac-address',
      '*:*',
      'a hardware address such as 02:00:5e:10:00:01, or a part of one with *; "*:*" would match every value. Nothing was sent.',
    ],
    ['events', '1*', 'filter.events must be a number without wildcards; "1*" cannot match. Nothing was sent.'],
    [
      'older-than',
      '8 weeks',
      'is "8 weeks", but must be hours, or text such as "90 min", "8 h" or "2 days", and more than 0. Nothing was sent.',
    ],
  ])('pattern checks reject %s %j with the reason', (field, pattern, words) => {
    const error = getThrownError(() => parseSessionFilter({ [field]: pattern }));
    expect([error?.code, error?.message]).toEqual(['BAD_INPUT', expect.stringContaining(words)]);
    expect(error?.message).toContain(`filter.${field}`);
  });

  it.each<[string, boolean]>([
    ['1.2.3.*', true],
    ['*.2*', true],
    ['25*5', true],
    ['1*.2', true],
    ['1.2.3.4.*', false],
    ['1.2.3.256*', false],
    ['1.2.3.26*', true],
    ['1.2.3.*6*6*6', false],
    ['256.*', false],
    ['*.256', false],
    ['1.*999*.2', false],
    ['2001:*', true],
    ['2001:db8:*:1', true],
    ['*::1*', true],
    ['1:2:3:4:5:6:7:*', true],
    ['1:2:3:4:5:6:7::*', true],
    ['1:2:3:4:5:6:7:8:*', false],
    ['1::2::*', false],
    ['1:::*', false],
    ['12345:*', false],
    ['g:1*', false],
    ['1:*g', false],
    ['1*2*3*4.5', true],
    ['1.*300', false],
    ['300*.1', false],
    ['1.*5', true],
    ['2*.1', true],
    ['::ffff:1.2.3.*', true],
    [`${'1*'.repeat(45)}1`, true],
    [`${'a*'.repeat(45)}a`, true],
    [`${'a*'.repeat(46)}`, false],
  ])('pattern checks decide whether an address can match %s: %s', (pattern, can) => {
    expect(
      getThrownCode(() => parseSessionFilter({ 'source-ip': pattern })),
      pattern,
    ).toBe(can ? 'none' : 'BAD_INPUT');
  });

  it('an address pattern matches an address as written and in its normalized form', () => {
    const ip = (wanted: unknown, ...written: string[]): string[] =>
      written.filter((one) => parseSessionFilter({ 'source-ip': wanted })({ 'source-ip': one }));
    expect(ip('2001:DB8:0:0:*', ' 2001:DB8:0:0:0:0:0:1 ', '2001:db8::1')).toEqual([' 2001:DB8:0:0:0:0:0:1 ']);
    expect(ip('fe80:*', 'fe80::1%eth0', 'unknown')).toEqual(['fe80::1%eth0']);
    expect(ip(['10.*', '*.7'], '10.1.1.1', '1.1.1.7', '1.1.1.1')).toEqual(['10.1.1.1', '1.1.1.7']);
    expect(['a b', 'b c', 'c'].filter((one) => parseSessionFilter({ 'agent-type': ['a*', 'b*'] })({ 'agent-type': one }))).toEqual([
      'a b',
      'b c',
    ]);
    expect(matched({ 'user-sign-in-time': ' 2026/01/15 09:30:00 ' })).toEqual(['odd']);
    expect(matched({ 'user-sign-in-time': '*:30:00' })).toEqual(['odd']);
    expect(matched({ 'mac-address': [' 02-ab-00-00-00-01 ', '02:ab:00:00:00:01*'] })).toEqual(['mapped']);
    for (const odd of ['02:00:5e:10:00:0g', 'g2:00:5e:10:00:01'])
      expect(getThrownCode(() => parseSessionFilter({ 'mac-address': odd }))).toBe('BAD_INPUT');
    expect(['', ' ', '0', '0.0', '00'].filter((one) => parseSessionFilter({ events: '0' })({ events: one }))).toEqual(['0', '0.0', '00']);
  });

  it.each([
    [1, ['s', 'sec', 'secs', 'second', 'SECONDS']],
    [60, ['m', 'min', 'mins', 'minute', 'minutes']],
    [3600, ['', 'h', 'hour', 'hours']],
    [86_400, ['d', 'day', 'days']],
  ])('a session filter accepts an age of %i seconds in all units', (seconds, units) => {
    const now = Date.now() / 1000;
    for (const unit of units) {
      const older = parseSessionFilter({ 'older-than': ` 1.25 ${unit} ` });
      const [before, after] = [seconds * 1.25 + 5, seconds * 1.25 - 1].map((ago) =>
        older({ 'sign-in-time-micro': (now - ago).toFixed(6) }),
      );
      expect([before, after], unit).toEqual([true, false]);
      for (const odd of [`x${unit}`, `${unit}x`])
        expect(
          getThrownCode(() => parseSessionFilter({ 'older-than': `2 ${odd}` })),
          odd,
        ).toBe('BAD_INPUT');
    }
  });

  it('an error in a session filter quotes only the start of a long pattern', () => {
    expect(quotePattern('x'.repeat(60))).toBe(`"${'x'.repeat(60)}"`);
    expect(quotePattern('x'.repeat(61))).toBe(`"${'x'.repeat(60)}…"`);
    expect(quotePattern(`${'x'.repeat(59)}🙂x`)).toBe(`"${'x'.repeat(59)}\ufffd…"`);
  });

  it('a pattern with wildcards matches in order and uses each character once', () => {
    const matches = (pattern: string, ...texts: string[]): string[] => texts.filter(createWildcardMatcher(pattern));
    expect(matches('abc', 'abc', 'abcd', 'xabc', '')).toEqual(['abc']);
    expect(matches('a*', 'a', 'ab', 'ba')).toEqual(['a', 'ab']);
    expect(matches('*a', 'a', 'ba', 'ab')).toEqual(['a', 'ba']);
    expect(matches('ab*bc', 'abc', 'abbc', 'abxbc')).toEqual(['abbc', 'abxbc']);
    expect(matches('a*b*c', 'abc', 'axbxc', 'acb', 'ac')).toEqual(['abc', 'axbxc']);
    expect(matches('*aa*a', 'aa', 'aaa')).toEqual(['aaa']);
    expect(matches('*', '', 'x')).toEqual(['', 'x']);
  });

  it('an address pattern treats an IPv4 address within IPv6 as IPv4, and rejects link-local zones', () => {
    expect(
      ['1.2.3.4', '::ffff:1.2.3.4', '::FFFF:102:304', '2001:DB8:0::1', '::ffff:0:1', 'fe80::1%eth0', 'x', ''].map(normalizeAddress),
    ).toEqual(['1.2.3.4', '1.2.3.4', '1.2.3.4', '2001:db8::1', normalizeAddress('0.0.0.1'), undefined, undefined, undefined]);
  });
});

describe('filters with many patterns', () => {
  const addresses = Array.from({ length: 100_000 }, (_, n) => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);

  it('a filter with thousands of exact texts finds the one session that matches', async () => {
    const simulator = await startTestSimulator({ sessions: 2000 });
    simulator.state.sessions.add({ 'active-user-name': 'last one', 'source-ip': '10.1.134.159' });
    const filter = { 'source-ip': addresses, 'active-user-name': [...addresses, 'last one'] };
    const { data } = await gatewayFor(simulator).run('sessions.kill-matching', { filter });
    expect(asBulkResult(data)).toMatchObject({ total: 1, ok: 1 });
  });

  it.each(['source-ip', 'agent-type'])(
    'a session filter rejects more than a thousand wildcards for %s before sending anything',
    async (field) => {
      const { simulator, gateway } = await startSimulatorWithGateway();
      const wild = addresses.map((address) => `${address}*`);
      const error = await expectFailure(gateway.run('sessions.kill-matching', { filter: { [field]: wild } }));
      expect([error.code, error.message]).toEqual(['LIMIT', expect.stringMatching(new RegExp(`${field} has 100000 .* at most 1000`))]);
      expect(simulator.requests).toEqual([]);
      expect(getThrownError(() => parseSessionFilter({ [field]: wild }))?.details).toEqual({ sent: false });
      expect(getThrownCode(() => parseSessionFilter({ [field]: addresses.slice(0, 1001) }))).toBe('none');
      expect(getThrownCode(() => parseSessionFilter({ [field]: wild.slice(0, 1000) }))).toBe('none');
      expect(getThrownCode(() => parseSessionFilter({ [field]: wild.slice(0, 1001) }))).toBe('LIMIT');
    },
  );
});
