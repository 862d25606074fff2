import { resolve } from 'node:path';
import { compareWhole, isLinks, isSecretKey, SECRET, step, type Place } from '../change/compare';
import { ensure, noteEnsured, type Ensured } from '../change/ensure';
import { readIfThere } from '../change/read';
import type { Many } from '../model/envelope';
import { badInput } from '../model/error';
import { inParallel } from '../model/in-parallel';
import { isObject, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { sentence } from '../model/sentence';
import { SnapshotFolder, type Entry } from './folder';
import { Ignore } from './ignore';
import { isWithin, isWithinAny } from './place';
import { isBare, kept } from './resource';
import { originOf, refuseOtherAppliance, rootOf } from './take';
import { Turns } from './turns';

export interface RevertInput {
  readonly folder: string;
  readonly path: readonly string[];
}

const READS_AT_ONCE = 16;

/**
 * Puts back what the folder holds at and below these paths: each resource is compared first, and written only where it differs, as by an
 * ensure; those above come before those below. What is there besides stays. Errors: `BAD_INPUT` before anything is written, also for a
 * path of which the folder holds nothing; that of the first resource when all of them failed.
 */
export async function revertSnapshot({ folder: place, path }: RevertInput, call: Call): Promise<Many> {
  const folder = await SnapshotFolder.existing(resolve(place));
  const entries = await entriesOf(
    folder,
    path.map((one) => rootOf(one, call)),
  );
  // A file that is damaged has to be known before anything is written.
  await inParallel(entries, READS_AT_ONCE, ([, names]) => folder.read(names).then(() => undefined));
  if (entries.length > 0) refuseOtherAppliance(folder.manifest, await originOf(call, folder.manifest.path, new Ignore()), folder.folder);
  return new Reverting(folder, call).run(entries);
}

async function entriesOf(
  folder: SnapshotFolder & { readonly manifest: { readonly path: string } },
  roots: readonly string[],
): Promise<readonly Entry[]> {
  const wanted = new Set(roots);
  const all = await folder.entries(folder.manifest.path);
  const found = new Map(all.filter(([place]) => isWithinAny(place, wanted)));
  const nothing = roots.find((root) => ![...found.keys()].some((place) => isWithin(place, root)));
  if (nothing !== undefined) throw badInput(sentence`${folder.folder} holds nothing of ${nothing}. Nothing was sent.`);
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
}

class Reverting {
  readonly #folder: SnapshotFolder;
  readonly #call: Call;
  readonly #ensured = new Map<string, Ensured>();
  readonly #incomplete = new Map<string, readonly Place[]>();

  constructor(folder: SnapshotFolder, call: Call) {
    this.#folder = folder;
    this.#call = call;
  }

  async run(entries: readonly Entry[]): Promise<Many> {
    const places = entries.map(([place]) => place);
    const turns = new Turns(places, 2 * this.#call.settings.connections);
    const work = async ([place, names]: Entry, own: Call): Promise<void> => {
      await turns.take(place, async () => this.#one(place, await this.#folder.read(names), own));
    };
    try {
      return await this.#call.eachBy(entries, work, ([place]) => place);
    } finally {
      noteEnsured([...this.#ensured.values()], this.#call);
      const incomplete = [...this.#incomplete.values()].flat();
      if (incomplete.length > 0) this.#call.note({ incomplete });
    }
  }

  async #one(place: string, stored: JsonObject, call: Call): Promise<void> {
    // A list of nothing that is not there is as it should be.
    if (isBare(stored) && !(await readIfThere(place, call))) return void call.unchanged();
    const incomplete: Place[] = [];
    const body = (present: JsonObject | undefined): JsonObject => {
      incomplete.length = 0;
      return bodyOf(stored, present ?? {}, (field) => incomplete.push({ path: place, field }), '');
    };
    const ensured = await ensure({ path: place, body }, call);
    this.#ensured.set(place, ensured);
    if (ensured.differs) this.#incomplete.set(place, [...incomplete, ...besides(place, stored, ensured.resource ?? {})]);
  }
}

/** Fields that came since, which no write of the others takes away. */
function besides(place: string, stored: JsonObject, now: JsonObject): Place[] {
  return compareWhole(place, stored, kept(now))
    .filter(({ before, after }) => before === null && after !== SECRET)
    .map(({ path, field }) => ({ path, field }));
}

/** What is sent: what was kept, without the secrets that were replaced there; those that the appliance has stay. */
function bodyOf(stored: JsonObject, present: JsonObject, lost: (field: string) => void, field: string): JsonObject {
  const body: [string, unknown][] = [];
  for (const [key, value] of Object.entries(stored)) {
    const at = field + step(key);
    const there = Object.hasOwn(present, key) ? present[key] : undefined;
    if (value === SECRET && isSecretKey(key, stored)) lost(at);
    else if (isObject(value)) body.push([key, bodyOf(value, isObject(there) ? there : {}, lost, at)]);
    else if (!Array.isArray(value)) body.push([key, value]);
    // A list of nothing where links are now: they are resources of their own.
    else if (value.length > 0 || !isLinks(there)) body.push([key, itemsOf(value, there, lost, at)]);
  }
  return Object.fromEntries(body);
}

/** An item that is as it was goes back with its secrets: it is sent as it is there. */
function itemsOf(stored: readonly unknown[], there: unknown, lost: (field: string) => void, field: string): unknown[] {
  const present: unknown[] = Array.isArray(there) ? there : [];
  return stored.map((item, index) => {
    const now = present[index];
    if (!isObject(item)) return item;
    if (isObject(now) && compareWhole('', item, kept(now)).length === 0) return now;
    return bodyOf(item, {}, lost, `${field}/${index}`);
  });
}
