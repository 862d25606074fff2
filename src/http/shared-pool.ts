import { createHash } from 'node:crypto';
import { replaceBuffersByDigests } from '../model/buffer-digest';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { ApplianceEndpoint } from './response-collector';
import type { ConnectionPool } from './connection-pool';
import { RateLimiter } from './rate-limiter';
import { createProcessMap } from '../model/process-state';

/** Limits of one member of a shared pool. */
interface ConnectionPoolLimits {
  readonly connections: number;
  /** Requests per second; undefined means unlimited. */
  readonly rate?: number | undefined;
}

/** Maximum time to establish a connection. */
export const CONNECT_TIMEOUT_MS = 10_000;

const pools = createProcessMap<SharedPool>('connection pools');

/** Connections to one appliance that several gateways share. The strictest limits of all members apply. */
export class SharedPool {
  readonly endpoint: ApplianceEndpoint;
  /** The rate limiter; undefined when no member limits the rate. */
  rateLimiter: RateLimiter | undefined;
  readonly #key: string | undefined;
  readonly #members = new Map<object, ConnectionPoolLimits>();
  readonly #create: (limit: number) => Promise<ConnectionPool>;
  #opening: Promise<ConnectionPool> | undefined;
  #connections: ConnectionPool | undefined;

  constructor(key: string | undefined, endpoint: ApplianceEndpoint, create: (limit: number) => Promise<ConnectionPool>) {
    this.#key = key;
    this.endpoint = endpoint;
    this.#create = create;
  }

  /** Number of connections opened so far. */
  get opened(): number {
    return this.#connections?.opened ?? 0;
  }

  get load(): { readonly open: number; readonly waiting: number } {
    const { open, waiting } = this.#connections?.load ?? { open: 0, waiting: 0 };
    return { open, waiting: waiting + (this.rateLimiter?.waitingCount ?? 0) };
  }

  join(member: object, limits: ConnectionPoolLimits): void {
    this.#members.set(member, limits);
    this.#applyLimits();
  }

  /** Closes the connections when the last member leaves. */
  leave(member: object): void {
    if (!this.#members.delete(member)) return;
    this.rateLimiter?.cancelWaiters(member);
    if (this.#members.size > 0) return this.#applyLimits();
    this.rateLimiter?.releaseAll();
    if (this.#key !== undefined && pools.get(this.#key) === this) pools.delete(this.#key);
    void this.#opening?.then((connections) => connections.destroy()).catch(() => undefined);
  }

  /** Creates the pool. Errors: `BAD_CONFIG` when the certificate, its key or the CA cannot be used. */
  async open(): Promise<ConnectionPool> {
    // undici and TLS load on first use, so that Node-RED starts faster.
    const opening = (this.#opening ??= this.#create(this.#connectionLimit()));
    try {
      this.#connections = await opening;
    } catch (error) {
      // The next request tries again.
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
    this.#connections.limit = this.#connectionLimit();
    return this.#connections;
  }

  closeIdle(): void {
    this.#connections?.closeIdle();
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

/** Returns the pool with this key and creates it if needed. Without a key, the pool is private. */
export function getSharedPool(key: string | undefined, create: (name: string | undefined) => SharedPool): SharedPool {
  let pool = key === undefined ? undefined : pools.get(key);
  if (!pool) pool = create(key);
  if (key !== undefined) pools.set(key, pool);
  return pool;
}

/** Hashes the properties that connections must have in common to be shared: the address, the route to it and the account. */
export function createPoolKey(
  accountKey: string,
  { origin, tls = {}, timeout }: CheckedSettings,
  proxy: ProxySettings | undefined,
): string {
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
      // Connections with different connect timeouts are not shared.
      .update(JSON.stringify([accountKey, ...connectionParts.map(replaceBuffersByDigests), Math.min(timeout * 1000, CONNECT_TIMEOUT_MS)]))
      .digest('hex')
  );
}
