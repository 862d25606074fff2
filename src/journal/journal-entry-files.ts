import { areFilesOfSameProcess } from './journal-files';

/** The id of an entry begins with the name of the file that announced it. */
const ENTRY_ID = /^(\d{8}-[0-9a-f]{8}-\d+-[0-9a-f]{12})-\d+$/;
/** The two lines of an entry: one before the write, one after it. */
const MAX_LINES = 2;

interface EntryLine {
  readonly file: string;
  readonly line: number;
}

/** A line that does not belong to the entry whose id it contains. */
interface MisplacedJournalLine extends EntryLine {
  readonly id: string;
  readonly why: string;
}

/**
 * Checks that each id counts only in its file. The line that completes an entry may be in another file of the same process, because a
 * process starts a new file each day.
 */
export class JournalEntryFiles {
  readonly #linesById = new Map<string, EntryLine[]>();

  add(id: string, file: string, line: number): void {
    const lines = this.#linesById.get(id);
    if (lines) lines.push({ file, line });
    else this.#linesById.set(id, [{ file, line }]);
  }

  /** Returns the name of the file that announced an entry. */
  homeOf(id: string): string {
    const stem = ENTRY_ID.exec(id)?.[1];
    return stem === undefined ? (this.#linesById.get(id)?.[0]?.file ?? '') : `${stem}.jsonl`;
  }

  /** Lists the lines that belong to no entry. `requireHome`: an entry also needs its file among `files`. */
  findMisplaced(files: readonly string[], requireHome: boolean): MisplacedJournalLine[] {
    const known = new Set(files);
    return [...this.#linesById].flatMap(([id, lines]) => {
      const home = this.homeOf(id);
      if (!known.has(home))
        return requireHome ? lines.map((line) => ({ ...line, id, why: `its entry belongs to ${home}, which is missing` })) : [];
      const own = lines.filter(({ file }) => file === home);
      const others = lines.filter(({ file }) => file !== home);
      const misplaced = own.slice(MAX_LINES).map((line) => ({ ...line, id, why: 'it repeats an entry' }));
      const room = own.length === 0 ? 0 : Math.max(0, MAX_LINES - own.length);
      const foreign = others.filter(({ file }, index) => index >= room || !areFilesOfSameProcess(file, home));
      return [...misplaced, ...foreign.map((line) => ({ ...line, id, why: `its entry belongs to ${home}` }))];
    });
  }
}
