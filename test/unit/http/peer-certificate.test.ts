import { X509Certificate } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createServer as createTls, type TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  parseSubjectAltNames,
  describePeerCertificate,
  fetchPeerCertificates,
  toCertificateInfo,
} from '../../../src/http/peer-certificate';
import type { PeerCertificateInfo } from '../../../src/model/peer-certificate';
import { checkSettings, type CheckedSettings, type Settings } from '../../../src/model/settings';
import { selfSigned } from '../../../src/simulator';
import { issueCertificate } from '../../../src/simulator/certificate';
import {
  startTestSimulator,
  simulatorCertificate,
  expectFailure,
  gatewayFor,
  startSimulatorWithGateway,
  settingsFor,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { listen } from '../../helpers/listen';
import { startProxy } from '../../helpers/proxy';

async function served(gateway: AnyGateway, input: Record<string, unknown> = {}): Promise<PeerCertificateInfo> {
  return (await gateway.run('certificates.served', input)).data as PeerCertificateInfo;
}

const fingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256;

describe('certificates.peer', () => {
  it('certificates.peer returns names, chain and remaining days', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { subject, issuer, validFrom, validTo } = new X509Certificate(simulatorCertificate.cert);
    const shown = await served(gateway);
    expect(shown).toMatchObject({
      subject: subject.split('\n').join(', '),
      issuer: issuer.split('\n').join(', '),
      'valid-from': new Date(validFrom).toISOString(),
      'valid-to': new Date(validTo).toISOString(),
      fingerprint256: fingerprint(simulatorCertificate.cert),
      names: expect.arrayContaining(['localhost', '127.0.0.1']) as string[],
      trusted: true,
    });
    const left = (Date.parse(validTo) - Date.now()) / 86_400_000;
    expect(shown.days).toBeGreaterThan(left - 1);
    expect(shown.days).toBeLessThanOrEqual(left);
    expect(shown.chain).toHaveLength(1);
    expect(shown.chain[0]?.fingerprint256).toBe(shown.fingerprint256);
  });

  it('certificates.peer returns an untrusted certificate and sends no request', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { tls: { ca: selfSigned().cert } });
    expect(await served(gateway)).toMatchObject({ fingerprint256: fingerprint(simulatorCertificate.cert), trusted: false });
    expect(simulator.requests).toEqual([]);
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('TLS');
  });

  it('certificates.peer returns the current certificate after a renewal', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const before = await served(gateway);
    const other = selfSigned();
    simulator.replaceCertificate(other);
    expect((await served(gateway)).fingerprint256).toBe(fingerprint(other.cert));
    expect(before.fingerprint256).toBe(fingerprint(simulatorCertificate.cert));
    // The kept connection continues to work.
    await gateway.run('system.info');
  });

  it('certificates.peer reads the certificate of another host without showing the client certificate', async () => {
    const shownTo: (string | undefined)[] = [];
    const other = selfSigned();
    const server = createTls({ ...other, requestCert: true, rejectUnauthorized: false }, (socket) => {
      shownTo.push(socket.getPeerX509Certificate()?.fingerprint256);
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    const client = selfSigned();
    const identity = { ca: simulatorCertificate.cert, cert: client.cert, key: client.key };
    const away = gatewayFor(await startTestSimulator(), { tls: identity });
    expect((await served(away, { host: '127.0.0.1', port })).fingerprint256).toBe(fingerprint(other.cert));
    const own = gatewayFor({ url: `https://127.0.0.1:${port}` }, { tls: identity });
    await expect.poll(() => shownTo).toEqual([undefined]);
    expect((await served(own)).fingerprint256).toBe(fingerprint(other.cert));
    await expect.poll(() => shownTo).toEqual([undefined, fingerprint(client.cert)]);
  });

  it('certificates.peer works through the proxy', async () => {
    const token = `Basic ${Buffer.from('me:secret').toString('base64')}`;
    const way = await startProxy(token);
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { proxy: { url: way.url, username: 'me', password: 'secret' } });
    expect((await served(gateway)).fingerprint256).toBe(fingerprint(simulatorCertificate.cert));
    expect(way.tunnels).toEqual([`127.0.0.1:${simulator.port}`]);
    const refused = gatewayFor(simulator, { proxy: { url: way.url } });
    expect(await expectFailure(refused.run('certificates.served'))).toMatchObject({
      code: 'CONNECTION',
      message: expect.stringContaining('407') as string,
    });
  });

  it.each([
    [{ host: '' }, 'host is "", which is not a host name or address. Enter it without https:// and path.'],
    [{ host: 'https://vpn.example.com' }, 'not a host name or address'],
    [{ host: 'vpn.example.com/path' }, 'not a host name or address'],
    [{ host: 'a b' }, 'not a host name or address'],
    [{ host: '.example.com' }, 'not a host name or address'],
    [{ host: 'example..com' }, 'not a host name or address'],
    [{ host: '[127.0.0.1]]' }, 'not a host name or address'],
    [{ host: '127.[0.0.1' }, 'not a host name or address'],
    [{ host: '127.0.0.1', port: 65_536 }, 'port is 65536; the highest port is 65535.'],
    [{ host: '127.0.0.1', port: 0 }, 'port'],
    [{ port: 8443 }, 'port is set without host. Set both, or neither for the appliance.'],
  ])('certificates.peer rejects %j with BAD_INPUT', async (input, words) => {
    const { gateway } = await startSimulatorWithGateway();
    expect(await expectFailure(gateway.run('certificates.served', input))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(words) as string,
    });
  });

  it.each([
    ['vpn.example.com', 'vpn.example.com:443'],
    ['bücher.example.', 'xn--bcher-kva.example.:443'],
    ['a.b', 'a.b:443'],
    ['my_host-1', 'my_host-1:443'],
  ])('certificates.peer connects to %s by its network name', async (host, target) => {
    const way = await startProxy('nobody');
    await expectFailure(served(gatewayFor(await startTestSimulator(), { proxy: { url: way.url } }), { host }));
    expect(way.tunnels).toEqual([target]);
  });

  it('certificates.peer accepts an address in brackets and the highest port number', async () => {
    const { gateway } = await startSimulatorWithGateway();
    for (const host of ['[::1]', '::1']) expect((await expectFailure(served(gateway, { host, port: 65_535 }))).code).toBe('CONNECTION');
  });

  it.each(['127.0.0.1', ' [127.0.0.1] ', 'localhost', 'LocalHost'])('certificates.peer accepts the host %j', async (host) => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    expect((await served(gateway, { host, port: simulator.port })).fingerprint256).toBe(fingerprint(simulatorCertificate.cert));
    expect((await served(gateway, { port: 443 })).fingerprint256).toBe(fingerprint(simulatorCertificate.cert));
  });

  it('certificates.peer fails with CONNECTION, TLS or TIMEOUT when there is no handshake', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const refusing = await startTestSimulator();
    await refusing.close();
    const code = async (port: number, asking = gateway): Promise<unknown> =>
      (await expectFailure(asking.run('certificates.served', { host: '127.0.0.1', port }))).code;
    expect(await code(refusing.port)).toBe('CONNECTION');
    expect(await code(await listen(createServer((socket) => socket.end('SSH-2.0\r\n'))))).toBe('TLS');
    const silent = createServer((socket) => socket.on('error', () => undefined).resume());
    expect(await code(await listen(silent), gatewayFor(simulator, { timeout: 0.5 }))).toBe('TIMEOUT');
  });

  it('certificates.peer can be canceled', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const silent = await listen(createServer((socket) => socket.on('error', () => undefined).resume()));
    const abort = new AbortController();
    const run = expectFailure(gateway.run('certificates.served', { host: '127.0.0.1', port: silent }, abort.signal));
    setTimeout(() => abort.abort(), 20);
    expect((await run).code).toBe('ABORTED');
  });
});

