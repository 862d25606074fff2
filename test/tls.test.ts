import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { networkFault } from '../src/http/faults';
import { selfSigned } from '../src/simulator';
import { appliance, certificate, failure, gatewayFor, writes } from './library/appliance';
import { listen } from './library/listen';
import { http, wire } from './library/wire';

afterEach(() => vi.unstubAllEnvs());

describe('TLS', () => {
  it('is verified: an untrusted certificate is TLS, and nothing is sent', async () => {
    const simulator = await appliance();
    const gateway = gatewayFor(simulator, { tls: {} });
    for (const operation of ['system.info', 'sessions.kill-all']) {
      const error = await failure(gateway.run(operation));
      expect(error).toMatchObject({ code: 'TLS', cause: { retries: 0 } });
      expect(error.message).toMatch(/not trusted.*TLS configuration/);
    }
    const other = gatewayFor(simulator, { tls: { ca: selfSigned().cert } });
    expect((await failure(other.run('system.info'))).code).toBe('TLS');
    expect(simulator.requests).toEqual([]);
  });

  it('is verified although NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const simulator = await appliance();
    expect((await failure(gatewayFor(simulator, { tls: {} }).run('system.info'))).code).toBe('TLS');
    expect(simulator.requests).toEqual([]);
  });

  it('is not verified when the settings say so', async () => {
    const gateway = gatewayFor(await appliance(), { tls: { rejectUnauthorized: false } });
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
  });

  it('checks the name, which may be another one than that of the URL', async () => {
    const simulator = await appliance();
    const wrong = gatewayFor(simulator, { tls: { ca: certificate.cert, servername: 'vpn.example.com' } });
    const error = await failure(wrong.run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'TLS', message: expect.stringContaining('another name') as string });
    const right = gatewayFor(simulator, { tls: { ca: certificate.cert, servername: 'localhost' } });
    expect((await right.run('system.info')).envelope.ok).toBe(true);
    expect(writes(simulator)).toEqual([]);
  });

  it('shows a client certificate', async () => {
    const client = selfSigned();
    const shown = (_asked: unknown, socket: Socket): string =>
      http(200, JSON.stringify({ shown: (socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? 'none' }));
    const server = await wire(shown, { tls: { requestCert: true, rejectUnauthorized: false } });
    const gateway = gatewayFor(server, { tls: { ca: certificate.cert, cert: client.cert, key: client.key } });
    expect((await gateway.run('system.info')).data).toEqual({ shown: new X509Certificate(client.cert).fingerprint256 });
    expect((await gatewayFor(server).run('system.info')).data).toEqual({ shown: 'none' });
  });

  it('says that the port speaks plain HTTP', async () => {
    const port = await listen(createServer((_request, response) => response.end('{}')));
    const error = await failure(gatewayFor({ url: `https://127.0.0.1:${port}` }).run('system.info'));
    expect(error).toMatchObject({ code: 'TLS', message: expect.stringMatching(/plain HTTP port.*HTTPS port in the URL/) as string });
  });

  it('is asked for when an https port is called over http, whatever that makes of it', async () => {
    const simulator = await appliance();
    const alert = await wire((_asked, socket) => void socket.end(Buffer.from('15030300020246', 'hex')), { plain: true, logins: true });
    const page = '<html><h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port</html>';
    const told = await wire(() => http(400, page, { 'content-type': 'text/html' }), { plain: true, logins: true });
    for (const url of [simulator.url.replace('https', 'http'), alert.url, told.url]) {
      const error = await failure(gatewayFor({ url }).run('system.info'));
      expect(error).toMatchObject({ code: 'CONNECTION', message: expect.stringContaining('begin with https://') as string });
    }
  });

  it('is not asked for where http was answered before: there a fault is what it is', async () => {
    const cut = await wire((_asked, socket) => void socket.destroy(), { plain: true });
    const error = await failure(gatewayFor(cut).run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'CONNECTION' } });
    expect(error.message).not.toContain('https://');
    const odd = await wire((_asked, socket) => void socket.end('NOT HTTP\r\n\r\n'), { plain: true });
    expect(await failure(gatewayFor(odd).run('system.info'))).toMatchObject({ code: 'BAD_RESPONSE' });
  });

  it('may be missing on a loopback host', async () => {
    const server = await wire(() => http(200, '{"a":1}'), { plain: true });
    expect((await gatewayFor(server).run('system.info')).data).toEqual({ a: 1 });
  });

  it('is BAD_CONFIG when a certificate cannot be read', async () => {
    const simulator = await appliance();
    const gateway = gatewayFor(simulator, { tls: { ca: certificate.cert, cert: 'no certificate', key: 'no key' } });
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await failure(gateway.run('sessions.kill-all'));
      expect(error).toMatchObject({ code: 'BAD_CONFIG', message: expect.stringContaining('TLS configuration') as string });
    }
    expect(simulator.totalConnections).toBe(0);
  });

  it.each([
    ['CERT_HAS_EXPIRED', 'TLS', 'expired'],
    ['CERT_NOT_YET_VALID', 'TLS', 'clocks'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'TLS', 'not trusted'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'TLS', 'client certificate'],
    ['EHOSTUNREACH', 'CONNECTION', 'cannot be reached'],
    ['ETIMEDOUT', 'CONNECTION', 'in time'],
  ])('has words for %s, however it is wrapped', (code, expected, words) => {
    const inner = Object.assign(new Error('inner'), { code });
    for (const thrown of [inner, new Error('outer', { cause: inner }), new AggregateError([inner, new Error('other')])]) {
      const error = networkFault(thrown, 'connecting', 'vpn.example.com');
      expect(error).toMatchObject({ code: expected, details: { sent: false, system: code } });
      expect(error.message).toContain(words);
    }
  });

  it('is TLS when the alert comes after the handshake', () => {
    const alert = Object.assign(new Error('alert'), { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' });
    expect(networkFault(alert, 'waiting', 'vpn.example.com')).toMatchObject({ code: 'TLS', details: { sent: true } });
  });
});
