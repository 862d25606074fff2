import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ContainEvent } from '../../../src/contain/enforcement-loop';
import { containmentActionsFor } from '../../../src/areas/contain/containment-actions';
import { GatewayError } from '../../../src/model/error';
import type { Simulator } from '../../../src/simulator';
import {
  expectFailure,
  gatewayFor,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
  settingsFor,
  listWriteLines,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { startChild } from '../../helpers/transfer';
import { eventually } from '../../helpers/eventually';
import { createTemporaryFolder as emptyFolder } from '../../helpers/temporary';
import { resetContainmentStores } from '../../helpers/reset-process-state';

const SERVER = 'System Local';
const NAME = 'a.smith';

afterEach(resetContainmentStores);

function localUser(simulator: Simulator, username: string, server = SERVER) {
  const servers = simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server');
  return servers.items.get(server)?.collection('local', 'users', 'user').items.get(username);
}

const isEnabled = (simulator: Simulator, username: string): string | undefined => localUser(simulator, username)?.text('enabled');

/** Adds a local user with this number of sessions. */
function signedIn(simulator: Simulator, name: string, sessions: number, more: Record<string, string> = {}): string[] {
  const servers = simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server');
  const users = servers.items.get(SERVER)?.collection('local', 'users', 'user');
  if (!users?.items.has(name)) users?.add({ username: name, 'password-cleartext': 'x', enabled: 'true' });
  return Array.from({ length: sessions }, () => simulator.state.sessions.add({ 'active-user-name': name, ...more }));
}

/** The record files. A process that changes one has a partial file there for a moment. */
function files(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.json'));
}

interface Kept {
  readonly events: ContainEvent[];
  readonly faults: GatewayError[];
  looks: number;
  stop(): void;
}

/** Enforces containments with a poll every hundredth of a second. */
function keeping(gateway: AnyGateway, folder?: string): Kept {
  const kept: Kept = { events: [], faults: [], looks: 0, stop: () => undefined };
  kept.stop = gateway.enforceContainments({
    every: 0.01,
    folder,
    onEvent: (event) => kept.events.push(event),
    onPoll: (_contained, fault) => {
      kept.looks++;
      if (fault) kept.faults.push(fault);
    },
  });
  onTestFinished(() => kept.stop());
  return kept;
}

async function looksFrom(kept: Kept): Promise<void> {
  const { looks } = kept;
  await eventually(() => expect(kept.looks).toBeGreaterThan(looks + 1));
}

interface Containment {
  id: string;
  disabled: string[];
  ended: Record<string, string>[];
  until: string;
}

async function contain(gateway: AnyGateway, input: Record<string, unknown>): Promise<Containment> {
  return (await gateway.run('contain.contain', input)).data as Containment;
}

describe('contain.contain', () => {
  it('contain.contain ends the sessions of exactly one person, disables the account, and reports both', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const own = signedIn(simulator, NAME, 3);
    const others = [
      ...signedIn(simulator, 'A.SMITH', 1),
      ...signedIn(simulator, 'a.smithers', 1),
      ...simulator.state.sessions.ids(),
    ].filter((id) => !own.includes(id));
    simulator.state.variants.nameFilter = 'prefix';
    const { data, envelope } = await gateway.run('contain.contain', { name: NAME, servers: SERVER, minutes: 5 });
    const containment = data as Containment;
    expect(containment).toMatchObject({ name: NAME, disabled: [SERVER] });
    expect(containment.ended.map((session) => session['session-id']).sort()).toEqual([...own].sort());
    expect(Date.parse(containment.until) - Date.now()).toBeGreaterThan(4 * 60_000);
    expect(Date.parse(containment.until) - Date.now()).toBeLessThanOrEqual(5 * 60_000);
    expect(envelope).toMatchObject({
      ok: true,
      changed: true,
      summary: expect.stringMatching(
        new RegExp(`^Contained ${NAME} at \\S+ until \\S+ \\S+ UTC; sessions ended: \\d+, accounts disabled: \\d+\\.$`),
      ) as string,
    });
    expect(simulator.state.sessions.ids().sort()).toEqual([...new Set(others)].sort());
    expect([isEnabled(simulator, NAME), isEnabled(simulator, 'A.SMITH')]).toEqual(['false', 'true']);
    // The request changes one field at its own path.
    expect(listWriteLines(simulator).filter((line) => line.startsWith('PUT'))).toEqual([
      expect.stringMatching(/\/local\/users\/user\/a\.smith\/enabled$/),
    ]);
  });

  it('a containment appears in the list, and its release restores the accounts', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 1);
    const { id, until } = await contain(gateway, { name: NAME, servers: [SERVER] });
    const { data: list, envelope } = await gateway.run('contain.list');
    expect(list).toEqual([
      { id, name: NAME, disabled: [SERVER], pending: [], since: expect.any(String) as string, until, 'ended-meanwhile': 0 },
    ]);
    expect(envelope.changed).toBe(null);
    const released = await gateway.run('contain.release', { id });
    expect(released.data).toEqual({ id, enabled: [SERVER], 'ended-meanwhile': 0 });
    expect(isEnabled(simulator, NAME)).toBe('true');
    expect((await gateway.run('contain.list')).data).toEqual([]);
    expect(await expectFailure(gateway.run('contain.release', { id }))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('contain.contain does not touch accounts that were disabled before or that an administrator enabled since', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 1);
    await gateway.run('users.disable', { server: SERVER, username: NAME });
    expect((await contain(gateway, { name: NAME, servers: [SERVER] })).disabled).toEqual([]);
    expect((await gateway.run('contain.release', { name: NAME })).data).toMatchObject({ enabled: [] });
    expect(isEnabled(simulator, NAME)).toBe('false');

    await gateway.run('users.enable', { server: SERVER, username: NAME });
    await contain(gateway, { name: NAME, servers: [SERVER] });
    await gateway.run('users.enable', { server: SERVER, username: NAME });
    expect((await gateway.run('contain.release', { name: NAME })).data).toMatchObject({ enabled: [] });
    expect(isEnabled(simulator, NAME)).toBe('true');
  });

  it('contain.contain accepts a directory user, but no unknown auth server', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const [id] = [simulator.state.sessions.add({ 'active-user-name': 'from.directory' })];
    expect(await contain(gateway, { name: 'from.directory', servers: [SERVER] })).toMatchObject({
      disabled: [],
      ended: [{ 'session-id': id }],
    });
    const before = listWriteLines(simulator).length;
    const error = await expectFailure(gateway.run('contain.contain', { name: NAME, servers: [SERVER, 'Nowhere'] }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('Nowhere') as string });
    expect(listWriteLines(simulator)).toHaveLength(before);
    expect((await gateway.run('contain.list')).data).toHaveLength(1);
  });

  it('contain.contain accepts an address in any notation, and does not end the sessions of its own account', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const { sessions } = simulator.state;
    const from = (address: string, name: string): string => sessions.add({ 'source-ip': address, 'active-user-name': name });
    const gone = [from('2001:db8::9', 'x'), from('2001:DB8:0:0::9', 'y')];
    const stays = [from('2001:db8::9', 'API-Admin'), from('2001:db8::99', 'z')];
    const { ended } = await contain(gateway, { 'source-ip': '2001:0db8::0009' });
    expect(ended.map((session) => session['session-id']).sort()).toEqual(gone.sort());
    expect(stays.every((id) => sessions.has(id))).toBe(true);
    expect((await gateway.run('contain.release', { name: '2001:db8::9' })).envelope.ok).toBe(true);
  });

  it('contain.contain sends nothing if an address or a loose name stands for more people than max', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    const { sessions } = simulator.state;
    for (let index = 0; index < 26; index++) sessions.add({ 'source-ip': '203.0.113.9', 'active-user-name': `user${index}` });
    for (const domain of ['A', 'B', 'C']) sessions.add({ 'source-ip': '203.0.113.7', 'active-user-name': `${domain}\\guest` });
    for (const [input, people] of [
      [{ 'source-ip': '203.0.113.9' }, 26],
      [{ name: 'guest', match: 'ignore-domain', max: 2 }, 3],
    ] as const) {
      for (const dryRun of [true, false]) {
        const error = await expectFailure(gateway.run('contain.contain', input, { dryRun }));
        expect(error).toMatchObject({ code: 'LIMIT', message: expect.stringContaining(`${people} people have sessions`) as string });
      }
    }
    expect([listWriteLines(simulator), (await gateway.run('contain.list')).data]).toEqual([[], []]);
    sessions.add({ 'source-ip': '203.0.113.7', 'active-user-name': 'a\\GUEST' });
    expect((await contain(gateway, { 'source-ip': '203.0.113.7', max: 3 })).ended).toHaveLength(4);
  });

  it.each([
    [{}, 'Enter either name (User) or source-ip (Address).'],
    [{ name: NAME, 'source-ip': '203.0.113.9' }, 'Enter either name (User) or source-ip (Address).'],
    [{ name: ' ' }, 'name is blank.'],
    [
      { name: 'api-admin' },
      '"api-admin" is the account of this package at this appliance. It cannot be contained, because nothing could release it. Nothing was sent.',
    ],
    [{ name: 'API-ADMIN' }, 'is the account of this package'],
    [{ name: 'second' }, 'is the account of this package'],
    [{ 'source-ip': '203.0.113.0/24' }, 'source-ip'],
    [{ 'source-ip': '203.0.113.9', servers: [SERVER] }, 'servers (Auth servers) needs a name: an address has no account to disable.'],
    [{ name: NAME, minutes: 0 }, 'minutes'],
    [{ name: NAME, minutes: 1e9 }, 'minutes'],
    [{ name: NAME, folder: ' ' }, 'folder is blank.'],
    [{ name: NAME, folder: '/nowhere/at/all' }, 'folder'],
  ])('contain.contain rejects %j with BAD_INPUT and sends no write', async (input, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway(
      {},
      { secondFactor: 'password', secondUsername: 'second', secondPassword: 'p' },
    );
    expect(await expectFailure(gateway.run('contain.contain', input))).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(words) as string,
    });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('contain.contain rejects more people than max with LIMIT, but accepts people who are already contained', async () => {
    const { gateway } = await startSimulatorWithGateway();
    await contain(gateway, { name: 'one', max: 2 });
    const { id } = await contain(gateway, { name: 'two', max: 2 });
    expect(await expectFailure(gateway.run('contain.contain', { name: 'three', max: 2 }))).toMatchObject({ code: 'LIMIT' });
    expect((await contain(gateway, { name: 'two', max: 2 })).id).toBe(id);
  });

  it('contain.contain keeps the id and the later end of an existing containment', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 1);
    const first = await contain(gateway, { name: NAME, minutes: 60 });
    const second = await contain(gateway, { name: NAME, minutes: 5, servers: [SERVER] });
    expect(second).toMatchObject({ id: first.id, until: first.until, disabled: [SERVER] });
    const third = await contain(gateway, { name: NAME, minutes: 90 });
    expect(third).toMatchObject({ id: first.id, disabled: [SERVER] });
    expect(Date.parse(third.until)).toBeGreaterThan(Date.parse(first.until));
    expect((await gateway.run('contain.list')).data).toHaveLength(1);
  });

  it('a dry run of contain.contain sends and records nothing', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 2);
    const { data, envelope } = await gateway.run('contain.contain', { name: NAME, servers: [SERVER] }, { dryRun: true });
    expect(data).toMatchObject({ id: null, disabled: [SERVER], ended: [{}, {}] });
    expect(envelope.plan).toHaveLength(3);
    expect(listWriteLines(simulator)).toEqual([]);
    expect((await gateway.run('contain.list')).data).toEqual([]);

    await contain(gateway, { name: NAME, servers: [SERVER] });
    const before = listWriteLines(simulator).length;
    expect((await gateway.run('contain.release', { name: NAME }, { dryRun: true })).envelope.plan).toHaveLength(1);
    expect(listWriteLines(simulator)).toHaveLength(before);
    expect((await gateway.run('contain.list')).data).toHaveLength(1);
  });

  it('contain.contain keeps a containment whose disable request failed, and the enforcement loop repeats the request', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 1);
    simulator.fault({ match: ({ method, path }) => method === 'PUT' && path.endsWith('/enabled'), status: 422 });
    const error = await expectFailure(gateway.run('contain.contain', { name: NAME, servers: [SERVER] }));
    expect(error).toMatchObject({ code: 'REJECTED', cause: { id: expect.any(String) as string, until: expect.any(String) as string } });
    expect(error.message).toContain('stays contained');
    expect([isEnabled(simulator, NAME), simulator.state.sessions.findNumbers({ name: NAME, prefix: false })]).toEqual(['true', []]);
    keeping(gateway);
    await eventually(() => expect(isEnabled(simulator, NAME)).toBe('false'));
  });
});

