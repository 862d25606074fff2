import { BlockList, isIP, SocketAddress } from 'node:net';
import { badInput } from '../../model/error';
import { trusted, safeMessage } from '../../model/safe-message';
import { quotePattern, assertPatternCount, createWildcardMatcher, type TextMatcher } from './patterns';

const OCTETS = Array.from({ length: 256 }, (_, octet) => String(octet));
/** Maximum length of a pattern: the longest address with a wildcard between all characters. */
const MAX_PATTERN_LENGTH = 91;
const ADDRESS_BITS = { 4: 32, 6: 128 } as const;

/**
 * Reads addresses in any spelling, networks (`203.0.113.0/24`, `2001:db8::/32`) and patterns with `*`. `requiredVersion`: the field
 * holds only addresses of this version. Errors: `BAD_INPUT` for a pattern that matches no address or all.
 */
export function parseAddressPatterns(patterns: readonly string[], field: string, requiredVersion?: 4 | 6): TextMatcher {
  assertPatternCount(
    field,
    patterns.filter((pattern) => /[*/]/.test(pattern)),
  );
  const exact = new Set<string>();
  const networks: Network[] = [];
  const tests: TextMatcher[] = [];
  for (const rawPattern of patterns) {
    const pattern = rawPattern.trim().toLowerCase().replace(/\*+/g, '*');
    const createPatternError = (reason: string): Error =>
      badInput(safeMessage`filter.${field}: ${quotePattern(rawPattern)} ${trusted(reason)}`);
    const address = normalizeAddress(pattern);
    if (address !== undefined) {
      if (requiredVersion !== undefined && isIP(pattern) !== requiredVersion)
        throw createPatternError(`is not an IPv${requiredVersion} address, so it cannot match.`);
      exact.add(address);
    } else if (pattern.includes('/')) networks.push(parseNetwork(pattern, requiredVersion, createPatternError));
    else if (!pattern.includes('*'))
      throw createPatternError(
        'is not an address, so it cannot match. Give an address, a network such as 203.0.113.0/24, or * for a part.',
      );
    else tests.push(createWildcardMatcher(checkWildcards(pattern, requiredVersion, createPatternError)));
  }
  const isInNetwork = createNetworkMatcher(networks);
  return (text) => {
    const normalizedText = text.trim().toLowerCase();
    const address = normalizeAddress(normalizedText);
    if (address === undefined) return tests.some((test) => test(normalizedText));
    return exact.has(address) || isInNetwork(address) || tests.some((test) => test(normalizedText) || test(address));
  };
}

/** Normalizes the spelling of an address; IPv4 within IPv6 becomes IPv4. Returns undefined for other text. */
export function normalizeAddress(text: string): string | undefined {
  const version = isIP(text);
  // A link-local zone (`%eth0`) is valid only on its own machine.
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

function parseNetwork(pattern: string, requiredVersion: 4 | 6 | undefined, createPatternError: (why: string) => Error): Network {
  const [address = '', length = '', ...rest] = pattern.split('/');
  const version = isIP(address);
  if (rest.length > 0 || (version !== 4 && version !== 6) || address.includes('%'))
    throw createPatternError('is not a network. Give one such as 203.0.113.0/24 or 2001:db8::/32.');
  if (requiredVersion !== undefined && version !== requiredVersion)
    throw createPatternError(`is not an IPv${requiredVersion} network, so it cannot match.`);
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : NaN;
  if (!(bits <= ADDRESS_BITS[version]))
    throw createPatternError(`is not a network: an IPv${version} prefix length is a number up to ${ADDRESS_BITS[version]}.`);
  if (bits === 0) throw createPatternError('matches every address. Leave the field out, or be more specific.');
  return { address, bits, version };
}

function createNetworkMatcher(networks: readonly Network[]): TextMatcher {
  if (networks.length === 0) return () => false;
  const list = new BlockList();
  for (const { address, bits, version } of networks) list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  return (address) => list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

function checkWildcards(pattern: string, requiredVersion: 4 | 6 | undefined, createPatternError: (why: string) => Error): string {
  if (!/[0-9a-f]/.test(pattern)) throw createPatternError('matches every address. Leave the field out, or be more specific.');
  const isPossible =
    pattern.length <= MAX_PATTERN_LENGTH &&
    ((requiredVersion !== 6 && canBeIPv4(pattern)) || (requiredVersion !== 4 && canBeIPv6(pattern)));
  if (!isPossible) throw createPatternError('cannot match an address. Give an address, a network such as 203.0.113.0/24, or * for a part.');
  return pattern;
}

/** Whether an IPv4 address can match; a `*` also matches dots. */
function canBeIPv4(pattern: string): boolean {
  if (!/^[0-9.*]+$/.test(pattern)) return false;
  const parts = pattern.split('.');
  if (parts.length > 4) return false;
  return parts.every((part) => {
    if (!part.includes('*')) return OCTETS.includes(part);
    if (parts.length === 4) return OCTETS.some(createWildcardMatcher(part));
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

/** Whether an IPv6 address can match: at most eight groups of four hexadecimal digits, one gap, and an IPv4 address at the end. */
function canBeIPv6(pattern: string): boolean {
  if (!/^[0-9a-f:.*]+$/.test(pattern) || /[0-9a-f]{5}|:::/.test(pattern)) return false;
  if (pattern.includes('.') && !pattern.includes(':')) return false;
  const gaps = pattern.split('::').length - 1;
  return gaps <= 1 && pattern.split(':').length <= 8 + gaps;
}
