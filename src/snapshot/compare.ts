import { compareWhole, type Difference, type TreeComparison } from '../change/compare';
import { badInput } from '../model/error';
import type { JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { sentence } from '../model/sentence';
import { crawl, noteCrawled } from './crawl';
import { Ignore } from './ignore';
import { FORMAT } from './manifest';
import { isWithin, isWithinAny } from './place';
import { referenceOfFolder, referenceOfMessage, referenceOfOther, type Reference } from './reference';
import { isBare, kept } from './resource';
import { rootOf } from './take';
import { textOfComparison } from './text';

export interface CompareInput {
  readonly with?: JsonObject;
  readonly folder?: string;
  readonly other?: string;
  readonly path?: string | string[];
  readonly ignore?: string[];
}

/**
 * What was, in a snapshot or at another appliance, against what the configuration is now. Of a snapshot in a folder one resource at a time
 * is in memory. Errors: `BAD_INPUT`; those of reads.
 */
export async function compareSnapshot(input: CompareInput, call: Call): Promise<TreeComparison> {
  const reference = await referenceOf(input, call);
  const root = input.path === undefined ? reference.path : rootOf(input.path, call);
  if (!isWithin(root, reference.path)) throw badInput(sentence`path is ${root}, but ${reference.label} begins at ${reference.path}.`);
  const comparing = new Comparing(reference, new Ignore(input.ignore).with(reference.ignore));
  const comparison = await comparing.run(root, call);
  call.note({ text: textOfComparison(comparison, call.settings.name, reference.label) });
  return comparison;
}

/** Errors: `BAD_INPUT` unless there is exactly one. */
async function referenceOf({ with: given, folder, other, path, ignore }: CompareInput, call: Call): Promise<Reference> {
  // A payload that is something else is none: with a folder or another appliance, nobody has asked for it.
  const snapshot = given?.['format'] === FORMAT || (folder === undefined && other === undefined) ? given : undefined;
  if ([snapshot, folder, other].filter((one) => one !== undefined).length !== 1)
    throw badInput('Give exactly one of with (a snapshot), folder (of a snapshot) and other (the name of another appliance).');
  if (snapshot) return referenceOfMessage(snapshot);
  if (folder !== undefined) return referenceOfFolder(folder);
  return referenceOfOther(other ?? '', rootOf(path, call), new Ignore(ignore), call);
}

class Comparing {
  readonly #reference: Reference;
  readonly #ignore: Ignore;
  /** What is there, and how it differs; by place, since a resource may be read again. */
  readonly #present = new Map<string, 'added' | readonly Difference[]>();

  constructor(reference: Reference, ignore: Ignore) {
    this.#reference = reference;
    this.#ignore = ignore;
  }

  async run(root: string, call: Call): Promise<TreeComparison> {
    const crawled = await crawl({ root, ignore: this.#ignore, take: (place, resource) => this.#take(place, resource) }, call);
    noteCrawled({ ...crawled, forbidden: new Set([...crawled.forbidden, ...this.#reference.unknown]) }, call);
    for (const place of [...this.#present.keys()]) if (isWithinAny(place, crawled.vanished)) this.#present.delete(place);
    const removed: string[] = [];
    for (const place of this.#reference.places) {
      if (this.#present.has(place) || !isWithin(place, root) || this.#ignore.place(place) || isWithinAny(place, crawled.forbidden))
        continue;
      if (!isBare(await this.#before(place))) removed.push(place);
    }
    const added: string[] = [];
    const changed: Difference[] = [];
    for (const [place, found] of [...this.#present].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (found === 'added') added.push(place);
      else for (const difference of found) changed.push(difference);
    }
    return { equal: added.length + removed.length + changed.length === 0, added, removed: removed.sort(), changed };
  }

  async #take(place: string, resource: JsonObject): Promise<void> {
    const before = await this.#reference.read(place);
    if (before !== undefined) {
      this.#present.set(place, compareWhole(place, this.#ignore.resource(place, before), kept(resource)));
    } else if (!isBare(resource) && !isWithinAny(place, this.#reference.unknown)) this.#present.set(place, 'added');
  }

  /** Nothing of what does not count. */
  async #before(place: string): Promise<JsonObject> {
    return this.#ignore.resource(place, (await this.#reference.read(place)) ?? {});
  }
}
