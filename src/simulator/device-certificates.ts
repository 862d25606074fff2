import { X509Certificate } from 'node:crypto';
import { Duplex } from 'node:stream';
import { TLSSocket, createSecureContext } from 'node:tls';
import {
  type BodyShape,
  booleanField,
  checkBody,
  nonEmptyTextField,
  isObject,
  objectField,
  oneOfField,
  requiredField,
  textField,
  readText,
  textListField,
} from './body-shape';
import { type Reply, Refusal, infoReply, noContentReply } from './reply';
import type { ApiRequest, Router } from './router';
import { encodePathSegment } from './url';

/** Device certificates and CSRs (appliance-api.md, "Certificates", "Device certificate request", "CSR request"). */
const BASE = '/api/v1/system/certificates';

const UPLOAD: BodyShape = {
  cert: requiredField(nonEmptyTextField),
  password: requiredField(textField),
  'internal-interfaces': objectField({ 'internal-interface': requiredField(textListField) }),
  'external-interfaces': objectField({ 'external-interface': requiredField(textListField) }),
  'management-interface': booleanField,
};

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function decodeBase64(value: string): Buffer {
  const compact = value.replace(/\s/g, '');
  if (!BASE64.test(compact) || compact.length % 4 !== 0) throw new Refusal(422, 'Validation failed: the certificate is not base64');
  return Buffer.from(compact, 'base64');
}

function commonName(subject: string | undefined): string {
  const line = subject?.split('\n').find((part) => part.startsWith('CN='));
  return line?.slice(3) ?? subject ?? '';
}

/** The certificate of a bundle with its key. A bundle is PKCS#12, or PEM with certificate and key. */
function readBundle(bundle: Buffer, passphrase: string): string {
  const pem = bundle.includes('-----BEGIN');
  try {
    const secureContext = createSecureContext(pem ? { cert: bundle, key: bundle, passphrase } : { pfx: bundle, passphrase });
    if (pem) return commonName(new X509Certificate(bundle).subject);
    // node has no reader for PKCS#12; a socket that never connects tells which certificate such a context would present.
    const certificate = new TLSSocket(new Duplex({ read: () => undefined }), { secureContext, isServer: true }).getCertificate();
    return certificate && 'subject' in certificate ? ((certificate.subject as { CN?: string }).CN ?? '') : '';
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    if (/mac verify|bad decrypt|bad password|interrupted or cancelled/i.test(reason))
      throw new Refusal(422, 'The password of the certificate bundle is wrong.');
    throw new Refusal(422, `The certificate bundle can't be read: ${reason}`);
  }
}

function upload(request: ApiRequest): Reply {
  checkBody(request.body, UPLOAD);
  const { cert, password, ...interfaces } = request.body as { cert: string; password: string };
  const bundle = decodeBase64(cert);
  const { certificates, variants } = request.state;
  const subject = variants.checkCertificates ? readBundle(bundle, password) : `certificate-${certificates.device.size + 1}`;
  if (subject === '') throw new Refusal(422, 'The certificate has no subject name.');
  certificates.device.set(subject, interfaces);
  return infoReply(variants, 201, 'Operation completed successfully.');
}

const CSR_KEY: BodyShape = {
  'subject-common-name': requiredField(nonEmptyTextField),
  'key-type': requiredField(oneOfField('ECDSA', 'RSA')),
};
const CSR_ECDSA_KEY: BodyShape = { ...CSR_KEY, 'ecc-curve': requiredField(oneOfField('P-256', 'P-384')) };

function createCsr(request: ApiRequest): Reply {
  checkBody(request.body, readText(request.body, 'key-type') === 'RSA' ? CSR_KEY : CSR_ECDSA_KEY);
  const { certificates, variants } = request.state;
  const subject = readText(request.body, 'subject-common-name');
  const name = `csr-${++certificates.created}-${subject}`;
  certificates.csrs.set(name, subject);
  return infoReply(
    variants,
    201,
    `CSR ${name} created successfully.`,
    `Upload the signed certificate at ${BASE}/device-certificate-csrs/${encodePathSegment(name)}/certificate`,
  );
}

/** The interface does not show the body of this upload, so PEM text and JSON with one PEM or base64 string are accepted. */
function readSignedCertificate(raw: Buffer): Buffer {
  const body = raw.toString('utf8').trim();
  if (body === '') throw new Refusal(400, 'A body with the signed certificate is required');
  if (!body.startsWith('{')) return body.includes('-----BEGIN') ? raw : decodeBase64(body);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw new Refusal(400, 'The body is not well-formed JSON');
  }
  const strings = isObject(parsed) ? Object.values(parsed).filter((value) => typeof value === 'string') : [];
  const [certificate] = strings;
  if (certificate === undefined || strings.length > 1)
    throw new Refusal(422, 'Validation failed: the body must hold the certificate as its one string');
  return certificate.includes('-----BEGIN') ? Buffer.from(certificate) : decodeBase64(certificate);
}

function uploadSigned(request: ApiRequest): Reply {
  const { certificates, variants } = request.state;
  const subject = certificates.csrs.get(request.parameter);
  if (subject === undefined) throw new Refusal(404, `The CSR ${request.parameter} does not exist.`);
  const certificate = readSignedCertificate(request.raw);
  if (variants.checkCertificates) {
    try {
      new X509Certificate(certificate);
    } catch {
      throw new Refusal(422, "The signed certificate can't be read.");
    }
  }
  certificates.csrs.delete(request.parameter);
  certificates.device.set(subject, {});
  return infoReply(variants, 201, 'Operation completed successfully.');
}

function remove(request: ApiRequest): Reply {
  if (!request.state.certificates.device.delete(request.parameter))
    throw new Refusal(404, `The device certificate ${request.parameter} does not exist.`);
  return noContentReply();
}

export function addCertificateRoutes(router: Router): void {
  router.add('POST', 'system/certificates/device-certificates', upload, { body: 'json' });
  router.add('DELETE', 'system/certificates/device-certificates/*', remove);
  router.add('POST', 'system/certificates/device-certificate-csrs', createCsr, { body: 'json' });
  router.add('POST', 'system/certificates/device-certificate-csrs/*/certificate', uploadSigned, { body: 'raw' });
}
