import { createHash } from 'node:crypto';
import { encodeSegment } from '../model/path';
import { placeFrom, segmentsOf } from './place';

/** Of the root, which has no segment. A lone percent sign stands in no address. */
const ROOT = '%';
/** What marks a name that does not tell its place any more; such a place stands in the manifest of the folder. */
const HASHED = '%~';
/** File systems take 255 bytes; the name of a file that is being written is longer. */
const LONGEST = 180;
const RESERVED = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin%24|conout%24)(?:\.|$)/i;
const SUFFIX = '.json';

/** Segments of a file's path below its folder, for the place of a resource. `alike`: places whose segment differs from another in case alone. */
export function fileOf(place: string, alike: ReadonlySet<string>): string[] {
  const segments = segmentsOf(place);
  const names = segments.map((segment, index) => {
    const isAlike = alike.size > 0 && alike.has(placeFrom(segments.slice(0, index + 1)));
    return nameOf(segment, isAlike, index < segments.length - 1);
  });
  const last = names.pop() ?? ROOT;
  return [...names, last + SUFFIX];
}

/** The place that a file is of, or undefined where its name tells none, or is none of ours. */
export function placeOfFile(names: readonly string[]): string | undefined {
  const [last = '', ...folders] = [...names].reverse();
  if (!last.endsWith(SUFFIX)) return undefined;
  const segments = [...folders.reverse(), last.slice(0, -SUFFIX.length)];
  if (segments.length === 1 && segments[0] === ROOT) return placeFrom([]);
  try {
    const place = placeFrom(segments.map((segment) => encodeSegment(decodeURIComponent(segment))));
    return segments.includes('') || fileOf(place, NONE).join('/') !== names.join('/') ? undefined : place;
  } catch {
    return undefined;
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Whether the name of a file tells its place: else the manifest has to. */
export function tellsPlace(names: readonly string[]): boolean {
  return !names.some((name) => name.includes(HASHED));
}

/** Segments as they stand in the address, but for those that some file system takes for another, or does not take at all. */
function nameOf(segment: string, isAlike: boolean, isFolder: boolean): string {
  // `~` is for short names of Windows, which Git refuses.
  let name = segment.replaceAll('~', '%7E').replace(/\.$/, '%2E');
  if (RESERVED.test(name)) name = `%${name.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`;
  // It would be the name of a file beside it.
  if (isFolder && /\.json$/i.test(name)) name = `${name.slice(0, -5)}%2E${name.slice(-4)}`;
  if (!isAlike && name.length <= LONGEST) return name;
  const hash = createHash('sha256').update(segment).digest('hex').slice(0, 12);
  return `${name.slice(0, LONGEST - 16).replace(/%[0-9A-F]?$/, '')}${HASHED}${hash}`;
}

/** Those of places that lie beside each other of which file systems could take one for another. */
export function alikeAmong(places: readonly string[]): string[] {
  if (places.length < 2) return [];
  const first = new Map<string, string>();
  const alike = new Set<string>();
  for (const place of places) {
    const key = place.toLowerCase();
    const other = first.get(key);
    if (other === undefined) first.set(key, place);
    else if (other !== place) alike.add(other).add(place);
  }
  return [...alike];
}
