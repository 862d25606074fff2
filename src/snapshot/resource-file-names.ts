import { createHash } from 'node:crypto';
import { encodeSegment } from '../model/path';
import { joinResourcePath, splitResourcePath } from './resource-path';

/** Of the root, which has no segment. A lone percent sign stands in no address. */
const ROOT_NAME = '%';
/** What marks a name that does not tell its place any more; such a place stands in the manifest of the folder. */
const HASH_MARKER = '%~';
/** File systems take 255 bytes; the name of a file that is being written is longer. */
const MAX_NAME_LENGTH = 180;
const RESERVED_NAME = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin%24|conout%24)(?:\.|$)/i;
const SUFFIX = '.json';

/** Segments of a file's path below its folder, for the place of a resource. `alike`: places whose segment differs from another in case alone. */
export function toFileSegments(path: string, caseCollisions: ReadonlySet<string>): string[] {
  const segments = splitResourcePath(path);
  const names = segments.map((segment, index) => {
    const hasCaseCollision = caseCollisions.size > 0 && caseCollisions.has(joinResourcePath(segments.slice(0, index + 1)));
    return toFileName(segment, hasCaseCollision, index < segments.length - 1);
  });
  const last = names.pop() ?? ROOT_NAME;
  return [...names, last + SUFFIX];
}

/** The place that a file is of, or undefined where its name tells none, or is none of ours. */
export function parseFileSegments(names: readonly string[]): string | undefined {
  const [last = '', ...folders] = [...names].reverse();
  if (!last.endsWith(SUFFIX)) return undefined;
  const segments = [...folders.reverse(), last.slice(0, -SUFFIX.length)];
  if (segments.length === 1 && segments[0] === ROOT_NAME) return joinResourcePath([]);
  try {
    const path = joinResourcePath(segments.map((segment) => encodeSegment(decodeURIComponent(segment))));
    return segments.includes('') || toFileSegments(path, NO_COLLISIONS).join('/') !== names.join('/') ? undefined : path;
  } catch {
    return undefined;
  }
}

const NO_COLLISIONS: ReadonlySet<string> = new Set();

/** Whether the name of a file tells its place: else the manifest has to. */
export function hasRecoverablePath(names: readonly string[]): boolean {
  return !names.some((name) => name.includes(HASH_MARKER));
}

/** Segments as they stand in the address, but for those that some file system takes for another, or does not take at all. */
function toFileName(segment: string, hasCaseCollision: boolean, isFolder: boolean): string {
  // `~` is for short names of Windows, which Git refuses.
  let name = segment.replaceAll('~', '%7E').replace(/\.$/, '%2E');
  if (RESERVED_NAME.test(name)) name = `%${name.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`;
  // It would be the name of a file beside it.
  if (isFolder && /\.json$/i.test(name)) name = `${name.slice(0, -5)}%2E${name.slice(-4)}`;
  if (!hasCaseCollision && name.length <= MAX_NAME_LENGTH) return name;
  const hash = createHash('sha256').update(segment).digest('hex').slice(0, 12);
  return `${name.slice(0, MAX_NAME_LENGTH - 16).replace(/%[0-9A-F]?$/, '')}${HASH_MARKER}${hash}`;
}

/** Those of places that lie beside each other of which file systems could take one for another. */
export function findCaseCollisions(paths: readonly string[]): string[] {
  if (paths.length < 2) return [];
  const first = new Map<string, string>();
  const caseCollisions = new Set<string>();
  for (const path of paths) {
    const key = path.toLowerCase();
    const other = first.get(key);
    if (other === undefined) first.set(key, path);
    else if (other !== path) caseCollisions.add(other).add(path);
  }
  return [...caseCollisions];
}
