import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { isObject } from '../model/json';
import type { RecordSigner } from '../model/record-signer';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { readJsonFile } from '../files/read-json-file';
import { AtomicFile, removeStalePartialFiles, syncFolderToDisk } from '../files/atomic-file';
import { retryWhileLocked } from '../files/retry-locked';
import { withLockFile } from '../files/lock-file';
import { isContainmentRecord, type ContainmentRecord } from './containment-record';
import { createProcessMap } from '../model/process-state';

/** The records of a store. An error in one file does not hide the others. */
interface ContainmentStoreContents {
  readonly records: readonly ContainmentRecord[];
  readonly fault?: GatewayError | undefined;
}

/** A place that stores containments. */
export interface ContainmentStore {
  /** The folder of the store, for messages. */
  readonly location: string;
  readAll(): Promise<ContainmentStoreContents>;
  put(record: ContainmentRecord): Promise<void>;
  /** Removes a record. Returns whether it existed. */
  remove(id: string): Promise<boolean>;
  /** Runs `work` while no other process that shares the store changes it. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>;
}

/** Stores containments in this process. They survive a deploy, but not a restart. */
class MemoryStore implements ContainmentStore {
  readonly location = 'the memory of this process';
  readonly #records = new Map<string, ContainmentRecord>();

