import type { ChildProcess } from 'node:child_process';
import { locateBuiltFile } from '../files/package-folder';
import { GatewayError } from '../model/error';
import { isObject } from '../model/json';
import { safeMessage } from '../model/safe-message';

export interface RehearsalCopyOptions {
  /** The snapshot folder. */
  readonly from: string;
  readonly username: string;
  readonly password: string;
  readonly realm: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly vendor?: string;
  readonly brand?: string;
}

/** Where a copy listens, and the certificate that it shows. */
export interface RehearsalCopyEndpoint {
  readonly origin: string;
  readonly ca: string;
  /** The private key of the certificate. It is worthless anywhere else. */
  readonly key: string;
}

export interface RunningRehearsalCopy {
  readonly endpoint: RehearsalCopyEndpoint;
  /** Whether the copy ended by itself, for example by a crash. */
  readonly hasEnded: boolean;
  /** Restarts the copy with the snapshot, at the same address. */
  reset(): Promise<void>;
  close(): void;
}

/** The signal aborts a start. */
export type LaunchRehearsalCopy = (options: RehearsalCopyOptions, signal: AbortSignal) => Promise<RunningRehearsalCopy>;

/** Path of the program that runs a copy. It is in the simulator, which the library does not import. */
const PROCESS_FILE = ['src', 'simulator', 'copy', 'copy-process.js'];
const MAX_START_MS = 60_000;
/** Variables that the process of a copy gets. It needs no credentials of this process; Windows needs SystemRoot for random numbers. */
const PASSED_VARIABLES = ['PATH', 'SystemRoot', 'TZ'];

/** Starts a copy in a process that ends with this one. Errors: `BAD_CONFIG` with the reason, `TIMEOUT`, `ABORTED`. */
export const launchSimulatedCopy: LaunchRehearsalCopy = async (options, signal) => {
  const child = process.getBuiltinModule('node:child_process').fork(locateBuiltFile(...PROCESS_FILE), [], {
    // They keep the memory of a copy near the size of its snapshot. The copy sets more of them, but these save most from the start.
    execArgv: ['--max-semi-space-size=1', '--no-opt'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: Object.fromEntries(PASSED_VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))),
  });
  const copy = new CopyProcess(child);
  const abort = (): void => copy.close();
  signal.addEventListener('abort', abort, { once: true });
  try {
    await copy.start(options);
    return copy;
  } catch (thrown) {
    copy.close();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

class CopyProcess implements RunningRehearsalCopy {
  readonly #child: ChildProcess;
  #endpoint: RehearsalCopyEndpoint = { origin: '', ca: '', key: '' };
  #hasEnded = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.once('exit', () => (this.#hasEnded = true));
    child.on('error', () => (this.#hasEnded = true));
  }

  get endpoint(): RehearsalCopyEndpoint {
    return this.#endpoint;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async start(options: RehearsalCopyOptions): Promise<void> {
    this.#endpoint = await this.#request({ kind: 'start', options });
  }

  async reset(): Promise<void> {
    this.#endpoint = await this.#request({ kind: 'reset' });
  }

  close(): void {
    this.#hasEnded = true;
    this.#child.kill('SIGKILL');
  }

  #request(request: object): Promise<RehearsalCopyEndpoint> {
    const child = this.#child;
    return new Promise<RehearsalCopyEndpoint>((resolve, reject) => {
      const finish = (error: GatewayError | undefined, endpoint?: RehearsalCopyEndpoint): void => {
        clearTimeout(timer);
        child.off('message', onMessage);
        child.off('exit', onExit);
        // A copy that waits must not keep this process running.
        child.unref();
        child.channel?.unref();
        if (endpoint) resolve(endpoint);
        else reject(error ?? createCopyStartError('It ended.'));
      };
      const onMessage = (reply: unknown): void => {
        const { kind, url, ca, key, message } = isObject(reply) ? reply : {};
        if (kind === 'ready') finish(undefined, { origin: String(url), ca: String(ca), key: String(key) });
        else finish(createCopyStartError(String(message)));
      };
      const onExit = (): void => finish(createCopyStartError('Its process ended.'));
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        finish(new GatewayError('TIMEOUT', `The copy did not start within ${MAX_START_MS / 1000} s.`, { sent: false }));
      }, MAX_START_MS);
      child.ref();
      child.channel?.ref();
      child.on('message', onMessage);
      child.once('exit', onExit);
      child.send(request, (error) => {
        if (error) onExit();
      });
    });
  }
}

export function createCopyStartError(reason: string): GatewayError {
  return new GatewayError('BAD_CONFIG', safeMessage`The copy for the rehearsal could not be started. ${reason} Nothing was sent.`, {
    sent: false,
  });
}
