import { join } from 'node:path';
import type { State, Subject } from '../change/state';
import { badInput, type GatewayError } from '../model/error';
import type { JsonObject } from '../model/json';
import { sentence } from '../model/sentence';
import { KEPT, linesOf } from './files';
import { sha256 } from './line';

/** What an undo needs. It may hold secrets in the form in which the appliance shows them, and stays in the folder. */
export interface Kept {
  readonly subject: Subject;
  readonly before: State;
  readonly method: string;
  readonly body?: JsonObject;
  /** What the write left; not known where the process ended before it was read. */
  readonly after?: State;
}

/** A part of what is kept: in which file, and what the journal says that it is. */
export interface Part {
  readonly file: string;
  readonly hash: string;
}

/** What is kept in one folder, each file read once. */
export class KeptStore {
  readonly #folder: string;
  readonly #files = new Map<string, Promise<ReadonlyMap<string, string>>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** All that is kept for one entry. Errors: `BAD_INPUT` when it is not there, or not as it was written. */
  async of(id: string, parts: readonly Part[]): Promise<Kept> {
    const kept: Partial<Kept> = {};
    for (const { file, hash } of parts) {
      const found = (await this.#file(file)).get(hash);
      if (found === undefined) throw lost(id);
      Object.assign(kept, JSON.parse(found));
    }
    if (!kept.before) throw lost(id);
    return kept as Kept;
  }

  #file(name: string): Promise<ReadonlyMap<string, string>> {
    const known = this.#files.get(name) ?? readKept(join(this.#folder, KEPT, name));
    this.#files.set(name, known);
    return known;
  }
}

/** By the hash of each, which the journal tells: so it does not matter whose it says that it is. */
async function readKept(path: string): Promise<ReadonlyMap<string, string>> {
  const { lines } = await linesOf(path).catch(() => ({ lines: [] }));
  const texts = lines.map((line) => line.toString('utf8'));
  return new Map(texts.map((text) => [sha256(text), text]));
}

function lost(id: string): GatewayError {
  return badInput(sentence`What was kept for an undo of ${id} is not there any more, or was changed. Nothing was sent.`);
}
