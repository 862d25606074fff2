import { createHash } from 'node:crypto';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { EndpointState } from './response-collector';
import type { ConnectionPool } from './connection-pool';
import { RateLimiter } from './rate-limiter';

/** What one of those who share may ask for. */
export interface PoolLimits {
  readonly connections: number;
  /** Requests a second; undefined: no ceiling. */
  readonly rate?: number | undefined;
}

/** Longest that a connection may take to come about. */
export const CONNECT_TIMEOUT_MS = 10_000;

const pools = new Map<string, SharedPool>();

/** Connections to one appliance that several gateways may share, and what holds for all of them together: the strictest of their limits. */
export class SharedPool {
  readonly endpoint: EndpointState;
  /** Undefined where nobody has set a ceiling. */
  rateLimiter: RateLimiter | undefined;
  readonly #key: string | undefined;
  readonly #members = new Map<object, PoolLimits>();
  readonly #create: (limit: number) => Promise<ConnectionPool>;
  #opening: Promise<ConnectionPool> | undefined;
  #connections: ConnectionPool | undefined;

  constructor(key: string | undefined, endpoint: EndpointState, create: (limit: number) => Promise<ConnectionPool>) {
    this.#key = key;
    this.endpoint = endpoint;
    this.#create = create;
  }

  /** Connections that were opened so far. */
  get opened(): number {
    return this.#connections?.opened ?? 0;
  }

  get load(): { readonly open: number; readonly waiting: number } {
    const { open, waiting } = this.#connections?.load ?? { open: 0, waiting: 0 };
    return { open, waiting: waiting + (this.rateLimiter?.waitingCount ?? 0) };
  }

  join(member: object, limits: PoolLimits): void {
    this.#members.set(member, limits);
    this.#applyLimits();
  }

  /** The last one closes the connections. */
  leave(member: object): void {
    if (!this.#members.delete(member)) return;
    this.rateLimiter?.cancelWaiters(member);
    if (this.#members.size > 0) return this.#applyLimits();
    this.rateLimiter?.releaseAll();
    if (this.#key !== undefined && pools.get(this.#key) === this) pools.delete(this.#key);
    void this.#opening?.then((connections) => connections.destroy()).catch(() => undefined);
  }

  /** Errors: `BAD_CONFIG` when certificate, key or CA cannot be used. */
  async open(): Promise<ConnectionPool> {
    // With undici, TLS and all: Node-RED's start should not pay for them.
    this.#opening ??= this.#create(this.#connectionLimit());
    this.#connections = await this.#opening;
    this.#connections.limit = this.#connectionLimit();
    return this.#connections;
  }

  #connectionLimit(): number {
    return Math.min(...[...this.#members.values()].map(({ connections }) => connections));
  }

  #applyLimits(): void {
    if (this.#connections) this.#connections.limit = this.#connectionLimit();
    const rate = Math.min(...[...this.#members.values()].map(({ rate = Infinity }) => rate));
    if (rate === Infinity) {
      this.rateLimiter?.releaseAll();
      this.rateLimiter = undefined;
    } else if (this.rateLimiter) this.rateLimiter.rate = rate;
    else this.rateLimiter = new RateLimiter(rate);
  }
}

/** The pool of that name, made by whoever comes first; one of its own without a name. */
export function getSharedPool(key: string | undefined, create: (name: string | undefined) => SharedPool): SharedPool {
  let pool = key === undefined ? undefined : pools.get(key);
  if (!pool) pool = create(key);
  if (key !== undefined) pools.set(key, pool);
  return pool;
}

/** Names what may share connections: all of how the address is reached, and for whom. Nothing can be read off it. */
export function poolKey(accountKey: string, { origin, tls = {}, timeout }: CheckedSettings, proxy: ProxySettings | undefined): string {
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = tls;
  const connectionParts = [
    origin,
    proxy?.url,
    proxy?.username,
    proxy?.password,
    ca,
    cert,
    key,
    pfx,
    passphrase,
    servername,
    rejectUnauthorized,
  ];
  return (
    createHash('sha256')
      // A connection has as long to come about as there is for an exchange, up to the usual time.
      .update(JSON.stringify([accountKey, ...connectionParts, Math.min(timeout * 1000, CONNECT_TIMEOUT_MS)]))
      .digest('hex')
  );
}

/** How many there are, for tests. */
export function countSharedPools(): number {
  return pools.size;
}
