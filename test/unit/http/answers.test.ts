import { createHash, randomBytes } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkSettings } from '../../../src/model/settings';
import { Transport } from '../../../src/http/transport';
import type { Exchange, Reply } from '../../../src/http/exchange';
import type { FlowControl } from '../../../src/model/stream';
import { simulatorCertificate, expectFailure, gatewayFor, settingsFor } from '../../helpers/simulated-appliance';
import { listen } from '../../helpers/listen';
import { startProxy } from '../../helpers/proxy';
import { createTemporaryFolder } from '../../helpers/transfer';
import { listOpenFiles } from '../../helpers/open-files';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function transportTo(server: { url: string }, through?: string): (more?: Partial<Exchange>) => Promise<Reply> {
  const transport = new Transport(checkSettings(settingsFor(server, { connections: 1, ...(through && { proxy: { url: through } }) })));
  onTestFinished(() => transport.close());
  return (more) => transport.send({ method: 'GET', path: '/', authorization: 'Basic x', ...more });
}

/** Copies chunks during the call, as the contract of a sink requires. */
class Copies {
  flow: FlowControl | undefined;
  chunks: Buffer[] = [];

  constructor(readonly onChunk: (flow: FlowControl | undefined) => void = () => undefined) {}

  start(_total: number | undefined, flow: FlowControl): void {
    this.flow = flow;
  }

