import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Gateway } from '../src/gateway';
import { namesOf, shownOf, type Handshake } from '../src/http/served';
import type { ShownCertificate } from '../src/model/served';

/** What the dialog makes a TLS configuration of; verification stays on. */
export interface Trust {
  /** The topmost certificate that was shown: an authority, or the certificate itself. */
  readonly pem: string;
  readonly itself: boolean;
  /** The name that the certificate has, where it does not have that of the address. */
  readonly servername?: string;
}

export interface Shown {
  readonly chain: readonly ShownCertificate[];
  readonly names: readonly string[];
  readonly trust?: Trust;
  /** Why trusting it would not help. */
  readonly hinders?: 'dates' | 'names';
}

/** The chain of an appliance that was not believed, and what would have to be trusted. Undefined where no handshake is to be had. */
export async function untrustedChain(
  gateway: Gateway,
  url: string,
  name: string | undefined,
  gone: AbortSignal,
): Promise<Shown | undefined> {
  try {
    return shown(await gateway.handshake(gone), name ?? new URL(url).hostname.replace(/^\[|\]$/g, ''));
  } catch {
    // What was wrong is told already.
    return undefined;
  }
}

function shown({ certificates, trusted }: Handshake, host: string): Shown {
  const [first] = certificates;
  const last = certificates.at(-1) ?? first;
  const names = namesOf(first);
  const seen = { chain: certificates.map(shownOf), names };
  // Then it was something else: that we show none ourselves, say.
  if (trusted) return seen;
  if (!certificates.every(isValid)) return { ...seen, hinders: 'dates' };
  const trust = { pem: last.toString(), itself: last === first };
  if (isFor(first, host)) return { ...seen, trust };
  const servername = names.find((other) => isIP(other) === 0 && !other.includes('*'));
  return servername === undefined ? { ...seen, hinders: 'names' } : { ...seen, trust: { ...trust, servername } };
}

function isValid({ validFrom, validTo }: X509Certificate): boolean {
  return Date.parse(validFrom) <= Date.now() && Date.now() <= Date.parse(validTo);
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}
