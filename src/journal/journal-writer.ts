import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { syncFolder } from '../files/atomic-file';
import { findChainEnds, UNDO_FOLDER, createFileName, currentDay, activeFiles } from './journal-files';
import { sealLine, sha256, type JournalEntry, type ChainLink } from './journal-line';

/** What stands in a line besides the chain and the id, which it gets when it is written. */
export type EntryFields = Omit<JournalEntry, 'id'>;

interface PendingLine {
  /** Undefined: it gets a new one. */
  readonly id: string | undefined;
  readonly fields: EntryFields;
  /** What an undo needs, kept apart. */
  readonly undoData: object | undefined;
  /** A write waits for it: it has to be on the disk, not only in the memory of the system. */
  readonly isAnnouncement: boolean;
  /** It was written into a file that was removed meanwhile. */
  isRetry?: boolean;
  readonly onDone: (id: string) => void;
  readonly onFailed: (error: GatewayError) => void;
}

interface OpenFiles {
  readonly day: string;
  readonly name: string;
  readonly journalFile: FileHandle;
  readonly undoFile: FileHandle;
  follows: readonly ChainLink[] | undefined;
  /** Bytes of whole lines. */
  size: number;
  prev: string;
  count: number;
}

const writers = new Map<string, JournalWriter>();

/** Lines that are in the file, but perhaps not yet on the disk, and who waits for that. */
type AnnouncedLine = readonly [pending: PendingLine, id: string];

/**
 * Writes the journal of one folder for all gateways of this process: a file a day, into which nobody else writes. Lines that come while
 * others are on their way to the disk share one flush, and nobody who does not need it waits for one.
 */
