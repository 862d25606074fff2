import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findPlanId } from '../approval';
import { inject, type Running } from '../running';
import { eventually } from '../../helpers/eventually';

/** One task of the cookbook: the button to press and the expected effect. */
export interface Recipe {
  /** The file name, for `readExample`. */
  readonly flow: string;
  /** The page shows the messages before and after this node. */
  readonly node: string;
  /** Index of the output message that the page shows; default: the first. */
  after?(message: { readonly appliance?: unknown }): boolean;
  /** Prepares the state that the task describes. */
  prepare?(running: Running): void;
  press(running: Running, flow: string): Promise<void>;
  check(running: Running): Promise<void> | void;
}

const cookbook = (slug: string): string => `docs/cookbook/${slug}.json`;
const places = ({ folder }: Running): string => join(folder, '..');
const local = ({ simulator }: Running) =>
  simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user').items;
const mapping = (running: Running, name: string) =>
  running.appliances
    .get(name)
    ?.state.configuration.collection('users', 'user-realms', 'realm')
    .items.get('Employees')
    ?.resource('role-mapping-rules').values;
const leavers = (running: Running): string[] =>
  [...local(running)].flatMap(([name, user]) => (/^\w+\.\w+$/.test(name) && user.text('enabled') === 'true' ? [name] : [])).slice(0, 20);

/** A user who has just signed in. */
let fresh = '';
let gone: string[] = [];