describe('fetchPeerCertificates', () => {
  const at = (port: number, more: Partial<Settings> = {}, host = '127.0.0.1'): CheckedSettings =>
    checkSettings(settingsFor({ url: `https://${host}:${port}` }, more));
  /** A server that accepts and stays silent. */
  const silent = (come: (socket: Socket) => void = () => undefined): Promise<number> => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined).resume());
      come(socket);
    });
    return listen(server, sockets);
  };

  it('fetchPeerCertificates refuses an appliance over plain HTTP but still reads other hosts', async () => {
    const plain = checkSettings(settingsFor({ url: 'http://127.0.0.1:1' }));
    expect(await expectFailure(describePeerCertificate(plain, undefined))).toMatchObject({
      code: 'BAD_CONFIG',
      message: 'The appliance uses plain HTTP, so it has no certificate.',
      details: { sent: false },
    });
    const { port } = await startTestSimulator();
    expect((await describePeerCertificate(plain, undefined, { host: '127.0.0.1', port })).fingerprint256).toBe(
      fingerprint(simulatorCertificate.cert),
    );
  });

  it('fetchPeerCertificates stops at its time limit and leaves no socket open', async () => {
    const closed: Promise<unknown>[] = [];
    const port = await silent((socket) => closed.push(once(socket, 'close')));
    expect(await expectFailure(fetchPeerCertificates(at(port, { timeout: 0.2 }), undefined))).toMatchObject({
      code: 'TIMEOUT',
      message: `127.0.0.1:${port} did not finish a TLS handshake within 0.2 s.`,
      details: { sent: false },
    });
    await Promise.all(closed);
    expect(closed).toHaveLength(1);
  });

  it('fetchPeerCertificates can be canceled at any time and leaves no listener behind', async () => {
    const stop = new AbortController();
    const { port } = await startTestSimulator();
    await fetchPeerCertificates(at(port), undefined, undefined, stop.signal);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    const come = new Promise<Socket>((resolve) => void silent(resolve).then((quiet) => runs.push(run(quiet))));
    const run = (quiet: number) => expectFailure(fetchPeerCertificates(at(quiet), undefined, undefined, stop.signal));
    const runs: ReturnType<typeof run>[] = [];
    await come;
    stop.abort();
    runs.push(run(port));
    for (const error of await Promise.all(runs))
      expect(error).toMatchObject({
        code: 'ABORTED',
        message: 'Canceled before the TLS handshake was complete.',
        details: { sent: false },
      });
    expect([runs.length, getEventListeners(stop.signal, 'abort').length]).toEqual([2, 0]);
  });

  it('fetchPeerCertificates reports a failed handshake as not sent and names the host in the error', async () => {
    for (const [host, shown] of [
      ['127.0.0.1', '127.0.0.1:1'],
      ['[::1]', '[::1]:1'],
    ]) {
      const error = await expectFailure(fetchPeerCertificates(at(1, {}, host), undefined));
      expect(error).toMatchObject({ code: 'CONNECTION', details: { sent: false } });
      expect(error.message).toContain(`${shown} `);
    }
    expect((await expectFailure(fetchPeerCertificates(at(1), undefined, { host: '::1', port: 2 }))).message).toContain('[::1]:2 ');
  });

  it('fetchPeerCertificates sends a server name for host names, but never the configured server name to other hosts', async () => {
    const names: unknown[] = [];
    const server = createTls(simulatorCertificate, (socket) => {
      names.push((socket as TLSSocket & { servername: unknown }).servername);
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    const named = { tls: { ca: simulatorCertificate.cert, servername: 'vpn.example.com' } };
    const elsewhere = (host: string) => fetchPeerCertificates(at(1, named), undefined, { host, port });
    for (const run of [() => fetchPeerCertificates(at(port), undefined), () => fetchPeerCertificates(at(port, named), undefined)])
      await run();
    await fetchPeerCertificates(at(port, {}, 'localhost'), undefined);
    for (const host of ['127.0.0.1', 'localhost']) await elsewhere(host);
    await expect.poll(() => names).toEqual([false, 'vpn.example.com', 'localhost', false, 'localhost']);
  });

  it('fetchPeerCertificates returns the whole chain, which can be trusted by its leaf or its root', async () => {
    const authority = selfSigned();
    const device = issueCertificate(authority);
    const [whole, alone] = [
      await startTestSimulator({ tls: { key: device.key, cert: device.cert + authority.cert } }),
      await startTestSimulator({ tls: device }),
    ];
    const prints = [device, authority].map(({ cert }) => fingerprint(cert));
    const seen = async (port: number, ca: string): Promise<unknown[]> => {
      const { certificates, trusted } = await fetchPeerCertificates(at(port, { tls: { ca } }), undefined);
      return [certificates.map(({ fingerprint256 }) => fingerprint256), trusted];
    };
    expect(await seen(whole.port, authority.cert)).toEqual([prints, true]);
    expect(await seen(whole.port, simulatorCertificate.cert)).toEqual([prints, false]);
    expect(await seen(alone.port, device.cert)).toEqual([prints.slice(0, 1), true]);
  });

  it('fetchPeerCertificates closes with close_notify and does not wait long for the response to it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const faults: unknown[] = [];
    const sockets: TLSSocket[] = [];
    const server = createTls({ ...simulatorCertificate, allowHalfOpen: true }, (socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined).resume();
    });
    server.on('tlsClientError', (error) => faults.push(error));
    const port = await listen(server, sockets);
    const ended = async (): Promise<TLSSocket> => {
      await fetchPeerCertificates(at(port), undefined);
      while (sockets.length === 0) await new Promise(setImmediate);
      const socket = sockets.pop() as TLSSocket;
      if (!socket.readableEnded) await once(socket, 'end');
      return socket;
    };
    const polite = await ended();
    polite.end();
    await once(polite, 'close');
    while (vi.getTimerCount() > 0) await new Promise(setImmediate);
    const stubborn = await ended();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1000);
    const gone = new Promise((resolve) => stubborn.once('close', resolve));
    const talk = setInterval(() => stubborn.write('still here'), 2);
    await gone;
    clearInterval(talk);
    expect(faults).toEqual([]);
  });

  it('fetchPeerCertificates reports a proxy that is absent, refuses or fails as not sent', async () => {
    const refusing = await startProxy('Basic other');
    const secure = await listen(createTls(simulatorCertificate, (socket) => socket.on('error', () => undefined)));
    for (const [url, code, words] of [
      ['http://127.0.0.1:1', 'CONNECTION', 'refused the connection'],
      [refusing.url, 'CONNECTION', 'The proxy did not open a way to 127.0.0.1:1 (status 407).'],
      // The certificate is not trusted.
      [`https://127.0.0.1:${secure}`, 'TLS', 'not trusted'],
    ] as const) {
      const error = await expectFailure(fetchPeerCertificates(at(1), { url }));
      expect(error).toMatchObject({ code, details: { sent: false } });
      expect(error.message).toContain(words);
    }
    expect((await expectFailure(fetchPeerCertificates(at(1), { url: 'http://[::1]:1' }))).message).not.toContain('DNS');
  });
});

