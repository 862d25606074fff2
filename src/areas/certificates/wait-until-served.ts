import { X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { rejectOnAbort } from '../../model/abort';
import { asGatewayError, badInput, GatewayError } from '../../model/error';
import { booleanField, numberField, type OperationContext } from '../../model/operation';
import type { PeerCertificateInfo } from '../../model/peer-certificate';
import { safeMessage, type SafeMessage } from '../../model/safe-message';

/** Growing delays, because the web server of the appliance restarts after an upload. */
const RETRY_DELAYS_MS = [250, 500, 1000, 2000, 5000];

/** Fields of both upload operations. */
export const waitUntilServedFields = {
  prove: booleanField(
    'Prove',
    'After the upload, checks until the TLS handshake shows the new certificate. If it does not in time, the error is CONFLICT.',
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

/** Reads the SHA-256 fingerprint of the certificate in a bundle. Errors: `BAD_INPUT` for a bundle without a readable certificate. */
export function readFingerprint(bytes: Buffer, password?: string): string {
  try {
    return bytes.includes('-----BEGIN') || isCertificate(bytes)
      ? new X509Certificate(bytes).fingerprint256
      : readPkcs12Fingerprint(bytes, password);
  } catch (error) {
    throw badInput(
      safeMessage`prove is set, but the certificate cannot be read here (${error instanceof Error ? error.message : String(error)}), so the served certificate could not be compared with it. Nothing was sent.`,
    );
  }
}

/** Repeats the TLS handshake until it shows the expected fingerprint. Errors: `CONFLICT` with both fingerprints after the time limit. */
export async function waitUntilCertificateServed(expected: string, seconds: number, call: OperationContext): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  let latest: PeerCertificateInfo | undefined;
  for (let attempt = 0; ; attempt++) {
    let reason: SafeMessage;
    try {
      latest = await call.fetchPeerCertificate();
      reason = safeMessage`the handshake still shows ${latest.subject}, valid until ${latest['valid-to']}`;
    } catch (thrown) {
      const fault = asGatewayError(thrown);
      if (fault.code === 'ABORTED' || fault.code === 'BAD_CONFIG') throw fault;
      reason = safeMessage`no handshake succeeded: ${fault}`;
    }
    if (latest?.fingerprint256 === expected) break;
    const remainingMs = deadline - performance.now();
    if (remainingMs <= 0) throw createNotServedError(expected, seconds, latest, reason);
    const delayMs = Math.min(remainingMs, RETRY_DELAYS_MS[attempt] ?? 5000);
    await rejectOnAbort(
      new Promise((resolve) => setTimeout(resolve, delayMs)),
      call.signal,
      'Canceled while it waited for the certificate.',
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
    safeMessage`The appliance accepted the certificate, but after ${seconds} s ${reason}. Check that the interface behind the URL uses the new certificate.`,
    { sent: true, extra: { expected, served: latest ? withoutChain(latest) : null } },
  );
}

function withoutChain({ chain: _, ...certificate }: PeerCertificateInfo): Omit<PeerCertificateInfo, 'chain'> {
  return certificate;
}

/** Parses the bytes, because DER of a certificate and of a PKCS#12 bundle start alike. */
function isCertificate(bytes: Buffer): boolean {
  try {
    new X509Certificate(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Reads the certificate from an unconnected TLS socket, because Node.js has no PKCS#12 reader. */
function readPkcs12Fingerprint(pfx: Buffer, passphrase: string | undefined): string {
  const secureContext = createSecureContext({ pfx, passphrase });
  const socket = new TLSSocket(new Duplex({ read: () => undefined, write: () => undefined }), { secureContext, isServer: true });
  const certificate: { fingerprint256?: string } | null = socket.getCertificate();
  socket.destroy();
  if (certificate?.fingerprint256 === undefined) throw new Error('it holds no certificate');
  return certificate.fingerprint256;
}
