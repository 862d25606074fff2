import { expect } from 'vitest';
import type { Resource } from '../../src/simulator/tree';
import { inject, writes, type Outcomes, type Running } from './running';

const ROLES = ['users', 'user-roles', 'user-role'] as const;

const rolesOf = (running: Running): Map<string, Resource> =>
  (running.appliances.get('vpn-1 with a journal') as Running['simulator']).state.configuration.collection(...ROLES).items;

/** Audits and what follows from them. */
export const audits: Outcomes = {
  'Monthly audit by mail.json': async (running, example) => {
    await inject(running, example, 'On the first of each month at 7');
    expect(await running.debug.next('Mail')).toMatch(/^high admin-realm-open: .*any address/m);
  },

  'Remove unused roles, with approval.json': async (running, example) => {
    const { debug } = running;
    const deleted = (): string[] => writes(running).filter((line) => line.startsWith('DELETE ') && line.includes('/user-role/'));
    const before = new Map([...rolesOf(running)].map(([name, role]) => [name, role.resource('general', 'session-options').text('idle-timeout')]));
    const sofar = deleted().length;
    const list = async (): Promise<void> => {
      await inject(running, example, '1. Click: which roles are unused?');
      expect(await debug.next('Unused roles')).toBe('Intranet, Unused');
      expect(await debug.next('To approve')).toMatch(/^Would .* with 2 requests\. For: \S+\/Intranet, \S+\/Unused\.$/);
    };
    await list();
    await inject(running, example, 'Click: reject');
    expect(await debug.next('Why it failed')).toMatch(/^The change was declined/);
    expect(deleted()).toHaveLength(sofar);

    await list();
    await inject(running, example, '2. Click: approve');
    expect(await debug.next('Removed')).toMatch(/^2 of 2 resources .*Intranet.*Unused/);
    expect(deleted().slice(sofar).map((line) => line.replace(/.*\//, ''))).toEqual(['Intranet', 'Unused']);
    expect(rolesOf(running).has('Unused')).toBe(false);
    await inject(running, example, '2. Click: approve');
    expect(await debug.next('Waiting')).toContain('Nothing waits');
    await inject(running, example, '1. Click: which roles are unused?');
    expect(await debug.next('Unused roles')).toBe('Every role is in use.');

    await inject(running, example, '3. Click: restore them');
    expect(await debug.next('Restored')).toMatch(/^Undid 2 of 2 writes/);
    for (const [name, timeout] of before)
      expect(rolesOf(running).get(name)?.resource('general', 'session-options').text('idle-timeout'), name).toBe(timeout);
    await inject(running, example, '3. Click: restore them');
    expect(await debug.next('Waiting')).toContain('Nothing was removed');
  },

  'Session options of all roles as a table.json': async (running, example) => {
    await inject(running, example, 'Click: list the options');
    const table = (await running.debug.next('Table')) as Record<string, string>[];
    const names = [...running.simulator.state.configuration.collection(...ROLES).items.keys()];
    expect(table.map(({ role }) => role).sort()).toEqual(names.sort());
    expect(table.find(({ role }) => role === 'Users')).toMatchObject({ 'idle (min)': '60', 'at most (min)': '1440', roaming: 'disabled' });
  },
};
