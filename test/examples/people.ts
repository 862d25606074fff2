import { expect } from 'vitest';
import { inject, writes, type Outcomes, type Running } from './running';

const localUsers = ({ simulator }: Running) =>
  simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user').items;

const sessionsOf = ({ simulator: { state } }: Running, user: string): number =>
  state.sessions.findNumbers().filter((index) => state.sessions.record(index)['active-user-name'] === user).length;

const DAY_MS = 86_400_000;
const day = (fromToday: number): string => new Date(Date.now() + fromToday * DAY_MS).toLocaleDateString('sv');

/** Users and the groups of a directory. */
export const people: Outcomes = {
  'Onboard a contractor.json': async (running, example) => {
    const { debug, simulator } = running;
    const users = localUsers(running);
    const click = 'Click: a new contractor';
    await inject(running, example, click);
    const account = (await debug.next('Give this to the contractor')) as string;
    const [, username = '', password] = /^Created (\S+) with the password ([\w-]{16})\.$/.exec(account) ?? [];
    const created = users.get(username);
    expect(created?.text('password-cleartext')).toBe(password);
    expect(created?.text('change-password-at-signin')).toBe('true');
    expect(created?.text('fullname')).toMatch(/^Chris Jones \(leaves \d{4}-\d{2}-\d{2}\)$/);

    for (const leaves of [undefined, 'soon']) {
      await inject(running, example, click, { payload: { username: 'nobody', fullname: 'No Body', leaves } });
      expect(await debug.next('Not created')).toContain('No account was created');
    }
    expect(users.has('nobody')).toBe(false);

    for (const [username, leaves] of Object.entries({ 'goes today': day(0), stays: day(2) })) {
      await inject(running, example, click, { payload: { username, fullname: 'Ann (on loan)', leaves } });
      await debug.next('Give this to the contractor');
      simulator.state.sessions.add({ 'active-user-name': username });
    }
    await inject(running, example, 'Every evening');
    expect(await debug.next('Disabled')).toBe('Disabled goes today.');
    const enabled = ['goes today', 'stays', 'contractor1'].map((username) => users.get(username)?.text('enabled'));
    expect(enabled).toEqual(['false', 'true', 'true']);
    expect([sessionsOf(running, 'goes today'), sessionsOf(running, 'stays')]).toEqual([0, 1]);
  },

  'Offboard a user.json': async (running, example) => {
    const { debug, simulator } = running;
    const click = 'Click: somebody leaves';
    const user = 'jürgen.müller';
    for (const name of [user, 'from the directory']) simulator.state.sessions.add({ 'active-user-name': name });
    const open = sessionsOf(running, user);
    await inject(running, example, click);
    expect(await debug.next('Report')).toBe(`${user}: account disabled: yes; license taken back: yes; sessions ended: ${open} of ${open}.`);
    expect(localUsers(running).get(user)?.text('enabled')).toBe('false');
    expect(simulator.state.license.users.some((named) => named.user === user)).toBe(false);
    expect(sessionsOf(running, user)).toBe(0);

    await inject(running, example, click, { user: 'from the directory' });
    expect(await debug.next('Report')).toMatch(
      /^from the directory: account disabled: NO\. .*does not exist.*license taken back: NO\. .*does not exist.*sessions ended: 1 of 1\.$/,
    );
    expect(sessionsOf(running, 'from the directory')).toBe(0);
  },

  'Grant a directory group access to the catalog.json': async (running, example) => {
    const { debug } = running;
    await inject(running, example, 'Click: add the group');
    expect(await debug.next('What was done')).toBe('Added Remote Workers to Corp AD.');
    const now = 'The catalog has 4 groups: Domain Users, VPN Users, Gateway Admins, Remote Workers.';
    expect(await debug.next('The catalog now')).toBe(now);

    const before = writes(running);
    await inject(running, example, 'Click: add the group');
    expect(await debug.next('What was done')).toBe('All groups were in Corp AD already.');
    expect(await debug.next('The catalog now')).toBe(now);
    expect(writes(running)).toEqual(before);
  },
};
