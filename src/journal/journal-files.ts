import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mapConcurrently } from '../model/map-concurrently';
import { GatewayError } from '../model/error';
import { trusted, safeMessage } from '../model/safe-message';
import { openRegularFile, readRegularFile } from '../files/open-regular-file';
import { HOST_NAME_HASH, isOwnerProcessGone } from '../files/atomic-file';
import {
  isPartialJournalLine,
  parseJournalLine,
  type JournalLine,
  type JournalChainLink,
  type JournalVerificationContext,
} from './journal-line';

/** Matches `20261121-<machine>-<process>-<random>.jsonl`. */
const FILE_NAME = /^(\d{8})-([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.jsonl$/;
const READ_CONCURRENCY = 16;
const CHUNK_BYTES = 1 << 16;
const NEWLINE = 0x0a;
/** Maximum size of a journal file. A process writes far less in a day; a larger file is damaged or foreign. */
const MAX_JOURNAL_FILE_BYTES = 256 * 1024 * 1024;

/** Subfolder for undo data, which stays out of the journal. */
export const UNDO_FOLDER = 'undo';

/** Journal files that this process still writes. */
export const journalFilesInUse = new Set<string>();

/** Creates a unique file name. */
export function createJournalFileName(day: string): string {
  return `${day}-${HOST_NAME_HASH}-${process.pid}-${randomBytes(6).toString('hex')}.jsonl`;
}

/** Returns the current day in UTC, as file names contain it. */
export function getCurrentJournalDay(): string {
  return new Date().toISOString().slice(0, 10).replaceAll('-', '');
}

/** Lists the names of all journal files, oldest first. */
export async function listJournalFileNames(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
}

/** Returns whether two files were written by the same process, as far as their names tell. */
export function areFilesOfSameProcess(one: string, other: string): boolean {
  const [, , host, pid] = FILE_NAME.exec(one) ?? [];
  const [, , otherHost, otherPid] = FILE_NAME.exec(other) ?? [];
  return host !== undefined && host === otherHost && pid === otherPid;
}

export function parseJournalDay(name: string): string {
  return FILE_NAME.exec(name)?.[1] ?? '';
}

/** Returns whether no process writes to the file any more. A process on another machine counts as gone. */
export async function isWriterProcessGone(folder: string, name: string): Promise<boolean> {
  const path = join(folder, name);
  if (journalFilesInUse.has(path)) return false;
  const [, , host = '', pid = ''] = FILE_NAME.exec(name) ?? [];
  return host !== HOST_NAME_HASH || isOwnerProcessGone(path, host, Number(pid));
}

/** Reads all complete lines of a file, and the incomplete rest behind the last line end. */
export async function readRawJournalLines(path: string): Promise<{ readonly lines: Buffer[]; readonly rest: Buffer }> {
  const bytes = await readRegularFile(path, MAX_JOURNAL_FILE_BYTES);
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return { lines, rest: bytes.subarray(start) };
}

/** Reads all lines of a file. Throws `BAD_CONFIG` for the first invalid line; no line is skipped. */
export async function readJournalLines(folder: string, name: string, owner?: JournalVerificationContext): Promise<JournalLine[]> {
  const { lines, rest } = await readRawJournalLines(join(folder, name));
  if (!isPartialJournalLine(rest)) lines.push(rest);
  return lines.map((bytes, index) => {
    const { line, problem } = parseJournalLine(bytes, name, owner);
    if (line && problem === undefined) return line;
    const message = safeMessage`Line ${index + 1} of ${name} is invalid: ${trusted(problem ?? '')}. Verify the journal.`;
    throw new GatewayError('BAD_CONFIG', message, { sent: false });
  });
}

/** Returns the last hash of each file that no other file follows yet. */
export async function findLastEntryHashes(folder: string): Promise<JournalChainLink[]> {
  const fileEdges = await readJournalFileEnds(folder, await listJournalFileNames(folder));
  const followed = new Set(fileEdges.flatMap(({ first }) => first?.follows ?? []).map(({ hash }) => hash));
  return fileEdges.flatMap(({ file, hash }) => (hash === undefined || followed.has(hash) ? [] : [{ file, hash }]));
}

interface JournalFileEnds {
  readonly file: string;
  readonly first: JournalLine | undefined;
  /** Hash of the last complete line. */
  readonly hash: string | undefined;
}

export function readJournalFileEnds(folder: string, names: readonly string[]): Promise<JournalFileEnds[]> {
  return mapConcurrently(names, READ_CONCURRENCY, (name) => readEdges(folder, name));
}

/** Reads the first and the last line of a file without the lines between. */
async function readEdges(folder: string, file: string): Promise<JournalFileEnds> {
  const { handle, stats } = await openRegularFile(join(folder, file), undefined, MAX_JOURNAL_FILE_BYTES);
  try {
    const size = Number(stats.size);
    const readChunk = async (start: number, length: number): Promise<Buffer> => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start);
      return buffer.subarray(0, bytesRead);
    };
    let head = await readChunk(0, CHUNK_BYTES);
    for (let length = CHUNK_BYTES; !head.includes(NEWLINE) && length < size; length *= 4) head = await readChunk(0, length * 4);
    let tail = await readChunk(Math.max(0, size - CHUNK_BYTES), CHUNK_BYTES);
    for (let length = CHUNK_BYTES; tail.indexOf(NEWLINE) === tail.lastIndexOf(NEWLINE) && length < size; length *= 4)
      tail = await readChunk(Math.max(0, size - length * 4), length * 4);
    const wholeLines = tail.subarray(0, Math.max(0, tail.lastIndexOf(NEWLINE)));
    const last = wholeLines.subarray(wholeLines.lastIndexOf(NEWLINE) + 1);
    return {
      file,
      first: parseJournalLine(head.subarray(0, Math.max(0, head.indexOf(NEWLINE)))).line,
      hash: parseJournalLine(last).hashes[0],
    };
  } finally {
    await handle.close();
  }
}
