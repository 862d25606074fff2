import { X509Certificate } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Gateway, type GatewayOptions } from '../../../src/gateway/gateway';
import type { ExchangeLogEntry } from '../../../src/http/exchange-log';
import { LightAbortController } from '../../../src/model/abort';
import type { Envelope } from '../../../src/model/envelope';
import { GatewayError } from '../../../src/model/error';
import type { RequestApproval, Proposal } from '../../../src/run/approval';
import {
  startTestSimulator,
  simulatorCertificate,
  expectFailure,
  gatewayFor,
  SYSTEM_INFORMATION_PATH,
  listRequestLines,
  startSimulatorWithGateway,
  getThrownError,
  USER_ROLES_PATH,
  settingsFor,
  listWriteLines,
} from '../../helpers/simulated-appliance';
import { serializeConfiguration, createTemporaryFolder, readAllJournalLines, fetchJournalEntries } from '../../helpers/journal';

// What the gateway itself does around the operations: what it is asked for, what it refuses, and what it tells.

const USER = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user/contractor1';
const user = { server: 'System Local', username: 'contractor1' };
const APPROVED = { by: 'a.boss', at: '2026-11-22T08:00:00.000Z' };

/** Opened by hand. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe('A gateway', () => {
  it('a gateway reports each finished run once, but not the plans of an approval, and ignores errors of the observer', async () => {
    const simulator = await startTestSimulator();
    const ended: string[] = [];
    const onRunEnd: GatewayOptions['onRunEnd'] = ({ operation, envelope, data, initiator }) => {
      ended.push(`${operation} ${String(envelope.ok)} ${String(data !== undefined)} ${initiator?.actor ?? ''}`);
      throw new Error('The observer fails.');
    };
    const gateway = new Gateway(settingsFor(simulator), { onRunEnd });
    onTestFinished(() => gateway.close());
    await gateway.run('users.disable', user, { approve: () => Promise.resolve(APPROVED), initiator: { actor: 'anna' } });
    expect(await expectFailure(gateway.run('users.disable', { ...user, username: 'nobody' }))).toMatchObject({ code: 'NOT_FOUND' });
    expect(ended).toEqual(['users.disable true true anna', 'users.disable false false ']);
  });

  it('a gateway reports its name, running requests, counters, clock offset and the certificates of the appliance', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const seen = (): unknown[] => [gateway.name, gateway.isBusy, gateway.counters().runs, gateway.exchanges().length];
    expect([...seen(), gateway.clockOffsetSeconds]).toEqual(['vpn-1', false, 0, 0, undefined]);
    const held = gate();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, until: held.opened });
    const run = gateway.run('system.info');
    const other = expectFailure(gateway.run('no.such'));
    expect(gateway.isBusy).toBe(true);
    await other;
    expect(seen().slice(1, 3)).toEqual([true, 1]);
    held.open();
    await run;
    expect(seen()).toEqual(['vpn-1', false, 2, 2]);
    expect(gateway.counters()).toMatchObject({ failures: { BAD_INPUT: 1 }, connections: { open: 1, waiting: 0, opened: 1 } });
    expect(Math.abs(gateway.clockOffsetSeconds ?? NaN)).toBeLessThan(600);
    const { certificates } = await gateway.handshake();
    expect(certificates[0].fingerprint256).toBe(new X509Certificate(simulatorCertificate.cert).fingerprint256);
    gateway.close();
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('ABORTED');
    await expect.poll(() => simulator.openConnections).toBe(0);
  });

  it('A gateway closes idle connections on request, keeps busy connections and its key, and can connect again', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    gateway.closeIdleConnections();
    await gateway.run('system.info');
    const held = gate();
    const received = gate();
    const match = ({ path }: { path: string }): boolean => {
      if (path === SYSTEM_INFORMATION_PATH) received.open();
      return path === SYSTEM_INFORMATION_PATH;
    };
    simulator.fault({ match, until: held.opened });
    const run = gateway.run('system.info');
    await received.opened;
    gateway.closeIdleConnections();
    held.open();
    await run;
    expect(gateway.counters()).toMatchObject({ connections: { open: 1, opened: 1 } });
    // The connection is free a few turns of the event loop after its response.
    const countOpen = (): unknown => {
      gateway.closeIdleConnections();
      return gateway.counters();
    };
    await expect.poll(countOpen).toMatchObject({ connections: { open: 0 } });
    await expect.poll(() => simulator.openConnections).toBe(0);
    await gateway.run('system.info');
    expect(gateway.counters()).toMatchObject({ connections: { open: 1, opened: 2 } });
    expect(simulator.logins).toBe(1);
  });

  it('A gateway with isolatedLogin logs in separately', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    await gatewayFor(simulator).run('system.info');
    expect(simulator.logins).toBe(1);
    await gatewayFor(simulator, {}, { isolatedLogin: true }).run('system.info');
    expect(simulator.logins).toBe(2);
  });

  it('A gateway calls onExchange for each exchange only if its log is enabled', async () => {
    const simulator = await startTestSimulator();
    const told: string[] = [];
    const onExchange = ({ path }: ExchangeLogEntry, name: string): void => void told.push(`${name} ${path}`);
    for (const [name, log, listens] of [
      ['a', false, true],
      ['b', true, true],
      ['c', true, false],
    ] as const)
      await gatewayFor(simulator, { name, log }, listens ? { onExchange } : {}).run('system.info');
    expect(told).toEqual([`b ${SYSTEM_INFORMATION_PATH}`]);
  });

  it('A gateway refuses more runs than its limit, and reports the number of running ones', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { connections: 1, waiting: 0 });
    await gateway.run('system.info');
    const held = gate();
    simulator.fault({ match: ({ path }) => path === SYSTEM_INFORMATION_PATH, until: held.opened });
    const run = gateway.run('system.info');
    // Who was not let in does not go out either.
    for (let time = 0; time < 2; time++) expect((await expectFailure(gateway.run('system.info'))).code).toBe('LIMIT');
    held.open();
    await run;
    await expectFailure(gateway.run('config.get', { path: `${USER_ROLES_PATH.slice(22)}/None` }));
    // One that waits for somebody to approve it is no load, and its plan is counted with it.
    const [asked, approved] = [gate(), gate()];
    const approve: RequestApproval = async () => {
      asked.open();
      await approved.opened;
      return APPROVED;
    };
    const kill = gateway.run('sessions.kill-all', {}, { approve });
    await asked.opened;
    await gateway.run('system.info');
    approved.open();
    expect((await kill).envelope).toMatchObject({ ok: true, approved: APPROVED });
  });

  it('A gateway throws BAD_CONFIG for invalid settings', () => {
    const unread = 'The settings cannot be read: they are not an object, or a setting has the wrong type.';
    expect(getThrownError(() => Reflect.construct(Gateway, [null]) as unknown)).toMatchObject({ code: 'BAD_CONFIG', message: unread });
    expect(getThrownError(() => new Gateway({ ...settingsFor({ url: 'https://vpn.example.com' }), timeout: -1 }))).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('timeout') as string,
    });
  });
});

describe('Gateway.run', () => {
  it('Gateway.run rejects every name that is not a known operation with BAD_INPUT', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const run = (...given: unknown[]): Promise<unknown> => Reflect.apply(gateway.run.bind(gateway), undefined, given) as Promise<unknown>;
    for (const given of [7, undefined, ['system.info'], 'no.such', 'toString']) {
      const error = await expectFailure(run(given));
      const name = typeof given === 'string' ? given : '';
      expect(error).toMatchObject({ code: 'BAD_INPUT', cause: { ok: false, operation: name, changed: false, requests: 0 } });
      expect(error.cause?.summary).toMatch(/BAD_INPUT/);
    }
    expect(((await run('system.info', {}, null)) as { envelope: Envelope }).envelope.ok).toBe(true);
  });

  it('Gateway.run accepts any kind of abort signal together with its other options', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('system.info');
    const stopped = new LightAbortController();
    stopped.abort();
    for (const options of [AbortSignal.abort(), { signal: AbortSignal.abort() }, { signal: stopped }])
      expect((await expectFailure(gateway.run('sessions.kill-all', {}, options))).code).toBe('ABORTED');
    const { signal } = new AbortController();
    const planned = await gateway.run('sessions.kill-all', {}, { signal, dryRun: true });
    expect(planned.envelope).toMatchObject({ dryRun: true, plan: [{ method: 'DELETE' }] });
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('Gateway.run sends no write if the gateway has dryRun, even if the run disables dryRun', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { dryRun: true });
    for (const options of [{}, { dryRun: false }]) {
      const { envelope } = await gateway.run('sessions.kill-all', {}, options);
      expect(envelope).toMatchObject({ dryRun: true, changed: null, plan: [{ method: 'DELETE' }] });
    }
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('Gateway.run reports whether a write changed something, and reports null for a read', async () => {
    const { gateway } = await startSimulatorWithGateway();
    expect((await gateway.run('system.info')).envelope).toMatchObject({
      changed: null,
      summary: expect.stringMatching(/^Read the system information of \S+\.$/) as string,
    });
    const path = `${USER_ROLES_PATH.slice(22)}/None`;
    const gone = await gateway.run('config.delete', { path, 'missing-ok': true });
    expect(gone.envelope).toMatchObject({ ok: true, changed: false });
    for (const input of [{ path }, { path, 'missing-ok': false }])
      expect((await expectFailure(gateway.run('config.delete', input))).code).toBe('NOT_FOUND');
    const error = await expectFailure(gateway.run('config.get', { path }));
    expect(error.cause).toMatchObject({ ok: false, changed: null, code: 'NOT_FOUND' });
    expect(error.cause?.summary).toContain('NOT_FOUND');
  });

  it('Gateway.run returns the data of a read, and the raw values in the envelope', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const { data, many, envelope, streamed } = await gateway.run('system.health', { status: 'all' });
    expect([typeof data, many, streamed]).toEqual(['object', null, false]);
    expect(Object.keys(envelope.raw as object).length).toBeGreaterThan(3);
  });

  it('Gateway.run returns one result per item of an array, and returns no data for a stream', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 3 });
    const parts: [{ 'session-id': string }, Envelope][] = [];
    const onPart = (data: unknown, _part: unknown, envelope: Envelope): void =>
      void parts.push([data as { 'session-id': string }, envelope]);
    const whole = await gateway.run('sessions.list', { emit: 'record' }, { onPart });
    expect([whole.data, whole.many, whole.streamed, whole.envelope.ok]).toEqual([undefined, null, true, true]);
    expect(whole.envelope.summary).toMatch(/\b3 /);
    expect(parts).toHaveLength(3);
    for (const [, { summary, ok }] of parts) expect([summary, ok]).toEqual([expect.stringMatching(/\b1 /), true]);
    const ids = parts.map(([session]) => session['session-id']);
    const killed = await gateway.run('sessions.kill', { 'session-id': ids });
    expect(killed.data).toBe(killed.many);
    expect(killed).toMatchObject({ streamed: false, many: { total: 3, ok: 3 }, envelope: { changed: true } });
  });

  it('Gateway.run never shows a secret of its input', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const secret = 's3cret-word';
    const quote = JSON.stringify({ result: { info: [{ message: `${secret} is weak` }] } });
    simulator.fault({ match: ({ path }) => path.includes('/users/user'), status: 200, body: quote, times: Infinity });
    const input = { server: 'System Local', username: 'j.doe', 'password-cleartext': secret };
    const sent = await gateway.run('users.create', input);
    const planned = await gateway.run('users.create', input, { dryRun: true });
    expect(JSON.stringify(sent)).toContain('is weak');
    expect(planned.envelope.plan).toHaveLength(1);
    expect(JSON.stringify([sent, planned])).not.toContain(secret);
  });

  it('Gateway.run passes its plan to approve, and writes only after the approval', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
    const proposals: Proposal[] = [];
    const approve: RequestApproval = (proposal) => {
      proposals.push(proposal);
      return Promise.resolve(APPROVED);
    };
    await gateway.run('system.info', {}, { approve });
    await gateway.run('sessions.kill-all', {}, { approve, dryRun: true });
    expect(proposals).toEqual([]);
    const { envelope } = await gateway.run('users.disable', user, { approve });
    expect(proposals).toEqual([
      {
        operation: 'users.disable',
        appliance: 'vpn-1',
        summary: 'Would disable contractor1 on System Local.',
        plan: [{ method: 'PUT', path: `${USER}/enabled`, body: { enabled: 'false' } }],
        wouldChange: false,
      },
    ]);
    expect(envelope).toMatchObject({ changed: true, approved: APPROVED });
    const stopped: RequestApproval = () => Promise.reject(new GatewayError('DECLINED', 'No.'));
    expect((await expectFailure(gateway.run('users.enable', user, { approve: stopped }))).code).toBe('DECLINED');
    expect(listWriteLines(simulator)).toEqual([`PUT ${USER}/enabled`]);
  });

  it('Gateway.run records each write in the journal with its initiator and without secrets, and reads nothing twice', async () => {
    const journal = createTemporaryFolder();
    const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1', journal });
    await gateway.run('users.disable', user, { initiator: { actor: 'j.doe', node: 'n1', flow: 'f1' } });
    expect(listRequestLines(simulator).filter((line) => line.includes(USER))).toEqual([
      `GET ${USER}`,
      `PUT ${USER}/enabled`,
      `GET ${USER}`,
    ]);
    await gateway.run('users.update', { ...user, fullname: 'simulator' });
    const [second, first] = await fetchJournalEntries(gateway);
    expect(first).toMatchObject({ appliance: 'vpn-1', operation: 'users.disable', actor: 'j.doe', node: 'n1', flow: 'f1' });
    // The word that logs in is one of its secrets.
    expect([second?.actor, JSON.stringify(readAllJournalLines(journal)).includes('simulator')]).toEqual([null, false]);
    await gateway.run('users.disable', user, { dryRun: true });
    expect(await fetchJournalEntries(gateway)).toHaveLength(2);
  });
});

describe('A run at another appliance', () => {
  async function both(): Promise<{
    one: Awaited<ReturnType<typeof startSimulatorWithGateway>>;
    two: Awaited<ReturnType<typeof startSimulatorWithGateway>>;
  }> {
    const two = await startSimulatorWithGateway({}, { name: 'vpn-2' });
    const one = await startSimulatorWithGateway(
      {},
      { name: 'vpn-1' },
      { resolveAppliance: (name) => (name === 'vpn-2' ? two.gateway : undefined) },
    );
    return { one, two };
  }

  it('a run sends only reads to a second appliance', async () => {
    const { one, two } = await both();
    const { data } = await one.gateway.run('snapshot.compare', { other: 'vpn-2', path: 'users/user-roles' });
    expect(data).toMatchObject({ equal: true });
    expect([listRequestLines(one.simulator).length, listRequestLines(two.simulator).length].every((count) => count > 1)).toBe(true);
    expect(listWriteLines(two.simulator)).toEqual([]);
  });

  it('A run that uses another appliance names it in its errors, and shows none of its secrets', async () => {
    const { one, two } = await both();
    const compare = (other: string, signal?: AbortSignal) =>
      expectFailure(one.gateway.run('snapshot.compare', { other, path: 'users/user-roles' }, { signal }));
    expect(await compare('vpn-3')).toMatchObject({
      code: 'BAD_INPUT',
      message: 'No appliance has the name vpn-3. Check the name. Nothing was sent.',
    });
    const quote = '{"result":{"errors":[{"message":"simulator is wrong"}]}}';
    two.simulator.fault({ match: ({ method }) => method === 'GET', status: 422, body: quote });
    const error = await compare('vpn-2');
    expect(error.message).toMatch(/^vpn-2: .*is wrong/);
    expect(JSON.stringify([error.message, error.cause, error.details])).not.toContain('simulator');
    const stop = new AbortController();
    two.simulator.fault({ match: ({ method }) => (stop.abort(), method === 'GET'), hang: true });
    expect((await compare('vpn-2', stop.signal)).code).toBe('ABORTED');
    const alone = await startSimulatorWithGateway();
    expect((await expectFailure(alone.gateway.run('snapshot.compare', { other: 'vpn-2' }))).message).toMatch(/option resolveAppliance/);
  });
});

describe('Other methods of a gateway', () => {
  it('readConfiguration returns the resources as texts, and reuses unchanged texts of the previous tree', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const path = 'users/user-roles';
    const { data: first } = await gateway.readConfiguration({ path });
    simulator.state.configuration.resource('users', 'user-roles', 'user-role', 'Users').values.set('description', 'x'.repeat(40));
    const { data: second, envelope } = await gateway.readConfiguration({ path }, first);
    expect([...second.resources.keys()]).toEqual([...first.resources.keys()]);
    const differing = [...second.resources].filter(([place, text]) => first.resources.get(place) !== text).map(([place]) => place);
    expect(differing).toEqual([`/api/v1/configuration/${path}/user-role/Users`]);
    expect(envelope).toMatchObject({ ok: true, operation: 'snapshot.take' });
    expect((await expectFailure(gateway.readConfiguration({ path }, first, { signal: AbortSignal.abort() }))).code).toBe('ABORTED');
  });

  it('enforceContainments ends the sessions of contained users and records that in the journal', async () => {
    const journal = createTemporaryFolder();
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 }, { journal });
    const before = serializeConfiguration(simulator);
    const records = createTemporaryFolder();
    await gateway.run('contain.contain', { name: 'contractor1', servers: ['System Local'], folder: records });
    const stop = gateway.enforceContainments({ every: 0.01, folder: records, initiator: { actor: 'keeper' } });
    onTestFinished(stop);
    simulator.state.sessions.add({ 'active-user-name': 'contractor1' });
    await expect.poll(() => simulator.state.sessions.count).toBe(0);
    // A look may write other things too, or meet a session that is just ending.
    const ended = { operation: 'contain.keep', actor: 'keeper', ok: true, request: { method: 'DELETE' } };
    await expect
      .poll(() => fetchJournalEntries(gateway))
      .toEqual(expect.arrayContaining([expect.objectContaining({ ...ended, request: expect.objectContaining(ended.request) as object })]));
    expect(serializeConfiguration(simulator)).not.toBe(before);
  });
});
