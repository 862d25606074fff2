import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { buildConnector, Client, Dispatcher, Pool } from 'undici';
import { ConnectionPool, type SocketEvents, type ConnectionEnd } from './connection-pool';
import { createBasicAuthorizationHeader } from './exchange';
import { CONNECT_TIMEOUT_MS } from './shared-pool';
import { replaceBuffersByDigests } from '../model/buffer-digest';
import { GatewayError } from '../model/error';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import { safeMessage } from '../model/safe-message';
import { createProcessMap } from '../model/process-state';

/** Lifetime of idle sockets: longer than the usual polling interval of one minute, because a new connection costs ten times as much as a reused one. */
const KEEP_ALIVE_MS = 75_000;

/**
 * Creates the connections to one appliance, direct or through a proxy. Opens none yet. Errors: `BAD_CONFIG` when the certificate, its key
 * or the CA cannot be used.
 */
export async function createConnectionPool(
  settings: CheckedSettings,
  proxy: ProxySettings | undefined,
  limit: number,
): Promise<ConnectionPool> {
  const undici = await import('undici');
  const { origin, tls = {}, timeout } = settings;
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = tls;
  const connect = {
    // All connections share one context: building one from a CA costs more than a request.
    // A user may trust an intermediate certificate alone, because an appliance need not send its root.
    secureContext: getSecureContext({ ca, allowPartialTrustChain: Boolean(ca), cert, key, pfx, passphrase }),
    // An explicit value prevents NODE_TLS_REJECT_UNAUTHORIZED from disabling verification.
    rejectUnauthorized: rejectUnauthorized ?? true,
    // The default is the host name of the URL.
    ...(servername && { servername }),
    timeout: Math.min(CONNECT_TIMEOUT_MS, timeout * 1000),
  };
  // This package enforces its own time limits, because the timers of undici are coarse.
  const common = {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (!proxy) {
    // A shared connector lets new connections resume the TLS session of earlier ones.
    const connectTls = undici.buildConnector(connect);
    const connectTcp = undici.buildConnector({ timeout: connect.timeout });
    const connector = (watch: SocketWatch): buildConnector.connector =>
      origin.startsWith('https:') ? connectThrough(connectTcp, connectTls, watch) : connectTcp;
    return new ConnectionPool(limit, (events) => {
      const watch: SocketWatch = { ...events, tcpSocket: undefined };
      return new RenewableClient(() => new undici.Client(origin, { ...common, connect: withSocketEvents(connector(watch), watch) }));
    });
  }
  const proxyOptions = {
    ...common,
    connections: 1,
    uri: proxy.url,
    ...proxyToken(proxy),
    requestTls: connect,
    proxyTls: { timeout: connect.timeout },
  };
  const connectTcp = undici.buildConnector({ timeout: connect.timeout });
  return new ConnectionPool(limit, (events) => {
    const watch: SocketWatch = { ...events, tcpSocket: undefined };
    const factory = (to: string, options: Pool.Options) =>
      new undici.Pool(to, { ...options, connect: withSocketEvents(options.connect as buildConnector.connector, watch) });
    const clientFactory = (to: URL, options: object) => {
      const { connect: connectProxy } = options as { connect: buildConnector.connector };
      return new undici.Pool(to, {
        ...options,
        connect: to.protocol === 'https:' ? connectThrough(connectTcp, connectProxy, watch) : withTcpSocket(connectProxy, watch),
      });
    };
    return new undici.ProxyAgent({ ...proxyOptions, factory, clientFactory });
  });
}

/**
 * Replaces a client that failed to connect, because a plain client would not retry. A pool of one in undici does the same, but its queue takes
 * 16 kB, which is half of the memory of a connection.
 */
class RenewableClient {
  readonly #create: () => Client;
  #client: Client | undefined;
  #isDestroyed = false;

  constructor(create: () => Client) {
    this.#create = create;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return this.#renew().dispatch(options, handler);
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    // A destroyed client rejects later requests.
    await this.#renew().destroy();
  }

  #renew(): Client {
    if (this.#client) return this.#client;
    const client = this.#create();
    client.once('connectionError', () => {
      if (this.#client === client && !this.#isDestroyed) this.#client = undefined;
    });
    return (this.#client = client);
  }
}

/** The events of one connection, and the TCP socket below its TLS layers. */
interface SocketWatch extends SocketEvents {
  tcpSocket: Socket | undefined;
}

/** Connects by TCP first and then by TLS over that socket, because only the TCP socket can tell a reset from an end. */
function connectThrough(
  connectTcp: buildConnector.connector,
  connectTls: buildConnector.connector,
  watch: SocketWatch,
): buildConnector.connector {
  return (options, callback) =>
    withTcpSocket(connectTcp, watch)({ ...options, protocol: 'http:', port: options.port || '443' }, (fault, socket) => {
      if (fault) return callback(fault, null);
      connectTls({ ...options, httpSocket: socket }, callback);
    });
}

function withTcpSocket(connector: buildConnector.connector, watch: SocketWatch): buildConnector.connector {
  return (options, callback) =>
    connector(options, (...connectorResult) => {
      const [fault, socket] = connectorResult;
      if (fault) return callback(fault, null);
      watch.tcpSocket = socket;
      // The TLS socket above reports faults; without a listener, the one below would end the process.
      socket.on('error', () => undefined);
      callback(null, socket);
    });
}

/** Reports socket events before undici handles them. */
function withSocketEvents(connector: buildConnector.connector, watch: SocketWatch): buildConnector.connector {
  return (options, callback) =>
    connector(options, (...connectorResult) => {
      const [fault, socket] = connectorResult;
      if (fault) return callback(toNonRetryableError(fault), null);
      watch.onOpen();
      watchSocket(socket, watch.tcpSocket ?? socket, watch.onEnd);
      callback(null, socket);
    });
}

/** undici retries such errors at once and without limit. A proxy that hangs up would receive hundreds of connections per second. */
function toNonRetryableError(fault: Error): Error {
  const { code } = fault as NodeJS.ErrnoException;
  if (code !== 'UND_ERR_SOCKET' && code !== 'UND_ERR_INFO') return fault;
  return Object.assign(new Error(fault.message), { code: 'ECONNABORTED' });
}

/**
 * undici takes ECONNRESET for the end of a response without a length, so the error gets another code. It also throws an uncaught error when
 * a socket ends while its response is paused, so `onEnd` runs first.
 */
function watchSocket(socket: Socket, tcpSocket: Socket, onEnd: SocketEvents['onEnd']): void {
  socket.prependListener('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED';
  });
  socket.prependListener('end', () => onEnd(readStreamEnd(tcpSocket)));
  socket.prependListener('close', () => {
    if (!socket.readableEnded && !socket.errored) socket.emit('error', Object.assign(new Error('closed'), { code: 'ECONNABORTED' }));
  });
}

/**
 * Tells a reset from an ordinary end. When a reset arrives with the last bytes, libuv reports an end (POLLHUP after a partial read) and the
 * error stays pending in the socket. An empty write sends nothing, but returns that error.
 */
function readStreamEnd(tcpSocket: Socket): Promise<ConnectionEnd> {
  return new Promise((resolve) => {
    tcpSocket.write('', (error) => resolve(error ? 'reset' : 'finished'));
  });
}

/** Shared TLS contexts. Appliances with the same certificates share one; otherwise a thousand appliances would hold a thousand copies of a CA. */
const secureContexts = createProcessMap<WeakRef<SecureContext>>('secure contexts');
const contextRegistry = new FinalizationRegistry<string>((name) => {
  if (!secureContexts.get(name)?.deref()) secureContexts.delete(name);
});

function getSecureContext(options: Record<string, unknown>): SecureContext {
  // The options hold keys and passphrases, so the map stores only a hash of them.
  const key = createHash('sha256')
    .update(JSON.stringify(replaceBuffersByDigests(options)))
    .digest('hex');
  const cached = secureContexts.get(key)?.deref();
  if (cached) return cached;
  const context = createContext(options);
  secureContexts.set(key, new WeakRef(context));
  contextRegistry.register(context, key);
  return context;
}

function createContext(options: Record<string, unknown>): SecureContext {
  const { ca } = options;
  // Node.js ignores such a text, and the certificate of the appliance then looks untrusted.
  const authorities: unknown[] = (Array.isArray(ca) ? ca : [ca]).filter((text) => text !== undefined && String(text).trim() !== '');
  if (!authorities.every((text) => /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/.test(String(text))))
    throw new GatewayError(
      'BAD_CONFIG',
      'The CA field of the TLS configuration holds no certificate. Paste it with the lines BEGIN CERTIFICATE and END CERTIFICATE.',
      { sent: false },
    );
  try {
    return createSecureContext(options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`The TLS configuration cannot be used: ${message}. Check its certificate, key and passphrase.`,
      { sent: false },
    );
  }
}

function proxyToken({ username, password }: ProxySettings): { token?: string } {
  return username ? { token: createBasicAuthorizationHeader(username, password ?? '') } : {};
}
