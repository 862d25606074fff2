import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Simulator } from '../../src/simulator';
import { failure, inject, type Outcomes, type Running } from './running';

const NAMES = ['vpn-1', 'vpn-2', 'vpn-3'];

/** Finds the appliance by its name. */
function named({ appliances }: Running, name: string): Simulator {
  const simulator = appliances.get(name);
  if (!simulator) throw new Error(`The demo has no appliance ${name}`);
  return simulator;
}

const dateAndTime = (simulator: Simulator) => simulator.state.configuration.resource('system', 'configuration', 'date-and-time');
const users = (simulator: Simulator) =>
  simulator.state.configuration.collection('authentication', 'auth-servers', 'auth-server', 'System Local', 'local', 'users', 'user').items;
const fullname = (simulator: Simulator): string | undefined => users(simulator).get('contractor1')?.text('fullname');

/** Collects the next messages of one debug node. */
async function several<T>({ debug }: Running, name: string, count: number): Promise<T[]> {
  const all: T[] = [];
  while (all.length < count) all.push((await debug.next(name)) as T);
  return all;
}

/** Imports, exports and backups. */
export const backups: Outcomes = {
  'Nightly backup of three appliances.json': async (running, example) => {
    // Other examples also make backups.
    const folder = join(running.folder, 'nightly');
    mkdirSync(folder);
    const night = (values?: Record<string, unknown>): Promise<void> =>
      inject(running, example, 'Every night at 2', values ?? { folder });
    const nothingElse = (): void =>
      expect(running.debug.shown.filter(({ name }) => ['Backed up', 'Changed since yesterday', 'Mail'].includes(name))).toEqual([]);
    await night();
    for (const line of await several<string>(running, 'Backed up', 3)) expect(line).toMatch(/^vpn-[123]: vpn-[123]_\S+\.xml\.gz \(\d+ kB\)$/);
    for (const name of NAMES) expect(readdirSync(folder).filter((file) => file.startsWith(name))).toHaveLength(2);
    // The first backup does not count as a change.
    nothingElse();

    users(named(running, 'vpn-2')).get('contractor1')?.values.set('fullname', 'Changed');
    await night();
    await several(running, 'Backed up', 3);
    expect(await running.debug.next('Changed since yesterday')).toMatch(/^The backup vpn-2_\S+ differs from vpn-2_/);
    nothingElse();

    named(running, 'vpn-3').fault({ match: ({ path }) => path.endsWith('export-xml'), body: '<html>Maintenance</html>' });
    await night();
    await several(running, 'Backed up', 2);
    const { topic, payload } = (await running.debug.next('Mail')) as { topic: string; payload: string };
    expect(topic).toBe('The backup of vpn-3 FAILED');
    expect(payload).toMatch(/^The backup of vpn-3 FAILED\.[^]*page of HTML[^]*\(BAD_RESPONSE\)/);
    expect(readdirSync(folder).filter((file) => file.startsWith('vpn-3'))).toHaveLength(4);

    await night({ folder: `${folder}/missing` });
    for (const mail of await several<{ payload: string }>(running, 'Mail', 3)) expect(mail.payload).toContain('does not exist');
    nothingElse();
  },

  'Restore a backup.json': async (running, example) => {
    const { debug, folder, simulator } = running;
    const restore = '3. Click: restore it';
    await inject(running, example, restore);
    expect(await debug.next('Restored')).toContain('Click 2 first');

    await inject(running, 'Nightly backup of three appliances.json', 'Every night at 2', { folder });
    await several(running, 'Backed up', 3);
    const before = fullname(simulator);
    users(simulator).get('contractor1')?.values.set('fullname', 'By mistake');

    await inject(running, example, '1. Click: list the backups', { folder });
    const list = (await debug.next('Backups')) as string[];
    expect(list.filter((line) => line.startsWith('vpn-1_'))[0]).toMatch(/^vpn-1_\S+: \S+Z, release \S+, \d+ kB$/);

    await inject(running, example, '2. Click: check one', { folder, payload: list.find((line) => line.startsWith('vpn-2'))?.split(':')[0] });
    expect(await failure(running)).toContain('it is from the appliance');
    await inject(running, example, '2. Click: check one', { folder });
    expect(await debug.next('Are you sure?')).toMatch(/^vpn-1_\S+ is whole and belongs to vpn-1\. Click 3 within ten minutes/);
    expect(fullname(simulator)).toBe('By mistake');

    await inject(running, example, restore);
    expect(await debug.next('Restored')).toMatch(/^vpn-1 has the configuration of vpn-1_\S+ again\. Before, it was as in vpn-1_/);
    expect(fullname(simulator)).toBe(before);
    await inject(running, example, restore);
    expect(await debug.next('Restored')).toContain('Click 2 first');
  },

  'Change one value by export and import.json': async (running, example) => {
    const { debug, simulator } = running;
    const click = 'Click: change it';
    const password = users(simulator).get('contractor1')?.text('password-cleartext');
    for (const [element, times] of [
      ['nothing-of-this-name', 'is there 0 times'],
      ['fullname', 'times, not once'],
    ] as const) {
      await inject(running, example, click, { element });
      expect(await failure(running)).toContain(times);
    }
    await inject(running, example, click, { value: 'a & b <c>' });
    expect(await debug.next('Imported')).toBe('ntp-server was pool.ntp.org, and is a & b <c> now.');
    expect(dateAndTime(simulator).text('ntp-server')).toBe('a & b <c>');
    // Everything else is unchanged, also secrets.
    expect(users(simulator).get('contractor1')?.text('password-cleartext')).toBe(password);
    await inject(running, example, click);
    await debug.next('Imported');
    expect(dateAndTime(simulator).text('ntp-server')).toBe('ntp.example.com');
    await inject(running, example, click);
    expect(await failure(running)).toContain('is ntp.example.com already');
  },

  'Copy a configuration to a second appliance.json': async (running, example) => {
    const { debug, folder, simulator } = running;
    const second = named(running, 'vpn-2');
    users(simulator).get('contractor1')?.values.set('fullname', 'On both');
    dateAndTime(simulator).values.set('ntp-server', 'of the first alone');
    const own = dateAndTime(second).text('ntp-server');
    await inject(running, example, 'Click: copy it', { folder });
    expect(await debug.next('Copied')).toMatch(/^vpn-2 has the configuration now\. Before, it was as in vpn-2_/);
    expect([fullname(second), dateAndTime(second).text('ntp-server')]).toEqual(['On both', own]);
    expect(users(second).get('contractor1')?.text('password-cleartext')).toBe(users(simulator).get('contractor1')?.text('password-cleartext'));
  },
};
