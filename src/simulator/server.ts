import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Server, createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { routeAreas } from './areas';
import { closeWithConnections } from './closable-server';
import { type FaultRule, FaultQueue, isCarriedOut, sendAndCut, applyFault } from './faults';
import { isTooLargeForMemory, sendStream } from './large-export';
import { authorizeRequest } from './login';
import { isAddressAllowed } from './realm';
import { shapeReply } from './profile';
import { type Reply, ExpiredKey, Refusal, refusalReply } from './reply';
import { Router, checkQuery, readBody } from './router';
import type { ApplianceState } from './state';
import { parseTarget } from './url';

export interface RequestLogEntry {
  method: string;
  /** Raw as sent, query included. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The first megabyte, as text. */
  body: string;
  /** 0 until the answer is sent, or if the connection was cut before. */
  status: number;
  at: number;
  /** Number of the connection, counted from 1. */
  connection: number;
}

const MAX_LOGGED_BODY_BYTES = 1 << 20;
const MAX_BODY_BYTES = 512 << 20;
// Clients keep their sockets between polls; the appliance must not be the one to close them.
const KEEP_ALIVE_MS = 75_000;

const isFirstLoginStep = ({ path, body }: RequestLogEntry): boolean =>
  path.endsWith('/api/v1/auth') || (path.endsWith('/api/v1/realm_auth') && !body.includes('"resume_id"'));

function logSimulatorFailure(entry: RequestLogEntry, error: unknown): void {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`gateway-simulator: ${entry.method} ${entry.path}: ${what}\n`);
}

export class ApplianceServer {
  readonly requests: RequestLogEntry[] = [];
  readonly faults = new FaultQueue();
  readonly https: Server;
  readonly sockets = new Set<Socket>();
  totalConnections = 0;
  private readonly router = new Router();
  private readonly closeAll: () => Promise<void>;
  private readonly connectionNumbers = new WeakMap<Socket, number>();

  constructor(
    readonly state: ApplianceState,
    tls: { key: string; cert: string },
  ) {
    for (const routes of routeAreas) routes(this.router);
    this.https = createServer(
      { ...tls, maxVersion: state.variants.tlsVersion, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0, noDelay: true },
      (request, response) => this.receive(request, response),
    );
    this.closeAll = closeWithConnections(this.https);
    this.https.on('clientError', (error, socket) => this.handleUnreadable(error, socket));
    this.https.on('secureConnection', (socket) => this.handleConnection(socket));
  }

