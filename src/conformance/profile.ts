import { badInput } from '../model/error';
import { isObject } from '../model/json';
import { safeMessage } from '../model/safe-message';
import { parseKindsWithoutNull, type ProfileKeys } from './response-shape';

export const PROFILE_FORMAT = 'gateway-profile/1';

export type VariantValue = string | number | boolean;

/** One kind of request and its response, without values. */
export interface ProfileEndpoint {
  readonly method: string;
  /** Names are `*`. */
  readonly path: string;
  /** Set for requests that were not sent with the API key. */
  readonly credentials?: string;
  readonly status: number;
  readonly body: 'json' | 'html' | 'text' | 'empty';
  readonly keys: ProfileKeys;
  /** Size of the largest response. */
  readonly bytes: number;
}

/** The result of a check. It has no values, names, addresses or secrets, and the simulator can use it. */
export interface ConformanceProfile {
  readonly format: typeof PROFILE_FORMAT;
  readonly release: string;
  /** Names and values of the variants of the simulator. Those that could not be found are absent. */
  readonly variants: Readonly<Record<string, VariantValue>>;
  readonly endpoints: readonly ProfileEndpoint[];
  /** Milliseconds by method and path. */
  readonly times: Readonly<Record<string, { readonly count: number; readonly median: number; readonly p95: number }>>;
}

/** One response that differs between two profiles; null where a profile has none. */
export interface ProfileDifference {
  /** `release`, `variant <name>`, or method and path. */
  readonly subject: string;
  /** The part that differs: `value`, `status`, `body`, or the path of a key. */
  readonly part: string;
  readonly before: VariantValue | null;
  readonly after: VariantValue | null;
}

/** Reads a profile that was stored earlier. Errors: `BAD_INPUT`. */
export function parseProfile(value: unknown): ConformanceProfile {
  if (!isObject(value) || value['format'] !== PROFILE_FORMAT)
    throw badInput(safeMessage`The previous profile is not a profile: its "format" must be ${PROFILE_FORMAT}.`);
  const { release, variants, endpoints, times } = value;
  if (!isObject(variants) || !Array.isArray(endpoints) || !endpoints.every(isEndpoint))
    throw badInput('The previous profile is damaged: "variants" must be an object, and "endpoints" a list of objects.');
  const known = Object.entries(variants).flatMap(([name, one]) => (isVariantValue(one) ? [[name, one] as const] : []));
  return {
    format: PROFILE_FORMAT,
    release: typeof release === 'string' ? release : '',
    variants: Object.fromEntries(known),
    endpoints,
    times: isObject(times) ? (times as ConformanceProfile['times']) : {},
  };
}

function isVariantValue(value: unknown): value is VariantValue {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function isEndpoint(value: unknown): value is ProfileEndpoint {
  if (!isObject(value)) return false;
  const { method, path, status, keys } = value;
  return typeof method === 'string' && typeof path === 'string' && typeof status === 'number' && isObject(keys);
}

const CLOCK_TOLERANCE_SECONDS = 5;

/** Compares two profiles. Sizes, times and keys without a value are not compared, because they change by themselves. */
export function compareProfiles(before: ConformanceProfile, after: ConformanceProfile): ProfileDifference[] {
  const differences: ProfileDifference[] = [];
  const add = (subject: string, part: string, was: VariantValue | null, is: VariantValue | null): void => {
    if (was !== is) differences.push({ subject, part, before: was, after: is });
  };
  add('release', 'value', before.release, after.release);
  for (const name of namesOf(before.variants, after.variants)) {
    const [was, is] = [before.variants[name], after.variants[name]];
    // A variant that could not be tried this time is not a difference.
    if (was === undefined || is === undefined || isSameClock(name, was, is)) continue;
    add(`variant ${name}`, 'value', was, is);
  }
  const later = new Map(after.endpoints.map((endpoint) => [formatEndpointName(endpoint), endpoint]));
  for (const endpoint of before.endpoints) {
    const name = formatEndpointName(endpoint);
    const other = later.get(name);
    if (!other) continue;
    add(name, 'status', endpoint.status, other.status);
    add(name, 'body', endpoint.body, other.body);
    if (endpoint.status === other.status) compareKeys(endpoint.keys, other.keys, (key, was, is) => add(name, key, was, is));
  }
  return differences;
}

function isSameClock(name: string, was: VariantValue, is: VariantValue): boolean {
  return name === 'clockAhead' && Math.abs(Number(was) - Number(is)) <= CLOCK_TOLERANCE_SECONDS;
}

function compareKeys(before: ProfileKeys, after: ProfileKeys, add: (key: string, was: string | null, is: string | null) => void): void {
  for (const key of namesOf(before, after)) {
    const [was, is] = [before[key], after[key]];
    // An array that was empty says nothing about the keys of its items.
    if (isBelowEmptyArray(key, before) || isBelowEmptyArray(key, after)) continue;
    if (was === undefined || is === undefined) {
      if (!(was ?? is ?? '').endsWith('?')) add(key, was ?? null, is ?? null);
      continue;
    }
    const [kindsBefore, kindsAfter] = [parseKindsWithoutNull(was), parseKindsWithoutNull(is)];
    if (kindsBefore.length > 0 && kindsAfter.length > 0 && kindsBefore.join() !== kindsAfter.join())
      add(key, kindsBefore.join('|'), kindsAfter.join('|'));
  }
}

/** Whether a key lies in items of an array, or in an object, that this profile has not seen. */
function isBelowEmptyArray(key: string, keys: ProfileKeys): boolean {
  for (let at = key.indexOf('/[]'); at >= 0; at = key.indexOf('/[]', at + 1)) {
    if (keys[key.slice(0, at + 3)] === undefined && keys[key.slice(0, at)] !== undefined) return true;
  }
  return false;
}

function namesOf(before: object, after: object): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
}

export function formatEndpointName({ method, path, credentials }: Pick<ProfileEndpoint, 'method' | 'path' | 'credentials'>): string {
  return `${method} ${path}${credentials === undefined ? '' : ` (${credentials})`}`;
}
