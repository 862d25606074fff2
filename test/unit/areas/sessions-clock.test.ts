import { describe, expect, it } from 'vitest';
import { asBulkResult, expectFailure, startSimulatorWithGateway } from '../../helpers/simulated-appliance';
import { startWatch } from '../../helpers/watch';

const HOUR = 3600;
const FILTER = { 'older-than': '8 h', 'authentication-realm': 'Own' };

describe('older-than', () => {
  it.each([-12, 0, 12])('the filter older-than uses the clock of the appliance, which is %i hours ahead', async (hours) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0, variants: { clockAhead: hours * HOUR } });
    const now = Date.now() / 1000 + hours * HOUR;
    const add = (age: number): string =>
      simulator.state.sessions.add({ 'authentication-realm': 'Own', 'sign-in-time-micro': (now - age * HOUR).toFixed(6) });
    const old = add(9);
    add(7);
    const { data } = await gateway.run('sessions.kill-matching', { filter: FILTER }, { dryRun: true });
    expect(asBulkResult(data).results).toMatchObject([{ item: { 'session-id': old } }]);
    const { watcher, takePayloads } = await startWatch(gateway, { watch: 'sessions', filter: FILTER });
    const later = add(10);
    add(1);
    await watcher.check();
    expect(takePayloads()).toMatchObject([{ event: 'started', session: { 'session-id': later } }]);
  });

  it('older-than is checked before anything is sent', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    const error = await expectFailure(gateway.run('sessions.kill-matching', { filter: { 'older-than': 'long' } }));
    expect([error.code, simulator.requests]).toEqual(['BAD_INPUT', []]);
  });
});

describe('the plan of ending sessions', () => {
  it.each<[string, Record<string, unknown>, number]>([
    ['sessions.kill-user', { name: 'j.doe' }, 2],
    ['sessions.kill-matching', { filter: { 'authentication-realm': 'Own' } }, 3],
    ['contain.contain', { name: 'j.doe' }, 2],
  ])('the plan of %s names the person and the address of each request', async (operation, input, count) => {
    const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 0 });
    for (const name of ['j.doe', 'j.doe', 'a.smith'])
      simulator.state.sessions.add({ 'active-user-name': name, 'source-ip': '203.0.113.9', 'authentication-realm': 'Own' });
    const { plan = [], summary } = (await gateway.run(operation, input, { dryRun: true })).envelope;
    expect(plan).toHaveLength(count);
    for (const { item, path } of plan) {
      const { 'session-id': id, ...person } = item as Record<string, string>;
      expect(path.endsWith(`/${id}`)).toBe(true);
      expect(person).toMatchObject({
        'active-user-name': expect.stringMatching(/^(j\.doe|a\.smith)$/) as string,
        'source-ip': '203.0.113.9',
      });
    }
    expect(summary).toContain('j.doe');
    expect(summary?.includes('a.smith')).toBe(count === 3);
    let proposed: unknown;
    await gateway.run(operation, input, { approve: (proposal) => ((proposed = proposal), Promise.resolve({ by: null, at: '' })) });
    expect(proposed).toEqual({ operation, appliance: gateway.name, summary, plan, wouldChange: operation === 'contain.contain' });
  });
});
