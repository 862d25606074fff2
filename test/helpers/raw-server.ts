import { createServer as createPlain, type Server, type Socket } from 'node:net';
import { createServer as createTls, type TlsOptions } from 'node:tls';
import { simulatorCertificate, LOGIN_PATH } from './simulated-appliance';
import { listen } from './listen';

/** One request as received. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly head: string;
  readonly body: string;
}

/** What to send back, byte for byte; undefined = nothing (the socket is the answer's to use or to cut). */
export type RawAnswer = (request: RawRequest, socket: Socket) => string | Buffer | undefined | void;

export interface RawServer {
  readonly url: string;
  readonly port: number;
  /** Requests without logins. */
  readonly requests: RawRequest[];
  readonly sockets: Set<Socket>;
}

export interface RawServerOptions {
  /** Serves plain HTTP. */
  plain?: boolean;
  tls?: TlsOptions;
  /** Passes logins to `answer` too; by default each login gets a key. */
  forwardsLogins?: boolean;
  /** Of a request to such a path nothing more is read than its head: the sender waits. It counts as asked. */
  unreadPath?: RegExp;
}

/** A complete answer with the right content-length. */
export function httpResponse(status: number, body = '', headers: Record<string, string> = { 'content-type': 'application/json' }): string {
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `HTTP/1.1 ${status} Some Reason\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** A server with any raw answer, for faults that the simulator cannot produce. */
export async function startRawServer(
  answer: RawAnswer,
  { plain = false, tls = {}, forwardsLogins = false, unreadPath }: RawServerOptions = {},
): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const connected = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
      const head = unreadPath && headOf(received);
      if (head && unreadPath.test(head.path)) {
        requests.push({ ...head, body: '' });
        socket.pause();
        return;
      }
      for (let request = take(received); request; request = take(received)) {
        received = received.slice(request.length);
        const isLogin = request.path.endsWith(LOGIN_PATH) && !forwardsLogins;
        if (!isLogin) requests.push(request);
        const reply = isLogin ? httpResponse(200, '{"api_key":"a+/key="}') : answer(request, socket);
        if (reply !== undefined) socket.write(reply);
      }
    });
  };
  const server: Server = plain ? createPlain(connected) : createTls({ ...simulatorCertificate, ...tls }, connected);
  server.on('tlsClientError', () => undefined);
  const port = await listen(server, sockets);
  return { url: `${plain ? 'http' : 'https'}://127.0.0.1:${port}`, port, requests, sockets };
}

/** The first request of what was received, as soon as its head is whole. */
function headOf(received: string): Omit<RawRequest, 'body'> | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = received.slice(0, end);
  const [method = '', path = ''] = head.split(' ');
  return { method, path, head };
}

/** The first whole request of what was received. */
function take(received: string): (RawRequest & { length: number }) | undefined {
  const request = headOf(received);
  if (!request) return undefined;
  const begin = request.head.length + 4;
  const bodyBytes = Number(/^content-length: (\d+)/im.exec(request.head)?.[1] ?? 0);
  const rest = Buffer.from(received.slice(begin));
  if (rest.length < bodyBytes) return undefined;
  const body = rest.toString('utf8', 0, bodyBytes);
  return { ...request, body, length: begin + body.length };
}
