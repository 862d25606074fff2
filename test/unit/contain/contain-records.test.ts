import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashApplianceAddress } from '../../../src/contain/containment-record';
import { containUsers, listContainments, releaseContainment } from '../../../src/contain/contain';
import type { ContainmentActions } from '../../../src/contain/contain';
import {
  isEnforcementRunning,
  startEnforcement,
  offerSessionsToEnforcement,
  type ContainEvent,
  type EnforcementParticipant,
} from '../../../src/contain/enforcement-loop';
import { isContainmentOver, isPastContainmentEnd, recordContainmentEnd, observeContainmentEnd } from '../../../src/contain/containment-end';
import { isContainmentRecord, getSubjectName, type ContainmentRecord } from '../../../src/contain/containment-record';
import {
  readContainments,
  runExclusiveInAllStores,
  getContainmentStores,
  tryReadContainments,
} from '../../../src/contain/containment-store';
import { withLockFile } from '../../../src/files/lock-file';
import { GatewayError } from '../../../src/model/error';
import type { JsonObject } from '../../../src/model/json';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { expectFailure } from '../../helpers/simulated-appliance';
import { eventually } from '../../helpers/eventually';
import { createTemporaryFolder } from '../../helpers/temporary';
import { resetContainmentStores } from '../../helpers/reset-process-state';

// Records, lock files and the enforcement loop, without an appliance.

const APPLIANCE = 'contain-0123456789abcdef0123456789abcdef';
const LATER = '2999-01-01T00:00:00.000Z';
const idOf = (count: number): string => `00000000-0000-0000-0000-${String(count).padStart(12, '0')}`;
const recordOf = (count: number, more: Partial<ContainmentRecord> = {}): ContainmentRecord => ({
  id: idOf(count),
  appliance: APPLIANCE,
  name: `user-${count}`,
  accounts: [],
  ended: 0,
  since: '2026-11-20T08:00:00.000Z',
  until: LATER,
  releasing: false,
  ...more,
});

afterEach(resetContainmentStores);

it('hashApplianceAddress returns the same hash for upper and lower case', () => {
  const one = hashApplianceAddress('https://vpn.example.com/');
  // A changed hash would orphan the files of an earlier release.
  expect(one).toBe('contain:7a4907ebc5616a0c3b3c3b669d9921d4c598a6543fffb6e0dd231fd7dc0ed534');
  expect(hashApplianceAddress('https://VPN.example.com/')).toBe(one);
  expect(hashApplianceAddress('https://vpn-2.example.com/')).not.toBe(one);
});

describe('isContainmentRecord', () => {
  const nameless = Object.fromEntries(Object.entries(recordOf(1)).filter(([key]) => key !== 'name'));

  it.each<[unknown, boolean]>([
    [recordOf(1), true],
    [
      recordOf(1, {
        accounts: [
          { server: 's', state: 'wanted' },
          { server: '', state: 'disabled' },
        ],
      }),
      true,
    ],
    [{ ...nameless, 'source-ip': '203.0.113.9' }, true],
    ['x', false],
    [null, false],
    [nameless, false],
    [{ ...recordOf(1), 'source-ip': '203.0.113.9' }, false],
    ...['id', 'appliance', 'since', 'until'].flatMap((key): [unknown, boolean][] => [
      [{ ...recordOf(1), [key]: '' }, false],
      [{ ...recordOf(1), [key]: 7 }, false],
    ]),
    [{ ...recordOf(1), until: 'soon' }, false],
    [{ ...recordOf(1), ended: '0' }, false],
    [{ ...recordOf(1), releasing: 'no' }, false],
    [{ ...recordOf(1), accounts: {} }, false],
    [{ ...recordOf(1), accounts: ['s'] }, false],
    [{ ...recordOf(1), accounts: [{ state: 'wanted' }] }, false],
    [{ ...recordOf(1), accounts: [{ server: 's', state: 'gone' }] }, false],
    [{ ...recordOf(1), accounts: [{ server: 's', state: 'wanted' }, { server: 's' }] }, false],
  ])('isContainmentRecord tells records from other values: %j', (value, expected) => {
    expect(isContainmentRecord(value)).toBe(expected);
  });

  it('isContainmentRecord compares the end with the clock and returns the name of the subject', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-20T08:00:00.000Z') });
    onTestFinished(() => void vi.useRealTimers());
    expect(isPastContainmentEnd(recordOf(1))).toBe(false);
    expect(isPastContainmentEnd(recordOf(1, { releasing: true }))).toBe(true);
    expect(isPastContainmentEnd(recordOf(1, { until: '2026-11-20T08:00:00.000Z' }))).toBe(true);
    expect(isPastContainmentEnd(recordOf(1, { until: '2026-11-20T08:00:00.001Z' }))).toBe(false);
    expect([getSubjectName({ name: 'j.doe' }), getSubjectName({ 'source-ip': '::1' }), getSubjectName({})]).toEqual(['j.doe', '::1', '']);
  });
});

