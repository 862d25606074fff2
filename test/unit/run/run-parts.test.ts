import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createEmptyMessageLists, getCurrentIsoTime } from '../../../src/model/envelope';
import type { ErrorCode } from '../../../src/model/error-codes';
import { asGatewayError, badInput, GatewayError, type GatewayErrorDetails } from '../../../src/model/error';
import type { JsonObject } from '../../../src/model/json';
import { MASK, Redactor } from '../../../src/model/redaction';
import { InFlightLimit } from '../../../src/run/in-flight-limit';
import { runBulk, type BulkItemOutcome } from '../../../src/run/bulk';
import { DryRunPlan } from '../../../src/run/dry-run-plan';
import { ReadCache } from '../../../src/run/read-cache';
import { RunRecord } from '../../../src/run/run-record';
import { isWithoutEffect, isOutcomeUnknown, isRetryable } from '../../../src/run/retry-policy';
import { getThrownCode, getThrownError } from '../../helpers/thrown-error';

// Parts of a run that send nothing by themselves: each by itself.

const error = (code: ErrorCode, details: GatewayErrorDetails = {}): GatewayError => new GatewayError(code, 'On purpose.', details);

describe('GatewayError', () => {
  it('GatewayError has a code, a message and only those details that its cause does not repeat', () => {
    const thrown = badInput('No name was given. Give one.', { sent: false });
    expect([thrown.name, thrown.code, String(thrown), String(thrown.safeMessage)]).toEqual([
      'GatewayError',
      'BAD_INPUT',
      'No name was given. Give one.',
      'No name was given. Give one.',
    ]);
    expect(Object.keys(thrown).sort()).toEqual(['cause', 'code']);
    expect([thrown.cause, thrown.details, error('NOT_FOUND').details]).toEqual([undefined, { sent: false }, {}]);
    expect([error('NOT_FOUND').requestCode, error('NOT_FOUND', { login: true }).requestCode]).toEqual(['NOT_FOUND', undefined]);
  });

  it('GatewayError can be created from any thrown value', () => {
    const ours = error('TIMEOUT');
    expect(asGatewayError(ours)).toBe(ours);
    const untold = {
      toString: (): string => {
        throw new Error('never');
      },
    };
    for (const [thrown, text] of <[unknown, string][]>[
      [new TypeError('x is not a function'), 'x is not a function'],
      ['odd', 'odd'],
      [undefined, 'undefined'],
      [untold, 'something that cannot be read'],
      [Object.assign(new Error(), { message: untold }), 'something that cannot be read'],
    ])
      expect(asGatewayError(thrown)).toMatchObject({
        code: 'BAD_RESPONSE',
        message: `Unexpected fault: ${text}. Please report it with the operation and its input.`,
      });
  });
});

describe('A new envelope', () => {
  it('A new envelope has the current time, formatted once per millisecond, and separate message lists', () => {
    const at = Date.parse('2026-11-22T08:00:00.123Z');
    vi.useFakeTimers({ toFake: ['Date'], now: at });
    onTestFinished(() => void vi.useRealTimers());
    const written = vi.spyOn(Date.prototype, 'toISOString');
    onTestFinished(() => written.mockRestore());
    expect([getCurrentIsoTime(), getCurrentIsoTime(), getCurrentIsoTime()]).toEqual(new Array(3).fill('2026-11-22T08:00:00.123Z'));
    expect(written).toHaveBeenCalledTimes(1);
    vi.setSystemTime(at + 1);
    expect(getCurrentIsoTime()).toBe('2026-11-22T08:00:00.124Z');
    const [one, other] = [createEmptyMessageLists(), createEmptyMessageLists()];
    one.info.push({ message: 'x' });
    expect(other).toEqual({ info: [], warnings: [], errors: [] });
  });
});

