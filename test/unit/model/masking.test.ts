import { describe, expect, it } from 'vitest';
import { testConnection } from '../../../nodes/admin/test-connection';
import type { NodeAPI } from 'node-red';
import { Gateway } from '../../../src/gateway/gateway';
import { listRequests, expectFailure, gatewayFor, startSimulatorWithGateway, getThrownError } from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const KEY = JSON.stringify({ api_key: 'Zm9v+YmFy/cXV4YmF6Zm9vYmFycXV4YmF6Zm9vYmE=' });
const USER_PATH = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user/j.doe';

/** An appliance that answers everything but the login so. */
async function answering(status: number, body: string, password: string) {
  const server = await startRawServer(({ path }) => (path.endsWith('realm_auth') ? httpResponse(200, KEY) : httpResponse(status, body)));
  return gatewayFor(server, { password });
}

describe('A password that is a common word', () => {
  const user = { server: 'System Local', username: 'j.doe' };

  it.each(['user', 'local', 'auth-server', 'configuration', 'system'])(
    'a password that is a common word is not revealed by masking that word in a request path: %s',
    async (password) => {
      const gateway = await answering(404, '{}', password);
      expect((await expectFailure(gateway.run('users.get', user))).cause?.request?.path).toBe(USER_PATH);
      const { envelope } = await gateway.run('users.delete', user, { dryRun: true });
      expect(envelope.plan).toEqual([{ method: 'DELETE', path: USER_PATH }]);
    },
  );

  it('A password that is a common word is not revealed by the error of a login pause', async () => {
    const server = await startRawServer(() => httpResponse(401, '{}'), { forwardsLogins: true });
    const gateway = gatewayFor(server, { password: 'LOGIN_REJECTED' });
    await expectFailure(gateway.run('system.info'));
    const { cause } = await expectFailure(gateway.run('system.info'));
    expect(cause).toMatchObject({ pausedBecause: 'LOGIN_REJECTED', pausedUntil: expect.stringMatching(/^20\d\d-/) as string });
  });

  it('A password that is a common word is not revealed by the result of a connection test', async () => {
    const server = await startRawServer(() => httpResponse(401, '{}'), { forwardsLogins: true, plain: true });
    const red = { nodes: { eachNode: () => undefined } } as unknown as NodeAPI;
    const credentials = { username: 'a', password: 'appliance' };
    const body = { url: server.url, login: 'realm', realm: 'R', secondFactor: 'none', credentials };
    const answer = await testConnection(red, body, new AbortController().signal);
    expect(answer).toMatchObject({ code: 'LOGIN_REJECTED', message: expect.stringContaining('The appliance refused') as string });
  });
});

describe('A secret', () => {
  const password = 'Correct-Horse-9';

  it('A secret in the path of a failed or planned request is masked', async () => {
    const gateway = await answering(422, '{}', password);
    const input = { path: ['license', password], body: { a: 'b' } };
    const { cause } = await expectFailure(gateway.run('request.post', input));
    const { envelope } = await gateway.run('request.post', input, { dryRun: true });
    for (const shown of [cause, envelope]) expect(JSON.stringify(shown)).not.toContain(password);
  });

  it('A secret in the path and summary of a successful write is masked', async () => {
    const gateway = await answering(200, '{"result":{"info":[]}}', password);
    const { envelope } = await gateway.run('request.post', { path: ['license', password], body: { a: 'b' } });
    expect(envelope).toMatchObject({ ok: true, request: { method: 'POST', path: '/api/v1/license/••••' } });
    expect(JSON.stringify(envelope)).not.toContain(password);
  });

  it('A secret in a difference is masked under any field name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = { server: 'System Local', username: 'new.one', 'password-cleartext': password, fullname: `is ${password}` };
    const outcome = await gateway.run('users.ensure', input);
    expect(listRequests(simulator).some(({ body }) => body.includes(`is ${password}`))).toBe(true);
    expect(outcome.envelope.diff).toContainEqual(expect.objectContaining({ field: '/fullname', after: 'is ••••' }));
    expect(JSON.stringify(outcome)).not.toContain(password);
  });

  it('A secret must be text, because other values cannot be searched for in output', () => {
    const settings = { url: 'https://vpn.example.com', realm: 'R', username: 'a', password: 12345678 as unknown as string };
    expect(getThrownError(() => new Gateway(settings))).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('password') as string,
    });
  });
});