describe('certificate details', () => {
  it('certificate details have no line break and count whole days', () => {
    const now = Date.parse('2026-11-22T08:00:00Z');
    vi.useFakeTimers({ toFake: ['Date'], now });
    onTestFinished(() => void vi.useRealTimers());
    const validFrom = 'Nov 21 08:00:00 2026 GMT';
    const read = { subject: 'CN=vpn\nO=Example\n', validFrom, validTo: 'Nov 24 07:59:59 2026 GMT', fingerprint256: 'AB' };
    expect(toCertificateInfo(read)).toEqual({
      subject: 'CN=vpn, O=Example',
      issuer: '',
      'valid-from': '2026-11-21T08:00:00.000Z',
      'valid-to': '2026-11-24T07:59:59.000Z',
      days: 1,
      fingerprint256: 'AB',
    });
    expect(toCertificateInfo({ ...read, issuer: 'CN=ca', validTo: validFrom })).toMatchObject({ issuer: 'CN=ca', days: -1 });
  });

  it.each<[string | undefined, string[]]>([
    [undefined, []],
    ['odd', []],
    ['DNS:vpn.example.com, IP Address:192.0.2.1, URI: https://a:1/b ', ['vpn.example.com', '192.0.2.1', 'https://a:1/b']],
    ['DNS:"a, DNS:b", DNS:c', ['a, DNS:b', 'c']],
    ['DNS:"a\\", b", DNS:c', ['a\\", b', 'c']],
    ['DNS:"a, DNS:b", email:c"', ['a, DNS:b', 'c"']],
    ['DNS:"a', ['"a']],
  ])('certificate details contain the names of %j', (subjectAltName, names) => {
    expect(parseSubjectAltNames({ subjectAltName })).toEqual(names);
  });
});
