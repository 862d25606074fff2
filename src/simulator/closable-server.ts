import type { Server, Socket } from 'node:net';

/** Ends a server with all of its connections, also those whose handshake is still under way, which a TLS server waits for. */
export function closeWithConnections(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
}