describe('isContainmentOver', () => {
  const HOUR = 3_600_000;
  let now = Date.UTC(2026, 10, 20, 8);
  const record = (hours: number, more: Partial<ContainmentRecord> = {}) =>
    recordOf(1, { id: idOf(now % 1000), until: new Date(now + hours * HOUR).toISOString(), ...more });
  const start = (): void => {
    now += 1;
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now });
    onTestFinished(() => void vi.useRealTimers());
  };
  const jump = (hours: number): void => void vi.setSystemTime(Date.now() + hours * HOUR);

  it('isContainmentOver releases nobody if the clock is two hours ahead for one second', () => {
    start();
    const known = record(1);
    for (const note of [recordContainmentEnd, observeContainmentEnd]) {
      note(known);
      jump(2);
      for (let poll = 0; poll < 3; poll++) {
        observeContainmentEnd(known);
        vi.advanceTimersByTime(500);
        expect(isContainmentOver(known)).toBe(false);
      }
      jump(-2);
      observeContainmentEnd(known);
      vi.advanceTimersByTime(10_000);
      jump(2);
      observeContainmentEnd(known);
      expect(isContainmentOver(known)).toBe(false);
      jump(-2);
      observeContainmentEnd(known);
    }
  });

  it('isContainmentOver uses the monotonic clock in the process that started the containment, so a clock set back does not prolong it', () => {
    start();
    const known = record(1);
    recordContainmentEnd(known);
    jump(-2);
    vi.advanceTimersByTime(HOUR - 1);
    expect(isContainmentOver(known)).toBe(false);
    vi.advanceTimersByTime(1);
    expect(isContainmentOver(known)).toBe(true);
  });

  it('isContainmentOver needs two agreeing polls in a process that did not start the containment', () => {
    start();
    const known = record(1);
    expect(isContainmentOver(known)).toBe(false);
    observeContainmentEnd(known);
    vi.advanceTimersByTime(HOUR);
    expect(isContainmentOver(known)).toBe(true);
    const ended = record(-5, { id: idOf(7) });
    observeContainmentEnd(ended);
    vi.advanceTimersByTime(1999);
    observeContainmentEnd(ended);
    expect(isContainmentOver(ended)).toBe(false);
    vi.advanceTimersByTime(1);
    observeContainmentEnd(ended);
    expect(isContainmentOver(ended)).toBe(true);
    expect(isContainmentOver(record(1, { id: idOf(8), releasing: true }))).toBe(true);
  });

  it('isContainmentOver returns false again when the end of the containment was extended', () => {
    start();
    const known = record(1);
    recordContainmentEnd(known);
    vi.advanceTimersByTime(HOUR);
    const extended = { ...known, until: new Date(Date.now() + HOUR).toISOString() };
    expect([isContainmentOver(known), isContainmentOver(extended)]).toEqual([true, false]);
    observeContainmentEnd(extended);
    expect(isContainmentOver(extended)).toBe(false);
  });
});

it('readContainments reports a folder that does not respond and returns the containments of the others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = getContainmentStores(APPLIANCE).forFolder('/share/contained');
  vi.spyOn(store, 'readAll').mockReturnValue(new Promise(() => undefined));
  const memory = getContainmentStores(APPLIANCE).forFolder(undefined);
  await memory.put(recordOf(1));
  const reading = tryReadContainments(APPLIANCE);
  await vi.advanceTimersByTimeAsync(5000);
  const { containments, fault } = await reading;
  expect(containments).toEqual([{ record: recordOf(1), store: memory }]);
  expect(fault).toMatchObject({
    code: 'TIMEOUT',
    message: expect.stringContaining('/share/contained did not respond within 5 s') as string,
  });
});

