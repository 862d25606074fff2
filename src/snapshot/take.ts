import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { asGatewayError, badInput } from '../model/error';
import { inParallel } from '../model/in-parallel';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { sentence } from '../model/sentence';
import { readIdentity } from '../run/identity';
import { fileFault } from '../transfer/file-fault';
import { checkFolder } from '../transfer/folder';
import { crawl, noteCrawled, type Crawled } from './crawl';
import { SnapshotFolder } from './folder';
import { Ignore } from './ignore';
import { FORMAT, type Origin } from './manifest';
import { alikeAmong, fileOf } from './names';
import { isWithin, isWithinAny, placeOf, segmentsOf } from './place';
import { kept } from './resource';

export interface TakeInput {
  readonly path?: string | string[];
  readonly folder?: string;
  readonly ignore?: string[];
}

/** A snapshot as a message carries it; keys of `resources` are paths. */
export interface Snapshot {
  readonly format: 'gateway-snapshot/1';
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly release: string | null;
  /** Where it begins. */
  readonly path: string;
  readonly time: string;
  readonly ignore?: readonly string[];
  readonly resources: Readonly<Record<string, JsonObject>>;
}

/** What became of the files of a folder; counts of resources, `bytes` those of their files. */
export interface Taken {
  readonly folder: string;
  readonly resources: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly bytes: number;
}

const REMOVALS_AT_ONCE = 16;
const WAITED = 'Cancelled while it waited for another snapshot of the same appliance.';

/** The place that was asked for: everything, where nothing was. Errors: `BAD_INPUT`. */
export function rootOf(path: string | readonly string[] | undefined, call: Call): string {
  return placeOf(path ?? '/', call.settings.prefix);
}

/** The appliance that a snapshot is taken of. An account that may not read it all the same may read the configuration. */
export async function originOf(call: Call, root: string, ignore: Ignore): Promise<Origin> {
  const identity = await readIdentity(call).catch((thrown: unknown) => {
    const { answered } = asGatewayError(thrown);
    if (answered !== 'FORBIDDEN' && answered !== 'NOT_FOUND') throw thrown;
    return undefined;
  });
  return {
    appliance: call.settings.name,
    'serial-number': identity?.['serial-number'] ?? null,
    release: identity?.release ?? null,
    path: root,
    ignore: ignore.words,
  };
}

/** Takes a snapshot, into the folder if there is one. Errors: those of reads and of `fileFault`; what the folder held stays then. */
export async function takeSnapshot(input: TakeInput, call: Call): Promise<Snapshot | Taken> {
  const root = rootOf(input.path, call);
  const ignore = new Ignore(input.ignore);
  const { folder } = input;
  if (folder === undefined) return takeToMessage(root, ignore, call);
  const path = resolve(folder);
  await makeFolder(path);
  return call.exclusive(`snapshot ${path}`, () => takeToFolder(path, root, ignore, call), { cancelled: WAITED });
}

/** All resources below a place, by path, as they are kept. */
export async function readTree(
  root: string,
  ignore: Ignore,
  call: Call,
): Promise<{ resources: Map<string, JsonObject>; crawled: Crawled }> {
  const resources = new Map<string, JsonObject>();
  const take = (place: string, resource: JsonObject): Promise<void> => {
    resources.set(place, kept(resource));
    return Promise.resolve();
  };
  const crawled = await crawl({ root, ignore, take }, call);
  for (const place of resources.keys()) if (isWithinAny(place, crawled.vanished)) resources.delete(place);
  return { resources, crawled };
}

async function takeToMessage(root: string, ignore: Ignore, call: Call): Promise<Snapshot> {
  const { ignore: ignored, ...origin } = await originOf(call, root, ignore);
  const time = new Date().toISOString();
  const { resources, crawled } = await readTree(root, ignore, call);
  noteCrawled(crawled, call);
  const sorted = [...resources].sort(([one], [other]) => (one < other ? -1 : 1));
  return { format: FORMAT, ...origin, time, ...(ignored.length > 0 && { ignore: ignored }), resources: Object.fromEntries(sorted) };
}

