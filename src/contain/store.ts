import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { asGatewayError, GatewayError } from '../model/error';
import { sentence } from '../model/sentence';
import { fileFault } from '../transfer/file-fault';
import { readJsonFile } from '../transfer/json-file';
import { PartialFile, sweep, syncFolder } from '../transfer/partial-file';
import { patiently } from '../transfer/patience';
import { inTurn } from './turn';
import { isContained, type Contained } from './record';

/** What was found. A fault at one of them does not keep anybody from the others. */
export interface Found {
  readonly records: readonly Contained[];
  readonly fault?: GatewayError | undefined;
}

/** Where it is kept who is kept out. */
export interface Store {
  all(): Promise<Found>;
  put(record: Contained): Promise<void>;
  /** Whether it was there. */
  remove(id: string): Promise<boolean>;
  /** Runs while no other process that shares it does. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** Of this process: a deploy keeps it, a restart does not. */
class MemoryStore implements Store {
  readonly #records = new Map<string, Contained>();

  all(): Promise<Found> {
    return Promise.resolve({ records: [...this.#records.values()] });
  }

  put(record: Contained): Promise<void> {
    this.#records.set(record.id, record);
    return Promise.resolve();
  }

  remove(id: string): Promise<boolean> {
    return Promise.resolve(this.#records.delete(id));
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
}

const NAME = /^contained-([0-9a-f-]{36})\.json$/;
const nameOf = (id: string): string => `contained-${id}.json`;

/**
 * One file for each, written beside and renamed, for its owner only. Errors: as of `fileFault`; `BAD_CONFIG` for a file of that name
 * which is none of ours: somebody might be let in because of it.
 */
class FolderStore implements Store {
  readonly #folder: string;
  readonly #appliance: string;

  constructor(folder: string, appliance: string) {
    this.#folder = folder;
    this.#appliance = appliance;
  }

  async all(): Promise<Found> {
    const records: Contained[] = [];
    let fault: GatewayError | undefined;
    try {
      for (const name of await readdir(this.#folder)) {
        if (!NAME.test(name)) continue;
        const record = await this.#read(name).catch((thrown: unknown) => void (fault ??= asGatewayError(thrown)));
        if (record?.appliance === this.#appliance) records.push(record);
      }
    } catch (error) {
      fault = fileFault(error, this.#folder, 'read');
    }
    return { records, fault };
  }

  async put(record: Contained): Promise<void> {
    const target = join(this.#folder, nameOf(record.id));
    let partial: PartialFile | undefined;
    try {
      partial = await PartialFile.create(target);
      await partial.write(Buffer.from(`${JSON.stringify(record, null, 2)}\n`, 'utf8'));
      await partial.close(true);
      await partial.commit();
      await syncFolder(this.#folder);
      await sweep(target);
    } catch (error) {
      await partial?.discard();
      throw fileFault(error, target, 'written');
    }
  }

  async remove(id: string): Promise<boolean> {
    const file = join(this.#folder, nameOf(id));
    try {
      await patiently(() => rm(file));
      await syncFolder(this.#folder);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw fileFault(error, file, 'written');
    }
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    return inTurn(join(this.#folder, `contained-${this.#appliance.slice(-16)}.lock`), work);
  }

  async #read(name: string): Promise<Contained | undefined> {
    const file = join(this.#folder, name);
    const found = await readJsonFile(file);
    // Another one has released it meanwhile.
    if (!found) return undefined;
    const record = found.value;
    if (isContained(record) && nameOf(record.id) === name) return record;
    throw new GatewayError(
      'BAD_CONFIG',
      sentence`${file} is damaged: it does not tell whom it keeps out. Remove it, and look whether an account has to be enabled by hand.`,
      { sent: false },
    );
  }
}

/** The places of one appliance that this process knows: its memory, and every folder that was named. */
class Places {
  readonly #appliance: string;
  readonly #memory = new MemoryStore();
  readonly #folders = new Map<string, Store>();

  constructor(appliance: string) {
    this.#appliance = appliance;
  }

  /** The one to write into. */
  of(folder: string | undefined): Store {
    if (folder === undefined) return this.#memory;
    const path = resolve(folder);
    let store = this.#folders.get(path);
    if (!store) this.#folders.set(path, (store = new FolderStore(path, this.#appliance)));
    return store;
  }

  get all(): readonly Store[] {
    const paths = [...this.#folders].sort(([one], [other]) => (one < other ? -1 : 1));
    return [this.#memory, ...paths.map(([, store]) => store)];
  }
}

const places = new Map<string, Places>();

/** By the hash of the appliance. */
export function placesOf(appliance: string): Places {
  let known = places.get(appliance);
  if (!known) places.set(appliance, (known = new Places(appliance)));
  return known;
}

/** As if the process had just started. For tests. */
export function forgetPlaces(): void {
  places.clear();
}

/** One that is kept out, and where that is kept. */
export interface Kept {
  readonly record: Contained;
  readonly store: Store;
}

/** Runs while nobody else changes who is kept out: in the order in which the folders sort, or two processes would wait for each other. */
export function aloneAt<T>(appliance: string, work: () => Promise<T>): Promise<T> {
  return placesOf(appliance).all.reduceRight<() => Promise<T>>((inner, store) => () => store.alone(inner), work)();
}

/** All who are kept out. Errors: the first fault, where somebody cannot be read. */
export async function allKept(appliance: string): Promise<Kept[]> {
  const { kept, fault } = await readable(appliance);
  if (fault) throw fault;
  return kept;
}

/** Those who can be read, and what is wrong with the others. */
export async function readable(appliance: string): Promise<{ kept: Kept[]; fault: GatewayError | undefined }> {
  const kept: Kept[] = [];
  let fault: GatewayError | undefined;
  for (const store of placesOf(appliance).all) {
    const found = await store.all();
    fault ??= found.fault;
    for (const record of found.records) kept.push({ record, store });
  }
  return { kept, fault };
}
