import { describe, expect, it, onTestFinished } from 'vitest';
import type { Simulator } from '../../../src/simulator';
import { Gateway } from '../../../src/gateway/gateway';
import {
  simulatorCertificate,
  expectFailure,
  listRequestLines,
  asBulkResult,
  startSimulatorWithGateway,
  ACTIVE_USERS_PATH,
  listWriteLines,
  type AnyGateway,
} from '../../helpers/simulated-appliance';

const MATCHING = { filter: { 'authentication-realm': 'Own' } };

/** So many sessions of a user in a realm of their own. */
function signedIn(simulator: Simulator, count: number, name = 'j.doe'): string[] {
  return Array.from({ length: count }, () => simulator.state.sessions.add({ 'active-user-name': name, 'authentication-realm': 'Own' }));
}

/** The ways to end them; each gives how many ended. */
const WAYS: Readonly<Record<string, (gateway: AnyGateway, ids: string[], max: unknown) => Promise<number>>> = {
  kill: async (gateway, ids, max) => asBulkResult((await gateway.run('sessions.kill', { 'session-id': ids, max })).data).ok,
  'kill-user': async (gateway, _ids, max) => asBulkResult((await gateway.run('sessions.kill-user', { name: 'j.doe', max })).data).ok,
  'kill-matching': async (gateway, _ids, max) => asBulkResult((await gateway.run('sessions.kill-matching', { ...MATCHING, max })).data).ok,
};

describe.each(Object.entries(WAYS))('max of %s as a share', (_name, end) => {
  it.each([
    [20, 2, '10%'],
    [20, 3, '15%'],
    [4, 3, '99.9%'],
    [200, 57, '28.5 %'],
  ])('with max as a share, at most this share of the sessions ends (of %i: %i with %s)', async (total, ended, max) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: total - ended - 1 });
    const ids = signedIn(simulator, ended + 1);
    expect(simulator.state.sessions.count).toBe(total);
    const error = await expectFailure(end(gateway, ids, max));
    expect(error).toMatchObject({ code: 'LIMIT', cause: { changed: false } });
    expect(error.message).toContain(`${ended + 1} sessions would end, but max is ${ended} (`);
    expect(error.message).toContain(`of ${total}`);
    expect(listWriteLines(simulator)).toEqual([]);
    const [one = ''] = ids.splice(0, 1);
    simulator.state.sessions.end(one);
    simulator.state.sessions.add({ 'active-user-name': 'somebody' });
    expect(await end(gateway, ids, max)).toBe(ended);
  });
});

describe('a share of all sessions', () => {
  it('a share of all sessions that allows none stops the end of a single session too', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 9 });
    const [session] = (await gateway.run('sessions.list')).data as { 'session-id': string }[];
    for (const id of [session?.['session-id'], session]) {
      const error = await expectFailure(gateway.run('sessions.kill', { 'session-id': id, max: '10%' }));
      expect([error.code, error.message]).toEqual(['LIMIT', expect.stringMatching(/^1 session would end, but max is 0 \(10% of 9\)/)]);
    }
    expect(listWriteLines(simulator)).toEqual([]);
    await gateway.run('sessions.kill', { 'session-id': session, max: '12%' });
    expect(listWriteLines(simulator)).toHaveLength(1);
  });

  it('a share of all sessions is computed from the reported total, or from the complete list if there is no total', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const ids = signedIn(simulator, 2);
    await gateway.run('sessions.kill', { 'session-id': ids, max: '50%' });
    expect(listRequestLines(simulator)[0]).toBe(`GET ${ACTIVE_USERS_PATH}?number=1`);
    simulator.fault({ match: ({ path }) => path.endsWith('?number=1'), stripField: 'active-users.total-matched-record-number' });
    const [third] = signedIn(simulator, 1);
    await gateway.run('sessions.kill', { 'session-id': [third], max: '4%' });
    expect(listRequestLines(simulator).slice(3)).toEqual([
      `GET ${ACTIVE_USERS_PATH}?number=1`,
      `GET ${ACTIVE_USERS_PATH}?number=200&start=0`,
      expect.stringContaining('DELETE') as string,
    ]);
  });

  it('a share of all sessions is not computed when no session would end', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    await gateway.run('sessions.kill-user', { name: 'nobody', max: '1%' });
    // The second list looks for similar names.
    expect(listRequestLines(simulator)).toEqual(['name=nobody&', ''].map((query) => `GET ${ACTIVE_USERS_PATH}?${query}number=200&start=0`));
  });
});

describe('sessions of the own account', () => {
  const OWN = { 'active-user-name': 'api-admin' };
  const admins = { 'authentication-realm': 'Admin*' };

  it('a filter that matches sessions of the own account leaves them alone, and the envelope lists them', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0, variants: { ownSession: true } });
    simulator.state.sessions.add({ 'active-user-name': 'a.boss', 'authentication-realm': 'Admin Users' });
    simulator.state.sessions.add({ 'active-user-name': 'API-Admin', 'authentication-realm': 'Admin Users' });
    const { data, envelope } = await gateway.run('sessions.kill-matching', { filter: admins });
    expect(asBulkResult(data).results.map(({ item }) => item)).toEqual([expect.objectContaining({ 'active-user-name': 'a.boss' })]);
    expect(envelope.spared).toEqual([expect.objectContaining({ 'active-user-name': 'API-Admin' }), expect.objectContaining(OWN)]);
    expect((await gateway.run('system.info')).envelope.logins).toBe(0);
  });

  it('sessions of the own account do not count toward max and are not in the plan', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 0, variants: { ownSession: true } });
    const { data, envelope } = await gateway.run('sessions.kill-matching', { filter: admins, max: 1 }, { dryRun: true });
    expect([asBulkResult(data).total, envelope.plan, envelope.spared]).toEqual([0, [], [expect.objectContaining(OWN)]]);
  });

  it.each(['api-admin', 'API-ADMIN', ' api-admin', 'second-admin'])(
    'ending sessions by name refuses the own account, also written as %j',
    async (name) => {
      const { simulator, gateway } = await startSimulatorWithGateway({}, { secondUsername: 'second-admin' });
      const error = await expectFailure(gateway.run('sessions.kill-user', { name }));
      expect(error).toMatchObject({ code: 'BAD_INPUT', cause: { requests: 0 } });
      expect(error.message).toContain('the account that this package uses here');
      expect(listRequestLines(simulator)).toEqual([]);
    },
  );

  it('sessions of the own account can be ended by id, by record and by kill-all', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { ownSession: true } });
    const { data } = await gateway.run('sessions.list', { name: 'api-admin' });
    await gateway.run('sessions.kill', { 'session-id': data as Record<string, unknown>[] });
    expect((await gateway.run('system.info')).envelope.logins).toBe(1);
    await gateway.run('sessions.kill-all');
    expect(simulator.state.sessions.count).toBe(0);
  });

  it('sessions of the account behind a pasted key are not recognized, because the account name is unknown', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ variants: { ownSession: true } });
    await gateway.run('system.info');
    const [key] = simulator.state.login.keys.values();
    const pasted = new Gateway({ url: simulator.url, login: 'key', apiKey: key?.key ?? '', tls: { ca: simulatorCertificate.cert } });
    onTestFinished(() => pasted.close());
    const { envelope } = await pasted.run('sessions.kill-matching', { filter: admins });
    expect([envelope.changed, envelope.spared]).toEqual([true, undefined]);
  });
});
