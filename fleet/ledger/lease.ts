import { randomUUID } from 'node:crypto';
import { GatewayError, ours, type Cancellable, type Coordination, type ExclusiveOptions, type Remembered } from '@gateway-admin/node-red';
import { databaseFault, type Database } from './database';
import { SCHEMA } from './schema';

/** A place in a queue is given up so long after the last sign of life of whoever waits. */
const WAIT_MS = 10_000;
const LEASE_MS = 60_000;
/** Prolonged four times in a lease, and at least this often: another one may begin soon after the holder died. */
const LONGEST_RENEWAL_MS = 5000;
const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 500;

interface Place {
  readonly place: number;
  readonly is_held: boolean;
}

/** What is exclusive or remembered in all processes that have the same database: rows with an expiry, by the database's own clock. */
export class LeaseCoordination implements Coordination {
  readonly #database: Database;
  readonly #holder: string;

  constructor(database: Database, holder: string = randomUUID()) {
    this.#database = database;
    this.#holder = holder;
  }

  async exclusive<T>(key: string, work: () => Promise<T>, options: ExclusiveOptions = {}): Promise<T> {
    const { leaseMs = LEASE_MS } = options;
    const ticket = await this.#enter(key, leaseMs, options);
    const renewal = setInterval(() => void this.#renew(key, ticket, leaseMs), Math.min(LONGEST_RENEWAL_MS, leaseMs / 4)).unref();
    try {
      return await work();
    } finally {
      clearInterval(renewal);
      await this.#leave(key, ticket);
    }
  }

  async remembered(key: string): Promise<Remembered | undefined> {
    const sql = `SELECT value FROM ${SCHEMA}.lease WHERE key = $1 AND ticket = 0 AND expires > clock_timestamp()`;
    const [row] = await this.#ask(() => this.#database.query<{ value: Remembered }>(sql, [key]));
    return row?.value;
  }

  async remember(key: string, value: Remembered, ttlMs: number): Promise<void> {
    await this.#ask(() => this.#database.query(WRITE, [key, JSON.stringify(value), ttlMs]));
  }

  async update(
    key: string,
    change: (present: Remembered | undefined) => Remembered | undefined,
    ttlMs: number,
  ): Promise<Remembered | undefined> {
    const thrown: { by?: unknown } = {};
    try {
      return await this.#database.transaction(async (sql) => {
        await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [key]);
        const read = `SELECT value FROM ${SCHEMA}.lease WHERE key = $1 AND ticket = 0 AND expires > clock_timestamp()`;
        const { rows } = await sql.query<{ value: Remembered }>(read, [key]);
        let changed: Remembered | undefined;
        try {
          changed = change(rows[0]?.value);
        } catch (fault) {
          thrown.by = fault;
          throw fault;
        }
        if (changed === undefined) await sql.query(`DELETE FROM ${SCHEMA}.lease WHERE key = $1 AND ticket = 0`, [key]);
        else await sql.query(WRITE, [key, JSON.stringify(changed), ttlMs]);
        return changed;
      });
    } catch (fault) {
      throw 'by' in thrown ? fault : databaseFault(fault);
    }
  }

  /** What nobody needs any more goes. */
  async sweep(): Promise<void> {
    await this.#database.query(`DELETE FROM ${SCHEMA}.lease WHERE ${SCHEMA}.is_over(expires)`);
  }

  async #enter(key: string, leaseMs: number, { signal, onWait, cancelled }: ExclusiveOptions): Promise<number> {
    let ticket: number | undefined;
    for (let look = FIRST_LOOK_MS; ; look = Math.min(LONGEST_LOOK_MS, look * 1.5)) {
      if (signal?.aborted) {
        if (ticket !== undefined) await this.#leave(key, ticket);
        throw new GatewayError('ABORTED', ours(cancelled ?? 'Cancelled while it waited for its turn.'), { sent: false });
      }
      const first = ticket === undefined;
      const { place, is_held } = await this.#place(key, ticket, leaseMs);
      ticket = place;
      if (is_held) return ticket;
      if (first) onWait?.();
      await pauseUnless(signal, look);
    }
  }

  async #place(key: string, ticket: number | undefined, leaseMs: number): Promise<Place> {
    const sql = `SELECT place, is_held FROM ${SCHEMA}.enter($1, $2, $3, $4, $5)`;
    const values = [key, ticket ?? null, this.#holder, WAIT_MS, Math.ceil(leaseMs)];
    const [row] = await this.#ask(() => this.#database.query<Place & Record<string, unknown>>(sql, values));
    return row as Place;
  }

  /** A database that is away for a moment does not end a lease: the next renewal comes, and the expiry is longer than the work. */
  async #renew(key: string, ticket: number, leaseMs: number): Promise<void> {
    const sql = `UPDATE ${SCHEMA}.lease SET expires = clock_timestamp() + $3 * interval '1 ms' WHERE key = $1 AND ticket = $2`;
    await this.#database.query(sql, [key, ticket, Math.ceil(leaseMs)]).catch(() => undefined);
  }

  /** What cannot be given back now runs out by itself. */
  async #leave(key: string, ticket: number): Promise<void> {
    await this.#database.query(`DELETE FROM ${SCHEMA}.lease WHERE key = $1 AND ticket = $2`, [key, ticket]).catch(() => undefined);
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw databaseFault(thrown);
    }
  }
}

const WRITE = `
  INSERT INTO ${SCHEMA}.lease (key, ticket, value, expires) VALUES ($1, 0, $2::jsonb, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (key, ticket) DO UPDATE SET value = excluded.value, expires = excluded.expires`;

/** Ends early when the signal aborts. */
function pauseUnless(signal: Cancellable | undefined, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
