import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Hands } from '../src/contain/hands';
import { isKept, keep, offerSessions, type Keeper } from '../src/contain/keeper';
import { isContained, isOver, whoOf, type Contained } from '../src/contain/record';
import { allKept, aloneAt, forgetPlaces, placesOf, readable } from '../src/contain/store';
import { inTurn } from '../src/contain/turn';
import { GatewayError } from '../src/model/error';
import { HOST } from '../src/transfer/partial-file';
import { failure } from './library/appliance';
import { eventually } from './support/eventually';
import { temporaryFolder } from './support/temporary';

// What is written down of who is kept out, whose turn it is to change that, and when a keeper looks. No appliance takes part.

const APPLIANCE = 'contain-0123456789abcdef0123456789abcdef';
const LATER = '2999-01-01T00:00:00.000Z';
const idOf = (count: number): string => `00000000-0000-0000-0000-${String(count).padStart(12, '0')}`;
const recordOf = (count: number, more: Partial<Contained> = {}): Contained => ({
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

afterEach(forgetPlaces);

describe('a record', () => {
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
  ])('is told from what is none: %j', (value, expected) => {
    expect(isContained(value)).toBe(expected);
  });

  it('is over at its end, or when it is being released; and is called by what it has', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-20T08:00:00.000Z') });
    onTestFinished(() => void vi.useRealTimers());
    expect(isOver(recordOf(1))).toBe(false);
    expect(isOver(recordOf(1, { releasing: true }))).toBe(true);
    expect(isOver(recordOf(1, { until: '2026-11-20T08:00:00.000Z' }))).toBe(true);
    expect(isOver(recordOf(1, { until: '2026-11-20T08:00:00.001Z' }))).toBe(false);
    expect([whoOf({ name: 'j.doe' }), whoOf({ 'source-ip': '::1' }), whoOf({})]).toEqual(['j.doe', '::1', '']);
  });
});

describe('a folder of records', () => {
  const stored = async (store: ReturnType<ReturnType<typeof placesOf>['of']>): Promise<unknown> => (await store.all()).records;

  it('has a file for each, of which those of other appliances and other files are nobody’s here', async () => {
    const folder = temporaryFolder();
    const store = placesOf(APPLIANCE).of(folder);
    expect(placesOf(APPLIANCE).of(`${folder}/x/..`)).toBe(store);
    await store.put(recordOf(1));
    await store.put(recordOf(1, { ended: 2 }));
    await placesOf('another')
      .of(folder)
      .put(recordOf(2, { appliance: 'another' }));
    for (const name of [`x-contained-${idOf(3)}.json`, `contained-${idOf(3)}.json.bak`, 'contained-3.json', 'notes.txt'])
      writeFileSync(join(folder, name), '{');
    expect(await store.all()).toEqual({ records: [recordOf(1, { ended: 2 })], fault: undefined });
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
  ])('tells of one that is damaged, and gives the others: %s', async (_what, text) => {
    const folder = temporaryFolder();
    const store = placesOf(APPLIANCE).of(folder);
    const file = join(folder, `contained-${idOf(1)}.json`);
    writeFileSync(file, text);
    await store.put(recordOf(3));
    const { records, fault } = await store.all();
    expect(records).toEqual([recordOf(3)]);
    expect(fault).toMatchObject({ code: 'BAD_CONFIG', details: { sent: false } });
    expect(fault?.message).toBe(
      `${file} is damaged: it does not tell whom it keeps out. Remove it, and look whether an account has to be enabled by hand.`,
    );
    expect((await failure(allKept(APPLIANCE))).message).toBe(fault?.message);
    expect((await readable(APPLIANCE)).kept).toEqual([{ record: recordOf(3), store }]);
  });

  it('that is not there is told, and of several the first fault', async () => {
    const folder = join(temporaryFolder(), 'none');
    const store = placesOf(APPLIANCE).of(folder);
    expect((await store.all()).fault).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('cannot be read') as string });
    const error = await failure(store.put(recordOf(1)));
    expect(error).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('cannot be written') as string });
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    const odd = placesOf(APPLIANCE).of(file);
    const removal = await failure(odd.remove(idOf(1)));
    expect(removal).toMatchObject({ code: 'BAD_INPUT', details: { extra: { system: 'ENOTDIR' } } });
    expect(removal.message).toContain('cannot be written');
    const memory = placesOf(APPLIANCE).of(undefined);
    await memory.put(recordOf(5));
    const { kept, fault } = await readable(APPLIANCE);
    expect(kept).toEqual([{ record: recordOf(5), store: memory }]);
    expect(fault?.details.extra?.['file']).toBe([folder, file].sort()[0]);
    expect(await failure(allKept(APPLIANCE))).toMatchObject({ code: 'BAD_INPUT' });
  });

  it('beside the memory of the process, which begins anew with it', async () => {
    const memory = placesOf(APPLIANCE).of(undefined);
    await memory.put(recordOf(1));
    await memory.put(recordOf(2));
    await memory.put(recordOf(1, { ended: 3 }));
    expect(await stored(memory)).toEqual([recordOf(1, { ended: 3 }), recordOf(2)]);
    expect([await memory.remove(idOf(2)), await memory.remove(idOf(2))]).toEqual([true, false]);
    expect((await allKept(APPLIANCE)).map(({ record }) => record.ended)).toEqual([3]);
    expect(await allKept('another')).toEqual([]);
    expect(placesOf(APPLIANCE).of(undefined)).toBe(memory);
    forgetPlaces();
    expect(await allKept(APPLIANCE)).toEqual([]);
  });

  it('is changed by one at a time, in the order of folders', async () => {
    const [first = '', second = ''] = [temporaryFolder(), temporaryFolder()].sort();
    for (const folder of [second, first]) placesOf(APPLIANCE).of(folder);
    const locks = [first, second].map((folder) => join(folder, `contained-${APPLIANCE.slice(-16)}.lock`));
    writeFileSync(locks[0] ?? '', `${HOST}-${process.ppid}`);
    let done = false;
    const work = aloneAt(APPLIANCE, () => {
      expect(locks.map((lock) => existsSync(lock))).toEqual([true, true]);
      done = true;
      return Promise.resolve('done');
    });
    await new Promise((resolve) => setTimeout(resolve, 60));
    // Whoever waits for the first has not taken the second.
    expect([done, existsSync(locks[1] ?? '')]).toEqual([false, false]);
    writeFileSync(locks[0] ?? '', `${HOST}-999999999`);
    expect(await work).toBe('done');
    expect(locks.map((lock) => existsSync(lock))).toEqual([false, false]);
  });
});

