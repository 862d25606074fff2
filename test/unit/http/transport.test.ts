import { getEventListeners } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_RESPONSE_BYTES, MemoryReservation } from '../../../src/http/response-memory';
import type { Exchange, Reply } from '../../../src/http/exchange';
import type { ExchangeLogEntry } from '../../../src/http/exchange-log';
import { getSharedPool, createPoolKey, SharedPool } from '../../../src/http/shared-pool';
import { Transport } from '../../../src/http/transport';
import { toCounterValues } from '../../../src/model/counters';
import { GatewayError } from '../../../src/model/error';
import { checkSettings, type CheckedSettings, type Settings } from '../../../src/model/settings';
import type { FlowControl, Sink } from '../../../src/model/stream';
import { simulatorCertificate, expectFailure, settingsFor } from '../../helpers/simulated-appliance';
import { startProxy } from '../../helpers/proxy';
import { httpResponse, startRawServer, type RawAnswer, type RawRequest, type RawServer } from '../../helpers/raw-server';

// Tests single exchanges: their request, their response and their end.

type Send = (more?: Partial<Exchange>) => Promise<Reply>;

interface Driven {
  readonly server: RawServer;
  readonly transport: Transport;
  readonly send: Send;
}

const checked = (server: { url: string }, more: Partial<Settings> = {}): CheckedSettings => checkSettings(settingsFor(server, more));

async function driven(answer: RawAnswer, more: Partial<Settings> = {}, onExchange?: (exchange: ExchangeLogEntry) => void): Promise<Driven> {
  const server = await startRawServer(answer, { plain: true });
  const transport = new Transport(checked(server, { connections: 1, ...more }), undefined, onExchange);
  onTestFinished(() => transport.close());
  return { server, transport, send: (more) => transport.send({ method: 'GET', path: '/', authorization: 'Basic x', ...more }) };
}

/** Records the text and the announced length. */
class Texts implements Sink {
  text = '';
  total: number | undefined = NaN;

  constructor(
    readonly onChunk: (flow: FlowControl) => void = () => undefined,
    readonly isBuffering = false,
  ) {}

  #flow: FlowControl | undefined;

  start(total: number | undefined, flow: FlowControl): void {
    this.total = total;
    this.#flow = flow;
  }

  write(chunk: Buffer): void {
    this.text += chunk.toString();
    if (this.#flow) this.onChunk(this.#flow);
  }
}

const bytes = (length: number, more = ''): string => `HTTP/1.1 200 OK\r\n${more}content-length: ${length}\r\n\r\n`;

describe('requests of a Transport', () => {
  it('a Transport sends default headers unless the exchange overrides them', async () => {
    const { server, send } = await driven(() => httpResponse(200, '{}'));
    await send();
    await send({ method: 'PUT', path: '/a?b=c', body: '{"a":1}' });
    await send({ method: 'POST', body: 'bytes', headers: { 'content-type': 'text/x-test', accept: 'text/x-other' } });
    const seen = ({ head, method, path, body }: RawRequest): unknown[] => {
      const header = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];
      return [method, path, body, header('authorization'), header('accept'), header('content-type')];
    };
    expect(server.requests.map(seen)).toEqual([
      ['GET', '/', '', 'Basic x', 'application/json', undefined],
      ['PUT', '/a?b=c', '{"a":1}', 'Basic x', 'application/json', 'application/json'],
      ['POST', '/', 'bytes', 'Basic x', 'text/x-other', 'text/x-test'],
    ]);
  });

  it.each<[string[], boolean]>([
    [['.0.0.1'], true],
    [['*.0.0.1'], true],
    [['127.0.0.1:PORT'], true],
    [['', 'example.com'], false],
    [['0.0.1', '127.', '*.0.0.2', '.0*.0.1', '127.0.0.1:1'], false],
  ])('requests bypass the proxy for the exceptions %j', async (noproxy, past) => {
    const server = await startRawServer(() => httpResponse(200, '{}'));
    const { url, tunnels } = await startProxy();
    const entries = noproxy.map((entry) => entry.replace('PORT', String(server.port)));
    const transport = new Transport(checked(server, { proxy: { url, noproxy: entries } }));
    onTestFinished(() => transport.close());
    await transport.send({ method: 'GET', path: '/', authorization: 'Basic x' });
    expect(tunnels).toHaveLength(past ? 0 : 1);
  });

  it('a Transport sends a TLS server name for a host name but not for an address', async () => {
    const seen: unknown[] = [];
    const server = await startRawServer(
      (_asked, socket) => (seen.push((socket as TLSSocket & { servername: unknown }).servername), httpResponse(200, '{}')),
    );
    const ask = async (more: Partial<Settings>, host = '127.0.0.1'): Promise<void> => {
      const transport = new Transport(checked({ url: `https://${host}:${server.port}` }, more));
      await transport.send({ method: 'GET', path: '/', authorization: 'Basic x' });
      transport.close();
    };
    await ask({});
    await ask({}, 'LOCALHOST');
    await ask({ tls: { ca: simulatorCertificate.cert, servername: 'localhost' } });
    await ask({ proxy: { url: (await startProxy()).url } }, 'localhost');
    expect(seen).toEqual([false, 'localhost', 'localhost', 'localhost']);
  });
});

