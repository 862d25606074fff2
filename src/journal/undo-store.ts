import { join } from 'node:path';
import type { ResourceState, WriteSubject } from '../change/resource-state';
import { badInput, type GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { UNDO_FOLDER, readRawLines } from './journal-files';
import { sha256 } from './journal-line';

/** What an undo needs. It may hold secrets in the form in which the appliance shows them, and stays in the folder. */
export interface UndoData {
  readonly subject: WriteSubject;
  readonly before: ResourceState;
  readonly method: string;
  readonly body?: JsonObject;
  /** What the write left; not known where the process ended before it was read. */
  readonly after?: ResourceState;
}

/** A part of what is kept: in which file, and what the journal says that it is. */
export interface UndoPart {
  readonly file: string;
  readonly hash: string;
}

/** What is kept in one folder, each file read once. */
export class UndoStore {
  readonly #folder: string;
  readonly #files = new Map<string, Promise<ReadonlyMap<string, string>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** All that is kept for one entry. Errors: `BAD_INPUT` when it is not there, or not as it was written. */
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

/** By the hash of each, which the journal tells: so it does not matter whose it says that it is. */
async function readUndoFile(path: string): Promise<ReadonlyMap<string, string>> {
  const { lines } = await readRawLines(path).catch(() => ({ lines: [] }));
  const texts = lines.map((line) => line.toString('utf8'));
  return new Map(texts.map((text) => [sha256(text), text]));
}

function undoDataLost(id: string): GatewayError {
  return badInput(safeMessage`What was kept for an undo of ${id} is not there any more, or was changed. Nothing was sent.`);
}
