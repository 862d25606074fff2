import { describe, expect, it, onTestFinished } from 'vitest';
import { Transport } from '../../../src/http/transport';
import { LoginExchange } from '../../../src/login/login-exchange';
import type { ErrorCode } from '../../../src/model/error-codes';
import { checkSettings, type Settings } from '../../../src/model/settings';
import { expectFailure, gatewayFor, LOGIN_PATH, settingsFor } from '../../helpers/simulated-appliance';
import { LEGACY_LOGIN_PATH } from '../../helpers/logins';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const SERVER = 'System Local';

/** An appliance that answers each login with this status and everything else with 200. */
async function answering(status: number): Promise<ReturnType<typeof gatewayFor>> {
  const body = JSON.stringify({ result: { errors: [{ message: 'Not here.' }] } });
  const server = await startRawServer(({ path }) => (path.endsWith(LOGIN_PATH) ? httpResponse(status, body) : httpResponse(200, '{}')), {
    forwardsLogins: true,
  });
  return gatewayFor(server);
}

// A failed login says nothing about the requested object.
describe('a login that gets 404 or 403', () => {
  it.each([
    ['config.delete', { path: 'users/user-roles/user-role/A', 'missing-ok': true }],
    ['users.delete', { server: SERVER, username: 'a', 'missing-ok': true }],
    ['users.delete', { server: SERVER, username: ['a', 'b'], 'missing-ok': true }],
    ['config.ensure', { path: 'users/user-roles/user-role/A', body: { a: 1 } }],
    ['users.ensure', { server: SERVER, username: 'a', 'password-cleartext': 'b' }],
    ['transfer.export-binary', {}],
    ['snapshot.take', {}],
  ])('a login that gets 404 or 403 is not taken for the response to %s', async (operation, input) => {
    expect((await expectFailure((await answering(404)).run(operation, input))).code).toBe('NOT_FOUND');
    expect((await expectFailure((await answering(403)).run(operation, input))).code).toBe('FORBIDDEN');
  });

  it('a login that gets 404 or 403 does not make a dry run plan changes to objects that may not exist', async () => {
    const gateway = await answering(404);
    const planned = gateway.run('config.ensure', { path: 'users/user-roles/user-role/A', body: { a: 1 } }, { dryRun: true });
    expect((await expectFailure(planned)).code).toBe('NOT_FOUND');
  });

  it('metrics report an appliance whose login gets 404 or 403 as not answering', async () => {
    const { data } = await (await answering(403)).run('system.metrics');
    expect(String(data)).toMatch(/^gateway_up\{.*\} 0$/m);
  });
});

describe('a login that gets another status', () => {
  it.each([
    [400, 'LOGIN_REJECTED'],
    [401, 'LOGIN_REJECTED'],
    [422, 'LOGIN_REJECTED'],
    [402, 'APPLIANCE_ERROR'],
    [500, 'APPLIANCE_ERROR'],
  ])('a login that gets %i fails with %s and is not repeated at once', async (status, code) => {
    const gateway = await answering(status);
    const error = await expectFailure(gateway.run('system.info'));
    expect([error.code, error.details.status]).toEqual([code, status]);
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
  });
});