describe('a turn', () => {
  const place = (): string => join(temporaryFolder(), 'x.lock');
  const aged = (file: string, seconds: number): void => {
    const then = Date.now() / 1000 - seconds;
    utimesSync(file, then, then);
  };

  it('is one at a time, with a file that says whose it is, and ends with the work, however that ends', async () => {
    const file = place();
    let atOnce = 0;
    const work = async (): Promise<string> => {
      expect(++atOnce).toBe(1);
      expect(readFileSync(file, 'utf8')).toBe(`${HOST}-${process.pid}`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      await new Promise((resolve) => setTimeout(resolve, 5));
      atOnce--;
      return 'done';
    };
    expect(await Promise.all([inTurn(file, work), inTurn(file, work)])).toEqual(['done', 'done']);
    const fault = new Error('of the work');
    await expect(inTurn(file, () => Promise.reject(fault))).rejects.toBe(fault);
    expect(existsSync(file)).toBe(false);
  });

  it.each<[string, string, number]>([
    ['of this process, which does not have it', `${HOST}-${process.pid}`, 0],
    ['of a process that has ended', `${HOST}-999999999`, 0],
    ['of another machine that has been silent', '00000000-1', 121],
    ['of nobody, for some seconds', '', 6],
    ['of something else, for long', `${HOST}-x`, 121],
    ['of no process, for long', `${HOST}-0`, 121],
  ])('is taken over from a file %s', async (_what, holder, seconds) => {
    const file = place();
    writeFileSync(file, holder);
    aged(file, seconds);
    expect(await inTurn(file, () => Promise.resolve('done'))).toBe('done');
  });

  it.each<[string, string, number]>([
    ['of a process that lives', `${HOST}-${process.ppid}`, 1000],
    ['of another machine', '00000000-999999999', 120],
    ['of nobody yet', '', 5],
    ['of no process', `${HOST}-0`, 6],
    ['of something else', `${HOST}-x`, 6],
    ['that is none, and stays', '/', 1000],
  ])('is waited for while there is a file %s, for a minute', async (_what, holder, seconds) => {
    const file = place();
    // On the second, so that its age is exact.
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-20T08:00:00.000Z') });
    onTestFinished(() => void vi.useRealTimers());
    if (holder === '/') mkdirSync(file);
    else writeFileSync(file, holder);
    aged(file, seconds);
    const clock = vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValueOnce(60_000).mockReturnValue(60_001);
    onTestFinished(() => clock.mockRestore());
    const error = await failure(inTurn(file, () => Promise.resolve('done')));
    expect(error).toMatchObject({ code: 'CONFLICT', details: { sent: false } });
    expect(error.message).toBe(`Another process has been changing who is contained for a minute (${file}). Try again later.`);
    expect(clock).toHaveBeenCalledTimes(3);
    expect(existsSync(file)).toBe(true);
  });

  it('is everybody’s where nothing can be created, and nobody says that it is theirs', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await inTurn(join(temporaryFolder(), 'none', 'x.lock'), () => Promise.resolve(vi.getTimerCount()))).toBe(0);
  });

  it('says every ten seconds that somebody has it', async () => {
    const file = place();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await inTurn(file, async () => {
      utimesSync(file, 0, 0);
      vi.advanceTimersByTime(9999);
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersByTime(1);
      await eventually(() => expect(statSync(file).mtimeMs).toBeGreaterThan(0));
    });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a keeper', () => {
  const hands = { planned: true } as Hands;

  /** One that only says how it was asked to look. */
  function keeping(more: Partial<Keeper> = {}) {
    const told = { limits: [] as number[], looks: [] as [number, string | undefined][] };
    const keeper: Keeper = {
      appliance: APPLIANCE,
      every: 0.001,
      contains: true,
      perform: (work, limitMs) => (told.limits.push(limitMs), work(hands)),
      onEvent: () => undefined,
      onLook: (contained, fault) => told.looks.push([contained, fault?.message]),
      ...more,
    };
    const stop = keep(keeper);
    onTestFinished(stop);
    return { ...told, stop };
  }

  it('tells at each look how many are kept out, and asks nothing where nobody is', async () => {
    const one = keeping();
    expect(isKept()).toBe(true);
    await eventually(() => expect(one.looks.length).toBeGreaterThan(2));
    expect([one.looks.at(-1), one.limits]).toEqual([[0, undefined], []]);
    const memory = placesOf(APPLIANCE).of(undefined);
    await memory.put(recordOf(1));
    await memory.put(recordOf(2, { releasing: true }));
    await eventually(() => expect(one.looks.at(-1)).toEqual([1, undefined]));
    one.stop();
    const { length } = one.looks;
    expect(isKept()).toBe(false);
    offerSessions(APPLIANCE, [], performance.now() + 1e6);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(one.looks).toHaveLength(length);
    one.stop();
  });

  it('that contains people looks for those that only list them, as often as the most eager wants', async () => {
    await placesOf(APPLIANCE).of(undefined).put(recordOf(1));
    const lists = keeping({ contains: false, every: 3600 });
    const contains = keeping({ every: 0.001 });
    await eventually(() => expect(contains.limits.length).toBeGreaterThan(2));
    expect(lists.limits.length).toBeLessThanOrEqual(1);
    expect(lists.looks.length).toBeGreaterThanOrEqual(contains.looks.length);
    contains.stop();
    const { length } = lists.limits;
    const others = keeping({ contains: false, every: 3600 });
    await eventually(() => expect(lists.limits.length).toBeGreaterThan(length));
    expect(others.limits).toEqual([]);
  });

  it('also looks into its folder', async () => {
    const folder = temporaryFolder();
    await placesOf(APPLIANCE).of(folder).put(recordOf(1));
    forgetPlaces();
    const one = keeping({ folder });
    await eventually(() => expect(one.looks.at(-1)).toEqual([1, undefined]));
    writeFileSync(join(folder, `contained-${idOf(2)}.json`), '{');
    await eventually(() => expect(one.looks.at(-1)).toEqual([1, expect.stringContaining('is damaged') as string]));
  });

  it('gives a look longer after one that took too long, and says so', async () => {
    await placesOf(APPLIANCE).of(undefined).put(recordOf(1));
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
    const said = (seconds: number): string =>
      `The appliance took longer than ${seconds} s over who is kept out. It is asked again at once.`;
    expect(one.looks.slice(0, 12).map(([, message]) => message)).toEqual([
      ...[5, 10, 20, 40, 80, 160, 320, 600].map(said),
      undefined,
      said(12),
      'Cut.',
      undefined,
    ]);
  });
});
