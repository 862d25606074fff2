import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { codeOf, gatewayFor, lines, pair, ROLES } from './library/appliance';
import { clock, policies, roles, temporaryFolder, TREE } from './library/snapshot';
import { newWatch, TestClock, watch } from './library/watch';

const TIME = `${TREE}/system/configuration/date-and-time`;
const ntp = (before: string, after: string) => ({ path: TIME, field: '/ntp-server', before, after });
const changed = (what: object) => ({ event: 'changed', equal: false, added: [], removed: [], changed: [], ...what });

it('tells what compare with the last check tells, once, and nothing of what stays', async () => {
  const { simulator, gateway } = await pair({}, { name: 'vpn-1' });
  const { watcher, events, told, topics, states } = await watch(gateway, { watch: 'configuration' });
  await watcher.check();
  expect([events, states.at(-1)]).toMatchObject([[], { state: 'seen', seen: { key: 'same' } }]);

  clock(simulator).set('ntp-server', 'ntp.example.com');
  roles(simulator).items.delete('Unused');
  roles(simulator).add({ name: 'Night shift' });
  const reference = await gateway.run('snapshot.take');
  await watcher.check();
  expect(states.at(-1)).toMatchObject({ seen: { key: 'changed' } });
  expect(events[0]?.envelope).toMatchObject({
    ok: true,
    operation: 'snapshot.take',
    text: expect.stringMatching(/^vpn-1 differs from the last check: \d+ added, \d+ removed, 1 changed\.\n/) as unknown,
  });
  const [first] = told();
  const [added, removed] = [first?.added, first?.removed] as [string[], string[]];
  expect(first).toEqual(changed({ added, removed, changed: [ntp('pool.ntp.org', 'ntp.example.com')] }));
  expect(added).toContain(`${ROLES}/Night%20shift`);
  expect(removed).toContain(`${ROLES}/Unused`);

  // The same that compare says of what was before, the other way round.
  clock(simulator).set('ntp-server', 'pool.ntp.org');
  const { data } = await gateway.run('snapshot.compare', { with: reference.data });
  await watcher.check();
  expect(told()).toEqual([{ event: 'changed', ...(data as object) }]);
  await watcher.check();
  expect(topics()).toEqual([]);
});

it('of a secret tells only whether there is one, and writes none down', async () => {
  const { simulator, gateway } = await pair();
  const remember = join(temporaryFolder(), 'configuration.jsonl');
  const { watcher, told } = await watch(gateway, { watch: 'configuration', path: 'system', remember });
  clock(simulator).set('ntp-shared-secret', 'planted-secret');
  await watcher.check();
  expect(told()).toEqual([changed({ changed: [{ path: TIME, field: '/ntp-shared-secret', before: null, after: '***' }] })]);
  clock(simulator).set('ntp-shared-secret', 'planted-other');
  await watcher.check();
  expect(told()).toEqual([]);
  expect(readFileSync(remember, 'utf8')).not.toContain('planted');
});

it('reads the part that is asked for, without what does not count', async () => {
  const { simulator, gateway } = await pair();
  const before = lines(simulator).length;
  const { watcher, told } = await watch(gateway, { watch: 'configuration', path: 'system', ignore: ['log', 'ntp-*'] });
  const asked = lines(simulator).slice(before);
  expect(asked.filter((line) => !line.startsWith(`GET ${TREE}/system`) || line.includes('/log'))).toEqual([]);
  clock(simulator).set('ntp-server', 'ntp.example.com').set('time-zone', 'Europe/Rome');
  roles(simulator).items.delete('Unused');
  await watcher.check();
  expect(told()).toMatchObject([changed({ changed: [{ field: '/time-zone' }] })]);
});

