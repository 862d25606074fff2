import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { buildConnector, Pool } from 'undici';
import { ConnectionPool, type SocketEvents } from './connection-pool';
import { CONNECT_TIMEOUT_MS } from './shared-pool';
import { GatewayError } from '../model/error';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import { safeMessage } from '../model/safe-message';

/** Idle sockets are kept for longer than the usual polling interval of a minute; a kept one costs a tenth of a new one. */
const KEEP_ALIVE_MS = 75_000;

/**
 * The connections to one appliance, straight or through a proxy; nothing is opened yet. Errors: `BAD_CONFIG` when the certificate, its
 * key or the CA cannot be used.
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
    // One context for all connections: building it from a CA costs more than a request.
    // Whoever names a certificate that another one signed means that very one: an appliance need not show who is above it.
    secureContext: getSecureContext({ ca, allowPartialTrustChain: Boolean(ca), cert, key, pfx, passphrase }),
    // Said explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn verification off behind the user's back.
    rejectUnauthorized: rejectUnauthorized ?? true,
    // Without it, that of the host, if it has a name.
    ...(servername && { servername }),
    timeout: Math.min(CONNECT_TIMEOUT_MS, timeout * 1000),
  };
  // Time limits are ours (undici's timers are coarse); it only has to keep connections.
  const common = {
    connections: 1,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  // A pool of one: it replaces a client that could not connect, which would not try again.
  if (!proxy) {
    // One connector, so that a new connection resumes the TLS session of another one.
    const connector = undici.buildConnector(connect);
    return new ConnectionPool(limit, (events) => new undici.Pool(origin, { ...common, connect: withSocketEvents(connector, events) }));
  }
  const proxyOptions = { ...common, uri: proxy.url, ...proxyToken(proxy), requestTls: connect, proxyTls: { timeout: connect.timeout } };
  return new ConnectionPool(limit, (events) => {
    const factory = (to: string, options: Pool.Options) =>
      new undici.Pool(to, { ...options, connect: withSocketEvents(options.connect as buildConnector.connector, events) });
    return new undici.ProxyAgent({ ...proxyOptions, factory });
  });
}

/** The same connector; its sockets are looked after before undici sees what becomes of them. */
function withSocketEvents(connector: buildConnector.connector, { onOpen, onEnd }: SocketEvents): buildConnector.connector {
  return (options, callback) =>
    connector(options, (...connectorResult) => {
      const [fault, socket] = connectorResult;
      if (fault) return callback(toNonRetryableError(fault), null);
      onOpen();
      watchSocket(socket, onEnd);
      callback(null, socket);
    });
}

/**
 * What undici says of a socket that was cut it takes for a reason to try again, at once and for ever: a proxy that hangs up on everybody
 * would be asked hundreds of times a second. So that goes by another name.
 */
function toNonRetryableError(fault: Error): Error {
  const { code } = fault as NodeJS.ErrnoException;
  if (code !== 'UND_ERR_SOCKET' && code !== 'UND_ERR_INFO') return fault;
  return Object.assign(new Error(fault.message), { code: 'ECONNABORTED' });
}

/**
 * undici takes a reset for the end of an answer that says no length, and throws where nobody catches it when a socket ends while
 * its answer is held up. So a reset goes by another name, the end is announced, and who closes without an end has an error.
 */
function watchSocket(socket: Socket, onEnd: () => void): void {
  socket.prependListener('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED';
  });
  socket.prependListener('end', onEnd);
  socket.prependListener('close', () => {
    if (!socket.readableEnded && !socket.errored) socket.emit('error', Object.assign(new Error('closed'), { code: 'ECONNABORTED' }));
  });
}

/** One for all who reach their appliances by the same certificates: a thousand appliances would keep a thousand copies of a CA. */
const secureContexts = new Map<string, WeakRef<SecureContext>>();
const contextRegistry = new FinalizationRegistry<string>((name) => {
  if (!secureContexts.get(name)?.deref()) secureContexts.delete(name);
});

function getSecureContext(options: Record<string, unknown>): SecureContext {
  // Keys and passphrases are among them: they are not kept for the sake of the name.
  const key = createHash('sha256').update(JSON.stringify(options)).digest('hex');
  const cached = secureContexts.get(key)?.deref();
  if (cached) return cached;
  const context = createContext(options);
  secureContexts.set(key, new WeakRef(context));
  contextRegistry.register(context, key);
  return context;
}

/** Those that there are, for tests. */
export function listCachedSecureContexts(): SecureContext[] {
  return [...secureContexts.values()].flatMap((context) => context.deref() ?? []);
}

function createContext(options: Record<string, unknown>): SecureContext {
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
  return username ? { token: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` } : {};
}
