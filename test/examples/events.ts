import { expect } from 'vitest';
import { issueCertificate } from '../../src/simulator';
import { authority, inject, type Outcomes, type Running } from './running';
import { eventually } from '../helpers/eventually';

const CLICK = 'Click: look now';

/** Flows that start by themselves. */
export const events: Outcomes = {
  'New session from a foreign network.json': async (running, example) => {
    const { simulator, debug } = running;
    const { sessions } = simulator.state;
    await look(running, example, ({ path }) => path.includes('/active-users'));
    const ids = ['10.1.2.3', '2001:db8::7', '198.51.100.200'].map((address) =>
      sessions.add({ 'active-user-name': 'traveler', 'source-ip': address }),
    );
    await inject(running, example, CLICK);
    // Sessions from our networks are not shown; others may have started since the examples began.
    let shown: string;
    do shown = (await debug.next('From elsewhere')) as string;
    while (!shown.startsWith('traveler'));
    expect(shown).toBe('traveler is signed in from 198.51.100.200.');
    for (const id of ids) sessions.end(id);
  },

  'Report each change of the configuration.json': async (running, example) => {
    const { simulator, debug } = running;
    await inject(running, example, CLICK);
    await debug.next('Checked', 20_000);
    const role = simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.get('Users');
    const { description = '' } = Object.fromEntries(role?.values ?? []) as { description?: string };
    role?.values.set('description', 'changed by somebody');
    await inject(running, example, CLICK);
    // Changes by other examples were reported before.
    let shown: string;
    do shown = (await debug.next('Mail of the change', 20_000)) as string;
    while (!shown.includes('by somebody'));
    expect(shown).toMatch(/^vpn-1 differs from the last check: [^]*user-role\/Users\n {4}description: .* → "changed by somebody"/);
    role?.values.set('description', description);
  },

  'Health and licenses to a chat channel.json': async (running, example) => {
    const { debug, appliances } = running;
    const server = appliances.get('license-1');
    if (!server) throw new Error('There is no license server.');
    const { sessions } = server.state;
    await look({ ...running, simulator: server }, example, ({ path }) => path.includes('healthcheck') || path.includes('lease'), 2);
    const channel = () => debug.next('To the channel');
    const ids = Array.from({ length: 500 }, () => sessions.add());
    server.fault({ match: ({ path }) => path.includes('lease'), body: (text) => text.replace('"total-count":1000', '"total-count":320') });
    await inject(running, example, CLICK);
    expect([await channel(), await channel()].sort()).toEqual([
      expect.stringMatching(/^license-1: Concurrent Users: 93\.8 % are leased, over the limit of 90\.$/) as unknown,
      expect.stringMatching(/^license-1: USER-COUNT is 5\d\d, over the limit of 500\.$/) as unknown,
    ]);
    for (const id of ids) sessions.end(id);
    await inject(running, example, CLICK);
    expect([await channel(), await channel()].sort()).toEqual([
      'license-1: Concurrent Users: 30 % are leased, back below 85.',
      expect.stringMatching(/^license-1: USER-COUNT is \d+, back below 450\.$/) as unknown,
    ]);
  },

  'Certificate expires soon.json': async (running, example) => {
    const { simulator, debug } = running;
    const { csrs } = simulator.state.certificates;
    const { after } = await renewed(running, example);
    expect(await debug.next('Mail to who signs')).toMatchObject({
      topic: 'The certificate of vpn-1 ends in 20 days',
      payload: expect.stringMatching(/ends in 20 days\.\nA request was created: csr-1-vpn\.example\.com\./) as unknown,
    });
    expect([...csrs.values()]).toEqual(['vpn.example.com']);
    csrs.clear();
    simulator.replaceCertificate(authority);
    await inject(running, example, CLICK);
    expect(await debug.next('Renewed')).toMatch(new RegExp(`in place of ${after}\\.$`));
  },
};

/** Serves a new certificate of the same authority for 20 days; two events follow: renewed, then expires. */
async function renewed(running: Running, example: string): Promise<{ after: string }> {
  const { simulator, debug } = running;
  let handshakes = 0;
  simulator.onHandshake(() => handshakes++);
  await inject(running, example, CLICK);
  await eventually(() => expect(handshakes).toBeGreaterThan(0));
  simulator.replaceCertificate(issueCertificate(authority, { days: 20.5 }));
  await inject(running, example, CLICK);
  const [, after = ''] = /^The appliance serves the certificate (\S+) in place of /.exec(String(await debug.next('Renewed'))) ?? [];
  return { after };
}

/** Waits for the first check of a watch, which sends no events. */
async function look({ simulator, ...running }: Running, example: string, match: (request: { path: string }) => boolean, times = 1): Promise<void> {
  const asked = () => simulator.requests.filter((request) => match(request) && request.status === 200).length;
  const before = asked();
  await inject({ simulator, ...running }, example, CLICK);
  await eventually(() => expect(asked()).toBeGreaterThanOrEqual(before + times));
}
