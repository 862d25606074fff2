import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { getThrownCode, gatewayFor, listRequestLines, startSimulatorWithGateway, USER_ROLES_PATH } from '../../helpers/simulated-appliance';
import { getClockValues, getResourcePolicies, getUserRoles, createTemporaryFolder, CONFIGURATION_PATH } from '../../helpers/snapshot';
import { createWatch, TestClock, startWatch } from '../../helpers/watch';

const TIME = `${CONFIGURATION_PATH}/system/configuration/date-and-time`;
const ntp = (before: string, after: string) => ({ path: TIME, field: '/ntp-server', before, after });
const changed = (what: object) => ({ event: 'changed', equal: false, added: [], removed: [], changed: [], ...what });

it('a watch of the configuration reports the same difference as snapshot.compare, once', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway({}, { name: 'vpn-1' });
  const { watcher, events, takePayloads, takeTopics, states } = await startWatch(gateway, { watch: 'configuration' });
  await watcher.check();
  expect([events, states.at(-1)]).toMatchObject([[], { state: 'checked', summary: { key: 'same' } }]);

  getClockValues(simulator).set('ntp-server', 'ntp.example.com');
  getUserRoles(simulator).items.delete('Unused');
  getUserRoles(simulator).add({ name: 'Night shift' });
  const reference = await gateway.run('snapshot.take');
  await watcher.check();
  expect(states.at(-1)).toMatchObject({ summary: { key: 'changed' } });
  expect(events[0]?.envelope).toMatchObject({
    ok: true,
    operation: 'snapshot.take',
    text: expect.stringMatching(/^vpn-1 differs from the last check: \d+ added, \d+ removed, 1 changed\.\n/) as unknown,
  });
  const [first] = takePayloads();
  const [added, removed] = [first?.added, first?.removed] as [string[], string[]];
  expect(first).toEqual(changed({ added, removed, changed: [ntp('pool.ntp.org', 'ntp.example.com')] }));
  expect(added).toContain(`${USER_ROLES_PATH}/Night%20shift`);
  expect(removed).toContain(`${USER_ROLES_PATH}/Unused`);

  // snapshot.compare reports the same difference.
  getClockValues(simulator).set('ntp-server', 'pool.ntp.org');
  const { data } = await gateway.run('snapshot.compare', { with: reference.data });
  await watcher.check();
  expect(takePayloads()).toEqual([{ event: 'changed', ...(data as object) }]);
  await watcher.check();
  expect(takeTopics()).toEqual([]);
});

it('a watch of the configuration reports only whether a secret exists, and writes no secret to disk', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const remember = join(createTemporaryFolder(), 'configuration.jsonl');
  const { watcher, takePayloads } = await startWatch(gateway, { watch: 'configuration', path: 'system', stateFile: remember });
  getClockValues(simulator).set('ntp-shared-secret', 'planted-secret');
  await watcher.check();
  expect(takePayloads()).toEqual([changed({ changed: [{ path: TIME, field: '/ntp-shared-secret', before: null, after: '***' }] })]);
  getClockValues(simulator).set('ntp-shared-secret', 'planted-other');
  await watcher.check();
  expect(takePayloads()).toEqual([]);
  expect(readFileSync(remember, 'utf8')).not.toContain('planted');
});

it('a watch of the configuration reads only the given path and skips ignored resources', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const before = listRequestLines(simulator).length;
  const { watcher, takePayloads } = await startWatch(gateway, { watch: 'configuration', path: 'system', ignore: ['log', 'ntp-*'] });
  const asked = listRequestLines(simulator).slice(before);
  expect(asked.filter((line) => !line.startsWith(`GET ${CONFIGURATION_PATH}/system`) || line.includes('/log'))).toEqual([]);
  getClockValues(simulator).set('ntp-server', 'ntp.example.com').set('time-zone', 'Europe/Rome');
  getUserRoles(simulator).items.delete('Unused');
  await watcher.check();
  expect(takePayloads()).toMatchObject([changed({ changed: [{ field: '/time-zone' }] })]);
});