describe('a containment with failing requests', () => {
  /** The same local user on a second server. */
  async function twoServers() {
    const made = await startSimulatorWithGateway();
    signedIn(made.simulator, NAME, 0);
    await made.gateway.run('config.ensure', {
      path: 'authentication/auth-servers/auth-server/Extra',
      body: { 'auth-server-type': 'local' },
    });
    await made.gateway.run('users.create', { server: 'Extra', username: NAME, 'password-cleartext': 's3cret-word', enabled: true });
    const enabled = (): unknown[] => [SERVER, 'Extra'].map((server) => localUser(made.simulator, NAME, server)?.text('enabled'));
    return { ...made, enabled };
  }

  it('a containment continues with the other accounts and sessions after a failure, and enables no account that it did not disable', async () => {
    const { simulator, gateway, enabled } = await twoServers();
    const [first = '', second = ''] = signedIn(simulator, NAME, 2);
    simulator.fault({ match: ({ method }) => method === 'PUT', status: 422 });
    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 500, times: Infinity });
    const run = gateway.run('contain.contain', { name: NAME, servers: [SERVER, 'Extra', SERVER] });
    const error = await expectFailure(run);
    const [listed] = (await gateway.run('contain.list')).data as Containment[];
    expect(error.code).toBe('REJECTED');
    expect(error.cause).toMatchObject({ id: listed?.id, until: listed?.until });
    expect(error.message).toContain(`${NAME} stays contained. The failed step is repeated until ${listed?.until} or until a release.`);
    expect(listed).toMatchObject({ disabled: ['Extra'], pending: [SERVER] });
    expect(enabled()).toEqual(['true', 'false']);
    expect([simulator.state.sessions.has(first), simulator.state.sessions.has(second)]).toEqual([true, true]);
    simulator.clearFaults();
    expect((await gateway.run('contain.release', { id: listed?.id })).data).toMatchObject({ enabled: ['Extra'] });
    expect(enabled()).toEqual(['true', 'true']);
  });

  it('a containment ends the other sessions if one fails, and does not report a session that had already ended', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const own = signedIn(simulator, NAME, 3);
    const at = (index: number) => (request: { method: string; path: string }) =>
      request.method === 'DELETE' && request.path.endsWith(`/${own[index]}`);
    simulator.fault({ match: at(0), sideEffect: () => undefined, status: 404 });
    expect((await contain(gateway, { name: NAME })).ended.map((session) => session['session-id'])).toEqual(own.slice(1));
    const more = signedIn(simulator, NAME, 2);
    simulator.fault({ match: ({ path }) => path.endsWith(`/${own[0]}`), status: 422 });
    const error = await expectFailure(gateway.run('contain.contain', { name: NAME }));
    expect(error.code).toBe('REJECTED');
    expect(more.some((id) => simulator.state.sessions.has(id))).toBe(false);
  });

  it('a containment disables the account even if the list of sessions fails', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 1);
    simulator.fault({ match: ({ path }) => path.includes('active-users'), status: 403, times: Infinity });
    const error = await expectFailure(gateway.run('contain.contain', { name: NAME, servers: [SERVER] }));
    expect(error).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('stays contained') as string });
    expect(isEnabled(simulator, NAME)).toBe('false');
  });

  it('a failed release is continued without containing the person again', async () => {
    const { simulator, gateway, enabled } = await twoServers();
    const { id } = await contain(gateway, { name: NAME, servers: [SERVER, 'Extra'] });
    simulator.fault({ match: ({ method, path }) => method === 'PUT' && path.includes('Extra'), status: 422 });
    expect((await expectFailure(gateway.run('contain.release', { id }))).code).toBe('REJECTED');
    expect(enabled()).toEqual(['true', 'false']);
    expect((await gateway.run('contain.list')).data).toMatchObject([{ id, disabled: ['Extra'] }]);
    // It counts no more among those who are kept out, and lasts as long as is wanted now.
    await contain(gateway, { name: 'other', max: 1 });
    const again = await contain(gateway, { name: NAME, minutes: 5, max: 2, servers: ['Extra'] });
    expect(again).toMatchObject({ id, disabled: ['Extra'] });
    expect(Date.parse(again.until) - Date.now()).toBeLessThanOrEqual(5 * 60_000);
    const writesBefore = listWriteLines(simulator).length;
    expect((await gateway.run('contain.release', { name: NAME })).data).toEqual({ id, enabled: ['Extra'], 'ended-meanwhile': 0 });
    expect(listWriteLines(simulator)).toHaveLength(writesBefore + 1);
  });

  it('an invalid containment request is rejected before anything is sent', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const told = async (operation: string, input: Record<string, unknown>): Promise<string> =>
      (await expectFailure(gateway.run(operation, input))).message;
    const which = 'Enter either id or name (User).';
    expect(await told('contain.release', {})).toBe(which);
    expect(await told('contain.release', { id: 'x', name: 'y' })).toBe(which);
    expect(await told('contain.release', { name: 'y' })).toBe(
      '"y" is not contained at this appliance. Use List to see who is. If this Node-RED has not used the folder yet, enter it in folder.',
    );
    await contain(gateway, { name: 'one' });
    expect(await told('contain.contain', { name: 'two', max: 1 })).toBe(
      '1 people are already contained; the maximum is 1. Nothing was sent. Release a person, or raise max (Max people).',
    );
    const { id } = await contain(gateway, { 'source-ip': '203.0.113.9' });
    // One who is called like an address, or like an id, is another one.
    expect((await gateway.run('contain.list')).data).toMatchObject([{ name: 'one' }, { id, 'source-ip': '203.0.113.9' }]);
    expect((await contain(gateway, { name: '203.0.113.9' })).id).not.toBe(id);
    expect(await told('contain.release', { id: 'one' })).toContain('"one"');
  });
});

