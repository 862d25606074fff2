import { createHash } from 'node:crypto';
import type { Difference } from '../change/compare';
import { isObject } from '../model/json';

/** One write in the journal (contract, section 6). All secrets are masked. */
export interface JournalEntry {
  readonly id: string;
  readonly at: string;
  readonly appliance: string;
  /** Null if this account may not read it. */
  readonly 'serial-number': string | null;
  readonly node: string | null;
  readonly flow: string | null;
  readonly actor: string | null;
  readonly operation: string;
  readonly request: { readonly method: string; readonly path: string; readonly query?: unknown; readonly body?: unknown };
  /** This field and the next four are null until the write is completed. */
  readonly status: number | null;
  readonly ok: boolean | null;
  readonly code: string | null;
  readonly changed: boolean | null;
  readonly diff: readonly Difference[] | null;
  /** Whether this write can be undone. */
  readonly undo: boolean;
}

/** The last hash of another file when this file was started. */
export interface ChainLink {
  readonly file: string;
  readonly hash: string;
}

/** A line of a file. Each entry has two lines: one before the write and one after it. */
export interface JournalLine extends JournalEntry {
  /** SHA-256 of the undo data. */
  readonly kept?: string;
  /** Only in the first line of a file: the last hashes of the other files. */
  readonly follows?: readonly ChainLink[];
  /** Hash of the previous line; empty in the first line. */
  readonly prev: string;
  readonly hash: string;
}

const HASH_SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;
const HASH_SUFFIX_LENGTH = ',"hash":""}'.length + 64;

export function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Serializes a line and appends the hash of everything before the hash. */
export function sealLine(line: object): { readonly text: string; readonly hash: string } {
  const unsealed = JSON.stringify(line).slice(0, -1);
  const hash = sha256(unsealed);
  return { text: `${unsealed},"hash":"${hash}"}\n`, hash };
}

const NOT_A_LINE = 'it is not a journal line';

/** The result of checking one line. */
export interface LineCheck {
  readonly line: JournalLine | undefined;
  readonly problem: string | undefined;
  /** Hashes that the next line may refer to: the stored one and the computed one. */
  readonly hashes: readonly string[];
}

/** Parses and checks the bytes of one line. */
export function parseLine(bytes: Buffer): LineCheck {
  const hash = HASH_SUFFIX.exec(bytes.toString('latin1', Math.max(0, bytes.length - HASH_SUFFIX_LENGTH)))?.[1];
  if (hash === undefined) return { line: undefined, problem: NOT_A_LINE, hashes: [] };
  const computedHash = sha256(bytes.subarray(0, bytes.length - HASH_SUFFIX_LENGTH));
  const line = parseJson(bytes);
  const problem = hash !== computedHash ? 'it was changed' : line ? undefined : NOT_A_LINE;
  return { line, problem, hashes: [hash, computedHash] };
}

/** Returns whether the bytes are an incomplete line, as a killed process leaves it at the end of a file. */
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

/** Checks the fields that every line has. */
function isJournalLine(value: unknown): value is JournalLine {
  const texts = ['id', 'at', 'appliance', 'operation', 'prev'];
  return isObject(value) && texts.every((key) => typeof value[key] === 'string') && isObject(value['request']);
}
