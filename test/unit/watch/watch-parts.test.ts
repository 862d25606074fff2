import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LightAbortController } from '../../../src/model/abort';
import { createEmptyMessageLists, type Envelope } from '../../../src/model/envelope';
import { GatewayError } from '../../../src/model/error';
import type { ErrorCode } from '../../../src/model/error-codes';
import type { JsonObject } from '../../../src/model/json';
import { HOST_NAME_HASH } from '../../../src/files/atomic-file';
import { SharedPoller, type CheckResult } from '../../../src/watch/shared-poller';
import { getSharedPoller } from '../../../src/watch/shared-pollers';
import { getWatchKind, type WatchedGateway } from '../../../src/watch/watch-kinds';
import { WatchStateFile, type WatchStateEntry } from '../../../src/watch/watch-state-file';
import type { WatchOptions } from '../../../src/watch';
import {
  startTestSimulator,
  expectFailure,
  gatewayFor,
  startSimulatorWithGateway,
  getThrownError,
} from '../../helpers/simulated-appliance';
import { createWatch, TestClock, startWatch, type WatchFixture } from '../../helpers/watch';
import { createTemporaryFolder as folder } from '../../helpers/temporary';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SharedPoller', () => {
  /** A poller whose checks end when the test says so. */
  function feeding() {
    const clock = new TestClock(0);
    const asked: { at: number; signal: LightAbortController; end: () => Promise<void> }[] = [];
    const feed = new SharedPoller(
      (signal) =>
        new Promise((_, reject) => {
          const end = (): Promise<void> => (reject(new Error('over')), turn());
          asked.push({ at: clock.now(), signal, end });
        }),
      clock,
    );
    /** A subscriber that records its results with their times. */
    const one = (intervalMs: number, work: () => Promise<void> = () => Promise.resolve()) => {
      const taken: [number, CheckResult][] = [];
      const onResult = async (result: CheckResult): Promise<number> => {
        taken.push([clock.now(), result]);
        await work();
        return intervalMs;
      };
      return { intervalMs, onResult, taken, times: () => taken.map(([at]) => at) };
    };
    const ended = async (): Promise<void> => {
      await asked.at(-1)?.end();
      await turn();
    };
    return { clock, asked, feed, one, ended, times: () => asked.map(({ at }) => at) };
  }

  it('SharedPoller checks when a subscriber is due, and serves others that are due within half the shortest interval', async () => {
    const { clock, feed, one, ended, times } = feeding();
    const [often, soon, late] = [one(100), one(100), one(300)];
    feed.subscribe(often, 40);
    feed.subscribe(soon, 90);
    feed.subscribe(late, 91);
    expect([feed.isEmpty, clock.plannedTimes]).toEqual([false, [40]]);
    await clock.advance(39);
    expect(times()).toEqual([]);
    await clock.advance(1);
    expect([times(), clock.plannedTimes]).toEqual([[40], []]);
    await clock.advance(60);
    await ended();
    expect(often.taken).toMatchObject([[100, { error: { message: 'over' } }]]);
    expect([soon.times(), late.times()]).toEqual([[100], []]);
    // The third is overdue by then and gets a check alone, because the others have just had one.
    expect([times(), clock.plannedTimes]).toEqual([[40, 100], []]);
    await ended();
    expect([often.times(), soon.times(), late.times(), clock.plannedTimes]).toEqual([[100], [100], [100], [200]]);
  });

  it('SharedPoller ignores a repeated subscription, and reports when its last subscriber leaves', async () => {
    const { clock, feed, one, asked, times } = feeding();
    const [first, other] = [one(100), one(100)];
    expect(feed.isEmpty).toBe(true);
    feed.subscribe(first, 100);
    feed.subscribe(first, 10);
    expect(clock.plannedTimes).toEqual([100]);
    feed.unsubscribe(other);
    await feed.checkNow(other);
    expect([times(), clock.plannedTimes]).toEqual([[], [100]]);
    feed.unsubscribe(first);
    expect([feed.isEmpty, clock.plannedTimes]).toEqual([true, []]);
    await clock.advance(1000);
    expect(asked).toEqual([]);
  });

  it('SharedPoller checks at once on request, and once more for requests during a check', async () => {
    const { clock, feed, one, ended, times } = feeding();
    const [first, other] = [one(100), one(100)];
    feed.subscribe(first, 1000);
    feed.subscribe(other, 1000);
    const done: string[] = [];
    const check = (who: typeof first, name: string): void => void feed.checkNow(who).then(() => done.push(name));
    check(first, 'first');
    check(first, 'again');
    check(other, 'other');
    await turn();
    expect([times(), done]).toEqual([[0], []]);
    await clock.advance(5);
    await ended();
    // The other subscriber asked during the check and gets the next one.
    expect([times(), done, first.times(), other.times()]).toEqual([[0, 5], ['first'], [5], []]);
    await clock.advance(5);
    await ended();
    expect([times(), done, first.times(), other.times()]).toEqual([[0, 5, 10], ['first', 'other'], [5], [10]]);
    await ended();
    expect([done, first.times(), other.times()]).toEqual([['first', 'other', 'again'], [5, 10], [10]]);
    expect(clock.plannedTimes).toEqual([110]);
  });

  it('SharedPoller continues with other subscribers while one is slow, and lets the slow one take part later', async () => {
    const { clock, feed, one, ended, times } = feeding();
    let free = (): void => undefined;
    const slow = one(100, () => new Promise<void>((resolve) => (free = resolve)));
    const quick = one(100);
    for (const who of [slow, quick]) feed.subscribe(who, 1);
    await clock.advance(1);
    await ended();
    let over = false;
    void feed.checkNow(slow).then(() => (over = true));
    await clock.advance(100);
    expect(times()).toEqual([1, 101]);
    await ended();
    expect([slow.times(), quick.times()]).toEqual([[1], [1, 101]]);
    free();
    await turn();
    expect([times(), over]).toEqual([[1, 101, 101], false]);
    await ended();
    expect(slow.times()).toEqual([1, 101]);
    free();
    await turn();
    expect([over, clock.plannedTimes]).toEqual([true, [201]]);
  });

  it('SharedPoller resolves the waiting calls of a subscriber that leaves, and aborts a check without subscribers', async () => {
    const { clock, feed, one, asked, ended } = feeding();
    const [first, other] = [one(100), one(100)];
    for (const who of [first, other]) feed.subscribe(who, 1);
    await clock.advance(1);
    const waits = [feed.checkNow(first), feed.checkNow(first)];
    feed.unsubscribe(first);
    await Promise.all(waits);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([false]);
    // A subscriber that returns during a check does not get its result.
    feed.subscribe(first, 50);
    feed.unsubscribe(other);
    feed.unsubscribe(first);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true]);
    feed.subscribe(first, 50);
    await ended();
    expect([first.taken, other.taken, clock.plannedTimes]).toEqual([[], [], [51]]);
    await clock.advance(50);
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    await ended();
    expect(first.times()).toEqual([51]);
  });

  it('SharedPoller plans no check for a subscriber that left while it handled a result', async () => {
    const { clock, feed, one, asked, ended } = feeding();
    const leaves = one(100, () => (feed.unsubscribe(leaves), Promise.resolve()));
    const stays = one(1000);
    for (const who of [leaves, stays]) feed.subscribe(who, 1);
    await clock.advance(1);
    await ended();
    expect([leaves.times(), stays.times(), clock.plannedTimes]).toEqual([[1], [1], [1001]]);
    await clock.advance(1000);
    expect(asked).toHaveLength(2);
  });

  it('SharedPoller waits in several steps if its interval is longer than a timer allows', async () => {
    const { clock, feed, one, times } = feeding();
    feed.subscribe(one(1), 2 ** 31);
    expect(clock.plannedTimes).toEqual([2 ** 30]);
    await clock.advance(2 ** 30);
    expect([clock.plannedTimes, times()]).toEqual([[2 ** 31], []]);
    await clock.advance(2 ** 30);
    expect(times()).toEqual([2 ** 31]);
  });

  it.each([-86_400_000, 86_400_000])('SharedPoller keeps its interval when the system clock jumps by %i ms', async (jumpMs) => {
    const { clock, feed, one, ended, times } = feeding();
    feed.subscribe(one(100), 1);
    await clock.advance(1);
    await ended();
    clock.jump(jumpMs);
    await clock.advance(99);
    expect(times()).toHaveLength(1);
    await clock.advance(1);
    expect(times()).toHaveLength(2);
    await ended();
    expect(clock.plannedTimes).toEqual([201]);
  });

  it('SharedPoller starts a new subscription on time after the system clock was set back', async () => {
    const { clock, feed, one, times } = feeding();
    feed.subscribe(one(100), 50);
    clock.jump(-3_600_000);
    // Any change plans all checks again.
    feed.subscribe(one(100), 500);
    await clock.advance(50);
    expect(times()).toHaveLength(1);
  });

  it('getSharedPoller returns the same poller for the same gateway, kind, input and clock', () => {
    const [gateway, other] = [1, 2].map((port) => gatewayFor({ url: `https://127.0.0.1:${port}` }));
    if (!gateway || !other) throw new Error('two gateways were asked for');
    const [clock, health] = [new TestClock(), getWatchKind('health')];
    const feed = getSharedPoller(gateway, 'health', health, { status: 'all' }, clock);
    expect(getSharedPoller(gateway, 'health', health, { status: 'all' }, clock)).toBe(feed);
    const others = [
      getSharedPoller(other, 'health', health, { status: 'all' }, clock),
      getSharedPoller(gateway, 'system', getWatchKind('system'), { status: 'all' }, clock),
      getSharedPoller(gateway, 'health', health, {}, clock),
      getSharedPoller(gateway, 'health', health, { status: 'all' }, new TestClock()),
    ];
    expect(new Set([feed, ...others]).size).toBe(5);
    expect(getSharedPoller(gateway, 'health', health, {}, clock)).toBe(others[2]);
  });
});

