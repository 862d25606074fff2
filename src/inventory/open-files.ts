import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Gateway } from '../gateway';
import { GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';

/** A connection stays open for so long after its last use. */
const CONNECTION_KEEP_ALIVE_MS = 75_000;
/** What else a process opens meanwhile: files of backups, other nodes. */
const SPARE_FILES = 32;
/** Fewer never come near a limit that a process can live with. */
const MIN_APPLIANCES_TO_CHECK = 32;

/** Files of this process. */
export interface OpenFiles {
  /** How many it may have open. */
  readonly max: () => number;
  /** How many it has open. */
  readonly count: () => number;
}

/** What an operating system says of a process. Each may throw: not every one has it. */
export interface FileLimitSource {
  readonly platform: string;
  readonly limits: () => string;
  readonly ulimit: () => string;
}

/** This one. */
export const processFileLimitSource: FileLimitSource = {
  platform: process.platform,
  limits: () => readFileSync('/proc/self/limits', 'utf8'),
  ulimit: () => execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }),
};

let cachedLimit: number | undefined;
/** Node.js raises its own limit to the highest it may have when it starts, so it does not change. */
const PROCESS_OPEN_FILES: OpenFiles = { max: () => (cachedLimit ??= readOpenFileLimit(processFileLimitSource)), count: countOpenFiles };

const connectedUntil = new WeakMap<Gateway, number>();

/** A run uses it now: for a while it has a socket. */
export function markConnected(gateway: Gateway): void {
  connectedUntil.set(gateway, performance.now() + CONNECTION_KEEP_ALIVE_MS);
}

/**
 * Every appliance of a run keeps a socket for a minute, which is a file to the operating system. Errors: `BAD_CONFIG` before the first
 * request where there cannot be so many; in the middle of a run the rest would fail, and for no reason of theirs.
 */
export function checkOpenFiles(appliances: number, connectedCount: number, files = PROCESS_OPEN_FILES): void {
  if (appliances <= MIN_APPLIANCES_TO_CHECK) return;
  const maxOpen = files.max();
  const open = files.count();
  const needed = open + appliances - connectedCount + SPARE_FILES;
  if (needed <= maxOpen) return;
  throw new GatewayError(
    'BAD_CONFIG',
    safeMessage`${appliances} appliances need about ${needed} open files (a connection is one), and this process may have ${maxOpen}, of which ${open} are open. Raise the limit (ulimit -n, or LimitNOFILE= of the service), or select fewer appliances. Nothing was sent.`,
    { sent: false },
  );
}

/** How many of these have a socket already. */
export function countConnected(gateways: readonly Gateway[]): number {
  const now = performance.now();
  return gateways.filter((gateway) => (connectedUntil.get(gateway) ?? 0) > now).length;
}

/** Infinity where nothing says how many. */
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
