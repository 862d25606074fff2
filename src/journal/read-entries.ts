import { readdir } from 'node:fs/promises';
import { badInput, GatewayError } from '../model/error';
import { safeMessage, trusted } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { JournalEntryFiles } from './journal-entry-files';
import { parseJournalDay, listJournalFileNames, readJournalLines } from './journal-files';
import type { UndoPart } from './undo-store';
import type { JournalEntry, JournalLine, JournalVerificationContext } from './journal-line';

/** Selects entries. All given conditions must match. */
interface JournalFilter extends Pick<JournalVerificationContext, 'appliance'>, Partial<Pick<JournalVerificationContext, 'signer'>> {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly operation?: string | undefined;
  readonly actor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Lists entries, newest first. Throws `BAD_CONFIG` for an invalid line and `BAD_INPUT` for an unreadable folder. */
export async function listJournalEntries(
  folder: string,
  { appliance, signer, since, until, operation, actor, limit }: JournalFilter,
): Promise<JournalEntry[]> {
  const matches = (entry: JournalEntry): boolean =>
    entry.appliance === appliance &&
    (!since || entry.at >= since.toISOString()) &&
    (!until || entry.at <= until.toISOString()) &&
    (operation === undefined || entry.operation === operation) &&
    (actor === undefined || entry.actor === actor);
  const entries = (await readInventoryEntries(folder, since, { appliance, signer })).map(({ entry }) => entry).filter(matches);
  // Of entries with the same time, the one that is later in its file is newer.
  entries.reverse().sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return entries.slice(0, limit);
}

/** Finds entries by id; undefined for an unknown id. */
export async function findJournalEntries(
  folder: string,
  ids: readonly string[],
  owner?: JournalVerificationContext,
): Promise<(JournalEntryWithUndo | undefined)[]> {
  const entriesById = new Map((await readInventoryEntries(folder, undefined, owner)).map((found) => [found.entry.id, found]));
  return ids.map((id) => entriesById.get(id));
}

/** An entry and the location of its undo data. */
export interface JournalEntryWithUndo {
  readonly entry: JournalEntry;
  readonly undoParts: readonly UndoPart[];
}

/** Reads each entry once: its completed fields with the time of its announcement. Undo data counts only with the announcement. */
async function readInventoryEntries(
  folder: string,
  since: Date | undefined,
  owner: JournalVerificationContext | undefined,
): Promise<JournalEntryWithUndo[]> {
  const firstDay = since?.toISOString().slice(0, 10).replaceAll('-', '') ?? '';
  const entries = new Map<string, JournalEntryWithUndo>();
  const files = (await listFileNamesIfExists(folder)).filter((file) => parseJournalDay(file) >= firstDay);
  const origins = new JournalEntryFiles();
  const linesByFile = new Map<string, JournalLine[]>();
  for (const file of files) {
    const lines = await readJournalLines(folder, file, owner);
    linesByFile.set(file, lines);
    for (const [index, { id }] of lines.entries()) origins.add(id, file, index + 1);
  }
  const [misplaced] = origins.findMisplaced(files, false);
  if (misplaced) {
    const message = safeMessage`Line ${misplaced.line} of ${misplaced.file} is invalid: ${trusted(misplaced.why)}. Verify the journal.`;
    throw new GatewayError('BAD_CONFIG', message, { sent: false });
  }
  for (const [file, lines] of linesByFile) {
    for (const line of lines) {
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
    return await listJournalFileNames(folder);
  } catch (error) {
    // The journal has no entries yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFileError(error, folder, 'read');
  }
}

/** Removes the fields that only the chain uses. */
function toEntry({ kept: _kept, follows: _follows, mac: _mac, ...entry }: JournalLine): JournalEntry {
  return entry;
}

/** Parses a time from a flow. Throws `BAD_INPUT`. */
export function parseTimeField(fieldName: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(/^\d{10,}$/.test(text) ? Number(text) : text);
  if (Number.isNaN(date.getTime())) throw badInput(safeMessage`${fieldName} is not a time. Enter one such as 2026-11-20T08:00:00Z.`);
  return date;
}