  write(chunk: Buffer): void {
    this.chunks.push(Buffer.from(chunk));
    this.onChunk(this.flow);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

const BODY = randomBytes(700_000);
const headOf = (more: string): Buffer => Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n${more}\r\n\r\n`);
const WITH_LENGTH = Buffer.concat([headOf(`content-length: ${BODY.length}`), BODY]);

function chunked(body: Buffer): Buffer {
  const parts: Buffer[] = [headOf('transfer-encoding: chunked')];
  for (let at = 0; at < body.length; at += 30_000) {
    const part = body.subarray(at, at + 30_000);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  parts.push(Buffer.from('0\r\nx-checked: yes\r\ncontent-length-too: 12\r\n\r\n'));
  return Buffer.concat(parts);
}

/** Writes pieces of this size; over TLS each is a record. */
async function dribble(socket: Socket, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, at + size));
    if ((at / size) % 16 === 0) await wait(1);
  }
}

describe.each([
  ['TLS', false, false],
  ['plain TCP', true, false],
  ['TLS through a proxy', false, true],
  ['plain TCP through a proxy', true, true],
])('responses over %s', (_name, plain, proxied) => {
  const sender = async (server: { url: string }): Promise<ReturnType<typeof transportTo>> =>
    transportTo(server, proxied ? (await startProxy()).url : undefined);

  it.each([
    ['a length', WITH_LENGTH],
    ['chunks and trailers', chunked(BODY)],
  ])('the transport delivers a streamed response with %s completely, however it is fragmented', async (_kind, answer) => {
    for (const size of [1 << 20, 16_384, 9_999]) {
      const server = await startRawServer((_asked, socket) => void dribble(socket, answer, size), { plain });
      const send = await sender(server);
      for (let time = 0; time < 2; time++) {
        const sink = new Copies();
        await send({ sink });
        expect(sha256(sink.bytes)).toBe(sha256(BODY));
      }
    }
  });

  it('the transport parses consecutive responses that arrive byte by byte', async () => {
    const answer = httpResponse(200, '{"name":"Grüße aus 東京"}', { 'content-type': 'application/json', 'x-long': 'y'.repeat(60) });
    const server = await startRawServer((_asked, socket) => void dribble(socket, Buffer.from(answer), 1), { plain });
    const send = await sender(server);
    for (let time = 0; time < 3; time++) expect(JSON.parse((await send()).body.text())).toEqual({ name: 'Grüße aus 東京' });
  });

  it('the transport delivers all data to a sink that pauses often, even after the appliance closed the connection', async () => {
    for (const answer of [WITH_LENGTH, chunked(BODY)]) {
      const server = await startRawServer((_asked, socket) => void socket.end(answer), { plain });
      const sink = new Copies((flow) => {
        flow?.pause();
        setTimeout(() => flow?.resume(), sink.chunks.length < 5 ? 30 : 0);
      });
      await (
        await sender(server)
      )({ sink });
      expect(sha256(sink.bytes)).toBe(sha256(BODY));
    }
  });

  it('the transport rejects a response that is cut while it is paused', async () => {
    const server = await startRawServer((_asked, socket) => void socket.end(WITH_LENGTH.subarray(0, 300_000)), { plain });
    const sink = new Copies((flow) => {
      flow?.pause();
      setTimeout(() => flow?.resume(), 2);
    });
    await expect((await sender(server))({ sink })).rejects.toMatchObject({ code: 'BAD_RESPONSE' });
  });

  it.each([
    ['at the end', BODY.length],
    ['in the middle', 300_000],
  ])('the transport fails only the paused response when the appliance closes the connection %s', async (_where, bytes) => {
    const untilTheEnd = headOf('connection: close');
    for (const head of [
      untilTheEnd,
      headOf(`connection: close\r\ncontent-length: ${BODY.length}`),
      headOf('connection: close\r\ntransfer-encoding: chunked'),
    ]) {
      for (const close of ['end', 'destroy', 'resetAndDestroy'] as const) {
        // A TLS socket cannot reset, and the system may turn a reset without a length into a regular end.
        if (close === 'resetAndDestroy' && (!plain || head === untilTheEnd)) continue;
        const server = await startRawServer(
          (_asked, socket) =>
            void socket.write(Buffer.concat([head, BODY.subarray(0, bytes)]), () => setTimeout(() => socket[close](), 10)),
          { plain },
        );
        // Pauses on every chunk, including the last.
        const sink = new Copies((flow) => {
          flow?.pause();
          setTimeout(() => flow?.resume(), sink.chunks.length % 7 === 0 ? 15 : 0);
        });
        const send = await sender(server);
        const outcome = await send({ sink }).catch((error: unknown) => error as Error & { code?: string });
        if ('code' in outcome) expect(outcome.code).toBe('BAD_RESPONSE');
        else expect(sink.bytes.equals(BODY.subarray(0, bytes))).toBe(true);
      }
    }
  });

  it.runIf(plain && !proxied)('the transport rejects a response without a length if the connection is reset', async () => {
    const server = await startRawServer(
      (_asked, socket) => {
        socket.write(Buffer.concat([headOf('connection: close'), BODY.subarray(0, 400_000)]), () =>
          setTimeout(() => socket.resetAndDestroy(), 20),
        );
      },
      { plain },
    );
    await expect((await sender(server))({ sink: new Copies() })).rejects.toMatchObject({ code: 'BAD_RESPONSE' });
  });
});

it('the transport accepts a long response without a length', async () => {
  const text = JSON.stringify({ list: Array.from({ length: 30_000 }, (_, index) => `Büro ${index}`) });
  const body = Buffer.from(text);
  const server = await startRawServer(() => chunked(body).toString('latin1').replace('octet-stream', 'json') && chunked(body));
  expect((await transportTo(server)()).body.text()).toBe(text);
});

describe('uploads of a file', () => {
  it.each(['transfer.import-xml', 'transfer.import-binary'])(
    'the transport uploads a file by %s unchanged to a slow reader',
    async (operation) => {
      const content = randomBytes(9 * (1 << 20) + 12_345);
      const file = join(createTemporaryFolder(), 'configuration');
      writeFileSync(file, content);
      const bodies: Buffer[] = [];
      const server = createServer(simulatorCertificate, (request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (chunks.length % 40 !== 0) return;
          request.pause();
          setTimeout(() => request.resume(), 3);
        });
        request.on('end', () => {
          if (request.method !== 'GET') bodies.push(Buffer.concat(chunks));
          response.setHeader('content-type', 'application/json').end('{"api_key":"key","result":{"info":[]}}');
        });
      });
      const sockets = new Set<Socket>();
      server.on('connection', (socket: Socket) => sockets.add(socket));
      const port = await listen(server, sockets);
      await gatewayFor({ url: `https://127.0.0.1:${port}` }).run(operation, { file });
      const body = bodies.at(-1) as Buffer;
      const from = operation.endsWith('binary') ? 0 : body.indexOf('\r\n\r\n') + 4;
      expect(sha256(body.subarray(from, from + content.length))).toBe(sha256(content));
    },
  );

  it('the transport reports a file that shrinks during its upload, and does not send it as complete', async () => {
    const file = join(createTemporaryFolder(), 'configuration');
    writeFileSync(file, randomBytes(9 * (1 << 20)));
    let ended = 0;
    const server = createServer(simulatorCertificate, (request, response) => {
      if (request.method === 'PUT') request.once('data', () => truncateSync(file, 1 << 20));
      request.resume().on('end', () => {
        if (request.method === 'PUT') ended++;
        response.setHeader('content-type', 'application/json').end('{"api_key":"key","result":{"info":[]}}');
      });
    });
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket));
    const port = await listen(server, sockets);
    const error = await expectFailure(gatewayFor({ url: `https://127.0.0.1:${port}` }).run('transfer.import-binary', { file }));
    expect([error.code, error.message]).toEqual(['OUTCOME_UNKNOWN', expect.stringContaining('became shorter')]);
    expect([ended, listOpenFiles().filter((name) => name === file)]).toEqual([0, []]);
  });
});
