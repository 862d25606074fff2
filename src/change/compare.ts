import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import { isSecretName, namesSecret } from '../model/secrets';

/** What stands for a secret in a diff and wherever resources are kept. */
export const SECRET = '***';

/** No resource is nested deeper, and a pointer into one that is would be as long as the resource. */
const DEEPEST = 200;
const LONGEST_NAME = 200;

/** A place in a resource: `field` is a JSON pointer (RFC 6901). */
export interface Place {
  readonly path: string;
  readonly field: string;
}

/** One thing that differs. What is not there is null; arrays are given whole, secrets as `"***"`. */
export interface Difference extends Place {
  readonly before: unknown;
  readonly after: unknown;
}

/** `notCompared`: hyperlinks and secrets that were given. */
export interface Comparison {
  readonly diff: readonly Difference[];
  readonly notCompared: readonly Place[];
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
export function compareGiven(path: string, given: JsonObject, present: JsonObject | undefined): Comparison {
  const walk = new Walk(path, false);
  walk.objects(present ?? {}, given, '', 0);
  return walk;
}

/** All of two states of one resource, whoever wrote them: of secrets only whether there is one, of hyperlinks nothing. */
export function compareWhole(path: string, before: JsonObject, after: JsonObject): readonly Difference[] {
  const walk = new Walk(path, true);
  walk.objects(before, after, '', 0);
  return walk.diff;
}

/** The same for all resources of two trees, by path. */
export function compareTrees(before: ReadonlyMap<string, JsonObject>, after: ReadonlyMap<string, JsonObject>): TreeComparison {
  const changed: Difference[] = [];
  const removed: string[] = [];
  for (const [path, resource] of before) {
    const now = after.get(path);
    if (now) for (const difference of compareWhole(path, resource, now)) changed.push(difference);
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
export function isLinks(value: unknown): boolean {
  return isHyperlink(value) || (Array.isArray(value) && value.length > 0 && value.every(isHyperlink));
}

/** Whether the value of that key is a secret; in a pair of name and value, the name tells. */
export function isSecretKey(key: string, owner: JsonObject): boolean {
  return isSecretName(key) || (key.startsWith('value') && namesSecret(owner));
}

/** The value with every secret in it replaced; what nothing can be learned from, such as that one is empty, stays. */
export function withoutSecrets<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null) return value;
  refuseDeeper(depth);
  if (Array.isArray(value)) return value.map((item: unknown) => withoutSecrets(item, depth + 1)) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    isSecretKey(key, value) ? hidden(item) : withoutSecrets(item, depth + 1),
  ]);
  return Object.fromEntries(entries) as T;
}

function hidden(secret: unknown): unknown {
  return secret === '' || secret === null || secret === undefined || typeof secret === 'boolean' ? secret : SECRET;
}

/** A field's name as one step of a JSON pointer. The beginning of one that is longer than names are: it stands in every pointer below. */
export function step(key: string): string {
  const name = key.length > LONGEST_NAME ? `${key.slice(0, LONGEST_NAME)}…` : key;
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

class Walk implements Comparison {
  readonly diff: Difference[] = [];
  readonly notCompared: Place[] = [];
  readonly #path: string;
  /** Whether what stands only before counts too. */
  readonly #whole: boolean;

  constructor(path: string, whole: boolean) {
    this.#path = path;
    this.#whole = whole;
  }

  /** Whether they are the same. `told`: each field that differs is; inside of an array it is the array that differs. */
  objects(before: JsonObject, after: JsonObject, field: string, depth: number, told = true): boolean {
    refuseDeeper(depth);
    let same = true;
    const keys = this.#whole ? new Set([...Object.keys(before), ...Object.keys(after)]) : Object.keys(after);
    for (const key of keys) if (!this.#member(key, before, after, field + step(key), depth, told)) same = false;
    return same;
  }

  #member(key: string, before: JsonObject, after: JsonObject, at: string, depth: number, told: boolean): boolean {
    const old = own(before, key);
    const now = own(after, key);
    if (isSecretKey(key, after) || (this.#whole && isSecretKey(key, before))) {
      return this.#whole ? this.#told(sameValue(hidden(old), hidden(now)), hidden(old), hidden(now), at, told) : this.#leave(at);
    }
    if (isLinks(now) || (this.#whole && isLinks(old))) return this.#leave(at);
    if (isObject(old) ? isObject(now) || (this.#whole && isNothing(now)) : isObject(now) && isNothing(old)) {
      return this.objects(isObject(old) ? old : {}, isObject(now) ? now : {}, at, depth + 1, told);
    }
    return this.#told(this.#alike(old, now, at, depth + 1), old, now, at, told);
  }

  #alike(before: unknown, after: unknown, at: string, depth: number): boolean {
    if (isObject(after)) return this.objects(isObject(before) ? before : {}, after, at, depth, false) && isObject(before);
    if (Array.isArray(after))
      return this.#items(Array.isArray(before) ? before : [], after, at, depth) && (Array.isArray(before) || sameValue(before, after));
    return sameValue(before, after);
  }

  #items(before: readonly unknown[], after: readonly unknown[], at: string, depth: number): boolean {
    refuseDeeper(depth);
    let same = before.length === after.length;
    after.forEach((item, index) => {
      const place = `${at}/${index}`;
      if (isHyperlink(item)) this.#leave(place);
      else if (!this.#alike(before[index], item, place, depth + 1)) same = false;
    });
    return same;
  }

  #told(same: boolean, before: unknown, after: unknown, field: string, told: boolean): boolean {
    if (told && !same) {
      this.diff.push({ path: this.#path, field, before: withoutSecrets(before) ?? null, after: withoutSecrets(after) ?? null });
    }
    return same;
  }

  #leave(field: string): true {
    if (!this.#whole) this.notCompared.push({ path: this.#path, field });
    return true;
  }
}

function own(of: JsonObject, key: string): unknown {
  return Object.hasOwn(of, key) ? of[key] : undefined;
}

/** Neither is an object, or only one of them is. What is not there, null and an empty list are alike. */
function sameValue(one: unknown, other: unknown): boolean {
  if (one === other || (isNothing(one) && isNothing(other))) return true;
  return isScalar(one) && isScalar(other) && plain(one) === plain(other);
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** As text; some releases write truth values with a capital. */
function plain(value: string | number | boolean): string {
  const text = String(value);
  return /^(true|false)$/i.test(text) ? text.toLowerCase() : text;
}

function refuseDeeper(depth: number): void {
  if (depth > DEEPEST) throw new GatewayError('BAD_RESPONSE', 'A resource is nested deeper than 200 levels, which is more than any has.');
}
