import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { buildConnector, Dispatcher, Pool as Undici } from 'undici';
import { Connections, type Taker } from './connections';
import { GatewayError } from '../model/error';
import { Inlet, onread } from './inlet';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import { sentence } from '../model/sentence';

/** Of connections of our own, or undici's through a proxy. */
export interface Pool {
  dispatch(options: Dispatcher.DispatchOptions, answer: Taker): unknown;
  destroy(): Promise<void>;
}

/** Idle sockets are kept for longer than the usual polling interval of a minute; a kept one costs a tenth of a new one. */
const KEEP_ALIVE_MS = 75_000;
const CONNECT_MS = 10_000;

/** Opens nothing yet. Errors: `BAD_CONFIG` when the certificate, its key or the CA cannot be used. */
export async function createPool(settings: CheckedSettings, proxy: ProxySettings | undefined): Promise<Pool> {
  const undici = await import('undici');
  const { origin, connections, tls = {}, timeout } = settings;
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = tls;
  const host = new URL(origin).hostname;
  const connect = {
    // One context for all connections: building it from a CA costs more than a request.
    secureContext: contextOf({ ca, cert, key, pfx, passphrase }),
    // Said explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED cannot turn verification off behind the user's back.
    rejectUnauthorized: rejectUnauthorized ?? true,
    ...(servername ? { servername } : isIP(host.replace(/^\[|\]$/g, '')) === 0 && { servername: host }),
    timeout: Math.min(CONNECT_MS, timeout * 1000),
  };
  // Time limits are ours (undici's timers are coarse); it only has to keep connections.
  const common = {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (proxy) {
    return new undici.ProxyAgent({
      ...common,
      connections,
      uri: proxy.url,
      ...proxyToken(proxy),
      requestTls: connect,
      proxyTls: { timeout: connect.timeout },
      // Only for the end: undici's parser throws, where nobody catches it, when a socket ends while its answer is held up.
      factory: (to: string, options: Undici.Options) =>
        new undici.Pool(to, { ...options, connect: withInlet(options.connect as buildConnector.connector) }),
    });
  }
  // One connector, so that a new connection resumes the TLS session of another one.
  const connector = undici.buildConnector({ ...connect, onread });
  return new Connections(connections, (opened) => new undici.Client(origin, { ...common, connect: withInlet(connector, opened) }));
}

/** The same connector; each of its sockets is read through an inlet, which it tells of. */
function withInlet(connector: buildConnector.connector, opened: (inlet: Inlet) => void = () => undefined): buildConnector.connector {
  return (options, callback) =>
    connector(options, (...outcome) => {
      if (outcome[1]) opened(Inlet.of(outcome[1]));
      callback(...outcome);
    });
}

function contextOf(options: Record<string, unknown>): SecureContext {
  try {
    return createSecureContext(Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)));
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new GatewayError(
      'BAD_CONFIG',
      sentence`The TLS configuration cannot be used: ${words}. Check its certificate, key and passphrase.`,
    );
  }
}

function proxyToken({ username, password }: ProxySettings): { token?: string } {
  return username ? { token: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` } : {};
}
