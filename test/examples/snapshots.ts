import { join } from 'node:path';
import { expect } from 'vitest';
import { getClockValues, runGit, getUserRoles } from '../helpers/snapshot';
import { failure, inject, type Outcomes } from './running';

/** Snapshots, comparisons and reverts. */
export const snapshots: Outcomes = {
  'Nightly snapshot kept in Git.json': async (running, example) => {
    const { debug, simulator } = running;
    const folder = join(running.folder, 'in-git');
    const night = (): Promise<void> => inject(running, example, 'Every night at 3', { snapshots: folder });
    const log = (): string[] => runGit(folder, 'log', '--format=%s').trim().split('\n');
    await night();
    expect(await debug.next('Committed')).toMatch(/^\d\d+ added, 0 changed, 0 removed$/);

    await night();
    expect(await debug.next('Committed')).toBe('0 added, 0 changed, 0 removed');
    expect(log()).toHaveLength(1);

    const before = getClockValues(simulator).get('time-zone') ?? '';
    getClockValues(simulator).set('time-zone', 'Europe/Paris');
    await night();
    expect(await debug.next('Committed')).toBe('0 added, 1 changed, 0 removed');
    expect(log()[0]).toBe('Snapshot: 0 added, 1 changed, 0 removed');
    expect(runGit(folder, 'show', '--format=', '-U0')).toMatch(/\n-.*Berlin"\n\+.*Paris"\n$/);
    getClockValues(simulator).set('time-zone', before);

    simulator.fault({ match: ({ path }) => path.endsWith('/log/events'), body: '<html>Maintenance</html>' });
    await night();
    const { topic, payload } = (await debug.next('Mail')) as { topic: string; payload: string };
    expect(topic).toBe('The snapshot of vpn-1 FAILED');
    expect(payload).toContain('/system/log/events');

    await inject(running, example, 'Every night at 3', { snapshots: `${folder}$(id)` });
    expect(await debug.next('Mail')).toMatchObject({ topic: '"What Git is to do" in the nightly snapshot FAILED' });
    expect(log()).toHaveLength(2);
  },

  'Mail what has changed.json': async (running, example) => {
    const { debug, simulator } = running;
    const accepted = join(running.folder, '..', 'accepted-in-test');
    const mails = (): unknown[] => debug.shown.filter(({ name }) => name === 'Mail');
    const accept = async (): Promise<void> => {
      await inject(running, example, 'Click: this is how it should be', { accepted });
      await debug.next('Accepted');
    };
    const hour = async (): Promise<void> => {
      await inject(running, example, 'Every hour', { accepted });
      await debug.next('Compared');
    };
    // If the first had sent a mail, it would have arrived by now.
    const quiet = async (): Promise<void> => {
      await hour();
      await hour();
      expect(mails()).toEqual([]);
    };
    const mail = async (): Promise<{ topic: string; payload: string }> => {
      await hour();
      return (await debug.next('Mail')) as { topic: string; payload: string };
    };
    await inject(running, example, 'Every hour', { accepted });
    expect(await debug.next('Mail')).toMatchObject({ topic: 'The configuration of vpn-1 could not be compared' });
    await accept();
    await quiet();

    const before = getClockValues(simulator).get('time-zone') ?? '';
    getClockValues(simulator).set('time-zone', 'Europe/Rome');
    const { topic, payload } = await mail();
    expect(topic).toBe('The configuration of vpn-1 has changed');
    expect(payload).toMatch(/1 changed\.\n\n~ system\/configuration\/date-and-time\n {4}time-zone: ".*" → "Europe\/Rome"$/);
    await quiet();
    getClockValues(simulator).set('time-zone', 'Europe/Oslo');
    expect((await mail()).payload).toContain('Europe/Oslo');
    getClockValues(simulator).set('time-zone', before);
    expect(await mail()).toMatchObject({ topic: 'The configuration of vpn-1 is as it should be again' });
    await quiet();
  },

  'Restore what a snapshot holds.json': async (running, example) => {
    const { debug, simulator } = running;
    const snapshots = join(running.folder, 'before-in-test');
    const click = (name: string): Promise<void> => inject(running, example, `Click: ${name}`, { snapshots });
    await click('put it back');
    await debug.next('Nothing to put back: compare first');
    await click('keep how it is');
    expect(await debug.next('Kept')).toMatch(/^Took a snapshot of \S+ with \d+ resources\.$/);

    const role = getUserRoles(simulator).items.get('Users')?.values;
    const zone = getClockValues(simulator).get('time-zone') ?? '';
    const words = role?.get('description');
    getClockValues(simulator).set('time-zone', 'Europe/Madrid');
    role?.set('description', 'changed by hand');
    await click('what has changed?');
    expect(await debug.next('What differs')).toContain('"Europe/Madrid"');
    await click('put it back');
    // The parts of a role are compared with it.
    expect(await debug.next('Put back')).toMatch(/^0 still different, (\d+) of \1 resources restored: system\/.+\.$/);
    expect(getClockValues(simulator).get('time-zone')).toBe(zone);
    expect(role?.get('description')).toBe(words);

    await click('what has changed?');
    expect(await debug.next('What differs')).toContain('does not differ');
    await click('put it back');
    await debug.next('Nothing to put back: compare first');
  },

  'Compare two appliances.json': async (running, example) => {
    const { debug, simulator, appliances } = running;
    const second = appliances.get('vpn-2');
    if (!second) throw new Error('The demo has no second appliance');
    getClockValues(second).set('ntp-server', 'only.at.the.second');
    getUserRoles(simulator).add({ name: 'Only at the first', description: '' });
    await inject(running, example, 'Click: compare them');
    const report = (await debug.next('What differs')) as string;
    expect(report).toMatch(/^vpn-1 differs from vpn-2: /);
    expect(report).toContain('\n+ users/user-roles/user-role/Only%20at%20the%20first\n');
    expect(report).toMatch(/\n~ system\/configuration\/date-and-time\n {4}ntp-server: "only\.at\.the\.second" → /);
    expect(report).not.toContain('node-name');
    expect(report).toMatch(/The second one has the release \d+\.\S+\.$/);
    getUserRoles(simulator).items.delete('Only at the first');
    second.fault({ match: ({ path }) => path.endsWith('/log/events'), status: 422 });
    await inject(running, example, 'Click: compare them');
    expect(await failure(running)).toMatch(/^vpn-2: /);
  },
};
