import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MASK } from '../../../src/model/redaction';
import { encodeBundle, findCsr, encodeSignedCertificate } from '../../../src/areas/certificates/bundle';
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
  ])('are uploaded from %s', async (_from, from) => {
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

  it('whose password is wrong are refused before anything is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const name of ['device.p12', 'device-rc2.p12']) {
      const error = await expectFailure(gateway.run('certificates.upload', { file: fixture(name), password: 'wrong one' }));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining('password')]);
    }
    expect(simulator.requests).toEqual([]);
  });

  it('are not refused for an algorithm that Node does not support', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ status: 201, body: '{"result":{"info":[{"message":"done"}]}}' });
    const { envelope } = await gateway.run('certificates.upload', { file: fixture('device-rc2.p12'), password: PASSWORD });
    expect(envelope.status).toBe(201);
  });

  it.each([
    ['neither bundle nor file', {}, /^cert \(Bundle\) or file has to be given, and only one of them\.$/],
    ['both', { cert: bundle, file: 'x' }, /^cert \(Bundle\) or file has to be given, and only one of them\.$/],
    ['a file that is not there', { file: '/nowhere/device.p12' }, /^file cannot be read: ENOENT.*\.$/],
    ['a file that is empty', { file: '/dev/null' }, /^The certificate bundle is empty\.$/],
    ['text that is no base64', { cert: '§§' }, /^cert is text that is neither base64 nor PEM\.$/],
    ['text that is cut', { cert: 'MI=IB' }, /^cert is text that is neither base64 nor PEM\.$/],
    ['a list of such texts', { cert: ',MIIB' }, /^cert is text that is neither base64 nor PEM\.$/],
    ['a password that does not open it', { cert: bundle }, /^password does not open the PKCS#12 bundle\. Nothing was sent\.$/],
  ])('say what is wrong with %s', async (_what, input, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('certificates.upload', { ...input, password: 'p' }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringMatching(words)]);
    expect(simulator.requests).toEqual([]);
  });

  it('may be PEM, also such as a field of one line leaves it, with the interfaces that use it', async () => {
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

  it('are in no plan, which holds a private key', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('certificates.upload', { cert: bundle, password: PASSWORD }, { dryRun: true });
    expect(envelope.plan).toMatchObject([{ method: 'POST', body: { cert: MASK, password: MASK } }]);
  });

  it('are deleted by subject name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('certificates.upload', { cert: bundle, password: PASSWORD });
    await gateway.run('certificates.delete', { 'subject-name': 'vpn.example.com' });
    expect(listRequestLines(simulator).at(-1)).toBe('DELETE /api/v1/system/certificates/device-certificates/vpn.example.com');
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(false);
    const { message } = await expectFailure(gateway.run('certificates.delete', { 'subject-name': ' ' }));
    expect(message).toBe('subject-name is blank.');
    expect(listRequestLines(simulator)).toHaveLength(2);
  });
});

describe('signing requests', () => {
  it('have no name in the envelope where the appliance does not tell it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    simulator.fault({ status: 201, body: '{"result":{"info":[{"message":"Done."}]}}' });
    const { envelope } = await gateway.run('certificates.create-csr', { 'subject-common-name': 'vpn.example.com' });
    expect(envelope).not.toHaveProperty('csr');
  });

  it('name a curve for a key that has one', async () => {
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

  it.each(['base64', 'text'])('become a certificate, sent as %s', async (format) => {
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

describe('what a certificate is sent as', () => {
  const pem = readFileSync(fixture('device.pem'));
  const der = Buffer.from(pem.toString().replace(/-----[^-]+-----|\s/g, ''), 'base64');

  it.each([
    [pem, 'base64', pem.toString('base64')],
    [der.toString('base64'), 'base64', der.toString('base64')],
    [pem, 'text', pem.toString()],
    [pem.toString(), 'text', pem.toString()],
    [der, 'base64', der.toString('base64')],
  ] as const)('is what it is', (certificate, format, sent) => {
    expect(encodeSignedCertificate(certificate, format)).toBe(sent);
    if (format === 'base64') expect(encodeSignedCertificate(certificate)).toBe(sent);
  });

  it('keeps the lines that it has, however long they are', () => {
    const lines = '-----BEGIN CERTIFICATE-----\r\nMIIB\r\nAA==\r\n-----END CERTIFICATE-----';
    expect(encodeSignedCertificate(lines, 'text')).toBe(lines);
  });

  it.each([
    [Buffer.alloc(0), 'certificate is empty.'],
    ['', 'certificate is text that is neither base64 nor PEM.'],
    ['-----BEGIN certificate-----', 'certificate is text that is neither base64 nor PEM.'],
    [der, 'certificate is not PEM text, so it cannot be sent as text. Choose base64.'],
  ])('is BAD_INPUT for what is none: %#', (certificate, message) => {
    expect(getThrownError(() => encodeSignedCertificate(certificate, 'text'))).toMatchObject({ code: 'BAD_INPUT', message });
  });

  it('is a bundle as it is, where only the appliance can tell whether it is one', async () => {
    expect(await encodeBundle({ cert: 'TUlJQg==', password: 'p' })).toBe('TUlJQg==');
    expect(await encodeBundle({ cert: Buffer.from('MIIB'), password: 'p' })).toBe('TUlJQg==');
  });
});

describe('the name of a signing request', () => {
  const path = (name: string): string => `/api/v1/system/certificates/device-certificate-csrs/${name}/certificate`;
  const told = (info: string[], warnings: string[] = []) =>
    findCsr({
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
  ])('is read from %j', (message, name, segment) => {
    const expected = { name, uploadPath: path(segment) };
    expect(told(['Done.', message])).toEqual(expected);
    expect(told([], ['Done.', message])).toEqual(expected);
    expect(told([message], [path('other')])).toEqual(expected);
  });

  it.each([['Done.'], [path('')], [path('a/b')], [path(`a"b`)]])('is in no message such as %j', (message) => {
    expect(told([message])).toBeUndefined();
  });
});
