import { createHash } from 'node:crypto';
import type { Difference } from '../change/compare';
import { isObject } from '../model/json';

/** One write, as the journal tells it (contract, section 6). Secrets are masked in all of it. */
export interface JournalEntry {
  readonly id: string;
  readonly at: string;
  readonly appliance: string;
  /** Null where the appliance does not tell it to this account. */
  readonly 'serial-number': string | null;
  readonly node: string | null;
  readonly flow: string | null;
  readonly actor: string | null;
  readonly operation: string;
  readonly request: { readonly method: string; readonly path: string; readonly query?: unknown; readonly body?: unknown };
  /** Null from here on as long as the write is only announced. */
  readonly status: number | null;
  readonly ok: boolean | null;
  readonly code: string | null;
  readonly changed: boolean | null;
  readonly diff: readonly Difference[] | null;
  /** Whether what it did can be undone. */
  readonly undo: boolean;
}

/** The end of another file, as it was when this one began. */
export interface ChainLink {
  readonly file: string;
  readonly hash: string;
}

/** An entry as it stands in a file: once announced, once completed. */
export interface JournalLine extends JournalEntry {
  /** SHA-256 of what is kept apart for an undo. */
  readonly kept?: string;
  /** In the first line of a file only: what other files ended with. */
  readonly follows?: readonly ChainLink[];
  /** Hash of the line before; empty in the first. */
  readonly prev: string;
  readonly hash: string;
}

const HASH_SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;
const HASH_SUFFIX_LENGTH = ',"hash":""}'.length + 64;

export function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/** One line of a file, with the hash of all of it that stands before the hash. */
export function sealLine(line: object): { readonly text: string; readonly hash: string } {
  const unsealed = JSON.stringify(line).slice(0, -1);
  const hash = sha256(unsealed);
  return { text: `${unsealed},"hash":"${hash}"}\n`, hash };
}

const NOT_A_LINE = 'it is no line of a journal';

/** What is wrong with a line, if anything, and what can be told of it all the same. */
export interface LineCheck {
  readonly line: JournalLine | undefined;
  readonly problem: string | undefined;
  /** The hashes that the next line may go by: the one that stands there, and the one that belongs there. */
  readonly hashes: readonly string[];
}

/** A line of a file, checked by itself: by its bytes, of which each counts. */
export function parseLine(bytes: Buffer): LineCheck {
  const hash = HASH_SUFFIX.exec(bytes.toString('latin1', Math.max(0, bytes.length - HASH_SUFFIX_LENGTH)))?.[1];
  if (hash === undefined) return { line: undefined, problem: NOT_A_LINE, hashes: [] };
  const computedHash = sha256(bytes.subarray(0, bytes.length - HASH_SUFFIX_LENGTH));
  const line = parseJson(bytes);
  const problem = hash !== computedHash ? 'it was changed' : line ? undefined : NOT_A_LINE;
  return { line, problem, hashes: [hash, computedHash] };
}

/** What a process that was killed while it wrote may leave at the end of a file: the beginning of a line, and not all of it. */
export function isPartialLine(bytes: Buffer): boolean {
  const start = '{"id":"';
  const end = bytes.toString('latin1', Math.max(0, bytes.length - 2 * HASH_SUFFIX_LENGTH));
  return bytes.toString('latin1', 0, start.length) === start.slice(0, bytes.length) && !/"hash":"[0-9a-f]{64}"\}/.test(end);
}

function parseJson(bytes: Buffer): JournalLine | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isJournalLine(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** By what every line has. */
function isJournalLine(value: unknown): value is JournalLine {
  const texts = ['id', 'at', 'appliance', 'operation', 'prev'];
  return isObject(value) && texts.every((key) => typeof value[key] === 'string') && isObject(value['request']);
}