describe('The retry policy', () => {
  it.each<[ErrorCode, GatewayErrorDetails, boolean]>([
    ['CONNECTION', {}, true],
    ['CONNECTION', { system: 'ECONNREFUSED' }, true],
    // A name that does not resolve now will not in a second, and that time limit is long.
    ['CONNECTION', { system: 'ENOTFOUND' }, false],
    ['CONNECTION', { system: 'UND_ERR_CONNECT_TIMEOUT' }, false],
    ['BAD_RESPONSE', { system: 'UND_ERR_SOCKET' }, true],
    // Whole, but unreadable: it would be so again.
    ['BAD_RESPONSE', { system: 'HPE_INVALID_HEADER_TOKEN' }, false],
    ['BAD_RESPONSE', {}, false],
    ['APPLIANCE_ERROR', { status: 500 }, true],
    ['APPLIANCE_ERROR', { status: 503 }, true],
    ['APPLIANCE_ERROR', { status: 499 }, false],
    ['APPLIANCE_ERROR', {}, false],
    ['NOT_FOUND', { status: 500 }, false],
    ['TIMEOUT', {}, false],
  ])('the retry policy for %s %j allows a second read: %s', (code, details, repeated) => {
    expect(isRetryable(error(code, details))).toBe(repeated);
  });

  it.each<[ErrorCode, boolean]>([
    ['TIMEOUT', true],
    ['CONNECTION', true],
    ['TLS', true],
    ['BAD_RESPONSE', true],
    ['ABORTED', true],
    ['LIMIT', true],
    ['REJECTED', false],
    ['APPLIANCE_ERROR', false],
  ])('the error %s leaves the outcome of a write unknown: %s, unless nothing of it was sent', (code, unknown) => {
    expect([isOutcomeUnknown(error(code)), isOutcomeUnknown(error(code, { sent: true }))]).toEqual([unknown, unknown]);
    expect(isOutcomeUnknown(error(code, { sent: false }))).toBe(false);
  });

  it.each<[ErrorCode, GatewayErrorDetails, boolean]>([
    ['OUTCOME_UNKNOWN', {}, false],
    ['OUTCOME_UNKNOWN', { sent: false }, true],
    ['REJECTED', { status: 422, sent: true }, true],
    ['REJECTED', { status: 500, sent: true }, true],
    ['APPLIANCE_ERROR', { status: 500 }, false],
    ['APPLIANCE_ERROR', { status: 503, sent: true }, false],
    ['APPLIANCE_ERROR', { status: 503, sent: false }, true],
    // Errors in an answer of success: a part may have been done.
    ['APPLIANCE_ERROR', { status: 200 }, false],
    ['APPLIANCE_ERROR', { status: 299 }, false],
    ['APPLIANCE_ERROR', { status: 300 }, true],
    ['APPLIANCE_ERROR', { status: 499 }, true],
    ['APPLIANCE_ERROR', { status: 199 }, true],
    ['APPLIANCE_ERROR', {}, true],
  ])('the error %s %j proves that nothing was changed: %s', (code, details, unchanged) => {
    expect(isWithoutEffect(error(code, details))).toBe(unchanged);
  });
});