describe('WatchStateFile', () => {
  const IDENTITY = '["health","vpn"]';
  const place = (): string => join(folder(), 'deep', 'watch.jsonl');
  const holds = (state: unknown, ...rest: unknown[]) => ({ save: () => state, remainingChanges: () => rest });
  const entry = (number: number, more: Partial<WatchStateEntry> = {}): WatchStateEntry => ({
    number,
    isUnreachable: false,
    events: [],
    ...more,
  });
  const [one, two, three] = ['one', 'two', 'three'].map((event) => ({ event }));
  const events = [one, two, three].filter((event) => event !== undefined);

  /** A saved file with these entries. */
  async function written(file: string, ...entries: WatchStateEntry[]): Promise<WatchStateFile> {
    const memory = new WatchStateFile(file, IDENTITY);
    expect(await memory.load()).toBeUndefined();
    await memory.save(holds({ a: 1 }, 'x', 'y'), true, 3);
    for (const each of entries) memory.addEntry(each);
    return memory;
  }
  const recalled = (file: string) => new WatchStateFile(file, IDENTITY).load();

  it('WatchStateFile writes JSON lines that only the owner can read, and restores all of them', async () => {
    const file = place();
    const memory = new WatchStateFile(file, IDENTITY);
    expect([await memory.load(), memory.isSaveDue]).toEqual([undefined, true]);
    mkdirSync(`${file}.none`);
    writeFileSync(`${file}.${HOST_NAME_HASH}-999999999-1.partial`, 'of a process that was killed');
    await memory.load();
    expect(readdirSync(dirname(file))).toEqual(['watch.jsonl.none']);
    await memory.save(holds({ a: 1 }, 'x', 'y'), true, 3);
    expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
    expect(memory.isSaveDue).toBe(false);
    memory.addEntry(entry(4, { change: 'z' }));
    memory.markSent();
    const lines = [
      { format: 'gateway-watch 1', identity: IDENTITY, epoch: memory.epoch, number: 3, isUnreachable: true, state: { a: 1 } },
      { number: 3, change: 'x', isUnreachable: true, events: [] },
      { number: 3, change: 'y', isUnreachable: true, events: [] },
      { number: 4, isUnreachable: false, events: [], change: 'z' },
      'sent',
    ];
    expect(readFileSync(file, 'utf8')).toBe(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    memory.close();
    memory.close();
    const next = new WatchStateFile(file, IDENTITY);
    expect(next.epoch).toMatch(/^[\w-]{8}$/);
    expect(next.epoch).not.toBe(memory.epoch);
    expect(await next.load()).toEqual({
      state: { a: 1 },
      changes: ['x', 'y', 'z'],
      isUnreachable: false,
      number: 4,
      unsentEntry: undefined,
    });
    expect(next.epoch).toBe(memory.epoch);
  });

  it('WatchStateFile restores only the unsent events of the last check', async () => {
    const file = place();
    const memory = await written(file, entry(4, { change: 'z', events, envelope: { ok: true } }));
    expect((await recalled(file))?.unsentEntry).toEqual({ number: 4, isUnreachable: false, change: 'z', envelope: { ok: true }, events });
    memory.markSent();
    const untold = (await recalled(file))?.unsentEntry;
    expect(untold?.events).toEqual(events.slice(1));
    memory.markSent();
    memory.markSent();
    expect((await recalled(file))?.unsentEntry).toBeUndefined();
    memory.addEntry(entry(5, { events: events.slice(2) }));
    expect(await recalled(file)).toMatchObject({ number: 5, unsentEntry: { number: 5, events: events.slice(2) } });
    // A rewrite keeps the unsent events; their change is part of the saved state.
    await memory.save({ save: () => 'all' }, false, 6, untold);
    memory.close();
    expect(await recalled(file)).toEqual({
      state: 'all',
      changes: [],
      isUnreachable: false,
      number: 4,
      unsentEntry: { number: 4, isUnreachable: false, envelope: { ok: true }, events: events.slice(1) },
    });
  });

  it('WatchStateFile ignores a file with another identity', async () => {
    const file = place();
    (await written(file)).close();
    const other = new WatchStateFile(file, '["health","another"]');
    const { epoch } = other;
    expect([await other.load(), other.epoch === epoch]).toEqual([undefined, true]);
  });

  it('WatchStateFile needs a rewrite once the appended part exceeds both a megabyte and the saved state', async () => {
    const file = place();
    const memory = await written(file);
    const length = `${JSON.stringify(entry(4, { change: '' }))}\n`.length;
    memory.addEntry(entry(4, { change: 'x'.repeat(2 ** 20 - length) }));
    expect(memory.isSaveDue).toBe(false);
    memory.markSent();
    expect(memory.isSaveDue).toBe(true);
    await memory.save(holds('x'.repeat(2 ** 20)), false, 4);
    const { size } = statSync(file);
    memory.addEntry(entry(5, { change: 'x'.repeat(size - length) }));
    expect([memory.isSaveDue, statSync(file).size]).toEqual([false, 2 * size]);
    memory.markSent();
    expect(memory.isSaveDue).toBe(true);
    memory.close();
    expect(memory.isSaveDue).toBe(true);
  });

  const first = JSON.stringify({ format: 'gateway-watch 1', identity: IDENTITY, epoch: 'e', number: 1, isUnreachable: false, state: 1 });
  it.each([
    'x\n',
    '',
    first,
    '7\n',
    '{}\n',
    `${first.replace('watch 1', 'watch 2')}\n`,
    `${first.replace('"e"', '7')}\n`,
    `${first}\n{"number":\n`,
    ...[7, null, 'sends', { isUnreachable: false, events: [] }, { number: 1, events: [] }, { number: 1, isUnreachable: false }].map(
      (line) => `${first}\n${JSON.stringify(line)}\n`,
    ),
    `${first}\n${JSON.stringify({ number: 1, isUnreachable: false, events: [{}, 7] })}\n`,
  ])('WatchStateFile rejects a damaged file: %j', async (text) => {
    const file = join(folder(), 'watch.jsonl');
    writeFileSync(file, text);
    const error = await expectFailure(recalled(file));
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
    expect(error.message).toBe(
      `${file} is damaged or is not a state file of a watch. The watch starts over; events since the last check are not sent.`,
    );
  });

  it('WatchStateFile reports read and write errors and leaves no partial file', async () => {
    const path = folder();
    const file = join(path, 'watch.jsonl');
    mkdirSync(file);
    expect((await expectFailure(recalled(file))).message).toBe(`${file} cannot be read: it is a folder (EISDIR).`);
    const memory = new WatchStateFile(file, IDENTITY);
    expect((await expectFailure(memory.save(holds(1), false, 1))).message).toContain(`${file} cannot be written: `);
    expect([memory.isSaveDue, readdirSync(path)]).toEqual([true, ['watch.jsonl']]);
    expect(getThrownError(() => memory.addEntry(entry(1)))?.message).toBe(`${file} cannot be written: it is not open.`);
    const nowhere = join(path, 'none', 'watch.jsonl');
    expect((await expectFailure(new WatchStateFile(nowhere, IDENTITY).save(holds(1), false, 1))).message).toContain(
      `${nowhere} cannot be written: `,
    );
  });
});

describe('Watcher', () => {
  const at = '2026-11-20T08:00:00.000Z';
  const envelope: Envelope = {
    ...{
      ok: true,
      operation: 'system.health',
      appliance: 'vpn',
      request: null,
      status: 200,
      result: createEmptyMessageLists(),
      changed: null,
    },
    ...{ dryRun: false, requests: 1, retries: 0, logins: 0, ms: 1, at },
  };
  const limits = [{ name: 'a', above: 90 }];

  /** A gateway with these answers: data, or errors by code. The last one repeats. */
  function answering(...answers: (JsonObject | ErrorCode | Error)[]) {
    const asked: unknown[] = [];
    const watched: WatchedGateway = {
      name: randomUUID(),
      run: (name) => {
        asked.push(name);
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof Error) return Promise.reject(answer);
        if (typeof answer !== 'string') return Promise.resolve({ data: answer, many: null, envelope, streamed: false });
        return Promise.reject(
          Object.assign(new GatewayError(answer, `It is ${answer}.`), { cause: { ...envelope, ok: false, code: answer } }),
        );
      },
      readConfiguration: () => Promise.reject(new Error('nobody asks for that')),
    };
    return { watched, asked, answers };
  }
  const of = (watched: WatchedGateway, more: Partial<WatchOptions> = {}, clock?: TestClock): WatchFixture =>
    createWatch(watched, { watch: 'health', limits, ...more }, clock);

  it('Watcher accepts intervals from one second to one day', () => {
    const { watched } = answering({});
    for (const every of [1, 86_400]) expect(of(watched, { every }).watcher.intervalMs).toBe(every * 1000);
    for (const every of [0.999, 86_401, NaN])
      expect(getThrownError(() => of(watched, { every }))).toMatchObject({
        code: 'BAD_CONFIG',
        message: 'every must be from 1 to 86400 seconds.',
        details: { sent: false },
      });
  });

  it('Watcher starts soon, varies its interval by a tenth, and adds an id and a time to each event', async () => {
    const { watched, asked } = answering({ a: 1 }, { a: 91 }, { a: 92 }, { a: 1 });
    const clock = new TestClock(Date.parse(at) + 0.5);
    const { watcher, events, states } = of(watched, {}, clock);
    await Promise.all([watcher.start(), watcher.start()]);
    expect([states, clock.plannedTimes, asked]).toEqual([[{ state: 'waiting' }], [clock.now() + 500], []]);
    await clock.runNextTimer();
    expect([events, asked, clock.plannedTimes]).toEqual([[], ['system.health'], [clock.now() + 10_000]]);
    expect(states.slice(1)).toEqual([{ state: 'checked', at: clock.now(), summary: { key: 'fine' } }]);
    await clock.runNextTimer();
    const epoch = Date.parse(at).toString(36);
    expect(events).toEqual([
      {
        topic: 'health/above',
        payload: { event: 'above', name: 'a', value: 91, limit: 90, id: `${epoch}-2-0`, at: '2026-11-20T08:00:10.500Z' },
        envelope,
      },
    ]);
    expect(states.at(-1)).toMatchObject({ summary: { key: 'above', n: 1 } });
    for (let check = 0; check < 2; check++) await clock.runNextTimer();
    // A check without a change does not use a number.
    expect(events.slice(1)).toMatchObject([{ topic: 'health/below', payload: { id: `${epoch}-3-0` } }]);
  });

  it('Watcher makes the first check of an hourly watch within two seconds', async () => {
    const { watched } = answering({});
    const clock = new TestClock();
    await of(watched, { every: 3600 }, clock).watcher.start();
    expect(clock.plannedTimes).toEqual([clock.now() + 1000]);
  });

  it.each<ErrorCode>(['CONNECTION', 'TIMEOUT', 'TLS', 'APPLIANCE_ERROR', 'BAD_RESPONSE'])(
    'Watcher treats %s as an unreachable appliance',
    async (code) => {
      const { watched } = answering({ a: 1 }, code, code, 'LOGIN_PAUSED', 'FORBIDDEN', { a: 91 });
      const { clock, events, errors, states } = await startWatch(watched, { watch: 'health', limits });
      await clock.runNextTimer();
      const since = clock.now();
      expect(events.splice(0)).toEqual([
        {
          topic: 'health/unreachable',
          payload: {
            ...{ event: 'unreachable', code, message: `It is ${code}.` },
            ...{ id: expect.stringMatching(/-2-0$/) as string, at: new Date(since).toISOString() },
          },
          envelope: { ...envelope, ok: false, code },
        },
      ]);
      await clock.runNextTimer();
      // A login pause is not reported.
      await clock.runNextTimer();
      expect([events, errors]).toEqual([[], []]);
      expect(states.slice(-2)).toEqual([
        { state: 'unreachable', since },
        { state: 'unreachable', since },
      ]);
      await clock.runNextTimer();
      expect(states.at(-1)).toEqual({ state: 'failed', code: 'FORBIDDEN' });
      await clock.runNextTimer();
      expect(events.map(({ topic, payload: { id } }) => [topic, id.slice(-4)])).toEqual([
        ['health/reachable', '-3-0'],
        ['health/above', '-3-1'],
      ]);
      expect(errors.map((error) => error.code)).toEqual(['FORBIDDEN']);
    },
  );

  it('Watcher reports an error once until a check succeeds', async () => {
    const codes: ErrorCode[] = ['FORBIDDEN', 'FORBIDDEN', 'UNAUTHORIZED', 'FORBIDDEN'];
    const { watched } = answering(...codes, { a: 1 }, 'FORBIDDEN', new GatewayError('TIMEOUT', 'Of no run.'), 'LOGIN_PAUSED');
    const { clock, events, errors, states } = await startWatch(watched, { watch: 'health', limits });
    for (let check = 1; check < 8; check++) await clock.runNextTimer();
    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ...['FORBIDDEN', 'UNAUTHORIZED', 'FORBIDDEN', 'FORBIDDEN'].map((code) => [code, `It is ${code}.`]),
      ['TIMEOUT', 'Of no run.'],
    ]);
    expect(events).toEqual([]);
    expect(states.slice(1).map((state) => ('code' in state ? state.code : state.state))).toEqual([
      ...codes,
      'checked',
      'FORBIDDEN',
      'TIMEOUT',
      'LOGIN_PAUSED',
    ]);
  });

  it('Watcher doubles the pause after each failure up to a minute, but not after an aborted check', async () => {
    const { watched, answers } = answering('ABORTED', 'FORBIDDEN');
    const { clock, errors, states } = await startWatch(watched, { watch: 'health', limits, every: 4 });
    const pauses: number[] = [];
    for (let check = 0; check < 8; check++) {
      pauses.push(((clock.plannedTimes[0] ?? NaN) - clock.now()) / 1000);
      await clock.runNextTimer();
    }
    expect(pauses).toEqual([4, 8, 16, 32, 60, 60, 60, 60]);
    expect([errors.length, states.length]).toEqual([1, 1 + 8]);
    answers.unshift({ a: 1 });
    await clock.runNextTimer();
    expect(clock.plannedTimes).toEqual([clock.now() + 4000]);
    await clock.runNextTimer();
    expect(clock.plannedTimes).toEqual([clock.now() + 8000]);
  });

  it('Watcher passes an exception of onEvent to onError', async () => {
    const { watched } = answering({ a: 1 }, { a: 91 }, 'CONNECTION');
    const fault = new Error('of the flow');
    const onEvent = (): void => {
      throw fault;
    };
    const { clock, errors, states } = await startWatch(watched, { watch: 'health', limits, onEvent });
    await clock.runNextTimer();
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('of the flow')]);
    await clock.runNextTimer();
    expect([errors.length, states.at(-1)?.state, clock.plannedTimes]).toEqual([2, 'failed', [clock.now() + 10_000]]);
  });

  it('Watcher checks only on request while it is paused, and reports the pause once', async () => {
    const { watched, asked } = answering({ a: 1 });
    const { watcher, clock, states } = await startWatch(watched, { watch: 'health', limits });
    await watcher.resume();
    expect(asked).toHaveLength(1);
    watcher.pause();
    watcher.pause();
    expect([states.slice(2), clock.plannedTimes]).toEqual([[{ state: 'paused' }], []]);
    await watcher.check();
    // The status text still shows the pause.
    expect([asked.length, states.length, clock.plannedTimes]).toEqual([2, 3, []]);
    await watcher.resume();
    expect([asked.length, states.at(-1)?.state, clock.plannedTimes]).toEqual([3, 'checked', [clock.now() + 10_000]]);
    await watcher.close();
    const { length } = states;
    watcher.pause();
    await watcher.resume();
    await watcher.check();
    expect([asked.length, states.length, clock.plannedTimes]).toEqual([3, length, []]);
  });

  it('Watcher does not start if it is paused or closed before its start', async () => {
    const { watched, asked } = answering({ a: 1 });
    const clock = new TestClock();
    const [pauses, ends] = [of(watched, {}, clock), of(watched, {}, clock)];
    pauses.watcher.pause();
    await pauses.watcher.start();
    expect([pauses.states, clock.plannedTimes]).toEqual([[{ state: 'paused' }], []]);
    const begun = ends.watcher.start();
    await ends.watcher.close();
    await begun;
    expect([clock.plannedTimes, asked]).toEqual([[], []]);
  });

  it('Watcher leaves unsent events to the next watch with the same state file when it closes', async () => {
    const remember = join(folder(), 'health.jsonl');
    const two = [...limits, { name: 'b', above: 90 }, { name: 'c', above: 90 }];
    const { watched } = answering({ a: 1, b: 1, c: 1 }, { a: 91, b: 91, c: 91 });
    const told: string[] = [];
    const one: WatchFixture = await startWatch(watched, {
      ...{ watch: 'health', limits: two, stateFile: remember },
      onEvent: ({ payload }) => {
        told.push(payload.id);
        if (told.length === 2) void one.watcher.close();
      },
    });
    await one.watcher.check();
    await one.watcher.close();
    expect(told).toHaveLength(2);
    const next = of(watched, { limits: two, stateFile: remember });
    await next.watcher.start();
    expect(next.events).toEqual([
      {
        topic: 'health/above',
        payload: expect.objectContaining({ name: 'c', id: told[1]?.replace(/1$/, '2') }) as object,
        envelope,
      },
    ]);
    await next.watcher.close();
    const third = of(watched, { limits: two, stateFile: remember });
    await third.watcher.check();
    expect([third.events, third.errors]).toEqual([[], []]);
  });

  it('Watcher restores its state, including an unreachable appliance', async () => {
    const remember = join(folder(), 'health.jsonl');
    const { watched, answers } = answering({ a: 1 }, { a: 91 }, 'CONNECTION', 'CONNECTION');
    const one = await startWatch(watched, { watch: 'health', limits, stateFile: remember });
    for (let check = 0; check < 2; check++) await one.watcher.check();
    expect(one.takeTopics()).toEqual(['health/above', 'health/unreachable']);
    await one.watcher.close();
    const clock = new TestClock(Date.parse(at));
    const two = await startWatch(watched, { watch: 'health', limits, stateFile: remember }, clock);
    expect([two.events, two.errors, two.states.at(-1)]).toEqual([[], [], { state: 'unreachable', since: clock.now() }]);
    answers.unshift({ a: 1 });
    await two.watcher.check();
    expect(two.events.map(({ payload }) => [payload.event, payload.id.slice(-4)])).toEqual([
      ['reachable', '-4-0'],
      ['below', '-4-1'],
    ]);
  });

  it('Watcher reports each fault of the state file once, and writes the file again as soon as possible', async () => {
    const path = join(folder(), 'place');
    const remember = join(path, 'health.jsonl');
    writeFileSync(path, 'in the way');
    const { watched } = answering({ a: 1 }, { a: 91 }, { a: 1 }, { a: 91 }, { a: 1 });
    const { watcher, takeTopics, errors } = await startWatch(watched, { watch: 'health', limits, stateFile: remember });
    for (let check = 0; check < 2; check++) await watcher.check();
    const [read, wrote] = errors.map(({ message }) => message);
    expect(errors).toHaveLength(2);
    expect(read).toContain(`${remember} cannot be read: `);
    expect(wrote).toContain(`${remember} cannot be written: `);
    rmSync(path);
    mkdirSync(path);
    await watcher.check();
    expect([takeTopics(), errors.length]).toEqual([['health/above', 'health/below', 'health/above'], 2]);
    // One event and its mark.
    expect(readFileSync(remember, 'utf8').split('\n').slice(1)).toEqual([expect.stringContaining('"above"'), '"sent"', '']);
    await watcher.check();
    await watcher.close();
    const next = await startWatch(watched, { watch: 'health', limits, stateFile: remember });
    expect([next.takeTopics(), next.errors]).toEqual([[], []]);
  });
});

