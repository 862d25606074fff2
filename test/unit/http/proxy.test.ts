import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestSimulator, expectFailure, gatewayFor, listWriteLines } from '../../helpers/simulated-appliance';
import { startProxy } from '../../helpers/proxy';
import { PROXY_BEHAVIORS, HostileProxy } from '../../helpers/hostile-proxy';

describe('requests through a proxy', () => {
  it('a gateway with a proxy uses a tunnel with credentials, and TLS to the appliance', async () => {
    const simulator = await startTestSimulator();
    const token = `Basic ${Buffer.from('pröxy:s:cret').toString('base64')}`;
    const { url, tunnels, authorizations } = await startProxy(token);
    const gateway = gatewayFor(simulator, { connections: 2, proxy: { url, username: 'pröxy', password: 's:cret' } });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => gateway.run('system.info')));
    expect(outcomes.every(({ envelope }) => envelope.ok)).toBe(true);
    expect(simulator.totalConnections).toBeLessThanOrEqual(2);
    expect(new Set(tunnels)).toEqual(new Set([`127.0.0.1:${simulator.port}`]));
    expect(tunnels).toHaveLength(simulator.totalConnections);
    expect(new Set(authorizations)).toEqual(new Set([token]));
    expect(simulator.requests.every(({ headers }) => !('proxy-authorization' in headers))).toBe(true);
  });

  it('a gateway with a proxy can authenticate with a user name alone', async () => {
    const simulator = await startTestSimulator();
    const { url, authorizations } = await startProxy();
    await gatewayFor(simulator, { connections: 1, proxy: { url, username: 'me' } }).run('system.info');
    expect(authorizations).toEqual([`Basic ${Buffer.from('me:').toString('base64')}`]);
  });

  it('a gateway with a proxy still verifies the certificate of the appliance', async () => {
    const simulator = await startTestSimulator();
    const { url } = await startProxy();
    expect((await expectFailure(gatewayFor(simulator, { tls: {}, proxy: { url } }).run('system.info'))).code).toBe('TLS');
    expect(simulator.requests).toEqual([]);
  });

  it('a gateway with a proxy fails with CONNECTION and not sent if the proxy refuses or is absent', async () => {
    const simulator = await startTestSimulator();
    const { url } = await startProxy('Basic other');
    const refused = await expectFailure(gatewayFor(simulator, { proxy: { url, username: 'a', password: 'b' } }).run('sessions.kill-all'));
    expect(refused).toMatchObject({ code: 'CONNECTION', message: expect.stringMatching(/proxy/i) as string });
    const absent = gatewayFor(simulator, { login: 'key', apiKey: 'a', proxy: { url: 'http://127.0.0.1:1' } });
    const error = await expectFailure(absent.run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'CONNECTION', message: expect.stringContaining('proxy 127.0.0.1:1') as string });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a proxy that closes the connection is contacted once per message, without retries', async () => {
    const simulator = await startTestSimulator();
    const between = new HostileProxy();
    await between.start();
    onTestFinished(() => between.stop());
    const gateway = gatewayFor(simulator, { proxy: { url: between.url }, timeout: 60 });
    for (const how of ['closes at once', 'agrees, and closes', 'answers what is no HTTP'] as const) {
      between.tunnelCount = 0;
      between.behavior = PROXY_BEHAVIORS[how];
      expect(await expectFailure(gateway.run('sessions.kill-all'))).toMatchObject({ code: 'CONNECTION', details: { sent: false } });
      expect(between.tunnelCount, how).toBe(1);
    }
    expect(simulator.requests).toEqual([]);
  });

  it.each<[string[], number]>([
    [['127.0.0.1'], 0],
    [['example.com', ' 127.0.0.1 '], 0],
    [['*'], 0],
    [['127.0.0.1:1'], 1],
    [['example.com', '*.example.com', '.example.com'], 1],
    [[], 1],
  ])('bypass the proxy for %j', async (noproxy, expected) => {
    const simulator = await startTestSimulator();
    const { url, tunnels } = await startProxy();
    await gatewayFor(simulator, { connections: 1, proxy: { url, noproxy } }).run('system.info');
    expect(tunnels).toHaveLength(expected);
  });
});
