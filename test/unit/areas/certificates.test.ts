import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MASK } from '../../../src/model/redaction';
import { encodeCertificateBundle, findSigningRequest, encodeSignedCertificate } from '../../../src/areas/certificates/bundle';
import {
  listRequests,
  expectFailure,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
} from '../../helpers/simulated-appliance';

const fixture = (name: string): string => join(__dirname, '../../fixtures', name);
const PASSWORD = 'Grün & "blau"';
const bundle = readFileSync(fixture('device.p12'));
const bodyOf = (text: string | undefined): Record<string, unknown> => JSON.parse(text ?? '{}') as Record<string, unknown>;

describe('device certificates', () => {
  it.each([
    ['a Buffer', { cert: bundle }],
    ['base64 text in lines', { cert: bundle.toString('base64').replace(/.{64}/g, '$&\n') }],
    ['a file', { file: fixture('device.p12') }],
  ])('a certificates operation uploads a bundle from %s', async (_from, from) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('certificates.upload', {
      ...from,
      password: PASSWORD,
      'internal-interfaces': 'Internal',
      'management-interface': 'false',
    });
    expect(bodyOf(listRequests(simulator)[0]?.body)).toEqual({
      cert: bundle.toString('base64'),
      password: PASSWORD,
      'internal-interfaces': { 'internal-interface': ['Internal'] },
      'management-interface': false,
    });
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(true);
  });

  it('gateway-certificates rejects a wrong bundle password before sending anything', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const name of ['device.p12', 'device-rc2.p12']) {
      const error = await expectFailure(gateway.run('certificates.upload', { file: fixture(name), password: 'wrong one' }));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining('password')]);
    }
    expect(simulator.requests).toEqual([]);
  });

  it('gateway-certificates uploads a bundle with an algorithm that Node.js does not support', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ status: 201, body: '{"result":{"info":[{"message":"done"}]}}' });
    const { envelope } = await gateway.run('certificates.upload', { file: fixture('device-rc2.p12'), password: PASSWORD });
    expect(envelope.status).toBe(201);
  });

  it.each([
    ['neither bundle nor file', {}, /^Either cert \(Bundle\) or file is required, and not both\. Nothing was sent\.$/],
    ['both', { cert: bundle, file: 'x' }, /^Either cert \(Bundle\) or file is required, and not both\. Nothing was sent\.$/],
    ['a file that is not there', { file: '/nowhere/device.p12' }, /^file cannot be read: ENOENT.*\. Nothing was sent\.$/],
    ['a file that is empty', { file: '/dev/null' }, /^The certificate bundle is empty\. Nothing was sent\.$/],
    ['text that is no base64', { cert: '§§' }, /^cert is neither base64 nor PEM text\. Nothing was sent\.$/],
    ['text that is cut', { cert: 'MI=IB' }, /^cert is neither base64 nor PEM text\. Nothing was sent\.$/],
    ['a list of such texts', { cert: ',MIIB' }, /^cert is neither base64 nor PEM text\. Nothing was sent\.$/],
    [
      'a password that does not open it',
      { cert: bundle },
      /^password does not open the PKCS#12 bundle\. Check the password\. Nothing was sent\.$/,
    ],
  ])('a certificates operation names the problem with %s', async (_what, input, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('certificates.upload', { ...input, password: 'p' }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(words)]);
    expect(simulator.requests).toEqual([]);
  });

  it('gateway-certificates uploads PEM text, with or without line breaks, and sends the interfaces', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const pem = readFileSync(fixture('device.pem'), 'utf8');
    const twice = `${pem}${pem}`;
    for (const cert of [pem, ` ${twice.replace(/\n/g, ' ')}\n`, twice.replace(/\n/g, '').replaceAll('DEVICE ', '')])
      await gateway.run('certificates.upload', { cert, password: PASSWORD, 'external-interfaces': ['External'] }).catch(() => undefined);
    const sent = listRequests(simulator).map(({ body }) => bodyOf(body));
    expect(sent.map(({ cert }) => Buffer.from(String(cert), 'base64').toString().trim())).toEqual([pem.trim(), twice.trim(), twice.trim()]);
    for (const { cert, ...rest } of sent)
      expect({ ...rest, cert }).toEqual({ cert, password: PASSWORD, 'external-interfaces': { 'external-interface': ['External'] } });
  });

  it('gateway-certificates masks the private key in a plan', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('certificates.upload', { cert: bundle, password: PASSWORD }, { dryRun: true });
    expect(envelope.plan).toMatchObject([{ method: 'POST', body: { cert: MASK, password: MASK } }]);
  });

  it('gateway-certificates deletes a certificate by its subject name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('certificates.upload', { cert: bundle, password: PASSWORD });
    await gateway.run('certificates.delete', { 'subject-name': 'vpn.example.com' });
    expect(listRequestLines(simulator).at(-1)).toBe('DELETE /api/v1/system/certificates/device-certificates/vpn.example.com');
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(false);
    const { message } = await expectFailure(gateway.run('certificates.delete', { 'subject-name': ' ' }));
    expect(message).toBe('subject-name is blank. Nothing was sent.');
    expect(listRequestLines(simulator)).toHaveLength(2);
  });
});