export const recipes: Record<string, Recipe> = {
  'three-appliances': {
    flow: cookbook('three-appliances'),
    node: 'System of each',
    // Any of the three appliances can answer first.
    after: ({ appliance }) => appliance === 'vpn-1',
    press: (running, flow) => inject(running, flow, 'Click: ask all three'),
    check: async ({ debug }) => {
      const told = (await debug.next('Releases')) as string[];
      expect(told).toEqual(['gateway-1', 'vpn-2', 'vpn-3'].map((name) => expect.stringMatching(`^${name} has \\S+$`) as unknown));
    },
  },
  'shared-address': {
    flow: cookbook('shared-address'),
    node: 'All sessions',
    prepare: ({ simulator: { state } }) => {
      for (const name of ['lent', 'lender', 'lender']) state.sessions.add({ 'active-user-name': name, 'source-ip': '192.0.2.44' });
    },
    press: (running, flow) => inject(running, flow, 'Click: who shares an address?'),
    check: async ({ debug }) => {
      const shared = (await debug.next('Shared addresses')) as { address: string; users: string[] }[];
      expect(shared.find(({ address }) => address === '192.0.2.44')?.users).toEqual(['lent', 'lender']);
      for (const { users } of shared) expect(users.length).toBeGreaterThan(1);
    },
  },
  'disable-from-csv': {
    flow: cookbook('disable-from-csv'),
    node: 'Disable them',
    prepare: (running) => {
      gone = leavers(running);
      expect(gone).toHaveLength(20);
      writeFileSync(join(places(running), 'leavers.csv'), ['username,department', ...gone.map((name) => `${name},Sales`), ''].join('\r\n'));
    },
    press: (running, flow) => inject(running, flow, 'Click: disable them', { filename: join(places(running), 'leavers.csv') }),
    check: async (running) => {
      expect(await running.debug.next('In a sentence')).toMatch(/^Disabled 20 of 20 users: .+ \(\+17\)\.$/);
      expect(gone.map((name) => local(running).get(name)?.text('enabled'))).toEqual(gone.map(() => 'false'));
    },
  },
  'license-report': {
    flow: 'Report the license leases.json',
    node: 'Read the leases',
    press: (running, flow) => inject(running, flow, 'Every Monday at 7'),
    check: async ({ debug }) => expect(await debug.next('Report')).toContain('Concurrent Users: 300 of 1000 (30 %)'),
  },
  'configuration-changes': {
    flow: 'Mail what has changed.json',
    node: 'Compare with it',
    prepare: ({ simulator }) => {
      simulator.state.configuration.resource('system', 'configuration', 'date-and-time').values.set('time-zone', 'Europe/Berlin');
    },
    press: async (running, flow) => {
      const accepted = join(places(running), 'accepted-for-cookbook');
      await inject(running, flow, 'Click: this is how it should be', { accepted });
      await running.debug.next('Accepted');
      running.simulator.state.configuration.resource('system', 'configuration', 'date-and-time').values.set('time-zone', 'Europe/Rome');
      await inject(running, flow, 'Every hour', { accepted });
    },
    check: async ({ debug }) =>
      expect(await debug.next('Mail')).toMatchObject({
        topic: 'The configuration of vpn-1 has changed',
        payload: expect.stringContaining('time-zone: "Europe/Berlin" → "Europe/Rome"') as unknown,
      }),
  },
  'copy-role-mapping': {
    flow: cookbook('copy-role-mapping'),
    node: 'Make it so',
    prepare: (running) => {
      mapping(running, 'vpn-1')?.set('rule', [
        { name: 'Everybody', roles: ['Users'], 'stop-rules-processing': 'true', group: { 'group-names': ['Domain Users'] } },
      ]);
      expect(mapping(running, 'vpn-2')?.get('rule')).not.toEqual(mapping(running, 'vpn-1')?.get('rule'));
    },
    press: (running, flow) => inject(running, flow, 'Click: copy it'),
    check: async (running) => {
      expect(await running.debug.next('What changed')).toMatchObject([{ field: '/rule' }]);
      expect(mapping(running, 'vpn-2')?.get('rule')).toEqual(mapping(running, 'vpn-1')?.get('rule'));
    },
  },
  'rotate-certificate': {
    flow: 'Rotate the device certificate.json',
    node: 'Create the request',
    press: (running, flow) => inject(running, flow, '1. Click: ask for a certificate'),
    check: async ({ debug, simulator }) => {
      expect(await debug.next('What to do next')).toContain('The request is called');
      expect([...simulator.state.certificates.csrs.values()]).toEqual(['vpn.example.com']);
    },
  },
  'block-address': {
    flow: cookbook('block-address'),
    node: 'Block it for an hour',
    prepare: ({ simulator }) => {
      simulator.state.sessions.add({ 'active-user-name': 'intruder', 'source-ip': '203.0.113.99' });
    },
    press: (running, flow) => inject(running, flow, 'Click: block it', { address: '203.0.113.99' }),
    check: async (running) => {
      const { simulator, debug } = running;
      expect(await debug.next('Blocked')).toMatch(/^Contained .*sessions ended: 1, accounts disabled: 0\.$/);
      const again = simulator.state.sessions.add({ 'active-user-name': 'intruder', 'source-ip': '203.0.113.99' });
      expect(await debug.next('Ended again', 30_000)).toMatch(/^Ended the new session of \S+ from 203\.0\.113\.99\.$/);
      expect(simulator.state.sessions.has(again)).toBe(false);
      await inject(running, cookbook('block-address'), 'Click: release it', { address: '203.0.113.99' });
      expect(await debug.next('Released')).toMatch(/^Released .* no account had to be enabled\.$/);
    },
  },
  retry: {
    flow: cookbook('retry'),
    node: 'All sessions',
    prepare: ({ simulator }) =>
      // Each try of the flow is three tries of the node.
      simulator.fault({ match: ({ path }) => path.includes('active-users?number'), cut: 'before-headers', times: 6 }),
    press: (running, flow) => inject(running, flow, 'Click: list the sessions', { pause: 10 }),
    check: async ({ debug }) => {
      expect(await debug.next('Sessions', 20_000)).toMatch(/^\d+ sessions on \S+\.$/);
      expect(debug.shown.filter(({ name }) => name === 'Given up')).toEqual([]);
    },
  },
  approval: {
    flow: 'Approve a change on a page.json',
    node: 'End the sessions, if approved',
    press: (running, flow) => inject(running, flow, 'Click: end sessions'),
    check: async ({ debug, simulator, nodeRed }) => {
      await debug.next('To approve');
      const page = await (await fetch(`${nodeRed.url}/approvals`)).text();
      expect(simulator.state.sessions.findNumbers({ name: 'j.doe', prefix: false })).toHaveLength(3);
      await fetch(`${nodeRed.url}/approvals`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ id: findPlanId(page), decision: 'approve' }),
      });
      await debug.next('Done');
      expect(simulator.state.sessions.findNumbers({ name: 'j.doe', prefix: false })).toEqual([]);
    },
  },
  'audit-configuration': {
    flow: 'Remove unused roles, with approval.json',
    node: 'Audit',
    press: (running, flow) => inject(running, flow, '1. Click: which roles are unused?'),
    check: async ({ debug }) => {
      expect(await debug.next('Unused roles')).toBe('Intranet, Unused');
    },
  },
  'audit-log': {
    flow: cookbook('audit-log'),
    node: 'Since yesterday',
    press: async (running, flow) => {
      await inject(running, 'Undo a change.json', 'Click: change a value');
      await running.debug.next('Changed');
      await inject(running, flow, 'Every night at 1', { filename: join(places(running), 'audit.csv') });
    },
    check: async ({ debug }) => {
      expect(await debug.next('Added')).toMatch(
        /^\d{4}-\S+Z,you,config\.update,\/api\/v1\/configuration\/users\/user-roles\/user-role\/Users,yes\r?\n?$/,
      );
    },
  },
  'curl-as-flows': {
    flow: cookbook('curl-as-flows'),
    node: 'Read it',
    press: (running, flow) => inject(running, flow, 'curl …/system/system-information'),
    check: async (running) => {
      const { debug, simulator } = running;
      expect(await debug.next('System')).toMatchObject({ 'system-information': { 'host-name': 'gateway-1' } });
      await inject(running, cookbook('curl-as-flows'), 'curl -X PUT …/user-role/Users/description');
      expect(await debug.next('Changed')).toMatch(/^Updated /);
      expect(simulator.state.configuration.collection('users', 'user-roles', 'user-role').items.get('Users')?.text('description')).toBe(
        'By curl, once',
      );
      await inject(running, cookbook('curl-as-flows'), 'curl -X POST …/localbackup');
      expect(await debug.next('Posted')).toBe('Sent a POST to system/maintenance/archiving/localbackup.');
    },
  },
  'end-old-sessions': {
    flow: cookbook('end-old-sessions'),
    node: 'End what is old',
    prepare: ({ simulator: { state } }) => {
      fresh = state.sessions.add({ 'active-user-name': 'fresh', 'sign-in-time-micro': `${Math.floor(Date.now() / 1000)}.000000` });
      expect(state.sessions.count).toBeGreaterThan(30);
    },
    press: (running, flow) => inject(running, flow, 'Every hour'),
    check: async ({ debug, simulator: { state } }) => {
      expect(await debug.next('What was done')).toMatch(/^Ended (\d+) of \1 matching sessions: .+\(\+\d+\)\.$/);
      expect(state.sessions.ids()).toEqual([fresh]);
    },
  },
  'drain-member': {
    flow: cookbook('drain-member'),
    node: 'End what is left',
    prepare: ({ simulator: { state } }) => {
      for (const [name, node] of [
        ['stays', 'gateway-1-b'],
        ['here', 'gateway-1'],
        ['here too', 'gateway-1'],
      ])
        state.sessions.add({ 'active-user-name': name ?? '', 'login-node': node ?? '' });
    },
    press: (running, flow) => inject(running, flow, 'Click: drain it', { delay: 10 }),
    check: async ({ debug, simulator: { state } }) => {
      await debug.next('What was done');
      expect(state.cluster?.vipOwner).toBe('gateway-1-b');
      const left = state.sessions.findNumbers().map((index) => state.sessions.record(index)['login-node']);
      await eventually(() => expect(new Set(left)).toEqual(new Set(['gateway-1-b'])));
    },
  },
};
