import { expect } from 'vitest';
import { inject, writes, type Outcomes } from './running';

const ROLES = ['users', 'user-roles', 'user-role'] as const;

/** Desired state and reverts. */
export const desired: Outcomes = {
  'Keep a desired state.json': async (running, example) => {
    const { debug, simulator } = running;
    const roles = simulator.state.configuration.collection(...ROLES);
    const wrote = (): string[] => writes(running).filter((line) => line.includes('user-role'));
    const sofar = wrote().length;
    await inject(running, example, 'Click: make it so');
    expect(await debug.next('The difference')).toMatch(/Users \/description: .* becomes Kept by Node-RED\n.*Night shift \/description: nothing becomes/);
    expect(await debug.next('To approve')).toBe(
      'Would change resources with 2 requests. For: users/user-roles/user-role/Users, users/user-roles/user-role/Night shift.',
    );
    expect(wrote()).toHaveLength(sofar);
    await inject(running, example, 'Click: reject');
    expect(await debug.next('Why it failed')).toMatch(/^The change was declined/);

    await inject(running, example, 'Click: make it so');
    await debug.next('The difference');
    await debug.next('To approve');
    await inject(running, example, 'Click: approve');
    expect(await debug.next('What changed')).toMatch(/^Changed 2 values, approved at 20/);
    expect(roles.items.get('Users')?.text('description')).toBe('Kept by Node-RED');
    expect(wrote()).toHaveLength(sofar + 2);

    await inject(running, example, 'Click: make it so');
    expect(await debug.next('The difference')).toBe('Everything is as it should be.');
    expect(wrote()).toHaveLength(sofar + 2);
    roles.items.delete('Night shift');
  },

  'Rehearse a change before the approval.json': async (running, example) => {
    const { debug, simulator } = running;
    const role = simulator.state.configuration.resource(...ROLES, 'Users');
    const before = role.text('description');
    await inject(running, example, 'Click: rehearse the change');
    expect(await debug.next('Why it failed')).toMatch(/last-night/);

    await inject(running, example, 'Every night at 3');
    expect(await debug.next('Snapshot')).toMatch(/^Took a snapshot of vpn-1/);
    const sofar = writes(running).length;
    for (const decision of ['Click: reject', 'Click: approve']) {
      await inject(running, example, 'Click: rehearse the change');
      const mail = String(await debug.next('Mail'));
      expect(mail).toMatch(/The rehearsal changed:\n.*user-role\/Users/s);
      expect(mail).toContain('Rehearsed, then approved');
      // All of that happened on the copy.
      expect(writes(running)).toHaveLength(sofar);
      await inject(running, example, decision);
      if (decision === 'Click: reject') expect(await debug.next('Why it failed')).toMatch(/^The change was declined/);
    }
    await debug.next('Changed');
    expect(role.text('description')).toBe('Rehearsed, then approved');
    expect(writes(running)).toHaveLength(sofar + 1);
    await inject(running, example, 'Click: approve');
    expect(await debug.next('Waiting')).toBe('Nothing waits: there is nothing to approve.');
    role.values.set('description', before);
  },

  'Undo a change.json': async (running, example) => {
    const { debug, appliances } = running;
    const role = appliances.get('vpn-1 with a journal')?.state.configuration.resource(...ROLES, 'Users');
    const before = role?.text('description');
    await inject(running, example, 'Click: change a value');
    await debug.next('Changed');
    expect(role?.text('description')).not.toBe(before);
    await inject(running, example, 'Click: what was changed');
    // When, by which node and flow, for whom, and what, as the comment of the flow says.
    const at = String.raw`^\d{4}-\S+Z`;
    const entryOf = (node: string, actor: string, operation: string): RegExp =>
      new RegExp(String.raw`${at} {2}${node} \(\w+\) in Undo a change \(\w+\) {2}${actor} {2}${operation} {2}\S+/Users {2}done$`, 'm');
    expect(await debug.next('Entries')).toMatch(entryOf('Change the role', 'you', 'config.update'));
    await inject(running, example, 'Click: undo it');
    expect(await debug.next('Undone')).toMatch(/^Undid 1 of 1 writes/);
    expect(role?.text('description')).toBe(before);
    await inject(running, example, 'Click: undo it');
    expect(await debug.next('Why it failed')).toMatch(/^Somebody has changed \S+\/Users since this write\. Nothing was restored\./);
    expect(role?.text('description')).toBe(before);
    await inject(running, example, 'Click: what was changed');
    expect(await debug.next('Entries')).toMatch(entryOf('Put it back', 'nobody named', 'journal.undo'));
    await inject(running, example, 'Click: verify');
    // Other examples use the same journal.
    expect(await debug.next('Verified')).toMatch(/^The journal is intact\. Entries: \d+, files: 1\.$/);
  },
};
