import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError, ours, sentence } from '@gateway-admin/node-red';
import { Pool, TypeOverrides, type PoolClient, type QueryResultRow } from 'pg';

/** Counts are small: a bigint is a number here. */
const BIGINT = 20;
const CONNECT_MS = 5000;
/** A connection that died without a word is given up after this. */
const QUERY_MS = 20_000;
const LONGEST_PAUSE_MS = 1000;
/** A process that stands still in the middle of a transaction keeps what that has locked from nobody for longer. */
const BEGIN = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = '8s'`;

/** Something that takes SQL: the pool, or the client of a transaction. */
export interface Sql {
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number | null }>;
}

interface Rows {
  readonly rows: unknown[];
}

/** As pg-boss wants it. */
export interface BossSql {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** One pool for the ledger and for pg-boss. */
export class Database {
  readonly #pool: Pool;
  #closed: Promise<void> | undefined;

  constructor(url: string, most = 10) {
    const numbers = new TypeOverrides();
    numbers.setTypeParser(BIGINT, Number);
    this.#pool = new Pool({
      connectionString: url,
      max: most,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'gateway-fleet',
      types: numbers,
    });
    // An idle connection that breaks is replaced at the next query.
    this.#pool.on('error', () => undefined);
  }

  async query<R extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return (await this.#pool.query<R>(text, [...values])).rows;
  }

  /** All of it or nothing. */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    const breaks = (error: Error): void => void (broken = error);
    client.on('error', breaks);
    try {
      await client.query(BEGIN);
      const result = await work({ query: (text, values = []) => client.query(text, [...values]) });
      await client.query('COMMIT');
      return result;
    } catch (thrown) {
      await client.query('ROLLBACK').catch((error: Error) => (broken = error));
      throw thrown;
    } finally {
      client.off('error', breaks);
      release(client, broken);
    }
  }

  /** What pg-boss sends its own SQL by; with a client, inside of that one's transaction. */
  boss(sql?: Sql): BossSql {
    return {
      executeSql: async (text, values = []) => {
        // Without values a text may hold several commands; pg-boss then wants the rows of them all.
        const result: Rows | Rows[] = await (sql ?? this.#pool).query(text, values);
        return { rows: [result].flat().flatMap(({ rows }) => rows) };
      },
    };
  }

  /** Does some work until the database is there to do it, however long that takes; `stopped` ends the wait with the fault. */
  async lasting<T>(work: () => Promise<T>, stopped: () => boolean = () => false): Promise<T> {
    for (let wait = 50; ; wait = Math.min(LONGEST_PAUSE_MS, wait * 2)) {
      try {
        return await work();
      } catch (thrown) {
        if (!isAway(thrown) || stopped()) throw thrown;
        await pause(wait);
      }
    }
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#pool.end());
  }
}

function release(client: PoolClient, broken: Error | undefined): void {
  client.release(broken);
}

function codeOf(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

const AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Of those that are there but can keep nothing: no space on its disk, a disk that fails. */
const FULL = /^(53100|58)/;

/** Whether the database cannot do it at the moment, rather than that something is wrong with what was asked of it. */
export function isAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = codeOf(thrown);
  // 08: connection, 57P: it shuts down or starts, 53: no space, memory or connection left, 58: its disk fails, 40: to be tried again,
  // 25006: only to be read, a standby before it takes over; 25P03: it stood still in a transaction.
  if (AWAY.has(code) || /^(08|57P|53|58|40|25006|25P03)/.test(code)) return true;
  if (thrown instanceof AggregateError) return thrown.errors.some(isAway);
  return /terminated|timeout|Connection ended|not queryable|connection error/i.test(thrown.message);
}

/** Details of errors with which nothing was sent, for want of the database or of a lease: a gateway makes new errors of what it fails with. */
const interruptions = new WeakSet<object>();

/** An error after which the same may be begun again. */
export function interrupted(code: 'ABORTED' | 'CONNECTION', words: GatewayError['sentence']): GatewayError {
  const error = new GatewayError(code, words, { sent: false });
  interruptions.add(error.details);
  return error;
}

export function isInterrupted(thrown: unknown): boolean {
  return thrown instanceof GatewayError && interruptions.has(thrown.details);
}

/** A fault of the database as flows know it. Where it is stays out of it: it may hold a password. */
export function databaseFault(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const code = codeOf(thrown);
  const why = /^[A-Z0-9_]{2,30}$/.test(code) ? ours(` (${code})`) : ours('');
  if (isAway(thrown)) {
    const words = FULL.test(code)
      ? sentence`The database of the fleet cannot write${why}. Check the disk of PostgreSQL and the space that is left there.`
      : sentence`The database of the fleet cannot be reached${why}. Check that PostgreSQL runs.`;
    return interrupted('CONNECTION', words);
  }
  const words = thrown instanceof Error ? thrown.message.slice(0, 200) : 'unknown';
  return new GatewayError('BAD_CONFIG', sentence`The database of the fleet refused a command${why}: ${words}.`, { sent: false });
}
