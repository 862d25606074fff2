import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { operations } from '../../../src/areas';
import { LightAbortController } from '../../../src/model/abort';
import { coordinationKey } from '../../../src/model/coordination';
import { GatewayError } from '../../../src/model/error';
import { processCoordination } from '../../../src/model/process-coordination';
import { MASK, Redactor } from '../../../src/model/redaction';
import type { Download } from '../../../src/model/stream';
import type { Settings } from '../../../src/model/settings';
import { defaultTranslate, type Translate } from '../../../src/model/summary';
import { type RunContextOptions, type RunContext } from '../../../src/run/run-context';
import {
  createEnvelope,
  createRunFailureEnvelope,
  createEarlyFailureEnvelope,
  redactWriteEnvelope,
  type RunInfo,
} from '../../../src/run/envelope';
import { getLeaseSeconds } from '../../../src/run/locks';
import { readIdentity } from '../../../src/run/identity';
import { countReturnedRecords } from '../../../src/run/output';
import { summarizeRun, type SummaryResult } from '../../../src/run/summarize-run';
import type { PendingWrite } from '../../../src/run/pending-write';
import { expectFailure, getThrownError } from '../../helpers/simulated-appliance';
import { createRunContext } from '../../helpers/call';
import { httpResponse, startRawServer, type RawServer } from '../../helpers/raw-server';

// What an operation works with, and what its run says of it: each by itself.

const PATH = '/api/v1/configuration/users/a';
const DONE = '{"result":{"info":[{"message":"done"}]}}';
const NOTHING = { info: [], warnings: [], errors: [] };
const url = 'https://vpn.example.com/vpn1';
const PUT = { method: 'PUT', path: PATH, body: {} } as const;

const answering = (body = DONE, headers?: Record<string, string>): Promise<RawServer> =>
  startRawServer(({ path }) => (path.endsWith('/none') ? httpResponse(404) : httpResponse(200, body, headers)));
/** Nothing is sent by it. */
const idle = (options: Partial<RunContextOptions> = {}, more: Partial<Settings> = {}): RunContext =>
  createRunContext({ url }, options, more);
