import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { safeMessage } from '../model/safe-message';
import { toFileError } from '../files/file-error';
import { readJsonFile } from '../files/read-json-file';
import { AtomicFile, removeStalePartials, syncFolder } from '../files/atomic-file';
import { retryWhileLocked } from '../files/retry-locked';
import { withLockFile } from '../files/lock-file';
import { isContainmentRecord, type ContainmentRecord } from './containment-record';

/** What was found. A fault at one of them does not keep anybody from the others. */
export interface StoreContents {
  readonly records: readonly ContainmentRecord[];
  readonly fault?: GatewayError | undefined;
}

/** Where it is kept who is kept out. */
export interface ContainmentStore {
  readAll(): Promise<StoreContents>;
  put(record: ContainmentRecord): Promise<void>;
  /** Whether it was there. */
  remove(id: string): Promise<boolean>;
  /** Runs while no other process that shares it does. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>;
}

/** Of this process: a deploy keeps it, a restart does not. */
class MemoryStore implements ContainmentStore {
  readonly #records = new Map<string, ContainmentRecord>();

  readAll(): Promise<StoreContents> {
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
 * One file for each, written beside and renamed, for its owner only. Errors: as of `fileFault`; `BAD_CONFIG` for a file of that name
 * which is none of ours: somebody might be let in because of it.
 */
class FolderStore implements ContainmentStore {
  readonly #folder: string;
  readonly #appliance: string;

  constructor(folder: string, appliance: string) {
    this.#folder = folder;
    this.#appliance = appliance;
  }

  async readAll(): Promise<StoreContents> {
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
      await partial.write(Buffer.from(`${JSON.stringify(record, null, 2)}\n`, 'utf8'));
      await partial.close(true);
      await partial.commit();
      await syncFolder(this.#folder);
      await removeStalePartials(target);
    } catch (error) {
      await partial?.discard();
      throw toFileError(error, target, 'written');
    }
  }

  async remove(id: string): Promise<boolean> {
    const file = join(this.#folder, toRecordFileName(id));
    try {
      await retryWhileLocked(() => rm(file));
      await syncFolder(this.#folder);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw toFileError(error, file, 'written');
    }
  }

  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return withLockFile(join(this.#folder, `contained-${this.#appliance.slice(-16)}.lock`), work);
  }

  async #read(name: string): Promise<ContainmentRecord | undefined> {
    const file = join(this.#folder, name);
    const found = await readJsonFile(file);
    // Another one has released it meanwhile.
    if (!found) return undefined;
    const record = found.value;
    if (isContainmentRecord(record) && toRecordFileName(record.id) === name) return record;
    throw new GatewayError(
      'BAD_CONFIG',
      safeMessage`${file} is damaged: it does not tell whom it keeps out. Remove it, and look whether an account has to be enabled by hand.`,
      { sent: false },
    );
  }
}

/** The places of one appliance that this process knows: its memory, and every folder that was named. */
class ContainmentStores {
  readonly #appliance: string;
  readonly #memory = new MemoryStore();
  readonly #folders = new Map<string, ContainmentStore>();

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  /** The one to write into. */
  forFolder(folder: string | undefined): ContainmentStore {
    if (folder === undefined) return this.#memory;
    const path = resolve(folder);
    let store = this.#folders.get(path);
    if (!store) this.#folders.set(path, (store = new FolderStore(path, this.#appliance)));
    return store;
  }

  get all(): readonly ContainmentStore[] {
    const paths = [...this.#folders].sort(([a], [b]) => (a < b ? -1 : 1));
    return [this.#memory, ...paths.map(([, store]) => store)];
  }
}

const storesByAppliance = new Map<string, ContainmentStores>();

/** By the hash of the appliance. */
export function getContainmentStores(appliance: string): ContainmentStores {
  let stores = storesByAppliance.get(appliance);
  if (!stores) storesByAppliance.set(appliance, (stores = new ContainmentStores(appliance)));
  return stores;
}

/** As if the process had just started. For tests. */
export function resetContainmentStores(): void {
  storesByAppliance.clear();
}

/** One that is kept out, and where that is kept. */
export interface StoredContainment {
  readonly record: ContainmentRecord;
  readonly store: ContainmentStore;
}

/** Runs while nobody else changes who is kept out: in the order in which the folders sort, or two processes would wait for each other. */
export function runExclusiveInAllStores<T>(appliance: string, work: () => Promise<T>): Promise<T> {
  return getContainmentStores(appliance).all.reduceRight<() => Promise<T>>((inner, store) => () => store.runExclusive(inner), work)();
}

/** All who are kept out. Errors: the first fault, where somebody cannot be read. */
export async function readContainments(appliance: string): Promise<StoredContainment[]> {
  const { containments, fault } = await tryReadContainments(appliance);
  if (fault) throw fault;
  return containments;
}

/** Those who can be read, and what is wrong with the others. */
export async function tryReadContainments(
  appliance: string,
): Promise<{ containments: StoredContainment[]; fault: GatewayError | undefined }> {
  const containments: StoredContainment[] = [];
  let fault: GatewayError | undefined;
  for (const store of getContainmentStores(appliance).all) {
    const contents = await store.readAll();
    fault ??= contents.fault;
    for (const record of contents.records) containments.push({ record, store });
  }
  return { containments, fault };
}