describe('one login step', () => {
  /** Logs in once; the answers are used in order. */
  async function stepping(answers: string[], more: Partial<Settings> = {}) {
    const server = await startRawServer(() => answers.shift(), { forwardsLogins: true });
    const settings = checkSettings(settingsFor(server, more));
    const transport = new Transport(settings);
    onTestFinished(() => transport.close());
    return {
      exchange: new LoginExchange(settings, transport),
      asked: () => server.requests.map(({ method, path }) => `${method} ${path}`),
    };
  }
  const legacy: Partial<Settings> = { login: 'legacy' };
  const totp: Partial<Settings> = { secondFactor: 'totp', totpSecret: 'JBSWY3DPEHPK3PXP' };
  const forbidden = (what: string): string =>
    `The appliance forbids this login (403). Check user name, password${what}, that the account may use the REST interface, and that logins from the address of this machine are allowed.`;
  const refused = (status: number, what: string): string =>
    `The appliance refused the login (${status}). Check user name, password${what}, and that the account may use the REST interface.`;
  const elsewhere = (what: string): string =>
    `The login was answered with ${what} instead of a key. The URL may be wrong, for example that of the user portal. Enter the URL of the administrator interface.`;
  const failed = (status: number, why: string): string =>
    `The appliance did not carry out the login (status ${status}). ${why}; try again later.`;

  it.each<[Partial<Settings>, number, string, ErrorCode, string]>([
    [{}, 403, '', 'FORBIDDEN', forbidden(', the realm')],
    [totp, 403, '', 'FORBIDDEN', forbidden(' and second factor, the realm')],
    [legacy, 403, '', 'FORBIDDEN', forbidden('')],
    [{}, 400, '', 'LOGIN_REJECTED', refused(400, ', the realm')],
    [totp, 401, '', 'LOGIN_REJECTED', refused(401, ' and second factor, the realm')],
    [legacy, 422, '', 'LOGIN_REJECTED', refused(422, '')],
    [{}, 404, '', 'NOT_FOUND', 'The appliance has no such login (404). Check the address, and that the REST interface is on.'],
    [{}, 302, '', 'APPLIANCE_ERROR', elsewhere('a redirect (302)')],
    [{}, 300, '', 'APPLIANCE_ERROR', elsewhere('a redirect (300)')],
    [{}, 200, ' \n<html>', 'BAD_RESPONSE', elsewhere('a page (200)')],
    [{}, 299, '<a/>', 'BAD_RESPONSE', elsewhere('a page (299)')],
    [{}, 429, '', 'APPLIANCE_ERROR', failed(429, 'It asks for fewer logins')],
    [{}, 402, '', 'APPLIANCE_ERROR', failed(402, 'Check the address')],
    [{}, 499, '', 'APPLIANCE_ERROR', failed(499, 'Check the address')],
    [{}, 500, '', 'APPLIANCE_ERROR', failed(500, 'It may be restarting')],
  ])('one login step with settings %j and response %i %j fails with %s and gives advice', async (more, status, body, code, message) => {
    const { exchange } = await stepping([httpResponse(status, body)], more);
    const error = await expectFailure(exchange.sendCredentials());
    expect(error).toMatchObject({ code, message, details: { status, login: true } });
    expect(error.details).not.toHaveProperty('retryAfterMs');
  });

  it('a login step respects Retry-After', async () => {
    const { exchange } = await stepping([httpResponse(503, '', { 'retry-after': '7' })]);
    expect(await expectFailure(exchange.sendCredentials())).toMatchObject({ code: 'APPLIANCE_ERROR', details: { retryAfterMs: 7000 } });
  });

  it.each([400, 404, 405])('a step of the legacy login that gets %i by POST is tried with GET', async (status) => {
    const gone = httpResponse(404);
    const { exchange, asked } = await stepping([httpResponse(status), gone], legacy);
    expect(await expectFailure(exchange.sendCredentials())).toMatchObject({
      code: 'NOT_FOUND',
      message: 'The appliance has no such login (404). Releases from 22.7R2.1 on have only the realm login: choose that.',
    });
    expect(asked()).toEqual([`POST ${LEGACY_LOGIN_PATH}`, `GET ${LEGACY_LOGIN_PATH}`]);
  });

  it.each([401, 403, 500])('a legacy login step that gets %i is not repeated', async (status) => {
    const { exchange, asked } = await stepping([httpResponse(status)], legacy);
    await expectFailure(exchange.sendCredentials());
    expect(asked()).toEqual([`POST ${LEGACY_LOGIN_PATH}`]);
  });

  it.each([
    [401, '{"result":{"errors":[{"message":"Account is locked."}]}}', {}, '"Account is locked". Wait until the lock ends, or unlock'],
    [403, '{"message":"Too many failed\\nlogins"}', { 'retry-after': '900' }, '"Too many failed logins". Wait 900 s.'],
    [401, '{"result":{"errors":[{"message":"No."}]}}', {}, 'The appliance says: "No".'],
  ])('the error of a login step with status %i and the body %s quotes the appliance', async (status, body, headers, words) => {
    const { exchange } = await stepping([httpResponse(status, body, { 'content-type': 'application/json', ...headers })]);
    expect((await expectFailure(exchange.sendCredentials())).message).toContain(words);
  });

  it('a login step returns a key or the next step, which waits for a code', async () => {
    const bodies = ['{"api_key":"a","resume_id":"r"}', '{"api_key":"","resume_id":"r"}', '{"api_key":5,"resume_id":"r"}'];
    const { exchange } = await stepping(bodies.map((body) => httpResponse(200, body)));
    expect(await exchange.sendCredentials()).toMatchObject({ key: { apiKey: 'a' } });
    expect(await exchange.sendCredentials()).toEqual({ resumeId: 'r' });
    expect(await exchange.answerStep('r', 'a', 'b')).toEqual({ resumeId: 'r' });
  });

  it.each(['{}', '{"api_key":"","resume_id":""}', '{"api_key":null,"resume_id":7}'])(
    'a login step with the response %s fails with BAD_RESPONSE',
    async (body) => {
      const { exchange } = await stepping([httpResponse(200, body)]);
      expect(await expectFailure(exchange.sendCredentials())).toMatchObject({
        code: 'BAD_RESPONSE',
        message: 'The appliance accepted the login but gave neither a key nor a further step. Check that the realm allows REST access.',
        details: { status: 200 },
      });
    },
  );
});