it('Watcher reports changes since the last process and restores an unreachable appliance', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 300 });
  const remember = join(folder(), 'deep', 'sessions.jsonl');
  const one = await startWatch(gateway, { watch: 'sessions', stateFile: remember });
  expect(one.takeTopics()).toEqual([]);
  simulator.state.sessions.add({ 'active-user-name': 'while.watched' });
  await one.watcher.check();
  expect(one.takeTopics()).toEqual(['sessions/started']);
  await one.watcher.close();
  expect(statSync(remember).mode & 0o777).toBe(0o600);

  const [first = ''] = simulator.state.sessions.ids();
  simulator.state.sessions.end(first);
  simulator.state.sessions.add({ 'active-user-name': 'while.away' });
  const two = await startWatch(gateway, { watch: 'sessions', stateFile: remember });
  expect(two.takePayloads()).toMatchObject([
    { event: 'ended', session: { 'session-id': first } },
    { event: 'started', session: { 'active-user-name': 'while.away' } },
  ]);
  // A page in place of the response is not retried.
  simulator.fault({ times: Infinity, match: ({ path }) => path.includes('active-users'), body: '<html>Maintenance</html>' });
  await two.watcher.check();
  await two.watcher.close();
  expect(two.takeTopics()).toEqual(['sessions/unreachable']);

  const three = await startWatch(gateway, { watch: 'sessions', stateFile: remember });
  expect(three.takeTopics()).toEqual([]);
  simulator.clearFaults();
  await three.watcher.check();
  expect(three.takeTopics()).toEqual(['sessions/reachable']);
});