it('a watch of the configuration restores its state, and reports once what changed since the last process', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway({ variants: { largeTree: 1200 } });
  const remember = join(createTemporaryFolder(), 'configuration.jsonl');
  const options = { watch: 'configuration', path: 'users/resource-policies', stateFile: remember } as const;
  const one = await startWatch(gateway, options);
  getResourcePolicies(simulator).items.get('Policy 000003')?.values.set('description', 'while it was watched');
  await one.watcher.check();
  expect(one.takePayloads()).toHaveLength(1);
  await one.watcher.close();
  // The state is split into several lines.
  const written = readFileSync(remember, 'utf8').split('\n');
  expect(written.length).toBeGreaterThan(4);

  getResourcePolicies(simulator).items.get('Policy 000004')?.values.set('description', 'while nobody watched');
  getResourcePolicies(simulator).items.delete('Policy 000005');
  for (const expected of [1, 0]) {
    const next = await startWatch(gateway, options);
    const told = next.takePayloads();
    expect(told).toHaveLength(expected);
    if (expected === 1)
      expect(told).toMatchObject([
        { removed: [expect.stringMatching(/Policy%20000005$/)], changed: [{ field: '/description', after: 'while nobody watched' }] },
      ]);
    expect(next.errors).toEqual([]);
    await next.watcher.close();
  }

  // A watch with other options starts over.
  getResourcePolicies(simulator).items.get('Policy 000006')?.values.set('description', 'again');
  const other = await startWatch(gateway, { ...options, ignore: ['comment'] });
  expect([other.takePayloads(), other.errors]).toEqual([[], []]);
});

it('a watch of the configuration treats resources that cannot be read as unchanged', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const { watcher, takePayloads } = await startWatch(gateway, { watch: 'configuration', path: 'users' });
  simulator.state.variants.forbiddenBranch = 'users/user-roles';
  await watcher.check();
  getUserRoles(simulator).add({ name: 'Night shift' });
  await watcher.check();
  expect(takePayloads()).toEqual([]);
  simulator.state.variants.forbiddenBranch = '';
  getUserRoles(simulator).items.get('Users')?.values.set('description', 'changed in the dark');
  await watcher.check();
  expect(takePayloads()).toEqual([
    changed({
      changed: [expect.objectContaining({ path: `${USER_ROLES_PATH}/Users`, field: '/description', after: 'changed in the dark' })],
    }),
  ]);
  // The new role is known from now on.
  getUserRoles(simulator).items.delete('Night shift');
  await watcher.check();
  expect(takePayloads()).toMatchObject([{ removed: expect.arrayContaining([`${USER_ROLES_PATH}/Night%20shift`]) as unknown }]);
});

it('a watch of the configuration reports an appliance that fails during a check, and then compares with the last complete check', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const { watcher, takeTopics, takePayloads } = await startWatch(gateway, { watch: 'configuration', path: 'users' });
  getClockValues(simulator).set('ntp-server', 'not of this part');
  getUserRoles(simulator).items.get('Users')?.values.set('description', 'meanwhile');
  simulator.fault({ match: ({ path }) => path.endsWith('/user-roles'), body: '<html>Maintenance</html>' });
  await watcher.check();
  expect(takeTopics()).toEqual(['configuration/unreachable']);
  await watcher.check();
  expect(takePayloads()).toMatchObject([{ event: 'reachable' }, { event: 'changed', removed: [], changed: [{ field: '/description' }] }]);
});

it('a watch of the configuration shares checks only with watches that have the same path and ignore rules', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const time = new TestClock();
  const part = { watch: 'configuration', path: 'system' } as const;
  const checks = (): number => listRequestLines(simulator).filter((line) => line === `GET ${CONFIGURATION_PATH}/system`).length;
  const one = await startWatch(gateway, part, time);
  await time.runNextTimer();
  const two = createWatch(gateway, part, time);
  await two.watcher.start();
  await time.runNextTimer();
  getClockValues(simulator).set('ntp-server', 'ntp.example.com');
  const before = checks();
  for (let check = 0; check < 3; check++) await time.runNextTimer();
  expect(checks() - before).toBe(3);
  expect([one.takeTopics(), two.takeTopics()]).toEqual([['configuration/changed'], ['configuration/changed']]);

  const other = await startWatch(gateway, { ...part, ignore: ['ntp-server'] }, time);
  getClockValues(simulator).set('ntp-server', 'pool.ntp.org');
  const earlier = checks();
  for (let check = 0; check < 2; check++) await time.runNextTimer(2);
  expect(checks() - earlier).toBe(2);
  expect([one.takeTopics(), two.takeTopics(), other.takeTopics()]).toEqual([['configuration/changed'], ['configuration/changed'], []]);
});

it('a watch of the configuration rejects an ignore rule that matches everything', () => {
  const gateway = gatewayFor({ url: 'https://127.0.0.1:1' });
  expect(getThrownCode(() => createWatch(gateway, { watch: 'configuration', ignore: ['*'] }))).toBe('BAD_INPUT');
});