/** One that is not there is made, in a folder that is. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fileFault(error, folder, 'written');
  }
  await checkFolder(folder);
}

async function takeToFolder(path: string, root: string, given: Ignore, call: Call): Promise<Taken> {
  const folder = await SnapshotFolder.open(path);
  const before = folder.manifest;
  // A part taken anew leaves the rest as it is, and what the whole does not count does not count in it either.
  const isPart = before !== undefined && root !== before.path && isWithin(root, before.path);
  const ignore = isPart ? given.with(before.ignore) : given;
  const origin = await originOf(call, root, ignore);
  if (before) refuseOther(before, origin, path);
  const taking = new Taking(folder);
  const crawled = await crawl(
    { root, ignore, take: (place, resource) => taking.write(place, resource), listed: (places) => taking.listed(places) },
    call,
  );
  const stays = await taking.removeOthers(root, crawled);
  noteCrawled(crawled, call);
  await folder.writeManifest(
    {
      ...origin,
      path: isPart ? before.path : root,
      ignore: isPart ? before.ignore : ignore.words,
      roots: taking.roots(stays, isPart ? before.roots : []),
    },
    Object.entries(before?.names ?? {}).filter(([, place]) => !isWithin(place, root) || stays.has(place)),
  );
  return { folder: path, ...taking.counts() };
}

/** Errors: `BAD_INPUT` for a folder of an appliance that has neither this name nor this serial number. */
export function refuseOtherAppliance(before: Origin, now: Origin, folder: string): void {
  const isSame =
    before.appliance === now.appliance || (before['serial-number'] !== null && before['serial-number'] === now['serial-number']);
  if (!isSame) throw badInput(sentence`${folder} holds the snapshot of ${before.appliance}. Give ${now.appliance} a folder of its own.`);
}

/** Two snapshots in one folder would each undo what the other wrote. */
function refuseOther(before: Origin, now: Origin, folder: string): void {
  refuseOtherAppliance(before, now, folder);
  if (!isWithin(now.path, before.path) && !isWithin(before.path, now.path))
    throw badInput(sentence`${folder} holds the snapshot of ${before.path}. Give that of ${now.path} a folder of its own.`);
}

/** One run into a folder. */
class Taking {
  readonly #folder: SnapshotFolder;
  /** Bytes of the files of this run, by place. */
  readonly #written = new Map<string, number>();
  readonly #added = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #alike = new Set<string>();
  #removed = 0;

  constructor(folder: SnapshotFolder) {
    this.#folder = folder;
  }

  /** Before one of them is read, those that a file system could take for one another are known. */
  listed(places: readonly string[]): void {
    for (const place of alikeAmong(places)) this.#alike.add(place);
  }

  async write(place: string, resource: JsonObject): Promise<void> {
    const { stored, bytes } = await this.#folder.write(place, resource, this.#alike);
    this.#written.set(place, bytes);
    // A resource that was read again is told once.
    if (stored === 'added') this.#added.add(place);
    else if (stored === 'changed' && !this.#added.has(place)) this.#changed.add(place);
  }

  /** Files of resources that are gone; what could not be read may still be there. Gives the places of those that stay from earlier. */
  async removeOthers(root: string, { forbidden, vanished }: Crawled): Promise<ReadonlySet<string>> {
    for (const place of [...this.#written.keys()]) if (isWithinAny(place, vanished)) await this.#takeBack(place);
    const entries = await this.#folder.entries(root);
    const stays = new Set<string>();
    const present = new Set(entries.map(([, names]) => names.join('/')));
    const files = new Map([...this.#written.keys()].map((place) => [fileOf(place, this.#alike).join('/'), place]));
    const lower = new Map([...files.keys()].map((file) => [file.toLowerCase(), file]));
    await inParallel(entries, REMOVALS_AT_ONCE, async ([place, names]) => {
      const file = names.join('/');
      if (files.get(file) === place) return;
      const other = lower.get(file.toLowerCase());
      if (!this.#written.has(place) && isWithinAny(place, forbidden)) stays.add(place);
      else if (other !== undefined && !present.has(other)) await this.#folder.respell(names, other.split('/'));
      else {
        await this.#folder.remove(names);
        if (!this.#written.has(place)) this.#removed++;
      }
    });
    return stays;
  }

  /** What was written by this run, and was gone before its end. */
  async #takeBack(place: string): Promise<void> {
    await this.#folder.remove(fileOf(place, this.#alike));
    this.#written.delete(place);
    this.#changed.delete(place);
    if (!this.#added.delete(place)) this.#removed++;
  }

  /** The segments right below the root that files of ours lie under. */
  roots(stays: ReadonlySet<string>, before: readonly string[]): readonly string[] {
    const roots = new Set(before);
    for (const places of [this.#written.keys(), stays]) {
      for (const place of places) {
        const [first] = segmentsOf(place);
        if (first !== undefined) roots.add(first);
      }
    }
    return [...roots];
  }

  counts(): Omit<Taken, 'folder'> {
    let bytes = 0;
    for (const size of this.#written.values()) bytes += size;
    const { size: added } = this.#added;
    return { resources: this.#written.size, added, changed: this.#changed.size, removed: this.#removed, bytes };
  }
}
