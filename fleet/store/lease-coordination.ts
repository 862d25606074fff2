import { randomUUID } from 'node:crypto';
import {
  GatewayError,
  trusted,
  type AbortSignalLike,
  type Coordination,
  type ExclusiveOptions,
  type CoordinationValue,
  type AssertHeld,
} from '@gateway-admin/node-red';
import { BatchedCalls } from './batched-calls';
import { toDatabaseError, createDatabaseInterruptedError, type Database } from './database';
import { ElapsedTime } from './elapsed-time';
import { FLEET_SCHEMA } from './schema';

/** A waiting process loses its position in the queue this long after its last poll. */
const WAITER_TTL_MS = 10_000;
const LEASE_TTL_MS = 60_000;
/** A lease is renewed four times in its lifetime, and at least this often. */
const MAX_RENEWAL_INTERVAL_MS = 5000;
/**
 * The holder relies on its lease for this fraction of the lifetime after a renewal. A write that is sent then arrives before the lease
 * expires.
 */
const ASSUMED_HELD_FRACTION = 0.5;
const MIN_POLL_MS = 20;
const MAX_POLL_MS = 500;

interface QueuePosition {
  readonly place: number;
  readonly is_held: boolean;
}

/** Locks and values that all processes with the same database share. They are rows that expire by the database clock. */
export class LeaseCoordination implements Coordination {
  readonly #database: Database;
  readonly #holder: string;
  /** Each login reads several values, and an engine logs in to many appliances at the same time. */
  readonly #reads: BatchedCalls<string, CoordinationValue | undefined>;

  constructor(database: Database, holder: string = randomUUID()) {
    this.#database = database;
    this.#holder = holder;
    this.#reads = new BatchedCalls((keys) => this.#readValues(keys));
  }

  async runExclusive<T>(key: string, work: (assertHeld: AssertHeld) => Promise<T>, options: ExclusiveOptions = {}): Promise<T> {
    const { leaseMs = LEASE_TTL_MS } = options;
    const lease = await this.#acquire(key, leaseMs, options);
    // A short database outage does not end a lease: the next renewal follows, and the lease is longer than the interval.
    const renew = (): void => void lease.renew().catch(() => undefined);
    const renewal = setInterval(renew, Math.min(MAX_RENEWAL_INTERVAL_MS, leaseMs / 4)).unref();
    try {
      return await work(() => lease.assertHeld());
    } finally {
      clearInterval(renewal);
      await this.#release(key, lease.ticket);
    }
  }

  async get(key: string): Promise<CoordinationValue | undefined> {
    return this.#withDatabaseErrors(() => this.#reads.run(key));
  }

