import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { isSecretKey, maskSecretValue } from '../model/secrets';
import { containsOnlyLinks, isHyperlink } from './hyperlinks';
import { mergeArrayForPut } from './merge-for-put';

/** Replaces a secret in differences and in stored resources. */
export const SECRET_MASK = '***';

/** Maximum nesting. No appliance nests a resource deeper, and a JSON pointer into a deeper one would be as long as the resource. */
const MAX_DEPTH = 200;
const MAX_NAME_LENGTH = 200;

/** Identifies a field of a resource. `field` is a JSON pointer (RFC 6901). */
export interface FieldLocation {
  readonly path: string;
  readonly field: string;
}

/** One field that differs. A missing value is null, an array is given whole, and a secret is `"***"`. */
export interface Difference extends FieldLocation {
  readonly before: unknown;
  readonly after: unknown;
}

/** The result of a comparison. `notCompared` lists the given hyperlinks and secrets. */
interface ResourceComparison {
  readonly diff: readonly Difference[];
  readonly notCompared: readonly FieldLocation[];
}

/** The result of comparing two trees: `added` and `removed` are paths, `changed` lists the fields that differ. */
export interface TreeComparison {
  readonly equal: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly Difference[];
}

/**
 * Compares the given values with the current resource (contract, section 6). Values that are only in the current resource do not count.
 * Runs in linear time. Throws `BAD_RESPONSE` if a resource is nested deeper than 200 levels.
 */
export function compareWithDesired(path: string, desired: JsonObject, current: JsonObject | undefined): ResourceComparison {
  const walk = new ComparisonWalk(path, false);
  walk.compareObjects(current ?? {}, desired, '', 0);
  return walk;
}

/** Compares two complete states of one resource. Of a secret, only its presence counts; hyperlinks do not count. */
export function compareResources(path: string, before: JsonObject, after: JsonObject): readonly Difference[] {
  const walk = new ComparisonWalk(path, true);
  walk.compareObjects(before, after, '', 0);
  return walk.diff;
}

/** Compares all resources of two trees by path. */
export function compareTrees(before: ReadonlyMap<string, JsonObject>, after: ReadonlyMap<string, JsonObject>): TreeComparison {
  const changed: Difference[] = [];
  const removed: string[] = [];
  for (const [path, resource] of before) {
    const current = after.get(path);
    if (current) for (const difference of compareResources(path, resource, current)) changed.push(difference);
    else removed.push(path);
  }
  const added = [...after.keys()].filter((path) => !before.has(path));
  return { equal: added.length + removed.length + changed.length === 0, added, removed, changed };
}

/** Returns a copy in which each secret is replaced. Values that reveal nothing stay: an empty text, null or a boolean. */
export function maskResourceSecrets<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null) return value;
  checkDepth(depth);
  if (Array.isArray(value)) return value.map((item: unknown) => maskResourceSecrets(item, depth + 1)) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    isSecretKey(key, value) ? maskSecretValue(item, SECRET_MASK) : maskResourceSecrets(item, depth + 1),
  ]);
  return Object.fromEntries(entries) as T;
}

