import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Settings } from '../../src/model/settings';
import type { Simulator, SimulatorOptions } from '../../src/simulator';

/** How a sample of what an operation gives comes about. */
export interface Run {
  /** What is given; absent = the operation's own example. A folder stands in for what the dialog names. */
  readonly input?: Readonly<Record<string, unknown>> | ((simulator: Simulator) => Readonly<Record<string, unknown>>);
  readonly simulator?: SimulatorOptions;
  readonly settings?: () => Partial<Settings>;
  /** Of an object that tells of this machine, what is the same on all. */
  readonly keys?: readonly string[];
  /** Operations that have to be run before, with their input. */
  readonly first?: readonly [name: string, input: Readonly<Record<string, unknown>>][];
}

/** A folder that goes with the test. */
export function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-demo-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const ROLE = { path: 'users/user-roles/user-role/Users' };
const AD = { server: 'Corp AD', directory: 'ad' };
const USER = { server: 'System Local', username: 'contractor1' };
const CLIENT = { name: 'Switch 3/1', client: { name: 'Switch 3/1', 'location-group': 'Default' } };
const DOE = { 'active-user-name': 'j.doe', 'source-ip': '198.51.100.7' };
const SERVER: SimulatorOptions = { role: 'license-server' };
const journal = { settings: () => ({ journal: place() }), first: [['users.disable', USER]] } satisfies Run;
const inFolder = (input: Record<string, unknown> = {}) => ({ input: () => ({ folder: place(), ...input }) });
const signedIn = (input: (ids: string[]) => Record<string, unknown>) => ({
  input: ({ state }: Simulator) => input([1, 2].map(() => state.sessions.add(DOE))),
});

/** How to run an operation for its sample. An operation without an entry runs with its own example. */
export const runs: Record<string, Run> = {
  'config.get': { input: ROLE },
  'config.ensure': { input: { ...ROLE, body: { description: 'Day shift' } } },
  'config.ensure-all': { input: { resources: [{ ...ROLE, body: { description: 'Day shift' } }] } },
  'users.get': { input: USER },
  'users.ensure': { input: { ...USER, fullname: 'Carla M. Contractor' } },
  'groups.list': { input: AD },
  'groups.ensure': { input: { ...AD, groups: [{ name: 'VPN Users', group: 'CORP\\VPN Users' }] } },
  'policy.get-radius-client': { input: { name: 'Switch 3/1' }, first: [['policy.set-radius-client', CLIENT]] },
  'policy.ensure-radius-client': { input: CLIENT },
  'sessions.kill': signedIn((ids) => ({ 'session-id': ids })),
  'sessions.kill-user': signedIn(() => ({ name: 'j.doe' })),
  'sessions.kill-matching': signedIn(() => ({ filter: { 'source-ip': '198.51.100.7/32' } })),
  'license.lease-info': { simulator: SERVER },
  'license.list-named-users': { simulator: SERVER },
  'system.conformance': { keys: ['differences'] },
  'system.support-bundle': { keys: ['format', 'at', 'findings'] },
  'cluster.status': { simulator: { cluster: 'active-passive' } },
  'transfer.export-xml': { input: () => ({ file: join(place(), 'vpn-1.xml') }) },
  'transfer.export-binary': { input: () => ({ file: join(place(), 'vpn-1.bin') }) },
  'backup.run': inFolder(),
  'contain.contain': signedIn(() => ({ name: 'j.doe' })),
  'snapshot.take': inFolder({ path: 'users/user-roles' }),
  'journal.list': { ...journal, input: {} },
  'journal.verify': journal,
  'login.resume': { simulator: { secondFactor: { password: '123456' } }, settings: () => ({ secondFactor: 'flow' }) },
};
