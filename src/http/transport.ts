import { Answer, aborted, type Origin } from './answer';
import type { Exchange, Reply } from './exchange';
import { Deadlines } from './deadlines';
import { GatewayError } from '../model/error';
import type { Connections } from './connections';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { Cancellable } from '../model/cancelling';
import { Counters } from '../model/counters';
import type { ServedCertificate } from '../model/served';
import type { ServedAt } from './served';

/**
 * Exchanges with one appliance over a bounded pool of kept connections, one TLS context, no redirects. It does not repeat and
 * does not judge statuses. `send` ends with a whole reply or a `GatewayError` (`TIMEOUT`, `CONNECTION`, `TLS`, `BAD_RESPONSE`,
 * `LIMIT`, `ABORTED`) whose `details.sent` tells whether a byte of the request may have left.
 */
export class Transport {
  /** Of every exchange, logins included. */
  readonly counters = new Counters();
  readonly #settings: CheckedSettings;
  /** Undefined where the proxy node excepts this host. */
  readonly #proxy: ProxySettings | undefined;
  readonly #origin: Origin;
  readonly #inFlight = new Deadlines<Answer>();
  #pool: Promise<Connections> | undefined;
  #ready: Connections | undefined;
  #closed = false;

  constructor(settings: CheckedSettings) {
    this.#settings = settings;
    const { hostname, host, port, protocol } = new URL(settings.origin);
    this.#proxy = this.#proxyTo(hostname, port);
    const through = this.#proxy ? ` (through the proxy ${new URL(this.#proxy.url).host})` : '';
    this.#origin = { host: host + through, plain: protocol === 'http:', answeredAt: -Infinity };
  }

  send(exchange: Exchange): Promise<Reply> {
    return this.#ready ? this.#dispatch(this.#ready, exchange) : this.#open().then((pool) => this.#dispatch(pool, exchange));
  }

  #dispatch(pool: Connections, exchange: Exchange): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.#closed) throw closed();
      // The first call waits for the client to be loaded; it may be cancelled in between.
      if (exchange.signal?.aborted) throw aborted(false);
      const answer = new Answer(exchange, this.#origin, exchange.seconds ?? this.#settings.timeout, (error, reply) => {
        this.#inFlight.delete(answer);
        this.counters.requested(exchange.method, reply?.status ?? error?.code ?? 0, (performance.now() - answer.started) / 1000);
        if (reply) resolve(reply);
        else if (error) reject(error);
      });
      this.#inFlight.add(answer);
      const headers: Record<string, string> = { authorization: exchange.authorization, accept: 'application/json' };
      if (exchange.body !== undefined) headers['content-type'] = 'application/json';
      if (exchange.headers) Object.assign(headers, exchange.headers);
      const { method, path, body = null } = exchange;
      pool.dispatch({ origin: this.#settings.origin, method, path, headers, body }, answer);
    });
  }

  /** What a TLS handshake with the appliance shows, or with somebody else; on a connection of its own. */
  async served(elsewhere?: ServedAt, signal?: Cancellable): Promise<ServedCertificate> {
    if (this.#closed) throw closed();
    const { servedChain } = await import('./served.js');
    const proxy = elsewhere ? this.#proxyTo(elsewhere.host, String(elsewhere.port)) : this.#proxy;
    return servedChain(this.#settings, proxy, elsewhere, signal);
  }

  /** Ends everything that is under way with `ABORTED` and closes every connection. */
  close(): void {
    this.#closed = true;
    this.#inFlight.close();
    for (const answer of [...this.#inFlight.items]) answer.abort();
    void this.#pool?.then((pool) => pool.destroy()).catch(() => undefined);
  }

  #proxyTo(host: string, port: string): ProxySettings | undefined {
    const { proxy } = this.#settings;
    return proxy && !bypasses(proxy, host, port) ? proxy : undefined;
  }

  async #open(): Promise<Connections> {
    if (this.#closed) throw closed();
    // With undici, TLS and all: Node-RED's start should not pay for them.
    this.#pool ??= import('./pool.js').then(({ createPool }) => createPool(this.#settings, this.#proxy));
    return (this.#ready = await this.#pool);
  }
}

function closed(): GatewayError {
  return new GatewayError('ABORTED', 'The connection to the appliance was closed, or deployed anew, before this was sent.', {
    sent: false,
  });
}

/** A host of the proxy node's exceptions: exact, `*.example.com`, or `.example.com`; with or without a port. */
function bypasses({ noproxy = [] }: ProxySettings, host: string, port: string): boolean {
  return noproxy.some((entry) => {
    const [name = '', onlyPort] = entry.trim().toLowerCase().split(':');
    if (onlyPort && onlyPort !== port) return false;
    const suffix = name.replace(/^\*/, '');
    return name === '*' || name === host || (suffix.startsWith('.') && host.endsWith(suffix));
  });
}
