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

let limit: number | undefined;
const heldUntil = new WeakMap<Gateway, number>();

/** A run uses it now: for a while it has a socket. */
export function holds(gateway: Gateway): void {
  heldUntil.set(gateway, performance.now() + HELD_MS);
}

/**
 * Every appliance of a run keeps a socket for a minute, which is a file to the operating system. Errors: `BAD_CONFIG` before the first
 * request where there cannot be so many; in the middle of a run the rest would fail, and for no reason of theirs.
 */
export function checkOpenFiles(appliances: number, holding: number): void {
  if (appliances <= FEW) return;
  const most = (limit ??= limitOfFiles());
  const open = openFiles();
  const needed = open + appliances - holding + SPARE;
  if (needed <= most) return;
  throw new GatewayError(
    'BAD_CONFIG',
    sentence`${appliances} appliances need about ${needed} open files (a connection is one), and this process may have ${most}, of which ${open} are open. Raise the limit (ulimit -n, or LimitNOFILE= of the service), or select fewer appliances. Nothing was sent.`,
    { sent: false },
  );
}

/** How many of these have a socket already. */
export function holding(gateways: readonly (Gateway | undefined)[]): number {
  const now = performance.now();
  return gateways.filter((gateway) => gateway !== undefined && (heldUntil.get(gateway) ?? 0) > now).length;
}

/** Node.js raises its own limit to the highest it may have when it starts, so it does not change. */
function limitOfFiles(): number {
  if (process.platform === 'win32') return Infinity;
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return countOf(soft);
  } catch {
    try {
      return countOf(execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim());
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
