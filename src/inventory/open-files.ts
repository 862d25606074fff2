import { readdirSync, readFileSync } from 'node:fs';
import type { Gateway } from '../gateway/gateway';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** Time for which a connection stays open after its last use. */
const CONNECTION_KEEP_ALIVE_MS = 75_000;
/** Reserved for other files of the process, such as backups and other nodes. */
const SPARE_FILES = 32;
/** Number of appliances up to which no usual limit is reached. */
const MIN_APPLIANCES_TO_CHECK = 32;

/** The open files of this process. */
interface OpenFileUsage {
  /** The limit of open files. */
  readonly max: () => number;
  /** The number of open files. */
  readonly count: () => number;
}

/** Sources of the limit of open files. Each may throw, because not every system has it. */
interface FileLimitSource {
  readonly platform: string;
  readonly limits: () => string;
  readonly ulimit: () => string;
}

/** The sources of the system that runs this process. */
export const processFileLimitSource: FileLimitSource = {
  platform: process.platform,
  limits: () => readFileSync('/proc/self/limits', 'utf8'),
  ulimit: () => process.getBuiltinModule('node:child_process').execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }),
};

let cachedLimit: number | undefined;
/** The limit is read once, because Node.js raises it to the allowed maximum at its start. */
const PROCESS_OPEN_FILES: OpenFileUsage = { max: () => (cachedLimit ??= readOpenFileLimit(processFileLimitSource)), count: countOpenFiles };

const connectedUntil = new WeakMap<Gateway, number>();

/** Records that a gateway is in use, so it has a connection for some time. */
export function markGatewayConnected(gateway: Gateway): void {
  connectedUntil.set(gateway, performance.now() + CONNECTION_KEEP_ALIVE_MS);
}

/**
 * Checks that the process may open a connection to each appliance, because each connection is an open file. Errors: `BAD_CONFIG` before the
 * first request. Without the check, a run would fail in the middle.
 */
export function assertOpenFileLimit(appliances: number, connectedCount: number, files = PROCESS_OPEN_FILES): void {
  if (appliances <= MIN_APPLIANCES_TO_CHECK) return;
  const maxOpen = files.max();
  const open = files.count();
  const needed = open + appliances - connectedCount + SPARE_FILES;
  if (needed <= maxOpen) return;
  throw new GatewayError(
    'BAD_CONFIG',
    safeMessage`${appliances} appliances need about ${needed} open files, because each connection is one. The limit of this process is ${maxOpen}, and ${open} are open. Raise the limit (ulimit -n, or LimitNOFILE= of the service), or select fewer appliances. Nothing was sent.`,
    { sent: false },
  );
}

/** Counts the gateways that have a connection. */
export function countConnectedGateways(gateways: readonly Gateway[]): number {
  const now = performance.now();
  return gateways.filter((gateway) => (connectedUntil.get(gateway) ?? 0) > now).length;
}

/** The limit of open files. Infinity if the system reports none. */
export function readOpenFileLimit({ platform, limits, ulimit }: FileLimitSource): number {
  if (platform === 'win32') return Infinity;
  try {
    return parseCount(/Max open files\s+(\d+)/.exec(limits())?.[1]);
  } catch {
    try {
      return parseCount(ulimit());
    } catch {
      return Infinity;
    }
  }
}

function parseCount(text: string | undefined): number {
  const count = Number(text);
  return Number.isInteger(count) ? count : Infinity;
}

function countOpenFiles(): number {
  try {
    return readdirSync('/dev/fd').length;
  } catch {
    return 0;
  }
}
