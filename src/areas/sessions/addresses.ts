import { BlockList, isIP, SocketAddress } from 'node:net';
import { badInput } from '../../model/error';
import { ours, sentence } from '../../model/sentence';
import { quoted, refuseTooMany, wildcards, type Test } from './patterns';

const OCTETS = Array.from({ length: 256 }, (_, octet) => String(octet));
/** No address is written longer, with a wildcard between all of its characters. */
const LONGEST = 91;
const BITS = { 4: 32, 6: 128 } as const;

/**
 * Addresses: exactly (in whatever way an IPv6 one is written), as networks (`203.0.113.0/24`, `2001:db8::/32`), or with `*`.
 * `only`: a field that holds addresses of this version. Errors: `BAD_INPUT` for what is none and can match none, and for what
 * matches every one.
 */
export function readAddresses(patterns: readonly string[], field: string, only?: 4 | 6): Test {
  refuseTooMany(
    field,
    patterns.filter((pattern) => /[*/]/.test(pattern)),
  );
  const exact = new Set<string>();
  const networks: Network[] = [];
  const tests: Test[] = [];
  for (const given of patterns) {
    const pattern = given.trim().toLowerCase().replace(/\*+/g, '*');
    const wrong = (why: string): Error => badInput(sentence`filter.${field}: ${quoted(given)} ${ours(why)}`);
    const address = plainAddress(pattern);
    if (address !== undefined) {
      if (only !== undefined && isIP(pattern) !== only) throw wrong(`is no IPv${only} address, so it can match none.`);
      exact.add(address);
    } else if (pattern.includes('/')) networks.push(networkOf(pattern, only, wrong));
    else if (!pattern.includes('*'))
      throw wrong('is no address, so it can match none. Give an address, a network such as 203.0.113.0/24, or * for a part.');
    else tests.push(wildcards(checkWildcards(pattern, only, wrong)));
  }
  const inNetwork = networkTest(networks);
  return (text) => {
    const written = text.trim().toLowerCase();
    const address = plainAddress(written);
    if (address === undefined) return tests.some((test) => test(written));
    return exact.has(address) || inNetwork(address) || tests.some((test) => test(written) || test(address));
  };
}

/** One way to write each address, an IPv4 one within IPv6 as itself; undefined for what is none. */
export function plainAddress(text: string): string | undefined {
  const version = isIP(text);
  // One of a link (`%eth0`) means something on that machine only.
  if (version === 0 || text.includes('%')) return undefined;
  if (version === 4) return text;
  const { address } = new SocketAddress({ address: text, family: 'ipv6' });
  const inner = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : '';
  return isIP(inner) === 4 ? inner : address;
}

interface Network {
  readonly address: string;
  readonly bits: number;
  readonly version: 4 | 6;
}

function networkOf(pattern: string, only: 4 | 6 | undefined, wrong: (why: string) => Error): Network {
  const [address = '', length = '', ...rest] = pattern.split('/');
  const version = isIP(address);
  if (rest.length > 0 || (version !== 4 && version !== 6) || address.includes('%'))
    throw wrong('is no network. Give one such as 203.0.113.0/24 or 2001:db8::/32.');
  if (only !== undefined && version !== only) throw wrong(`is no IPv${only} network, so it can match none.`);
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : NaN;
  if (!(bits <= BITS[version]))
    throw wrong(`is no network: behind the slash of an IPv${version} network stands a number up to ${BITS[version]}.`);
  if (bits === 0) throw wrong('matches every address. Leave the field out, or be more specific.');
  return { address, bits, version };
}

function networkTest(networks: readonly Network[]): Test {
  if (networks.length === 0) return () => false;
  const list = new BlockList();
  for (const { address, bits, version } of networks) list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  return (address) => list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

function checkWildcards(pattern: string, only: 4 | 6 | undefined, wrong: (why: string) => Error): string {
  if (!/[0-9a-f]/.test(pattern)) throw wrong('matches every address. Leave the field out, or be more specific.');
  const possible = pattern.length <= LONGEST && ((only !== 6 && canBeIPv4(pattern)) || (only !== 4 && canBeIPv6(pattern)));
  if (!possible) throw wrong('can match no address. Give an address, a network such as 203.0.113.0/24, or * for a part.');
  return pattern;
}

/** Whether four numbers up to 255 can be like this; a `*` may stand for dots too. */
function canBeIPv4(pattern: string): boolean {
  if (!/^[0-9.*]+$/.test(pattern)) return false;
  const parts = pattern.split('.');
  if (parts.length > 4) return false;
  return parts.every((part) => {
    if (!part.includes('*')) return OCTETS.includes(part);
    if (parts.length === 4) return OCTETS.some(wildcards(part));
    const pieces = part.split('*');
    const [first = ''] = pieces;
    const last = pieces.at(-1) ?? '';
    return (
      OCTETS.some((octet) => octet.startsWith(first)) &&
      OCTETS.some((octet) => octet.endsWith(last)) &&
      pieces.every((piece) => OCTETS.some((octet) => octet.includes(piece)))
    );
  });
}

/** Whether eight groups of four hexadecimal digits, or fewer with one gap, can be like this; dots only in an IPv4 address at its end. */
function canBeIPv6(pattern: string): boolean {
  if (!/^[0-9a-f:.*]+$/.test(pattern) || /[0-9a-f]{5}|:::/.test(pattern)) return false;
  if (pattern.includes('.') && !pattern.includes(':')) return false;
  const gaps = pattern.split('::').length - 1;
  return gaps <= 1 && pattern.split(':').length <= 8 + gaps;
}
