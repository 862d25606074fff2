import { CONFIGURATION_ROOT, toConfigurationPath, encodePathSegment } from '../model/path';

/** Maximum depth of a path. No configuration is nested deeper; deeper links form a loop. */
export const MAX_PATH_DEPTH = 64;

/**
 * Returns the canonical path of a resource: each segment is decoded and encoded again, without a trailing slash. Throws `BAD_INPUT` for a
 * path outside the configuration.
 */
export function normalizePath(path: string | readonly string[], prefix: string): string {
  const [, ...segments] = toConfigurationPath(path, prefix).slice(CONFIGURATION_ROOT.length).split('/');
  const names = segments.filter((segment) => segment !== '');
  return CONFIGURATION_ROOT + names.map((segment) => `/${encodePathSegment(decodeURIComponent(segment))}`).join('');
}

export function joinResourcePath(segments: readonly string[]): string {
  return [CONFIGURATION_ROOT, ...segments].join('/');
}

/** Returns whether a path is the root or below it. */
export function isPathWithin(path: string, root: string): boolean {
  return path === root || (path.startsWith(root) && path[root.length] === '/');
}

/** Returns whether a path is one of the roots or below one. Takes one step per segment. */
export function isPathWithinAny(path: string, roots: ReadonlySet<string>): boolean {
  if (roots.size === 0) return false;
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) if (roots.has(path.slice(0, end))) return true;
  return false;
}
