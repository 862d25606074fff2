import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/model/error';
import { Gateway } from '../../../src/gateway/gateway';
import type { Settings } from '../../../src/model/settings';
import {
  listRequests,
  expectFailure,
  gatewayFor,
  startSimulatorWithGateway,
  getThrownError,
  settingsFor,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer, type RawRequest } from '../../helpers/raw-server';

const KEY = 'Zm9v+YmFy/cXV4YmF6Zm9vYmFycXV4YmF6Zm9vYmE=AA';
const PASSWORD = 'Pä$$ wört/"#\\';
const SECOND = 'zweites <Wort> & mehr';
const BODY_PASSWORD = 'Neues Kennwort+1';

/** The ways in which a text could come back, written down apart from the library's own list. */
function forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const escaped = encodeURIComponent(secret);
  return [
    secret,
    escaped,
    escaped.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    escaped.replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    Buffer.from(`someone:${secret}:`).toString('base64'),
    encodeURIComponent(bytes.toString('base64')),
  ];
}

/** All that could reach a log, a Catch node or a dashboard. */
function emitted(value: unknown): string {
  const parts = [inspect(value, { depth: 20, maxStringLength: null, maxArrayLength: null }), JSON.stringify(value)];
  if (value instanceof GatewayError) parts.push(value.message, String(value), value.stack ?? '', JSON.stringify(value.cause));
  return parts.join('\n');
}

function expectClean(value: unknown, ...secrets: string[]): void {
  const text = emitted(value);
  const unescaped = text.replaceAll('\\"', '"').replaceAll('\\\\', '\\');
  for (const secret of secrets) {
    for (const form of forms(secret)) {
      // Not toContain: what it would print is long.
      expect(text.includes(form) || unescaped.includes(form), `${form} of ${secret}`).toBe(false);
    }
  }
}

const authorizationOf = ({ head }: RawRequest): string => /^authorization: (.*)$/im.exec(head)?.[1] ?? '';

/** Everything that the appliance was ever told, as a message of it. */
function echo(...secrets: string[]): string {
  return secrets.flatMap((secret) => [...forms(secret), ...forms(`api-admin:${secret}`), ...forms(`${secret}:`)]).join(' | ');
}

const all: Partial<Settings> = { password: PASSWORD, secondFactor: 'password', secondPassword: SECOND };

describe('Secrets that the appliance repeats', () => {
  const loud = echo(PASSWORD, SECOND, KEY, BODY_PASSWORD);
  const secrets = [PASSWORD, SECOND, KEY, BODY_PASSWORD];
  const body = { username: 'j.doe', 'password-cleartext': BODY_PASSWORD };

  it.each<[string, number, string]>([
    ['errors', 400, 'errors'],
    ['errors', 403, 'errors'],
    ['errors', 422, 'errors'],
    ['errors', 500, 'errors'],
    ['errors inside a success', 200, 'errors'],
    ['warnings', 200, 'warnings'],
    ['infos', 201, 'info'],
  ])('Secrets that the appliance repeats are masked in %s (%i)', async (_name, status, list) => {
    const logins = ['{"resume_id":"r1"}', JSON.stringify({ api_key: KEY })];
    const server = await startRawServer(
      (asked) => {
        if (asked.path.endsWith('realm_auth')) return httpResponse(200, logins.shift());
        const authorization = authorizationOf(asked);
        return httpResponse(status, JSON.stringify({ result: { [list]: [{ message: `${loud} ${authorization} ${asked.body}` }] } }));
      },
      { forwardsLogins: true },
    );
    const gateway = gatewayFor(server, all);
    // The key comes during the first of them: it has to be known to that very call.
    const create = { path: 'authentication/auth-servers/auth-server/Local/local/users/user', body };
    for (const [operation, input] of [
      ['config.create', create],
      ['sessions.kill', { 'session-id': ['sid1', 'sid2'] }],
    ] as const) {
      const outcome = await gateway.run(operation, input).catch((error: unknown) => error);
      expectClean(outcome, ...(operation === 'config.create' ? secrets : secrets.slice(0, 3)));
      expectClean(outcome, `${KEY}:`, `api-admin:${PASSWORD}`, `api-admin:${SECOND}`);
      // A success on many has no messages that could hold one.
      expect(emitted(outcome).includes('••••')).toBe(operation === 'config.create' || outcome instanceof GatewayError);
    }
  });

  it('A secret that the appliance repeats in the response to a login is masked', async () => {
    for (const answer of [
      httpResponse(401, JSON.stringify({ result: { errors: [{ message: loud }] } })),
      httpResponse(500, loud),
      httpResponse(302, loud, { location: `https://elsewhere.example/${encodeURIComponent(PASSWORD)}` }),
      httpResponse(200, `{"note":"${KEY}"}`),
      httpResponse(200, loud),
    ]) {
      const server = await startRawServer(() => answer, { forwardsLogins: true });
      expectClean(await expectFailure(gatewayFor(server, all).run('sessions.kill-all')), ...secrets);
    }
  });

  it('A pasted key that the appliance repeats is masked', async () => {
    const server = await startRawServer((asked) =>
      httpResponse(404, JSON.stringify({ result: { errors: [{ message: `${echo(KEY)} ${authorizationOf(asked)}` }] } })),
    );
    const error = await expectFailure(gatewayFor(server, { login: 'key', apiKey: KEY }).run('system.info'));
    expectClean(error, KEY, `${KEY}:`);
    expect(error.message).toContain('404');
  });

  it('a one-time code that the appliance repeats in a response is masked', async () => {
    let credential = '';
    const server = await startRawServer(
      (asked) => {
        if (!asked.path.endsWith('realm_auth')) {
          const code = credential.split(':')[1] ?? '';
          return httpResponse(422, JSON.stringify({ result: { errors: [{ message: echo(code) }] } }));
        }
        if (asked.body.includes('realm"')) return httpResponse(200, '{"resume_id":"r1"}');
        credential = Buffer.from(authorizationOf(asked).slice(6), 'base64').toString();
        return httpResponse(200, JSON.stringify({ api_key: KEY }));
      },
      { forwardsLogins: true },
    );
    const error = await expectFailure(
      gatewayFor(server, { secondFactor: 'totp', totpSecret: 'GEZDGNBVGY3TQOJQ' }).run('sessions.kill-all'),
    );
    expect(credential).toMatch(/^api-admin:\d{6}$/);
    expectClean(error, credential, credential.split(':')[1] ?? '', 'GEZDGNBVGY3TQOJQ');
  });
});