describe('Bulk work', () => {
  const done: BulkItemOutcome = { status: 200, changed: true };

  const work = (outcomes: readonly (BulkItemOutcome | GatewayError)[], more: { concurrency?: number; isPlanned?: boolean } = {}) => {
    const begun: number[] = [];
    const told: number[] = [];
    const outcome = runBulk(outcomes, {
      describeItem: (item) => (item instanceof GatewayError ? item.code : 'done'),
      work: async (item, index) => {
        begun.push(index);
        await Promise.resolve();
        if (item instanceof GatewayError) throw item;
        return item;
      },
      concurrency: 1,
      isPlanned: false,
      masker: new Redactor(),
      onItemDone: (count) => told.push(count),
      ...more,
    });
    return outcome.then((all) => ({ ...all, begun, told }));
  };

  it.each<[ErrorCode, GatewayErrorDetails, boolean]>([
    ['LOGIN_REJECTED', {}, true],
    ['LOGIN_PAUSED', {}, true],
    ['SECOND_FACTOR_REQUIRED', {}, true],
    ['UNAUTHORIZED', {}, true],
    ['TLS', {}, true],
    ['BAD_CONFIG', {}, true],
    ['CONNECTION', { sent: false }, true],
    ['CONNECTION', { sent: true }, false],
    ['TIMEOUT', { sent: false }, false],
    ['NOT_FOUND', {}, false],
  ])('bulk work stops after %s %j, because the next item would fail in the same way: %s', async (code, details, ends) => {
    const { begun, told, many } = await work([done, error(code, details), done, error('NOT_FOUND')]);
    expect(begun).toEqual(ends ? [0, 1] : [0, 1, 2, 3]);
    expect(told).toEqual([1, 2, 3, 4]);
    expect(many).toMatchObject(ends ? { total: 4, ok: 1, failed: 3 } : { total: 4, ok: 2, failed: 2 });
    // Of whoever was not tried any more, the reason is that of the one that ended it.
    const codes = many.results.map((result) => ('error' in result ? result.error.code : 'done'));
    expect(codes).toEqual(['done', code, ends ? code : 'done', ends ? code : 'NOT_FOUND']);
  });

  it.each<[string, readonly (BulkItemOutcome | GatewayError)[], boolean | null]>([
    ['nothing was', [], false],
    ['nothing had to be', [{ status: 200, changed: false }], false],
    ['one was', [{ status: 200, changed: false }, done, { status: 200, changed: false }], true],
    ['one was refused', [error('REJECTED', { status: 422 })], false],
    ['one may have been done by half', [error('APPLIANCE_ERROR', { status: 500 }), { status: 200, changed: false }], null],
    ['one may have been, and another was', [error('OUTCOME_UNKNOWN'), done], true],
    ['one was, and another may have been', [done, error('OUTCOME_UNKNOWN')], true],
    ['one was written and is not what it should be', [error('CONFLICT', { extra: { changed: true } })], true],
    ['one failed that tells otherwise', [error('CONFLICT', { extra: { changed: false } })], false],
  ])('bulk work reports whether something was changed if %s', async (_where, outcomes, changed) => {
    expect((await work(outcomes)).changed).toBe(changed);
  });

  it('a bulk run fails only if all items failed, with the first error and the number of further errors', async () => {
    expect((await work([error('NOT_FOUND'), done])).failure).toBeUndefined();
    expect((await work([])).failure).toBeUndefined();
    const alone = (await work([error('REJECTED', { status: 422 })])).failure;
    expect(alone).toMatchObject({ code: 'REJECTED', message: 'On purpose.', details: { status: 422 } });
    const three = (await work([error('REJECTED', { status: 422 }), error('NOT_FOUND'), error('NOT_FOUND')])).failure;
    expect(three).toMatchObject({ code: 'REJECTED', message: 'On purpose. (and 2 more failed)', details: { status: 422 } });
  });

  it('a bulk run returns results in the order of the items: done, planned or failed', async () => {
    const items = [done, { status: null, changed: null }, error('NOT_FOUND')];
    expect((await work(items, { concurrency: 3 })).many.results).toEqual([
      { item: 'done', ok: true, status: 200 },
      { item: 'done', ok: true, status: null },
      { item: 'NOT_FOUND', ok: false, error: { code: 'NOT_FOUND', message: 'On purpose.' } },
    ]);
    const planned = await work([done, error('BAD_INPUT')], { isPlanned: true });
    expect(planned.many).toMatchObject({ total: 2, ok: 0, failed: 1, results: [{ item: 'done', planned: true }, { ok: false }] });
    expect(planned.failure).toBeUndefined();
  });

  it('a bulk run starts at most the allowed number of items at the same time', async () => {
    let under = 0;
    const most: number[] = [];
    const each = async (): Promise<BulkItemOutcome> => {
      most.push(++under);
      await new Promise(setImmediate);
      under--;
      return done;
    };
    const items = Array.from({ length: 5 }, (_, index) => index);
    await runBulk(items, { describeItem: (item) => item, work: each, concurrency: 2, isPlanned: false, masker: new Redactor() });
    expect([most.length, Math.max(...most)]).toEqual([5, 2]);
  });
});