describe('FolderStore', () => {
  const stored = async (store: ReturnType<ReturnType<typeof getContainmentStores>['forFolder']>): Promise<unknown> =>
    (await store.readAll()).records;

  it('FolderStore stores each record in its own file and ignores files of other appliances and other file names', async () => {
    const folder = createTemporaryFolder();
    const store = getContainmentStores(APPLIANCE).forFolder(folder);
    expect(getContainmentStores(APPLIANCE).forFolder(`${folder}/x/..`)).toBe(store);
    await store.put(recordOf(1));
    await store.put(recordOf(1, { ended: 2 }));
    await getContainmentStores('another')
      .forFolder(folder)
      .put(recordOf(2, { appliance: 'another' }));
    for (const name of [`x-contained-${idOf(3)}.json`, `contained-${idOf(3)}.json.bak`, 'contained-3.json', 'notes.txt'])
      writeFileSync(join(folder, name), '{');
    expect(await store.readAll()).toEqual({ records: [recordOf(1, { ended: 2 })], fault: undefined });
    const text = readFileSync(join(folder, `contained-${idOf(1)}.json`), 'utf8');
    expect(text).toBe(`${JSON.stringify(recordOf(1, { ended: 2 }), null, 2)}\n`);
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
    expect(await store.remove(idOf(1))).toBe(true);
    expect(await store.remove(idOf(1))).toBe(false);
    expect(await stored(store)).toEqual([]);
  });

  it.each([
    ['no JSON', '{'],
    ['no record', '{}'],
    ['that of another file', JSON.stringify(recordOf(2))],
  ])('FolderStore reports a damaged file and returns the other records: %s', async (_what, text) => {
    const folder = createTemporaryFolder();
    const store = getContainmentStores(APPLIANCE).forFolder(folder);
    const file = join(folder, `contained-${idOf(1)}.json`);
    writeFileSync(file, text);
    await store.put(recordOf(3));
    const { records, fault } = await store.readAll();
    expect(records).toEqual([recordOf(3)]);
    expect(fault).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    expect(fault?.message).toBe(
      `${file} is damaged: the contained person cannot be read from it. Remove the file, and check whether an account must be enabled by hand.`,
    );
    expect((await expectFailure(readContainments(APPLIANCE))).message).toBe(fault?.message);
    expect((await tryReadContainments(APPLIANCE)).containments).toEqual([{ record: recordOf(3), store }]);
  });

  it('FolderStore reports a folder that does not exist, and only the first of several faults', async () => {
    const folder = join(createTemporaryFolder(), 'none');
    const store = getContainmentStores(APPLIANCE).forFolder(folder);
    expect((await store.readAll()).fault).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('cannot be read') as string,
    });
    const error = await expectFailure(store.put(recordOf(1)));
    expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('cannot be written') as string });
    const file = join(createTemporaryFolder(), 'file');
    writeFileSync(file, '');
    const odd = getContainmentStores(APPLIANCE).forFolder(file);
    const removal = await expectFailure(odd.remove(idOf(1)));
    expect(removal).toMatchObject({ code: 'BAD_INPUT', details: { extra: { system: 'ENOTDIR' } } });
    expect(removal.message).toContain('cannot be written');
    const memory = getContainmentStores(APPLIANCE).forFolder(undefined);
    await memory.put(recordOf(5));
    const { containments, fault } = await tryReadContainments(APPLIANCE);
    expect(containments).toEqual([{ record: recordOf(5), store: memory }]);
    expect(fault?.details.extra?.['file']).toBe([folder, file].sort()[0]);
    expect(await expectFailure(readContainments(APPLIANCE))).toMatchObject({ code: 'BAD_INPUT' });
  });

  it('a containment store without a folder keeps its records until the process restarts', async () => {
    const memory = getContainmentStores(APPLIANCE).forFolder(undefined);
    await memory.put(recordOf(1));
    await memory.put(recordOf(2));
    await memory.put(recordOf(1, { ended: 3 }));
    expect(await stored(memory)).toEqual([recordOf(1, { ended: 3 }), recordOf(2)]);
    expect([await memory.remove(idOf(2)), await memory.remove(idOf(2))]).toEqual([true, false]);
    expect((await readContainments(APPLIANCE)).map(({ record }) => record.ended)).toEqual([3]);
    expect(await readContainments('another')).toEqual([]);
    expect(getContainmentStores(APPLIANCE).forFolder(undefined)).toBe(memory);
    resetContainmentStores();
    expect(await readContainments(APPLIANCE)).toEqual([]);
  });

  it('FolderStore locks its folders in sorted order, so that only one process changes the records at a time', async () => {
    const [first = '', second = ''] = [createTemporaryFolder(), createTemporaryFolder()].sort();
    for (const folder of [second, first]) getContainmentStores(APPLIANCE).forFolder(folder);
    const locks = [first, second].map((folder) => join(folder, `contained-${APPLIANCE.slice(-16)}.lock`));
    writeFileSync(locks[0] ?? '', `${HOST_NAME_HASH}-${process.ppid}`);
    let done = false;
    const work = runExclusiveInAllStores(APPLIANCE, () => {
      expect(locks.map((lock) => existsSync(lock))).toEqual([true, true]);
      done = true;
      return Promise.resolve('done');
    });
    await new Promise((resolve) => setTimeout(resolve, 60));
    // A process that waits for the first lock must not hold the second.
    expect([done, existsSync(locks[1] ?? '')]).toEqual([false, false]);
    writeFileSync(locks[0] ?? '', `${HOST_NAME_HASH}-999999999`);
    expect(await work).toBe('done');
    expect(locks.map((lock) => existsSync(lock))).toEqual([false, false]);
  });
});

