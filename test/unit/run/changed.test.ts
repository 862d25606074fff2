import { describe, expect, it } from 'vitest';
import { fetchJournalEntries, startWithJournal } from '../../helpers/journal';
import { startSimulatorWithGateway } from '../../helpers/simulated-appliance';

const ROLE = 'users/user-roles/user-role/Users';
const SERVER = 'System Local';
const USER_PATH = 'authentication/auth-servers/auth-server/System%20Local/local/users/user/contractor1';
const USER = { server: SERVER, username: 'contractor1' };

describe('envelope.changed', () => {
  it.each<[string, string, Record<string, unknown>, boolean | null]>([
    ['a plain update', 'config.update', { path: ROLE, body: { description: 'x' } }, null],
    ['an update of a field', 'config.update', { path: `${ROLE}/description`, body: { description: 'x' } }, null],
    ['a creation', 'config.create', { path: 'users/user-roles/user-role', body: { name: 'New' } }, true],
    ['a deletion', 'config.delete', { path: USER_PATH }, true],
    ['a request that the description does not explain', 'request.put', { path: `configuration/${ROLE}`, body: { description: 'x' } }, null],
    ['a DELETE of any path', 'request.delete', { path: `configuration/${USER_PATH}` }, true],
    ['an action', 'cluster.failover', {}, true],
    ['an update of a user that was read and differs', 'users.update', { ...USER, fullname: 'Other' }, true],
    ['a new password', 'users.update', { ...USER, 'password-cleartext': 'Start-1-go' }, null],
    ['a disabled user', 'users.disable', USER, true],
    ['an enabled user that was enabled', 'users.enable', USER, false],
    ['several users, of which one differs', 'users.enable', { server: SERVER, username: ['contractor1'] }, false],
    ['a resource that differs from the given values', 'config.ensure', { path: ROLE, body: { description: 'x' } }, true],
  ])('envelope.changed of %s (%s) is true only if a difference is known', async (_what, operation, input, changed) => {
    const { gateway } = await startSimulatorWithGateway({ cluster: 'active-passive' });
    const { envelope } = await gateway.run(operation, input);
    expect(envelope).toMatchObject({ ok: true, changed });
    expect(envelope).not.toHaveProperty('unknown');
  });

  it('envelope.changed of a simple update is exact with a journal, because the journal compares the states before and after', async () => {
    const { gateway } = await startWithJournal();
    const update = async () => (await gateway.run('config.update', { path: ROLE, body: { description: 'x' } })).envelope.changed;
    expect([await update(), await update()]).toEqual([true, false]);
    expect(await fetchJournalEntries(gateway)).toMatchObject([{ changed: false }, { changed: true }]);
  });
});
