import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, failure, lines, pair } from './library/appliance';

const fixture = (name: string): string => join(__dirname, 'fixtures', name);
const PASSWORD = 'Grün & "blau"';
const bundle = readFileSync(fixture('device.p12'));
const bodyOf = (text: string | undefined): Record<string, unknown> => JSON.parse(text ?? '{}') as Record<string, unknown>;

describe('device certificates', () => {
  it.each([
    ['a Buffer', { cert: bundle }],
    ['base64 text in lines', { cert: bundle.toString('base64').replace(/.{64}/g, '$&\n') }],
    ['a file', { file: fixture('device.p12') }],
  ])('are uploaded from %s', async (_from, from) => {
    const { simulator, gateway } = await pair();
    await gateway.run('certificates.upload', {
      ...from,
      password: PASSWORD,
      'internal-interfaces': 'Internal',
      'management-interface': 'false',
    });
    expect(bodyOf(calls(simulator)[0]?.body)).toEqual({
      cert: bundle.toString('base64'),
      password: PASSWORD,
      'internal-interfaces': { 'internal-interface': ['Internal'] },
      'management-interface': false,
    });
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(true);
  });

  it('whose password is wrong are refused before anything is sent', async () => {
    const { simulator, gateway } = await pair();
    for (const name of ['device.p12', 'device-rc2.p12']) {
      const error = await failure(gateway.run('certificates.upload', { file: fixture(name), password: 'wrong one' }));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining('password')]);
    }
    expect(simulator.requests).toEqual([]);
  });

  it('are not refused for an algorithm that Node does not support', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    simulator.fault({ status: 201, body: '{"result":{"info":[{"message":"done"}]}}' });
    const { envelope } = await gateway.run('certificates.upload', { file: fixture('device-rc2.p12'), password: PASSWORD });
    expect(envelope.status).toBe(201);
  });

  it.each([
    ['neither bundle nor file', {}, 'file'],
    ['both', { cert: bundle, file: 'x' }, 'file'],
    ['a file that is not there', { file: '/nowhere/device.p12' }, 'file'],
    ['text that is no base64', { cert: '§§' }, 'cert'],
  ])('say what is wrong with %s', async (_what, input, field) => {
    const { simulator, gateway } = await pair();
    const error = await failure(gateway.run('certificates.upload', { ...input, password: PASSWORD }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining(field)]);
    expect(simulator.requests).toEqual([]);
  });

  it('are deleted by subject name', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('certificates.upload', { cert: bundle, password: PASSWORD });
    await gateway.run('certificates.delete', { 'subject-name': 'vpn.example.com' });
    expect(lines(simulator).at(-1)).toBe('DELETE /api/v1/system/certificates/device-certificates/vpn.example.com');
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(false);
  });
});

describe('signing requests', () => {
  it('name a curve for a key that has one', async () => {
    const { simulator, gateway } = await pair();
    const name = { 'subject-common-name': 'vpn.example.com' };
    for (const more of [{}, { 'key-type': 'RSA' }, { 'key-type': 'RSA', 'ecc-curve': 'P-256' }, { 'ecc-curve': 'P-256' }])
      await gateway.run('certificates.create-csr', { ...name, ...more });
    expect(calls(simulator).map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { ...name, 'key-type': 'ECDSA', 'ecc-curve': 'P-384' },
      { ...name, 'key-type': 'RSA' },
      { ...name, 'key-type': 'RSA' },
      { ...name, 'key-type': 'ECDSA', 'ecc-curve': 'P-256' },
    ]);
  });

  it.each(['base64', 'text'])('become a certificate, sent as %s', async (format) => {
    const { simulator, gateway } = await pair();
    const { envelope } = await gateway.run('certificates.create-csr', { 'subject-common-name': 'vpn.example.com' });
    const csr = envelope.csr as { name: string; uploadPath: string };
    expect(csr.uploadPath).toMatch(/^\/api\/v1\/system\/certificates\/device-certificate-csrs\/[^/]+\/certificate$/);
    const certificate = readFileSync(fixture('device.pem'));
    await gateway.run('certificates.upload-signed', { 'csr-name': csr.name, certificate, format });
    expect(lines(simulator).at(-1)).toBe(`POST ${csr.uploadPath}`);
    expect(simulator.state.certificates.device.has('vpn.example.com')).toBe(true);
    expect(simulator.state.certificates.csrs.size).toBe(0);
  });
});