describe('responses of a Transport', () => {
  it('a Transport returns status, type and Retry-After of a response, and ignores repeated headers', async () => {
    const answers = [
      httpResponse(207, 'one', { 'content-type': 'text/x-test', 'retry-after': '7' }),
      httpResponse(404, ''),
      httpResponse(200, '', {}),
      `HTTP/1.1 200 OK\r\nretry-after: 1\r\nretry-after: 2\r\ncontent-length: 0\r\n\r\n`,
      // Neither is the page of a server that requires TLS.
      httpResponse(400, 'odd'),
      httpResponse(200, 'plain HTTP'),
    ];
    const { send } = await driven(() => answers.shift() ?? '');
    const replies: Reply[] = [];
    while (answers.length > 0) replies.push(await send());
    expect(replies.map(({ status, contentType, retryAfter }) => [status, contentType, retryAfter])).toEqual([
      [207, 'text/x-test', '7'],
      [404, 'application/json', undefined],
      [200, '', undefined],
      [200, '', undefined],
      [400, 'application/json', undefined],
      [200, 'application/json', undefined],
    ]);
    expect(replies[0]?.body.text()).toBe('one');
    for (const reply of replies) expect(reply).not.toHaveProperty('streamed');
  });

  it.each<[string, string | Buffer, string | undefined]>([
    ['bytes', httpResponse(200, 'bytes{'), 'bytes{'],
    ['what is a brace later on', httpResponse(200, `${' '.repeat(64)}{`), `${' '.repeat(64)}{`],
    ['the last status of success', httpResponse(299, 'x'), 'x'],
    ['a status that is no success', httpResponse(300, 'x'), undefined],
    ['a message of the appliance, whatever type it has', httpResponse(200, ' \r\n{"a":1}', { 'content-type': 'text/xml' }), undefined],
  ])('responses of a Transport stream %s only where a stream was requested', async (_what, answer, streamed) => {
    const { send } = await driven(() => answer);
    const sink = new Texts();
    const reply = await send({ sink });
    expect([reply.streamed, sink.text]).toEqual(streamed === undefined ? [undefined, ''] : [true, streamed]);
    const text = answer.toString().split('\r\n\r\n')[1] ?? '';
    expect(reply.body.text()).toBe(streamed === undefined ? text : '');
  });

  it('a Transport reports the length of a response to the sink, and ends the sink with the last byte', async () => {
    const later = (socket: { write(text: string): void }, ...parts: string[]): void =>
      parts.forEach((part, index) => setTimeout(() => socket.write(part), index * 5));
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n';
    const answers = [
      [bytes(4) + 'x', '{}y'],
      [chunked, '2\r\n{}\r\n0\r\n\r\n'],
    ];
    const { send } = await driven((_asked, socket) => later(socket, ...(answers.shift() ?? [])));
    for (const [total, text] of [
      [4, 'x{}y'],
      [undefined, 'x{}'],
    ]) {
      const sink = new Texts();
      expect((await send({ sink })).streamed).toBe(true);
      expect([sink.total, sink.text]).toEqual([total, text]);
    }
  });

  it('a Transport starts a stream once, even after interim responses', async () => {
    const { send } = await driven(() => `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${httpResponse(200, 'bytes')}`);
    let begun = 0;
    const sink: Sink = { start: () => begun++, write: () => undefined };
    expect([(await send({ sink })).streamed, begun]).toEqual([true, 1]);
  });

  it('a Transport counts responses toward the memory limit unless they are streamed', async () => {
    const { send } = await driven(() => httpResponse(200, 'bytes'));
    const others = new MemoryReservation();
    onTestFinished(() => others.release());
    others.tryReserve(2 * MAX_RESPONSE_BYTES - 2);
    const sink: Sink = { isBuffering: true, start: () => undefined, write: () => undefined };
    for (const more of [{}, { sink }])
      expect((await expectFailure(send(more))).message).toContain('this process would hold more than 64 MiB of answers');
    expect((await send({ sink: new Texts() })).streamed).toBe(true);
    others.release();
    for (const more of [{}, { sink }]) expect((await send(more)).status).toBe(200);
  });

  it('a Transport passes on the error of a failing sink and closes the connection', async () => {
    const cuts: Promise<unknown>[] = [];
    const { send } = await driven((_asked, socket) => {
      cuts.push(new Promise((resolve) => socket.once('close', resolve)));
      socket.write(`${bytes(1000)}x`);
    });
    const cut = new GatewayError('BAD_CONFIG', 'On purpose.');
    expect(await expectFailure(send({ sink: new Texts((flow) => flow.fail(cut)) }))).toBe(cut);
    await cuts[0];
    expect(cuts).toHaveLength(1);
  });

  it('a Transport rejects a response at once if its announced length is too long', async () => {
    const { send } = await driven((asked, socket) => void socket.end(bytes(MAX_RESPONSE_BYTES + Number(asked.path.slice(1)))));
    expect(await expectFailure(send({ path: '/1' }))).toMatchObject({ code: 'LIMIT', details: { sent: true } });
    expect((await expectFailure(send({ path: '/0' }))).code).toBe('BAD_RESPONSE');
    // A streamed body may be longer.
    expect((await expectFailure(send({ path: '/1', sink: new Texts() }))).code).toBe('BAD_RESPONSE');
  });

  it.each([false, true])('a Transport rejects a response whose unannounced body grows too long (buffering sink: %s)', async (keeps) => {
    const megabyte = Buffer.alloc(1 << 20, 0x20);
    const { send } = await driven((_asked, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nx');
      for (let count = 0; count < 33; count++) socket.write(megabyte);
    });
    let received = 0;
    const sink: Sink = { isBuffering: true, start: () => undefined, write: ({ length }) => void (received += length) };
    expect(await expectFailure(send(keeps ? { sink } : {}))).toMatchObject({ code: 'LIMIT', details: { sent: true } });
    expect(received > 0).toBe(keeps);
    expect(received).toBeLessThanOrEqual(MAX_RESPONSE_BYTES);
  });

  it('a Transport updates the clock offset of the appliance from its responses', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.parse('2026-11-22T08:00:00.400Z') });
    onTestFinished(() => void vi.useRealTimers());
    const dates = ['Sun, 22 Nov 2026 09:00:00 GMT', 'Sun, 22 Nov 2026 07:59:00 GMT', 'yesterday', undefined];
    const { transport, send } = await driven(() => httpResponse(200, '', { ...(dates[0] !== undefined && { date: dates[0] }) }));
    expect(transport.clockOffsetSeconds).toBeUndefined();
    const told: unknown[] = [];
    while (dates.length > 0) {
      await send();
      told.push(transport.clockOffsetSeconds);
      vi.advanceTimersByTime(5000);
      // The offset stays after a response without a date.
      expect(transport.clockOffsetSeconds).toBe(told.at(-1));
      vi.setSystemTime(Date.parse('2026-11-22T08:00:00.400Z'));
      dates.shift();
    }
    expect(told).toEqual([3600, -60, undefined, undefined]);
  });
});

