import { randomBytes, randomInt } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Reply } from '../../../src/http/exchange';
import { Transport } from '../../../src/http/transport';
import { checkSettings } from '../../../src/model/settings';
import { listen } from '../../helpers/listen';
import { startProxy } from '../../helpers/proxy';
import { settingsFor, simulatorCertificate } from '../../helpers/simulated-appliance';

const RESETS = 250;
const CONCURRENCY = 10;
const HEAD = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\nconnection: close\r\n\r\n');
const BODY = randomBytes(300_000);

type Close = 'reset' | 'end';

/** Answers each request without a length, sends a random part of the body and then closes. */
async function startCuttingServer(plain: boolean, close: Close): Promise<string> {
  const sockets = new Set<Socket>();
  const secureContext = createSecureContext(simulatorCertificate);
  const server = createServer((tcpSocket) => {
    sockets.add(tcpSocket);
    tcpSocket.on('error', () => undefined).on('close', () => sockets.delete(tcpSocket));
    const socket = plain ? tcpSocket : new TLSSocket(tcpSocket, { isServer: true, secureContext });
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const part = Buffer.concat([HEAD, BODY]).subarray(0, close === 'end' ? undefined : HEAD.length + randomInt(1, BODY.length));
      const finish = (): unknown => (close === 'end' ? socket.end() : tcpSocket.resetAndDestroy());
      const delayMs = randomInt(0, 21);
      socket.write(part, () => (delayMs === 0 ? finish() : setTimeout(finish, delayMs)));
    });
  });
  return `${plain ? 'http' : 'https'}://127.0.0.1:${await listen(server, sockets)}`;
}

async function createTransport(plain: boolean, proxied: boolean, close: Close): Promise<Transport> {
  const url = await startCuttingServer(plain, close);
  const proxy = proxied ? { proxy: { url: (await startProxy(undefined, true)).url } } : {};
  const transport = new Transport(checkSettings(settingsFor({ url }, { connections: CONCURRENCY, ...proxy })));
  onTestFinished(() => transport.close());
  return transport;
}

/** Runs this many exchanges, every second one streamed, and returns `ok` or the error code of each. */
async function runExchanges(transport: Transport, count: number): Promise<string[]> {
  const outcomes: string[] = [];
  const worker = async (): Promise<void> => {
    while (outcomes.length < count) {
      let bytes = 0;
      const index = outcomes.push('pending') - 1;
      const sink = { start: () => undefined, write: (chunk: Buffer) => void (bytes += chunk.length) };
      const exchange = { method: 'GET', path: '/', authorization: 'Basic x', ...(index % 2 === 0 && { sink }) } as const;
      outcomes[index] = await transport.send(exchange).then(
        (reply: Reply) => ((index % 2 === 0 ? bytes : reply.body.bytes().length) === BODY.length ? 'complete' : 'truncated'),
        (error: { code?: string }) => error.code ?? 'unknown',
      );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return outcomes;
}

describe.each([
  ['plain TCP', true, false],
  ['TLS', false, false],
  ['plain TCP through a proxy', true, true],
  ['TLS through a proxy', false, true],
])('responses without a length over %s', (_name, plain, proxied) => {
  it(`a response that a connection reset cuts never counts as complete (${RESETS} random resets)`, { timeout: 60_000 }, async () => {
    const outcomes = await runExchanges(await createTransport(plain, proxied, 'reset'), RESETS);
    const count = (wanted: string): number => outcomes.filter((outcome) => outcome === wanted).length;
    expect([count('complete'), count('truncated')]).toEqual([0, 0]);
    // A reset may also arrive before the head.
    expect(count('BAD_RESPONSE') + count('CONNECTION')).toBe(outcomes.length);
  });

  it('a response counts as complete after an ordinary end of the connection', async () => {
    const outcomes = await runExchanges(await createTransport(plain, proxied, 'end'), 30);
    expect(new Set(outcomes)).toEqual(new Set(['complete']));
  });
});
