import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { AtomicFile, removeStalePartials, syncFolder } from '../files/atomic-file';
import type { Tracker } from './tracker';

/** What one check has to be remembered by, written before any of its events goes out. */
export interface WatchStateEntry {
  readonly number: number;
  /** What the tracker changed. */
  readonly change?: unknown;
  readonly isUnreachable: boolean;
  readonly events: readonly JsonObject[];
  readonly envelope?: unknown;
}

/** What a file held: the state, what changed since, and events of the last entry that were not marked as told. */
export interface RestoredState {
  readonly state: unknown;
  readonly changes: readonly unknown[];
  readonly isUnreachable: boolean;
  readonly number: number;
  readonly unsentEntry: WatchStateEntry | undefined;
}

const FORMAT = 'gateway-watch 1';
/** The file is written anew when what was added to it is longer than this, and than the state itself. */
const MIN_REWRITE_BYTES = 1 << 20;
const SENT_MARK = '"sent"\n';

/**
 * The memory of one watch, on disk: a file of lines of JSON. A check adds one line before its events go out, and each event a short one
 * as soon as it has; so whoever reads it after a kill knows what was told. Lines go to the system at once, and survive the end of the
 * process; the whole file, written beside and renamed, to the disk. Methods throw the errors of `fileFault`.
 */
export class WatchStateFile {
  readonly #file: string;
  readonly #identity: string;
  /** Makes ids of events ones that there were not before. */
  epoch = randomBytes(6).toString('base64url');
  #descriptor: number | undefined;
  #appendedBytes = 0;
  #savedBytes = 0;

  /** `identity`: what is remembered of something else is not looked at. */
  constructor(file: string, identity: string) {
    this.#file = file;
    this.#identity = identity;
  }

  /** What is remembered; undefined when there is nothing, or something else's. Errors: `BAD_INPUT` for a file that is no memory. */
  async load(): Promise<RestoredState | undefined> {
    let text: string;
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await removeStalePartials(this.#file);
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw toFileError(error, this.#file, 'read');
    }
    const [header, ...lines] = this.#parseLines(text);
    if (!isObject(header) || header.format !== FORMAT || typeof header.epoch !== 'string') throw this.#damagedFileError();
    if (header.identity !== this.#identity) return undefined;
    this.epoch = header.epoch;
    return this.#parseState(header, lines);
  }

  /** Takes note of a check. What it holds is safe from the end of this process when this returns. */
  addEntry(entry: WatchStateEntry): void {
    this.#append(`${JSON.stringify(entry)}\n`);
  }

  /** Takes note that the next event of the last check was told. */
  markSent(): void {
    this.#append(SENT_MARK);
  }

  /** Whether `save` is due: there is no file yet, or it has grown. */
  get isSaveDue(): boolean {
    return this.#descriptor === undefined || this.#appendedBytes > Math.max(MIN_REWRITE_BYTES, this.#savedBytes);
  }

  /** Writes the file anew, with all that a tracker remembers, and the events that are still to be told. */
  async save(
    tracker: Pick<Tracker, 'save' | 'remainingChanges'>,
    isUnreachable: boolean,
    number: number,
    unsentEntry?: WatchStateEntry,
  ): Promise<void> {
    this.close();
    const { epoch } = this;
    let partial: AtomicFile | undefined;
    try {
      partial = await AtomicFile.create(this.#file);
      let savedBytes = 0;
      const write = async (line: object): Promise<void> => {
        const bytes = Buffer.from(`${JSON.stringify(line)}\n`, 'utf8');
        savedBytes += bytes.length;
        await partial?.write(bytes);
      };
      await write({ format: FORMAT, identity: this.#identity, epoch, number, isUnreachable, state: tracker.save() });
      for (const change of tracker.remainingChanges?.() ?? [])
        await write({ number, change, isUnreachable, events: [] } satisfies WatchStateEntry);
      if (unsentEntry) await write({ ...unsentEntry, change: undefined });
      await partial.close(true);
      await partial.commit();
      await syncFolder(dirname(this.#file));
      this.#savedBytes = savedBytes;
      this.#appendedBytes = 0;
      this.#descriptor = openSync(this.#file, 'a');
    } catch (error) {
      await partial?.discard();
      throw toFileError(error, this.#file, 'written');
    }
  }

  /** The next `add` needs a `save` before. */
  close(): void {
    if (this.#descriptor === undefined) return;
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    closeSync(descriptor);
  }

  #append(line: string): void {
    if (this.#descriptor === undefined) throw toFileError(Object.assign(new Error('it is not open'), { code: '' }), this.#file, 'written');
    try {
      const bytes = Buffer.from(line, 'utf8');
      for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
      this.#appendedBytes += bytes.length;
    } catch (error) {
      // Half of a line may be there: nothing is to come behind it.
      this.close();
      throw toFileError(error, this.#file, 'written');
    }
  }

  /** The last line is half of one when its process was killed at that moment: nothing of it had gone out. */
  #parseLines(text: string): unknown[] {
    const lines = text.split('\n');
    lines.pop();
    try {
      return lines.map((line) => JSON.parse(line) as unknown);
    } catch {
      throw this.#damagedFileError();
    }
  }

  #parseState(header: JsonObject, lines: readonly unknown[]): RestoredState {
    let { number, isUnreachable } = header as { number: number; isUnreachable: boolean };
    const changes: unknown[] = [];
    let last: WatchStateEntry | undefined;
    let sentCount = 0;
    for (const line of lines) {
      if (line === 'sent') {
        sentCount++;
        continue;
      }
      if (!isEntry(line)) throw this.#damagedFileError();
      last = line;
      sentCount = 0;
      if (line.change !== undefined) changes.push(line.change);
      ({ number, isUnreachable } = line);
    }
    const unsentEntry = last && sentCount < last.events.length ? { ...last, events: last.events.slice(sentCount) } : undefined;
    return { state: header.state, changes, isUnreachable, number, unsentEntry };
  }

  #damagedFileError(): GatewayError {
    return new GatewayError(
      'BAD_INPUT',
      safeMessage`${this.#file} is damaged, or no memory of a watch. It is left out; the watch begins anew, and what happened since the last check is not told.`,
      { sent: false },
    );
  }
}

function isEntry(line: unknown): line is WatchStateEntry {
  return (
    isObject(line) &&
    typeof line.number === 'number' &&
    typeof line.isUnreachable === 'boolean' &&
    Array.isArray(line.events) &&
    line.events.every(isObject)
  );
}
