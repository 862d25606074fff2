import { randomBytes } from 'node:crypto';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inParallel } from '../model/in-parallel';
import { GatewayError } from '../model/error';
import { ours, sentence } from '../model/sentence';
import { HOST, isOver } from '../transfer/partial-file';
import { isTorn, readLine, type Line, type Link } from './line';

/** `20261121-<machine>-<process>-<random>.jsonl` */
const NAME = /^(\d{8})-([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.jsonl$/;
const LOOKS_AT_ONCE = 16;
const PIECE = 1 << 16;
const NEWLINE = 0x0a;

/** Where what an undo needs is kept, apart from the journal. */
export const KEPT = 'undo';

/** Files that this process writes to: their end is still to come. */
export const writing = new Set<string>();

/** A name that no other file has. */
export function newName(day: string): string {
  return `${day}-${HOST}-${process.pid}-${randomBytes(6).toString('hex')}.jsonl`;
}

/** Today, as files are called by it; the same everywhere. */
export function today(): string {
  return new Date().toISOString().slice(0, 10).replaceAll('-', '');
}

/** Names of all files of a journal, the oldest first. */
export async function fileNames(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => NAME.test(name)).sort();
}

export function dayOf(name: string): string {
  return NAME.exec(name)?.[1] ?? '';
}

/** Whether nobody writes to the file any more. Of a process on another machine this cannot be told; it is taken for gone. */
export async function isDone(folder: string, name: string): Promise<boolean> {
  const path = join(folder, name);
  if (writing.has(path)) return false;
  const [, , host = '', pid = ''] = NAME.exec(name) ?? [];
  return host !== HOST || isOver(path, host, Number(pid));
}

/** All lines of a file, and what stands behind the last line end: half of a line, where a file is written to or was. */
export async function linesOf(path: string): Promise<{ readonly lines: Buffer[]; readonly rest: Buffer }> {
  const bytes = await readFile(path);
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return { lines, rest: bytes.subarray(start) };
}

/** What all lines of a file tell. Errors: `BAD_CONFIG` when one cannot be believed: none is passed over. */
export async function readFileLines(folder: string, name: string): Promise<Line[]> {
  const { lines, rest } = await linesOf(join(folder, name));
  if (!isTorn(rest)) lines.push(rest);
  return lines.map((bytes, index) => {
    const { line, why } = readLine(bytes);
    if (line && why === undefined) return line;
    const words = sentence`Line ${index + 1} of ${name} cannot be believed: ${ours(why ?? '')}. Verify the journal.`;
    throw new GatewayError('BAD_CONFIG', words, { sent: false });
  });
}

/** What the files that are there end with, but for those that another one follows already. */
export async function ends(folder: string): Promise<Link[]> {
  const known = await edges(folder, await fileNames(folder));
  const followed = new Set(known.flatMap(({ first }) => first?.follows ?? []).map(({ hash }) => hash));
  return known.flatMap(({ file, hash }) => (hash === undefined || followed.has(hash) ? [] : [{ file, hash }]));
}

export interface Edges {
  readonly file: string;
  readonly first: Line | undefined;
  /** Hash of the last whole line. */
  readonly hash: string | undefined;
}

export function edges(folder: string, names: readonly string[]): Promise<Edges[]> {
  return inParallel(names, LOOKS_AT_ONCE, (name) => edgesOf(folder, name));
}

/** Both ends of a file, without what stands between them. */
async function edgesOf(folder: string, file: string): Promise<Edges> {
  const handle = await open(join(folder, file), 'r');
  try {
    const { size } = await handle.stat();
    const piece = async (start: number, length: number): Promise<Buffer> => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start);
      return buffer.subarray(0, bytesRead);
    };
    let head = await piece(0, PIECE);
    for (let length = PIECE; !head.includes(NEWLINE) && length < size; length *= 4) head = await piece(0, length * 4);
    let tail = await piece(Math.max(0, size - PIECE), PIECE);
    for (let length = PIECE; tail.indexOf(NEWLINE) === tail.lastIndexOf(NEWLINE) && length < size; length *= 4)
      tail = await piece(Math.max(0, size - length * 4), length * 4);
    const whole = tail.subarray(0, Math.max(0, tail.lastIndexOf(NEWLINE)));
    const last = whole.subarray(whole.lastIndexOf(NEWLINE) + 1);
    return { file, first: readLine(head.subarray(0, Math.max(0, head.indexOf(NEWLINE)))).line, hash: readLine(last).hashes[0] };
  } finally {
    await handle.close();
  }
}
