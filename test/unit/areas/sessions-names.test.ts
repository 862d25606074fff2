import { afterEach, describe, expect, it } from 'vitest';
import type { Simulator } from '../../../src/simulator';
import {
  ACTIVE_USERS_PATH,
  asBulkResult,
  expectFailure,
  listRequestLines,
  listWriteLines,
  startSimulatorWithGateway,
  type AnyGateway,
} from '../../helpers/simulated-appliance';
import { resetContainmentStores } from '../../helpers/reset-process-state';

/** Names of one person as the interface may return them. */
const SPELLINGS = ['CORP\\j.doe', 'J.Doe', 'j.doe@corp.example'];

afterEach(resetContainmentStores);

function signIn(simulator: Simulator, names: readonly string[]): void {
  for (const name of names) simulator.state.sessions.add({ 'active-user-name': name });
}

async function listNames(gateway: AnyGateway): Promise<string[]> {
  const { data } = await gateway.run('sessions.list');
  return (data as Record<string, string>[]).map((session) => String(session['active-user-name'])).sort();
}

describe('names in sessions', () => {
  it.each([
    ['sessions.kill-user', 'a.boss has no session.'],
    ['contain.contain', 'Contained a.boss'],
  ])('%s reports similar names if no session has exactly the given name', async (operation, words) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 3 });
    signIn(simulator, ['A.Boss', 'CORP\\a.boss', 'CORP\\a.boss', 'a.bossy']);
    for (const dryRun of [true, false]) {
      const { envelope } = await gateway.run(operation, { name: 'a.boss ' }, { dryRun });
      expect(envelope).toMatchObject({ ok: true, similar: ['A.Boss', 'CORP\\a.boss'] });
      if (!dryRun) expect(envelope.summary).toContain(words);
      expect(envelope.summary).toMatch(/Nobody has exactly this name; similar names: A\.Boss, CORP\\a\.boss\.$/);
    }
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it.each(['sessions.kill-user', 'contain.contain'])('%s ignores spaces around the user name', async (operation) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    signIn(simulator, ['a.boss', 'A.Boss']);
    const { envelope } = await gateway.run(operation, { name: ' a.boss\t' });
    expect(envelope).not.toHaveProperty('similar');
    expect(await listNames(gateway)).toEqual(['A.Boss']);
    expect(listRequestLines(simulator)[0]).toBe(`GET ${ACTIVE_USERS_PATH}?name=a.boss&number=200&start=0`);
  });

  it.each(
    ['sessions.kill-user', 'contain.contain'].flatMap((operation) =>
      ['j.doe', ...SPELLINGS].flatMap((name) =>
        [
          ['exact', [name]],
          ['ignore-case', name.toLowerCase() === 'j.doe' ? ['j.doe', 'J.Doe'] : [name]],
          ['ignore-domain', ['j.doe', ...SPELLINGS]],
        ].map(([match, ended]) => ({ operation, name, match, ended })),
      ),
    ),
  )('names of sessions are compared by $operation of $name with $match', async ({ operation, name, match, ended = [] }) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    const all = ['j.doe', ...SPELLINGS, 'j.does'];
    signIn(simulator, all);
    await gateway.run(operation, { name, match });
    expect(await listNames(gateway)).toEqual(all.filter((each) => !ended.includes(each)).sort());
  });

  it.each(['Api-Admin ', 'CORP\\api-admin', 'API-ADMIN@corp.example'])(
    'the own account is never ended under the spelling %j',
    async (name) => {
      const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
      signIn(simulator, [name.trim(), 'j.doe']);
      for (const operation of ['sessions.kill-user', 'contain.contain'])
        expect(await expectFailure(gateway.run(operation, { name }))).toMatchObject({ code: 'BAD_INPUT', cause: { requests: 0 } });
      const filter = { 'active-user-name': [`*${name.trim().slice(1)}`, 'j.*'] };
      const { data, envelope } = await gateway.run('sessions.kill-matching', { filter });
      expect([asBulkResult(data).total, envelope.spared]).toEqual([1, [expect.objectContaining({ 'active-user-name': name.trim() })]]);
      expect(await listNames(gateway)).toContain(name.trim());
    },
  );
});

describe('a containment that ignores the domain', () => {
  it('a containment that ignores the domain keeps doing so after the person is contained again', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 0 });
    await gateway.run('contain.contain', { name: 'j.doe', match: 'ignore-domain' });
    await gateway.run('contain.contain', { name: 'j.doe' });
    expect((await gateway.run('contain.list')).data).toMatchObject([{ name: 'j.doe', match: 'ignore-domain' }]);
  });

  it('a containment that ignores the domain ends new sessions with any form of the name', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    await gateway.run('contain.contain', { name: 'J.Doe', match: 'ignore-domain' });
    signIn(simulator, [...SPELLINGS, 'other']);
    let polls = 0;
    const stop = gateway.enforceContainments({ every: 0.01, onPoll: () => void polls++ });
    try {
      await expect.poll(() => listNames(gateway)).toEqual(['other']);
    } finally {
      stop();
    }
    expect(polls).toBeGreaterThan(0);
  });

  it('a containment of an address cannot ignore the domain', async () => {
    const { gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('contain.contain', { 'source-ip': '203.0.113.9', match: 'ignore-case' }));
    expect([error.code, error.message]).toEqual(['BAD_INPUT', 'match (Match) needs a name: an address has no spelling.']);
  });
});

describe('a release by name', () => {
  it('a release by name reports similar contained people, and releases them with the option match', async () => {
    const { gateway } = await startSimulatorWithGateway({ sessions: 0 });
    await gateway.run('contain.contain', { name: 'CORP\\j.doe' });
    const error = await expectFailure(gateway.run('contain.release', { name: 'j.doe' }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', cause: { similar: ['CORP\\j.doe'] } });
    expect(error.message).toContain('Similar names are contained: CORP\\j.doe.');
    await gateway.run('contain.contain', { name: 'J.Doe' });
    const ambiguous = await expectFailure(gateway.run('contain.release', { name: 'j.doe', match: 'ignore-domain' }));
    expect(ambiguous).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('matches several contained names') as string });
    await gateway.run('contain.release', { name: ' j.doe', match: 'ignore-case' });
    await gateway.run('contain.release', { name: 'j.doe@corp', match: 'ignore-domain' });
    expect((await gateway.run('contain.list')).data).toEqual([]);
  });
});