describe('withLockFile', () => {
  const place = (): string => join(createTemporaryFolder(), 'x.lock');
  const aged = (file: string, seconds: number): void => {
    const then = Date.now() / 1000 - seconds;
    utimesSync(file, then, then);
  };

  it('withLockFile runs one task at a time, writes the holder into the file, and removes the file after success and failure', async () => {
    const file = place();
    let atOnce = 0;
    const work = async (): Promise<string> => {
      expect(++atOnce).toBe(1);
      expect(readFileSync(file, 'utf8')).toBe(`${HOST_NAME_HASH}-${process.pid}`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      await new Promise((resolve) => setTimeout(resolve, 5));
      atOnce--;
      return 'done';
    };
    expect(await Promise.all([withLockFile(file, work), withLockFile(file, work)])).toEqual(['done', 'done']);
    const fault = new Error('of the work');
    await expect(withLockFile(file, () => Promise.reject(fault))).rejects.toBe(fault);
    expect(existsSync(file)).toBe(false);
  });

  it.each<[string, string, number]>([
    ['of this process, which does not have it', `${HOST_NAME_HASH}-${process.pid}`, 0],
    ['of a process that has ended', `${HOST_NAME_HASH}-999999999`, 0],
    ['of another machine that has been silent', '00000000-1', 121],
    ['of nobody, for some seconds', '', 6],
    ['of something else, for long', `${HOST_NAME_HASH}-x`, 121],
    ['of no process, for long', `${HOST_NAME_HASH}-0`, 121],
  ])('withLockFile takes over a lock file %s', async (_what, holder, seconds) => {
    const file = place();
    writeFileSync(file, holder);
    aged(file, seconds);
    expect(await withLockFile(file, () => Promise.resolve('done'))).toBe('done');
  });

  it.each<[string, string, number]>([
    ['of a process that lives', `${HOST_NAME_HASH}-${process.ppid}`, 1000],
    ['of another machine', '00000000-999999999', 120],
    ['of nobody yet', '', 5],
    ['of no process', `${HOST_NAME_HASH}-0`, 6],
    ['of something else', `${HOST_NAME_HASH}-x`, 6],
    ['that is none, and stays', '/', 1000],
  ])('withLockFile waits one minute for a lock file %s, then fails', async (_what, holder, seconds) => {
    const file = place();
    // The time is set to a full second and frozen, so that the age of the file is exact.
    const now = new Date('2026-11-20T08:00:00.000Z');
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now });
    onTestFinished(() => void vi.useRealTimers());
    const pass = (ms: number): void => void vi.advanceTimersByTime(ms).setSystemTime(now);
    if (holder === '/') mkdirSync(file);
    else writeFileSync(file, holder);
    aged(file, seconds);
    let isOver = false;
    const refused = expectFailure(withLockFile(file, () => Promise.resolve('done'))).finally(() => (isOver = true));
    pass(60_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isOver).toBe(false);
    pass(1);
    const error = await refused;
    expect(error).toMatchObject({ code: 'CONFLICT', details: { sent: false } });
    expect(error.message).toBe(`Another process has held the lock ${file} for a minute. Try again later.`);
    expect(existsSync(file)).toBe(true);
  });

  it('withLockFile runs its task without a lock file where none can be created', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await withLockFile(join(createTemporaryFolder(), 'none', 'x.lock'), () => Promise.resolve(vi.getTimerCount()))).toBe(0);
  });

  it('withLockFile updates the time of the lock file every ten seconds', async () => {
    const file = place();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await withLockFile(file, async () => {
      utimesSync(file, 0, 0);
      vi.advanceTimersByTime(9999);
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersByTime(1);
      await eventually(() => expect(statSync(file).mtimeMs).toBeGreaterThan(0));
    });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('EnforcementLoop', () => {
  const hands = { isDryRun: true } as ContainmentActions;

  /** A participant that records its time limits and polls. */
  function keeping(more: Partial<EnforcementParticipant> = {}) {
    const told = { limits: [] as number[], looks: [] as [number, string | undefined][] };
    const keeper: EnforcementParticipant = {
      appliance: APPLIANCE,
      every: 0.001,
      canContain: true,
      perform: (work, limitMs) => (told.limits.push(limitMs), work(hands)),
      onEvent: () => undefined,
      onPoll: (contained, fault) => told.looks.push([contained, fault?.message]),
      ...more,
    };
    const stop = startEnforcement(keeper);
    onTestFinished(stop);
    return { ...told, stop };
  }

  it('EnforcementLoop reports the number of contained people at each poll, and sends nothing if there are none', async () => {
    const one = keeping();
    expect(isEnforcementRunning()).toBe(true);
    await eventually(() => expect(one.looks.length).toBeGreaterThan(2));
    expect([one.looks.at(-1), one.limits]).toEqual([[0, undefined], []]);
    const memory = getContainmentStores(APPLIANCE).forFolder(undefined);
    await memory.put(recordOf(1));
    await memory.put(recordOf(2, { releasing: true }));
    await eventually(() => expect(one.looks.at(-1)).toEqual([1, undefined]));
    one.stop();
    const { length } = one.looks;
    expect(isEnforcementRunning()).toBe(false);
    offerSessionsToEnforcement(APPLIANCE, [], performance.now() + 1e6);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(one.looks).toHaveLength(length);
    one.stop();
  });

  it('EnforcementLoop prefers the participant that contains people, and uses the shortest interval of all', async () => {
    await getContainmentStores(APPLIANCE).forFolder(undefined).put(recordOf(1));
    const lists = keeping({ canContain: false, every: 3600 });
    const contains = keeping({ every: 0.001 });
    await eventually(() => expect(contains.limits.length).toBeGreaterThan(2));
    expect(lists.limits.length).toBeLessThanOrEqual(1);
    expect(lists.looks.length).toBeGreaterThanOrEqual(contains.looks.length);
    contains.stop();
    const { length } = lists.limits;
    const others = keeping({ canContain: false, every: 3600 });
    await eventually(() => expect(lists.limits.length).toBeGreaterThan(length));
    expect(others.limits).toEqual([]);
  });

  it('EnforcementLoop reads the containments in the folder of a participant', async () => {
    const folder = createTemporaryFolder();
    await getContainmentStores(APPLIANCE).forFolder(folder).put(recordOf(1));
    resetContainmentStores();
    const one = keeping({ folder });
    await eventually(() => expect(one.looks.at(-1)).toEqual([1, undefined]));
    writeFileSync(join(folder, `contained-${idOf(2)}.json`), '{');
    await eventually(() => expect(one.looks.at(-1)).toEqual([1, expect.stringContaining('is damaged') as string]));
  });

  it('EnforcementLoop doubles the time limit after a timeout, and reports the timeout', async () => {
    await getContainmentStores(APPLIANCE).forFolder(undefined).put(recordOf(1));
    let now = 1000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const late = [true, true, true, true, true, true, true, true, false, true, false, false, false];
    const took = [0, 0, 0, 0, 0, 0, 0, 0, 4000, 0, 3000, 10];
    const limits: number[] = [];
    const one = keeping({
      perform: (work, limitMs) => {
        const index = limits.push(limitMs) - 1;
        now += late[index] ? limitMs : (took[index] ?? 0);
        if (late[index]) return Promise.reject(new GatewayError('ABORTED', 'Cancelled.'));
        return index === 10 ? Promise.reject(new GatewayError('CONNECTION', 'Cut.')) : work(hands);
      },
    });
    await eventually(() => expect(limits.length).toBeGreaterThan(12));
    one.stop();
    expect(limits.slice(0, 13).map((limit) => limit / 1000)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600, 12, 24, 12, 12]);
    const said = (seconds: number): string => `The check of the contained people took longer than ${seconds} s. It is repeated at once.`;
    expect(one.looks.slice(0, 12).map(([, message]) => message)).toEqual([
      ...[5, 10, 20, 40, 80, 160, 320, 600].map(said),
      undefined,
      said(12),
      'Cut.',
      undefined,
    ]);
  });
});

const EVERY = 10;

/** An appliance with sessions and accounts, who keeps people out of it, and a time that the test moves. */
function guarding() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'], now: new Date('2026-11-20T08:00:00.000Z') });
  onTestFinished(() => void vi.useRealTimers());
  const here = {
    sessions: [] as JsonObject[],
    accounts: new Map<string, boolean>(),
    /** What was asked, ended and changed. */
    did: [] as string[],
    /** What fails, by what is done. */
    faults: new Map<string, GatewayError>(),
    /** What happens meanwhile. */
    meanwhile: (_what: string): void => undefined,
    planned: false,
  };
  const done = (what: string): Promise<void> => {
    here.did.push(what);
    here.meanwhile(what);
    const fault = here.faults.get(what);
    return fault ? Promise.reject(fault) : Promise.resolve();
  };
  const hands = (): ContainmentActions => ({
    appliance: APPLIANCE,
    isDryRun: here.planned,
    isEnabled: (server) => Promise.resolve(here.accounts.get(server)),
    setEnabled: (server, name, enabled) =>
      done(`${enabled ? 'enable' : 'disable'} ${name} at ${server}`).then(() => void here.accounts.set(server, enabled)),
    listSessions: (name) =>
      done(`list ${name ?? 'all'}`).then(() => here.sessions.filter((one) => name === undefined || one['active-user-name'] === name)),
    listSessionsOf: ({ name }) => hands().listSessions(name),
    isSessionOf: (session, who) =>
      session['active-user-name'] === who.name || (who['source-ip'] !== undefined && session['source-ip'] === who['source-ip']),
    endSession: (session) => done(`end ${String(session['session-id'])}`).then(() => session['gone'] !== true),
    toReportedSession: (session) => ({ shown: session['session-id'] }),
    runExclusive: (work) => done('alone').then(work),
  });
  const told = { events: [] as ContainEvent[], looks: [] as [number, string | undefined][] };
  const keeper = (more: Partial<EnforcementParticipant> = {}): EnforcementParticipant => ({
    appliance: APPLIANCE,
    every: EVERY,
    canContain: true,
    perform: (work) => work(hands()),
    onEvent: (event) => told.events.push(event),
    onPoll: (contained, fault) => told.looks.push([contained, fault?.message]),
    ...more,
  });
  const join = (more: Partial<EnforcementParticipant> = {}): (() => void) => {
    const stop = startEnforcement(keeper(more));
    onTestFinished(stop);
    return stop;
  };
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  /** Runs the next poll and returns its actions. */
  const look = async (): Promise<string[]> => {
    await pass(EVERY * 1000);
    return here.did.splice(0);
  };
  const memory = getContainmentStores(APPLIANCE).forFolder(undefined);
  const endedOf = async (): Promise<number[]> => (await readContainments(APPLIANCE)).map(({ record }) => record.ended);
  return { here, hands, told, join, pass, look, memory, endedOf };
}
const session = (id: string, user: number, more: JsonObject = {}): JsonObject => ({
  'session-id': id,
  'active-user-name': `user-${user}`,
  ...more,
});

