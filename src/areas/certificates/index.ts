import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { allowMissingField } from '../../change/if-exists';
import { encodeCertificateBundle, findSigningRequest, encodeSignedCertificate } from './bundle';
import { badInput } from '../../model/error';
import { readFingerprint, waitUntilServedFields, waitUntilCertificateServed } from './wait-until-served';
import {
  defineArea,
  booleanField,
  choiceField,
  dataField,
  listField,
  numberField,
  defineOperation,
  requiredField,
  payloadField,
  textField,
} from '../../model/operation';
import { encodedPath } from '../../model/path';
import { MASK } from '../../model/redaction';
import { safeMessage } from '../../model/safe-message';

const CERTIFICATES = '/api/v1/system/certificates';

/**
 * Reads the host and port; undefined for the appliance itself. Errors: `BAD_INPUT` for an invalid host or port, or a port without a host.
 */
function toHostPort(host: string | undefined, port = 443): { host: string; port: number } | undefined {
  if (port > 65_535) throw badInput(safeMessage`port is ${port}; the highest port is 65535.`);
  if (host === undefined && port !== 443) throw badInput('port is set without host. Set both, or neither for the appliance.');
  if (host === undefined) return undefined;
  const name = host.trim().replace(/^\[|\]$/g, '');
  if (isIP(name) > 0 || /^[\p{L}\p{N}_-]+(\.[\p{L}\p{N}_-]+)*\.?$/u.test(name)) return { host: domainToASCII(name) || name, port };
  throw badInput(safeMessage`host is ${JSON.stringify(host)}, which is not a host name or address. Enter it without https:// and path.`);
}

