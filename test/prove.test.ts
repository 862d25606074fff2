import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { selfSigned } from '../src/simulator';
import { failure, pair, writes } from './library/appliance';

const fingerprint = (pem: string | Buffer): string => new X509Certificate(pem).fingerprint256;
const isUpload = ({ method }: { method: string }): boolean => method === 'POST';
const PASSWORD = 'Grün & "blau"';
const fixture = (name: string): Buffer => readFileSync(join(__dirname, 'fixtures', name));

describe('an upload with prove', () => {
  it('ends when the handshake shows the certificate, however late', async () => {
    const { simulator, gateway } = await pair();
    const other = selfSigned();
    // It appears only after somebody has looked.
    let looks = 0;
    simulator.onHandshake(() => {
      if (++looks === 3) simulator.serve(other);
    });
    await gateway.run('system.info');
    const cert = Buffer.from(other.cert + other.key);
    const { envelope } = await gateway.run('certificates.upload', { cert, password: 'unused', prove: true });
    expect(envelope).toMatchObject({ ok: true, changed: true, served: { fingerprint256: fingerprint(other.cert), trusted: false } });
    await expect.poll(() => looks).toBe(4);
    expect(envelope.served).not.toHaveProperty('chain');
  });

  it('is CONFLICT when it does not in time, and tells that the certificate was taken', async () => {
    const { simulator, gateway } = await pair();
    const input = { cert: fixture('device.p12'), password: PASSWORD, prove: true, 'prove-within': 0.01 };
    const error = await failure(gateway.run('certificates.upload', input));
    const expected = fingerprint(fixture('device.pem'));
    expect(error).toMatchObject({
      code: 'CONFLICT',
      cause: { changed: true, expected, served: { fingerprint256: fingerprint(simulator.ca) } },
    });
    expect(error.message).toContain('took the certificate');
    expect([...simulator.state.certificates.device.keys()]).toContain('vpn.example.com');
  });

  it('sends nothing when there would be nothing to compare with', async () => {
    const { simulator, gateway } = await pair();
    for (const cert of [fixture('device-rc2.p12'), Buffer.from('no certificate')]) {
      expect((await failure(gateway.run('certificates.upload', { cert, password: PASSWORD, prove: true }))).code).toBe('BAD_INPUT');
    }
    expect(writes(simulator)).toEqual([]);
  });

  it('looks at nothing in a dry run', async () => {
    const { simulator, gateway } = await pair();
    let looks = 0;
    simulator.onHandshake(() => looks++);
    const input = { cert: fixture('device.p12'), password: PASSWORD, prove: true };
    expect((await gateway.run('certificates.upload', input, { dryRun: true })).envelope.plan).toHaveLength(1);
    expect(looks).toBe(0);
  });

  it.each(['base64', 'text'])('proves a signed one that is sent as %s', async (format) => {
    const { simulator, gateway } = await pair();
    const { envelope } = await gateway.run('certificates.create-csr', { 'subject-common-name': 'vpn.example.com' });
    const { name } = envelope.csr as { name: string };
    const other = selfSigned();
    simulator.fault({ match: isUpload, meanwhile: () => simulator.serve(other) });
    const input = { 'csr-name': name, certificate: other.cert, format, prove: true };
    const done = await gateway.run('certificates.upload-signed', input);
    expect(done.envelope).toMatchObject({ served: { fingerprint256: fingerprint(other.cert) } });
  });
});