describe('EnforcementLoop at each poll', () => {
  it('EnforcementLoop ends each new session, reports and counts it once, even if the appliance still lists it', async () => {
    const { here, told, join, pass, look, memory, endedOf } = guarding();
    await memory.put(recordOf(1));
    here.sessions = [session('a', 1), session('b', 2)];
    join();
    await pass(0);
    expect(here.did.splice(0)).toEqual(['list user-1', 'end a', 'alone']);
    const event = { event: 'ended', id: idOf(1), name: 'user-1' };
    expect(told).toEqual({ events: [{ ...event, session: { shown: 'a' } }], looks: [[1, undefined]] });
    here.sessions.push(session('c', 1), session('d', 1, { gone: true }));
    // A session that had already ended is neither reported nor remembered.
    expect(await look()).toEqual(['list user-1', 'end c', 'end d', 'alone']);
    expect([told.events.slice(1), await endedOf()]).toEqual([[{ ...event, session: { shown: 'c' } }], [2]]);
    here.sessions.pop();
    expect(await look()).toEqual(['list user-1']);
    here.sessions = [];
    await look();
    // The appliance uses the session id again.
    here.sessions = [session('a', 1)];
    expect([await look(), await endedOf()]).toEqual([['list user-1', 'end a', 'alone'], [3]]);
  });

  it('EnforcementLoop leaves a person alone who was released during the poll, and does not restore removed records', async () => {
    const { here, told, join, pass, memory } = guarding();
    for (const count of [1, 2, 3]) await memory.put(recordOf(count));
    here.sessions = [session('a', 1), session('b', 2), session('c', 3)];
    here.meanwhile = (what) => {
      if (what === 'list user-1') void memory.remove(idOf(1));
      if (what === 'list user-2') void memory.put(recordOf(2, { releasing: true }));
      if (what === 'end c') void memory.remove(idOf(3));
    };
    join();
    await pass(0);
    expect(here.did.filter((what) => what.startsWith('end'))).toEqual(['end c']);
    expect(told.events).toMatchObject([{ event: 'ended', id: idOf(3) }]);
    // A count must not restore a removed record.
    expect((await readContainments(APPLIANCE)).map(({ record }) => record.id)).toEqual([idOf(2)]);
  });

  it('EnforcementLoop reports the first fault, continues with the other sessions, and retries at the next poll', async () => {
    const { here, told, join, pass, look, memory, endedOf } = guarding();
    for (const count of [1, 2]) await memory.put(recordOf(count));
    here.sessions = [session('a', 1), session('b', 2), session('c', 2)];
    for (const what of ['end a', 'end b']) here.faults.set(what, new GatewayError('REJECTED', `No ${what}.`));
    join();
    await pass(0);
    expect(here.did.splice(0)).toEqual(['list user-1', 'list user-2', 'end a', 'end b', 'end c', 'alone']);
    expect(told.looks).toEqual([[2, 'No end a.']]);
    expect([told.events.map(({ id }) => id), await endedOf()]).toEqual([[idOf(2)], [0, 1]]);
    here.faults.clear();
    expect(await look()).toEqual(['list user-1', 'list user-2', 'end a', 'end b', 'alone']);
    expect([told.looks.at(-1), await endedOf()]).toEqual([
      [2, undefined],
      [1, 2],
    ]);
    here.faults.set('list user-1', new GatewayError('FORBIDDEN', 'No list.'));
    await look();
    here.faults.set('alone', new GatewayError('CONFLICT', 'Not alone.'));
    here.faults.delete('list user-1');
    here.sessions.push(session('d', 1));
    await look();
    expect(told.looks.slice(-2)).toEqual([
      [2, 'No list.'],
      [2, 'Not alone.'],
    ]);
  });

  it('EnforcementLoop reads the sessions of up to three users by name, and the whole list for more users', async () => {
    const { join, pass, look, memory, here } = guarding();
    for (const count of [1, 2, 3]) await memory.put(recordOf(count));
    join();
    await pass(0);
    expect(here.did.splice(0)).toEqual(['list user-1', 'list user-2', 'list user-3']);
    await memory.put(recordOf(4));
    expect(await look()).toEqual(['list all']);
    for (const count of [2, 3, 4]) await memory.remove(idOf(count));
    await memory.put({
      ...{ id: idOf(5), appliance: APPLIANCE, 'source-ip': '203.0.113.9', accounts: [], ended: 0 },
      ...{ since: '2026-11-20T08:00:00.000Z', until: LATER, releasing: false },
    });
    here.sessions = [session('a', 9, { 'source-ip': '203.0.113.9' })];
    expect(await look()).toEqual(['list all', 'end a', 'alone']);
  });

  it('EnforcementLoop disables pending accounts, ends expired containments and reports the releases', async () => {
    const { here, told, join, pass, look, memory } = guarding();
    for (const server of ['s', 't', 'u', 'v']) here.accounts.set(server, server > 't');
    const wanted = (server: string) => ({ accounts: [{ server, state: 'wanted' as const }] });
    const disabled = (server: string) => ({ accounts: [{ server, state: 'disabled' as const }] });
    await memory.put(recordOf(1, { ...disabled('s'), until: '2026-11-20T08:00:00.000Z', ended: 7 }));
    // Two polls must agree on an end that has passed.
    observeContainmentEnd(recordOf(1, { until: '2026-11-20T08:00:00.000Z' }));
    await pass(2000);
    await memory.put(recordOf(2, { ...disabled('t'), releasing: true }));
    await memory.put(recordOf(3, wanted('u')));
    await memory.put(recordOf(4, wanted('v')));
    here.faults.set('enable user-1 at s', new GatewayError('REJECTED', 'Not enabled.'));
    here.faults.set('disable user-3 at u', new GatewayError('REJECTED', 'Not disabled.'));
    join();
    await pass(0);
    expect(here.did.splice(0)).toEqual([
      ...['list user-3', 'list user-4', 'alone'],
      ...['enable user-1 at s', 'enable user-2 at t', 'disable user-3 at u', 'disable user-4 at v'],
    ]);
    expect(told.looks).toEqual([[2, 'Not enabled.']]);
    expect(told.events).toEqual([{ event: 'released', id: idOf(2), name: 'user-2', enabled: ['t'], 'ended-meanwhile': 0 }]);
    here.faults.delete('enable user-1 at s');
    expect(await look()).toEqual(['list user-3', 'list user-4', 'alone', 'enable user-1 at s', 'disable user-3 at u']);
    expect(told.looks.at(-1)).toEqual([2, 'Not disabled.']);
    expect(told.events.slice(1)).toEqual([{ event: 'released', id: idOf(1), name: 'user-1', enabled: ['s'], 'ended-meanwhile': 7 }]);
    here.faults.clear();
    await look();
    // Without pending changes, it only lists the sessions.
    expect(await look()).toEqual(['list user-3', 'list user-4']);
    expect((await readContainments(APPLIANCE)).map(({ record }) => record.accounts)).toEqual(
      ['u', 'v'].map((server) => [{ server, state: 'disabled' }]),
    );
  });

  it('EnforcementLoop sends nothing for expired containments while the settings demand a dry run', async () => {
    const { here, told, join, pass, look, memory } = guarding();
    await memory.put(recordOf(1, { releasing: true }));
    here.sessions = [session('a', 1)];
    here.planned = true;
    join();
    await pass(0);
    expect([here.did, told.looks, (await readContainments(APPLIANCE)).length]).toEqual([[], [[0, undefined]], 1]);
    here.planned = false;
    expect(await look()).toEqual(['alone']);
    expect(await readContainments(APPLIANCE)).toEqual([]);
  });

  it('EnforcementLoop counts the interval from the start of a poll and never runs two polls at once', async () => {
    const { told, join, pass, memory, hands } = guarding();
    await memory.put(recordOf(1));
    let free = (): void => undefined;
    let slow = false;
    join({
      perform: async (work) => {
        if (slow) await new Promise<void>((resolve) => (free = resolve));
        return work(hands());
      },
    });
    await pass(0);
    await pass(EVERY * 1000 - 1);
    expect(told.looks).toHaveLength(1);
    slow = true;
    await pass(1);
    // A participant that joins during a poll waits for the next one.
    const other = join();
    await pass(3000);
    offerSessionsToEnforcement(APPLIANCE, [], performance.now());
    await pass(0);
    expect(told.looks).toHaveLength(1);
    free();
    slow = false;
    await pass(0);
    expect(told.looks).toHaveLength(3);
    await pass(EVERY * 1000 - 3001);
    expect(told.looks).toHaveLength(3);
    await pass(1);
    expect(told.looks).toHaveLength(5);
    other();
    await pass(EVERY * 1000);
    expect(told.looks).toHaveLength(6);
  });

  it.each([
    [4, 200],
    [10, 500],
    [60, 500],
  ])('EnforcementLoop uses the session list of another operation instead of its next poll (every %i s)', async (every, grace) => {
    const { told, join, pass, memory, here } = guarding();
    await memory.put(recordOf(1));
    join({ every });
    await pass(0);
    here.did.length = 0;
    const sessions = [session('a', 1)];
    await pass((every * 1000) / 4 - 1);
    offerSessionsToEnforcement(APPLIANCE, sessions, performance.now());
    offerSessionsToEnforcement('another', sessions, performance.now());
    await pass(0);
    expect([told.looks.length, here.did]).toEqual([1, []]);
    await pass(1);
    const began = performance.now();
    offerSessionsToEnforcement(APPLIANCE, sessions, began);
    await pass(0);
    expect([told.looks.length, here.did.splice(0)]).toEqual([2, ['end a', 'alone']]);
    await pass(every * 1000 + grace - 1);
    expect(told.looks).toHaveLength(2);
    await pass(1);
    expect([told.looks.length, here.did]).toEqual([3, ['list user-1']]);
  });

  it('EnforcementLoop stops when its last participant leaves, even during a poll', async () => {
    const { told, join, pass, memory, here } = guarding();
    await memory.put(recordOf(1));
    const stop = join();
    await pass(0);
    here.meanwhile = stop;
    await pass(EVERY * 1000);
    expect([told.looks.length, isEnforcementRunning(), vi.getTimerCount()]).toEqual([1, false, 0]);
    const again = join();
    stop();
    expect(isEnforcementRunning()).toBe(true);
    again();
    expect([isEnforcementRunning(), vi.getTimerCount()]).toEqual([false, 0]);
  });

  it('EnforcementLoop does not add the duration of a failed poll to the time limit', async () => {
    const { join, pass, memory } = guarding();
    await memory.put(recordOf(1));
    const limits: number[] = [];
    const took = [2000, 4000, 1000, 0];
    join({
      perform: async (_work, limitMs) => {
        await new Promise((resolve) => setTimeout(resolve, took[limits.push(limitMs) - 1]));
        throw limits.length === 2 ? new GatewayError('CONNECTION', 'Cut.') : new GatewayError('ABORTED', 'x');
      },
    });
    await pass(EVERY * 1000 * 3);
    expect(limits).toEqual([10_000, 10_000, 10_000, 10_000]);
  });
});

