import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:net';
import { createServer as createTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { ServedCertificate } from '../src/model/served';
import { selfSigned } from '../src/simulator';
import { appliance, certificate, failure, gatewayFor, pair, type AnyGateway } from './library/appliance';
import { listen } from './library/listen';
import { proxy } from './library/proxy';

async function served(gateway: AnyGateway, input: Record<string, unknown> = {}): Promise<ServedCertificate> {
  return (await gateway.run('certificates.served', input)).data as ServedCertificate;
}

const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;

describe('the certificate that is served', () => {
  it('is told with its names, its chain and its days', async () => {
    const { gateway } = await pair();
    const { subject, issuer, validFrom, validTo } = new X509Certificate(certificate.cert);
    const shown = await served(gateway);
    expect(shown).toMatchObject({
      subject: subject.split('\n').join(', '),
      issuer: issuer.split('\n').join(', '),
      'valid-from': new Date(validFrom).toISOString(),
      'valid-to': new Date(validTo).toISOString(),
      fingerprint256: fingerprint(certificate.cert),
      names: expect.arrayContaining(['localhost', '127.0.0.1']) as string[],
      trusted: true,
    });
    const left = (Date.parse(validTo) - Date.now()) / 86_400_000;
    expect(shown.days).toBeGreaterThan(left - 1);
    expect(shown.days).toBeLessThanOrEqual(left);
    expect(shown.chain).toHaveLength(1);
    expect(shown.chain[0]?.fingerprint256).toBe(shown.fingerprint256);
  });

  it('is told though nobody would trust it, and nothing is sent', async () => {
    const { simulator, gateway } = await pair({}, { tls: { ca: selfSigned().cert } });
    expect(await served(gateway)).toMatchObject({ fingerprint256: fingerprint(certificate.cert), trusted: false });
    expect(simulator.requests).toEqual([]);
    expect((await failure(gateway.run('system.info'))).code).toBe('TLS');
  });

  it('is the one that is served now', async () => {
    const { simulator, gateway } = await pair();
    await gateway.run('system.info');
    const before = await served(gateway);
    const other = selfSigned();
    simulator.serve(other);
    expect((await served(gateway)).fingerprint256).toBe(fingerprint(other.cert));
    expect(before.fingerprint256).toBe(fingerprint(certificate.cert));
    // The connection that is kept goes on.
    await gateway.run('system.info');
  });

  it('may be that of another host, to which no client certificate is shown', async () => {
    const shownTo: (string | undefined)[] = [];
    const other = selfSigned();
    const server = createTls({ ...other, requestCert: true, rejectUnauthorized: false }, (socket) => {
      shownTo.push(socket.getPeerX509Certificate()?.fingerprint256);
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    const client = selfSigned();
    const identity = { ca: certificate.cert, cert: client.cert, key: client.key };
    const away = gatewayFor(await appliance(), { tls: identity });
    expect((await served(away, { host: '127.0.0.1', port })).fingerprint256).toBe(fingerprint(other.cert));
    const own = gatewayFor({ url: `https://127.0.0.1:${port}` }, { tls: identity });
    await expect.poll(() => shownTo).toEqual([undefined]);
    expect((await served(own)).fingerprint256).toBe(fingerprint(other.cert));
    await expect.poll(() => shownTo).toEqual([undefined, fingerprint(client.cert)]);
  });

  it('is seen through the proxy', async () => {
    const token = `Basic ${Buffer.from('me:secret').toString('base64')}`;
    const way = await proxy(token);
    const simulator = await appliance();
    const gateway = gatewayFor(simulator, { proxy: { url: way.url, username: 'me', password: 'secret' } });
    expect((await served(gateway)).fingerprint256).toBe(fingerprint(certificate.cert));
    expect(way.tunnels).toEqual([`127.0.0.1:${simulator.port}`]);
    const refused = gatewayFor(simulator, { proxy: { url: way.url } });
    expect(await failure(refused.run('certificates.served'))).toMatchObject({
      code: 'CONNECTION',
      message: expect.stringContaining('407') as string,
    });
  });

  it.each([
    [{ host: '' }, 'host is "", which is no name or address of a host. Give it without https:// and path.'],
    [{ host: 'https://vpn.example.com' }, 'no name or address'],
    [{ host: 'vpn.example.com/path' }, 'no name or address'],
    [{ host: 'a b' }, 'no name or address'],
    [{ host: '.example.com' }, 'no name or address'],
    [{ host: 'example..com' }, 'no name or address'],
    [{ host: '[127.0.0.1]]' }, 'no name or address'],
    [{ host: '127.[0.0.1' }, 'no name or address'],
    [{ host: '127.0.0.1', port: 65_536 }, 'port is 65536; there are none above 65535.'],
    [{ host: '127.0.0.1', port: 0 }, 'port'],
    [{ port: 8443 }, 'port is given without host. Give both, or neither for the appliance.'],
  ])('is BAD_INPUT for %j', async (input, words) => {
    const { gateway } = await pair();
    expect(await failure(gateway.run('certificates.served', input))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(words) as string,
    });
  });

  it.each([
    ['vpn.example.com', 'vpn.example.com:443'],
    ['bücher.example.', 'xn--bcher-kva.example.:443'],
    ['a.b', 'a.b:443'],
    ['my_host-1', 'my_host-1:443'],
  ])('may be that of %s, by the name that the network has for it', async (host, target) => {
    const way = await proxy('nobody');
    await failure(served(gatewayFor(await appliance(), { proxy: { url: way.url } }), { host }));
    expect(way.tunnels).toEqual([target]);
  });

  it('may be that of an address with brackets, at the last port that there is', async () => {
    const { gateway } = await pair();
    for (const host of ['[::1]', '::1']) expect((await failure(served(gateway, { host, port: 65_535 }))).code).toBe('CONNECTION');
  });

  it.each(['127.0.0.1', ' [127.0.0.1] ', 'localhost', 'LocalHost'])('may be asked of %j', async (host) => {
    const { simulator, gateway } = await pair();
    expect((await served(gateway, { host, port: simulator.port })).fingerprint256).toBe(fingerprint(certificate.cert));
    expect((await served(gateway, { port: 443 })).fingerprint256).toBe(fingerprint(certificate.cert));
  });

  it('is CONNECTION, TLS or TIMEOUT where there is no handshake', async () => {
    const { simulator, gateway } = await pair();
    const refusing = await appliance();
    await refusing.close();
    const code = async (port: number, asking = gateway): Promise<unknown> =>
      (await failure(asking.run('certificates.served', { host: '127.0.0.1', port }))).code;
    expect(await code(refusing.port)).toBe('CONNECTION');
    expect(await code(await listen(createServer((socket) => socket.end('SSH-2.0\r\n'))))).toBe('TLS');
    const silent = createServer((socket) => socket.on('error', () => undefined).resume());
    expect(await code(await listen(silent), gatewayFor(simulator, { timeout: 0.5 }))).toBe('TIMEOUT');
  });

  it('can be cancelled', async () => {
    const { gateway } = await pair();
    const silent = await listen(createServer((socket) => socket.on('error', () => undefined).resume()));
    const abort = new AbortController();
    const run = failure(gateway.run('certificates.served', { host: '127.0.0.1', port: silent }, abort.signal));
    setTimeout(() => abort.abort(), 20);
    expect((await run).code).toBe('ABORTED');
  });
});