describe('enforceContainments', () => {
  it('enforceContainments ends, reports and counts each new session once', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const others = simulator.state.sessions.ids();
    const kept = keeping(gateway);
    const { id } = await contain(gateway, { name: NAME });
    for (let time = 1; time <= 20; time++) {
      const session = simulator.state.sessions.add({ 'active-user-name': NAME });
      await eventually(() => expect(simulator.state.sessions.has(session)).toBe(false));
      await eventually(() => expect(kept.events).toHaveLength(time));
      expect(kept.events.at(-1)).toMatchObject({ event: 'ended', id, name: NAME, session: { 'session-id': session } });
    }
    expect(simulator.state.sessions.ids()).toEqual(others);
    await eventually(async () => expect((await gateway.run('contain.list')).data).toMatchObject([{ 'ended-meanwhile': 20 }]));
    expect(kept.faults).toEqual([]);
    expect(listWriteLines(simulator)).toHaveLength(20);
  });

  it('enforceContainments sends nothing if nobody is contained', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await looksFrom(keeping(gateway));
    expect(simulator.requests).toEqual([]);
  });

  it('enforceContainments ends a session once, even if the appliance still lists it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const kept = keeping(gateway);
    const { id } = await contain(gateway, { name: NAME });
    const ends = ({ method }: { method: string }): boolean => method === 'DELETE';
    simulator.fault({ match: ends, status: 200, body: '{"result":{"info":[{"message":"ok"}]}}' });
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(kept.events).toHaveLength(1));
    await looksFrom(kept);
    expect([simulator.requests.filter(ends).length, simulator.state.sessions.has(session)]).toEqual([1, true]);
    await eventually(async () => expect((await gateway.run('contain.list')).data).toMatchObject([{ 'ended-meanwhile': 1 }]));
    // Another one, of which the appliance does not want to hear at first.
    simulator.fault({ match: ends, status: 422 });
    const second = simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(simulator.state.sessions.has(second)).toBe(false));
    await eventually(() => expect(kept.events).toHaveLength(2));
    expect(kept.events.at(-1)).toMatchObject({ id, session: { 'session-id': second } });
    expect(kept.faults.map(({ code }) => code)).toEqual(['REJECTED']);
  });

  it('enforceContainments neither counts nor reports a session that had already ended', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const kept = keeping(gateway);
    await contain(gateway, { name: NAME });
    simulator.fault({ match: ({ method }) => method === 'DELETE', status: 404, afterEffect: true });
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(simulator.state.sessions.has(session)).toBe(false));
    await looksFrom(kept);
    expect([kept.events, kept.faults]).toEqual([[], []]);
    expect((await gateway.run('contain.list')).data).toMatchObject([{ 'ended-meanwhile': 0 }]);
  });

  it('enforceContainments polls but changes nothing if the settings demand a dry run', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await contain(gateway, { name: NAME });
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    const before = listWriteLines(simulator).length;
    const kept = keeping(gatewayFor(simulator, { dryRun: true }));
    await looksFrom(kept);
    kept.stop();
    expect([listWriteLines(simulator).length, simulator.state.sessions.has(session), kept.events]).toEqual([before, true, []]);
  });

  it('enforceContainments reports a failed release and continues with the others', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const name of [NAME, 'b.jones']) signedIn(simulator, name, 0);
    for (const name of [NAME, 'b.jones']) await contain(gateway, { name, servers: [SERVER], minutes: 0.001 });
    simulator.fault({ match: ({ method, path }) => method === 'PUT' && path.includes(NAME), status: 422 });
    const kept = keeping(gateway);
    // The order is not defined: the second may not have been due when the first one failed.
    await eventually(() => expect(kept.events.map(({ name }) => name).sort()).toEqual([NAME, 'b.jones']));
    const released = { event: 'released', enabled: [SERVER], 'ended-meanwhile': 0 };
    expect(kept.events).toEqual(
      expect.arrayContaining([NAME, 'b.jones'].map((name) => expect.objectContaining({ ...released, name }) as unknown)),
    );
    expect(kept.faults.map(({ code }) => code)).toEqual(['REJECTED']);
    expect([isEnabled(simulator, NAME), isEnabled(simulator, 'b.jones')]).toEqual(['true', 'true']);
  });

  it('enforceContainments leaves a released person alone', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const kept = keeping(gateway);
    await contain(gateway, { name: NAME });
    await gateway.run('contain.release', { name: NAME });
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    await looksFrom(kept);
    expect(simulator.state.sessions.has(session)).toBe(true);
  });

  it('enforceContainments releases a person when the containment ends, and reports it', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    signedIn(simulator, NAME, 1);
    const kept = keeping(gateway);
    const { id } = await contain(gateway, { name: NAME, servers: [SERVER], minutes: 0.005 });
    await eventually(() => expect(kept.events.at(-1)).toMatchObject({ event: 'released', id, enabled: [SERVER] }));
    expect(isEnabled(simulator, NAME)).toBe('true');
    expect((await gateway.run('contain.list')).data).toEqual([]);
  });

  it('enforceContainments reads the whole session list for many people, and reads by name for few people', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const name of ['a', 'b', 'c', 'd']) await contain(gateway, { name });
    const before = listRequestLines(simulator).length;
    const kept = keeping(gateway);
    await looksFrom(kept);
    kept.stop();
    expect(new Set(listRequestLines(simulator).slice(before))).toEqual(new Set(['GET /api/v1/system/active-users?number=200&start=0']));
  });

  it('enforceContainments uses the session lists that a watch reads', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (const name of [NAME, 'b', 'c', 'd']) await contain(gateway, { name });
    const kept: ContainEvent[] = [];
    let looks = 0;
    const stop = gateway.enforceContainments({ every: 3600, onEvent: (event) => kept.push(event), onPoll: () => looks++ });
    onTestFinished(stop);
    await eventually(() => expect(looks).toBe(1));
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    // A list directly after a poll is ignored; a later one counts as a poll.
    await gateway.run('sessions.list');
    expect(kept).toEqual([]);
    vi.spyOn(performance, 'now').mockImplementation(() => Date.now() - performance.timeOrigin + 3_000_000);
    onTestFinished(() => void vi.restoreAllMocks());
    for (const part of [{ name: NAME }, { limit: 1 }]) await gateway.run('sessions.list', part);
    expect([looks, simulator.state.sessions.has(session)]).toEqual([1, true]);
    const before = listRequestLines(simulator).length;
    await gateway.run('sessions.list');
    await eventually(() => expect(kept).toMatchObject([{ event: 'ended', name: NAME, session: { 'session-id': session } }]));
    expect(listRequestLines(simulator).slice(before)).toEqual([
      'GET /api/v1/system/active-users?number=200&start=0',
      `DELETE /api/v1/system/active-users/session/${session}`,
    ]);
  });

  it('enforceContainments runs one loop for all participants of an appliance, and reports to each of them', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const kept = [keeping(gateway), keeping(gatewayFor(simulator))];
    await contain(gateway, { name: NAME });
    simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(kept.map(({ events }) => events.length)).toEqual([1, 1]));
    kept[0]?.stop();
    simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(kept.map(({ events }) => events.length)).toEqual([1, 2]));
    expect(listWriteLines(simulator)).toHaveLength(2);
  });

  it.each(['list', 'end'] as const)(
    'enforceContainments does not wait for a request without a response, and polls again (%s)',
    async (which) => {
      // The request timeout is longer than the test.
      const { simulator, gateway } = await startSimulatorWithGateway({}, { timeout: 300 });
      await contain(gateway, { name: NAME });
      const kept = keeping(gateway);
      await looksFrom(kept);
      simulator.fault({
        hang: true,
        match: ({ method, path }) => (which === 'list' ? path.includes('active-users?name=') : method === 'DELETE'),
      });
      const session = simulator.state.sessions.add({ 'active-user-name': NAME });
      await eventually(() => expect(simulator.state.sessions.has(session)).toBe(false));
      expect(kept.faults).toMatchObject([{ code: 'TIMEOUT', message: expect.stringContaining('repeated at once') as string }]);
      await eventually(() => expect(kept.events).toMatchObject([{ event: 'ended', session: { 'session-id': session } }]));
    },
  );

  it('enforceContainments reports a fault, and continues after the fault', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await contain(gateway, { name: NAME });
    simulator.state.variants.restarting = true;
    const kept = keeping(gateway);
    await eventually(() => expect(kept.faults[0]?.code).toBe('APPLIANCE_ERROR'));
    simulator.state.variants.restarting = false;
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(simulator.state.sessions.has(session)).toBe(false));
  });
});