/** Returns a field's name as one segment of a JSON pointer. A long name is cut, because every pointer below contains it. */
export function toPointerSegment(key: string): string {
  const name = key.length > MAX_NAME_LENGTH ? `${key.slice(0, MAX_NAME_LENGTH)}…` : key;
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

class ComparisonWalk implements ResourceComparison {
  readonly diff: Difference[] = [];
  readonly notCompared: FieldLocation[] = [];
  readonly #path: string;
  /** Whether fields that exist only in the earlier state count too. */
  readonly #isSymmetric: boolean;

  constructor(path: string, isSymmetric: boolean) {
    this.#path = path;
    this.#isSymmetric = isSymmetric;
  }

  /** Returns whether both objects are equal. Fields are reported unless they are inside an array; there, the array is reported. */
  compareObjects(before: JsonObject, after: JsonObject, field: string, depth: number, shouldReport = true): boolean {
    checkDepth(depth);
    let same = true;
    const keys = this.#isSymmetric ? new Set([...Object.keys(before), ...Object.keys(after)]) : Object.keys(after);
    for (const key of keys) if (!this.#compareMember(key, before, after, field + toPointerSegment(key), depth, shouldReport)) same = false;
    return same;
  }

  #compareMember(key: string, before: JsonObject, after: JsonObject, pointer: string, depth: number, shouldReport: boolean): boolean {
    const oldValue = getOwn(before, key);
    const newValue = getOwn(after, key);
    if (isSecretKey(key, after) || (this.#isSymmetric && isSecretKey(key, before))) {
      return this.#isSymmetric
        ? this.#report(
            isSameValue(maskSecretValue(oldValue, SECRET_MASK), maskSecretValue(newValue, SECRET_MASK)),
            maskSecretValue(oldValue, SECRET_MASK),
            maskSecretValue(newValue, SECRET_MASK),
            pointer,
            shouldReport,
          )
        : this.#skip(pointer);
    }
    if (containsOnlyLinks(newValue) || (this.#isSymmetric && containsOnlyLinks(oldValue))) return this.#skip(pointer);
    if (isObject(oldValue) ? isObject(newValue) || (this.#isSymmetric && isEmpty(newValue)) : isObject(newValue) && isEmpty(oldValue)) {
      return this.compareObjects(isObject(oldValue) ? oldValue : {}, isObject(newValue) ? newValue : {}, pointer, depth + 1, shouldReport);
    }
    return this.#report(this.#compareValues(oldValue, newValue, pointer, depth + 1), oldValue, newValue, pointer, shouldReport);
  }

  #compareValues(before: unknown, after: unknown, pointer: string, depth: number): boolean {
    if (isObject(after)) return this.compareObjects(isObject(before) ? before : {}, after, pointer, depth, false) && isObject(before);
    if (Array.isArray(after))
      return (
        this.#compareItems(Array.isArray(before) ? before : [], after, pointer, depth) &&
        (Array.isArray(before) || isSameValue(before, after))
      );
    return isSameValue(before, after);
  }

  #compareItems(before: readonly unknown[], after: readonly unknown[], pointer: string, depth: number): boolean {
    checkDepth(depth);
    let same = before.length === after.length;
    after.forEach((item, index) => {
      const itemField = `${pointer}/${index}`;
      if (isHyperlink(item)) this.#skip(itemField);
      else if (!this.#compareValues(before[index], item, itemField, depth + 1)) same = false;
    });
    return same;
  }

  #report(same: boolean, before: unknown, after: unknown, field: string, shouldReport: boolean): boolean {
    if (shouldReport && !same) {
      // A write lays given items over the current ones, so the difference shows the result.
      const result = !this.#isSymmetric && Array.isArray(after) && after.some(isObject) ? mergeArrayForPut(before, after) : after;
      this.diff.push({ path: this.#path, field, before: maskResourceSecrets(before) ?? null, after: maskResourceSecrets(result) ?? null });
    }
    return same;
  }

  #skip(field: string): true {
    if (!this.#isSymmetric) this.notCompared.push({ path: this.#path, field });
    return true;
  }
}

function getOwn(of: JsonObject, key: string): unknown {
  return Object.hasOwn(of, key) ? of[key] : undefined;
}

/** Compares values of which at most one is an object. A missing value, null and an empty array are equal. */
function isSameValue(first: unknown, second: unknown): boolean {
  if (first === second || (isEmpty(first) && isEmpty(second))) return true;
  return isScalar(first) && isScalar(second) && toComparableText(first) === toComparableText(second);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** Converts a value to a comparable text. Some releases write booleans with a capital letter. */
export function toComparableText(value: string | number | boolean): string {
  const text = String(value);
  return /^(true|false)$/i.test(text) ? text.toLowerCase() : text;
}

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new GatewayError('BAD_RESPONSE', 'A resource is nested deeper than 200 levels.');
}