describe('Secrets of a request or of settings', () => {
  it('A secret of a request or of settings is masked in a plan and sent unmasked', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const input = {
      path: 'authentication/auth-servers/auth-server/System Local/local/users/user',
      body: { username: 'nina', fullname: 'N', 'password-cleartext': BODY_PASSWORD, 'change-password-at-signin': 'true' },
    };
    const { envelope } = await gateway.run('config.create', input, { dryRun: true });
    expectClean(envelope, BODY_PASSWORD);
    expect(envelope.plan?.[0]?.body).toEqual({ ...input.body, 'password-cleartext': '••••' });
    await gateway.run('config.create', input);
    expect(JSON.parse(listRequests(simulator)[0]?.body ?? '')).toEqual(input.body);
    expect(input.body['password-cleartext']).toBe(BODY_PASSWORD);
  });

  it('A secret of a request or of settings does not appear when a gateway is printed', () => {
    const gateway = new Gateway({
      ...settingsFor({ url: 'https://vpn.example.com' }),
      ...all,
      apiKey: KEY,
      totpSecret: 'GEZDGNBVGY3TQOJQ',
    });
    expectClean(gateway, PASSWORD, SECOND, KEY, 'GEZDGNBVGY3TQOJQ');
    gateway.close();
  });

  it('A secret of a request or of settings is not quoted by errors about settings', () => {
    const base = settingsFor({ url: 'https://vpn.example.com' });
    for (const wrong of [
      { url: `https://admin:${KEY}@vpn.example.com` },
      { url: `https://admin:${KEY}@vpn example` },
      { username: `admin:${KEY}` },
      { secondFactor: 'totp' as const, totpSecret: `no base32 ${KEY}` },
      { secondFactor: 'totp' as const, totpSecret: `otpauth://totp/x?secret=${KEY}&digits=99` },
    ]) {
      const error = getThrownError(() => new Gateway({ ...base, ...wrong }));
      expect(error?.code).toBe('BAD_CONFIG');
      expectClean(error, KEY);
    }
  });
});

describe('Fields with a secret name', () => {
  it('A field with a secret name is masked in a plan for any type of value, and its value is masked elsewhere too', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const body = { name: 'n', 'shared-secret': 47110815, snmp: { community: ['public-ro'] }, note: 'was 47110815, public-ro' };
    const { envelope } = await gateway.run('config.create', { path: 'system/x', body }, { dryRun: true });
    expect(envelope.plan?.[0]?.body).toEqual({ name: 'n', 'shared-secret': '••••', snmp: { community: '••••' }, note: 'was ••••, ••••' });
  });
});
