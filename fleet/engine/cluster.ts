import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const USER = 'fleet';
/** PostgreSQL does not run as root: it runs as this one then. */
const SERVICE_USER = 'postgres';

export interface ClusterOptions {
  /** Where `initdb`, `postgres` and `pg_ctl` are. */
  readonly binaries: string;
  /** What it keeps, and its password. */
  readonly folder: string;
}

/** A PostgreSQL of our own in a folder: made at the first start, found running again after its starter has died. */
export class Cluster {
  readonly #binaries: string;
  readonly #folder: string;
  /** Whom it runs as. */
  #as: { uid: number; gid: number } | undefined;

  constructor({ binaries, folder }: ClusterOptions) {
    this.#binaries = binaries;
    this.#folder = folder;
  }

  /** Gives its address; the port is any that is free, unless one is wanted. It answers this machine alone, and whoever knows the password in its folder. */
  async start(wanted?: number): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o755 });
    if (!(await exists(join(this.#data, 'PG_VERSION')))) await this.#make();
    const port = (await this.#running()) ?? (await this.#begin(wanted));
    const password = await readFile(this.#secret, 'utf8');
    return `postgresql://${USER}:${encodeURIComponent(password.trim())}@127.0.0.1:${port}/postgres`;
  }

  /** `immediate`: without a word, as if the power had failed; what was committed is there again at the next start. */
  async stop(how: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#call('pg_ctl', ['-D', this.#data, '-m', how, '-w', 'stop']).catch(() => undefined);
  }

  async isRunning(): Promise<boolean> {
    return (await this.#running()) !== undefined;
  }

  /** How a process that ends has it end too, without waiting for it. */
  get ending(): { command: string; args: string[]; options: { cwd: string; uid?: number; gid?: number } } {
    const args = ['-D', this.#data, '-m', 'fast', '-W', 'stop'];
    return { command: join(this.#binaries, 'pg_ctl'), args, options: { cwd: this.#folder, ...this.#as } };
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  get #port(): string {
    return join(this.#folder, 'port');
  }

  get #secret(): string {
    return join(this.#folder, 'password');
  }

  async #make(): Promise<void> {
    // What another start has left half made is of no use.
    await rm(this.#data, { recursive: true, force: true });
    await mkdir(this.#data, { mode: 0o700 });
    await writeFile(this.#secret, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
    const as = await serviceUser();
    if (as) for (const place of [this.#data, this.#secret]) await chown(place, as.uid, as.gid);
    const how = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', `--username=${USER}`, `--pwfile=${this.#secret}`];
    await this.#call('initdb', ['-D', this.#data, ...how]);
    await chmod(this.#data, 0o700);
  }

  /** Port of the one that runs already. */
  async #running(): Promise<number | undefined> {
    const isThere = await this.#call('pg_ctl', ['-D', this.#data, 'status']).then(
      () => true,
      () => false,
    );
    if (!isThere) return undefined;
    const lines = (await readFile(join(this.#data, 'postmaster.pid'), 'utf8')).split('\n');
    return Number(lines[3]);
  }

  /** On the port that it had: whoever has lost it finds it there again. */
  async #begin(wanted?: number): Promise<number> {
    const before = wanted ?? Number(await readFile(this.#port, 'utf8').catch(() => ''));
    if (before > 0) {
      const isBack = await this.#beginAt(before).then(
        () => true,
        () => false,
      );
      if (isBack) return before;
    }
    const port = await freePort();
    await this.#beginAt(port);
    await writeFile(this.#port, String(port));
    return port;
  }

  #beginAt(port: number): Promise<void> {
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=100`;
    return this.#call('pg_ctl', ['-D', this.#data, '-l', join(this.#data, 'server.log'), '-o', options, '-w', '-t', '60', 'start']);
  }

  async #call(command: string, args: readonly string[]): Promise<void> {
    const as = (this.#as ??= await serviceUser());
    try {
      // Its messages are read: they have to be in one language.
      await run(join(this.#binaries, command), args, { cwd: this.#folder, env: { ...process.env, LC_ALL: 'C' }, ...as });
    } catch (thrown) {
      const { stderr = '', message } = thrown as { stderr?: string; message: string };
      throw new Error(`PostgreSQL could not be used (${command}): ${stderr.trim().split('\n').at(-1) ?? message}`, { cause: thrown });
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Undefined where we are not root. */
async function serviceUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const ids = async (flag: string): Promise<number> => Number((await run('id', [flag, SERVICE_USER])).stdout);
  try {
    return { uid: await ids('-u'), gid: await ids('-g') };
  } catch {
    throw new Error(
      `PostgreSQL does not run as root, and there is no user ${SERVICE_USER}. Run Node-RED as another user, or enter the address of a database.`,
    );
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
