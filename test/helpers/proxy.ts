import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { listen } from './listen';

export interface TestProxy {
  readonly url: string;
  /** Requested targets. */
  readonly tunnels: string[];
  /** Credentials of these requests, as sent. */
  readonly authorizations: (string | undefined)[];
}

/** A forward proxy that knows CONNECT only; with `token` it requires that credential, with `passesResets` it passes a reset of the target on. */
export async function startProxy(token?: string, passesResets = false): Promise<TestProxy> {
  const tunnels: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (request, socket: Socket) => {
    tunnels.push(request.url ?? '');
    authorizations.push(request.headers['proxy-authorization']);
    socket.on('error', () => undefined);
    if (token !== undefined && request.headers['proxy-authorization'] !== token) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const target = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (!passesResets) return void target.pipe(socket).pipe(target);
      target.pipe(socket, { end: false });
      socket.pipe(target);
      // Node.js may report a reset as an end; an empty write tells them apart.
      target.prependListener('end', () => target.write('', (error) => (error ? socket.resetAndDestroy() : socket.end())));
    });
    sockets.add(target);
    target.on('error', () => (passesResets ? socket.resetAndDestroy() : socket.destroy()));
  });
  return { url: `http://127.0.0.1:${await listen(server, sockets)}`, tunnels, authorizations };
}