describe('exchanges of a Transport', () => {
  it('an exchange of a Transport can be canceled at any time and leaves no listener behind', async () => {
    const { server, transport, send } = await driven(({ path }, socket) => {
      if (path === '/some') socket.write(`${bytes(10)}x`);
      return path === '/whole' ? httpResponse(200) : undefined;
    });
    const stop = new AbortController();
    const { signal } = stop;
    const listening = (): number => getEventListeners(signal, 'abort').length;
    await send({ path: '/whole', signal });
    expect(listening()).toBe(0);
    const some = expectFailure(send({ path: '/some', signal }));
    const waits = expectFailure(send({ path: '/none', signal }));
    await expect.poll(() => server.requests.length).toBe(2);
    expect(listening()).toBe(2);
    stop.abort();
    const words = { code: 'ABORTED', message: 'Canceled before completion.' };
    expect(await some).toMatchObject({ ...words, details: { sent: true } });
    expect(await waits).toMatchObject({ ...words, details: { sent: false } });
    expect(await expectFailure(send({ signal }))).toMatchObject({ ...words, details: { sent: false } });
    expect(listening()).toBe(0);
    // A canceled request neither delays later ones nor leaves later.
    expect((await send({ path: '/whole' })).status).toBe(200);
    expect(server.requests.map(({ path }) => path)).toEqual(['/whole', '/some', '/whole']);
    expect(transport.exchangeLog.list().map(({ status, code }) => status ?? code)).toEqual([200, 'ABORTED', 'ABORTED', 200]);
    expect(transport.load).toEqual({ open: 1, waiting: 0 });
    expect(transport.opened).toBe(2);
  });

  it('an exchange of a Transport is not sent if it is canceled while the connection opens', async () => {
    const { server, send } = await driven(({ path }) => (path === '/whole' ? httpResponse(200) : undefined), { connections: 2 });
    await send({ path: '/whole' });
    const [hold, stop] = [new AbortController(), new AbortController()];
    const held = expectFailure(send({ path: '/held', signal: hold.signal }));
    const cut = expectFailure(send({ path: '/cut', signal: stop.signal }));
    stop.abort();
    expect(await cut).toMatchObject({ code: 'ABORTED', details: { sent: false } });
    await send({ path: '/whole' });
    hold.abort();
    await held;
    expect(server.requests.map(({ path }) => path)).toEqual(['/whole', '/held', '/whole']);
  });

  it('an exchange of a Transport respects its own time limit', async () => {
    const { server, send } = await driven(({ path }, socket) => {
      if (path === '/some') socket.write(`${bytes(10)}x`);
      return path === '/whole' ? httpResponse(200) : undefined;
    });
    await send({ path: '/whole' });
    const seconds = 0.2;
    expect(await expectFailure(send({ timeoutSeconds: seconds }))).toMatchObject({
      code: 'TIMEOUT',
      message: `${server.url.slice(7)}: it did not answer within 0.2 s. If this is normal, raise the request timeout in the appliance settings.`,
      details: { sent: true },
    });
    expect((await expectFailure(send({ path: '/some', timeoutSeconds: seconds }))).message).toContain(
      'its answer did not end within 0.2 s.',
    );
    expect(server.requests).toHaveLength(3);
  });

  it('an exchange of a Transport waits longer for a connection while the appliance answers other requests', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const held: (() => void)[] = [];
    const { server, send } = await driven((_asked, socket) => void held.push(() => socket.write(httpResponse(200))));
    const asked = async (count: number): Promise<void> => {
      while (server.requests.length < count) await new Promise(setImmediate);
    };
    const runs = [1, 2, 3].map(() => send({ timeoutSeconds: 10 }));
    for (const count of [1, 2, 3]) {
      await asked(count);
      vi.advanceTimersByTime(9000);
      held.pop()?.();
      expect((await runs[count - 1])?.status).toBe(200);
    }
    const [answered, waits] = [1, 2].map(() => expectFailure(send({ timeoutSeconds: 10 })));
    await asked(4);
    vi.advanceTimersByTime(10_000);
    expect((await answered)?.message).toContain('it did not answer within 10 s.');
    expect((await waits)?.message).toContain('no connection was free within 10 s.');
    expect(server.requests).toHaveLength(4);
  });

  it('an exchange of a Transport that has a connection does not wait longer than its time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, send } = await driven(({ path }) => (path === '/whole' ? httpResponse(200) : undefined), { connections: 2 });
    const waits = expectFailure(send({ timeoutSeconds: 10 }));
    while (server.requests.length === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(5000);
    await send({ path: '/whole' });
    vi.advanceTimersByTime(5000);
    expect(await waits).toMatchObject({ code: 'TIMEOUT', details: { sent: true } });
  });

  it('an exchange of a Transport without a connection is reported as not sent', async () => {
    const { server, send } = await driven(() => undefined);
    const [first, second] = [
      expectFailure(send({ timeoutSeconds: 20, signal: AbortSignal.timeout(250) })),
      expectFailure(send({ timeoutSeconds: 0.1 })),
    ];
    expect(await second).toMatchObject({ code: 'TIMEOUT', details: { sent: false } });
    expect((await second).message).toContain('no connection was free within 0.1 s.');
    expect((await first).code).toBe('ABORTED');
    expect(server.requests).toHaveLength(1);
  });

  it('an exchange of a Transport is counted and logged with outcome and duration', async () => {
    const told: ExchangeLogEntry[] = [];
    const { transport, send } = await driven(
      ({ path }, socket) => (path === '/api/v1/cluster' ? httpResponse(503) : void socket.destroy()),
      {},
      (exchange) => {
        told.push(exchange);
        throw new Error('nobody minds');
      },
    );
    expect([transport.opened, transport.load]).toEqual([0, { open: 0, waiting: 0 }]);
    await send({ path: '/api/v1/cluster' });
    await expectFailure(send({ method: 'DELETE' }));
    expect(told.map(({ method, path, status, code }) => [method, path, status, code])).toEqual([
      ['GET', '/api/v1/cluster', 503, null],
      ['DELETE', '/', null, 'CONNECTION'],
    ]);
    const [get, all] = [transport.counters.requests.get('GET'), transport.exchangeLog.list()];
    expect([get?.codes.get(503)?.n, all]).toEqual([1, told]);
    for (const { ms } of told) expect(ms).toBeLessThan(60_000);
    expect(toCounterValues(transport.counters, { ...transport.load, opened: 0 }).seconds['GET']?.sum).toBeLessThan(60);
  });

  it('a Transport keeps an idle connection alive for more than a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, transport, send } = await driven(() => httpResponse(200));
    await send();
    const pass = async (seconds: number): Promise<number> => {
      for (let second = 0; second < seconds; second++) {
        vi.advanceTimersByTime(1000);
        await new Promise(setImmediate);
      }
      return transport.load.open;
    };
    expect(await pass(65)).toBe(1);
    await send();
    expect([server.sockets.size, transport.opened]).toEqual([1, 1]);
  });

  it('a closed Transport refuses exchanges and handshakes', async () => {
    const closed = {
      code: 'ABORTED',
      message: 'The connection to the appliance was closed or redeployed before this request was sent.',
      details: { sent: false },
    };
    const used = await driven(() => httpResponse(200));
    await used.send();
    for (const { transport, send } of [used, await driven(() => httpResponse(200))]) {
      transport.close();
      for (const run of [send(), transport.fetchPeerCertificate(), transport.handshake()])
        expect(await expectFailure(run)).toMatchObject(closed);
      transport.close();
    }
    expect(used.server.requests).toHaveLength(1);
  });
});