const headerOf = ({ requests }: RawServer, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(requests.at(-1)?.head ?? '')?.[1];

describe('OperationContext', () => {
  it.each<[Partial<Settings>, Record<string, unknown>]>([
    [{}, { accounts: ['api-admin'], realm: 'Admin Users', vendor: '', brand: '', journal: '' }],
    [
      { login: 'legacy', secondUsername: '' },
      { accounts: ['api-admin'], realm: '' },
    ],
    [{ secondUsername: 'tokens' }, { accounts: ['api-admin', 'tokens'] }],
    [{ login: 'key', apiKey: 'a', username: '' }, { accounts: [] }],
    [
      { vendor: 'acme', brand: 'Acme', journal: '/j', name: 'one', connections: 3 },
      { vendor: 'acme', brand: 'Acme', journal: '/j', name: 'one', connections: 3 },
    ],
  ])('OperationContext has no credentials in its settings (%j)', (more, seen) => {
    const { settings } = idle({}, more);
    expect(settings).toMatchObject({ ...seen, base: url, prefix: '/vpn1' });
    expect(Object.keys(settings).sort()).toEqual(
      [
        'accounts',
        'base',
        'brand',
        'connections',
        'isRehearsal',
        'journal',
        'name',
        'prefix',
        'realm',
        'signer',
        'stateFolder',
        'vendor',
      ].sort(),
    );
  });

  it('OperationContext has the dryRun flag, and a real AbortSignal for any signal of the caller', () => {
    expect([idle().dryRun, idle({ dryRun: true }).dryRun, idle().signal]).toEqual([false, true, undefined]);
    const stop = new LightAbortController();
    const call = idle({ signal: stop });
    const { signal } = call;
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(call.signal).toBe(signal);
    stop.abort();
    expect(signal?.aborted).toBe(true);
  });

  it('OperationContext provides the diagnostics for a support bundle', async () => {
    const call = createRunContext(await answering());
    await call.read({ method: 'GET', path: PATH });
    expect(call.counters.requests.get('GET')?.codes.get(200)).toEqual({ n: 1 });
    expect(call.supportInfo).toMatchObject({
      settings: { login: 'realm' },
      counters: { requests: { GET: { 200: 1 } } },
      exchanges: [{ method: 'POST' }, { method: 'GET', status: 200 }],
      host: {},
    });
  });

  it('OperationContext caches reads of the configuration', async () => {
    const call = createRunContext(await answering('{"a":1}'), { shouldCacheReads: true });
    await call.read({ method: 'GET', path: PATH });
    await call.read({ method: 'GET', path: `${PATH}1`, query: { a: 'b' } });
    await call.read({ method: 'GET', path: `${PATH}2`, rawQuery: 'a=b' });
    await call.read({ method: 'GET', path: '/api/v1/system/configuration' });
    const known = (...paths: string[]): boolean[] => paths.map((path) => call.cachedRead(path) !== undefined);
    expect(known(PATH, `${PATH}1`, `${PATH}2`, '/api/v1/system/configuration')).toEqual([true, false, false, false]);
  });
});

describe('OperationContext.download', () => {
  const target = (more: Partial<Download<string>> = {}): { open: () => Promise<Download<string>>; discarded: () => number } => {
    let discarded = 0;
    const download: Download<string> = {
      accept: 'application/x-test',
      sink: { start: () => undefined, write: () => undefined },
      finish: () => Promise.resolve('finished'),
      discard: () => Promise.resolve(void discarded++),
      ...more,
    };
    return { open: () => Promise.resolve(download), discarded: () => discarded };
  };
  const get = { method: 'GET', path: PATH } as const;

  it('OperationContext.download sends a GET and returns the result of the download', async () => {
    const server = await answering('bytes', { 'content-type': 'application/x-test' });
    const call = createRunContext(server);
    const { open, discarded } = target();
    expect(await call.download(get, open)).toBe('finished');
    expect([headerOf(server, 'accept'), discarded()]).toEqual(['application/x-test', 0]);
    expect(call.record).toMatchObject({ request: get, status: 200 });
  });

  it('OperationContext.download releases everything if the request or the end of the download fails', async () => {
    const json = createRunContext(await answering('{"a":1}'));
    const none = target();
    expect(await expectFailure(json.download(get, none.open))).toMatchObject({
      code: 'BAD_RESPONSE',
      message: 'The appliance sent JSON in place of a configuration.',
    });
    const bytes = createRunContext(await answering('bytes', { 'content-type': 'application/x-test' }));
    const broken = target({ finish: () => Promise.reject(new GatewayError('BAD_CONFIG', 'On purpose.')) });
    expect((await expectFailure(bytes.download(get, broken.open))).code).toBe('BAD_CONFIG');
    expect([none.discarded(), broken.discarded()]).toEqual([1, 1]);
  });

  it('OperationContext.download opens a new output for each attempt and closes all of them', async () => {
    const statuses = [401, 200, 200];
    const server = await startRawServer(() => httpResponse(statuses.shift() ?? 500, DONE));
    const seen: PendingWrite[] = [];
    const call = createRunContext(server, {
      interceptWrite: (write, proceed) => {
        seen.push(write);
        return proceed();
      },
    });
    let closed = 0;
    const open = () =>
      Promise.resolve({ body: Buffer.from('abc'), headers: { 'content-type': 'text/x-test' }, close: () => void closed++ });
    const digest = (): Promise<string> => Promise.resolve('hash');
    await call.upload({ method: 'POST', path: PATH }, { bytes: 3 }, open, digest);
    expect([closed, server.requests.map(({ body }) => body)]).toEqual([2, ['abc', 'abc']]);
    await call.upload({ method: 'POST', path: PATH }, { bytes: 3 }, open);
    expect([closed, headerOf(server, 'content-type')]).toEqual([3, 'text/x-test']);
    expect(seen).toMatchObject([{ plannedBody: { bytes: 3 }, digest }, { plannedBody: { bytes: 3 } }]);
    expect(seen.map((write) => Object.hasOwn(write, 'digest'))).toEqual([true, false]);
  });
});

describe('A write of an operation', () => {
  /** Whoever stands around the writes sees them; they do not leave. */
  async function seen(run: (call: RunContext) => Promise<unknown>): Promise<[PendingWrite, unknown]> {
    const writes: PendingWrite[] = [];
    const data = await run(
      idle({
        interceptWrite: (write) => {
          writes.push(write);
          return Promise.resolve({ status: 200, result: NOTHING });
        },
      }),
    );
    expect(writes).toHaveLength(1);
    return [writes[0] as PendingWrite, data];
  }

  it('A planned write shows plannedBody in place of its body', async () => {
    expect(await seen((call) => call.write(PUT))).toEqual([{ request: PUT }, { result: NOTHING }]);
    expect(await seen((call) => call.write(PUT, { a: 1 }))).toEqual([{ request: PUT, plannedBody: { a: 1 } }, { result: NOTHING }]);
  });

  it('A planned write with a raw body shows its content type, length and hash', async () => {
    const content = { type: 'text/x-test', bytes: Buffer.from('abc') };
    const [write] = await seen((call) => call.writeAny(PUT, content));
    expect(write.plannedBody).toEqual({ 'content-type': 'text/x-test', bytes: 3 });
    expect(await write.digest?.()).toBe(createHash('sha256').update('abc').digest('hex'));
    expect(await write.openExchange?.()).toMatchObject({ body: content.bytes, headers: { 'content-type': 'text/x-test' } });
    const [bare] = await seen((call) => call.writeAny(PUT));
    expect(Object.keys(bare).sort()).toEqual(['hasUnknownEffect', 'openExchange', 'parseResult', 'request']);
    const stream = await bare.openExchange?.();
    expect([Object.keys(stream?.headers ?? {}), stream && 'body' in stream]).toEqual([['accept'], false]);
  });

  it('A write of an operation accepts any response if the operation allows it', async () => {
    const server = await answering('text', { 'content-type': 'text/plain' });
    const call = createRunContext(server);
    expect(await call.readAny({ method: 'GET', path: PATH })).toBe('text');
    expect(headerOf(server, 'accept')).toBe('application/json, */*;q=0.5');
    expect(call.record).toMatchObject({ status: 200, request: { method: 'GET' } });
    expect(await call.writeAny(PUT)).toBe('text');
    expect(await createRunContext(await answering()).writeAny(PUT)).toEqual({ result: { ...NOTHING, info: [{ message: 'done' }] } });
  });

  it('A write of an operation can report an unchanged result without a request', () => {
    const call = idle();
    expect(call.reportUnchanged()).toEqual({ result: NOTHING });
    expect(call.record.changed).toBe(false);
  });

  it.each([
    [{ connections: 1 }, 2],
    [{ connections: 2 }, 4],
    [{ connections: 1, journal: '/j' }, 4],
  ])('A write of an operation with %j sends this many requests at the same time: %i', async (more, atOnce) => {
    let begun = 0;
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const items = Array.from({ length: 9 }, (_, index) => index);
    const work = (): Promise<void> => {
      begun++;
      return held;
    };
    const all = idle({}, more).runEach(items, work, (item) => item);
    await new Promise(setImmediate);
    expect(begun).toBe(atOnce);
    go();
    expect(await all).toMatchObject({ total: 9, ok: 9 });
  });
});

describe('Bulk results', () => {
  const items = ['a', 'secret b'];
  const error = new GatewayError('NOT_FOUND', 'On purpose.', { status: 404 });

  it('Bulk results are in the order of the items and masked', () => {
    const call = idle({ masker: new Redactor().add('secret b') });
    const many = call.collectResults(items, new Map([[0, error]]));
    expect(many).toEqual({
      total: 2,
      ok: 1,
      failed: 1,
      results: [
        { item: 'a', ok: false, error: { code: 'NOT_FOUND', message: 'On purpose.' } },
        { item: MASK, ok: true, status: null },
      ],
    });
    expect(call.record.many).toBe(many);
  });

  it('Bulk results are a failure if all items failed', () => {
    const call = idle();
    const all = new Map(items.map((_, index) => [index, error]));
    expect(getThrownError(() => call.collectResults(items, all))).toMatchObject({
      code: 'NOT_FOUND',
      message: 'On purpose. (and 1 more failed)',
    });
    expect(call.record.many).toMatchObject({ failed: 2 });
  });
});

describe('Parts of a stream', () => {
  it('The parts of a stream are counted and delivered to the caller', () => {
    const taken: unknown[] = [];
    const call = idle({ onEmit: (data, part, by) => taken.push([data, part, by]) });
    expect(call.record.emittedParts).toBeUndefined();
    call.startStream();
    expect(call.record).toMatchObject({ emittedParts: 0, emittedItems: 0 });
    call.emitPart([1, 2], { index: 0 });
    call.emitPart({ a: 1 }, { index: 1, count: 2 });
    expect(call.record).toMatchObject({ emittedParts: 2, emittedItems: 3 });
    expect(taken).toEqual([
      [[1, 2], { index: 0 }, call],
      [{ a: 1 }, { index: 1, count: 2 }, call],
    ]);
    expect([countReturnedRecords([]), countReturnedRecords([1, 2]), countReturnedRecords({})]).toEqual([0, 2, 1]);
  });

  it('The parts of a stream are rejected if the caller accepts none', () => {
    const call = idle();
    expect(getThrownError(() => call.startStream())).toMatchObject({
      code: 'BAD_INPUT',
      message: 'emit asks for parts, but this run has no onPart. Pass onPart, or set emit to "array". Nothing was sent.',
    });
    call.emitPart(1, { index: 0 });
    expect(call.record.emittedParts).toBe(1);
  });
});

describe('runExclusive', () => {
  it('runExclusive holds a lock until the appliance has processed every sent request, and a dry run takes no lock', async () => {
    const exclusive = vi.spyOn(processCoordination, 'runExclusive');
    onTestFinished(() => exclusive.mockRestore());
    const signal = new LightAbortController();
    const more = { timeout: 20, transferTimeout: 100 };
    const work = (): Promise<string> => Promise.resolve('done');
    const onWait = (): void => undefined;
    expect(await idle({ signal }, more).runExclusive('name', work, { onWait })).toBe('done');
    await idle({}, { timeout: 200, transferTimeout: 100 }).runExclusive('name', work);
    await idle({}, more).runExclusive('name', work, { isBrief: true });
    await idle({}, more).runExclusive('name', work, { isBrief: false });
    const key = coordinationKey('exclusive', url, 'name');
    const of = (leaseMs: number, rest = {}): unknown[] => [key, { signal: undefined, leaseMs, ...rest }];
    const asked = exclusive.mock.calls.map(([name, , options]) => [name, options]);
    expect(asked).toEqual([of(160_000, { signal, onWait }), of(260_000), of(25_000), of(160_000)]);
    expect(await idle({ dryRun: true }).runExclusive('name', work)).toBe('done');
    expect(exclusive).toHaveBeenCalledTimes(4);
  });

  it('runExclusive frees a lease 25 s after its holder died, or later with a longer request timeout', () => {
    const brief = (timeout: number): number => getLeaseSeconds({ timeout, transferTimeout: 600 }, true);
    expect([1, 5, 10, 11, 30, 31, 120].map(brief)).toEqual([16, 20, 25, 25, 25, 46, 135]);
  });
});

describe('onAppliance', () => {
  it('onAppliance runs the given work on the appliance with the given name', async () => {
    const onAppliance: RunContextOptions['onAppliance'] = async (name, work) => work(idle({}, { name }));
    expect(await idle({ onAppliance }).onAppliance('two', (call) => Promise.resolve(call.settings.name))).toBe('two');
    expect(await expectFailure(idle().onAppliance('two', () => Promise.resolve(1)))).toMatchObject({
      code: 'BAD_INPUT',
      message: 'This gateway knows no other appliance. Create it with the option resolveAppliance. Nothing was sent.',
    });
  });
});

describe('memoize', () => {
  it('memoize computes a value once for all callers, and again after a failure', async () => {
    const call = idle();
    let found = 0;
    const find = (): Promise<string> => Promise.resolve(`fact ${++found}`);
    expect(await Promise.all([call.memoize('a', find), call.memoize('a', find), call.memoize('b', find)])).toEqual([
      'fact 1',
      'fact 1',
      'fact 2',
    ]);
    const fail = (): Promise<string> => Promise.reject(new GatewayError('NOT_FOUND', 'On purpose.'));
    const [one, other] = [expectFailure(call.memoize('c', fail)), expectFailure(call.memoize('c', find))];
    expect([(await one).code, (await other).code, await call.memoize('c', find)]).toEqual(['NOT_FOUND', 'NOT_FOUND', 'fact 3']);
  });

  it('memoize continues for a waiting caller if the first caller is canceled', async () => {
    const call = idle();
    let cancel = (): void => undefined;
    const looking = call.memoize('a', () => new Promise((_, reject) => (cancel = () => reject(new GatewayError('ABORTED', 'Cancelled.')))));
    const waiting = call.memoize('a', () => Promise.resolve('found'));
    cancel();
    expect([(await expectFailure(looking)).code, await waiting]).toEqual(['ABORTED', 'found']);
  });

  it('memoize rejects if the waiting caller is canceled', async () => {
    const stop = new LightAbortController();
    const call = idle({ signal: stop });
    void call.memoize('a', () => new Promise(() => undefined));
    let looked = false;
    const waiting = expectFailure(
      call.memoize('a', () => {
        looked = true;
        return Promise.resolve('found');
      }),
    );
    stop.abort();
    expect([(await waiting).code, looked]).toEqual(['ABORTED', false]);
  });
});

describe('readIdentity', () => {
  const NONE = { 'serial-number': null, 'host-name': null, 'hardware-model': null, release: null };

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'all',
      { 'system-information': { 'serial-number': 'S1', 'host-name': 'h', 'hardware-model': 'm', 'os-version': '22.7' } },
      { 'serial-number': 'S1', 'host-name': 'h', 'hardware-model': 'm', release: '22.7' },
    ],
    ['it without the frame', { 'serial-number': 'S1' }, { ...NONE, 'serial-number': 'S1' }],
    ['nothing', {}, NONE],
    ['nothing that is text', { 'system-information': { 'serial-number': 5, 'host-name': '', 'os-version': null } }, NONE],
  ])('readIdentity returns the known parts of the identity: %s', async (_what, document, identity) => {
    const server = await answering(JSON.stringify(document));
    const call = createRunContext(server);
    expect(await readIdentity(call)).toEqual(identity);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /api/v1/system/system-information']);
    // It only has to be known first.
    await call.read({ method: 'GET', path: PATH });
    expect(call.record.request?.path).toBe(PATH);
  });
});

