import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toNetworkError, type ExchangeStage } from '../../../src/http/network-error';
import { selfSigned } from '../../../src/simulator';
import { startTestSimulator, simulatorCertificate, expectFailure, gatewayFor, listWriteLines } from '../../helpers/simulated-appliance';
import { listen } from '../../helpers/listen';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

afterEach(() => vi.unstubAllEnvs());

describe('TLS to the appliance', () => {
  it('a gateway refuses an untrusted certificate and sends nothing', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { tls: {} });
    for (const operation of ['system.info', 'sessions.kill-all']) {
      const error = await expectFailure(gateway.run(operation));
      expect(error).toMatchObject({ code: 'TLS', cause: { retries: 0 } });
      expect(error.message).toMatch(/not trusted.*TLS configuration/);
    }
    const other = gatewayFor(simulator, { tls: { ca: selfSigned().cert } });
    expect((await expectFailure(other.run('system.info'))).code).toBe('TLS');
    expect(simulator.requests).toEqual([]);
  });

  it('a gateway verifies even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const simulator = await startTestSimulator();
    expect((await expectFailure(gatewayFor(simulator, { tls: {} }).run('system.info'))).code).toBe('TLS');
    expect(simulator.requests).toEqual([]);
  });

  it('a gateway skips certificate verification if the settings disable it', async () => {
    const gateway = gatewayFor(await startTestSimulator(), { tls: { rejectUnauthorized: false } });
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
  });

  it('a gateway verifies the configured server name, which may differ from the URL', async () => {
    const simulator = await startTestSimulator();
    const wrong = gatewayFor(simulator, { tls: { ca: simulatorCertificate.cert, servername: 'vpn.example.com' } });
    const error = await expectFailure(wrong.run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'TLS', message: expect.stringContaining('another name') as string });
    const right = gatewayFor(simulator, { tls: { ca: simulatorCertificate.cert, servername: 'localhost' } });
    expect((await right.run('system.info')).envelope.ok).toBe(true);
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a gateway presents a client certificate', async () => {
    const client = selfSigned();
    const shown = (_asked: unknown, socket: Socket): string =>
      httpResponse(200, JSON.stringify({ shown: (socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? 'none' }));
    const server = await startRawServer(shown, { tls: { requestCert: true, rejectUnauthorized: false } });
    const gateway = gatewayFor(server, { tls: { ca: simulatorCertificate.cert, cert: client.cert, key: client.key } });
    expect((await gateway.run('system.info')).data).toEqual({ shown: new X509Certificate(client.cert).fingerprint256 });
    expect((await gatewayFor(server).run('system.info')).data).toEqual({ shown: 'none' });
  });

  it('a gateway reports a port that uses plain HTTP', async () => {
    const port = await listen(createServer((_request, response) => response.end('{}')));
    const error = await expectFailure(gatewayFor({ url: `https://127.0.0.1:${port}` }).run('system.info'));
    expect(error).toMatchObject({ code: 'TLS', message: expect.stringMatching(/plain HTTP port.*HTTPS port in the URL/) as string });
  });

  it('a gateway suggests https:// if it calls an HTTPS port over http://', async () => {
    const simulator = await startTestSimulator();
    const alert = await startRawServer((_asked, socket) => void socket.end(Buffer.from('15030300020246', 'hex')), {
      plain: true,
      forwardsLogins: true,
    });
    const page = '<html><h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port</html>';
    const told = await startRawServer(() => httpResponse(400, page, { 'content-type': 'text/html' }), {
      plain: true,
      forwardsLogins: true,
    });
    for (const url of [simulator.url.replace('https', 'http'), alert.url, told.url]) {
      const error = await expectFailure(gatewayFor({ url }).run('system.info'));
      expect(error).toMatchObject({ code: 'CONNECTION', message: expect.stringContaining('begin with https://') as string });
    }
  });

  it('a gateway does not suggest https:// after http:// has worked', async () => {
    const cut = await startRawServer((_asked, socket) => void socket.destroy(), { plain: true });
    const error = await expectFailure(gatewayFor(cut).run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'CONNECTION' } });
    expect(error.message).not.toContain('https://');
    const odd = await startRawServer((_asked, socket) => void socket.end('NOT HTTP\r\n\r\n'), { plain: true });
    expect(await expectFailure(gatewayFor(odd).run('system.info'))).toMatchObject({ code: 'BAD_RESPONSE' });
  });

  it('TLS is optional on a loopback host', async () => {
    const server = await startRawServer(() => httpResponse(200, '{"a":1}'), { plain: true });
    expect((await gatewayFor(server).run('system.info')).data).toEqual({ a: 1 });
  });

  it('a gateway rejects an unreadable certificate with BAD_CONFIG', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { tls: { ca: simulatorCertificate.cert, cert: 'no certificate', key: 'no key' } });
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await expectFailure(gateway.run('sessions.kill-all'));
      expect(error).toMatchObject({
        code: 'BAD_CONFIG',
        message: expect.stringContaining('TLS configuration') as string,
        details: { sent: false },
      });
    }
    expect(simulator.totalConnections).toBe(0);
  });

  const HOST = 'vpn.example.com';
  const coded = (code: string, message = 'inner'): Error => Object.assign(new Error(message), { code });

  it.each<readonly [code: string, expected: string, words: string]>([
    ['CERT_HAS_EXPIRED', 'TLS', 'has expired. Renew it'],
    ['CERT_NOT_YET_VALID', 'TLS', 'not valid yet. Check the clocks'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TLS', 'for another name. Use a name of the certificate'],
    ...[
      'CERT_UNTRUSTED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [code, 'TLS', `is not trusted (${code}). Add the CA`] as const),
    ...['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST', 'ERR_SSL_UNKNOWN_PROTOCOL'].map(
      (code) => [code, 'TLS', `does not speak TLS (${code}): it may be a plain HTTP port`] as const,
    ),
    ...[
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      'ERR_TLS_HANDSHAKE_TIMEOUT',
      'EPROTO',
      'CERT_REVOKED',
      'UNABLE_TO_GET_CRL',
      'HOSTNAME_MISMATCH',
      'ERR_OSSL_SSL',
      'SOME_TLS_FAULT',
    ].map((code) => [code, 'TLS', `handshake with ${HOST} failed (${code}). Check that the URL`] as const),
    ['ENOTFOUND', 'CONNECTION', 'is not known to DNS'],
    ['EAI_AGAIN', 'CONNECTION', 'DNS did not answer'],
    ['ECONNREFUSED', 'CONNECTION', 'refused the connection'],
    ['EHOSTUNREACH', 'CONNECTION', 'cannot be reached from this machine'],
    ['ENETUNREACH', 'CONNECTION', 'cannot be reached from this machine'],
    ['UND_ERR_CONNECT_TIMEOUT', 'CONNECTION', 'did not accept a connection in time'],
    ['ETIMEDOUT', 'CONNECTION', 'did not accept a connection in time'],
    ['EMFILE', 'CONNECTION', `Could not connect to ${HOST} (EMFILE). Check address, port and proxy.`],
    ['NO_CERT_HERE', 'CONNECTION', `Could not connect to ${HOST} (NO_CERT_HERE).`],
  ])('a gateway explains %s, however it is wrapped', (code, expected, words) => {
    const inner = coded(code);
    for (const thrown of [inner, new Error('outer', { cause: inner }), new AggregateError([inner, new Error('other')])]) {
      const error = toNetworkError(thrown, 'connecting', HOST);
      expect(error).toMatchObject({ code: expected, details: { sent: false, system: code } });
      expect(error.message).toContain(words);
      expect(error.message).toContain(HOST);
    }
  });

  it.each<[string, ExchangeStage, boolean, string, string]>([
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'waiting', false, 'TLS', 'client certificate if one is needed'],
    ['ERR_SSL_BAD_RECORD', 'answering', false, 'BAD_RESPONSE', `answer of ${HOST} was cut short (ERR_SSL_BAD_RECORD).`],
    ['ECONNRESET', 'answering', true, 'BAD_RESPONSE', `answer of ${HOST} was cut short (ECONNRESET).`],
    ['ECONNRESET', 'waiting', false, 'CONNECTION', `connection to ${HOST} was cut before it answered (ECONNRESET).`],
    ['ECONNRESET', 'waiting', true, 'CONNECTION', `${HOST} did not answer plain HTTP (ECONNRESET). If this is an HTTPS port`],
    ['HPE_INVALID_CONSTANT', 'waiting', false, 'BAD_RESPONSE', `${HOST} did not answer with HTTP (HPE_INVALID_CONSTANT).`],
    ['UND_ERR_HEADERS_OVERFLOW', 'waiting', false, 'BAD_RESPONSE', `${HOST} did not answer with HTTP (UND_ERR_HEADERS_OVERFLOW).`],
    ['NO_HPE_THERE', 'waiting', false, 'CONNECTION', 'was cut before it answered'],
  ])('a gateway explains %s at the stage %s with plain HTTP %s', (code, stage, plain, expected, words) => {
    const error = toNetworkError(coded(code), stage, HOST, plain);
    expect(error).toMatchObject({ code: expected, details: { sent: true } });
    expect(error.message).toContain(words);
  });

  it('a gateway explains errors without a code, non-errors and circular causes', () => {
    const told = (thrown: unknown): unknown[] => {
      const { message, details } = toNetworkError(thrown, 'connecting', HOST);
      return [message.slice(`Could not connect to ${HOST} `.length).split('. ')[0], details];
    };
    const nothing = { sent: false };
    expect(told('odd')).toEqual(['(odd)', nothing]);
    expect(told(undefined)).toEqual(['(undefined)', nothing]);
    expect(told(new Error('outer', { cause: 'odd' }))).toEqual(['(outer)', nothing]);
    expect(told(new AggregateError([], 'several'))).toEqual(['(several)', nothing]);
    expect(told(Object.assign(new Error('odd code'), { code: 7 }))).toEqual(['(odd code)', nothing]);
    expect(told(Object.assign(new Error('odd'), { name: 'HTTPParserError' }))).toEqual([
      '(HPE_INVALID)',
      { ...nothing, system: 'HPE_INVALID' },
    ]);
    const itself = new Error('itself');
    itself.cause = itself;
    expect(told(itself)).toEqual(['(itself)', nothing]);
    let deep = new Error('0');
    for (let depth = 1; depth <= 6; depth++) deep = new Error(String(depth), { cause: deep });
    expect(told(deep)).toEqual(['(1)', nothing]);
  });
});