describe('shared connections', () => {
  const base = checked({ url: 'https://vpn.example.com' });
  const tls = { ca: 'a', cert: 'b', key: 'c', pfx: 'd', passphrase: 'e', servername: 'f', rejectUnauthorized: false };
  const through = { url: 'http://proxy:1', username: 'a', password: 'b' };

  it('connections are shared only by gateways with the same account and the same way to the appliance', () => {
    const names = [
      createPoolKey('a', base, undefined),
      createPoolKey('b', base, undefined),
      createPoolKey('a', { ...base, origin: 'https://vpn2.example.com' }, undefined),
      ...Object.entries(tls).map(([name, value]) => createPoolKey('a', { ...base, tls: { [name]: value } }, undefined)),
      createPoolKey('a', base, { url: 'http://proxy:1' }),
      createPoolKey('a', base, { url: 'http://proxy:1', username: 'a' }),
      createPoolKey('a', base, through),
      createPoolKey('a', { ...base, timeout: 9 }, undefined),
      createPoolKey('a', { ...base, timeout: 8 }, undefined),
    ];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{64}$/);
    // Connecting takes at most ten seconds, whatever the timeout.
    expect(createPoolKey('a', { ...base, timeout: 10 }, undefined)).toBe(createPoolKey('a', { ...base, timeout: 600 }, undefined));
    expect(createPoolKey('a', { ...base, connections: 3, name: 'x' }, { ...through, noproxy: ['x'] })).toBe(
      createPoolKey('a', base, through),
    );
  });

  it('gateways with the same pool key share one pool until the last of them leaves', () => {
    const origin = { host: 'vpn', isPlainHttp: false, lastResponseAt: -Infinity, lastDateHeader: undefined };
    const make = (name: string | undefined): SharedPool => new SharedPool(name, origin, () => Promise.reject(new Error('none')));
    const [one, other] = [{}, {}];
    const pool = getSharedPool('name', make);
    expect([getSharedPool('name', make) === pool, getSharedPool('another', make) === pool]).toEqual([true, false]);
    expect(getSharedPool(undefined, make)).not.toBe(getSharedPool(undefined, make));
    expect([pool.opened, pool.load]).toEqual([0, { open: 0, waiting: 0 }]);
    for (const member of [one, other]) pool.join(member, { connections: 1 });
    pool.leave(one);
    expect(getSharedPool('name', make)).toBe(pool);
    pool.leave(other);
    const next = getSharedPool('name', make);
    expect(next).not.toBe(pool);
    // A stranger cannot close the pool.
    pool.leave(other);
    pool.join(one, { connections: 1 });
    pool.leave(one);
    expect(getSharedPool('name', make)).toBe(next);
    for (const name of ['name', 'another']) {
      const last = getSharedPool(name, make);
      last.join(one, { connections: 1 });
      last.leave(one);
    }
  });

  it('gateways with a shared pool respect the lowest of their rate limits', async () => {
    const origin = { host: 'vpn', isPlainHttp: false, lastResponseAt: -Infinity, lastDateHeader: undefined };
    const pool = new SharedPool(undefined, origin, () => Promise.reject(new Error('none')));
    const [slow, quick, any] = [{}, {}, {}];
    pool.join(any, { connections: 4 });
    expect(pool.rateLimiter).toBeUndefined();
    pool.join(quick, { connections: 4, rate: 10 });
    const pace = pool.rateLimiter;
    pool.join(slow, { connections: 4, rate: 0.01 });
    expect(pool.rateLimiter).toBe(pace);
    expect(pace?.acquire(any, undefined)).toBeUndefined();
    const waits = pace?.acquire(any, undefined);
    const late = pace?.acquire(quick, undefined);
    expect(pool.load).toEqual({ open: 0, waiting: 2 });
    // First ten per second, then no limit.
    pool.leave(slow);
    await waits;
    pool.leave(any);
    await late;
    pool.leave(quick);
    expect(pool.load).toEqual({ open: 0, waiting: 0 });
  });
});