it('remembers in a folder: tells what happened meanwhile, and once', async () => {
  const { simulator, gateway } = await pair({ variants: { largeTree: 1200 } });
  const remember = join(temporaryFolder(), 'configuration.jsonl');
  const options = { watch: 'configuration', path: 'users/resource-policies', remember } as const;
  const one = await watch(gateway, options);
  policies(simulator).items.get('Policy 000003')?.values.set('description', 'while it was watched');
  await one.watcher.check();
  expect(one.told()).toHaveLength(1);
  await one.watcher.close();
  // In pieces, none of which is as long as the whole.
  const written = readFileSync(remember, 'utf8').split('\n');
  expect(written.length).toBeGreaterThan(4);

  policies(simulator).items.get('Policy 000004')?.values.set('description', 'while nobody watched');
  policies(simulator).items.delete('Policy 000005');
  for (const expected of [1, 0]) {
    const next = await watch(gateway, options);
    const told = next.told();
    expect(told).toHaveLength(expected);
    if (expected === 1)
      expect(told).toMatchObject([
        { removed: [expect.stringMatching(/Policy%20000005$/)], changed: [{ field: '/description', after: 'while nobody watched' }] },
      ]);
    expect(next.errors).toEqual([]);
    await next.watcher.close();
  }

  // Of another part, or without something else, nothing is known.
  policies(simulator).items.get('Policy 000006')?.values.set('description', 'again');
  const other = await watch(gateway, { ...options, ignore: ['comment'] });
  expect([other.told(), other.errors]).toEqual([[], []]);
});

it('takes what it may not read for neither gone nor new', async () => {
  const { simulator, gateway } = await pair();
  const { watcher, told } = await watch(gateway, { watch: 'configuration', path: 'users' });
  simulator.state.variants.forbiddenBranch = 'users/user-roles';
  await watcher.check();
  roles(simulator).add({ name: 'Night shift' });
  await watcher.check();
  expect(told()).toEqual([]);
  simulator.state.variants.forbiddenBranch = '';
  roles(simulator).items.get('Users')?.values.set('description', 'changed in the dark');
  await watcher.check();
  expect(told()).toEqual([
    changed({ changed: [expect.objectContaining({ path: `${ROLES}/Users`, field: '/description', after: 'changed in the dark' })] }),
  ]);
  // Known from now on.
  roles(simulator).items.delete('Night shift');
  await watcher.check();
  expect(told()).toMatchObject([{ removed: expect.arrayContaining([`${ROLES}/Night%20shift`]) as unknown }]);
});

it('tells that the appliance went away in the midst of a check, and compares with what was whole', async () => {
  const { simulator, gateway } = await pair();
  const { watcher, topics, told } = await watch(gateway, { watch: 'configuration', path: 'users' });
  clock(simulator).set('ntp-server', 'not of this part');
  roles(simulator).items.get('Users')?.values.set('description', 'meanwhile');
  simulator.fault({ match: ({ path }) => path.endsWith('/user-roles'), body: '<html>Maintenance</html>' });
  await watcher.check();
  expect(topics()).toEqual(['configuration/unreachable']);
  await watcher.check();
  expect(told()).toMatchObject([{ event: 'reachable' }, { event: 'changed', removed: [], changed: [{ field: '/description' }] }]);
});

it('shares its checks with those who ask the same, and only with them', async () => {
  const { simulator, gateway } = await pair();
  const time = new TestClock();
  const part = { watch: 'configuration', path: 'system' } as const;
  const checks = (): number => lines(simulator).filter((line) => line === `GET ${TREE}/system`).length;
  const one = await watch(gateway, part, time);
  await time.step();
  const two = newWatch(gateway, part, time);
  await two.watcher.start();
  await time.step();
  clock(simulator).set('ntp-server', 'ntp.example.com');
  const before = checks();
  for (let check = 0; check < 3; check++) await time.step();
  expect(checks() - before).toBe(3);
  expect([one.topics(), two.topics()]).toEqual([['configuration/changed'], ['configuration/changed']]);

  const other = await watch(gateway, { ...part, ignore: ['ntp-server'] }, time);
  clock(simulator).set('ntp-server', 'pool.ntp.org');
  const earlier = checks();
  for (let check = 0; check < 2; check++) await time.step(2);
  expect(checks() - earlier).toBe(2);
  expect([one.topics(), two.topics(), other.topics()]).toEqual([['configuration/changed'], ['configuration/changed'], []]);
});

it('refuses to ignore everything', () => {
  const gateway = gatewayFor({ url: 'https://127.0.0.1:1' });
  expect(codeOf(() => newWatch(gateway, { watch: 'configuration', ignore: ['*'] }))).toBe('BAD_INPUT');
});
