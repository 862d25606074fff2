import { describe, expect, it } from 'vitest';
import { calls, failure, lines, pair, writes } from './library/appliance';

const SERVER = 'System Local';
const USER = '/api/v1/configuration/authentication/auth-servers/auth-server/System%20Local/local/users/user';

describe('local users', () => {
  it('are created with text where the flow gives booleans, and read back', async () => {
    const { simulator, gateway } = await pair();
    const input = {
      server: SERVER,
      username: 'Büro #1/EU',
      'password-cleartext': 'Start "1" & go',
      enabled: true,
      'one-time-use': 1,
      fullname: 'New',
    };
    const { envelope } = await gateway.run('users.create', input);
    expect(envelope).toMatchObject({ ok: true, changed: true });
    expect(JSON.parse(calls(simulator)[0]?.body ?? '')).toEqual({
      username: 'Büro #1/EU',
      'password-cleartext': 'Start "1" & go',
      enabled: 'true',
      'one-time-use': 'true',
      fullname: 'New',
    });
    const { data } = await gateway.run('users.get', { server: SERVER, username: 'Büro #1/EU' });
    expect(data).toMatchObject({ username: 'Büro #1/EU', enabled: 'true', 'one-time-use': 'true' });
    expect(lines(simulator).at(-1)).toBe(`GET ${USER}/B%C3%BCro%20%231%2FEU`);
  });

  it('keep what an update does not name', async () => {
    const { gateway } = await pair();
    const before = await gateway.run('users.get', { server: SERVER, username: 'contractor1' });
    await gateway.run('users.update', { server: SERVER, username: 'contractor1', fullname: '', 'console-access': 'true' });
    const after = await gateway.run('users.get', { server: SERVER, username: 'contractor1' });
    expect(after.data).toEqual({ ...(before.data as object), fullname: '', 'console-access': 'true' });
  });

  it.each(['update', 'enable', 'disable'])('are never created by %s', async (operation) => {
    const { simulator, gateway } = await pair();
    const error = await failure(gateway.run(`users.${operation}`, { server: SERVER, username: 'nobody' }));
    expect(error.code).toBe('NOT_FOUND');
    expect(writes(simulator)).toEqual([]);
  });

  it('are disabled, enabled and deleted', async () => {
    const { gateway } = await pair();
    const where = { server: SERVER, username: 'jürgen.müller' };
    await gateway.run('users.disable', where);
    expect((await gateway.run('users.get', where)).data).toMatchObject({ enabled: 'false' });
    await gateway.run('users.enable', where);
    expect((await gateway.run('users.get', where)).data).toMatchObject({ enabled: 'true' });
    await gateway.run('users.delete', where);
    expect((await failure(gateway.run('users.get', where))).code).toBe('NOT_FOUND');
  });

  it('are listed as an array, also when there is none', async () => {
    const { gateway } = await pair();
    const { data } = await gateway.run('users.list', { server: SERVER });
    expect((data as unknown[]).length).toBe(3);
    for (const username of ['contractor1', 'jürgen.müller', 'guest 50% / #1'])
      await gateway.run('users.delete', { server: SERVER, username });
    expect((await gateway.run('users.list', { server: SERVER })).data).toEqual([]);
  });

  it('say which field is wrong before anything is sent', async () => {
    const { simulator, gateway } = await pair();
    const wrong: [Record<string, unknown>, string][] = [
      [{ server: SERVER, username: 'a' }, 'password-cleartext'],
      [{ server: SERVER, username: 'a', 'password-cleartext': 'p', enabled: 'yes' }, 'enabled'],
      [{ server: SERVER, username: {}, 'password-cleartext': 'p' }, 'username'],
      [{ server: '', username: 'a', 'password-cleartext': 'p' }, 'server'],
      [{ server: SERVER, username: 'a', 'password-cleartext': 'p', color: 'red' }, 'color'],
    ];
    for (const [input, field] of wrong) {
      const error = await failure(gateway.run('users.create', input));
      expect([error.code, error.message]).toEqual(['BAD_INPUT', expect.stringContaining(field)]);
    }
    expect(simulator.requests).toEqual([]);
  });

  it('never give the password back, not even when the appliance quotes it', async () => {
    const { simulator, gateway } = await pair();
    const secret = 'grün & "geheim"';
    await gateway.run('system.info');
    simulator.fault({ status: 422, body: JSON.stringify({ result: { errors: [{ message: `password ${secret} is too weak` }] } }) });
    const error = await failure(gateway.run('users.create', { server: SERVER, username: 'a', 'password-cleartext': secret }));
    expect(error.code).toBe('REJECTED');
    expect(error.message).toContain('is too weak');
    expect(JSON.stringify([error.message, error.cause])).not.toContain('geheim');
    const planned = await gateway.run('users.create', { server: SERVER, username: 'a', 'password-cleartext': secret }, { dryRun: true });
    expect(planned.envelope.plan).toHaveLength(1);
    expect(JSON.stringify(planned)).not.toContain('geheim');
  });
});
