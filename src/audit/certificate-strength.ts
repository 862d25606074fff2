import type { KeyObject, X509Certificate } from 'node:crypto';

const MIN_RSA_BITS = 2048;
const MIN_EC_BITS = 224;
/** Signature algorithms with MD2, MD4, MD5 or SHA-1, as DER object identifiers in hexadecimal. */
const WEAK_SIGNATURES: Readonly<Record<string, string>> = {
  '2a864886f70d010102': 'MD2 with RSA',
  '2a864886f70d010103': 'MD4 with RSA',
  '2a864886f70d010104': 'MD5 with RSA',
  '2a864886f70d010105': 'SHA-1 with RSA',
  '2b0e03021d': 'SHA-1 with RSA',
  '2a8648ce3d0401': 'SHA-1 with ECDSA',
  '2a8648ce380403': 'SHA-1 with DSA',
};
const OBJECT_IDENTIFIER = 0x06;

/** Returns why the certificate is weak: a short key, a short curve or a broken signature algorithm. Undefined if it is not. */
export function describeCertificateWeakness(certificate: X509Certificate): string | undefined {
  return describeShortKey(certificate) ?? describeWeakSignature(certificate);
}

function describeShortKey(certificate: X509Certificate): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength, namedCurve } = {} } = readPublicKey(certificate) ?? {};
  if (type === 'ec') {
    // The name of a curve holds its bits: secp160r1, prime192v1, sect163k1.
    const bits = Number(/\d{3}/.exec(namedCurve ?? '')?.[0] ?? MIN_EC_BITS);
    return bits < MIN_EC_BITS ? `curve ${namedCurve ?? ''}` : undefined;
  }
  return modulusLength !== undefined && modulusLength < MIN_RSA_BITS ? `${modulusLength} bits` : undefined;
}

/** Returns the key, or undefined if Node.js does not know its algorithm or the key is damaged. */
function readPublicKey(certificate: X509Certificate): KeyObject | undefined {
  try {
    return certificate.publicKey;
  } catch {
    return undefined;
  }
}

/** Nobody checks the signature of a root, so its algorithm does not matter. */
function describeWeakSignature(certificate: X509Certificate): string | undefined {
  if (certificate.ca && certificate.subject === certificate.issuer) return undefined;
  const oid = readSignatureOid(certificate.raw);
  return oid === undefined ? undefined : WEAK_SIGNATURES[oid];
}

/** Reads the signature algorithm from DER, because Node.js 20 does not report it: SEQUENCE { content, SEQUENCE { oid, … }, … }. */
function readSignatureOid(der: Buffer): string | undefined {
  const content = readElement(der, 0).start;
  const algorithm = readElement(der, readElement(der, content).end).start;
  const oid = readElement(der, algorithm);
  return der[algorithm] === OBJECT_IDENTIFIER ? der.toString('hex', oid.start, oid.end) : undefined;
}

/** Where the value of a DER element starts and ends. */
function readElement(der: Buffer, at: number): { start: number; end: number } {
  const first = der[at + 1] ?? 0;
  if (first < 0x80) return { start: at + 2, end: at + 2 + first };
  const lengthBytes = Math.min(first & 0x7f, 4);
  let length = 0;
  for (let index = 0; index < lengthBytes; index++) length = length * 256 + (der[at + 2 + index] ?? 0);
  const start = at + 2 + lengthBytes;
  return { start, end: start + length };
}
