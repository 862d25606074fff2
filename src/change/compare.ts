import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { isSecretName, isSecretPair } from '../model/secrets';

/** What stands for a secret in a diff and wherever resources are kept. */
export const SECRET_MASK = '***';

/** No resource is nested deeper, and a pointer into one that is would be as long as the resource. */
const MAX_DEPTH = 200;
const MAX_NAME_LENGTH = 200;

/** A place in a resource: `field` is a JSON pointer (RFC 6901). */
export interface FieldLocation {
  readonly path: string;
  readonly field: string;
}

/** One thing that differs. What is not there is null; arrays are given whole, secrets as `"***"`. */
export interface Difference extends FieldLocation {
  readonly before: unknown;
  readonly after: unknown;
}

/** `notCompared`: hyperlinks and secrets that were given. */
export interface ResourceComparison {
  readonly diff: readonly Difference[];
  readonly notCompared: readonly FieldLocation[];
}

/** What became of the resources of a tree: paths, and the fields of those that changed. */
export interface TreeComparison {
  readonly equal: boolean;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly Difference[];
}

/**
 * What was given against what is there (contract, section 6): every key of the body, objects by key, arrays whole and in order, `true`
 * and `"true"`, `20` and `"20"` alike. What is there besides is left alone. Pure; its time is linear in both.
 * Errors: `BAD_RESPONSE` for a resource that is nested deeper than any.
 */
export function compareDesired(path: string, desired: JsonObject, current: JsonObject | undefined): ResourceComparison {
  const walk = new ComparisonWalk(path, false);
  walk.compareObjects(current ?? {}, desired, '', 0);
  return walk;
}

/** All of two states of one resource, whoever wrote them: of secrets only whether there is one, of hyperlinks nothing. */
export function compareResources(path: string, before: JsonObject, after: JsonObject): readonly Difference[] {
  const walk = new ComparisonWalk(path, true);
  walk.compareObjects(before, after, '', 0);
  return walk.diff;
}

/** The same for all resources of two trees, by path. */
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

/** A hyperlink, with or without the name of what it leads to (appliance-api.md, "Hyperlink object"). */
export function isHyperlink(value: unknown): boolean {
  return isObject(value) && typeof value['href'] === 'string' && Object.keys(value).every((key) => key === 'href' || key === 'name');
}

/** Whether nothing but hyperlinks stands there: one, or a collection of them. */
export function containsOnlyLinks(value: unknown): boolean {
  return isHyperlink(value) || (Array.isArray(value) && value.length > 0 && value.every(isHyperlink));
}

/** Whether the value of that key is a secret; in a pair of name and value, the name tells. */
export function isSecretKey(key: string, owner: JsonObject): boolean {
  return isSecretName(key) || (key.startsWith('value') && isSecretPair(owner));
}

/** The value with every secret in it replaced; what nothing can be learned from, such as that one is empty, stays. */
export function maskResourceSecrets<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null) return value;
  checkDepth(depth);
  if (Array.isArray(value)) return value.map((item: unknown) => maskResourceSecrets(item, depth + 1)) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    isSecretKey(key, value) ? maskSecret(item) : maskResourceSecrets(item, depth + 1),
  ]);
  return Object.fromEntries(entries) as T;
}

function maskSecret(secret: unknown): unknown {
  return secret === '' || secret === null || secret === undefined || typeof secret === 'boolean' ? secret : SECRET_MASK;
}

/** A field's name as one step of a JSON pointer. The beginning of one that is longer than names are: it stands in every pointer below. */
export function toPointerSegment(key: string): string {
  const name = key.length > MAX_NAME_LENGTH ? `${key.slice(0, MAX_NAME_LENGTH)}…` : key;
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

class ComparisonWalk implements ResourceComparison {
  readonly diff: Difference[] = [];
  readonly notCompared: FieldLocation[] = [];
  readonly #path: string;
  /** Whether what stands only before counts too. */
  readonly #isSymmetric: boolean;

  constructor(path: string, isSymmetric: boolean) {
    this.#path = path;
    this.#isSymmetric = isSymmetric;
  }

  /** Whether they are the same. `told`: each field that differs is; inside of an array it is the array that differs. */
  compareObjects(before: JsonObject, after: JsonObject, field: string, depth: number, shouldReport = true): boolean {
    checkDepth(depth);
    let same = true;
    const keys = this.#isSymmetric ? new Set([...Object.keys(before), ...Object.keys(after)]) : Object.keys(after);
    for (const key of keys) if (!this.#compareMember(key, before, after, field + toPointerSegment(key), depth, shouldReport)) same = false;
    return same;
  }

  #compareMember(key: string, before: JsonObject, after: JsonObject, at: string, depth: number, shouldReport: boolean): boolean {
    const oldValue = getOwn(before, key);
    const newValue = getOwn(after, key);
    if (isSecretKey(key, after) || (this.#isSymmetric && isSecretKey(key, before))) {
      return this.#isSymmetric
        ? this.#report(
            isSameValue(maskSecret(oldValue), maskSecret(newValue)),
            maskSecret(oldValue),
            maskSecret(newValue),
            at,
            shouldReport,
          )
        : this.#skip(at);
    }
    if (containsOnlyLinks(newValue) || (this.#isSymmetric && containsOnlyLinks(oldValue))) return this.#skip(at);
    if (isObject(oldValue) ? isObject(newValue) || (this.#isSymmetric && isEmpty(newValue)) : isObject(newValue) && isEmpty(oldValue)) {
      return this.compareObjects(isObject(oldValue) ? oldValue : {}, isObject(newValue) ? newValue : {}, at, depth + 1, shouldReport);
    }
    return this.#report(this.#compareValues(oldValue, newValue, at, depth + 1), oldValue, newValue, at, shouldReport);
  }

  #compareValues(before: unknown, after: unknown, at: string, depth: number): boolean {
    if (isObject(after)) return this.compareObjects(isObject(before) ? before : {}, after, at, depth, false) && isObject(before);
    if (Array.isArray(after))
      return (
        this.#compareItems(Array.isArray(before) ? before : [], after, at, depth) && (Array.isArray(before) || isSameValue(before, after))
      );
    return isSameValue(before, after);
  }

  #compareItems(before: readonly unknown[], after: readonly unknown[], at: string, depth: number): boolean {
    checkDepth(depth);
    let same = before.length === after.length;
    after.forEach((item, index) => {
      const itemField = `${at}/${index}`;
      if (isHyperlink(item)) this.#skip(itemField);
      else if (!this.#compareValues(before[index], item, itemField, depth + 1)) same = false;
    });
    return same;
  }

  #report(same: boolean, before: unknown, after: unknown, field: string, shouldReport: boolean): boolean {
    if (shouldReport && !same) {
      this.diff.push({ path: this.#path, field, before: maskResourceSecrets(before) ?? null, after: maskResourceSecrets(after) ?? null });
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

/** Neither is an object, or only one of them is. What is not there, null and an empty list are alike. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other || (isEmpty(one) && isEmpty(other))) return true;
  return isScalar(one) && isScalar(other) && toComparableText(one) === toComparableText(other);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** As text; some releases write truth values with a capital. */
function toComparableText(value: string | number | boolean): string {
  const text = String(value);
  return /^(true|false)$/i.test(text) ? text.toLowerCase() : text;
}

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new GatewayError('BAD_RESPONSE', 'A resource is nested deeper than 200 levels, which is more than any has.');
}
