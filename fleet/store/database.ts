import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError, trusted, safeMessage } from '@gateway-admin/node-red';
import { Pool, TypeOverrides, type PoolClient, type QueryResultRow } from 'pg';

/** PostgreSQL's type of `count(*)`. Counts are small enough for a JavaScript number. */
const BIGINT_OID = 20;
const CONNECT_TIMEOUT_MS = 5000;
/** Maximum time for a statement, because a connection can die without closing. */
const QUERY_TIMEOUT_MS = 20_000;
const MAX_PAUSE_MS = 1000;
/** Maximum idle time of a transaction, because a suspended process must not hold its locks for longer. */
const BEGIN_TRANSACTION = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = '8s'`;

/** Runs SQL on the connection pool or on the client of a transaction. */
export interface SqlExecutor {
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<{ rows: R[]; rowCount: number | null }>;
}

interface Rows {
  readonly rows: unknown[];
}

/** The database interface of pg-boss. */
interface PgBossExecutor {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** The connection pool that the run store and pg-boss share. */
export class Database {
  readonly #pool: Pool;
  #statements = 0;
  #seconds = 0;
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
    return (await this.#measure(() => this.#pool.query<R>(text, [...values]))).rows;
  }

  /** Number of statements and transactions of this process, and the seconds that they took, including the wait for a connection. */
  get usage(): { statements: number; seconds: number } {
    return { statements: this.#statements, seconds: this.#seconds };
  }

  async #measure<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.#statements++;
      this.#seconds += (performance.now() - start) / 1000;
    }
  }

  /** Runs `work` in a transaction: commits it as a whole, or rolls it back if it throws. */
  transaction<T>(work: (sql: SqlExecutor) => Promise<T>): Promise<T> {
    return this.#measure(() => this.#runTransaction(work));
  }

  async #runTransaction<T>(work: (sql: SqlExecutor) => Promise<T>): Promise<T> {
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

  /** Lets pg-boss run its SQL; with `sql`, inside the transaction of that client. */
  createBossExecutor(sql?: SqlExecutor): PgBossExecutor {
    return {
      executeSql: async (text, values = []) => {
        // A text without values may hold several commands. pg-boss expects the rows of all of them.
        const result: Rows | Rows[] = await (sql ? sql.query(text, values) : this.#measure(() => this.#pool.query(text, values)));
        return { rows: [result].flat().flatMap(({ rows }) => rows) };
      },
    };
  }

  /** Repeats `work` until the database is available. The wait has no limit; `isStopped` ends it, and the last error is thrown. */
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

const LOGIN_ERROR = /^28/;

/** Matches the error codes of a database that responds but cannot store anything, because its disk is full or fails. */
const DISK_ERROR = /^(53100|58)/;

/** Whether the database is unavailable at the moment. False if it responded and rejected the command. */
export function isDatabaseUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = getErrorCode(thrown);
  // 08: connection; 28: login rejected, such as during a change of the password; 57P: shutdown or start; 53: no disk space, memory or connection left; 58: disk error; 40: serialization, try again;
  // 25006: read-only, such as a standby before its promotion; 25P03: idle in a transaction for too long.
  if (UNAVAILABLE_CODES.has(code) || /^(08|28|57P|53|58|40|25006|25P03)/.test(code)) return true;
  if (thrown instanceof AggregateError) return thrown.errors.some(isDatabaseUnavailable);
  return /terminated|timeout|Connection ended|not queryable|connection error/i.test(thrown.message);
}

/** Details objects that mark interruption errors, because a gateway wraps the errors that it rethrows but keeps their details. */
const interruptionDetails = new WeakSet<object>();

/** Creates the error for work that sent nothing and may start again, because the database or a lease was lost. */
export function createDatabaseInterruptedError(code: 'ABORTED' | 'CONNECTION', message: GatewayError['safeMessage']): GatewayError {
  const error = new GatewayError(code, message, { sent: false });
  interruptionDetails.add(error.details);
  return error;
}

export function isInterruptedError(thrown: unknown): boolean {
  return thrown instanceof GatewayError && interruptionDetails.has(thrown.details);
}

/** Converts a database error to an error for flows. It omits the database address, which may contain a password. */
export function toDatabaseError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  const code = getErrorCode(thrown);
  const codeSuffix = /^[A-Z0-9_]{2,30}$/.test(code) ? trusted(` (${code})`) : trusted('');
  if (isDatabaseUnavailable(thrown)) {
    const message = LOGIN_ERROR.test(code)
      ? safeMessage`The database of the fleet rejected the login${codeSuffix}. Nothing was sent. Check the user and the password in the address of the database.`
      : DISK_ERROR.test(code)
        ? safeMessage`The database of the fleet cannot write${codeSuffix}. Nothing was sent. Check that the disk of PostgreSQL has free space.`
        : safeMessage`The database of the fleet cannot be reached${codeSuffix}. Nothing was sent. Check that PostgreSQL runs and that its address is right.`;
    return createDatabaseInterruptedError('CONNECTION', message);
  }
  const message = (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 200).replace(/[.\s]+$/, '');
  return new GatewayError('BAD_CONFIG', safeMessage`The database of the fleet rejected a command${codeSuffix}: ${message}.`, {
    sent: false,
  });
}