describe('A login operation', () => {
  it('A login operation reports whether the key has changed', async () => {
    const server = await answering();
    const call = createRunContext(server);
    expect(await call.login.start()).toEqual({ state: 'ready' });
    expect([call.record.changed, call.sender.logins]).toEqual([true, 1]);
    // It is there now: whoever wants it next changes nothing.
    const next = createRunContext(server);
    expect(await next.login.start()).toEqual({ state: 'ready' });
    expect(next.record.changed).toBe(false);
    expect(call.login.forget()).toEqual({ state: 'none' });
    expect(call.record.changed).toBe(true);
    call.login.forget();
    expect(call.record.changed).toBe(false);
  });
});

describe('The envelope of a run', () => {
  const run: RunInfo = { name: 'config.update', appliance: 'vpn', isRehearsal: false, isWrite: true, startedAt: 1000 };
  const masking = new Redactor().add('geheim-7f3');
  const AT = expect.stringMatching(/^20\d\d-.*Z$/) as string;
  const timed = (): void => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1012.36);
    onTestFinished(() => now.mockRestore());
  };
  const base = { operation: 'config.update', appliance: 'vpn', requests: 0, retries: 0, logins: 0, ms: 12.4, at: AT, dryRun: false };

  it('An envelope contains the request, the response and the notes of the operation, all masked', () => {
    timed();
    const call = idle();
    const request = { ...PUT, path: '/geheim-7f3', query: { password: 'x', a: 'b' } };
    call.record.recordRequest('write', request);
    call.record.recordWrite(201, { ...NOTHING, info: [{ message: 'a geheim-7f3' }] }, true);
    call.addToEnvelope({ told: 'geheim-7f3' });
    call.sender.requests = 3;
    const envelope = createEnvelope(run, call);
    const shown = { method: 'PUT', path: '/geheim-7f3', query: { password: MASK, a: 'b' } };
    expect(envelope).toEqual({
      ...base,
      ok: true,
      request: shown,
      status: 201,
      result: { ...NOTHING, info: [{ message: 'a geheim-7f3' }] },
      changed: true,
      requests: 3,
      told: 'geheim-7f3',
    });
    redactWriteEnvelope(envelope, call, new Redactor().add('geheim-7f3', 'PUT'));
    expect(envelope).toMatchObject({
      request: { method: 'PUT', path: `/${MASK}` },
      result: { info: [{ message: `a ${MASK}` }] },
      told: MASK,
    });
  });

  it('An envelope has no request if nothing was sent, and masks secrets in a raw query', () => {
    timed();
    const call = idle();
    expect(createEnvelope(run, call)).toEqual({ ...base, ok: true, request: null, status: null, result: NOTHING, changed: null });
    call.record.recordRequest('read', { method: 'GET', path: '/a', rawQuery: 'password=x&b' });
    expect(createEnvelope(run, call).request).toEqual({ method: 'GET', path: '/a', rawQuery: `password=${MASK}&b` });
    const plain = idle();
    plain.record.recordRequest('read', { method: 'GET', path: '/a' });
    expect(createEnvelope(run, plain).request).toEqual({ method: 'GET', path: '/a' });
  });

  it('An envelope of several items is ok only if none of them failed', () => {
    const call = idle();
    const many = { total: 2, ok: 2, failed: 0, results: [] };
    call.record.recordBulk(many, true);
    expect(createEnvelope(run, call).ok).toBe(true);
    call.record.recordBulk({ ...many, ok: 1, failed: 1 }, true);
    expect(createEnvelope(run, call).ok).toBe(false);
  });

  it('An envelope of a plan has no status and no change, and a read of a dry run is reported as a read', async () => {
    const call = idle({ dryRun: true });
    await call.write(PUT);
    call.record.status = 200;
    const planned = createEnvelope(run, call);
    expect(planned).toMatchObject({ status: null, changed: null, dryRun: true, plan: [{ method: 'PUT' }] });
    const read = createEnvelope({ ...run, isWrite: false }, call);
    expect(read).toMatchObject({ status: 200, dryRun: true });
    expect(read).not.toHaveProperty('plan');
  });

  it('An envelope contains the masked details of an error', () => {
    timed();
    const call = idle();
    call.record.recordRequest('write', { method: 'PUT', path: '/geheim-7f3' });
    call.record.status = 200;
    call.addToEnvelope({ told: 'geheim-7f3' });
    call.record.emittedParts = 0;
    const error = new GatewayError('OUTCOME_UNKNOWN', 'On purpose.', {
      result: { ...NOTHING, errors: [{ message: 'a geheim-7f3' }] },
      reason: 'TIMEOUT',
      resumeId: 'r',
      extra: { more: 'geheim-7f3' },
    });
    expect(createRunFailureEnvelope(run, error, call, masking)).toEqual({
      ...base,
      ok: false,
      request: { method: 'PUT', path: `/${MASK}` },
      status: 200,
      result: { ...NOTHING, errors: [{ message: `a ${MASK}` }] },
      changed: null,
      unknown: true,
      told: MASK,
      code: 'OUTCOME_UNKNOWN',
      message: 'On purpose.',
      reason: 'TIMEOUT',
      resumeId: 'r',
      sent: 0,
      more: MASK,
    });
    const plain = createRunFailureEnvelope(run, new GatewayError('REJECTED', 'On purpose.', { status: 422 }), idle(), masking);
    expect(plain).toStrictEqual({
      ...base,
      ok: false,
      request: null,
      status: 422,
      result: NOTHING,
      changed: false,
      code: 'REJECTED',
      message: 'On purpose.',
    });
  });

  it('An envelope of a failed run reports whether anything was changed', () => {
    const unknown = new GatewayError('OUTCOME_UNKNOWN', 'On purpose.');
    const refused = new GatewayError('REJECTED', 'On purpose.');
    const many = {
      total: 1,
      ok: 0,
      failed: 1,
      results: [{ item: 'a', ok: false as const, error: { code: 'REJECTED' as const, message: '' } }],
    };
    const changed = (error: GatewayError, prepare: (call: RunContext) => void, of: Partial<RunInfo> = {}, dryRun = false): unknown => {
      const call = idle({ dryRun });
      prepare(call);
      return createRunFailureEnvelope({ ...run, ...of }, error, call, masking).changed;
    };
    const began = ({ record }: RunContext): void => record.recordRequest('write', PUT);
    const read = ({ record }: RunContext): void => record.recordRequest('read', PUT);
    expect(changed(unknown, began)).toBeNull();
    expect(changed(unknown, read)).toBe(false);
    expect(changed(refused, began)).toBe(false);
    expect(changed(refused, read, { isWrite: false })).toBeNull();
    expect(changed(refused, began, {}, true)).toBeNull();
    expect(changed(refused, ({ record }) => (record.many = many))).toBeNull();
    expect(changed(unknown, ({ record }) => record.recordWrite(200, NOTHING, true))).toBe(true);
    // The update was successful, and a later read was refused.
    const written = ({ record }: RunContext): void => record.recordWrite(200, NOTHING, null);
    expect(changed(refused, written)).toBeNull();
    const call = idle();
    call.record.recordBulk(many, false);
    expect(createRunFailureEnvelope(run, refused, call, masking)).toMatchObject({ changed: false, results: many.results });
  });

  it('An envelope has all its properties even if the run failed before it selected an appliance', () => {
    const error = new GatewayError('BAD_CONFIG', 'On purpose.');
    const said: string[] = [];
    const say: Translate = (key, ...more) => {
      said.push(key);
      return defaultTranslate(key, ...more);
    };
    expect(createEarlyFailureEnvelope('sessions.list', 'vpn', error, 'List', say)).toEqual({
      ...base,
      operation: 'sessions.list',
      ok: false,
      request: null,
      status: null,
      result: NOTHING,
      changed: null,
      ms: 0,
      summary: 'List: failed (BAD_CONFIG).',
      code: 'BAD_CONFIG',
      message: 'On purpose.',
    });
    expect(said).toEqual(['summary.failed']);
  });
});

