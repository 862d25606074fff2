import { randomUUID } from 'node:crypto';
import {
  GatewayError,
  ours,
  type Cancellable,
  type Coordination,
  type ExclusiveOptions,
  type Remembered,
  type StillHeld,
} from '@gateway-admin/node-red';
import { databaseFault, interrupted, type Database } from './database';
import { Moment } from './moment';
import { SCHEMA } from './schema';

/** A place in a queue is given up so long after the last sign of life of whoever waits. */
const WAIT_MS = 10_000;
const LEASE_MS = 60_000;
/** Prolonged four times in a lease, and at least this often: another one may begin soon after the holder died. */
const LONGEST_RENEWAL_MS = 5000;
/** For so much of a lease after it was prolonged nobody is asked whether it is still held: what leaves then arrives before it is over. */
const SURE = 0.5;
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

  async exclusive<T>(key: string, work: (held: StillHeld) => Promise<T>, options: ExclusiveOptions = {}): Promise<T> {
    const { leaseMs = LEASE_MS } = options;
    const lease = await this.#enter(key, leaseMs, options);
    // A database that is away for a moment does not end a lease: the next renewal comes, and the expiry is longer than the work.
    const renew = (): void => void lease.renew().catch(() => undefined);
    const renewal = setInterval(renew, Math.min(LONGEST_RENEWAL_MS, leaseMs / 4)).unref();
    try {
      return await work(() => lease.held());
    } finally {
      clearInterval(renewal);
      await this.#leave(key, lease.ticket);
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

  async #enter(key: string, leaseMs: number, { signal, onWait, cancelled }: ExclusiveOptions): Promise<Lease> {
    let ticket: number | undefined;
    for (let look = FIRST_LOOK_MS; ; look = Math.min(LONGEST_LOOK_MS, look * 1.5)) {
      if (signal?.aborted) {
        if (ticket !== undefined) await this.#leave(key, ticket);
        throw new GatewayError('ABORTED', ours(cancelled ?? 'Cancelled while it waited for its turn.'), { sent: false });
      }
      const first = ticket === undefined;
      const asked = new Moment();
      const { place, is_held } = await this.#place(key, ticket, leaseMs);
      ticket = place;
      if (is_held) return new Lease(this.#database, { key, ticket, leaseMs, asked });
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

interface LeaseParts {
  readonly key: string;
  readonly ticket: number;
  readonly leaseMs: number;
  /** When the database was asked for it. */
  readonly asked: Moment;
}

/** A key that is held: as far as this process knows, which may have stood still since. */
class Lease {
  readonly ticket: number;
  readonly #database: Database;
  readonly #parts: LeaseParts;
  #last: Moment;
  #isLost = false;

  constructor(database: Database, parts: LeaseParts) {
    this.#database = database;
    this.#parts = parts;
    this.#last = parts.asked;
    this.ticket = parts.ticket;
  }

  /** Errors: those of the database. */
  async renew(): Promise<void> {
    const { key, ticket, leaseMs } = this.#parts;
    const asked = new Moment();
    const sql = `UPDATE ${SCHEMA}.lease SET expires = clock_timestamp() + $3 * interval '1 ms' WHERE key = $1 AND ticket = $2 RETURNING ticket`;
    const rows = await this.#database.query(sql, [key, ticket, Math.ceil(leaseMs)]);
    if (rows.length === 0) this.#isLost = true;
    else this.#last = asked;
  }

  /** Errors: `ABORTED` where somebody else may hold it by now, `CONNECTION` where nobody can tell. */
  async held(): Promise<void> {
    if (!this.#isLost && this.#last.ago < this.#parts.leaseMs * SURE) return;
    try {
      if (!this.#isLost) await this.renew();
    } catch (thrown) {
      throw databaseFault(thrown);
    }
    if (this.#isLost) throw interrupted('ABORTED', LOST);
  }
}

const LOST = ours('This process stood still for so long that another one has its turn by now: nothing more was sent.');

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