  readAll(): Promise<ContainmentStoreContents> {
    return Promise.resolve({ records: [...this.#records.values()] });
  }

  put(record: ContainmentRecord): Promise<void> {
    this.#records.set(record.id, record);
    return Promise.resolve();
  }

  remove(id: string): Promise<boolean> {
    return Promise.resolve(this.#records.delete(id));
  }

  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
}

const RECORD_FILE_NAME = /^contained-([0-9a-f-]{36})\.json$/;
const toRecordFileName = (id: string): string => `contained-${id}.json`;

/**
 * Stores each containment in a file that only its owner can read. Errors: those of `toFileError`, and `BAD_CONFIG` for a damaged file,
 * which could hide a containment.
 */
class FolderStore implements ContainmentStore {
  readonly location: string;
  readonly #folder: string;
  readonly #appliance: string;
  readonly #signer: RecordSigner | undefined;

  constructor(folder: string, appliance: string, signer: RecordSigner | undefined) {
    this.#folder = folder;
    this.location = folder;
    this.#appliance = appliance;
    this.#signer = signer;
  }

  hasSigner(signer: RecordSigner | undefined): boolean {
    return this.#signer?.keyId === signer?.keyId;
  }

  async readAll(): Promise<ContainmentStoreContents> {
    const records: ContainmentRecord[] = [];
    let fault: GatewayError | undefined;
    try {
      for (const name of await readdir(this.#folder)) {
        if (!RECORD_FILE_NAME.test(name)) continue;
        const record = await this.#read(name).catch((thrown: unknown) => void (fault ??= asGatewayError(thrown)));
        if (record?.appliance === this.#appliance) records.push(record);
      }
    } catch (error) {
      fault = toFileError(error, this.#folder, 'read');
    }
    return { records, fault };
  }

  async put(record: ContainmentRecord): Promise<void> {
    const target = join(this.#folder, toRecordFileName(record.id));
    let partial: AtomicFile | undefined;
    try {
      partial = await AtomicFile.create(target);
      await partial.write(Buffer.from(`${JSON.stringify(this.#sign(record), null, 2)}\n`, 'utf8'));
      await partial.close(true);
      await partial.commit();
      await syncFolderToDisk(this.#folder);
      await removeStalePartialFiles(target);
    } catch (error) {
      await partial?.discard();
      throw toFileError(error, target, 'written');
    }
  }

  async remove(id: string): Promise<boolean> {
    const file = join(this.#folder, toRecordFileName(id));
    try {
      await retryWhileLocked(() => rm(file));
      await syncFolderToDisk(this.#folder);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw toFileError(error, file, 'written');
    }
  }

  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return withLockFile(join(this.#folder, `contained-${this.#appliance.slice(-16)}.lock`), work, this.#signer);
  }

  #sign(record: ContainmentRecord): ContainmentRecord & { readonly mac?: string } {
    return this.#signer ? { ...record, mac: this.#signer.sign('containment', JSON.stringify(record)) } : record;
  }

  async #read(name: string): Promise<ContainmentRecord | undefined> {
    const file = join(this.#folder, name);
    const found = await readJsonFile(file);
    // Another process has released it since the folder was read.
    if (!found) return undefined;
    const { mac, ...record } = isObject(found.value) ? found.value : {};
    if (isContainmentRecord(record) && toRecordFileName(record.id) === name) {
      if (record.appliance !== this.#appliance || !this.#signer) return record;
      if (this.#signer.isValid('containment', JSON.stringify(record), mac)) return record;
      throw new GatewayError(
        'BAD_CONFIG',
        safeMessage`${file} has no valid code of the signing key, so it is not used: somebody else wrote it, or it is older than the key. Remove the file, and check whether an account must be enabled by hand.`,
        { sent: false },
      );
    }
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`${file} is damaged: the contained person cannot be read from it. Remove the file, and check whether an account must be enabled by hand.`,
      { sent: false },
    );
  }
}

/** The stores of one appliance: the memory of this process and every folder that an operation or node named. */
class ContainmentStores {
  readonly #appliance: string;
  readonly #memory = new MemoryStore();
  readonly #folders = new Map<string, FolderStore>();

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  /** Returns the store of a folder, or the memory store. The latest signing key applies; a gateway without a key does not remove the check. */
  forFolder(folder: string | undefined, signer?: RecordSigner): ContainmentStore {
    if (folder === undefined) return this.#memory;
    const path = resolve(folder);
    let store = this.#folders.get(path);
    if (!store || (signer && !store.hasSigner(signer))) this.#folders.set(path, (store = new FolderStore(path, this.#appliance, signer)));
    return store;
  }

  get all(): readonly ContainmentStore[] {
    const paths = [...this.#folders].sort(([a], [b]) => (a < b ? -1 : 1));
    return [this.#memory, ...paths.map(([, store]) => store)];
  }
}

const storesByAppliance = createProcessMap<ContainmentStores>('containment stores');

/** The containment stores by appliance hash. */
export function getContainmentStores(appliance: string): ContainmentStores {
  let stores = storesByAppliance.get(appliance);
  if (!stores) storesByAppliance.set(appliance, (stores = new ContainmentStores(appliance)));
  return stores;
}

/** A containment with its store. */
export interface StoredContainment {
  readonly record: ContainmentRecord;
  readonly store: ContainmentStore;
}

/** Runs `work` while no other process changes the stores. Folders are locked in sorted order, so that two processes cannot deadlock. */
export function runExclusiveInAllStores<T>(appliance: string, work: () => Promise<T>): Promise<T> {
  return getContainmentStores(appliance).all.reduceRight<() => Promise<T>>((inner, store) => () => store.runExclusive(inner), work)();
}

/** Reads all containments. Errors: the first fault of a store. */
export async function readContainments(appliance: string): Promise<StoredContainment[]> {
  const { containments, fault } = await tryReadContainments(appliance);
  if (fault) throw fault;
  return containments;
}

/** Time limit for reading a folder. A share that does not respond must not stop the other containments. */
const READ_TIME_LIMIT_MS = 5000;

/** Reads a store. Returns an error if it does not respond in time. */
async function readWithTimeLimit(store: ContainmentStore): Promise<ContainmentStoreContents> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<ContainmentStoreContents>((resolve) => {
    const message = safeMessage`${store.location} did not respond within ${READ_TIME_LIMIT_MS / 1000} s, so its containments are not enforced now. Check whether a share is unreachable or a file in it is not a regular file.`;
    const expire = (): void => resolve({ records: [], fault: new GatewayError('TIMEOUT', message, { sent: false }) });
    timer = setTimeout(expire, READ_TIME_LIMIT_MS);
    timer.unref();
  });
  return Promise.race([store.readAll(), timeout]).finally(() => clearTimeout(timer));
}

/** Reads all containments that can be read, and the first fault. */
export async function tryReadContainments(
  appliance: string,
): Promise<{ containments: StoredContainment[]; fault: GatewayError | undefined }> {
  const containments: StoredContainment[] = [];
  let fault: GatewayError | undefined;
  for (const store of getContainmentStores(appliance).all) {
    const contents = await readWithTimeLimit(store);
    fault ??= contents.fault;
    for (const record of contents.records) containments.push({ record, store });
  }
  return { containments, fault };
}
