import { readdir } from 'node:fs/promises';
import { badInput } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { parseDay, listFileNames, readJournalLines } from './journal-files';
import type { UndoPart } from './undo-store';
import type { JournalEntry, JournalLine } from './journal-line';

/** Which entries; all that is given has to fit. */
export interface JournalFilter {
  readonly appliance: string;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly operation?: string | undefined;
  readonly actor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Entries, the newest first. Errors: `BAD_CONFIG` for a line that cannot be believed, `BAD_INPUT` for a folder that cannot be read. */
export async function listJournalEntries(
  folder: string,
  { appliance, since, until, operation, actor, limit }: JournalFilter,
): Promise<JournalEntry[]> {
  const matches = (entry: JournalEntry): boolean =>
    entry.appliance === appliance &&
    (!since || entry.at >= since.toISOString()) &&
    (!until || entry.at <= until.toISOString()) &&
    (operation === undefined || entry.operation === operation) &&
    (actor === undefined || entry.actor === actor);
  const entries = (await readEntries(folder, since)).map(({ entry }) => entry).filter(matches);
  // Later ones stand behind in their file: of the same moment, that one is the newer.
  entries.reverse().sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return entries.slice(0, limit);
}

/** The entries of these ids, as they stand in the journal; undefined for those that are not there. */
export async function findJournalEntries(folder: string, ids: readonly string[]): Promise<(EntryWithUndo | undefined)[]> {
  const entriesById = new Map((await readEntries(folder, undefined)).map((found) => [found.entry.id, found]));
  return ids.map((id) => entriesById.get(id));
}

/** An entry, and where the parts of what is kept for its undo are. */
export interface EntryWithUndo {
  readonly entry: JournalEntry;
  readonly undoParts: readonly UndoPart[];
}

/** Every entry once: as it was completed, at the time at which it was announced. */
async function readEntries(folder: string, since: Date | undefined): Promise<EntryWithUndo[]> {
  const firstDay = since?.toISOString().slice(0, 10).replaceAll('-', '') ?? '';
  const entries = new Map<string, EntryWithUndo>();
  for (const file of await listFileNamesIfExists(folder)) {
    if (parseDay(file) < firstDay) continue;
    for (const line of await readJournalLines(folder, file)) {
      const announced = entries.get(line.id);
      const undoParts = [...(announced?.undoParts ?? []), ...(line.kept === undefined ? [] : [{ file, hash: line.kept }])];
      entries.set(line.id, { entry: { ...toEntry(line), at: announced?.entry.at ?? line.at }, undoParts });
    }
  }
  return [...entries.values()];
}

async function listFileNamesIfExists(folder: string): Promise<string[]> {
  try {
    await readdir(folder);
    return await listFileNames(folder);
  } catch (error) {
    // Nothing has been written yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFileError(error, folder, 'read');
  }
}

/** What belongs to the chain alone stays here. */
function toEntry({ kept: _kept, follows: _follows, ...entry }: JournalLine): JournalEntry {
  return entry;
}

/** A moment as a flow gives it. Errors: `BAD_INPUT`. */
export function parseTime(fieldName: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(/^\d{10,}$/.test(text) ? Number(text) : text);
  if (Number.isNaN(date.getTime())) throw badInput(safeMessage`${fieldName} is no time. Give one such as 2026-11-20T08:00:00Z.`);
  return date;
}
