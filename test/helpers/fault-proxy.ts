import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { request as plainRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { simulatorCertificate, LOGIN_PATH } from './simulated-appliance';
import { issueCertificate, selfSigned } from '../../src/simulator';

/** One request that passes through. */
export interface ProxiedRequest {
  /** The owner: the first segment of the path. */
  readonly owner: string;
  readonly method: string;
  /** Without the owner. */
  readonly path: string;
  readonly body: Buffer;
  readonly isLogin: boolean;
  /** How many requests of this owner came before, without logins. */
  readonly index: number;
  readonly socket: Socket;
  readonly response: ServerResponse;
  /** Forwards it to the appliance and returns the answer. */
  forward(): Promise<ProxiedAnswer>;
}

export interface ProxiedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Applies the fault; returns the answer to send, or nothing if it has already answered. */
export type Fault = (passing: ProxiedRequest) => Promise<ProxiedAnswer | undefined> | ProxiedAnswer | undefined;

/** What is handed to whom. */
interface ProxiedAppliance {
  readonly url: string;
  count: number;
}

/**
 * Stands between nodes and appliances, speaks TLS with the nodes, and does to each request what a test wants. Who is behind it is told
 * by the first segment of the path, so that many can meet the same fault at once.
 */
export class FaultProxy {
  /** The fault for each request; undefined forwards the request. */
  fault: ((passing: ProxiedRequest) => Fault | undefined) | undefined;
  /** Cuts new connections at once. */
  cutsConnections = false;
  /** Requests without an owner; there must be none. */
  readonly unroutedRequests: string[] = [];
  readonly sockets = new Set<Socket>();
  readonly #behind = new Map<string, ProxiedAppliance>();
  #server!: Server;
  #port = 0;

  async start(): Promise<void> {
    this.#server = createServer({ ...simulatorCertificate, keepAliveTimeout: 60_000 }, (request, response) => {
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
    this.#server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
      if (this.cutsConnections) socket.destroy();
    });
    this.#server.on('secureConnection', (socket: TLSSocket) => socket.on('error', () => undefined));
    this.#server.on('tlsClientError', () => undefined);
    await this.listen();
  }

  /** Listens at the same address again. */
  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Stops listening. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cutConnections();
    await closed;
  }

  /** All open connections. */
  cutConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** What new handshakes show from now on: the certificate that is trusted, one of somebody else, or one that it vouched for until yesterday. */
  presentCertificate(which: 'own' | 'foreign' | 'expired'): void {
    const shown = {
      own: () => simulatorCertificate,
      foreign: () => selfSigned(['elsewhere.example.com']),
      expired: () => issueCertificate(simulatorCertificate, { days: -0.5, names: ['127.0.0.1'] }),
    };
    this.#server.setSecureContext(shown[which]());
    this.cutConnections();
  }

  /** The address of the proxy for an appliance at `url`. */
  addRoute(owner: string, url: string): string {
    this.#behind.set(owner, { url, count: 0 });
    return `https://127.0.0.1:${this.#port}/${owner}`;
  }

  /** Resets all counts. */
  reset(): void {
    this.fault = undefined;
    this.cutsConnections = false;
    for (const behind of this.#behind.values()) behind.count = 0;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const [, owner = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? [];
    const behind = this.#behind.get(owner);
    if (!behind) {
      this.unroutedRequests.push(`${request.method} ${request.url}`);
      response.writeHead(404).end();
      return;
    }
    const method = request.method ?? '';
    const isLogin = path.endsWith(LOGIN_PATH);
    const index = isLogin ? behind.count : behind.count++;
    const body = await bytesOf(request);
    const forward = (): Promise<ProxiedAnswer> => ask(behind.url + path, method, request.headers as Record<string, string>, body);
    const passing = { owner, method, path, body, isLogin, index, socket: request.socket, response, forward };
    const answer = await (this.fault?.(passing) ?? forward)(passing);
    if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function ask(url: string, method: string, headers: Record<string, string>, body: Buffer): Promise<ProxiedAnswer> {
  const sent = plainRequest(url, { method, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const bytes = await bytesOf(answer);
  const type = answer.headers['content-type'];
  return { status: answer.statusCode ?? 0, headers: { ...(type && { 'content-type': type }) }, body: bytes };
}
