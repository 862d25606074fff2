import { describe, expect, it } from 'vitest';
import { failure, gatewayFor, LOGIN } from './library/appliance';
import { http, wire } from './library/wire';

const SERVER = 'System Local';

/** An appliance that answers each login so; whatever else is asked, it has. */
async function answering(status: number): Promise<ReturnType<typeof gatewayFor>> {
  const body = JSON.stringify({ result: { errors: [{ message: 'Not here.' }] } });
  const server = await wire(({ path }) => (path.endsWith(LOGIN) ? http(status, body) : http(200, '{}')), { logins: true });
  return gatewayFor(server);
}

// What is said of a login is nothing that is said of what was asked for.
describe('a login that is answered 404 or 403', () => {
  it.each([
    ['config.delete', { path: 'users/user-roles/user-role/A', 'missing-ok': true }],
    ['users.delete', { server: SERVER, username: 'a', 'missing-ok': true }],
    ['users.delete', { server: SERVER, username: ['a', 'b'], 'missing-ok': true }],
    ['config.ensure', { path: 'users/user-roles/user-role/A', body: { a: 1 } }],
    ['users.ensure', { server: SERVER, username: 'a', 'password-cleartext': 'b' }],
    ['transfer.export-binary', {}],
    ['snapshot.take', {}],
  ])('is no answer to %s', async (operation, input) => {
    expect((await failure((await answering(404)).run(operation, input))).code).toBe('NOT_FOUND');
    expect((await failure((await answering(403)).run(operation, input))).code).toBe('FORBIDDEN');
  });

  it('leaves nobody in a plan to change what may not be there', async () => {
    const gateway = await answering(404);
    const planned = gateway.run('config.ensure', { path: 'users/user-roles/user-role/A', body: { a: 1 } }, { dryRun: true });
    expect((await failure(planned)).code).toBe('NOT_FOUND');
  });

  it('says of metrics that nobody answered', async () => {
    const { data } = await (await answering(403)).run('system.metrics');
    expect(String(data)).toMatch(/^gateway_up\{.*\} 0$/m);
  });
});

describe('a login that is answered otherwise', () => {
  it.each([
    [400, 'LOGIN_REJECTED'],
    [401, 'LOGIN_REJECTED'],
    [422, 'LOGIN_REJECTED'],
    [402, 'APPLIANCE_ERROR'],
    [500, 'APPLIANCE_ERROR'],
  ])('%i is %s, and none is sent right after', async (status, code) => {
    const gateway = await answering(status);
    const error = await failure(gateway.run('system.info'));
    expect([error.code, error.details.status]).toEqual([code, status]);
    expect((await failure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
  });
});
