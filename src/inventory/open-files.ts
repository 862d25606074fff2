import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Gateway } from '../gateway';
import { GatewayError } from '../model/error';
import { sentence } from '../model/sentence';

/** A connection stays open for so long after its last use. */
const HELD_MS = 75_000;
/** What else a process opens meanwhile: files of backups, other nodes. */
const SPARE = 32;
/** Fewer never come near a limit that a process can live with. */
const FEW = 32;

/** Files of this process. */
export interface OpenFiles {
  /** How many it may have open. */
  readonly most: () => number;
  /** How many it has open. */
  readonly count: () => number;
}

/** What an operating system says of a process. Each may throw: not every one has it. */
export interface System {
  readonly platform: string;
  readonly limits: () => string;
  readonly ulimit: () => string;
}

/** This one. */
export const SYSTEM: System = {
  platform: process.platform,
  limits: () => readFileSync('/proc/self/limits', 'utf8'),
  ulimit: () => execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }),
};

let limit: number | undefined;
/** Node.js raises its own limit to the highest it may have when it starts, so it does not change. */
const OWN: OpenFiles = { most: () => (limit ??= limitOfFiles(SYSTEM)), count: openFiles };

const heldUntil = new WeakMap<Gateway, number>();

/** A run uses it now: for a while it has a socket. */
export function holds(gateway: Gateway): void {
  heldUntil.set(gateway, performance.now() + HELD_MS);
}

/**
 * Every appliance of a run keeps a socket for a minute, which is a file to the operating system. Errors: `BAD_CONFIG` before the first
 * request where there cannot be so many; in the middle of a run the rest would fail, and for no reason of theirs.
 */
export function checkOpenFiles(appliances: number, holding: number, files = OWN): void {
  if (appliances <= FEW) return;
  const most = files.most();
  const open = files.count();
  const needed = open + appliances - holding + SPARE;
  if (needed <= most) return;
  throw new GatewayError(
    'BAD_CONFIG',
    sentence`${appliances} appliances need about ${needed} open files (a connection is one), and this process may have ${most}, of which ${open} are open. Raise the limit (ulimit -n, or LimitNOFILE= of the service), or select fewer appliances. Nothing was sent.`,
    { sent: false },
  );
}

/** How many of these have a socket already. */
export function holding(gateways: readonly Gateway[]): number {
  const now = performance.now();
  return gateways.filter((gateway) => (heldUntil.get(gateway) ?? 0) > now).length;
}

/** Infinity where nothing says how many. */
export function limitOfFiles({ platform, limits, ulimit }: System): number {
  if (platform === 'win32') return Infinity;
  try {
    return countOf(/Max open files\s+(\d+)/.exec(limits())?.[1]);
  } catch {
    try {
      return countOf(ulimit());
    } catch {
      return Infinity;
    }
  }
}

function countOf(text: string | undefined): number {
  const count = Number(text);
  return Number.isInteger(count) ? count : Infinity;
}

function openFiles(): number {
  try {
    return readdirSync('/dev/fd').length;
  } catch {
    return 0;
  }
}
