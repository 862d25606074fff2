import { join } from 'node:path';
import { expect } from 'vitest';
import { clock, git } from '../library/snapshot';
import { inject, type Outcomes } from './running';

/** What the configuration is, was and should be. */
export const snapshots: Outcomes = {
  'Nightly snapshot kept in Git.json': async (running, example) => {
    const { debug, simulator } = running;
    const folder = join(running.folder, 'in-git');
    const night = (): Promise<void> => inject(running, example, 'Every night at 3', { snapshots: folder });
    const log = (): string[] => git(folder, 'log', '--format=%s').trim().split('\n');
    await night();
    expect(await debug.next('Committed')).toMatch(/^\d\d+ added, 0 changed, 0 removed$/);

    await night();
    expect(await debug.next('Committed')).toBe('0 added, 0 changed, 0 removed');
    expect(log()).toHaveLength(1);

    const before = clock(simulator).get('time-zone') ?? '';
    clock(simulator).set('time-zone', 'Europe/Paris');
    await night();
    expect(await debug.next('Committed')).toBe('0 added, 1 changed, 0 removed');
    expect(log()[0]).toBe('Snapshot: 0 added, 1 changed, 0 removed');
    expect(git(folder, 'show', '--format=', '-U0')).toMatch(/\n-.*Berlin"\n\+.*Paris"\n$/);
    clock(simulator).set('time-zone', before);

    simulator.fault({ match: ({ path }) => path.endsWith('/log/events'), body: '<html>Maintenance</html>' });
    await night();
    const { topic, payload } = (await debug.next('Mail')) as { topic: string; payload: string };
    expect(topic).toBe('The snapshot of vpn-1 FAILED');
    expect(payload).toContain('/system/log/events');

    await inject(running, example, 'Every night at 3', { snapshots: `${folder}$(id)` });
    expect(await debug.next('Mail')).toMatchObject({ topic: '"What Git is to do" in the nightly snapshot FAILED' });
    expect(log()).toHaveLength(2);
  },
};
