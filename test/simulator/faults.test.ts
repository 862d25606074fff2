import { X509Certificate } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import https from 'node:https';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { selfSigned, startSimulator } from '../../src/simulator/index';
import { messages, start, stopAll, type Client } from './client';

const INFO = '/api/v1/system/system-information';
const USER = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user/contractor1';
const SESSIONS = '/api/v1/system/active-users';

afterEach(stopAll);

/** What arrived of an answer that was cut, and how long it was to be. */
function brokenAnswer(client: Client, method: 'GET' | 'POST', path: string): Promise<{ status: number; bytes: number; length: number }> {
  return new Promise((resolve, reject) => {
    const { port, ca } = client.simulator;
    const authorization = `Basic ${Buffer.from(`${client.key}:`).toString('base64')}`;
    const headers = { authorization, ...(method === 'POST' && { 'content-type': 'application/json' }) };
    const request = https.request({ method, host: '127.0.0.1', port, ca, path, headers, agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length));
      response.on('end', () => reject(new Error('the answer was whole')));
      response.on('error', () => resolve({ status: response.statusCode ?? 0, bytes, length: Number(response.headers['content-length']) }));
    });
    request.on('error', reject);
    request.end(method === 'POST' ? '{}' : undefined);
  });
}

describe('faults', () => {
  it.each([500, 401, 403, 404, 422])(
    'a fault rule of the simulator answers once with status %i and its message, and does not run the request',
    async (status) => {
      const client = await start();
      client.simulator.fault({ status, body: '{"result":{"errors":[{"message":"own"}]}}' });
      const answer = await client.put(USER, { fullname: 'New' });
      expect([answer.status, messages(answer, 'errors')]).toEqual([status, ['own']]);
      expect((await client.get(`${USER}/fullname`)).json).toEqual({ fullname: 'Carla Contractor' });
    },
  );

  it('a fault rule of the simulator can answer with an error after the request took effect', async () => {
    const client = await start();
    client.simulator.fault({ status: 500, afterEffect: true });
    expect((await client.put(USER, { fullname: 'New' })).status).toBe(500);
    expect((await client.get(`${USER}/fullname`)).json).toEqual({ fullname: 'New' });
  });

  it('a fault rule of the simulator matches requests, skips some, repeats, and can be cleared', async () => {
    const client = await start();
    client.simulator.fault({ status: 500, times: 2, skip: 1, match: ({ method, path }) => method === 'GET' && path.startsWith(SESSIONS) });
    const statuses: number[] = [];
    for (const path of [INFO, SESSIONS, SESSIONS, INFO, SESSIONS, SESSIONS]) statuses.push((await client.get(path)).status);
    expect(statuses).toEqual([200, 200, 500, 200, 500, 200]);
    client.simulator.fault({ status: 500, times: Infinity });
    client.simulator.clearFaults();
    expect((await client.get(INFO)).status).toBe(200);
  });

  it('a fault rule of the simulator sends empty, HTML, and redirect responses', async () => {
    const client = await start();
    client.simulator.fault({ status: 500, body: '' });
    expect(await client.get(INFO)).toMatchObject({ status: 500, text: '' });
    client.simulator.fault({ body: '<html>Sign in</html>' });
    const html = await client.get(INFO);
    expect([html.status, html.headers['content-type'], html.text]).toEqual([200, 'text/html', '<html>Sign in</html>']);
    client.simulator.fault({ status: 302, body: '', headers: { location: 'https://elsewhere.example/' } });
    expect((await client.get(INFO)).headers.location).toBe('https://elsewhere.example/');
  });

  it('a fault rule of the simulator truncates JSON with a matching length, removes fields, and changes the shape', async () => {
    const client = await start();
    client.simulator.fault({ truncate: 'half' });
    const half = await client.get(INFO);
    expect([half.status, half.json, half.headers['content-length']]).toEqual([200, undefined, String(half.text.length)]);
    client.simulator.fault({ stripField: ['active-users.active-user-records', 'active-users.is-last-record'] });
    expect(Object.keys(((await client.get(SESSIONS)).json as { 'active-users': object })['active-users'])).toEqual([
      'total-matched-record-number',
      'total-returned-record-number',
      'user-login-permission',
    ]);
    client.simulator.fault({ body: (answer) => `[${answer}]` });
    expect((await client.get(INFO)).json).toHaveLength(1);
  });

  it('a fault rule of the simulator cuts the connection before any byte, after the headers, or in the body', async () => {
    const client = await start();
    client.simulator.fault({ cut: 'before-headers' });
    await expect(client.get(INFO)).rejects.toThrow(/socket hang up|ECONNRESET/);
    for (const cut of ['headers', 'half', 10] as const) {
      client.simulator.fault({ cut });
      const seen = await brokenAnswer(client, 'GET', INFO);
      expect(seen.status).toBe(200);
      expect(seen.bytes).toBe(cut === 'headers' ? 0 : cut === 'half' ? seen.length >> 1 : cut);
    }
  });

  it.each(['/api/v1/system/maintenance/export-xml', '/api/v1/system/binary-configuration'])(
    'a fault rule of the simulator cuts the export %s, because an export is a read',
    async (path) => {
      const client = await start();
      client.simulator.fault({ cut: 'half' });
      const seen = await brokenAnswer(client, 'POST', path);
      expect(seen.length).toBeGreaterThan(1000);
      expect([seen.status, seen.bytes]).toEqual([200, seen.length >> 1]);
    },
  );

  it('a fault rule that cuts a write also prevents its effect unless afterEffect is set', async () => {
    const client = await start({ sessions: 5 });
    client.simulator.fault({ cut: 'before-headers' });
    await expect(client.delete(`${SESSIONS}?all`)).rejects.toThrow();
    expect(client.simulator.state.sessions.count).toBe(5);
    client.simulator.fault({ cut: 'before-headers', afterEffect: true });
    await expect(client.delete(`${SESSIONS}?all`)).rejects.toThrow();
    expect(client.simulator.state.sessions.count).toBe(0);
    expect(client.simulator.requests.at(-1)?.status).toBe(0);
  });

  it('the simulator counts a login that a fault rule answers, and continues after a fault rule throws', async () => {
    const client = await start();
    client.simulator.fault({ status: 500 });
    expect((await client.login()).status).toBe(500);
    expect(client.simulator.logins).toBe(2);
    const silent = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    client.simulator.fault({
      body: () => {
        throw new Error('rule');
      },
    });
    await expect(client.get(INFO)).rejects.toThrow();
    expect(silent).toHaveBeenCalledOnce();
    silent.mockRestore();
    expect((await client.get(INFO)).status).toBe(200);
  });

  it('a fault rule of the simulator can let a request hang or answer late', async () => {
    const client = await start();
    client.simulator.fault({ hang: true });
    const hanging = client.get(INFO).catch(() => 'cut');
    expect(await Promise.race([hanging, wait(80, 'nothing')])).toBe('nothing');
    client.simulator.fault({ delayMs: 60 });
    const from = performance.now();
    expect((await client.get(INFO)).status).toBe(200);
    expect(performance.now() - from).toBeGreaterThan(55);
  });
});

