import { readdir } from 'node:fs/promises';
import { badInput } from '../model/error';
import { sentence } from '../model/sentence';
import { fileFault } from '../transfer/file-fault';
import { dayOf, fileNames, readFileLines } from './files';
import type { Part } from './kept';
import type { Entry, Line } from './line';

/** Which entries; all that is given has to fit. */
export interface Filter {
  readonly appliance: string;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly operation?: string | undefined;
  readonly actor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Entries, the newest first. Errors: `BAD_CONFIG` for a line that cannot be believed, `BAD_INPUT` for a folder that cannot be read. */
export async function listEntries(folder: string, { appliance, since, until, operation, actor, limit }: Filter): Promise<Entry[]> {
  const fits = (entry: Entry): boolean =>
    entry.appliance === appliance &&
    (!since || entry.at >= since.toISOString()) &&
    (!until || entry.at <= until.toISOString()) &&
    (operation === undefined || entry.operation === operation) &&
    (actor === undefined || entry.actor === actor);
  const entries = (await read(folder, since)).map(({ entry }) => entry).filter(fits);
  // Later ones stand behind in their file: of the same moment, that one is the newer.
  entries.reverse().sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0));
  return entries.slice(0, limit);
}

/** The entries of these ids, as they stand in the journal; undefined for those that are not there. */
export async function findEntries(folder: string, ids: readonly string[]): Promise<(Found | undefined)[]> {
  const known = new Map((await read(folder, undefined)).map((found) => [found.entry.id, found]));
  return ids.map((id) => known.get(id));
}

/** An entry, and where the parts of what is kept for its undo are. */
export interface Found {
  readonly entry: Entry;
  readonly kept: readonly Part[];
}

/** Every entry once: as it was completed, at the time at which it was announced. */
async function read(folder: string, since: Date | undefined): Promise<Found[]> {
  const first = since?.toISOString().slice(0, 10).replaceAll('-', '') ?? '';
  const entries = new Map<string, Found>();
  for (const file of await namesIn(folder)) {
    if (dayOf(file) < first) continue;
    for (const line of await readFileLines(folder, file)) {
      const announced = entries.get(line.id);
      const kept = [...(announced?.kept ?? []), ...(line.kept === undefined ? [] : [{ file, hash: line.kept }])];
      entries.set(line.id, { entry: { ...shown(line), at: announced?.entry.at ?? line.at }, kept });
    }
  }
  return [...entries.values()];
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    await readdir(folder);
    return await fileNames(folder);
  } catch (error) {
    // Nothing has been written yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fileFault(error, folder, 'read');
  }
}

/** What belongs to the chain alone stays here. */
function shown({ kept: _kept, follows: _follows, ...entry }: Line): Entry {
  return entry;
}

/** A moment as a flow gives it. Errors: `BAD_INPUT`. */
export function momentOf(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(/^\d{10,}$/.test(text) ? Number(text) : text);
  if (Number.isNaN(date.getTime())) throw badInput(sentence`${name} is no time. Give one such as 2026-11-20T08:00:00Z.`);
  return date;
}
