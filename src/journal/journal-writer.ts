import { access, mkdir, open, type FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import type { RecordSigner } from '../model/record-signer';
import { syncFolderToDisk } from '../files/atomic-file';
import {
  findLastEntryHashes,
  listJournalFileNames,
  UNDO_FOLDER,
  createJournalFileName,
  getCurrentJournalDay,
  journalFilesInUse,
} from './journal-files';
import { sealJournalLine, sha256, type JournalEntry, type JournalChainLink } from './journal-line';
import { JournalMemory, type WrittenJournalLine } from './journal-memory';
import { createProcessMap } from '../model/process-state';

/** The fields of a line except its id and the chain, which are added when it is written. */
export type JournalEntryFields = Omit<JournalEntry, 'id'>;

interface PendingLine {
  /** Id of the entry; undefined for a new entry, which gets a new id. */
  readonly id: string | undefined;
  readonly fields: JournalEntryFields;
  /** Undo data, which is stored in a separate file. */
  readonly undoData: object | undefined;
  readonly signer: RecordSigner | undefined;
  /** A write waits for this line: it must be on the disk, not only in the operating system's memory. */
  readonly isAnnouncement: boolean;
  /** Whether the line was written to a file that somebody removed. */
  isRetry?: boolean;
  readonly onDone: (id: string) => void;
  readonly onFailed: (error: GatewayError) => void;
}

interface OpenFiles {
  readonly day: string;
  readonly name: string;
  readonly journalFile: FileHandle;
  readonly undoFile: FileHandle;
  follows: readonly JournalChainLink[] | undefined;
  /** Size of all complete lines of the file. */
  size: number;
  prev: string;
  count: number;
}

const writers = createProcessMap<JournalWriter>('journal writers');

/** A line in the file that may not be on the disk yet. */
type AnnouncedLine = readonly [pending: PendingLine, id: string];

/**
 * Writes the journal of one folder for all gateways of this process. Each process writes one file per day. Lines that arrive during a flush
 * share the next one; only announcements wait for a flush.
 */
export class JournalWriter {
  readonly folder: string;
  readonly #queue: PendingLine[] = [];
  /** Announced lines that are not flushed yet. */
  readonly #unflushed: AnnouncedLine[] = [];
  #files: OpenFiles | undefined;
  #running = false;
  #flushing: Promise<void> | undefined;
  /** The last line that this process has written. */
  #lastWritten: WrittenJournalLine | undefined;
  /** The last line that is written but not flushed, so the file may have lost its name. */
  #unconfirmed: WrittenJournalLine | undefined;
  /** Whether the end of the file is uncertain after a fault. */
  #mustReopen = false;

  /** Remembers the last line across restarts. */
  #memory: JournalMemory | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** `stateFolder` remembers the last line across restarts, outside the journal. */
  static forFolder(folder: string, stateFolder?: string): JournalWriter {
    const path = resolve(folder);
    let writer = writers.get(path);
    if (!writer) writers.set(path, (writer = new JournalWriter(path)));
    if (stateFolder !== undefined) writer.#memory ??= new JournalMemory(path, stateFolder);
    return writer;
  }

  /** Returns the last line that this process, or with a state folder an earlier one, has written to the folder. */
  static findLastWritten(folder: string, stateFolder?: string): Promise<WrittenJournalLine | undefined> {
    return JournalWriter.forFolder(folder, stateFolder).#recall();
  }

  /** Resolves with the id of the entry when the line is on the disk. Throws `BAD_CONFIG`; then the write must not be sent. */
  announce(fields: JournalEntryFields, undoData: object | undefined, signer?: RecordSigner): Promise<string> {
    return this.#enqueue({ id: undefined, fields, undoData, signer, isAnnouncement: true });
  }

  /** Resolves when the operating system has the line: it survives the end of this process. */
  async complete(id: string, fields: JournalEntryFields, undoData?: object, signer?: RecordSigner): Promise<void> {
    await this.#enqueue({ id, fields, undoData, signer, isAnnouncement: false });
  }

  #enqueue(line: Omit<PendingLine, 'onDone' | 'onFailed'>): Promise<string> {
    return new Promise((onDone, onFailed) => {
      this.#queue.push({ onDone, onFailed, ...line });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Lines that are announced in the same turn of the event loop share a flush.
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

  /** Flushes all lines written so far. Lines that arrive meanwhile share the next flush. */
  async #flush(journalFile: FileHandle): Promise<void> {
    while (this.#unflushed.length > 0) {
      const announced = this.#unflushed.splice(0);
      try {
        const [{ nlink }] = await Promise.all([journalFile.stat(), journalFile.datasync()]);
        if (nlink > 0) this.#remember(this.#unconfirmed);
        this.#unconfirmed = undefined;
        for (const [pending, id] of announced) {
          // Somebody removed the file. One retry is enough: some file systems do not count names.
          if (nlink > 0 || pending.isRetry) pending.onDone(id);
          else this.#writeAgain(pending);
        }
      } catch (thrown) {
        const error = this.#toError(thrown);
        for (const [{ onFailed }] of announced) onFailed(error);
        // It is unknown which lines are on the disk, so the next line starts a new file.
        this.#mustReopen = true;
      }
    }
    this.#flushing = undefined;
  }

  /** Writes the line to a new file. */
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
      const kept = undoText === undefined ? {} : { kept: sha256(undoText) };
      const line = { id, ...pending.fields, ...kept, ...(follows && { follows }), prev };
      const { text, hash } = sealJournalLine(line, files.name, pending.signer);
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
    const line = { file: files.name, hash: prev, at: new Date().toISOString() };
    if (batch.some(({ isAnnouncement }) => isAnnouncement)) this.#unconfirmed = line;
    else this.#remember(line);
    return ids;
  }

  #remember(line: WrittenJournalLine | undefined): void {
    if (!line) return;
    this.#lastWritten = line;
    this.#memory?.save(line);
  }

  async #recall(): Promise<WrittenJournalLine | undefined> {
    if (!this.#lastWritten && this.#memory) this.#lastWritten = await this.#memory.load();
    return this.#lastWritten;
  }

  /** Cuts the file back to its complete lines after a fault. If that fails, the next line starts a new file. */
  async #truncateToWholeLines(files: OpenFiles): Promise<void> {
    try {
      await files.journalFile.truncate(files.size);
    } catch {
      this.#mustReopen = true;
    }
  }

  /** Returns today's file, and opens it if necessary. */
  async #currentFiles(): Promise<OpenFiles> {
    const day = getCurrentJournalDay();
    if (this.#files?.day === day && !this.#mustReopen) return this.#files;
    // Lines in the previous file must be settled first.
    await this.#flushing;
    const files = this.#files;
    this.#files = undefined;
    this.#mustReopen = false;
    if (files) await closeFiles(files, this.folder);
    return (this.#files = await this.#open(day));
  }

  async #open(day: string): Promise<OpenFiles> {
    const undoFolder = join(this.folder, UNDO_FOLDER);
    await this.#recall();
    await this.#createFolder();
    await createSubfolder(undoFolder);
    const follows = await findLastEntryHashes(this.folder);
    const last = this.#lastWritten;
    // The link to a lost file stays in the journal, so that its loss is noticed later too.
    if (last && !follows.some(({ hash }) => hash === last.hash) && !(await listJournalFileNames(this.folder)).includes(last.file))
      follows.push({ file: last.file, hash: last.hash });
    const name = createJournalFileName(day);
    const path = join(this.folder, name);
    const undoFile = await open(join(undoFolder, name), 'ax', 0o600);
    journalFilesInUse.add(path);
    try {
      const journalFile = await open(path, 'wx', 0o600);
      await syncFolderToDisk(this.folder);
      return { day, name, journalFile, undoFile, follows, size: 0, prev: '', count: 0 };
    } catch (error) {
      journalFilesInUse.delete(path);
      await undoFile.close();
      throw error;
    }
  }

  /** Creates the folder only for a new journal and below an existing folder: a share that is not mounted must be noticed. */
  async #createFolder(): Promise<void> {
    if (this.#lastWritten) await access(this.folder);
    else await createSubfolder(this.folder);
  }

  #toError(thrown: unknown): GatewayError {
    const { message } = asGatewayError(toFileError(thrown, this.folder, 'written'));
    return new GatewayError('BAD_CONFIG', safeMessage`The journal cannot be written, so nothing was sent: ${message}`, {
      sent: false,
      statusReason: 'journal-not-writable',
    });
  }
}

/** Creates a folder below an existing one. A recursive `mkdir` of Node.js never returns below /proc. */
async function createSubfolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Writes all bytes. `position` null appends. */
async function writeAll(handle: FileHandle, bytes: Buffer, position: number | null): Promise<void> {
  for (let written = 0; written < bytes.length;)
    written += (await handle.write(bytes, written, bytes.length - written, position === null ? null : position + written)).bytesWritten;
}

async function closeFiles({ journalFile, undoFile, name }: OpenFiles, folder: string): Promise<void> {
  await Promise.all([journalFile.close(), undoFile.close()]).catch(() => undefined);
  journalFilesInUse.delete(join(folder, name));
}
