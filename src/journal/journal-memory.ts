import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AtomicFile } from '../files/atomic-file';
import { readJsonFile } from '../files/read-json-file';
import { isObject } from '../model/json';
import { sha256, type JournalChainLink } from './journal-line';

/** A line that must still be in the journal. */
export interface WrittenJournalLine extends JournalChainLink {
  readonly at: string;
}

/** How often the last line is remembered: the first at once, later ones together. An older line proves a loss as well as the latest one. */
const SAVE_DELAY_MS = 2000;

/** Remembers the last line of one journal outside its folder, so that a lost journal is noticed after a restart. */
export class JournalMemory {
  readonly #folder: string;
  readonly #stateFolder: string;
  readonly #file: string;
  #unsaved: WrittenJournalLine | undefined;
  #isScheduled = false;
  #delayMs = 0;

  constructor(folder: string, stateFolder: string) {
    this.#folder = folder;
    this.#stateFolder = stateFolder;
    this.#file = join(stateFolder, `journal-${sha256(folder).slice(0, 16)}.json`);
  }

  /** Returns the remembered line; undefined if there is none. A file that cannot be read is an error. */
  async load(): Promise<WrittenJournalLine | undefined> {
    const value = (await readJsonFile(this.#file))?.value;
    if (!isObject(value) || value['folder'] !== this.#folder) return undefined;
    const { file, hash, at } = value;
    return typeof file === 'string' && typeof hash === 'string' && typeof at === 'string' ? { file, hash, at } : undefined;
  }

  save(line: WrittenJournalLine): void {
    this.#unsaved = line;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => void this.#write(), this.#delayMs).unref();
    this.#delayMs = SAVE_DELAY_MS;
  }

  /** Stores the line. Never rejects: without the stored line, only a loss of the journal would not be noticed. */
  async #write(): Promise<void> {
    const line = this.#unsaved;
    let partial: AtomicFile | undefined;
    try {
      await mkdir(this.#stateFolder, { mode: 0o700 }).catch(() => undefined);
      partial = await AtomicFile.create(this.#file);
      await partial.write(Buffer.from(`${JSON.stringify({ folder: this.#folder, ...line })}\n`));
      await partial.close(false);
      await partial.commit();
    } catch {
      await partial?.discard();
    }
    this.#isScheduled = false;
    if (this.#unsaved !== line && this.#unsaved) this.save(this.#unsaved);
  }
}
