import { join } from 'node:path';
import type { ResourceState, WriteTarget } from '../change/resource-state';
import { badInput, type GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { UNDO_FOLDER, readRawJournalLines } from './journal-files';
import { sha256 } from './journal-line';

/** Data for an undo. It may contain secrets in the form in which the appliance shows them, so it stays in the folder. */
export interface UndoData {
  readonly subject: WriteTarget;
  readonly before: ResourceState;
  readonly method: string;
  readonly body?: JsonObject;
  /** The state after the write; undefined if the process ended before it was read. */
  readonly after?: ResourceState;
}

/** Location of a part of the undo data: its file and its hash from the journal. */
export interface UndoPart {
  readonly file: string;
  readonly hash: string;
}

/** Reads the undo data of one folder. Each file is read once. */
export class UndoStore {
  readonly #folder: string;
  readonly #files = new Map<string, Promise<ReadonlyMap<string, string>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads the undo data of an entry. Throws `BAD_INPUT` if it is missing or was changed. */
  async read(id: string, parts: readonly UndoPart[]): Promise<UndoData> {
    const data: Partial<UndoData> = {};
    for (const { file, hash } of parts) {
      const text = (await this.#readFile(file)).get(hash);
      if (text === undefined) throw undoDataLost(id);
      Object.assign(data, JSON.parse(text));
    }
    if (!data.before) throw undoDataLost(id);
    return data as UndoData;
  }

  #readFile(name: string): Promise<ReadonlyMap<string, string>> {
    const cached = this.#files.get(name) ?? readUndoFile(join(this.#folder, UNDO_FOLDER, name));
    this.#files.set(name, cached);
    return cached;
  }
}

/** Indexes the lines by their hashes. The journal vouches for the hash, so the id in the line is not used. */
async function readUndoFile(path: string): Promise<ReadonlyMap<string, string>> {
  const { lines } = await readRawJournalLines(path).catch(() => ({ lines: [] }));
  const texts = lines.map((line) => line.toString('utf8'));
  return new Map(texts.map((text) => [sha256(text), text]));
}

function undoDataLost(id: string): GatewayError {
  return badInput(safeMessage`The undo data of ${id} is missing or was changed. Nothing was sent.`);
}