describe('InFlightLimit', () => {
  it('InFlightLimit counts running and waiting runs, but not those that wait for an approval', async () => {
    const crowd = new InFlightLimit(2, 1);
    for (let run = 0; run < 3; run++) crowd.acquire();
    expect(getThrownError(() => crowd.acquire())).toMatchObject({
      code: 'LIMIT',
      message:
        'Too many messages: 1 wait for this appliance already, and its 2 connections are busy. Nothing was sent. Send messages more slowly, or raise waiting in the appliance node.',
      details: { sent: false },
    });
    crowd.release();
    crowd.acquire();
    const outside = crowd.withoutSlot(() => {
      crowd.acquire();
      expect(getThrownCode(() => crowd.acquire())).toBe('LIMIT');
      crowd.release();
      return Promise.reject(error('DECLINED'));
    });
    await expect(outside).rejects.toMatchObject({ code: 'DECLINED' });
    expect(getThrownCode(() => crowd.acquire())).toBe('LIMIT');
  });
});

describe('ReadCache', () => {
  const by = {};
  const answer = (name: string): Promise<JsonObject> => Promise.resolve({ name });
  const kept = (...paths: string[]): ReadCache => {
    const recent = new ReadCache();
    for (const path of paths) recent.set(by, path, answer(path));
    return recent;
  };
  const known = (recent: ReadCache, ...paths: string[]): string[] => paths.filter((path) => recent.get(by, path) !== undefined);

  it('ReadCache returns a read of the same run, with or without a slash at the end of the path', async () => {
    const recent = kept('/a', '/b/');
    expect(await recent.get(by, '/a')).toEqual({ name: '/a' });
    expect(known(recent, '/a', '/a/', '/b', '/b/', '/', '')).toEqual(['/a', '/a/', '/b', '/b/']);
    expect(recent.get({}, '/a')).toBeUndefined();
    recent.set({}, '/a', answer('other'));
    expect(recent.get(by, '/a')).toBeUndefined();
  });

  it('ReadCache drops reads at, above and below the path of a write', () => {
    const paths = ['/a', '/a/b', '/a/b/c', '/a/bc', '/a/d', '/ab'];
    const after = (path: string): string[] => {
      const recent = kept(...paths);
      recent.invalidate(path);
      return known(recent, ...paths);
    };
    expect(after('/a/b')).toEqual(['/a/bc', '/a/d', '/ab']);
    expect(after('/a/b/')).toEqual(['/a/bc', '/a/d', '/ab']);
    expect(after('/a')).toEqual(['/ab']);
    expect(after('/a/d/e')).toEqual(['/a/b', '/a/b/c', '/a/bc', '/ab']);
    expect(after('/b/b')).toEqual(paths);
  });

  it('ReadCache is empty after its run', () => {
    const recent = kept('/a', '/b');
    const other = {};
    recent.set(other, '/c', answer('c'));
    recent.clearRun(by);
    expect([known(recent, '/a', '/b'), recent.get(other, '/c')]).toEqual([[], expect.any(Promise)]);
  });

  it('ReadCache drops the oldest read when it is full', () => {
    const paths = Array.from({ length: 128 }, (_, index) => `/${index}`);
    const recent = kept(...paths);
    expect(known(recent, ...paths)).toHaveLength(128);
    recent.set(by, '/0', answer('again'));
    recent.set(by, '/new', answer('new'));
    expect(known(recent, ...paths, '/new')).toEqual(['/0', ...paths.slice(2), '/new']);
  });

  it('ReadCache caches a missing resource, but no other failure, so later reads try again', async () => {
    const recent = kept();
    const fails = (code: ErrorCode): Promise<JsonObject> => Promise.reject(error(code));
    recent.set(by, '/gone', fails('NOT_FOUND'));
    recent.set(by, '/fault', fails('FORBIDDEN'));
    let fail = (): void => undefined;
    recent.set(by, '/again', new Promise((_, reject) => (fail = () => reject(error('TIMEOUT')))));
    recent.set(by, '/again', answer('later'));
    fail();
    await new Promise(setImmediate);
    expect(known(recent, '/gone', '/fault', '/again')).toEqual(['/gone', '/again']);
    await expect(recent.get(by, '/gone')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('The record of a run', () => {
  const LOOK = { method: 'GET', path: '/look' } as const;
  const READ = { method: 'GET', path: '/read' } as const;
  const WRITE = { method: 'PUT', path: '/write' } as const;
  const nothing = { info: [], warnings: [], errors: [] };

  it('the record of a run contains the first request of the most important kind, and the last status of that kind', () => {
    const record = new RunRecord();
    expect(record).toMatchObject({ request: undefined, status: null, changed: null, hasWrite: false, result: nothing, emittedItems: 0 });
    const seen = (): unknown[] => [record.request?.path, record.status, record.hasWrite];
    record.recordRequest('look-up', LOOK);
    record.recordStatus('look-up', 200);
    expect(seen()).toEqual(['/look', 200, false]);
    record.recordRequest('read', READ);
    // The status of a look is none of the read.
    expect(seen()).toEqual(['/read', null, false]);
    record.recordStatus('look-up', 201);
    expect(seen()).toEqual(['/read', null, false]);
    record.recordStatus('read', 203);
    record.recordRequest('look-up', LOOK);
    record.recordRequest('read', { ...READ, path: '/second' });
    expect(seen()).toEqual(['/read', 203, false]);
    record.recordRequest('write', WRITE);
    record.recordStatus('read', 404);
    expect(seen()).toEqual(['/write', null, true]);
    record.recordWrite(201, { ...nothing, info: [{ message: 'done' }] }, true);
    expect(seen()).toEqual(['/write', 201, true]);
    expect(record).toMatchObject({ changed: true, result: { info: [{ message: 'done' }] } });
  });

  it('The record of an item adds its requests to the record of the whole run, but not its changes', () => {
    const whole = new RunRecord();
    const item = new RunRecord(whole);
    item.recordRequest('write', WRITE);
    item.recordWrite(204, nothing, true);
    expect(whole).toMatchObject({ request: WRITE, status: 204, hasWrite: true, changed: null });
  });

  it('The record of a run keeps a change even if later writes change nothing', () => {
    const many = { total: 0, ok: 0, failed: 0, results: [] };
    const record = new RunRecord();
    record.markUnchanged();
    expect(record.changed).toBe(false);
    record.recordBulk(many, null);
    expect([record.changed, record.many]).toEqual([null, many]);
    record.recordBulk(many, true);
    record.recordBulk(many, false);
    record.markUnchanged();
    record.markDifference(false);
    expect(record.changed).toBe(true);
  });

  it('The record of a run combines the differences of several writes', () => {
    const changedAfter = (...changes: (boolean | null)[]): boolean | null => {
      const record = new RunRecord();
      record.markUnchanged();
      for (const changed of changes) record.recordWrite(200, nothing, changed);
      record.markUnchanged();
      return record.changed;
    };
    expect([changedAfter(), changedAfter(false), changedAfter(null), changedAfter(true)]).toEqual([false, false, null, true]);
    expect([changedAfter(false, null), changedAfter(null, false), changedAfter(null, true), changedAfter(true, null)]).toEqual([
      null,
      null,
      true,
      true,
    ]);
  });
});

describe('A plan', () => {
  it('A plan shows the requests with masked secrets, and a substitute for a streaming body', () => {
    const plan = new DryRunPlan(new Redactor().add('correct horse'));
    plan.add({ method: 'DELETE', path: '/a' });
    plan.add({ method: 'POST', path: '/a', query: { password: 'pass phrase', name: 'b' }, body: { b: 'correct horse' } });
    plan.add({ method: 'PUT', path: '/a', rawQuery: 'password=x&name=b', body: { never: 'shown' } }, { bytes: 5 });
    expect(plan.requests).toEqual([
      { method: 'DELETE', path: '/a' },
      { method: 'POST', path: '/a', query: { password: MASK, name: 'b' }, body: { b: MASK } },
      { method: 'PUT', path: '/a', rawQuery: `password=${MASK}&name=b`, body: { bytes: 5 } },
    ]);
  });

  it('A plan is empty if the request cannot be built', () => {
    const plan = new DryRunPlan(new Redactor());
    expect(getThrownCode(() => plan.add({ method: 'PUT', path: '/a', body: { a: NaN } }))).toBe('BAD_INPUT');
    expect(plan.requests).toEqual([]);
  });
});