describe('a containment with a folder', () => {
  it('a containment with a folder is stored in a file that only its owner can read, and continues after a restart', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = emptyFolder();
    signedIn(simulator, NAME, 1);
    const { id } = await contain(gateway, { name: NAME, servers: [SERVER], folder });
    const [file = ''] = files(folder);
    expect(files(folder)).toEqual([`contained-${id}.json`]);
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, file), 'utf8')).not.toContain(new URL(simulator.url).host);

    resetContainmentStores();
    expect((await gateway.run('contain.list')).data).toEqual([]);
    const kept = keeping(gateway, folder);
    simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(kept.events).toMatchObject([{ event: 'ended', id }]));
    expect((await gateway.run('contain.release', { id })).data).toMatchObject({ enabled: [SERVER] });
    expect(files(folder)).toEqual([]);
  });

  it('a containment with a folder completes an interrupted disable request and an interrupted release after a restart', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = emptyFolder();
    for (const name of [NAME, 'b.jones']) signedIn(simulator, name, 0);
    const { id } = await contain(gateway, { name: NAME, folder });
    const other = await contain(gateway, { name: 'b.jones', servers: [SERVER], folder });
    const change = (which: string, changes: Record<string, unknown>): void => {
      const file = join(folder, `contained-${which}.json`);
      writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...changes }));
    };
    change(id, { accounts: [{ server: SERVER, state: 'wanted' }] });
    change(other.id, { releasing: true });
    resetContainmentStores();
    keeping(gateway, folder);
    await eventually(() => expect([isEnabled(simulator, NAME), isEnabled(simulator, 'b.jones')]).toEqual(['false', 'true']));
    await eventually(() => expect(files(folder)).toEqual([`contained-${id}.json`]));
  });

  it('a containment with a folder continues after the process is killed at any moment', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = emptyFolder();
    const before = simulator.state.sessions.ids();
    const task = { settings: settingsFor(simulator), folder };
    const killed = async (process: ReturnType<typeof startChild>): Promise<void> => {
      process.kill('SIGKILL');
      await new Promise((resolve) => process.once('exit', resolve));
    };
    signedIn(simulator, NAME, 2);
    // Kill the process while the request to disable the account hangs.
    const put = ({ method }: { method: string }): boolean => method === 'PUT';
    simulator.fault({ match: put, hang: true });
    const first = startChild('contain-child.ts', { ...task, contain: { name: NAME, servers: [SERVER] } });
    await eventually(() => expect(simulator.requests.some(put)).toBe(true));
    await killed(first);
    expect(files(folder)).toHaveLength(1);

    const second = startChild('contain-child.ts', task);
    await eventually(() => expect(isEnabled(simulator, NAME)).toBe('false'));
    await eventually(() => expect(simulator.state.sessions.findNumbers({ name: NAME, prefix: false })).toEqual([]));
    // Kill the process while the request to end a session hangs.
    const end = ({ method }: { method: string }): boolean => method === 'DELETE';
    const ended = simulator.requests.filter(end).length;
    simulator.fault({ match: end, hang: true });
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(simulator.requests.filter(end)).toHaveLength(ended + 1));
    await killed(second);
    expect(simulator.state.sessions.has(session)).toBe(true);

    startChild('contain-child.ts', task);
    await eventually(() => expect(simulator.state.sessions.has(session)).toBe(false));
    expect(simulator.state.sessions.ids()).toEqual(before);
    expect((await gateway.run('contain.release', { name: NAME, folder })).data).toMatchObject({ enabled: [SERVER] });
    expect(isEnabled(simulator, NAME)).toBe('true');
    expect(files(folder)).toEqual([]);
  });

  it('a containment with a folder does not affect other appliances that share the folder', async () => {
    const folder = emptyFolder();
    const [one, two] = [await startSimulatorWithGateway(), await startSimulatorWithGateway()];
    await contain(one.gateway, { name: NAME, folder });
    expect((await two.gateway.run('contain.list', { folder })).data).toEqual([]);
    expect((await one.gateway.run('contain.list', { folder })).data).toHaveLength(1);
  });

  it('a containment with a folder reports a damaged file, and enforces the other containments', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const folder = emptyFolder();
    await contain(gateway, { name: NAME, folder });
    writeFileSync(join(folder, 'contained-00000000-0000-0000-0000-000000000000.json'), '{');
    writeFileSync(join(folder, 'notes.json'), '{');
    expect(await expectFailure(gateway.run('contain.list'))).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('damaged') as string,
    });
    const kept = keeping(gateway);
    const session = simulator.state.sessions.add({ 'active-user-name': NAME });
    await eventually(() => expect(simulator.state.sessions.has(session)).toBe(false));
    await eventually(() => expect(kept.faults[0]?.code).toBe('BAD_CONFIG'));
  });
});

