import { createWildcardMatcher } from '../areas/sessions/patterns';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

const MAX_PATTERNS = 1000;
/** `host`, `host:port` or `*.host`, and before it a credential set with `=`. */
const PATTERN = /^(?:([A-Za-z0-9_][A-Za-z0-9_. -]{0,99})=)?([^\s=/]+)$/;

interface HostPattern {
  /** The credential set that the pattern applies to. Undefined: all sets. */
  readonly set: string | undefined;
  readonly matches: (host: string, hostname: string) => boolean;
}

/** A credential set and the address that it is sent to. */
interface CredentialUse {
  readonly credentials: string;
  readonly url: unknown;
}

/**
 * The hosts that each credential set may be sent to: those of the first list, and those that match a pattern. Otherwise a later change of the
 * list could send a stored password to another host.
 */
export class AllowedHosts {
  readonly #patterns: readonly HostPattern[];
  /** The addresses of the first list. Their hosts are parsed only when a later list has another address. */
  #urlsBySet: Map<string, Set<unknown>> | undefined;
  #hostsBySet: Map<string, Set<string>> | undefined;

  /** Parses host patterns. Errors: `BAD_CONFIG` for an invalid pattern. */
  constructor(patterns: readonly string[] = []) {
    if (patterns.length > MAX_PATTERNS)
      throw badConfig(safeMessage`allowedHosts has ${patterns.length} patterns; the maximum is ${MAX_PATTERNS}.`);
    this.#patterns = patterns.map(parsePattern);
  }

  /** Allows the hosts of the first list. Later calls change nothing. */
  learn(uses: readonly CredentialUse[]): void {
    if (this.#urlsBySet) return;
    this.#urlsBySet = new Map();
    for (const { credentials, url } of uses) {
      const urls = this.#urlsBySet.get(credentials) ?? new Set();
      this.#urlsBySet.set(credentials, urls.add(url));
    }
  }

  isAllowed({ credentials, url }: CredentialUse): boolean {
    const parsed = parseHost(url);
    if (!parsed) return false;
    if (!this.#urlsBySet || this.#urlsBySet.get(credentials)?.has(url)) return true;
    this.#hostsBySet ??= parseHosts(this.#urlsBySet);
    if (this.#hostsBySet.get(credentials)?.has(parsed.host)) return true;
    return this.#patterns.some(
      ({ set, matches }) => (set === undefined || set === credentials) && matches(parsed.host, parsed.hostname.toLowerCase()),
    );
  }

  /** Errors: `BAD_CONFIG`. */
  assertAllowed(use: CredentialUse): void {
    if (this.isAllowed(use)) return;
    throw badConfig(
      safeMessage`the credential set ${use.credentials} was not deployed for the host ${parseHost(use.url)?.host ?? ''}. Nothing was sent. If the host is correct, deploy again, or add it to the allowed hosts (allowedHosts).`,
    );
  }
}

function parsePattern(text: string): HostPattern {
  const [, set, pattern] = PATTERN.exec(text) ?? [];
  if (pattern === undefined)
    throw badConfig(
      safeMessage`allowedHosts: ${JSON.stringify(text.slice(0, 200))} is invalid. Use a host such as *.example.com, or eu=*.example.com for one set.`,
    );
  const matchesText = createWildcardMatcher(pattern.toLowerCase());
  const hasPort = /:(\d+|\*)$/.test(pattern);
  return { set, matches: (host, hostname) => matchesText(hasPort ? host : hostname) };
}

function parseHosts(urlsBySet: ReadonlyMap<string, ReadonlySet<unknown>>): Map<string, Set<string>> {
  return new Map(Array.from(urlsBySet, ([set, urls]) => [set, new Set([...urls].flatMap((url) => parseHost(url)?.host ?? []))]));
}

function parseHost(url: unknown): URL | undefined {
  try {
    return typeof url === 'string' ? new URL(url) : undefined;
  } catch {
    return undefined;
  }
}

function badConfig(message: ReturnType<typeof safeMessage>): GatewayError {
  return new GatewayError('BAD_CONFIG', message, { sent: false });
}