  async #readValues(keys: readonly string[]): Promise<(CoordinationValue | undefined)[]> {
    const rows = await this.#database.query<{ key: string; value: CoordinationValue }>(READ_VALUES, [keys]);
    const values = new Map(rows.map(({ key, value }) => [key, value]));
    return keys.map((key) => values.get(key));
  }

  async set(key: string, value: CoordinationValue, ttlMs: number): Promise<void> {
    await this.#withDatabaseErrors(() => this.#database.query(UPSERT_VALUE, [key, JSON.stringify(value), ttlMs]));
  }

  async update(
    key: string,
    change: (present: CoordinationValue | undefined) => CoordinationValue | undefined,
    ttlMs: number,
  ): Promise<CoordinationValue | undefined> {
    // Each accepted login deletes the pauses of its account, and hardly any account has one. That needs no lock.
    if ((await this.get(key)) === undefined && change(undefined) === undefined) return undefined;
    const thrown: { by?: unknown } = {};
    try {
      return await this.#database.transaction(async (sql) => {
        await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [key]);
        const { rows } = await sql.query<{ value: CoordinationValue }>(READ_VALUES, [[key]]);
        let changed: CoordinationValue | undefined;
        try {
          changed = change(rows[0]?.value);
        } catch (fault) {
          thrown.by = fault;
          throw fault;
        }
        if (changed === undefined) await sql.query(`DELETE FROM ${FLEET_SCHEMA}.lease WHERE key = $1 AND ticket = 0`, [key]);
        else await sql.query(UPSERT_VALUE, [key, JSON.stringify(changed), ttlMs]);
        return changed;
      });
    } catch (fault) {
      throw 'by' in thrown ? fault : toDatabaseError(fault);
    }
  }

  /** Deletes expired leases and values. `is_over` cannot use the index of the expiry, so the first condition selects the rows. */
  async deleteExpired(): Promise<void> {
    await this.#database.query(`DELETE FROM ${FLEET_SCHEMA}.lease WHERE expires < now() AND ${FLEET_SCHEMA}.is_over(expires)`);
  }

  async #acquire(key: string, leaseMs: number, { signal, onWait, abortMessage }: ExclusiveOptions): Promise<Lease> {
    let ticket: number | undefined;
    for (let pollMs = MIN_POLL_MS; ; pollMs = Math.min(MAX_POLL_MS, pollMs * 1.5)) {
      if (signal?.aborted) {
        if (ticket !== undefined) await this.#release(key, ticket);
        throw new GatewayError('ABORTED', trusted(abortMessage ?? 'Canceled while it waited for a lock. Nothing was sent.'), {
          sent: false,
        });
      }
      const isFirst = ticket === undefined;
      const sinceRequest = new ElapsedTime();
      const { place, is_held } = await this.#takePosition(key, ticket, leaseMs);
      ticket = place;
      if (is_held) return new Lease(this.#database, { key, ticket, leaseMs, sinceRequest });
      if (isFirst) onWait?.();
      await sleepUnlessAborted(signal, pollMs);
    }
  }

  async #takePosition(key: string, ticket: number | undefined, leaseMs: number): Promise<QueuePosition> {
    const sql = `SELECT place, is_held FROM ${FLEET_SCHEMA}.enter($1, $2, $3, $4, $5)`;
    const values = [key, ticket ?? null, this.#holder, WAITER_TTL_MS, Math.ceil(leaseMs)];
    const [row] = await this.#withDatabaseErrors(() => this.#database.query<QueuePosition & Record<string, unknown>>(sql, values));
    return row as QueuePosition;
  }

  /** Releases a lease. If the release fails, the lease expires by itself. */
  async #release(key: string, ticket: number): Promise<void> {
    await this.#database.query(`DELETE FROM ${FLEET_SCHEMA}.lease WHERE key = $1 AND ticket = $2`, [key, ticket]).catch(() => undefined);
  }

  async #withDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw toDatabaseError(thrown);
    }
  }
}

interface LeaseOptions {
  readonly key: string;
  readonly ticket: number;
  readonly leaseMs: number;
  /** The time since the lease was requested. */
  readonly sinceRequest: ElapsedTime;
}

/** A lease that this process holds as far as it knows. The process may have been suspended since the last renewal. */
class Lease {
  readonly ticket: number;
  readonly #database: Database;
  readonly #options: LeaseOptions;
  #sinceRenewal: ElapsedTime;
  #isLost = false;

  constructor(database: Database, options: LeaseOptions) {
    this.#database = database;
    this.#options = options;
    this.#sinceRenewal = options.sinceRequest;
    this.ticket = options.ticket;
  }

  /** Renews the lease. Errors: those of the database. */
  async renew(): Promise<void> {
    const { key, ticket, leaseMs } = this.#options;
    const sinceRequest = new ElapsedTime();
    const sql = `UPDATE ${FLEET_SCHEMA}.lease SET expires = clock_timestamp() + $3 * interval '1 ms' WHERE key = $1 AND ticket = $2 RETURNING ticket`;
    const rows = await this.#database.query(sql, [key, ticket, Math.ceil(leaseMs)]);
    if (rows.length === 0) this.#isLost = true;
    else this.#sinceRenewal = sinceRequest;
  }

  /**
   * Checks that the lease is still held. Errors: `ABORTED` if another process may hold it by now; `CONNECTION` if the database does not
   * respond.
   */
  async assertHeld(): Promise<void> {
    if (!this.#isLost && this.#sinceRenewal.ms < this.#options.leaseMs * ASSUMED_HELD_FRACTION) return;
    try {
      if (!this.#isLost) await this.renew();
    } catch (thrown) {
      throw toDatabaseError(thrown);
    }
    if (this.#isLost) throw createDatabaseInterruptedError('ABORTED', LEASE_LOST);
  }
}

const LEASE_LOST = trusted(
  'This process stood still for longer than its lock lasts, so another process may work now. Nothing more was sent.',
);

const READ_VALUES = `
  SELECT key, value FROM ${FLEET_SCHEMA}.lease WHERE key = ANY ($1::text[]) AND ticket = 0 AND expires > clock_timestamp()`;

const UPSERT_VALUE = `
  INSERT INTO ${FLEET_SCHEMA}.lease (key, ticket, value, expires) VALUES ($1, 0, $2::jsonb, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (key, ticket) DO UPDATE SET value = excluded.value, expires = excluded.expires`;

/** Waits, and ends early when the signal aborts. */
function sleepUnlessAborted(signal: AbortSignalLike | undefined, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
