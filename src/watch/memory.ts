import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { sentence } from '../model/sentence';
import { fileFault } from '../transfer/file-fault';
import { PartialFile, sweep, syncFolder } from '../transfer/partial-file';
import type { Tracker } from './tracker';

/** What one check has to be remembered by, written before any of its events goes out. */
export interface Entry {
  readonly number: number;
  /** What the tracker changed. */
  readonly change?: unknown;
  readonly away: boolean;
  readonly events: readonly JsonObject[];
  readonly envelope?: unknown;
}

/** What a file held: the state, what changed since, and events of the last entry that were not marked as told. */
export interface Recalled {
  readonly state: unknown;
  readonly changes: readonly unknown[];
  readonly away: boolean;
  readonly number: number;
  readonly untold: Entry | undefined;
}

const FORMAT = 'gateway-watch 1';
/** The file is written anew when what was added to it is longer than this, and than the state itself. */
const LEAST_BYTES = 1 << 20;
const TOLD = '"told"\n';

/**
 * The memory of one watch, on disk: a file of lines of JSON. A check adds one line before its events go out, and each event a short one
 * as soon as it has; so whoever reads it after a kill knows what was told. Lines go to the system at once, and survive the end of the
 * process; the whole file, written beside and renamed, to the disk. Methods throw the errors of `fileFault`.
 */
export class Memory {
  readonly #file: string;
  readonly #identity: string;
  /** Makes ids of events ones that there were not before. */
  epoch = randomBytes(6).toString('base64url');
  #descriptor: number | undefined;
  #added = 0;
  #whole = 0;

  /** `identity`: what is remembered of something else is not looked at. */
  constructor(file: string, identity: string) {
    this.#file = file;
    this.#identity = identity;
  }

  /** What is remembered; undefined when there is nothing, or something else's. Errors: `BAD_INPUT` for a file that is no memory. */
  async recall(): Promise<Recalled | undefined> {
    let text: string;
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await sweep(this.#file);
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw fileFault(error, this.#file, 'read');
    }
    const [first, ...lines] = this.#lines(text);
    if (!isObject(first) || first.format !== FORMAT || typeof first.epoch !== 'string') throw this.#damaged();
    if (first.identity !== this.#identity) return undefined;
    this.epoch = first.epoch;
    return this.#recalled(first, lines);
  }

  /** Takes note of a check. What it holds is safe from the end of this process when this returns. */
  add(entry: Entry): void {
    this.#append(`${JSON.stringify(entry)}\n`);
  }

  /** Takes note that the next event of the last check was told. */
  told(): void {
    this.#append(TOLD);
  }

  /** Whether `save` is due: there is no file yet, or it has grown. */
  get isDue(): boolean {
    return this.#descriptor === undefined || this.#added > Math.max(LEAST_BYTES, this.#whole);
  }

  /** Writes the file anew, with all that a tracker remembers, and the events that are still to be told. */
  async save(of: Pick<Tracker, 'save' | 'rest'>, away: boolean, number: number, untold?: Entry): Promise<void> {
    this.close();
    const { epoch } = this;
    let partial: PartialFile | undefined;
    try {
      partial = await PartialFile.create(this.#file);
      let whole = 0;
      const write = async (line: object): Promise<void> => {
        const bytes = Buffer.from(`${JSON.stringify(line)}\n`, 'utf8');
        whole += bytes.length;
        await partial?.write(bytes);
      };
      await write({ format: FORMAT, identity: this.#identity, epoch, number, away, state: of.save() });
      for (const change of of.rest?.() ?? []) await write({ number, change, away, events: [] } satisfies Entry);
      if (untold) await write({ ...untold, change: undefined });
      await partial.close(true);
      await partial.commit();
      await syncFolder(dirname(this.#file));
      this.#whole = whole;
      this.#added = 0;
      this.#descriptor = openSync(this.#file, 'a');
    } catch (error) {
      await partial?.discard();
      throw fileFault(error, this.#file, 'written');
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
    if (this.#descriptor === undefined) throw fileFault(Object.assign(new Error('it is not open'), { code: '' }), this.#file, 'written');
    try {
      const bytes = Buffer.from(line, 'utf8');
      for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
      this.#added += bytes.length;
    } catch (error) {
      // Half of a line may be there: nothing is to come behind it.
      this.close();
      throw fileFault(error, this.#file, 'written');
    }
  }

  /** The last line is half of one when its process was killed at that moment: nothing of it had gone out. */
  #lines(text: string): unknown[] {
    const lines = text.split('\n');
    lines.pop();
    try {
      return lines.map((line) => JSON.parse(line) as unknown);
    } catch {
      throw this.#damaged();
    }
  }

  #recalled(first: JsonObject, lines: readonly unknown[]): Recalled {
    let { number, away } = first as { number: number; away: boolean };
    const changes: unknown[] = [];
    let last: Entry | undefined;
    let told = 0;
    for (const line of lines) {
      if (line === 'told') {
        told++;
        continue;
      }
      if (!isEntry(line)) throw this.#damaged();
      last = line;
      told = 0;
      if (line.change !== undefined) changes.push(line.change);
      ({ number, away } = line);
    }
    const untold = last && told < last.events.length ? { ...last, events: last.events.slice(told) } : undefined;
    return { state: first.state, changes, away, number, untold };
  }

  #damaged(): GatewayError {
    return new GatewayError(
      'BAD_INPUT',
      sentence`${this.#file} is damaged, or no memory of a watch. It is left out; the watch begins anew, and what happened since the last check is not told.`,
      { sent: false },
    );
  }
}

function isEntry(line: unknown): line is Entry {
  return (
    isObject(line) &&
    typeof line.number === 'number' &&
    typeof line.away === 'boolean' &&
    Array.isArray(line.events) &&
    line.events.every(isObject)
  );
}
