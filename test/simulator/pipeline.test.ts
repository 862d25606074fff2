import { once } from 'node:events';
import net from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import tls from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { startBenchmarkAppliance } from '../../bench/server/benchmark-appliance';
import { startSimulator } from '../../src/simulator';
import { start, stopAll } from './client';

afterEach(stopAll);

/** A connection whose records of TLS can be held back and sent in one piece. */
function holding(port: number): { stream: Duplex; hold: () => void; release: () => void } {
  const socket = net.connect(port, '127.0.0.1');
  let held: Buffer[] | undefined;
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      if (!held) {
        socket.write(chunk, done);
        return;
      }
      held.push(chunk);
      done();
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk) => stream.push(chunk) || socket.pause());
  socket.on('end', () => stream.push(null));
  const release = (): void => {
    const all = Buffer.concat(held ?? []);
    held = undefined;
    socket.write(all);
  };
  return { stream, hold: () => void (held = []), release };
}

// An import right after its export, on the same connection, was cut once in a hundred times.
it('the simulator accepts the next request on a connection before the previous response was flushed', async () => {
  const client = await start({ variants: { largeExport: 24 } });
  const { stream, hold, release } = holding(client.simulator.port);
  const socket = tls.connect({ socket: stream, ca: client.simulator.ca, host: '127.0.0.1' });
  await once(socket, 'secureConnect');
  const authorization = `Basic ${Buffer.from(`${client.key}:`).toString('base64')}`;
  const head = (method: string, path: string, bytes: number): string =>
    `${method} ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;
  let tail = '';
  socket.pause();
  socket.write(`${head('POST', '/api/v1/system/maintenance/export-xml', 2)}{}`);
  await wait(200);
  hold();
  const body = JSON.stringify({ name: 'Right behind', description: 'x'.repeat(2000) });
  for (const piece of [
    head('POST', '/api/v1/configuration/users/user-roles/user-role', body.length),
    body.slice(0, 900),
    body.slice(900),
  ]) {
    socket.write(piece);
    await wait(10);
  }
  release();
  await wait(100);
  socket.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString('latin1')).slice(-2000)));
  socket.resume();
  while (!tail.includes('HTTP/1.1 201') && !socket.readableEnded && !socket.destroyed) await wait(20);
  expect(tail).toContain('HTTP/1.1 201');
  socket.destroy();
  expect((await client.get('/api/v1/configuration/users/user-roles/user-role/Right%20behind')).status).toBe(200);
});

// A TLS server waits two minutes for the end of a handshake. A client whose connection is needed no more may be in the middle of one.
it.each([
  ['simulator', () => startSimulator({})],
  ['fast appliance', () => startBenchmarkAppliance({})],
])('the %s ends with the handshakes that are under way', async (_what, begin) => {
  const server = await begin();
  const socket = net.connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  await server.close();
  await closed;
});
