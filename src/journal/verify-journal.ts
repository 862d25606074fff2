import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readJournalFileEnds, listJournalFileNames, isWriterProcessGone, readRawJournalLines } from './journal-files';
import { JournalEntryFiles } from './journal-entry-files';
import { isPartialJournalLine, parseJournalLine, type JournalVerificationContext } from './journal-line';
import { JournalWriter } from './journal-writer';

/** One problem in a journal. `line` counts from 1; 0 stands for the whole file. */
export interface JournalFault {
  readonly file: string;
  readonly line: number;
  readonly why: string;
}

export interface JournalVerification {
  readonly files: number;
  readonly entries: number;
  readonly ok: boolean;
  readonly broken: readonly JournalFault[];
}

/** Delays before an incomplete line is read again. */
const RETRY_DELAYS_MS = [20, 100, 500];

/**
 * Verifies every line: its own hash, the hash of the previous line, and the links between files. An incomplete line is valid only at the
 * end of a file whose process is gone. Lines cut off from the end of the latest file cannot be detected here, because nothing follows them.
 */
export async function verifyJournal(
  folder: string,
  owner?: JournalVerificationContext,
  stateFolder?: string,
): Promise<JournalVerification> {
  const last = await JournalWriter.findLastWritten(folder, stateFolder);
  const names = await listFileNamesOrNone(folder, last !== undefined);
  const links = (await readJournalFileEnds(folder, names)).flatMap(({ file, first }) =>
    (first?.follows ?? []).map((link) => ({ ...link, follower: file })),
  );
  const broken: JournalFault[] = [];
  const ids = new Set<string>();
  const origins = new JournalEntryFiles();
  const allHashes = new Set<string>();
  for (const { file, follower } of links)
    if (!names.includes(file)) broken.push({ file, line: 0, why: `it is missing, but ${follower} follows it` });
  for (const file of names) {
    const missing = new Map(links.filter((link) => link.file === file).map(({ hash, follower }) => [hash, follower]));
    const check = new FileCheck(file, owner, origins);
    await check.read(folder);
    for (const id of check.ids) ids.add(id);
    broken.push(...check.broken);
    for (const hash of check.hashes) missing.delete(hash);
    for (const hash of check.hashes) allHashes.add(hash);
    if (last?.file === file && check.broken.length === 0 && !check.hashes.has(last.hash))
      broken.push({ file, line: check.lines, why: `lines are missing after it: this Node-RED wrote another one at ${last.at}` });
    // A changed line is already reported.
    if (check.broken.length > 0) continue;
    for (const follower of missing.values())
      broken.push({ file, line: check.lines, why: `lines are missing after it: ${follower} follows another line` });
  }
  if (last && !names.includes(last.file) && !allHashes.has(last.hash))
    broken.push({ file: last.file, line: 0, why: `it is missing, but this Node-RED wrote to it at ${last.at}: the journal begins anew` });
  broken.push(...origins.findMisplaced(names, true).map(({ file, line, why }) => ({ file, line, why })));
  const unique = new Map(broken.map((problem) => [`${problem.file} ${problem.line}`, problem]));
  return { files: names.length, entries: ids.size, ok: broken.length === 0, broken: [...unique.values()] };
}

/** Lists the files. A folder that was lost since the last write is reported as a lost file. */
async function listFileNamesOrNone(folder: string, hasWritten: boolean): Promise<string[]> {
  try {
    return await listJournalFileNames(folder);
  } catch (error) {
    if (hasWritten && (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

class FileCheck {
  readonly broken: JournalFault[] = [];
  readonly ids = new Set<string>();
  readonly hashes = new Set<string>();
  lines = 0;
  /** Hashes that the next line may refer to; undefined if unknown. */
  #expectedPrev: readonly string[] | undefined;

  constructor(
    readonly file: string,
    readonly owner: JournalVerificationContext | undefined,
    readonly origins: JournalEntryFiles,
  ) {}

  async read(folder: string): Promise<void> {
    const path = join(folder, this.file);
    let { lines, rest } = await readRawJournalLines(path);
    for (const delayMs of RETRY_DELAYS_MS) {
      if (rest.length === 0 || (await isWriterProcessGone(folder, this.file))) break;
      await wait(delayMs);
      ({ lines, rest } = await readRawJournalLines(path));
    }
    for (const bytes of lines) this.#checkLine(bytes);
    if (rest.length === 0) return;
    if (!isPartialJournalLine(rest)) this.#checkLine(rest);
    else if (!(await isWriterProcessGone(folder, this.file))) this.#report(this.lines + 1, 'it is incomplete, but its process is running');
  }

  #checkLine(bytes: Buffer): void {
    const { line, problem, hashes } = parseJournalLine(bytes, this.file, this.owner);
    const lineNumber = ++this.lines;
    const expectedPrev = lineNumber === 1 ? [''] : this.#expectedPrev;
    this.#expectedPrev = hashes.length > 0 ? hashes : undefined;
    for (const hash of hashes) this.hashes.add(hash);
    if (line) {
      this.ids.add(line.id);
      this.origins.add(line.id, this.file, lineNumber);
    }
    if (problem !== undefined || !line) this.#report(lineNumber, problem ?? 'it cannot be read');
    else if (expectedPrev && !expectedPrev.includes(line.prev))
      this.#report(lineNumber, 'it does not follow the previous line: a line was changed, added or removed');
    else if ((lineNumber === 1) !== (line.follows !== undefined)) this.#report(lineNumber, 'it is not in its original position');
  }

  #report(line: number, why: string): void {
    this.broken.push({ file: this.file, line, why });
  }
}
