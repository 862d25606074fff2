import { join } from 'node:path';
import { badInput } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { CONFIGURATION } from '../model/path';
import { sentence } from '../model/sentence';
import { readJsonFile } from '../transfer/json-file';
import { isWithin, placeOf } from './place';
import { textOf } from './resource';

export const FORMAT = 'gateway-snapshot/1';
/** No segment begins with a dot, so that no resource has this name. */
export const MANIFEST = '.gateway-snapshot.json';

/** What a snapshot is of. */
export interface Origin {
  readonly appliance: string;
  readonly 'serial-number': string | null;
  readonly release: string | null;
  /** Where it begins. */
  readonly path: string;
  /** What did not count when it was taken. */
  readonly ignore: readonly string[];
}

/** What a folder tells of itself. Nothing in it changes by time alone: whoever keeps it in Git sees changes of the configuration. */
export interface Manifest extends Origin {
  /** The segments right below the root under which the files of the snapshot lie; whatever else lies there is not ours. */
  readonly roots: readonly string[];
  /** Places of files whose names do not tell them. */
  readonly names: Readonly<Record<string, string>>;
}

export function manifestText({ appliance, release, path, ignore, roots, names, ...more }: Manifest): string {
  const given = {
    format: FORMAT,
    appliance,
    'serial-number': more['serial-number'],
    release,
    path,
    ...(ignore.length > 0 && { ignore }),
    roots: [...roots].sort(),
    ...(Object.keys(names).length > 0 && {
      names: Object.fromEntries(Object.entries(names).sort(([one], [other]) => (one < other ? -1 : 1))),
    }),
  };
  return textOf(given);
}

/** Undefined where there is none. Errors: `BAD_INPUT` for one that is damaged. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const file = join(folder, MANIFEST);
  const found = await readJsonFile(file);
  if (!found) return undefined;
  const manifest = isObject(found.value) ? manifestOf(found.value) : undefined;
  if (!manifest)
    throw badInput(
      sentence`${file} is damaged, or of another version of this package. Get it back, or take the snapshot into an empty folder.`,
    );
  return manifest;
}

function manifestOf(found: JsonObject): Manifest | undefined {
  const origin = originOf(found);
  const { roots, names = {} } = found;
  if (!origin || !isTexts(roots) || !isObject(names)) return undefined;
  const places = Object.entries(names);
  if (!places.every(([, place]) => isPlace(place) && isWithin(place, origin.path))) return undefined;
  return { ...origin, roots, names: names as Record<string, string> };
}

/** The head of a snapshot, wherever it was kept; undefined for what is none. */
export function originOf(found: JsonObject): Origin | undefined {
  const { format, appliance, release, path, ignore = [], 'serial-number': serial } = found;
  if (format !== FORMAT || typeof appliance !== 'string' || !isPlace(path) || !isTexts(ignore)) return undefined;
  return { appliance, 'serial-number': textOrNull(serial), release: textOrNull(release), path, ignore };
}

export function isPlace(value: unknown): value is string {
  try {
    return typeof value === 'string' && value.startsWith(CONFIGURATION) && placeOf(value, '') === value;
  } catch {
    return false;
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