describe('containmentActionsFor', () => {
  const session = { 'session-id': 'a', 'active-user-name': NAME, 'source-ip': ' FE80::1 ' };

  it.each<[object, object, boolean]>([
    [{}, { name: NAME }, true],
    [{}, { name: 'a.smit' }, false],
    [{ 'active-user-name': 'API-Admin' }, { name: 'API-Admin' }, false],
    [{}, { 'source-ip': 'fe80::1' }, true],
    [{ 'source-ip': '203.0.113.9' }, { 'source-ip': '203.0.113.9' }, true],
    [{ 'source-ip': '203.0.113.9' }, { 'source-ip': '203.0.113.90' }, false],
    [{ 'source-ip': 'vpn' }, { 'source-ip': 'vpn' }, true],
    [{ 'source-ip': 7 }, { 'source-ip': '7' }, false],
    [{ 'source-ip': undefined }, {}, false],
  ])('containmentActionsFor recognizes the sessions of a subject: %j, %j', (more, who, expected) => {
    const hands = containmentActionsFor(createRunContext({ url: 'https://127.0.0.1:1' }, {}, { username: 'api-admin' }));
    expect(hands.isSessionOf({ ...session, ...more }, who)).toBe(expected);
  });

  it('containmentActionsFor reads sessions by name and the state of an account', async () => {
    const { simulator } = await startSimulatorWithGateway();
    const hands = containmentActionsFor(createRunContext(simulator));
    expect(await hands.listSessions('nobody')).toEqual([]);
    expect((await hands.listSessions(undefined)).length).toBe(simulator.state.sessions.count);
    expect(listRequestLines(simulator).map((line) => line.includes('name=nobody'))).toEqual([true, false]);
    const answers: [string, boolean][] = [
      ['{"username":"a"}', true],
      ['{"enabled":"true"}', true],
      ['{"enabled":"FALSE"}', false],
      ['{"enabled":false}', false],
      ['{"enabled":"disabled"}', false],
    ];
    for (const [body, enabled] of answers) {
      simulator.fault({ status: 200, body });
      expect(await hands.isEnabled(SERVER, 'contractor1'), body).toBe(enabled);
    }
  });

  it('containmentActionsFor ignores a session whose end is not approved, but throws other errors', async () => {
    const refusing = (error: GatewayError) =>
      containmentActionsFor(createRunContext({ url: 'https://127.0.0.1:1' }, { interceptWrite: () => Promise.reject(error) }));
    expect(await refusing(new GatewayError('CONFLICT', 'Not approved.', { sent: false })).endSession(session)).toBe(false);
    for (const error of [
      new GatewayError('CONFLICT', 'Another one.', { sent: true }),
      new GatewayError('LIMIT', 'Too many.', { sent: false }),
    ])
      expect((await expectFailure(refusing(error).endSession(session))).code).toBe(error.code);
  });

  it.each([0, -1, Number.NaN, 86_401])('containmentActionsFor rejects an interval of %s seconds', (every) => {
    const keep = () => gatewayFor({ url: 'https://127.0.0.1:1' }).enforceContainments({ every });
    expect(getThrownError(keep)).toMatchObject({
      code: 'BAD_INPUT',
      message: `every is ${every}; it must be more than 0 and at most 86400 seconds.`,
    });
  });

  it('containmentActionsFor accepts an interval of one day', () => {
    gatewayFor({ url: 'https://127.0.0.1:1' }).enforceContainments({ every: 86_400 })();
  });
});
