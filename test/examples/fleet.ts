import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import type { Resource } from '../../src/simulator/tree';
import type { Simulator } from '../../src/simulator';
import { failure, inject, type Outcomes, type Running } from './running';

const NAMES = ['berlin-1', 'berlin-2', 'boston-1'];

const all = ({ appliances }: Running): Simulator[] => NAMES.map((name) => appliances.get(name) as Simulator);
const syslog = ({ state }: Simulator): Resource => state.configuration.resource('system', 'log', 'syslog');

/** One node, all appliances of an inventory. */
export const fleet: Outcomes = {
  'End a user everywhere.json': async (running, example) => {
    const { debug } = running;
    const click = 'Click: end j.doe everywhere';
    for (const { state } of all(running)) state.sessions.endUsers(new Set(['j.doe']));
    const ids = all(running).slice(1).map(({ state }) => state.sessions.add({ 'active-user-name': 'j.doe' }));
    await inject(running, example, click);
    expect(await debug.next('Ended')).toMatch(/: done on 3 of 3 appliances\.$/);
    expect(all(running).slice(1).map(({ state }, index) => state.sessions.has(ids[index] ?? ''))).toEqual([false, false]);
    all(running)[1]?.fault({ match: ({ path }) => path.includes('active-users'), status: 404, body: '{}' });
    await inject(running, example, click);
    expect(await debug.next('Ended')).toMatch(/: done on 2 of 3 appliances; failed: 1 \(berlin-2\)\.$/);
  },

  'Nightly backup of a fleet.json': async (running, example) => {
    const { debug, folder } = running;
    const files = (): string[] => readdirSync(folder).filter((name) => /^(berlin|boston)-.*\.xml\.gz$/.test(name));
    const before = files().length;
    await inject(running, example, 'Every night at 2');
    expect(await debug.next('Mail')).toMatchObject({ topic: 'Backup of the fleet', text: expect.stringMatching(/3 of 3 appliances\.$/) as string });
    expect(files()).toHaveLength(before + 3);
    // A failure of the first appliance does not stop the others.
    all(running)[0]?.fault({ match: ({ path }) => path.includes('export'), status: 404, body: '{}' });
    await inject(running, example, 'Every night at 2');
    const { topic, text } = (await debug.next('Mail')) as { topic: string; text: string };
    expect(topic).toBe('Backup of the fleet: something FAILED');
    expect(text).toMatch(/2 of 3 appliances; failed: 1 \(berlin-1\)\.\nberlin-1: NOT_FOUND: /);
    expect(files()).toHaveLength(before + 5);
  },

  'Sessions of all appliances in one table.json': async (running, example) => {
    await inject(running, example, 'Every minute');
    const table = (await running.debug.next('Table of all')) as { appliance: string; user: string }[];
    expect([...new Set(table.map(({ appliance }) => appliance))]).toEqual(NAMES);
    const [first] = all(running);
    expect(table.filter(({ appliance }) => appliance === 'berlin-1')).toHaveLength(first?.state.sessions.count ?? NaN);
  },

  'Which appliances differ from the golden one.json': async (running, example) => {
    const third = all(running)[2] as Simulator;
    const before = syslog(third).text('server') ?? '';
    syslog(third).values.set('server', '192.0.2.99');
    await inject(running, example, 'Click: who differs?');
    expect(await running.debug.next('Differ')).toBe('boston-1 differs: /system/log/syslog /server.');
    syslog(third).values.set('server', before);
  },

  'One setting on all appliances, with canary and approval.json': async (running, example) => {
    const { debug } = running;
    const [propose, approve] = ['1. Click: propose it', '2. Click: approve it'];
    for (const appliance of all(running)) syslog(appliance).values.set('server', '');
    await inject(running, example, propose);
    expect(await debug.next('To approve')).toMatch(/would send 3 requests to 3 appliances\.$/);
    expect(all(running).map((appliance) => syslog(appliance).text('server'))).toEqual(['', '', '']);
    await inject(running, example, approve);
    expect(await debug.next('Done')).toMatch(/done on 3 of 3 appliances\.$/);
    expect(all(running).map((appliance) => syslog(appliance).text('server'))).toEqual(Array(3).fill('192.0.2.10'));
    await inject(running, example, approve);
    expect(await failure(running)).toBeTruthy();
    for (const appliance of all(running)) syslog(appliance).values.set('server', '');
    all(running)[0]?.fault({ match: ({ method }) => method === 'PUT', status: 422, body: '{}' });
    await inject(running, example, propose);
    await debug.next('To approve');
    await inject(running, example, approve);
    expect(await failure(running)).toMatch(/^berlin-1: /);
    expect(all(running).map((appliance) => syslog(appliance).text('server'))).toEqual(['', '', '']);
  },
};