describe('the server', () => {
  it('the simulator listens on loopback only and reports that', async () => {
    for (const host of ['0.0.0.0', '192.168.1.1', 'example.com', '::']) await expect(startSimulator({ host })).rejects.toThrow(/loopback/);
    await expect(startSimulator({ sessions: -1 })).rejects.toThrow(/sessions/);
    await expect(startSimulator({ secondFactor: {} })).rejects.toThrow(/second factor/);
    await expect(startSimulator({ secondFactor: { totpSecret: '1!' } })).rejects.toThrow(/base32/);
  });

  it('the simulator has a certificate that is valid only for its host names', async () => {
    const client = await start();
    const certificate = new X509Certificate(client.simulator.ca);
    expect(certificate.subjectAltName).toMatch(/^DNS:localhost, IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1/);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now() - 80_000_000);
    expect(Date.parse(certificate.validTo)).toBeGreaterThan(Date.now() + 9 * 365 * 86_400_000);
    expect(new X509Certificate(selfSigned(['vpn.example.com', 'fd00::1:2']).cert).subjectAltName).toContain(
      'DNS:vpn.example.com, IP Address:FD00:0:0:0:0:0:1:2',
    );
    const other = new Promise((resolve) => https.get(client.simulator.url, { ca: selfSigned().cert, agent: false }).on('error', resolve));
    expect(await other).toHaveProperty('code', expect.stringMatching(/SELF_SIGNED|UNABLE_TO_VERIFY|SIGNATURE_FAILURE/));
    const name = new Promise((resolve) =>
      https.get(client.simulator.url, { ca: client.simulator.ca, servername: 'wrong.example', agent: false }).on('error', resolve),
    );
    expect(await name).toHaveProperty('code', 'ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('the simulator counts connections, keeps them open, and limits its request log', async () => {
    const client = await start({ journalLimit: 10 });
    for (let n = 0; n < 1100; n++) await client.get(INFO);
    expect(client.simulator.totalConnections).toBe(1);
    expect(client.simulator.openConnections).toBe(1);
    expect(client.simulator.requests.length).toBeLessThan(1011);
    expect(client.simulator.requests.every(({ connection }) => connection === 1)).toBe(true);
  });

  it('the simulator can serve its interface below a path prefix', async () => {
    const simulator = await startSimulator({ pathPrefix: '/vpn1', variants: { healthNeedsKey: false } });
    const get = (path: string) =>
      new Promise<number>((resolve, reject) => {
        https
          .get({ host: '127.0.0.1', port: simulator.port, ca: simulator.ca, path, agent: false }, (response) =>
            resolve(response.resume().statusCode ?? 0),
          )
          .on('error', reject);
      });
    expect([await get('/vpn1/api/v1/system/healthcheck'), await get('/api/v1/system/healthcheck')]).toEqual([200, 404]);
    await simulator.close();
  });

  it('the simulator can wait before each response', async () => {
    const client = await start({ delayMs: 40 });
    const from = performance.now();
    await client.get(INFO);
    expect(performance.now() - from).toBeGreaterThan(35);
  });
});