it('Watcher does not use the saved state of another filter or appliance', async () => {
  const simulator = await startTestSimulator({ sessions: 5 });
  const remember = join(folder(), 'sessions.jsonl');
  const filter = { 'active-user-name': 'new' };
  const watches = [
    { gateway: gatewayFor(simulator), filter: undefined },
    { gateway: gatewayFor(simulator), filter },
    { gateway: gatewayFor(simulator, { name: 'another' }), filter },
  ];
  for (const { gateway, filter } of watches) {
    simulator.state.sessions.add({ 'active-user-name': 'new' });
    const one = await startWatch(gateway, { watch: 'sessions', stateFile: remember, filter });
    expect([one.takeTopics(), one.errors]).toEqual([[], []]);
    await one.watcher.close();
  }
});

it('Watcher ignores an incomplete last line of its state file, and reports a damaged file', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway({ sessions: 5 });
  const path = folder();
  const remember = join(path, 'sessions.jsonl');
  const one = await startWatch(gateway, { watch: 'sessions', stateFile: remember });
  await one.watcher.close();
  // The process was killed while it wrote, before the events of that check were sent.
  appendFileSync(remember, '{"number":2,"change":{"add":[');
  simulator.state.sessions.add();
  const two = await startWatch(gateway, { watch: 'sessions', stateFile: remember });
  expect([two.takeTopics(), two.errors]).toEqual([['sessions/started'], []]);
  await two.watcher.close();

  writeFileSync(remember, 'something else\n');
  const three = await startWatch(gateway, { watch: 'sessions', stateFile: remember });
  expect(three.errors).toMatchObject([{ code: 'BAD_INPUT', message: expect.stringContaining('damaged') as unknown }]);
  simulator.state.sessions.add();
  await three.watcher.check();
  expect(three.takeTopics()).toEqual(['sessions/started']);
  expect(readFileSync(remember, 'utf8')).toContain('gateway-watch');
  expect(readdirSync(path)).toEqual(['sessions.jsonl']);
});

it('Watcher continues if its state file cannot be written, and reports that once', async () => {
  const { simulator, gateway } = await startSimulatorWithGateway();
  const path = folder();
  writeFileSync(join(path, 'file'), '');
  const made = createWatch(gateway, { watch: 'sessions', stateFile: join(path, 'file', 'sessions.jsonl') });
  await made.watcher.check();
  simulator.state.sessions.add();
  await made.watcher.check();
  simulator.state.sessions.add();
  await made.watcher.check();
  expect(made.takeTopics()).toEqual(['sessions/started', 'sessions/started']);
  expect(new Set(made.errors.map(({ message }) => message)).size).toBe(made.errors.length);
  expect(made.errors.length).toBeLessThanOrEqual(2);
});
