import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { edges, fileNames, isDone, linesOf } from './files';
import { isTorn, readLine } from './line';

/** One thing that is wrong; `line` counts from 1, and is 0 for a file as a whole. */
export interface Broken {
  readonly file: string;
  readonly line: number;
  readonly why: string;
}

export interface Verified {
  readonly files: number;
  readonly entries: number;
  readonly ok: boolean;
  readonly broken: readonly Broken[];
}

/** How long a line that is being written may take to be there. */
const PATIENCE_MS = [20, 100, 500];

/**
 * Checks every line of every file: by its own hash, by the hash of the line before, and, between files, by what each says that others
 * ended with when it began. Half of a line is right only at the end of a file whose process is gone. What was cut off from the end of the
 * latest file, line by line, cannot be seen here: nothing follows it yet.
 */
export async function verifyJournal(folder: string): Promise<Verified> {
  const names = await fileNames(folder);
  const links = (await edges(folder, names)).flatMap(({ file, first }) => (first?.follows ?? []).map((link) => ({ ...link, by: file })));
  const broken: Broken[] = [];
  const ids = new Set<string>();
  for (const { file, by } of links) if (!names.includes(file)) broken.push({ file, line: 0, why: `it is missing: ${by} follows it` });
  for (const file of names) {
    const missing = new Map(links.filter((link) => link.file === file).map(({ hash, by }) => [hash, by]));
    const check = new FileCheck(file);
    await check.read(folder);
    for (const id of check.ids) ids.add(id);
    broken.push(...check.broken);
    for (const hash of check.hashes) missing.delete(hash);
    // A line that was changed is told already.
    if (check.broken.length > 0) continue;
    for (const by of missing.values())
      broken.push({ file, line: check.lines, why: `lines are missing behind it: ${by} follows another one` });
  }
  const unique = new Map(broken.map((one) => [`${one.file} ${one.line}`, one]));
  return { files: names.length, entries: ids.size, ok: broken.length === 0, broken: [...unique.values()] };
}

class FileCheck {
  readonly broken: Broken[] = [];
  readonly ids = new Set<string>();
  readonly hashes = new Set<string>();
  lines = 0;
  /** Hashes that the next line may go by; undefined where nothing can be told. */
  #prev: readonly string[] | undefined;

  constructor(readonly file: string) {}

  async read(folder: string): Promise<void> {
    const path = join(folder, this.file);
    let { lines, rest } = await linesOf(path);
    for (const ms of PATIENCE_MS) {
      if (rest.length === 0 || (await isDone(folder, this.file))) break;
      await wait(ms);
      ({ lines, rest } = await linesOf(path));
    }
    for (const bytes of lines) this.#line(bytes);
    if (rest.length === 0) return;
    if (!isTorn(rest)) this.#line(rest);
    else if (!(await isDone(folder, this.file))) this.#wrong(this.lines + 1, 'it is half of a line, but its process lives');
  }

  #line(bytes: Buffer): void {
    const { line, why, hashes } = readLine(bytes);
    const number = ++this.lines;
    const follows = number === 1 ? [''] : this.#prev;
    this.#prev = hashes.length > 0 ? hashes : undefined;
    for (const hash of hashes) this.hashes.add(hash);
    if (line) this.ids.add(line.id);
    if (why !== undefined || !line) this.#wrong(number, why ?? 'it cannot be read');
    else if (follows && !follows.includes(line.prev))
      this.#wrong(number, 'it does not follow the line before: one was changed, added or taken out');
    else if ((number === 1) !== (line.follows !== undefined)) this.#wrong(number, 'it does not stand where it was written');
  }

  #wrong(line: number, why: string): void {
    this.broken.push({ file: this.file, line, why });
  }
}
