import { ResponseCollector, createAbortedError } from './response-collector';
import type { Exchange, Reply } from './exchange';
import { DeadlineTimer } from './deadline-timer';
import { ExchangeLog, type ExchangeLogEntry } from './exchange-log';
import { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import type { ConnectionPool } from './connection-pool';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { AbortSignalLike } from '../model/abort';
import { Counters } from '../model/counters';
import type { PeerCertificateInfo } from '../model/peer-certificate';
import type { Handshake, HostAndPort } from './peer-certificate';
import { getSharedPool, SharedPool, createPoolKey } from './shared-pool';

/** Returns the address and the certificate of a server that is started on first use. */
type FindDestination = () => Promise<Pick<CheckedSettings, 'origin' | 'tls'>>;

/**
 * Exchanges requests with one appliance over a bounded pool of kept-alive connections. Follows no redirects, repeats nothing and does not
 * judge statuses. Errors: `TIMEOUT`, `CONNECTION`, `TLS`, `BAD_RESPONSE`, `LIMIT`, `ABORTED`; `details.sent` says whether a byte of the
 * request may have left.
 */
export class Transport {
  /** Counts every exchange, logins included. */
  readonly counters = new Counters();
  readonly exchangeLog: ExchangeLog;
  readonly #settings: CheckedSettings;
  /** The proxy; undefined when the proxy configuration excludes this host. */
  readonly #proxy: ProxySettings | undefined;
  /** Key of the shared pool; undefined when this transport shares no connections. */
  readonly #accountKey: string | undefined;
  readonly #onExchange: ((exchange: ExchangeLogEntry) => void) | undefined;
  readonly #findDestination: FindDestination | undefined;
  readonly #inFlight = new DeadlineTimer<ResponseCollector>();
  #pool: SharedPool | undefined;
  #connections: ConnectionPool | undefined;
  #closed = false;

  /**
   * `accountKey` is the same for gateways that may share connections. `onExchange` receives each exchange that has ended. With
   * `findDestination`, all connections go there and none to the address of the settings.
   */
  constructor(
    settings: CheckedSettings,
    accountKey?: string,
    onExchange?: (exchange: ExchangeLogEntry) => void,
    findDestination?: FindDestination,
  ) {
    this.#settings = settings;
    this.#findDestination = findDestination;
    this.#accountKey = accountKey;
    this.#onExchange = onExchange;
    this.exchangeLog = new ExchangeLog(settings.prefix);
    const { hostname, port } = new URL(settings.origin);
    this.#proxy = this.#proxyFor(hostname, port);
  }

  /** Number of connections opened so far by all members of the pool. */
  get opened(): number {
    return this.#pool?.opened ?? 0;
  }

  /** Open connections and waiting requests of all members of the pool. */
  get load(): { readonly open: number; readonly waiting: number } {
    return this.#pool?.load ?? { open: 0, waiting: 0 };
  }

  send(exchange: Exchange): Promise<Reply> {
    return this.#connections
      ? this.#sendWithinRateLimit(this.#connections, exchange)
      : this.#open().then((connections) => this.#sendWithinRateLimit(connections, exchange));
  }

  #sendWithinRateLimit(connections: ConnectionPool, exchange: Exchange): Promise<Reply> {
    const slot = this.#pool?.rateLimiter?.acquire(this, exchange.signal);
    return slot ? slot.then(() => this.#dispatch(connections, exchange)) : this.#dispatch(connections, exchange);
  }

  #dispatch(connections: ConnectionPool, exchange: Exchange): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.#closed || !this.#pool) throw closedError();
      // The first call loads the client, and the caller may cancel meanwhile.
      if (exchange.signal?.aborted) throw createAbortedError(false);
      const timeoutSeconds = exchange.timeoutSeconds ?? this.#settings.timeout;
      const collector = new ResponseCollector(exchange, this.#pool.endpoint, timeoutSeconds, this.#onSettled, resolve, reject);
      this.#inFlight.add(collector);
      const { method, path, body = null } = exchange;
      connections.dispatch({ origin: this.#settings.origin, method, path, headers: toHeaders(exchange), body }, collector);
    });
  }

  readonly #onSettled = (collector: ResponseCollector, outcome: number | ErrorCode): void => {
    this.#inFlight.delete(collector);
    this.#logExchange(collector.exchange, outcome, performance.now() - collector.startedAt);
  };

  #logExchange({ method, path }: Exchange, outcome: number | ErrorCode, ms: number): void {
    this.counters.countRequest(method, outcome, ms / 1000);
    const entry = this.exchangeLog.add(method, path, outcome, ms);
    if (!this.#onExchange) return;
    try {
      this.#onExchange(this.exchangeLog.toLogEntry(entry));
    } catch {
      // A failing log must not change an outcome.
    }
  }

  /** Describes the certificate of the appliance or of another host, over a separate connection. */
  async fetchPeerCertificate(otherHost?: HostAndPort, signal?: AbortSignalLike): Promise<PeerCertificateInfo> {
    if (this.#closed) throw closedError();
    const { describePeerCertificate } = await import('./peer-certificate.js');
    if (otherHost && this.#findDestination)
      throw new GatewayError('LIMIT', 'A rehearsal connects to no other host. Nothing was sent.', { sent: false });
    const proxy = otherHost ? this.#proxyFor(otherHost.host, String(otherHost.port)) : this.#proxy;
    return describePeerCertificate(await this.#connectionSettings(), proxy, otherHost, signal);
  }

  /** Fetches the certificates of the appliance itself, over a separate connection. */
  async handshake(signal?: AbortSignalLike): Promise<Handshake> {
    if (this.#closed) throw closedError();
    const { fetchPeerCertificates } = await import('./peer-certificate.js');
    return fetchPeerCertificates(await this.#connectionSettings(), this.#proxy, undefined, signal);
  }

  /** Seconds by which the appliance's clock is ahead of this machine, measured at the latest response. */
  get clockOffsetSeconds(): number | undefined {
    const { lastDateHeader, lastResponseAt = 0 } = this.#pool?.endpoint ?? {};
    const applianceTimeMs = lastDateHeader === undefined ? NaN : Date.parse(lastDateHeader);
    const responseTimeMs = Date.now() - (performance.now() - lastResponseAt);
    // The Date header drops fractions of a second, half a second on average.
    return Number.isNaN(applianceTimeMs) ? undefined : Math.round((applianceTimeMs + 500 - responseTimeMs) / 1000);
  }

  /** Closes the connections that no exchange of any member of the pool uses. */
  closeIdleConnections(): void {
    this.#pool?.closeIdle();
  }

  /** Aborts all exchanges with `ABORTED` and closes every connection. */
  close(): void {
    this.#closed = true;
    this.#inFlight.close();
    for (const collector of [...this.#inFlight.items]) collector.abort();
    this.#pool?.leave(this);
  }

  #proxyFor(host: string, port: string): ProxySettings | undefined {
    const { proxy } = this.#settings;
    return proxy && !bypassesProxy(proxy, host, port) ? proxy : undefined;
  }

  async #connectionSettings(): Promise<CheckedSettings> {
    return this.#findDestination ? { ...this.#settings, ...(await this.#findDestination()) } : this.#settings;
  }

  async #open(): Promise<ConnectionPool> {
    if (this.#closed) throw closedError();
    this.#pool ??= this.#join();
    return (this.#connections = await this.#pool.open());
  }

  #join(): SharedPool {
    const settings = this.#settings;
    const proxy = this.#proxy;
    const key = this.#accountKey === undefined ? undefined : createPoolKey(this.#accountKey, settings, proxy);
    const pool = getSharedPool(key, (own) => {
      const { host, protocol } = new URL(settings.origin);
      const proxySuffix = proxy ? ` (through the proxy ${new URL(proxy.url).host})` : '';
      const endpoint = {
        host: host + proxySuffix,
        isPlainHttp: protocol === 'http:',
        proxy: proxy && new URL(proxy.url).host,
        lastResponseAt: -Infinity,
        lastDateHeader: undefined,
      };
      return new SharedPool(own, endpoint, async (limit) =>
        (await import('./create-connection-pool.js')).createConnectionPool(await this.#connectionSettings(), proxy, limit),
      );
    });
    pool.join(this, settings);
    return pool;
  }
}

/** Creates the headers as literals, because an object that grows property by property is slow. */
function toHeaders({ authorization, body, headers }: Exchange): Record<string, string> {
  const accept = 'application/json';
  const own: Record<string, string> =
    body === undefined ? { authorization, accept } : { authorization, accept, 'content-type': 'application/json' };
  return headers ? { ...own, ...headers } : own;
}

function closedError(): GatewayError {
  return new GatewayError('ABORTED', 'The connection to the appliance was closed or redeployed before this request was sent.', {
    sent: false,
  });
}

/** Matches the proxy node's exceptions: exact names, `*.example.com` or `.example.com`, each with an optional port. */
function bypassesProxy({ noproxy = [] }: ProxySettings, host: string, port: string): boolean {
  return noproxy.some((entry) => {
    const [name = '', onlyPort] = entry.trim().toLowerCase().split(':');
    if (onlyPort && onlyPort !== port) return false;
    const suffix = name.replace(/^\*/, '');
    return name === '*' || name === host || (suffix.startsWith('.') && host.endsWith(suffix));
  });
}
