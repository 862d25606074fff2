import { CONFIGURATION_ROOT, toConfigurationPath, encodeSegment } from '../model/path';

/** No configuration is nested deeper; links that lead deeper lead in circles. */
export const MAX_PATH_DEPTH = 64;

/**
 * The one way to write the path of a resource, whoever linked to it: each segment decoded and encoded again, without a slash at its end.
 * Errors: `BAD_INPUT` for what leaves the configuration of this appliance.
 */
export function normalizePath(path: string | readonly string[], prefix: string): string {
  const [, ...segments] = toConfigurationPath(path, prefix).slice(CONFIGURATION_ROOT.length).split('/');
  const names = segments.filter((segment) => segment !== '');
  return CONFIGURATION_ROOT + names.map((segment) => `/${encodeSegment(decodeURIComponent(segment))}`).join('');
}

/** The segments below the root of the configuration, as they stand in the path. */
export function splitResourcePath(path: string): string[] {
  return path.length === CONFIGURATION_ROOT.length ? [] : path.slice(CONFIGURATION_ROOT.length + 1).split('/');
}

export function joinResourcePath(segments: readonly string[]): string {
  return [CONFIGURATION_ROOT, ...segments].join('/');
}

/** Whether a place is that one or lies below it. */
export function isPathWithin(path: string, root: string): boolean {
  return path === root || (path.startsWith(root) && path[root.length] === '/');
}

/** Whether a place is, or lies below, one of these; in as many steps as the place has segments. */
export function isPathWithinAny(path: string, roots: ReadonlySet<string>): boolean {
  if (roots.size === 0) return false;
  for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) if (roots.has(path.slice(0, end))) return true;
  return false;
}
