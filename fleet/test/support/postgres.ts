import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres } from '../../engine/embedded-postgres';
import { createEmbeddedPostgres } from '../../engine/npm-postgres';

/** A real PostgreSQL for a test file: from npm, or of the machine with `FLEET_POSTGRES=system`. */
export interface TestPostgres {
  readonly server: EmbeddedPostgres;
  /** Creates a database and gives its address. */
  createDatabase(): Promise<string>;
  /** Starts a stopped server on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function startPostgres(): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  // PostgreSQL runs as another user where the tests run as root.
  chmodSync(folder, 0o755);
  const server =
    process.env['FLEET_POSTGRES'] === 'system'
      ? new EmbeddedPostgres({ binaries: findSystemBinaries(), folder: join(folder, 'system') })
      : createEmbeddedPostgres(folder);
  const url = await server.start();
  let count = 0;
  return {
    server,
    createDatabase: async () => {
      const name = `test_${process.pid}_${count++}`;
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return url.replace(/\/postgres$/, `/${name}`);
    },
    restart: async () => {
      await server.start(Number(new URL(url).port));
    },
    close: async () => {
      await server.stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function findSystemBinaries(): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((one, other) => Number(other) - Number(one)) : [];
  if (versions[0] !== undefined) return join(root, versions[0], 'bin');
  return join(execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim());
}

/** All rows of all tables of the database, as text. */
export async function dumpRows(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname LIKE 'gateway_fleet%'`,
    );
    const texts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t`);
      texts.push(...rows.map(({ row }) => row.replaceAll('""', '"')));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}