describe('certificate signing requests', () => {
  it('certificates.create-csr leaves csr out of the envelope when the appliance does not report a name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ status: 201, body: '{"result":{"info":[{"message":"Done."}]}}' });
    const { envelope } = await gateway.run('certificates.create-csr', { 'subject-common-name': 'vpn.example.com' });
    expect(envelope).not.toHaveProperty('csr');
  });

  it('gateway-certificates sends a curve only for ECDSA keys', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const name = { 'subject-common-name': 'vpn.example.com' };
    const all = [{}, { 'key-type': 'RSA' }, { 'key-type': 'RSA', 'ecc-curve': 'P-256' }, { 'ecc-curve': 'P-256' }];
    for (const more of all) await gateway.run('certificates.create-csr', { ...name, ...more });
    expect(listRequests(simulator).map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { ...name, 'key-type': 'ECDSA', 'ecc-curve': 'P-384' },
      { ...name, 'key-type': 'RSA' },
      { ...name, 'key-type': 'RSA' },
      { ...name, 'key-type': 'ECDSA', 'ecc-curve': 'P-256' },
    ]);
    const planned = async (kind: string): Promise<unknown> => {
      const { envelope } = await gateway.run('certificates.create-csr', { ...name, 'key-type': kind }, { dryRun: true });
      return envelope.plan?.[0]?.body;
    };
    expect(await planned('rsa')).toEqual({ ...name, 'key-type': 'rsa' });
    for (const kind of ['RSA-PSS', 'XRSA']) expect(await planned(kind)).toMatchObject({ 'ecc-curve': 'P-384' });
  });

  it.each(['base64', 'text'])('gateway-certificates creates a signing request and uploads the signed certificate as %s', async (format) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('certificates.create-csr', { 'subject-common-name': 'vpn.example.com' });
    const csr = envelope.csr as { name: string; uploadPath: string };
    expect(csr.uploadPath).toMatch(/^\/api\/v1\/system\/certificates\/device-certificate-csrs\/[^/]+\/certificate$/);
    const certificate = readFileSync(fixture('device.pem'));
    await gateway.run('certificates.upload-signed', { 'csr-name': csr.name, certificate, format });
    expect(listRequestLines(simulator).at(-1)).toBe(`POST ${csr.uploadPath}`);
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(true);
    expect(simulator.state.certificates.csrs.size).toBe(0);
  });
});

describe('encodeCertificateBundle and encodeSignedCertificate', () => {
  const pem = readFileSync(fixture('device.pem'));
  const der = Buffer.from(pem.toString().replace(/-----[^-]+-----|\s/g, ''), 'base64');

  it.each([
    [pem, 'base64', pem.toString('base64')],
    [der.toString('base64'), 'base64', der.toString('base64')],
    [pem, 'text', pem.toString()],
    [pem.toString(), 'text', pem.toString()],
    [der, 'base64', der.toString('base64')],
  ] as const)('encodeSignedCertificate keeps text and encodes bytes as the format says', (certificate, format, sent) => {
    expect(encodeSignedCertificate(certificate, format)).toBe(sent);
    if (format === 'base64') expect(encodeSignedCertificate(certificate)).toBe(sent);
  });

  it('encodeCertificateBundle and encodeSignedCertificate keep the line breaks of PEM text, whatever the length of the lines', () => {
    const lines = '-----BEGIN CERTIFICATE-----\r\nMIIB\r\nAA==\r\n-----END CERTIFICATE-----';
    expect(encodeSignedCertificate(lines, 'text')).toBe(lines);
  });

  it.each([
    [Buffer.alloc(0), 'certificate is empty. Nothing was sent.'],
    ['', 'certificate is neither base64 nor PEM text. Nothing was sent.'],
    ['-----BEGIN certificate-----', 'certificate is neither base64 nor PEM text. Nothing was sent.'],
    [der, 'certificate is not PEM text and cannot be sent as text. Choose base64. Nothing was sent.'],
  ])('encodeCertificateBundle and encodeSignedCertificate reject text that is not a certificate (case %#)', (certificate, message) => {
    expect(getThrownError(() => encodeSignedCertificate(certificate, 'text'))).toMatchObject({ code: 'BAD_INPUT', message });
  });

  it('encodeCertificateBundle and encodeSignedCertificate do not check an unreadable bundle, because only the appliance can judge it', async () => {
    expect(await encodeCertificateBundle({ cert: 'TUlJQg==', password: 'p' })).toBe('TUlJQg==');
    expect(await encodeCertificateBundle({ cert: Buffer.from('MIIB'), password: 'p' })).toBe('TUlJQg==');
  });
});

describe('findSigningRequest', () => {
  const path = (name: string): string => `/api/v1/system/certificates/device-certificate-csrs/${name}/certificate`;
  const told = (info: string[], warnings: string[] = []) =>
    findSigningRequest({
      info: info.map((message) => ({ message })),
      warnings: warnings.map((message) => ({ message })),
      errors: [{ message: path('error') }],
    });

  it.each([
    [`Upload to ${path('vpn%201')}.`, 'vpn 1', 'vpn%201'],
    [`Upload to "${path('vpn_1.a~b-c').slice(8)}"`, 'vpn_1.a~b-c', 'vpn_1.a~b-c'],
    [`Upload to ${path('vpn 1 #2')}`, 'vpn 1 #2', 'vpn%201%20%232'],
    [`Upload to ${path('100%')}`, '100%', '100%'],
    [`Upload to ${path('50% off')}`, '50% off', '50%25%20off'],
  ])('findSigningRequest finds the name of the signing request in %j', (message, name, segment) => {
    const expected = { name, uploadPath: path(segment) };
    expect(told(['Done.', message])).toEqual(expected);
    expect(told([], ['Done.', message])).toEqual(expected);
    expect(told([message], [path('other')])).toEqual(expected);
  });

  it.each([['Done.'], [path('')], [path('a/b')], [path(`a"b`)]])('findSigningRequest finds no name in %j', (message) => {
    expect(told([message])).toBeUndefined();
  });
});
