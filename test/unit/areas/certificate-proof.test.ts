import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readFingerprint, waitUntilCertificateServed } from '../../../src/areas/certificates/wait-until-served';
import { LightAbortController } from '../../../src/model/abort';
import { selfSigned } from '../../../src/simulator';
import {
  startTestSimulator,
  expectFailure,
  startSimulatorWithGateway,
  getThrownError,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';

const fingerprint = (pem: string | Buffer): string => new X509Certificate(pem).fingerprint256;
const isUpload = ({ method }: { method: string }): boolean => method === 'POST';
const PASSWORD = 'Grün & "blau"';
const fixture = (name: string): Buffer => readFileSync(join(__dirname, '../../fixtures', name));

describe('certificate upload with prove', () => {
  it('a certificate upload with prove waits until the handshake shows the new certificate', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const other = selfSigned();
    // It appears only after somebody has looked.
    let looks = 0;
    simulator.onHandshake(() => {
      if (++looks === 3) simulator.replaceCertificate(other);
    });
    await gateway.run('system.info');
    const cert = Buffer.from(other.cert + other.key);
    const { envelope } = await gateway.run('certificates.upload', { cert, password: 'unused', prove: true });
    expect(envelope).toMatchObject({ ok: true, changed: true, served: { fingerprint256: fingerprint(other.cert), trusted: false } });
    await expect.poll(() => looks).toBe(4);
    expect(envelope.served).not.toHaveProperty('chain');
  });

  it('a certificate upload with prove fails with CONFLICT if the accepted certificate is not served in time', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = { cert: fixture('device.p12'), password: PASSWORD, prove: true, 'prove-within': 0.01 };
    const error = await expectFailure(gateway.run('certificates.upload', input));
    const expected = fingerprint(fixture('device.pem'));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      cause: { changed: true, expected, served: { fingerprint256: fingerprint(simulator.ca) } },
    });
    expect(error.message).toMatch(
      /^The appliance accepted the certificate, but after 0\.01 s the handshake still shows CN=Gateway \S+, valid until \d{4}-\S+Z\. Check that the interface behind the URL /,
    );
    expect(error.cause?.served).not.toHaveProperty('chain');
    expect([...simulator.state.certificates.device.keys()]).toContain('vpn.example.com');
  });

  it('a certificate upload with prove fails with CONFLICT if no TLS handshake succeeds in time', async () => {
    const away = await startTestSimulator();
    await away.close();
    const error = await expectFailure(waitUntilCertificateServed('AA', 0.01, createRunContext({ url: `https://127.0.0.1:${away.port}` })));
    expect(error).toMatchObject({ code: 'CONFLICT', details: { sent: true, extra: { expected: 'AA', served: null } } });
    expect(error.message).toMatch(/^The appliance accepted the certificate, but after 0\.01 s no handshake succeeded: .*refused/);
  });

  it('a certificate upload with prove checks after 250 ms and then at growing intervals until it is canceled', async () => {
    const pauses = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => pauses.mockRestore());
    const simulator = await startTestSimulator();
    const cancel = new LightAbortController();
    const proving = expectFailure(waitUntilCertificateServed('AA', 60, createRunContext(simulator, { signal: cancel })));
    await expect.poll(() => pauses.mock.calls.map(([, ms]) => ms)).toEqual(expect.arrayContaining([250, 500]));
    cancel.abort();
    expect(await proving).toMatchObject({ code: 'ABORTED', message: 'Canceled while it waited for the certificate.' });
  });

  it('a certificate upload with prove fails at once if the message is already canceled or the appliance has no TLS', async () => {
    const cancel = new LightAbortController();
    cancel.abort();
    expect(
      await expectFailure(waitUntilCertificateServed('AA', 60, createRunContext(await startTestSimulator(), { signal: cancel }))),
    ).toMatchObject({
      code: 'ABORTED',
      message: expect.stringMatching(/^Canceled before the TLS handshake/) as string,
    });
    expect((await expectFailure(waitUntilCertificateServed('AA', 60, createRunContext({ url: 'http://127.0.0.1:1' })))).code).toBe(
      'BAD_CONFIG',
    );
  });

  it('a certificate upload with prove can be canceled while it waits, and leaves the certificate on the appliance', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const cancel = new AbortController();
    simulator.onHandshake(() => setTimeout(() => cancel.abort(), 20));
    const input = { cert: fixture('device.p12'), password: PASSWORD, prove: true };
    const error = await expectFailure(gateway.run('certificates.upload', input, cancel.signal));
    expect(error).toMatchObject({ code: 'ABORTED', message: expect.stringMatching(/^Canceled/) as string });
    expect([...simulator.state.certificates.device.keys()]).toContain('vpn.example.com');
  });

  it('a certificate upload with prove sends nothing if the certificate cannot be read for the comparison', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const cert of [fixture('device-rc2.p12'), Buffer.from('no certificate')]) {
      const error = await expectFailure(gateway.run('certificates.upload', { cert, password: PASSWORD, prove: true }));
      expect(error.code).toBe('BAD_INPUT');
      expect(error.message).toMatch(
        /^prove is set, but the certificate cannot be read here \(.+\), so the served certificate could not be compared with it\. Nothing was sent\.$/,
      );
    }
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a certificate upload with prove makes no handshake in a dry run', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    let looks = 0;
    simulator.onHandshake(() => looks++);
    const input = { cert: fixture('device.p12'), password: PASSWORD, prove: true };
    expect((await gateway.run('certificates.upload', input, { dryRun: true })).envelope.plan).toHaveLength(1);
    expect(looks).toBe(0);
  });

  it.each(['base64', 'text'])('a certificate upload with prove checks a signed certificate that is sent as %s', async (format) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { envelope } = await gateway.run('certificates.create-csr', { 'subject-common-name': 'vpn.example.com' });
    const { name } = envelope.csr as { name: string };
    const other = selfSigned();
    simulator.fault({ match: isUpload, sideEffect: () => simulator.replaceCertificate(other) });
    const input = { 'csr-name': name, certificate: other.cert, format, prove: true };
    const done = await gateway.run('certificates.upload-signed', input);
    expect(done.envelope).toMatchObject({ served: { fingerprint256: fingerprint(other.cert) } });
  });
});

describe('readFingerprint', () => {
  const pem = fixture('device.pem');
  const der = Buffer.from(pem.toString().replace(/-----[^-]+-----|\s/g, ''), 'base64');

  it.each([
    ['PEM', pem],
    ['DER', der],
    ['a bundle', fixture('device.p12')],
  ])('readFingerprint reads the fingerprint from %s', (_what, bytes) => {
    expect(readFingerprint(bytes, PASSWORD)).toBe(fingerprint(pem));
  });

  it('readFingerprint rejects a bundle without a certificate', () => {
    expect(getThrownError(() => readFingerprint(Buffer.from('-----BEGIN NOTHING-----')))).toMatchObject({ code: 'BAD_INPUT' });
  });
});
