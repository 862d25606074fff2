import { createHash } from 'node:crypto';
import type { Difference } from '../change/compare';
import type { RecordSigner } from '../model/record-signer';
import { isObject } from '../model/json';

/** One write in the journal (contract, section 6). All secrets are masked. */
export interface JournalEntry {
  readonly id: string;
  readonly at: string;
  readonly appliance: string;
  /** Serial number of the appliance; null if this account may not read it. */
  readonly 'serial-number': string | null;
  readonly node: string | null;
  readonly flow: string | null;
  readonly actor: string | null;
  readonly operation: string;
  /** The write went to a copy of the appliance. */
  readonly rehearsal?: true;
  /** The user whose session was ended: its path has only the id. */
  readonly person?: string;
  readonly request: { readonly method: string; readonly path: string; readonly query?: unknown; readonly body?: unknown };
  /** Status of the response. The fields from `status` to `diff` are null until the write is completed. */
  readonly status: number | null;
  readonly ok: boolean | null;
  readonly code: string | null;
  readonly changed: boolean | null;
  readonly diff: readonly Difference[] | null;
  /** Whether this write can be undone. */
  readonly undo: boolean;
}

/** The last hash of another file when this file was started. */
export interface JournalChainLink {
  readonly file: string;
  readonly hash: string;
}

/** A line of a file. Each entry has two lines: one before the write and one after it. */
export interface JournalLine extends JournalEntry {
  /** SHA-256 of the undo data. */
  readonly kept?: string;
  /** Only in the first line of a file: the last hashes of the other files. */
  readonly follows?: readonly JournalChainLink[];
  /** Hash of the previous line; empty in the first line. */
  readonly prev: string;
  /** HMAC of everything before it, if the appliance has a signing key. */
  readonly mac?: string;
  readonly hash: string;
}

/** The appliance whose lines must have a valid signature. */
export interface JournalVerificationContext {
  readonly appliance: string;
  readonly signer: RecordSigner | undefined;
}

const HASH_SUFFIX = /^,"hash":"([0-9a-f]{64})"\}$/;
const HASH_SUFFIX_LENGTH = ',"hash":""}'.length + 64;
const MAC_SUFFIX = /^,"mac":"([0-9a-f]{64})"$/;
const MAC_SUFFIX_LENGTH = ',"mac":""'.length + 64;

export function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Serializes a line for a file, signs it, and appends the hash of everything before the hash. */
export function sealJournalLine(line: object, file = '', signer?: RecordSigner): { readonly text: string; readonly hash: string } {
  const unsigned = JSON.stringify(line).slice(0, -1);
  const unsealed = signer ? `${unsigned},"mac":"${signer.sign('journal', `${file}\n${unsigned}`)}"` : unsigned;
  const hash = sha256(unsealed);
  return { text: `${unsealed},"hash":"${hash}"}\n`, hash };
}

const NOT_A_LINE = 'it is not a journal line';
/**
 * The fault of a line without a valid signature. It also applies to an appliance that got its key later, because older lines cannot be
 * checked.
 */
const NOT_SIGNED =
  'it has no valid code of the signing key, so somebody else wrote it, or it is older than the key. Move the file out of the folder to continue without it';

/** The result of checking one line. */
interface JournalLineCheck {
  readonly line: JournalLine | undefined;
  readonly problem: string | undefined;
  /** Hashes that the next line may refer to: the stored one and the computed one. */
  readonly hashes: readonly string[];
}

/** Parses and checks the bytes of one line. With `owner`, a line of this appliance needs a valid code. */
export function parseJournalLine(bytes: Buffer, file = '', owner?: JournalVerificationContext): JournalLineCheck {
  const hash = HASH_SUFFIX.exec(bytes.toString('latin1', Math.max(0, bytes.length - HASH_SUFFIX_LENGTH)))?.[1];
  if (hash === undefined) return { line: undefined, problem: NOT_A_LINE, hashes: [] };
  const computedHash = sha256(bytes.subarray(0, bytes.length - HASH_SUFFIX_LENGTH));
  const line = parseJson(bytes);
  const problem =
    hash !== computedHash ? 'it was changed' : !line ? NOT_A_LINE : isTrusted(bytes, line, file, owner) ? undefined : NOT_SIGNED;
  return { line, problem, hashes: [hash, computedHash] };
}

function isTrusted(bytes: Buffer, { appliance }: JournalLine, file: string, owner: JournalVerificationContext | undefined): boolean {
  if (!owner?.signer || appliance !== owner.appliance) return true;
  const end = bytes.length - HASH_SUFFIX_LENGTH;
  const start = Math.max(0, end - MAC_SUFFIX_LENGTH);
  const mac = MAC_SUFFIX.exec(bytes.toString('latin1', start, end))?.[1];
  return owner.signer.isValid('journal', Buffer.concat([Buffer.from(`${file}\n`), bytes.subarray(0, start)]), mac);
}

/** Returns whether the bytes are an incomplete line, as a killed process leaves it at the end of a file. */
export function isPartialJournalLine(bytes: Buffer): boolean {
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

/** Checks the fields that every journal line has. */
function isJournalLine(value: unknown): value is JournalLine {
  const texts = ['id', 'at', 'appliance', 'operation', 'prev'];
  return isObject(value) && texts.every((key) => typeof value[key] === 'string') && isObject(value['request']);
}
