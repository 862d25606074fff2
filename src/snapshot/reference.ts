import { resolve } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { Call } from '../model/operation';
import { ours, sentence, type Sentence } from '../model/sentence';
import { SnapshotFolder } from './folder';
import type { Ignore } from './ignore';
import { FORMAT, isPlace, originOf } from './manifest';
import { isWithin } from './place';
import { readTree } from './take';

/** What the configuration is compared with. */
export interface Reference {
  /** How people call it. */
  readonly label: Sentence;
  /** Where it begins. */
  readonly path: string;
  /** What did not count when it was taken. */
  readonly ignore: readonly string[];
  readonly places: Iterable<string>;
  /** What could not be read of it: nothing is known of that. */
  readonly unknown: ReadonlySet<string>;
  read(place: string): Promise<JsonObject | undefined>;
}

const NONE: ReadonlySet<string> = new Set();

/** One that a message carries. Errors: `BAD_INPUT` for whatever else it is. */
export function referenceOfMessage(given: JsonObject): Reference {
  const origin = originOf(given);
  const { resources } = given;
  if (!origin || !isObject(resources))
    throw badInput(sentence`with is no snapshot: it has to be what Take a snapshot gives, with the format ${ours(FORMAT)}.`);
  const held = new Map(Object.entries(resources));
  for (const [place, resource] of held) {
    if (!isPlace(place) || !isWithin(place, origin.path) || !isObject(resource))
      throw badInput(sentence`with is damaged: ${place} is no resource of it.`);
  }
  const { time } = given;
  return {
    label: sentence`the snapshot of ${origin.appliance}${typeof time === 'string' ? ` at ${time}` : ''}`,
    path: origin.path,
    ignore: origin.ignore,
    places: held.keys(),
    unknown: NONE,
    read: (place) => Promise.resolve(held.get(place) as JsonObject | undefined),
  };
}

/** One in a folder: its files are read one by one, as they are needed. */
export async function referenceOfFolder(place: string): Promise<Reference> {
  const folder = await SnapshotFolder.existing(resolve(place));
  const { path, ignore } = folder.manifest;
  const files = new Map(await folder.entries(path));
  return {
    label: sentence`the snapshot in ${folder.folder}`,
    path,
    ignore,
    places: files.keys(),
    unknown: NONE,
    read: async (of) => {
      const names = files.get(of);
      return names && folder.read(names);
    },
  };
}

/** The configuration of another appliance, as it is now. */
export async function referenceOfOther(name: string, root: string, ignore: Ignore, call: Call): Promise<Reference> {
  const { resources, crawled } = await call.other(name, (other) => readTree(root, ignore, other));
  return {
    label: sentence`${name}`,
    path: root,
    ignore: [],
    places: resources.keys(),
    unknown: crawled.forbidden,
    read: (place) => Promise.resolve(resources.get(place)),
  };
}
