import { X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { unlessAborted } from '../../model/cancelling';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import { boolean, number, type Call } from '../../model/operation';
import type { ServedCertificate } from '../../model/served';
import { sentence, type Sentence } from '../../model/sentence';

/** A web server that starts anew takes a moment; the pause between two looks grows up to the last of these. */
const PAUSES_MS = [250, 500, 1000, 2000, 5000];

/** Of both uploads. */
export const proveFields = {
  prove: boolean(
    'Prove',
    'Afterwards looks until the TLS handshake shows the new certificate; when it does not in time, that is CONFLICT.',
    {
      guard: true,
    },
  ),
  'prove-within': number('Seconds', 'How long it may take until the new certificate is served.', {
    guard: true,
    default: 60,
    range: 'positive',
  }),
};

/** The fingerprint of the certificate that a bundle would make the appliance serve. Errors: `BAD_INPUT`; nothing was sent. */
export function fingerprintOf(bytes: Buffer, password?: string): string {
  try {
    return bytes.includes('-----BEGIN') || isCertificate(bytes) ? new X509Certificate(bytes).fingerprint256 : inPkcs12(bytes, password);
  } catch (error) {
    throw badInput(
      sentence`prove is set, but the certificate cannot be read here (${error instanceof Error ? error.message : String(error)}), so there would be nothing to compare with. Nothing was sent.`,
    );
  }
}

/** Looks until the handshake shows that certificate. Errors: `CONFLICT` with both fingerprints when it does not in time. */
export async function proveServed(expected: string, seconds: number, call: Call): Promise<void> {
  const until = performance.now() + seconds * 1000;
  let seen: ServedCertificate | undefined;
  for (let look = 0; ; look++) {
    let why: Sentence;
    try {
      seen = await call.served();
      why = sentence`the handshake still shows ${seen.subject}, good until ${seen['valid-to']}`;
    } catch (thrown) {
      const fault = asGatewayError(thrown);
      if (fault.code === 'ABORTED' || fault.code === 'BAD_CONFIG') throw fault;
      why = sentence`no handshake was to be had: ${fault}`;
    }
    // Seen before, it would have ended then.
    if (seen?.fingerprint256 === expected) break;
    const left = until - performance.now();
    if (left <= 0) throw notServed(expected, seconds, seen, why);
    const pause = Math.min(left, PAUSES_MS[look] ?? 5000);
    await unlessAborted(
      new Promise((resolve) => setTimeout(resolve, pause)),
      call.signal,
      'Cancelled while it waited for the certificate.',
    );
  }
  call.note({ served: told(seen) });
}

function notServed(expected: string, seconds: number, seen: ServedCertificate | undefined, why: Sentence): GatewayError {
  return new GatewayError(
    'CONFLICT',
    sentence`The appliance took the certificate, but after ${seconds} s ${why}. Check which interface has it, and whether that is the one that the URL leads to.`,
    { sent: true, extra: { expected, served: seen ? told(seen) : null } },
  );
}

function told({ chain: _, ...certificate }: ServedCertificate): Omit<ServedCertificate, 'chain'> {
  return certificate;
}

/** DER of a certificate begins like that of a bundle, but has no version number in the second place. */
function isCertificate(bytes: Buffer): boolean {
  try {
    new X509Certificate(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Node.js has no reader for PKCS#12; a socket that never connects tells which certificate it would present. */
function inPkcs12(pfx: Buffer, passphrase: string | undefined): string {
  const secureContext = createSecureContext({ pfx, passphrase });
  const socket = new TLSSocket(new Duplex({ read: () => undefined, write: () => undefined }), { secureContext, isServer: true });
  const certificate = socket.getCertificate() as { fingerprint256?: string } | null;
  socket.destroy();
  if (certificate?.fingerprint256 === undefined) throw new Error('it holds no certificate');
  return certificate.fingerprint256;
}
