import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { resetProcessState } from './reset-process-state';

/** Starts a server on a free loopback port and returns the port; server and sockets end with the test. */
export async function listen(server: Server, sockets: Iterable<Socket> = []): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    resetProcessState();
  });
  return (server.address() as AddressInfo).port;
}
