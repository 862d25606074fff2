import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import type { RecordSigner } from '../model/record-signer';
import { toFileError } from '../files/file-error';
import { readRegularFile } from '../files/open-regular-file';
import { AtomicFile, removeStalePartialFiles, syncFolderToDisk } from '../files/atomic-file';
import type { Tracker } from './tracker';

const MAX_STATE_BYTES = 256 * 1024 * 1024;

/** The record of one check. It is written before its events are sent. */
export interface WatchStateEntry {
  readonly number: number;
  /** The change of the tracker's state. */
  readonly change?: unknown;
  readonly isUnreachable: boolean;
  readonly events: readonly JsonObject[];
  readonly envelope?: unknown;
}

/** The content of a file: the state, later changes, and events of the last check without a sent mark. */
interface RestoredState {
  readonly state: unknown;
  readonly changes: readonly unknown[];
  readonly isUnreachable: boolean;
  readonly number: number;
  readonly unsentEntry: WatchStateEntry | undefined;
}

const FORMAT = 'gateway-watch 1';
/** Minimum length of the appended part before the file is rewritten; it must also be longer than the state. */
const MIN_REWRITE_BYTES = 1 << 20;
const SENT_MARK = '"sent"';
const CODE_SUFFIX = / ([0-9a-f]{64})$/;

/**
 * The saved state of one watch: a file of JSON lines. A check appends a line before its events are sent, and each event appends a mark
 * after it was sent. So a restart after a kill knows which events were sent. Methods throw the errors of `toFileError`.
 */
export class WatchStateFile {
  readonly #file: string;
  readonly #identity: string;
  /** A random text that makes the ids of events unique across restarts. */
  epoch = randomBytes(6).toString('base64url');
  #descriptor: number | undefined;
  readonly #signer: RecordSigner | undefined;
  /** The signature of the last line. It chains the lines, so that none can be added, removed or moved. */
  #lastCode = '';
  #appendedBytes = 0;
  #savedBytes = 0;

  /** Opens the state file. A file with another `identity` is not used, and with `signer` neither is a file with an unsigned line. */
  constructor(file: string, identity: string, signer?: RecordSigner) {
    this.#file = file;
    this.#identity = identity;
    this.#signer = signer;
  }

  /** Reads the file. Undefined if it does not exist or has another identity. Errors: `BAD_INPUT` for a damaged file. */
  async load(): Promise<RestoredState | undefined> {
    let text: string;
    await createFolder(dirname(this.#file));
    try {
      await removeStalePartialFiles(this.#file);
      text = (await readRegularFile(this.#file, MAX_STATE_BYTES)).toString('utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw toFileError(error, this.#file, 'read');
    }
    const texts = text.split('\n');
    // The last line of a killed process is incomplete. Its events were not sent.
    texts.pop();
    const [header, ...lines] = this.#parseLines(texts.map((line) => line.replace(CODE_SUFFIX, '')));
    if (!isObject(header) || header.format !== FORMAT || typeof header.epoch !== 'string') throw this.#damagedFileError();
    if (header.identity !== this.#identity) return undefined;
    this.#checkCodes(texts);
    this.epoch = header.epoch;
    return this.#parseState(header, lines);
  }

  /** Appends the record of a check. When this returns, the record survives the end of the process. */
  addEntry(entry: WatchStateEntry): void {
    this.#append(JSON.stringify(entry));
  }

  /** Marks the next event of the last check as sent. */
  markSent(): void {
    this.#append(SENT_MARK);
  }

  /** Whether `save` is due, because there is no open file or it has grown. */
  get isSaveDue(): boolean {
    return this.#descriptor === undefined || this.#appendedBytes > Math.max(MIN_REWRITE_BYTES, this.#savedBytes);
  }

  /** Rewrites the file with the state of the tracker and the events that are still to be sent. */
  async save(
    tracker: Pick<Tracker, 'save' | 'remainingChanges'>,
    isUnreachable: boolean,
    number: number,
    unsentEntry?: WatchStateEntry,
  ): Promise<void> {
    this.close();
    this.#lastCode = '';
    const { epoch } = this;
    let partial: AtomicFile | undefined;
    try {
      partial = await AtomicFile.create(this.#file);
      let savedBytes = 0;
      const write = async (line: object): Promise<void> => {
        const bytes = this.#seal(JSON.stringify(line));
        savedBytes += bytes.length;
        await partial?.write(bytes);
      };
      await write({ format: FORMAT, identity: this.#identity, epoch, number, isUnreachable, state: tracker.save() });
      for (const change of tracker.remainingChanges?.() ?? [])
        await write({ number, change, isUnreachable, events: [] } satisfies WatchStateEntry);
      if (unsentEntry) await write({ ...unsentEntry, change: undefined });
      await partial.close(true);
      await partial.commit();
      await syncFolderToDisk(dirname(this.#file));
      this.#savedBytes = savedBytes;
      this.#appendedBytes = 0;
      this.#descriptor = openForAppend(this.#file);
    } catch (error) {
      await partial?.discard();
      throw toFileError(error, this.#file, 'written');
    }
  }

  /** Closes the file. `addEntry` then needs a `save` first. */
  close(): void {
    if (this.#descriptor === undefined) return;
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    closeSync(descriptor);
  }

  #append(line: string): void {
    if (this.#descriptor === undefined) throw toFileError(Object.assign(new Error('it is not open'), { code: '' }), this.#file, 'written');
    try {
      const bytes = this.#seal(line);
      for (let done = 0; done < bytes.length;) done += writeSync(this.#descriptor, bytes, done);
      this.#appendedBytes += bytes.length;
    } catch (error) {
      // The file may end with a part of a line, so nothing may be appended.
      this.close();
      throw toFileError(error, this.#file, 'written');
    }
  }

  /** Returns the line with its code. */
  #seal(line: string): Buffer {
    if (!this.#signer) return Buffer.from(`${line}\n`, 'utf8');
    this.#lastCode = this.#signer.sign('watch', `${this.#lastCode}\n${line}`);
    return Buffer.from(`${line} ${this.#lastCode}\n`, 'utf8');
  }

  #checkCodes(lines: readonly string[]): void {
    if (!this.#signer) return;
    let lastCode = '';
    for (const line of lines) {
      const code = CODE_SUFFIX.exec(line)?.[1] ?? '';
      if (!this.#signer.isValid('watch', `${lastCode}\n${line.replace(CODE_SUFFIX, '')}`, code)) throw this.#forgedFileError();
      lastCode = code;
    }
  }

  #parseLines(lines: readonly string[]): unknown[] {
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

  #forgedFileError(): GatewayError {
    return new GatewayError(
      'BAD_INPUT',
      safeMessage`${this.#file} has no valid code of the signing key, so it is not used: somebody else wrote it, or it is older than the key. The watch starts over; events since the last check are not sent.`,
      { sent: false },
    );
  }

  #damagedFileError(): GatewayError {
    return new GatewayError(
      'BAD_INPUT',
      safeMessage`${this.#file} is damaged or is not a state file of a watch. The watch starts over; events since the last check are not sent.`,
      { sent: false },
    );
  }
}

/** Creates the folder below an existing one only: a share that is not mounted must be noticed. */
async function createFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw toFileError(error, folder, 'written');
  });
}

/** Opens a regular file. A pipe in its place is an error and never waits for a reader. */
function openForAppend(file: string): number {
  const { O_WRONLY, O_APPEND, O_NONBLOCK = 0 } = constants;
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_NONBLOCK);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw Object.assign(new Error('it is not a regular file'), { code: '' });
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