describe('accounts of a containment', () => {
  const user = { servers: ['s'], minutes: 60, max: 25, name: 'user-1' };

  it('a release leaves an account disabled if an administrator disabled it while our request was refused', async () => {
    const { here, hands } = guarding();
    here.accounts.set('s', true);
    here.faults.set('disable user-1 at s', new GatewayError('REJECTED', 'Not disabled.'));
    expect((await expectFailure(containUsers(user, hands()))).code).toBe('REJECTED');
    expect(await listContainments(APPLIANCE)).toMatchObject([{ disabled: [], pending: ['s'] }]);
    here.accounts.set('s', false);
    expect((await releaseContainment({ name: 'user-1' }, hands())).enabled).toEqual([]);
    expect(here.accounts.get('s')).toBe(false);
  });

  it('the enforcement loop forgets an account of a containment if an administrator disabled the account first', async () => {
    const { here, join, pass, memory } = guarding();
    here.accounts.set('s', false);
    await memory.put(recordOf(1, { accounts: [{ server: 's', state: 'wanted' }] }));
    join();
    await pass(0);
    expect((await readContainments(APPLIANCE)).map(({ record }) => record.accounts)).toEqual([[]]);
    expect(here.did.filter((what) => what.startsWith('disable'))).toEqual([]);
  });

  it('a release enables an account if our request to disable it got no response', async () => {
    const { here, hands } = guarding();
    here.accounts.set('s', true);
    here.faults.set('disable user-1 at s', new GatewayError('OUTCOME_UNKNOWN', 'No response.'));
    expect((await expectFailure(containUsers(user, hands()))).code).toBe('OUTCOME_UNKNOWN');
    here.accounts.set('s', false);
    expect(await listContainments(APPLIANCE)).toMatchObject([{ disabled: [], pending: ['s'] }]);
    expect((await releaseContainment({ name: 'user-1' }, hands())).enabled).toEqual(['s']);
  });
});

