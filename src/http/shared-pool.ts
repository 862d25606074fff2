import { createHash } from 'node:crypto';
import type { CheckedSettings, ProxySettings } from '../model/settings';
import type { Origin } from './answer';
import type { Connections } from './connections';
import { Pace } from './pace';

/** What one of those who share may ask for. */
export interface Limits {
  readonly connections: number;
  /** Requests a second; undefined: no ceiling. */
  readonly rate?: number | undefined;
}

/** Longest that a connection may take to come about. */
export const CONNECT_MS = 10_000;

const pools = new Map<string, SharedPool>();

/** Connections to one appliance that several gateways may share, and what holds for all of them together: the strictest of their limits. */
export class SharedPool {
  readonly origin: Origin;
  /** Undefined where nobody has set a ceiling. */
  pace: Pace | undefined;
  readonly #name: string | undefined;
  readonly #members = new Map<object, Limits>();
  readonly #create: (limit: number) => Promise<Connections>;
  #opening: Promise<Connections> | undefined;
  #connections: Connections | undefined;

  constructor(name: string | undefined, origin: Origin, create: (limit: number) => Promise<Connections>) {
    this.#name = name;
    this.origin = origin;
    this.#create = create;
  }

  /** Connections that were opened so far. */
  get opened(): number {
    return this.#connections?.opened ?? 0;
  }

  get load(): { readonly open: number; readonly waiting: number } {
    const { open, waiting } = this.#connections?.load ?? { open: 0, waiting: 0 };
    return { open, waiting: waiting + (this.pace?.waiting ?? 0) };
  }

  join(member: object, limits: Limits): void {
    this.#members.set(member, limits);
    this.#limit();
  }

  /** The last one closes the connections. */
  leave(member: object): void {
    if (!this.#members.delete(member)) return;
    this.pace?.leave(member);
    if (this.#members.size > 0) return this.#limit();
    this.pace?.open();
    if (this.#name !== undefined && pools.get(this.#name) === this) pools.delete(this.#name);
    void this.#opening?.then((connections) => connections.destroy()).catch(() => undefined);
  }

  /** Errors: `BAD_CONFIG` when certificate, key or CA cannot be used. */
  async open(): Promise<Connections> {
    // With undici, TLS and all: Node-RED's start should not pay for them.
    this.#opening ??= this.#create(this.#fewest());
    this.#connections = await this.#opening;
    this.#connections.limit = this.#fewest();
    return this.#connections;
  }

  #fewest(): number {
    return Math.min(...[...this.#members.values()].map(({ connections }) => connections));
  }

  #limit(): void {
    if (this.#connections) this.#connections.limit = this.#fewest();
    const rate = Math.min(...[...this.#members.values()].map(({ rate = Infinity }) => rate));
    if (rate === Infinity) {
      this.pace?.open();
      this.pace = undefined;
    } else if (this.pace) this.pace.rate = rate;
    else this.pace = new Pace(rate);
  }
}

/** The pool of that name, made by whoever comes first; one of its own without a name. */
export function poolOf(name: string | undefined, make: (name: string | undefined) => SharedPool): SharedPool {
  let pool = name === undefined ? undefined : pools.get(name);
  if (!pool) pool = make(name);
  if (name !== undefined) pools.set(name, pool);
  return pool;
}

/** Names what may share connections: all of how the address is reached, and for whom. Nothing can be read off it. */
export function sharingOf(account: string, { origin, tls = {}, timeout }: CheckedSettings, proxy: ProxySettings | undefined): string {
  const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = tls;
  const way = [origin, proxy?.url, proxy?.username, proxy?.password, ca, cert, key, pfx, passphrase, servername, rejectUnauthorized];
  return (
    createHash('sha256')
      // A connection has as long to come about as there is for an exchange, up to the usual time.
      .update(JSON.stringify([account, ...way, Math.min(timeout * 1000, CONNECT_MS)]))
      .digest('hex')
  );
}

/** How many there are, for tests. */
export function poolsKept(): number {
  return pools.size;
}
