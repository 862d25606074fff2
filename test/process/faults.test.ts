import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { expectFailure, gatewayFor, LOGIN_PATH, startSimulatorWithGateway, ACTIVE_USERS_PATH } from '../helpers/simulated-appliance';
import { httpResponse, startRawServer, type RawAnswer } from '../helpers/raw-server';

const whole = JSON.stringify({ result: { info: [{ message: 'Operation succeeded without warning or error!' }] } });
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n';

/** A port that nobody listens on. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Sends this and cuts the connection. */
const cutAfter =
  (bytes: string): RawAnswer =>
  (_asked, socket) => {
    socket.end(bytes);
    return undefined;
  };

/** Answers that are not whole, and the code that a read gets for them. */
const broken: [string, RawAnswer, string][] = [
  ['a connection that ends before a byte', cutAfter(''), 'CONNECTION'],
  ['a reset', (_asked, socket) => void socket.destroy(), 'CONNECTION'],
  ['an end inside the headers', cutAfter('HTTP/1.1 200 OK\r\ncontent-le'), 'CONNECTION'],
  ['an end inside the body', cutAfter(`HTTP/1.1 200 OK\r\ncontent-length: ${whole.length}\r\n\r\n${whole.slice(0, 20)}`), 'BAD_RESPONSE'],
  ['a length that promises more than comes', cutAfter(`HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n${whole}`), 'BAD_RESPONSE'],
  ['a body without length that ends early', cutAfter(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${whole.slice(0, 20)}`), 'BAD_RESPONSE'],
  ['a length that cuts the body', () => `HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n${whole.slice(0, 20)}`, 'BAD_RESPONSE'],
  ['a chunk that is cut', cutAfter(`${chunked}40\r\n${whole.slice(0, 20)}`), 'BAD_RESPONSE'],
  ['chunks without an end', cutAfter(`${chunked}${whole.length.toString(16)}\r\n${whole}\r\n`), 'BAD_RESPONSE'],
  ['a chunk length that is none', () => `${chunked}zz\r\n${whole}\r\n0\r\n\r\n`, 'BAD_RESPONSE'],
  ['bytes that are not HTTP', () => 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'BAD_RESPONSE'],
  ['a status that is none', () => `HTTP/1.1 abc OK\r\ncontent-length: 0\r\n\r\n`, 'BAD_RESPONSE'],
  ['HTML', () => httpResponse(200, '<html><body>Please log in</body></html>', { 'content-type': 'text/html' }), 'BAD_RESPONSE'],
  ['JSON that is no object', () => httpResponse(200, '"ok"'), 'BAD_RESPONSE'],
  ['an interim answer and then nothing', cutAfter('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 'CONNECTION'],
];

describe('an incomplete answer', () => {
  it('a read fails after two retries if each response is incomplete', async () => {
    // All at once, since each waits for its repeats.
    const ends = await Promise.all(
      broken.map(async ([name, answer]) => {
        const server = await startRawServer(answer);
        const { code, cause } = await expectFailure(gatewayFor(server).run('system.info'));
        expect(cause, name).toMatchObject({ ok: false, requests: server.requests.length, retries: server.requests.length - 1 });
        expect(server.requests.length, name).toBeLessThanOrEqual(3);
        return [name, code];
      }),
    );
    expect(ends).toEqual(broken.map(([name, , code]) => [name, code]));
  });

  it.each(broken)('a response with %s makes the outcome of a write unknown', async (_name, answer, reason) => {
    const server = await startRawServer(answer);
    const error = await expectFailure(gatewayFor(server).run('sessions.kill-all'));
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { ok: false, reason, changed: null, requests: 1, retries: 0 } });
    expect(error.message).toMatch(/may or may not have happened/);
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([`DELETE ${ACTIVE_USERS_PATH}?all`]);
  });

  it('after an incomplete response, the next responses arrive complete over a new connection', async () => {
    let broke = false;
    const server = await startRawServer((asked, socket) => {
      if (broke) return httpResponse(200, '{}');
      broke = true;
      return cutAfter('HTTP/1.1 200 OK\r\n')(asked, socket);
    });
    expect((await gatewayFor(server).run('system.info')).envelope).toMatchObject({ ok: true, requests: 2, retries: 1 });
  });
});

describe('a complete answer', () => {
  it.each<[string, RawAnswer]>([
    ['in chunks', () => `${chunked}1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`],
    ['after an interim one', () => `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${httpResponse(200, '{}')}`],
    ['with a byte order mark', () => httpResponse(200, '\ufeff{}')],
    ['without length, ended by the connection', cutAfter('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}')],
    ['with more behind it', () => `${httpResponse(200, '{}')}HTTP/1.1 500 Late\r\ncontent-length: 0\r\n\r\n`],
  ])('a complete response that is %s is read', async (_name, answer) => {
    const gateway = gatewayFor(await startRawServer(answer));
    expect((await gateway.run('system.info')).data).toEqual({});
    expect((await gateway.run('system.info')).data).toEqual({});
  });
});

describe('an endless answer', () => {
  it('after an endless response, a read fails with LIMIT and a write with OUTCOME_UNKNOWN', async () => {
    const megabyte = Buffer.alloc(1 << 20, 0x20);
    const server = await startRawServer((_asked, socket) => {
      // A write to a socket that is being closed comes back with an error before the socket counts as destroyed.
      const pour = (fault?: Error | null): void => {
        if (!fault && socket.writable) socket.write(megabyte, pour);
      };
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n', () => pour());
    });
    const gateway = gatewayFor(server, { timeout: 15 });
    expect((await expectFailure(gateway.run('system.info'))).code).toBe('LIMIT');
    expect(await expectFailure(gateway.run('sessions.kill-all'))).toMatchObject({ code: 'OUTCOME_UNKNOWN', cause: { reason: 'LIMIT' } });
    expect(server.requests).toHaveLength(2);
  });
});

describe('an oversized answer', () => {
  const MIB = 1 << 20;
  const head = (length: number): string => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

  it('a response whose declared length is too large is refused at once', async () => {
    const server = await startRawServer(() => head(33 * MIB));
    expect(await expectFailure(gatewayFor(server).run('system.info'))).toMatchObject({
      code: 'LIMIT',
      message: expect.stringMatching(/larger than 32 MiB\. Ask for/) as string,
    });
  });

  it.each([
    ['documents', 'config.get', '/api/v1/configuration/large', 'application/json', 25],
    ['answers of any kind', 'request.get', '/api/v1/large', 'application/octet-stream', 15],
  ])('an oversized response is refused, and its memory is free for later responses: %s', async (_what, operation, path, type, each) => {
    const server = await startRawServer((asked, socket) => {
      if (!asked.path.endsWith('/large')) return httpResponse(200, '{"a":1}');
      socket.write(head(30 * MIB).replace('application/json', type));
      socket.write(Buffer.alloc(each * MIB, 0x20));
      return undefined;
    });
    const gateway = gatewayFor(server);
    const stop = new AbortController();
    const atOnce = Math.floor(64 / each) + 1;
    const outcomes = Array.from({ length: atOnce }, () => expectFailure(gateway.run(operation, { path }, stop.signal)));
    const first = await Promise.race(outcomes);
    expect(first).toMatchObject({ code: 'LIMIT', message: expect.stringMatching(/would hold more than 64 MiB of answers/) as string });
    stop.abort();
    const codes = (await Promise.all(outcomes)).map(({ code }) => code);
    expect(codes.filter((code) => code === 'LIMIT')).toHaveLength(1);
    expect(codes.filter((code) => code === 'ABORTED')).toHaveLength(atOnce - 1);
    // Twice as much as there is in all, one after the other.
    for (let round = 0; round < Math.ceil(128 / each); round++) {
      const late = expectFailure(gateway.run(operation, { path }, AbortSignal.timeout(300)));
      expect((await late).code).toBe('ABORTED');
    }
    expect((await gateway.run('system.info')).data).toEqual({ a: 1 });
  });
});

describe('a failed connection', () => {
  it('a write without a connection fails with CONNECTION, not OUTCOME_UNKNOWN', async () => {
    const port = await deadPort();
    const gateway = gatewayFor({ url: `https://127.0.0.1:${port}` }, { login: 'key', apiKey: 'a' });
    for (const operation of ['system.info', 'sessions.kill-all']) {
      const error = await expectFailure(gateway.run(operation));
      expect(error.code).toBe('CONNECTION');
      expect(error.message).toContain(`127.0.0.1:${port} refused the connection`);
    }
    const many = await expectFailure(gateway.run('sessions.kill', { 'session-id': ['a', 'b', 'c'] }));
    expect(many).toMatchObject({ code: 'CONNECTION', cause: { changed: false } });
    expect(many.cause).not.toHaveProperty('reason');
  });

  it('a failed connection to an unknown host name is reported with the host name', async () => {
    const error = await expectFailure(gatewayFor({ url: 'https://no-such-appliance.invalid' }).run('sessions.kill-all'));
    expect(error.code).toBe('CONNECTION');
    expect(error.message).toMatch(/no-such-appliance\.invalid.*(not known to DNS|could not be looked up)/);
  });
});

describe('connections', () => {
  it('connections never exceed the configured number and are reused', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway({ delayMs: 5, sessions: 40 }, { connections: 3 });
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, simulator.openConnections)), 2);
    await Promise.all(Array.from({ length: 60 }, () => gateway.run('system.info')));
    await gateway.run('sessions.kill', { 'session-id': simulator.state.sessions.ids(), max: 40 });
    await Promise.all(Array.from({ length: 60 }, () => gateway.run('system.info')));
    clearInterval(watch);
    expect(most).toBeLessThanOrEqual(3);
    expect(simulator.totalConnections).toBeLessThanOrEqual(3);
    expect(simulator.requests).toHaveLength(1 + 60 + 40 + 60);
  });

  it('connections are reused by consecutive calls', async () => {
    const { simulator, gateway } = await startSimulatorWithGateway();
    for (let call = 0; call < 20; call++) await gateway.run('system.health', { status: 'all' });
    // The client rests a socket for one turn of the event loop, which makes them two that take turns.
    expect(simulator.totalConnections).toBeLessThanOrEqual(2);
    expect(simulator.requests.filter(({ path }) => path === LOGIN_PATH)).toHaveLength(1);
  });
});
