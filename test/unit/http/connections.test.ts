import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { afterEventLoopTicks } from '../../../src/http/connection-pool';
import { startTestSimulator, simulatorCertificate, expectFailure, gatewayFor, listWriteLines } from '../../helpers/simulated-appliance';
import { httpResponse, startRawServer } from '../../helpers/raw-server';

const INFO = httpResponse(200, '{"host-name":"gateway-1"}');
const times = <T>(count: number, make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, make));

describe('connections of a gateway', () => {
  it('the connections of a gateway never exceed the limit, and each carries one request at a time', async () => {
    const open = new Map<Socket, number>();
    let most = 0;
    const server = await startRawServer((_asked, socket) => {
      open.set(socket, (open.get(socket) ?? 0) + 1);
      most = Math.max(most, open.get(socket) ?? 0);
      setTimeout(() => {
        open.set(socket, (open.get(socket) ?? 0) - 1);
        socket.write(INFO);
      }, 1);
    });
    const gateway = gatewayFor(server, { connections: 3 });
    await gateway.run('system.info');
    await times(200, () => gateway.run('system.info'));
    expect({ most, sockets: server.sockets.size, asked: server.requests.length }).toEqual({ most: 1, sockets: 3, asked: 201 });
  });

  it('a gateway loses no read if the server closes the connection after every response without notice', async () => {
    const server = await startRawServer((_asked, socket) => void socket.end(INFO));
    const gateway = gatewayFor(server, { connections: 4 });
    const outcomes = await times(60, () => gateway.run('system.info'));
    // Each socket finds out once at most; after that nothing is hurried.
    expect(outcomes.reduce((sum, { envelope }) => sum + envelope.retries, 0)).toBeLessThanOrEqual(4);
  });

  it('a gateway closes a connection that receives unsolicited bytes, and never takes them for a response', async () => {
    const stray = httpResponse(200, '{"host-name":"stray"}');
    const server = await startRawServer(() => INFO + stray);
    const gateway = gatewayFor(server, { connections: 1 });
    const outcomes = await times(20, () => gateway.run('system.info'));
    expect(outcomes.map(({ data }) => data)).toEqual(outcomes.map(() => ({ 'host-name': 'gateway-1' })));
  });

  it('a gateway recovers after faults, and no request stays in its queue', async () => {
    let cut = 0;
    const server = await startRawServer((_asked, socket) => {
      if (++cut % 3 !== 0) return INFO;
      socket.destroy();
      return undefined;
    });
    const gateway = gatewayFor(server, { connections: 2 });
    const outcomes = await times(30, () => gateway.run('sessions.kill', { 'session-id': 'a' }).catch((error: unknown) => error));
    expect(outcomes).toHaveLength(30);
    expect(server.requests).toHaveLength(30);
  });

  it('a gateway rejects a certificate with a wrong name at every connection', async () => {
    const simulator = await startTestSimulator();
    const gateway = gatewayFor(simulator, { connections: 1, tls: { ca: simulatorCertificate.cert, servername: 'vpn.example.com' } });
    for (let round = 0; round < 3; round++) expect((await expectFailure(gateway.run('sessions.kill-all'))).code).toBe('TLS');
    expect(listWriteLines(simulator)).toEqual([]);
  });

  it('a gateway skips requests that were canceled while they waited for a connection', async () => {
    const server = await startRawServer((_asked, socket) => void setTimeout(() => socket.write(INFO), 30));
    const gateway = gatewayFor(server, { connections: 1 });
    await gateway.run('system.info');
    const stop = new AbortController();
    const first = gateway.run('system.info');
    const waiting = times(8, () => expectFailure(gateway.run('sessions.kill-all', {}, stop.signal)));
    const last = gateway.run('system.info');
    stop.abort();
    expect((await waiting).map(({ code }) => code)).toEqual(Array.from({ length: 8 }, () => 'ABORTED'));
    expect((await Promise.all([first, last])).every(({ envelope }) => envelope.ok)).toBe(true);
    expect(server.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });
});

describe.each([
  ['TLS', false],
  ['plain TCP', true],
])('unsolicited responses over %s', (_name, plain) => {
  const STRAY = httpResponse(200, '{"host-name":"stray"}');
  const REFUSAL = httpResponse(404, '{"result":{"errors":[{"message":"stray"}]}}');
  const part = STRAY.length - 5;

  const later = (turns: number, socket: Socket, answer: string, stray: string): void => {
    socket.write(answer);
    afterEventLoopTicks(turns, () => socket.writable && socket.write(stray));
  };
  const ways: [string, (socket: Socket, answer: string, stray: string) => void][] = [
    ['in the same piece', (socket, answer, stray) => void socket.write(answer + stray)],
    ['of which the head is in the same piece', (socket, answer, stray) => void socket.write(answer + stray.slice(0, part))],
    [
      'in a record of its own right behind',
      (socket, answer, stray) => {
        socket.write(answer);
        socket.write(stray);
      },
    ],
    ['in the next turn', (socket, answer, stray) => later(1, socket, answer, stray)],
    ['in the turn after the answer was read', (socket, answer, stray) => later(3, socket, answer, stray)],
  ];

  it.each(ways)('an unsolicited response %s is never used for any of twelve reads or writes, queued or sequential', async (_way, send) => {
    const used = new Map<Socket, number>();
    const server = await startRawServer(
      ({ method, path }, socket) => {
        used.set(socket, (used.get(socket) ?? 0) + 1);
        // Without this, the system delays the following bytes until the client acknowledges the response.
        socket.setNoDelay();
        const answer = method === 'GET' ? httpResponse(200, JSON.stringify({ path })) : httpResponse(204);
        // undici checks a socket closely only on its second use.
        if ((used.get(socket) ?? 0) <= 2) socket.write(answer);
        else send(socket, answer, method === 'GET' ? STRAY : REFUSAL);
      },
      { plain },
    );
    const gateway = gatewayFor(server, { connections: 1 });
    const paths = Array.from({ length: 12 }, (_, index) => `/api/v1/configuration/${index}`);
    const queued = await Promise.all(paths.map((path) => gateway.run('config.get', { path })));
    expect(queued.map(({ data }) => data)).toEqual(paths.map((path) => ({ path })));
    for (const path of paths) expect((await gateway.run('config.get', { path })).data).toEqual({ path });
    const kills = await gateway.run('sessions.kill', { 'session-id': Array.from({ length: 12 }, (_, index) => `sid${index}`) });
    expect(kills.data).toMatchObject({ total: 12, ok: 12 });
    expect(server.requests).toHaveLength(36);
  });

  it('an idle connection is closed when unsolicited bytes arrive on it', async () => {
    const server = await startRawServer(() => INFO, { plain });
    const gateway = gatewayFor(server, { connections: 1 });
    for (let round = 0; round < 12; round++) {
      expect((await gateway.run('system.info')).data).toEqual({ 'host-name': 'gateway-1' });
      const [socket] = server.sockets;
      socket?.write(STRAY);
      await expect.poll(() => server.sockets.size).toBe(0);
    }
    expect(server.requests).toHaveLength(12);
  });
});