  /** Closes the connections too, because the pool of a client would keep the process alive. */
  stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return this.closeAll();
  }

  /** What node's parser refuses by itself, a raw byte above 0x7f in the path above all, is logged and answered like any refusal. */
  private handleUnreadable(error: Error & { code?: string; rawPacket?: Buffer }, socket: Duplex): void {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const [, method = '', path = ''] = /^([A-Z]+) (.*) HTTP\//.exec(error.rawPacket?.toString('latin1') ?? '') ?? [];
    const connection = this.connectionNumbers.get(socket as Socket) ?? 0;
    if (path !== '') this.requests.push({ method, path, headers: {}, body: '', status: 400, at: Date.now(), connection });
    const message =
      error.code === 'HPE_INVALID_URL'
        ? 'Only US-ASCII characters may stand literally in a URL'
        : `The request is not HTTP: ${error.message}`;
    const body = String(refusalReply(400, message, method, this.state.variants).body ?? '');
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }

  private handleConnection(socket: Socket): void {
    this.sockets.add(socket);
    this.connectionNumbers.set(socket, ++this.totalConnections);
    socket.on('close', () => this.sockets.delete(socket));
    // As long as nobody else listens, node's server reads TLS past its own pause: a request that comes right behind a long answer, before
    // node has noticed that this is flushed, would be refused (HPE_PAUSED) and its connection cut.
    socket.on('data', () => undefined);
  }

  private receive(request: IncomingMessage, response: ServerResponse): void {
    const entry = this.record(request);
    const hasNoBody = request.headers['transfer-encoding'] === undefined && (request.headers['content-length'] ?? '0') === '0';
    if (hasNoBody) {
      this.start(entry, Buffer.alloc(0), response);
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    const isTooLarge = isTooLargeForMemory(request.headers);
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES && !isTooLarge) request.socket.destroy();
      else if (!isTooLarge || size <= MAX_LOGGED_BODY_BYTES) chunks.push(chunk);
    });
    request.on('error', () => undefined); // a client that hangs up while sending
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      entry.body = raw.toString('utf8', 0, MAX_LOGGED_BODY_BYTES);
      this.start(entry, raw, response);
    });
  }

  private record(request: IncomingMessage): RequestLogEntry {
    const connection = this.connectionNumbers.get(request.socket) ?? 0;
    const entry = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: '',
      status: 0,
      at: Date.now(),
      connection,
    };
    this.requests.push(entry);
    // Dropped in large pieces: taking the first element off a long array one by one costs its whole length each time.
    const limit = this.state.settings.journalLimit;
    if (this.requests.length > limit + Math.max(1000, limit >> 2)) this.requests.splice(0, this.requests.length - limit);
    return entry;
  }

  private start(entry: RequestLogEntry, raw: Buffer, response: ServerResponse): void {
    this.serve(entry, raw, response).catch((error: unknown) => {
      // The fault rule threw, or removes a field from an answer that is not JSON.
      logSimulatorFailure(entry, error);
      response.destroy();
    });
  }

  private async serve(entry: RequestLogEntry, raw: Buffer, response: ServerResponse): Promise<void> {
    const fault = this.faults.takeMatching(entry.method, entry.path);
    const { delayMs } = this.state.settings;
    // A login counts even if a fault answers it.
    if (fault && !isCarriedOut(fault, entry.method, entry.path) && isFirstLoginStep(entry)) this.state.login.attempts++;
    if (delayMs > 0) await wait(delayMs);
    let reply =
      !fault || isCarriedOut(fault, entry.method, entry.path)
        ? await this.answer(entry, raw, response.socket?.remoteAddress ?? '')
        : undefined;
    if (fault) {
      fault.sideEffect?.();
      if (fault.delayMs !== undefined) await wait(fault.delayMs);
      await fault.until;
      if (fault.hang) return;
      reply = applyFault(fault, reply, this.state.variants);
    }
    if (reply) this.send(entry, reply, response, fault);
  }

  private send(entry: RequestLogEntry, reply: Reply, response: ServerResponse, fault: FaultRule | undefined): void {
    if (response.destroyed) return;
    const headers: Record<string, string | number> = {};
    const type = reply.type ?? (reply.status === 204 && this.state.variants.noContentType ? 'application/json' : undefined);
    if (type !== undefined) headers['content-type'] = type;
    if (reply.status !== 204) headers['content-length'] = Buffer.byteLength(reply.body ?? '');
    if (reply.status === 401) headers['www-authenticate'] = 'Basic realm="REST API", charset="UTF-8"';
    const { clockAhead } = this.state.variants;
    if (clockAhead !== 0) headers['date'] = new Date(Date.now() + clockAhead * 1000).toUTCString();
    Object.assign(headers, reply.headers, fault?.headers);
    if (reply.stream && fault?.cut !== 'before-headers') {
      entry.status = fault?.cut === undefined ? reply.status : 0;
      void sendStream(reply.stream, response, reply.status, headers, this.state.variants, fault);
      return;
    }
    if (fault?.cut !== undefined) {
      sendAndCut(fault.cut, reply, response, headers);
      return;
    }
    entry.status = reply.status;
    response.writeHead(reply.status, headers);
    response.end(reply.status === 204 || entry.method === 'HEAD' ? undefined : reply.body);
  }

  /** The answer to a read as the appliance of the profile gives it. */
  private toProfileReply(entry: RequestLogEntry, reply: Reply, error?: unknown): Reply {
    const { profile, pathPrefix } = this.state.settings;
    const isCopiedPath = this.state.copy !== undefined && entry.path.startsWith(`${pathPrefix}/api/v1/configuration`);
    if (!profile || isCopiedPath || entry.method !== 'GET' || this.state.variants.restarting || !entry.path.startsWith(pathPrefix))
      return reply;
    const [path = '', query = ''] = entry.path.slice(pathPrefix.length).split('?');
    const hasCredentials = /^Basic\s+\S/i.test(entry.headers.authorization ?? '');
    const credentials = !hasCredentials ? 'none' : error instanceof ExpiredKey ? 'made-up-key' : '';
    return shapeReply(profile, { segments: path.split('/').slice(1), query, credentials }, reply);
  }

  private async answer(entry: RequestLogEntry, raw: Buffer, remoteAddress: string): Promise<Reply> {
    const { state } = this;
    try {
      if (state.variants.restarting) throw new Refusal(500, 'The REST server is not responding.');
      return this.toProfileReply(entry, await this.dispatch(entry, raw, remoteAddress));
    } catch (error) {
      if (error instanceof Refusal) return this.toRefusal(entry, error);
      // An error of the simulator. It is logged, so that a test does not take it for a fault of the appliance.
      logSimulatorFailure(entry, error);
      return refusalReply(500, 'The simulator failed', entry.method, state.variants);
    }
  }

  /** Checks in the order of an appliance: address, key, realm, path, method, query, body. */
  private dispatch(entry: RequestLogEntry, raw: Buffer, remoteAddress: string): Reply | Promise<Reply> {
    const { state } = this;
    const { method, headers } = entry;
    const { segments, query } = parseTarget(this.withoutPrefix(entry.path));
    const found = this.router.find(segments);
    const route = found?.routes.get(method);
    const key = route?.isPublic(state) ? undefined : authorizeRequest(state, headers.authorization, Date.now());
    if (state.variants.sourceIpEveryRequest && !state.copy && key?.realm !== undefined) {
      const realm = state.configuration.collection('administrators', 'admin-realms', 'realm').items.get(key.realm);
      if (realm && !isAddressAllowed(realm, remoteAddress)) throw new Refusal(403, 'Access is not allowed from this address');
    }
    if (!found) throw new Refusal(404, `The resource ${entry.path.split('?')[0]} does not exist.`);
    if (!route) throw new Refusal(state.variants.wrongMethodStatus, `${method} is not supported on this path`);
    checkQuery(route, query);
    const body = readBody(route.body, raw, headers['content-type']);
    return route.handler({
      state,
      method,
      segments,
      parameter: found.parameter,
      query,
      body,
      raw,
      headers,
      remoteAddress,
      ...(key ? { key } : {}),
    });
  }

  private toRefusal(entry: RequestLogEntry, error: Refusal): Reply {
    const { variants } = this.state;
    const isBareRefusal = error instanceof ExpiredKey && variants.deadKeyStatus === 403;
    const reply = isBareRefusal ? { status: 403 } : refusalReply(error.status, error.message, entry.method, variants);
    return this.toProfileReply(entry, reply, error);
  }

  private withoutPrefix(path: string): string {
    const { pathPrefix } = this.state.settings;
    if (pathPrefix === '') return path;
    if (!path.startsWith(`${pathPrefix}/`)) throw new Refusal(404, `The resource ${path} does not exist.`);
    return path.slice(pathPrefix.length);
  }
}
