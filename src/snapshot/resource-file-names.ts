import { createHash } from 'node:crypto';
import { encodePathSegment } from '../model/path';
import { splitResourcePath } from '../model/path';
import { joinResourcePath } from './resource-path';

/** File name of the root, which has no segment. No address contains a lone percent sign. */
const ROOT_NAME = '%';
/** Marks a name that is shortened by a hash. The manifest holds the path of such a file. */
const HASH_MARKER = '%~';
/** Maximum length of a file name. File systems allow 255 bytes, and a partial file has a longer name. */
const MAX_NAME_LENGTH = 180;
const RESERVED_NAME = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin%24|conout%24)(?:\.|$)/i;
const SUFFIX = '.json';

/** Returns the file path segments of a resource. `caseCollisions` are paths that differ from another only in case. */
export function toFileSegments(path: string, caseCollisions: ReadonlySet<string>): string[] {
  const segments = splitResourcePath(path);
  const names = segments.map((segment, index) => {
    const hasCaseCollision = caseCollisions.size > 0 && caseCollisions.has(joinResourcePath(segments.slice(0, index + 1)));
    return toFileName(segment, hasCaseCollision, index < segments.length - 1);
  });
  const last = names.pop() ?? ROOT_NAME;
  return [...names, last + SUFFIX];
}

/** Returns the path of a resource from its file name; undefined if the name does not contain it or is foreign. */
export function parseFileSegments(names: readonly string[]): string | undefined {
  const [last = '', ...folders] = [...names].reverse();
  if (!last.endsWith(SUFFIX)) return undefined;
  const segments = [...folders.reverse(), last.slice(0, -SUFFIX.length)];
  if (segments.length === 1 && segments[0] === ROOT_NAME) return joinResourcePath([]);
  try {
    const path = joinResourcePath(segments.map((segment) => encodePathSegment(decodeURIComponent(segment))));
    return segments.includes('') || toFileSegments(path, NO_COLLISIONS).join('/') !== names.join('/') ? undefined : path;
  } catch {
    return undefined;
  }
}

/** File of the root resource. */
export const ROOT_FILE_NAME = ROOT_NAME + SUFFIX;

/** Returns every name that the file or the folder of a first segment can have, also one that is shortened by a hash. */
export function getTopLevelNames(segment: string): string[] {
  return [false, true].flatMap((hasCaseCollision) => [
    toFileName(segment, hasCaseCollision, true),
    toFileName(segment, hasCaseCollision, false) + SUFFIX,
  ]);
}

const NO_COLLISIONS: ReadonlySet<string> = new Set();

/** Returns whether the file name contains the path of the resource. */
export function isPathInFileName(names: readonly string[]): boolean {
  return !names.some((name) => name.includes(HASH_MARKER));
}

/** Encodes segments that some file systems would confuse or refuse. */
function toFileName(segment: string, hasCaseCollision: boolean, isFolder: boolean): string {
  // Git refuses `~`, which marks short names on Windows.
  let name = segment.replaceAll('~', '%7E').replace(/\.$/, '%2E');
  if (RESERVED_NAME.test(name)) name = `%${name.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`;
  // Otherwise the folder could have the name of a file beside it.
  if (isFolder && /\.json$/i.test(name)) name = `${name.slice(0, -5)}%2E${name.slice(-4)}`;
  if (!hasCaseCollision && name.length <= MAX_NAME_LENGTH) return name;
  const hash = createHash('sha256').update(segment).digest('hex').slice(0, 12);
  return `${name.slice(0, MAX_NAME_LENGTH - 16).replace(/%[0-9A-F]?$/, '')}${HASH_MARKER}${hash}`;
}

/** Returns sibling paths that a file system could confuse because they differ only in case. */
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
