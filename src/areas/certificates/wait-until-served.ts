import { X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { rejectOnAbort } from '../../model/abort';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import { booleanField, numberField, type OperationContext } from '../../model/operation';
import type { PeerCertificateInfo } from '../../model/peer-certificate';
import { safeMessage, type SafeMessage } from '../../model/safe-message';

/** A web server that starts anew takes a moment; the pause between two looks grows up to the last of these. */
const RETRY_DELAYS_MS = [250, 500, 1000, 2000, 5000];

/** Of both uploads. */
export const servedCheckFields = {
  prove: booleanField(
    'Prove',
    'Afterwards looks until the TLS handshake shows the new certificate; when it does not in time, that is CONFLICT.',
    {
      guard: true,
    },
  ),
  'prove-within': numberField('Seconds', 'How long it may take until the new certificate is served.', {
    guard: true,
    default: 60,
    range: 'positive',
  }),
};

/** The fingerprint of the certificate that a bundle would make the appliance serve. Errors: `BAD_INPUT`; nothing was sent. */
export function readFingerprint(bytes: Buffer, password?: string): string {
  try {
    return bytes.includes('-----BEGIN') || isCertificate(bytes)
      ? new X509Certificate(bytes).fingerprint256
      : readPkcs12Fingerprint(bytes, password);
  } catch (error) {
    throw badInput(
      safeMessage`prove is set, but the certificate cannot be read here (${error instanceof Error ? error.message : String(error)}), so there would be nothing to compare with. Nothing was sent.`,
    );
  }
}

/** Looks until the handshake shows that certificate. Errors: `CONFLICT` with both fingerprints when it does not in time. */
export async function waitUntilServed(expected: string, seconds: number, call: OperationContext): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  let latest: PeerCertificateInfo | undefined;
  for (let attempt = 0; ; attempt++) {
    let reason: SafeMessage;
    try {
      latest = await call.fetchPeerCertificate();
      reason = safeMessage`the handshake still shows ${latest.subject}, good until ${latest['valid-to']}`;
    } catch (thrown) {
      const fault = asGatewayError(thrown);
      if (fault.code === 'ABORTED' || fault.code === 'BAD_CONFIG') throw fault;
      reason = safeMessage`no handshake was to be had: ${fault}`;
    }
    // Seen before, it would have ended then.
    if (latest?.fingerprint256 === expected) break;
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) throw createNotServedError(expected, seconds, latest, reason);
    const delayMs = Math.min(remainingMs, RETRY_DELAYS_MS[attempt] ?? 5000);
    await rejectOnAbort(
      new Promise((resolve) => setTimeout(resolve, delayMs)),
      call.signal,
      'Cancelled while it waited for the certificate.',
    );
  }
  call.addToEnvelope({ served: withoutChain(latest) });
}

function createNotServedError(
  expected: string,
  seconds: number,
  latest: PeerCertificateInfo | undefined,
  reason: SafeMessage,
): GatewayError {
  return new GatewayError(
    'CONFLICT',
    safeMessage`The appliance took the certificate, but after ${seconds} s ${reason}. Check which interface has it, and whether that is the one that the URL leads to.`,
    { sent: true, extra: { expected, served: latest ? withoutChain(latest) : null } },
  );
}

function withoutChain({ chain: _, ...certificate }: PeerCertificateInfo): Omit<PeerCertificateInfo, 'chain'> {
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
function readPkcs12Fingerprint(pfx: Buffer, passphrase: string | undefined): string {
  const secureContext = createSecureContext({ pfx, passphrase });
  const socket = new TLSSocket(new Duplex({ read: () => undefined, write: () => undefined }), { secureContext, isServer: true });
  const certificate = socket.getCertificate() as { fingerprint256?: string } | null;
  socket.destroy();
  if (certificate?.fingerprint256 === undefined) throw new Error('it holds no certificate');
  return certificate.fingerprint256;
}
