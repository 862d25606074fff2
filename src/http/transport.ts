import { Answer, aborted } from './answer';
import type { Exchange, Reply } from './exchange';
import { Deadlines } from './deadlines';
import { History, type Exchanged } from './history';
import { GatewayError } from '../model/error';
import type { ErrorCode } from '../model/error-codes';
import type { Connections } from './connections';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { Cancellable } from '../model/cancelling';
import { Counters } from '../model/counters';
import type { ServedCertificate } from '../model/served';
import type { Handshake, ServedAt } from './served';
import { poolOf, SharedPool, sharingOf } from './shared-pool';

/**
 * Exchanges with one appliance over a bounded pool of kept connections, one TLS context, no redirects, at most so many a second. It does not repeat and
 * does not judge statuses. `send` ends with a whole reply or a `GatewayError` (`TIMEOUT`, `CONNECTION`, `TLS`, `BAD_RESPONSE`,
 * `LIMIT`, `ABORTED`) whose `details.sent` tells whether a byte of the request may have left.
 */
export class Transport {
  /** Of every exchange, logins included. */
  readonly counters = new Counters();
  readonly history: History;
  readonly #settings: CheckedSettings;
  /** Undefined where the proxy node excepts this host. */
  readonly #proxy: ProxySettings | undefined;
  /** Undefined: it shares connections with nobody. */
  readonly #account: string | undefined;
  readonly #onExchange: ((exchange: Exchanged) => void) | undefined;
  readonly #inFlight = new Deadlines<Answer>();
  #pool: SharedPool | undefined;
  #ready: Connections | undefined;
  #closed = false;

  /**
   * `account` names what those have in common who may share connections where they reach the appliance alike. `onExchange` is told of each
   * exchange that has ended.
   */
  constructor(settings: CheckedSettings, account?: string, onExchange?: (exchange: Exchanged) => void) {
    this.#settings = settings;
    this.#account = account;
    this.#onExchange = onExchange;
    this.history = new History(settings.prefix);
    const { hostname, port } = new URL(settings.origin);
    this.#proxy = this.#proxyTo(hostname, port);
  }

  /** Connections that were opened so far, by all who share them. */
  get opened(): number {
    return this.#pool?.opened ?? 0;
  }

  /** Connections that there are, and requests that wait: of all who share them. */
  get load(): { readonly open: number; readonly waiting: number } {
    return this.#pool?.load ?? { open: 0, waiting: 0 };
  }

  send(exchange: Exchange): Promise<Reply> {
    return this.#ready ? this.#inTurn(this.#ready, exchange) : this.#open().then((ready) => this.#inTurn(ready, exchange));
  }

  #inTurn(connections: Connections, exchange: Exchange): Promise<Reply> {
    const turn = this.#pool?.pace?.turn(this, exchange.signal);
    return turn ? turn.then(() => this.#dispatch(connections, exchange)) : this.#dispatch(connections, exchange);
  }

  #dispatch(connections: Connections, exchange: Exchange): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (this.#closed || !this.#pool) throw closed();
      // The first call waits for the client to be loaded; it may be cancelled in between.
      if (exchange.signal?.aborted) throw aborted(false);
      const answer = new Answer(exchange, this.#pool.origin, exchange.seconds ?? this.#settings.timeout, (error, reply) => {
        this.#inFlight.delete(answer);
        this.#note(exchange, reply?.status ?? error?.code ?? 0, performance.now() - answer.started);
        if (reply) resolve(reply);
        else if (error) reject(error);
      });
      this.#inFlight.add(answer);
      const headers: Record<string, string> = { authorization: exchange.authorization, accept: 'application/json' };
      if (exchange.body !== undefined) headers['content-type'] = 'application/json';
      Object.assign(headers, exchange.headers);
      const { method, path, body = null } = exchange;
      connections.dispatch({ origin: this.#settings.origin, method, path, headers, body }, answer);
    });
  }

  #note({ method, path }: Exchange, ended: number | ErrorCode, ms: number): void {
    this.counters.requested(method, ended, ms / 1000);
    const noted = this.history.add(method, path, ended, ms);
    if (!this.#onExchange) return;
    try {
      this.#onExchange(this.history.shown(noted));
    } catch {
      // Whoever writes it down may fail: no outcome depends on it.
    }
  }

  /** What a TLS handshake with the appliance shows, or with somebody else; on a connection of its own. */
  async served(elsewhere?: ServedAt, signal?: Cancellable): Promise<ServedCertificate> {
    if (this.#closed) throw closed();
    const { servedChain } = await import('./served.js');
    const proxy = elsewhere ? this.#proxyTo(elsewhere.host, String(elsewhere.port)) : this.#proxy;
    return servedChain(this.#settings, proxy, elsewhere, signal);
  }

  /** The same with the certificates themselves, of the appliance. */
  async handshake(signal?: Cancellable): Promise<Handshake> {
    if (this.#closed) throw closed();
    const { showChain } = await import('./served.js');
    return showChain(this.#settings, this.#proxy, undefined, signal);
  }

  /** Seconds by which the appliance's clock is ahead of ours, as far as its last answer tells: it tells whole seconds. */
  get clock(): number | undefined {
    const { date, answeredAt = 0 } = this.#pool?.origin ?? {};
    const told = date === undefined ? NaN : Date.parse(date);
    const then = Date.now() - (performance.now() - answeredAt);
    // It is on the average half a second further than it says.
    return Number.isNaN(told) ? undefined : Math.round((told + 500 - then) / 1000);
  }

  /** Ends everything that is under way with `ABORTED` and closes every connection. */
  close(): void {
    this.#closed = true;
    this.#inFlight.close();
    for (const answer of [...this.#inFlight.items]) answer.abort();
    this.#pool?.leave(this);
  }

  #proxyTo(host: string, port: string): ProxySettings | undefined {
    const { proxy } = this.#settings;
    return proxy && !bypasses(proxy, host, port) ? proxy : undefined;
  }

  async #open(): Promise<Connections> {
    if (this.#closed) throw closed();
    this.#pool ??= this.#join();
    return (this.#ready = await this.#pool.open());
  }

  #join(): SharedPool {
    const settings = this.#settings;
    const proxy = this.#proxy;
    const name = this.#account === undefined ? undefined : sharingOf(this.#account, settings, proxy);
    const pool = poolOf(name, (own) => {
      const { host, protocol } = new URL(settings.origin);
      const through = proxy ? ` (through the proxy ${new URL(proxy.url).host})` : '';
      const origin = { host: host + through, plain: protocol === 'http:', answeredAt: -Infinity, date: undefined };
      return new SharedPool(own, origin, async (limit) => (await import('./pool.js')).createPool(settings, proxy, limit));
    });
    pool.join(this, settings);
    return pool;
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
