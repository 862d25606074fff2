import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Inventory } from '../../src/inventory';
import { toFileError } from '../../src/files/file-error';
import { asGatewayError, type GatewayError } from '../../src/model/error';
import { ERROR_REASONS } from '../../src/model/error-reasons';
import type { Settings } from '../../src/model/settings';
import { PauseFreeCoordination } from '../../src/login/pause-free-coordination';
import { processCoordination } from '../../src/model/process-coordination';
import { Gateway } from '../../src/gateway/gateway';
import { listen } from '../helpers/listen';
import { HostileProxy, PROXY_BEHAVIORS } from '../helpers/hostile-proxy';
import { createTemporaryFolder } from '../helpers/temporary';
import { expectFailure, gatewayFor, settingsFor, startTestSimulator } from '../helpers/simulated-appliance';

// The table "Common causes" of docs/reference/errors.md: each cause happens here.

const PAGE = '<html><body>Welcome</body></html>';
const UPDATE = { path: '/users/user-roles/user-role/Users/description', body: { description: 'x' } } as const;

/** The error of a read, or of `operation`, at a simulated appliance. */
async function failAt(more: Partial<Settings>, operation = 'system.info', input: object = {}): Promise<GatewayError> {
  return expectFailure(gatewayFor(await startTestSimulator(), more).run(operation, input as Record<string, unknown>));
}

async function failLogin(answer: { status: number; body?: string; headers?: Record<string, string> }, path = ''): Promise<GatewayError> {
  const simulator = await startTestSimulator();
  simulator.fault({ match: () => true, times: 9, ...answer });
  return expectFailure(gatewayFor({ url: `${simulator.url}${path}` }).run('system.info'));
}

async function failThroughProxy(behavior: keyof typeof PROXY_BEHAVIORS): Promise<GatewayError> {
  const proxy = new HostileProxy();
  await proxy.start();
  onTestFinished(() => proxy.stop());
  proxy.behavior = PROXY_BEHAVIORS[behavior];
  const error = await failAt({ proxy: { url: proxy.url } });
  expect(error.message).toContain(`The proxy ${new URL(proxy.url).host} `);
  return error;
}

async function failInventory(text: string): Promise<GatewayError> {
  const inventory = new Inventory({ credentials: { eu: { username: 'a', password: 'b' } } });
  try {
    await inventory.read(text, 'json');
    return await expectFailure(Promise.resolve().then(() => inventory.appliances[0]?.gateway()));
  } catch (thrown) {
    return asGatewayError(thrown);
  }
}

const CAUSES: Readonly<Record<string, () => Promise<GatewayError>>> = {
  'The address is that of a page, or the login is answered with a page': () => failLogin({ status: 200, body: PAGE }),
  'The login is answered with a redirect': () => failLogin({ status: 302, headers: { location: '/dana-na/' } }),
  'The URL has the path of a page, such as `/admin`': () => failLogin({ status: 401 }, '/admin'),
  'The account has no REST access (403)': () => failLogin({ status: 403 }),
  'The account is locked': () => failLogin({ status: 401, body: '{"result":{"errors":[{"message":"Account locked."}]}}' }),
  'A login was refused moments ago': async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { password: 'wrong' });
    await expectFailure(gateway.run('system.info'));
    return expectFailure(gateway.run('system.info'));
  },
  'The proxy is not there': () => failAt({ proxy: { url: 'http://127.0.0.1:1' } }),
  'The proxy asks for credentials (407)': () => failThroughProxy('asks for another password'),
  'The proxy does not reach the appliance (502)': () => failThroughProxy('finds nobody'),
  'Nothing answers: a firewall drops the packets': async () => {
    // The server accepts the connection, but never answers the TLS handshake.
    const sockets = new Set<Socket>();
    const port = await listen(
      createServer((socket) => void sockets.add(socket.resume())),
      sockets,
    );
    const error = await expectFailure(gatewayFor({ url: `https://127.0.0.1:${port}` }, { timeout: 0.3 }).run('system.info'));
    expect(error.message).toMatch(/^No answer from 127\.0\.0\.1:\d+: .* Does a firewall drop the packets\?/);
    return error;
  },
  'The CA field holds no certificate': () => failAt({ tls: { ca: 'C:\\certificates\\ca.pem' } }),
  'The certificate is not trusted': () => failAt({ tls: {} }),
  'The pin is that of another appliance': () => failAt({ pin: 'OTHER123' }, 'config.update', UPDATE),
  'The journal cannot be written': () => failAt({ journal: '/proc/nowhere/journal' }, 'config.update', UPDATE),
  'A journal operation, but the appliance has no journal': () => failAt({}, 'journal.list'),
  'The folder of a backup is missing': () => failAt({}, 'backup.run', { folder: join(createTemporaryFolder(), 'none') }),
  'The permissions forbid it': () => failAt({ permissions: 'read-only' }, 'sessions.kill-all'),
  'The disk is full': () => Promise.resolve(toFileError(Object.assign(new Error('full'), { code: 'ENOSPC' }), '/x', 'written')),
  'An inventory has an invalid line': () => failInventory('[{ "name": "a", }]'),
  'An inventory names an unknown credential set': () =>
    failInventory('[{ "name": "a", "url": "https://vpn.example.com", "realm": "Admin Users", "credentials": "us" }]'),
};

const page = readFileSync(join(__dirname, '..', '..', 'docs', 'reference', 'errors.md'), 'utf8');
const [, section = ''] = page.split('## Common causes');
const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (.+?) \| `([A-Z_]+)` \| (?:\*(.+)\* )?\|$/gm)];

describe('the common causes of errors', () => {
  it('the table of errors in the documentation lists every common cause', () => {
    expect(rows.map(([, cause]) => cause)).toEqual(Object.keys(CAUSES));
  });

  it.each(rows.map(([, cause = '', code = '', status]) => ({ cause, code, status })))(
    '$cause: the code is $code',
    async ({ cause, code, status }) => {
      const { code: actualCode, details } = (await CAUSES[cause]?.()) ?? { details: {} };
      const reason = details.statusReason && ERROR_REASONS[details.statusReason];
      expect([actualCode, reason]).toEqual([code, status]);
    },
  );

  it('the texts of connection errors cover every status that the documentation names', () => {
    for (const reason of Object.values(ERROR_REASONS)) expect(page).toContain(`*${reason}*`);
  });
});

describe('a login that a person asks for', () => {
  it('a manual connection test may log in during a login pause, and its success ends the pause for all messages', async () => {
    const simulator = await startTestSimulator();
    simulator.fault({ match: ({ path }) => path.includes('realm_auth'), status: 401, times: 1 });
    const gateway = gatewayFor(simulator);
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_REJECTED');
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LOGIN_PAUSED');
    const coordination = new PauseFreeCoordination(processCoordination);
    const test = new Gateway(settingsFor(simulator), { isolatedLogin: true, coordination });
    onTestFinished(() => test.close());
    expect((await test.run('system.info')).envelope.ok).toBe(true);
    expect((await gateway.run('system.info')).envelope.ok).toBe(true);
  });
});
