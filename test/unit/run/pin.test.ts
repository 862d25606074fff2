import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Gateway } from '../../../src/gateway/gateway';
import { SessionApiKey } from '../../../src/login/pending-login';
import { LightAbortController } from '../../../src/model/abort';
import { IdentityPin } from '../../../src/run/identity-pin';
import {
  startTestSimulator,
  listRequests,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
  settingsFor,
  listWriteLines,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const OTHER = 'SIM000000000';
const ROLE = '/users/user-roles/user-role/Users';
const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const write = (gateway: AnyGateway, options = {}): Promise<unknown> =>
  gateway.run('config.update', { path: ROLE, body: { description: 'x' } }, options);
const asked = (simulator: Parameters<typeof listRequestLines>[0]): number =>
  listRequestLines(simulator).filter((line) => line === `GET ${SYSTEM_INFORMATION_PATH}`).length;

/** A pair of which the appliance is the pinned one, by that of its names. */
async function pinned(by: 'serial-number' | 'machine-id', change: (name: string) => string = (name) => name) {
  const simulator = await startTestSimulator();
  const { data } = await gatewayFor(simulator).run('system.info');
  const system = (data as { 'system-information': Record<string, string> })['system-information'];
  const before = listRequests(simulator).length;
  const gateway = gatewayFor(simulator, { pin: change(system[by] ?? '') });
  return { simulator, gateway, asked: () => asked(simulator) - before };
}

describe('A pinned appliance', () => {
  it.each(['serial-number', 'machine-id'] as const)('A pinned appliance is identified by its %s once for each login', async (by) => {
    const { simulator, gateway, asked } = await pinned(by, (name) => `AB-1, ${name.toLowerCase()}`);
    for (let index = 0; index < 5; index++) await write(gateway);
    expect([asked(), listWriteLines(simulator).length]).toEqual([1, 5]);
    simulator.expireKeys();
    await times(20, () => write(gateway));
    expect([asked(), listWriteLines(simulator).length - 5]).toEqual([2, expect.any(Number)]);
  });

  it('A pinned appliance is identified by one request for many simultaneous writes', async () => {
    const { simulator, gateway, asked } = await pinned('serial-number');
    await times(50, () => write(gateway));
    expect([asked(), listWriteLines(simulator).length]).toEqual([1, 50]);
  });

  it('A pinned appliance is not identified for reads and plans', async () => {
    const { gateway, asked } = await pinned('serial-number');
    await gateway.run('config.get', { path: ROLE });
    await write(gateway, { dryRun: true });
    expect(asked()).toBe(0);
  });

  it('A pinned appliance that closes every connection is not identified before each write', async () => {
    const server = await startRawServer(({ path }, socket) => {
      socket.end(
        httpResponse(200, path.endsWith('system-information') ? '{"serial-number":"A1"}' : '{"result":{"info":[]}}', {
          connection: 'close',
        }),
      );
    });
    const gateway = gatewayFor(server, { pin: 'A1' });
    for (let index = 0; index < 5; index++) await write(gateway);
    expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'PUT', 'PUT', 'PUT', 'PUT', 'PUT']);
  });

  it('A pinned appliance is identified again after a minute if a new connection was opened', async () => {
    const now = vi.spyOn(performance, 'now');
    onTestFinished(() => now.mockRestore());
    const pin = new IdentityPin('A1');
    const key = new SessionApiKey('a');
    const ask = () => Promise.resolve({ key, document: { 'serial-number': 'a1' } });
    now.mockReturnValue(5000);
    expect(pin.isVerified(key, 1)).toBe(false);
    await pin.verify(ask, () => 1);
    now.mockReturnValue(65_000);
    expect([pin.isVerified(key, 1), pin.isVerified(key, 2), pin.isVerified(new SessionApiKey('a'), 1)]).toEqual([true, true, false]);
    now.mockReturnValue(65_001);
    expect([pin.isVerified(key, 1), pin.isVerified(key, 2)]).toEqual([true, false]);
  });
});