/** Device certificates and signing requests (appliance-api.md, "Certificates"). */
export const certificatesArea = defineArea({
  name: 'certificates',
  label: 'Gateway certificates',
  help: 'Uploads and deletes device certificates, creates signing requests and uploads the signed certificates.',
  icon: 'gateway-certificates.svg',
  color: '#46C9CE',
  operations: {
    upload: defineOperation({
      effect: 'write',
      label: 'Upload a certificate',
      help: 'Uploads a certificate with its key, usually a PKCS#12 bundle, and binds it to interfaces. A wrong password is reported before anything is sent.',
      summary: {
        done: 'Uploaded a certificate to __appliance__.',
        served: 'Uploaded the certificate __subject__ to __appliance__, which serves it now.',
        'planned-one': 'Would upload a certificate to __appliance__.',
      },
      data: 'result',
      fields: {
        cert: payloadField(dataField('Bundle', 'The bundle: a Buffer, or base64 text. Or give File.', { secret: true })),
        file: textField('File', 'Path of a file with the bundle, on the machine that Node-RED runs on.', { guard: true }),
        password: requiredField(textField('Password', 'Password of the bundle.', { secret: true })),
        'internal-interfaces': listField('Internal', 'Names of the internal interfaces that use it.', { names: 'interface' }),
        'external-interfaces': listField('External', 'Names of the external interfaces that use it.', { names: 'interface' }),
        'management-interface': booleanField('Management', 'Whether the management interface uses it.'),
        ...waitUntilServedFields,
      },
      run: async (input, call) => {
        const { 'internal-interfaces': internal, 'external-interfaces': external, 'management-interface': management } = input;
        const cert = await encodeCertificateBundle(input);
        const expected = input.prove ? readFingerprint(Buffer.from(cert, 'base64'), input.password) : undefined;
        const body = {
          cert,
          password: input.password,
          ...(internal && { 'internal-interfaces': { 'internal-interface': internal } }),
          ...(external && { 'external-interfaces': { 'external-interface': external } }),
          ...(management !== undefined && { 'management-interface': management }),
        };
        // The bundle holds the private key, so a plan must not show it.
        const result = await call.write({ method: 'POST', path: `${CERTIFICATES}/device-certificates`, body }, { ...body, cert: MASK });
        if (expected !== undefined && !call.dryRun) await waitUntilCertificateServed(expected, input['prove-within'], call);
        return result;
      },
      example: {
        input: { cert: 'MIIB', password: 'correct horse', 'internal-interfaces': ['<Internal Port>'], 'management-interface': false },
        request: `POST ${CERTIFICATES}/device-certificates`,
        body: {
          cert: 'MIIB',
          password: 'correct horse',
          'internal-interfaces': { 'internal-interface': ['<Internal Port>'] },
          'management-interface': false,
        },
      },
    }),
    'create-csr': defineOperation({
      effect: 'write',
      label: 'Create a signing request',
      help: 'Creates a CSR. The name of the CSR and the path for the signed certificate are in `msg.envelope.csr`, if the appliance reports them.',
      summary: {
        done: 'Created a signing request for __subject-common-name__.',
        'planned-one': 'Would create a signing request for __subject-common-name__.',
      },
      data: 'result',
      fields: {
        'subject-common-name': payloadField(
          requiredField(textField('Common name', 'Common name of the certificate: the host name.', { example: 'vpn.example.com' })),
        ),
        'key-type': textField('Key type', 'Kind of key.', { default: 'ECDSA', known: ['ECDSA', 'RSA'] }),
        'ecc-curve': textField('Curve', 'Curve of an ECDSA key; not sent for RSA.', { default: 'P-384', known: ['P-256', 'P-384'] }),
      },
      run: async ({ 'ecc-curve': curve, ...request }, call) => {
        const body = /^rsa$/i.test(request['key-type']) ? request : { ...request, 'ecc-curve': curve };
        const outcome = await call.write({ method: 'POST', path: `${CERTIFICATES}/device-certificate-csrs`, body });
        const csr = findSigningRequest(outcome.result);
        if (csr) call.addToEnvelope({ csr });
        return outcome;
      },
      example: {
        input: { 'subject-common-name': 'vpn.example.com' },
        request: `POST ${CERTIFICATES}/device-certificate-csrs`,
        body: { 'subject-common-name': 'vpn.example.com', 'key-type': 'ECDSA', 'ecc-curve': 'P-384' },
      },
    }),
    'upload-signed': defineOperation({
      effect: 'write',
      label: 'Upload a signed certificate',
      help: 'Uploads the certificate that the CA signed for a CSR. The CSR becomes a device certificate.',
      summary: {
        done: 'Uploaded the signed certificate for __csr-name__.',
        served: 'Uploaded the certificate __subject__ to __appliance__, which serves it now.',
        'planned-one': 'Would upload the signed certificate for __csr-name__.',
      },
      data: 'result',
      fields: {
        'csr-name': requiredField(
          textField('CSR', 'Name of the CSR: `msg.envelope.csr.name` of Create a signing request.', {
            example: 'vpn.example.com 1',
            names: 'csr',
          }),
        ),
        certificate: payloadField(
          requiredField(dataField('Certificate', 'The signed certificate: PEM text, or a Buffer with PEM or DER.', { example: 'MIIB' })),
        ),
        format: choiceField(
          'Send as',
          'How to send it, because the API description does not say: `base64` like other certificates, or the unchanged PEM `text`.',
          ['base64', 'text'],
          { default: 'base64' },
        ),
        ...waitUntilServedFields,
      },
      run: async ({ 'csr-name': name, certificate, format, prove, 'prove-within': within }, call) => {
        const cert = encodeSignedCertificate(certificate, format);
        const expected = prove ? readFingerprint(Buffer.from(cert, format === 'text' ? 'utf8' : 'base64')) : undefined;
        const path = encodedPath`/api/v1/system/certificates/device-certificate-csrs/${name}/certificate`;
        const result = await call.write({ method: 'POST', path, body: { cert } });
        if (expected !== undefined && !call.dryRun) await waitUntilCertificateServed(expected, within, call);
        return result;
      },
      example: {
        input: { 'csr-name': 'vpn.example.com 1', certificate: 'MIIB' },
        request: `POST ${CERTIFICATES}/device-certificate-csrs/vpn.example.com%201/certificate`,
        body: { cert: 'MIIB' },
      },
    }),
    served: defineOperation({
      effect: 'read',
      permissions: { reads: 'nothing: a TLS handshake, no login' },
      label: 'Read the served certificate',
      help: 'Reads the certificate, its chain and its remaining days from a TLS handshake. The operation reports the certificate even if it is not trusted, and sends no password and no key.',
      summary: { done: 'The served certificate __subject__ is valid until __valid-to__.' },
      data: '`{ subject, issuer, valid-from, valid-to, days, fingerprint256, names, trusted, chain }`',
      fields: {
        host: textField('Host', 'Name or address of another host. Default: the appliance.', { guard: true, example: 'vpn.example.com' }),
        port: numberField('Port', 'Port of that host. Default: 443.', { guard: true, range: 'count' }),
      },
      run: ({ host, port }, call) => call.fetchPeerCertificate(toHostPort(host, port)),
      // A TLS handshake is not an API request.
      example: { input: {}, request: '' },
    }),
    delete: defineOperation({
      effect: 'destroy',
      label: 'Delete a certificate',
      help: 'Deletes a device certificate by its subject name. Upload its successor first; otherwise an interface has no certificate.',
      summary: {
        done: 'Deleted the certificate __subject-name__.',
        unchanged: 'The certificate __subject-name__ did not exist.',
        'planned-one': 'Would delete the certificate __subject-name__.',
      },
      data: 'result',
      fields: {
        'subject-name': payloadField(
          requiredField(textField('Subject', 'Subject name of the certificate.', { example: 'vpn.example.com', names: 'certificate' })),
        ),
        'missing-ok': allowMissingField,
      },
      request: ({ 'subject-name': name }) => {
        if (name.trim() === '') throw badInput('subject-name is blank. Nothing was sent.');
        return { method: 'DELETE', path: encodedPath`/api/v1/system/certificates/device-certificates/${name}` };
      },
      example: { input: { 'subject-name': 'vpn.example.com' }, request: `DELETE ${CERTIFICATES}/device-certificates/vpn.example.com` },
    }),
  },
});
