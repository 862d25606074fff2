import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError, trusted, safeMessage } from '@gateway-admin/node-red';
import { Pool, TypeOverrides, type PoolClient, type QueryResultRow } from 'pg';

/** Counts are small: a bigint is a number here. */
const BIGINT_OID = 20;
const CONNECT_TIMEOUT_MS = 5000;
/** A connection that died without a word is given up after this. */
const QUERY_TIMEOUT_MS = 20_000;
const MAX_PAUSE_MS = 1000;
/** A process that stands still in the middle of a transaction keeps what that has locked from nobody for longer. */
const BEGIN_TRANSACTION = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = '8s'`;

/** Something that takes SQL: the pool, or the client of a transaction. */
export interface SqlExecutor {
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number | null }>;
}

interface Rows {
  readonly rows: unknown[];
}

/** As pg-boss wants it. */
export interface BossExecutor {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** One pool for the ledger and for pg-boss. */
export class Database {
  readonly #pool: Pool;
  #closing: Promise<void> | undefined;

  constructor(url: string, maxConnections = 10) {
    const typeParsers = new TypeOverrides();
    typeParsers.setTypeParser(BIGINT_OID, Number);
    this.#pool = new Pool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'gateway-fleet',
      types: typeParsers,
    });
    // An idle connection that breaks is replaced at the next query.
    this.#pool.on('error', () => undefined);
  }

  async query<R extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return (await this.#pool.query<R>(text, [...values])).rows;
  }

  /** All of it or nothing. */
  async transaction<T>(work: (sql: SqlExecutor) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let connectionError: Error | undefined;
    const onError = (error: Error): void => void (connectionError = error);
    client.on('error', onError);
    try {
      await client.query(BEGIN_TRANSACTION);
      const result = await work({ query: (text, values = []) => client.query(text, [...values]) });
      await client.query('COMMIT');
      return result;
    } catch (thrown) {
      await client.query('ROLLBACK').catch((error: Error) => (connectionError = error));
      throw thrown;
    } finally {
      client.off('error', onError);
      releaseClient(client, connectionError);
    }
  }

  /** What pg-boss sends its own SQL by; with a client, inside of that one's transaction. */
  createBossExecutor(sql?: SqlExecutor): BossExecutor {
    return {
      executeSql: async (text, values = []) => {
        // Without values a text may hold several commands; pg-boss then wants the rows of them all.
        const result: Rows | Rows[] = await (sql ?? this.#pool).query(text, values);
        return { rows: [result].flat().flatMap(({ rows }) => rows) };
      },
    };
  }

  /** Does some work until the database is there to do it, however long that takes; `stopped` ends the wait with the fault. */
  async retryUntilAvailable<T>(work: () => Promise<T>, isStopped: () => boolean = () => false): Promise<T> {
    for (let pauseMs = 50; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
      try {
        return await work();
      } catch (thrown) {
        if (!isDatabaseUnavailable(thrown) || isStopped()) throw thrown;
        await pause(pauseMs);
      }
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#pool.end());
  }
}

function releaseClient(client: PoolClient, connectionError: Error | undefined): void {
  client.release(connectionError);
}

function getErrorCode(thrown: unknown): string {
  const code = (thrown as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

const UNAVAILABLE_CODES = new Set([
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
const DISK_ERROR = /^(53100|58)/;

/** Whether the database cannot do it at the moment, rather than that something is wrong with what was asked of it. */
export function isDatabaseUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = getErrorCode(thrown);
  // 08: connection, 57P: it shuts down or starts, 53: no space, memory or connection left, 58: its disk fails, 40: to be tried again,
  // 25006: only to be read, a standby before it takes over; 25P03: it stood still in a transaction.
  if (UNAVAILABLE_CODES.has(code) || /^(08|57P|53|58|40|25006|25P03)/.test(code)) return true;
  if (thrown instanceof AggregateError) return thrown.errors.some(isDatabaseUnavailable);
  return /terminated|timeout|Connection ended|not queryable|connection error/i.test(thrown.message);
}

/** Details of errors with which nothing was sent, for want of the database or of a lease: a gateway makes new errors of what it fails with. */
const interruptionDetails = new WeakSet<object>();

/** An error after which the same may be begun again. */
export function createInterruption(code: 'ABORTED' | 'CONNECTION', message: GatewayError['safeMessage']): GatewayError {
  const error = new GatewayError(code, message, { sent: false });
  interruptionDetails.add(error.details);
  return error;
}

export function isInterruption(thrown: unknown): boolean {
  return thrown instanceof GatewayError && interruptionDetails.has(thrown.details);
}

/** A fault of the database as flows know it. Where it is stays out of it: it may hold a password. */
export function toDatabaseError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const code = getErrorCode(thrown);
  const codeSuffix = /^[A-Z0-9_]{2,30}$/.test(code) ? trusted(` (${code})`) : trusted('');
  if (isDatabaseUnavailable(thrown)) {
    const message = DISK_ERROR.test(code)
      ? safeMessage`The database of the fleet cannot write${codeSuffix}. Check the disk of PostgreSQL and the space that is left there.`
      : safeMessage`The database of the fleet cannot be reached${codeSuffix}. Check that PostgreSQL runs.`;
    return createInterruption('CONNECTION', message);
  }
  const message = thrown instanceof Error ? thrown.message.slice(0, 200) : 'unknown';
  return new GatewayError('BAD_CONFIG', safeMessage`The database of the fleet refused a command${codeSuffix}: ${message}.`, {
    sent: false,
  });
}
