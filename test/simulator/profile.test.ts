import { describe, expect, it } from 'vitest';
import { gatewayFor, startTestSimulator } from '../helpers/simulated-appliance';

const SESSIONS = '/api/v1/system/active-users';
const RECORD = 'active-users/active-user-records/active-user-record/[]';
const read = (path: string, keys: Record<string, string>, status = 200) => ({ method: 'GET', path, status, body: 'json', keys });
const createProfile = (more: object = {}) => ({
  format: 'gateway-profile/1',
  release: '22.8R1',
  variants: {},
  endpoints: [],
  times: {},
  ...more,
});

describe('the simulator with a profile', () => {
  it('the simulator refuses a profile that it cannot use, and explains why in one sentence', async () => {
    const cases: [string | object, RegExp][] = [
      [{ format: 'gateway-profile/2' }, /must be an object with the format "gateway-profile\/1"/],
      [createProfile({ variants: [] }), /needs "variants"/],
      [createProfile({ variants: { deadKeyStatus: 200 } }), /a value of the variant "deadKeyStatus" that does not exist/],
      [createProfile({ endpoints: [{ method: 'GET', path: '/x' }] }), /needs "path", "status" and "keys"/],
      ['/nowhere/profile.json', /cannot be read/],
    ];
    for (const [profile, message] of cases) await expect(startTestSimulator({ profile })).rejects.toThrow(message);
  });

  it('the simulator takes variants, release, vendor and brand from the profile, unless an option overrides them', async () => {
    const endpoints = [
      read('/api/v1/configuration/uac', { 'zenith-enforcer': 'object', 'host-enforcer': 'object' }),
      read(SESSIONS, { [`${RECORD}/nova-client-version`]: 'text' }),
    ];
    const profile = createProfile({ variants: { deadKeyStatus: 403, totals: 'text', futureVariant: 7 }, endpoints });
    const { state } = await startTestSimulator({ profile, variants: { totals: 'number' } });
    expect(state.variants).toMatchObject({ deadKeyStatus: 403, totals: 'number' });
    expect(state.settings).toMatchObject({ vendor: 'zenith', brand: 'Nova', sessions: 25 });
    expect(state.system.release).toBe('22.8R1');
  });

  it('a simulator with a profile without sessions has no signed-in user', async () => {
    const profile = createProfile({ endpoints: [read(SESSIONS, { 'active-users/total-matched-record-number': 'number' })] });
    expect((await startTestSimulator({ profile })).state.settings.sessions).toBe(0);
    expect((await startTestSimulator({ profile, sessions: 3 })).state.settings.sessions).toBe(3);
  });

  it('the simulator uses the keys, kinds and statuses of the profile, but its own values', async () => {
    const endpoints = [
      read('/api/v1/cluster', { name: 'text', 'members/[]/name': 'text', 'members/[]/enabled': 'boolean', members: 'array' }),
      read('/api/v1/license/named-users', {}, 403),
      read(SESSIONS, {
        'active-users/active-user-records': 'object',
        [RECORD]: 'object',
        [`${RECORD}/session-id`]: 'text',
        [`${RECORD}/extra`]: 'number|text?',
      }),
    ];
    const gateway = gatewayFor(await startTestSimulator({ profile: createProfile({ endpoints }), sessions: 4 }));
    const member = { name: '-', enabled: false };
    expect((await gateway.run('cluster.status')).data).toEqual({ name: '-', members: [member, member, member, member] });
    await expect(gateway.run('license.list-named-users')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    const { data } = await gateway.run('sessions.list');
    const records = data as { extra?: unknown }[];
    expect(records.map(({ extra }) => typeof extra)).toEqual(['number', 'string', 'undefined', 'number']);
  });
});