describe('The summary of a run record', () => {
  const told = (
    name: string,
    came: SummaryResult,
    prepare: (call: RunContext) => void = () => undefined,
    translate: Translate = defaultTranslate,
    dryRun = false,
  ) => {
    const call = idle({ dryRun });
    prepare(call);
    return summarizeRun(
      {
        name,
        appliance: 'vpn-1',
        operation: operations.get(name),
        input: { path: 'geheim-7f3' },
        redactor: new Redactor().add('geheim-7f3'),
        translate,
      },
      call,
      came,
    );
  };

  it.each<[string, SummaryResult, ((call: RunContext) => void) | undefined, string]>([
    ['sessions.list', { data: [1, 2] }, undefined, '2 sessions on vpn-1.'],
    ['sessions.list', { data: [1, 2], count: 3 }, undefined, '3 sessions on vpn-1.'],
    ['sessions.list', {}, ({ record }) => Object.assign(record, { emittedParts: 1, emittedItems: 250 }), '250 sessions on vpn-1.'],
    [
      'sessions.list',
      { data: [1] },
      ({ record }) => Object.assign(record, { emittedParts: 1, emittedItems: 250 }),
      '250 sessions on vpn-1.',
    ],
    ['config.get', { data: { a: [1, 2] } }, undefined, `Read ${MASK}.`],
    ['config.get', { code: 'NOT_FOUND' }, undefined, `Get a resource (${MASK}): failed (NOT_FOUND).`],
    ['config.update', {}, ({ record }) => (record.changed = true), `Updated ${MASK}.`],
    ['no.such', { code: 'BAD_INPUT' }, undefined, 'no.such: failed (BAD_INPUT).'],
  ])('the summary of a run record is one sentence for %s', (name, came, prepare, sentence) => {
    expect(told(name, came, prepare)).toBe(sentence);
  });

  it('A run summary says how many requests a plan would send, and what a read of a dry run returned', () => {
    const planned = ({ plan }: RunContext): void => plan?.add(PUT);
    expect(told('config.update', {}, planned, defaultTranslate, true)).toBe(`Would update ${MASK}.`);
    expect(told('sessions.list', { data: [1] }, planned, defaultTranslate, true)).toBe('1 session on vpn-1.');
  });

  it('the summary of a run is the name of the operation if the operation has no summary text', () => {
    const say = (): never => {
      throw new Error('no words');
    };
    expect(told('sessions.list', {}, undefined, say)).toBe('sessions.list.');
    expect(told('sessions.list', { code: 'TLS' }, undefined, say)).toBe('sessions.list: TLS.');
  });
});