describe('contain and release', () => {
  const wanted = { servers: [], minutes: 60, max: 25 };
  const user = { ...wanted, name: 'user-1' };
  const recordsOf = async (): Promise<ContainmentRecord[]> => (await readContainments(APPLIANCE)).map(({ record }) => record);

  it('containUsers keeps one containment for each address', async () => {
    const hands = guarding().hands();
    const one = await containUsers({ ...wanted, 'source-ip': '203.0.113.1' }, hands);
    const other = await containUsers({ ...wanted, 'source-ip': '203.0.113.2' }, hands);
    expect((await containUsers({ ...wanted, 'source-ip': '203.0.113.1' }, hands)).id).toBe(one.id);
    expect((await recordsOf()).map(({ id }) => id)).toEqual([one.id, other.id]);
    const refused = await expectFailure(containUsers({ ...user, max: 2 }, hands));
    expect([refused.code, refused.details.sent]).toEqual(['LIMIT', false]);
  });

  it('containUsers disables each enabled account once, and again after an administrator enabled it', async () => {
    const { here, hands, memory } = guarding();
    for (const server of ['s', 't']) here.accounts.set(server, true);
    here.accounts.set('u', false);
    expect((await containUsers({ ...user, servers: ['s', 's', 'u', 'none'] }, hands())).disabled).toEqual(['s']);
    here.accounts.set('s', true);
    expect((await containUsers({ ...user, servers: ['s', 't'] }, hands())).disabled).toEqual(['s', 't']);
    expect(here.did.filter((what) => what.startsWith('disable'))).toEqual([
      'disable user-1 at s',
      'disable user-1 at s',
      'disable user-1 at t',
    ]);
    // The record shows what was done.
    expect((await recordsOf())[0]?.accounts).toEqual(['s', 't'].map((server) => ({ server, state: 'disabled' })));
    const [record] = await recordsOf();
    if (record) await memory.put({ ...record, releasing: true });
    await containUsers(user, hands());
    expect(await recordsOf()).toEqual([{ ...record, releasing: false }]);
  });

  it('a dry run of containUsers records nothing', async () => {
    const { here, hands, memory } = guarding();
    here.planned = true;
    here.accounts.set('s', true);
    expect(await containUsers({ ...user, servers: ['s'] }, hands())).toMatchObject({ id: null, disabled: ['s'] });
    expect(await recordsOf()).toEqual([]);
    const record = recordOf(1, { accounts: [{ server: 's', state: 'disabled' }] });
    await memory.put(record);
    here.accounts.set('s', false);
    expect((await releaseContainment({ id: record.id }, hands())).enabled).toEqual(['s']);
    expect(await recordsOf()).toEqual([record]);
  });

  it('releaseContainment records the release before it enables the accounts of the named containment', async () => {
    const { here, hands, memory } = guarding();
    for (const count of [1, 2]) await memory.put(recordOf(count, { accounts: [{ server: 's', state: 'disabled' }] }));
    here.accounts.set('s', false);
    for (const none of [{ id: idOf(3) }, { name: 'user-3' }]) {
      const error = await expectFailure(releaseContainment(none, hands()));
      expect([error.code, error.details.sent]).toEqual(['NOT_FOUND', false]);
    }
    here.faults.set('enable user-2 at s', new GatewayError('REJECTED', 'Not enabled.'));
    expect((await expectFailure(releaseContainment({ name: 'user-2' }, hands()))).code).toBe('REJECTED');
    expect((await recordsOf()).map(({ releasing }) => releasing)).toEqual([false, true]);
    here.faults.clear();
    expect(await releaseContainment({ id: idOf(2) }, hands())).toEqual({ id: idOf(2), enabled: ['s'], 'ended-meanwhile': 0 });
    expect((await recordsOf()).map(({ id }) => id)).toEqual([idOf(1)]);
  });
});