export class JournalWriter {
  readonly folder: string;
  readonly #queue: PendingLine[] = [];
  /** Announced, and to be flushed. */
  readonly #unflushed: AnnouncedLine[] = [];
  #files: OpenFiles | undefined;
  #running = false;
  #flushing: Promise<void> | undefined;
  /** Nobody can be sure of what the file ends with. */
  #mustReopen = false;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static forFolder(folder: string): JournalWriter {
    const path = resolve(folder);
    let writer = writers.get(path);
    if (!writer) writers.set(path, (writer = new JournalWriter(path)));
    return writer;
  }

  /** Resolves with the id of the entry once it is on the disk. Errors: `BAD_CONFIG`; the write must not be sent. */
  announce(fields: EntryFields, undoData: object | undefined): Promise<string> {
    return this.#enqueue(undefined, fields, undoData, true);
  }

  /** Resolves when the system has it: it is there also if this process is killed. */
  async complete(id: string, fields: EntryFields, undoData?: object): Promise<void> {
    await this.#enqueue(id, fields, undoData, false);
  }

  #enqueue(id: string | undefined, fields: EntryFields, undoData: object | undefined, isAnnouncement: boolean): Promise<string> {
    return new Promise((onDone, onFailed) => {
      this.#queue.push({ id, fields, undoData, isAnnouncement, onDone, onFailed });
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
        const files = await this.#currentFiles();
        const ids = await this.#write(batch, files);
        batch.forEach((pending, index) => {
          const id = ids[index] as string;
          if (pending.isAnnouncement) this.#unflushed.push([pending, id]);
          else pending.onDone(id);
        });
        if (this.#unflushed.length > 0) this.#flushing ??= this.#flush(files.journalFile);
      } catch (thrown) {
        const error = this.#toError(thrown);
        for (const { onFailed } of batch) onFailed(error);
      }
    }
    this.#running = false;
  }

  /** All that is in the file by now, with one flush; what comes meanwhile with the next. */
  async #flush(journalFile: FileHandle): Promise<void> {
    while (this.#unflushed.length > 0) {
      const announced = this.#unflushed.splice(0);
      try {
        const [{ nlink }] = await Promise.all([journalFile.stat(), journalFile.datasync()]);
        for (const [pending, id] of announced) {
          // Somebody has removed the file. Once is enough: there are file systems that count no names.
          if (nlink > 0 || pending.isRetry) pending.onDone(id);
          else this.#writeAgain(pending);
        }
      } catch (thrown) {
        const error = this.#toError(thrown);
        for (const [{ onFailed }] of announced) onFailed(error);
        // Nobody knows what of it is on the disk: the next line begins another file.
        this.#mustReopen = true;
      }
    }
    this.#flushing = undefined;
  }

  /** Into another file. */
  #writeAgain(pending: PendingLine): void {
    this.#mustReopen = true;
    this.#queue.push(Object.assign(pending, { isRetry: true }));
    if (!this.#running) void this.#run();
  }

  async #write(batch: readonly PendingLine[], files: OpenFiles): Promise<string[]> {
    let { prev, count } = files;
    let { follows } = files;
    const lines: string[] = [];
    const undoLines: string[] = [];
    const ids = batch.map((pending) => {
      const id = pending.id ?? `${files.name.slice(0, -'.jsonl'.length)}-${++count}`;
      const undoText = pending.undoData && JSON.stringify({ id, ...pending.undoData });
      const { text, hash } = sealLine({
        id,
        ...pending.fields,
        ...(undoText !== undefined && { kept: sha256(undoText) }),
        ...(follows && { follows }),
        prev,
      });
      follows = undefined;
      prev = hash;
      lines.push(text);
      if (undoText !== undefined) undoLines.push(`${undoText}\n`);
      return id;
    });
    const bytes = Buffer.from(lines.join(''));
    const undoBytes = Buffer.from(undoLines.join(''));
    const written = await Promise.allSettled([writeAll(files.undoFile, undoBytes, null), writeAll(files.journalFile, bytes, files.size)]);
    const fault = written.find((result) => result.status === 'rejected');
    if (fault) {
      await this.#truncateToWholeLines(files);
      throw fault.reason;
    }
    Object.assign(files, { prev, count, follows, size: files.size + bytes.length });
    return ids;
  }

  /** After a fault the file ends where it ended before; a file of which this is not sure is left to lie. */
  async #truncateToWholeLines(files: OpenFiles): Promise<void> {
    try {
      await files.journalFile.truncate(files.size);
    } catch {
      this.#mustReopen = true;
    }
  }

  /** The file of today. */
  async #currentFiles(): Promise<OpenFiles> {
    const day = currentDay();
    if (this.#files?.day === day && !this.#mustReopen) return this.#files;
    // Whoever waits for the file of before is told first.
    await this.#flushing;
    const files = this.#files;
    this.#files = undefined;
    this.#mustReopen = false;
    if (files) await closeFiles(files, this.folder);
    return (this.#files = await this.#open(day));
  }

  async #open(day: string): Promise<OpenFiles> {
    const undoFolder = join(this.folder, UNDO_FOLDER);
    await mkdir(undoFolder, { recursive: true, mode: 0o700 });
    const follows = await findChainEnds(this.folder);
    const name = createFileName(day);
    const path = join(this.folder, name);
    const undoFile = await open(join(undoFolder, name), 'ax', 0o600);
    activeFiles.add(path);
    try {
      const journalFile = await open(path, 'wx', 0o600);
      await syncFolder(this.folder);
      return { day, name, journalFile, undoFile, follows, size: 0, prev: '', count: 0 };
    } catch (error) {
      activeFiles.delete(path);
      await undoFile.close();
      throw error;
    }
  }

  #toError(thrown: unknown): GatewayError {
    const { message } = asGatewayError(toFileError(thrown, this.folder, 'written'));
    return new GatewayError('BAD_CONFIG', safeMessage`The journal cannot be written, so nothing is sent: ${message}`, { sent: false });
  }
}

/** `at` null: at the end. */
async function writeAll(handle: FileHandle, bytes: Buffer, position: number | null): Promise<void> {
  for (let written = 0; written < bytes.length;)
    written += (await handle.write(bytes, written, bytes.length - written, position === null ? null : position + written)).bytesWritten;
}

async function closeFiles({ journalFile, undoFile, name }: OpenFiles, folder: string): Promise<void> {
  await Promise.all([journalFile.close(), undoFile.close()]).catch(() => undefined);
  activeFiles.delete(join(folder, name));
}
