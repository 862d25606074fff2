import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { fileFault } from '../transfer/file-fault';
import { syncFolder } from '../transfer/partial-file';
import { ends, KEPT, newName, today, writing } from './files';
import { sealed, sha256, type Entry, type Link } from './line';

/** What stands in a line besides the chain and the id, which it gets when it is written. */
export type Told = Omit<Entry, 'id'>;

interface Pending {
  /** Undefined: it gets a new one. */
  readonly id: string | undefined;
  readonly told: Told;
  /** What an undo needs, kept apart. */
  readonly kept: object | undefined;
  /** A write waits for it: it has to be on the disk, not only in the memory of the system. */
  readonly announces: boolean;
  /** It was written into a file that was removed meanwhile. */
  again?: boolean;
  readonly done: (id: string) => void;
  readonly failed: (error: GatewayError) => void;
}

interface Files {
  readonly day: string;
  readonly name: string;
  readonly journal: FileHandle;
  readonly kept: FileHandle;
  follows: readonly Link[] | undefined;
  /** Bytes of whole lines. */
  size: number;
  prev: string;
  count: number;
}

const writers = new Map<string, JournalWriter>();

/** Lines that are in the file, but perhaps not yet on the disk, and who waits for that. */
type Written = readonly [pending: Pending, id: string];

/**
 * Writes the journal of one folder for all gateways of this process: a file a day, into which nobody else writes. Lines that come while
 * others are on their way to the disk share one flush, and nobody who does not need it waits for one.
 */
export class JournalWriter {
  readonly folder: string;
  readonly #queue: Pending[] = [];
  /** Announced, and to be flushed. */
  readonly #unflushed: Written[] = [];
  #files: Files | undefined;
  #running = false;
  #flushing: Promise<void> | undefined;
  /** Nobody can be sure of what the file ends with. */
  #spoilt = false;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static of(folder: string): JournalWriter {
    const place = resolve(folder);
    let writer = writers.get(place);
    if (!writer) writers.set(place, (writer = new JournalWriter(place)));
    return writer;
  }

  /** Resolves with the id of the entry once it is on the disk. Errors: `BAD_CONFIG`; the write must not be sent. */
  announce(told: Told, kept: object | undefined): Promise<string> {
    return this.#add(undefined, told, kept, true);
  }

  /** Resolves when the system has it: it is there also if this process is killed. */
  async complete(id: string, told: Told, kept?: object): Promise<void> {
    await this.#add(id, told, kept, false);
  }

  #add(id: string | undefined, told: Told, kept: object | undefined, announces: boolean): Promise<string> {
    return new Promise((done, failed) => {
      this.#queue.push({ id, told, kept, announces, done, failed });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    // What else is announced in this turn of the event loop comes with it.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0);
      try {
        const files = await this.#present();
        const ids = await this.#write(batch, files);
        batch.forEach((pending, index) => {
          const id = ids[index] as string;
          if (pending.announces) this.#unflushed.push([pending, id]);
          else pending.done(id);
        });
        if (this.#unflushed.length > 0) this.#flushing ??= this.#flush(files.journal);
      } catch (thrown) {
        const error = this.#fault(thrown);
        for (const { failed } of batch) failed(error);
      }
    }
    this.#running = false;
  }

  /** All that is in the file by now, with one flush; what comes meanwhile with the next. */
  async #flush(journal: FileHandle): Promise<void> {
    while (this.#unflushed.length > 0) {
      const announced = this.#unflushed.splice(0);
      try {
        const [{ nlink }] = await Promise.all([journal.stat(), journal.datasync()]);
        for (const [pending, id] of announced) {
          // Somebody has removed the file. Once is enough: there are file systems that count no names.
          if (nlink > 0 || pending.again) pending.done(id);
          else this.#again(pending);
        }
      } catch (thrown) {
        const error = this.#fault(thrown);
        for (const [{ failed }] of announced) failed(error);
        // Nobody knows what of it is on the disk: the next line begins another file.
        this.#spoilt = true;
      }
    }
    this.#flushing = undefined;
  }

  /** Into another file. */
  #again(pending: Pending): void {
    this.#spoilt = true;
    this.#queue.push(Object.assign(pending, { again: true }));
    if (!this.#running) void this.#run();
  }

  async #write(batch: readonly Pending[], files: Files): Promise<string[]> {
    let { prev, count } = files;
    let { follows } = files;
    const lines: string[] = [];
    const kept: string[] = [];
    const ids = batch.map((pending) => {
      const id = pending.id ?? `${files.name.slice(0, -'.jsonl'.length)}-${++count}`;
      const keptText = pending.kept && JSON.stringify({ id, ...pending.kept });
      const { text, hash } = sealed({
        id,
        ...pending.told,
        ...(keptText !== undefined && { kept: sha256(keptText) }),
        ...(follows && { follows }),
        prev,
      });
      follows = undefined;
      prev = hash;
      lines.push(text);
      if (keptText !== undefined) kept.push(`${keptText}\n`);
      return id;
    });
    const bytes = Buffer.from(lines.join(''));
    const apart = Buffer.from(kept.join(''));
    const written = await Promise.allSettled([writeAll(files.kept, apart, null), writeAll(files.journal, bytes, files.size)]);
    const fault = written.find((one) => one.status === 'rejected');
    if (fault) {
      await this.#undoHalf(files);
      throw fault.reason;
    }
    Object.assign(files, { prev, count, follows, size: files.size + bytes.length });
    return ids;
  }

  /** After a fault the file ends where it ended before; a file of which this is not sure is left to lie. */
  async #undoHalf(files: Files): Promise<void> {
    try {
      await files.journal.truncate(files.size);
    } catch {
      this.#spoilt = true;
    }
  }

  /** The file of today. */
  async #present(): Promise<Files> {
    const day = today();
    if (this.#files?.day === day && !this.#spoilt) return this.#files;
    // Whoever waits for the file of before is told first.
    await this.#flushing;
    const files = this.#files;
    this.#files = undefined;
    this.#spoilt = false;
    if (files) await close(files, this.folder);
    return (this.#files = await this.#open(day));
  }

  async #open(day: string): Promise<Files> {
    const apart = join(this.folder, KEPT);
    await mkdir(apart, { recursive: true, mode: 0o700 });
    const follows = await ends(this.folder);
    const name = newName(day);
    const path = join(this.folder, name);
    const kept = await open(join(apart, name), 'ax', 0o600);
    writing.add(path);
    try {
      const journal = await open(path, 'wx', 0o600);
      await syncFolder(this.folder);
      return { day, name, journal, kept, follows, size: 0, prev: '', count: 0 };
    } catch (error) {
      writing.delete(path);
      await kept.close();
      throw error;
    }
  }

  #fault(thrown: unknown): GatewayError {
    const { message } = asGatewayError(fileFault(thrown, this.folder, 'written'));
    return new GatewayError('BAD_CONFIG', sentence`The journal cannot be written, so nothing is sent: ${message}`, { sent: false });
  }
}

/** `at` null: at the end. */
async function writeAll(handle: FileHandle, bytes: Buffer, at: number | null): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, bytes.length - done, at === null ? null : at + done)).bytesWritten;
}

async function close({ journal, kept, name }: Files, folder: string): Promise<void> {
  await Promise.all([journal.close(), kept.close()]).catch(() => undefined);
  writing.delete(join(folder, name));
}