describe('An appliance other than the pinned one', () => {
  it('An appliance that does not match the pin receives reads but no writes', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { pin: OTHER });
    for (const [name, input] of [
      ['config.update', { path: ROLE, body: { a: 'b' } }],
      ['sessions.kill', { 'session-id': ['sid1', 'sid2', 'sid3'] }],
      ['sessions.kill-all', {}],
      ['request.post', { path: 'license/license-key', body: { a: 'b' } }],
      ['transfer.import-xml', { xml: '<configuration/>' }],
    ] as const) {
      const error = await expectFailure(gateway.run(name as string, input));
      expect(error, name).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false }, cause: { changed: false, status: null } });
      expect(error.message).toMatch(
        /Another appliance answers at this address: it reports SIM[0-9A-F]+, [0-9A-F]+, but SIM000000000 is pinned\./,
      );
    }
    expect((await gateway.run('sessions.list')).envelope.ok).toBe(true);
    expect(listWriteLines(simulator)).toEqual([]);
    expect(asked(simulator)).toBe(1);
  });

  it('An appliance that does not match the pin receives no write after a login, even if only its key failed the first attempt', async () => {
    const { simulator, gateway } = await pinned('serial-number');
    await write(gateway);
    const { length } = listWriteLines(simulator);
    simulator.state.system.serialNumber = OTHER;
    simulator.state.variants.machineId = false;
    simulator.expireKeys();
    const second = gateway.run('config.update', { path: ROLE, body: { description: 'second' } });
    expect(await expectFailure(second)).toMatchObject({ code: 'BAD_CONFIG' });
    // The one that was refused unread, and no other.
    expect(listWriteLines(simulator)).toHaveLength(length + 1);
    const { data } = await gateway.run('config.get', { path: ROLE });
    expect(JSON.stringify(data)).not.toContain('second');
  });

  it('An appliance that does not identify itself after a login receives no write, and nothing counts as changed', async () => {
    const { simulator, gateway } = await pinned('serial-number');
    await write(gateway);
    simulator.expireKeys();
    // Of a write itself, this answer would mean that a part may have been done.
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, body: '{"result":{"errors":[{"message":"Not now."}]}}' });
    const error = await expectFailure(write(gateway));
    expect(error).toMatchObject({ code: 'APPLIANCE_ERROR', details: { sent: false }, cause: { changed: false, status: 200 } });
    expect(error.message).toContain('Not now.');
  });

  it('An appliance that does not match the pin causes no journal entry, and is not read before the write', async () => {
    const journal = mkdtempSync(join(tmpdir(), 'gateway-pin-'));
    onTestFinished(() => rmSync(journal, { recursive: true, force: true }));
    const { simulator, gateway } = await startSimulatorWithGateway({}, { pin: OTHER, journal });
    await expectFailure(write(gateway));
    expect(listRequestLines(simulator)).toEqual([`GET ${SYSTEM_INFORMATION_PATH}`]);
    expect(existsSync(journal) ? readdirSync(journal) : []).toEqual([]);
  });

  it('a canceled identification does not count as another appliance than the pinned one', async () => {
    const { simulator, gateway, asked } = await pinned('serial-number');
    let answer = (): void => undefined;
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, until: new Promise<void>((resolve) => (answer = resolve)) });
    const stop = new LightAbortController();
    const cancelled = expectFailure(write(gateway, { signal: stop.signal }));
    const other = write(gateway);
    await expect.poll(asked).toBe(1);
    stop.abort();
    expect(await cancelled).toMatchObject({ code: 'ABORTED', cause: { changed: false } });
    answer();
    await other;
    expect(asked()).toBe(1);
    expect(listWriteLines(simulator)).toHaveLength(1);
  });
});

describe('An appliance that does not identify itself', () => {
  const LIST = JSON.stringify({ result: { errors: [{ message: 'not for you' }] } });

  const NAMELESS = /^The appliance reports neither a serial number nor a machine id\. Nothing was written\./;

  it.each([
    [
      'not to this account',
      403,
      LIST,
      'BAD_CONFIG',
      /^The appliance does not report its identity to this account \(FORBIDDEN\)\. Nothing was/,
    ],
    ['not at all', 404, LIST, 'BAD_CONFIG', /its identity to this account \(NOT_FOUND\)/],
    ['since it takes the question for none', 400, LIST, 'BAD_CONFIG', /its identity to this account \(INVALID_REQUEST\)/],
    ['since it refuses', 422, LIST, 'BAD_CONFIG', /its identity to this account \(REJECTED\)/],
    ['without names', 200, '{"system-information":{"host-name":"a"}}', 'BAD_CONFIG', NAMELESS],
    ['with names that are none', 200, '{"serial-number":" ","machine-id":""}', 'BAD_CONFIG', NAMELESS],
    ['with a name that is no text', 200, '{"serial-number":5}', 'BAD_CONFIG', NAMELESS],
    ['because it restarts', 500, '', 'APPLIANCE_ERROR', /restarting/],
    ['in words that cannot be read', 200, '<html>', 'BAD_RESPONSE', /page of HTML/],
  ])('An appliance that does not identify itself receives no writes (%s: %i)', async (_why, status, body, code, words) => {
    const server = await startRawServer(({ path }) =>
      path.endsWith('system-information') ? httpResponse(status, body) : httpResponse(200, '{"result":{"info":[]}}'),
    );
    const gateway = gatewayFor(server, { pin: 'A' });
    const error = await expectFailure(write(gateway));
    expect(error).toMatchObject({ code, details: { sent: false }, cause: { changed: false } });
    expect(error.message).toMatch(words);
    expect(server.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });
});

it('a gateway rejects a pin without any identifier', () => {
  for (const pin of ['', ' , ', 5])
    expect(getThrownError(() => new Gateway({ ...settingsFor({ url: 'https://vpn.example.com' }), pin: pin as string }))).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('pin') as string,
    });
});
