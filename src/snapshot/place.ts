import { CONFIGURATION, configurationPath, encodeSegment } from '../model/path';

/** No configuration is nested deeper; links that lead deeper lead in circles. */
export const DEEPEST = 64;

/**
 * The one way to write the path of a resource, whoever linked to it: each segment decoded and encoded again, without a slash at its end.
 * Errors: `BAD_INPUT` for what leaves the configuration of this appliance.
 */
export function placeOf(path: string | readonly string[], prefix: string): string {
  const [, ...segments] = configurationPath(path, prefix).slice(CONFIGURATION.length).split('/');
  const names = segments.filter((segment) => segment !== '');
  return CONFIGURATION + names.map((segment) => `/${encodeSegment(decodeURIComponent(segment))}`).join('');
}

/** The segments below the root of the configuration, as they stand in the path. */
export function segmentsOf(place: string): string[] {
  return place.length === CONFIGURATION.length ? [] : place.slice(CONFIGURATION.length + 1).split('/');
}

export function placeFrom(segments: readonly string[]): string {
  return [CONFIGURATION, ...segments].join('/');
}

/** Whether a place is that one or lies below it. */
export function isWithin(place: string, root: string): boolean {
  return place === root || (place.startsWith(root) && place[root.length] === '/');
}

/** Whether a place is, or lies below, one of these; in as many steps as the place has segments. */
export function isWithinAny(place: string, roots: ReadonlySet<string>): boolean {
  if (roots.size === 0) return false;
  for (let end = place.length; end > 0; end = place.lastIndexOf('/', end - 1)) if (roots.has(place.slice(0, end))) return true;
  return false;
}
