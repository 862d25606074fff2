import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Gateway } from '../../src/gateway/gateway';
import { parseSubjectAltNames, toCertificateInfo, type Handshake } from '../../src/http/peer-certificate';
import type { CertificateInfo } from '../../src/model/peer-certificate';

/** The certificate that the dialog offers to trust. Verification stays on. */
interface TrustAnchor {
  /** The topmost certificate of the chain: that of an authority, or the certificate of the appliance itself. */
  readonly pem: string;
  readonly itself: boolean;
  /** A name in the certificate if it differs from the host name of the URL. */
  readonly servername?: string;
}

export interface UntrustedCertificateChain {
  readonly chain: readonly CertificateInfo[];
  readonly names: readonly string[];
  readonly trust?: TrustAnchor;
  /** Why the problem would remain if the certificate were trusted. */
  readonly hinders?: 'dates' | 'names';
}

/** Returns the certificate chain of an untrusted appliance. Undefined if no handshake succeeds. */
export async function inspectUntrustedCertificateChain(
  gateway: Gateway,
  url: string,
  name: string | undefined,
  clientSignal: AbortSignal,
): Promise<UntrustedCertificateChain | undefined> {
  try {
    return toUntrustedChain(await gateway.handshake(clientSignal), name ?? new URL(url).hostname.replace(/^\[|\]$/g, ''));
  } catch {
    // The caller reports the first error.
    return undefined;
  }
}

function toUntrustedChain({ certificates, trusted }: Handshake, host: string): UntrustedCertificateChain {
  const [first] = certificates;
  const last = certificates.at(-1) ?? first;
  const names = parseSubjectAltNames(first);
  const result = { chain: certificates.map(toCertificateInfo), names };
  // The chain is trusted, so the failure has another cause, such as a missing client certificate.
  if (trusted) return result;
  if (!certificates.every(isValid)) return { ...result, hinders: 'dates' };
  const trust = { pem: last.toString(), itself: last === first };
  if (isValidForHost(first, host)) return { ...result, trust };
  const servername = names.find((other) => isIP(other) === 0 && !other.includes('*'));
  return servername === undefined ? { ...result, hinders: 'names' } : { ...result, trust: { ...trust, servername } };
}

function isValid({ validFrom, validTo }: X509Certificate): boolean {
  return Date.parse(validFrom) <= Date.now() && Date.now() <= Date.parse(validTo);
}

function isValidForHost(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}
