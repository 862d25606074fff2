import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { setTimeout as pause } from 'node:timers/promises';
import { selfSigned } from '../../src/simulator';

/** What the proxy does with a CONNECT request. */
export type ProxyBehavior = (client: Socket, target: string, proxy: HostileProxy) => void | Promise<void>;

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';
const refuse =
  (status: string, more = ''): ProxyBehavior =>
  (client) =>
    void client.resume().end(`HTTP/1.1 ${status}\r\n${more}\r\n`);
const foreign = selfSigned(['127.0.0.1']);

/** An honest tunnel that ends `after` this many bytes of the client. */
const tunnel =
  (after = Infinity): ProxyBehavior =>
  (client, target) => {
    const [host = '', port = ''] = target.split(':');
    let had = 0;
    const server = connect(Number(port), host, () => client.write(ESTABLISHED));
    client.on('data', (bytes: Buffer) => {
      had += bytes.length;
      if (had > after) client.destroy();
      else server.write(bytes);
    });
    server.on('data', (bytes: Buffer) => client.write(bytes));
    server.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => server.destroy());
  };

/** Reads and forgets: who reads nothing does not see that the other side has gone. Node leaves a tunnel half open then. */
const deaf =
  (conduct: ProxyBehavior): ProxyBehavior =>
  (client, ...rest) => {
    client.resume();
    return conduct(client, ...rest);
  };

/** Its name in a test title. */
export const PROXY_BEHAVIORS = {
  'asks for another password': refuse('407 Proxy Authentication Required', 'proxy-authenticate: Basic realm="x"\r\n'),
  'forbids it': refuse('403 Forbidden'),
  'finds nobody': refuse('502 Bad Gateway'),
  'sends elsewhere': refuse('302 Found', 'location: http://127.0.0.1:1/\r\n'),
  'answers what is no HTTP': deaf((client) => void client.end(randomBytes(2000))),
  'answers with a head of 10 MB': deaf((client) => void client.end(`HTTP/1.1 200 OK\r\nx-much: ${'x'.repeat(10_000_000)}\r\n\r\n`)),
  'closes at once': deaf((client) => void client.destroy()),
  'never answers': deaf(() => undefined),
  'answers a byte now and then': deaf(async (client) => {
    for (const byte of ESTABLISHED) {
      if (client.destroyed) return;
      client.write(byte);
      await pause(500);
    }
  }),
  'agrees, and closes': deaf((client) => void client.end(ESTABLISHED)),
  'agrees, and says nothing more': deaf((client) => void client.write(ESTABLISHED)),
  'agrees, and sends garbage': deaf((client) => {
    client.write(ESTABLISHED);
    client.write(randomBytes(2000));
  }),
  'agrees, and answers itself without TLS': deaf((client) => {
    client.write(ESTABLISHED);
    client.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n{"api_key":"evil"}');
  }),
  'agrees, and cuts the handshake': tunnel(100),
  'agrees, and answers itself with a certificate of its own': (client, _target, proxy) => {
    client.write(ESTABLISHED);
    const secure = new TLSSocket(client, { isServer: true, secureContext: createSecureContext(foreign) });
    for (const over of ['error', '_tlsError', 'end', 'close']) secure.on(over, () => client.destroy());
    secure.on('data', (bytes: Buffer) => {
      proxy.capturedTraffic += bytes.toString('latin1');
      secure.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 18\r\n\r\n{"api_key":"evil"}');
    });
  },
} as const satisfies Record<string, ProxyBehavior>;

export const HONEST_PROXY_BEHAVIOR: ProxyBehavior = tunnel();

/** An HTTP proxy that treats each CONNECT request as a test wants. */
export class HostileProxy {
  behavior: ProxyBehavior = HONEST_PROXY_BEHAVIOR;
  /** Bytes that nodes sent to a server that is not the appliance. */
  capturedTraffic = '';
  /** Requested tunnels. */
  tunnelCount = 0;
  readonly sockets = new Set<Socket>();
  readonly #server: Server = createServer((request, response) => {
    this.capturedTraffic += `${request.method} ${request.url}\n`;
    response.writeHead(500).end();
  });

  async start(): Promise<void> {
    this.#server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
    });
    this.#server.on('connect', (request, client: Socket) => {
      this.tunnelCount++;
      client.on('end', () => client.destroy());
      Promise.resolve(this.behavior(client, request.url ?? '', this)).catch(() => client.destroy());
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
