import { asGatewayError, GatewayError } from '../model/error';
import { isObject, readText, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { encodePathSegment } from '../model/path';
import type { Request } from '../model/request';
import { isSecretKey } from '../model/secrets';
import { safeMessage, trusted, type SafeMessage } from '../model/safe-message';
import { toPointerSegment } from './compare';
import { containsOnlyLinks, isHyperlink } from './hyperlinks';
import { readIfExists } from './if-exists';
import { expandLinkedParts } from './linked-parts';
import { ITEM_NAME_KEYS, isConfigurationWrite, readStateBefore, toItemPaths } from './resource-state';

/**
 * Refuses a PUT that removes something present: a field that the body leaves out or empties, or an item of an array. `reason` says who forbids
 * it. Errors: `LIMIT`, also if the present state cannot be read.
 */
export async function assertRemovesNothing(request: Request, call: OperationContext, reason: SafeMessage): Promise<void> {
  const { method, body = {} } = request;
  if (method !== 'PUT' || !isConfigurationWrite(request)) return;
  const path = request.path.replace(/\/$/, '');
  const baseline = await readStateBefore(request, call, true);
  const [subject = path] = baseline?.subject.paths ?? [];
  const present = baseline ? baseline.before[subject] : await readOwnedField(path, body, call, reason);
  if (present) await assertKeeps(subject, present, body, call, reason);
  if (!baseline || (present && subject === path)) return;
  // Which key of the body names the item of a collection is up to the appliance, also of a collection that it does not show.
  for (const item of toItemPaths(path, body)) {
    const existing = item === subject ? undefined : await readItem(item, call, reason);
    if (existing) await assertKeeps(item, existing, body, call, reason);
  }
}

async function assertKeeps(
  path: string,
  present: JsonObject,
  body: JsonObject,
  call: OperationContext,
  reason: SafeMessage,
): Promise<void> {
  const { resource } = await expandLinkedParts(present, body, call, true);
  const field = findRemovedField(resource, body, '');
  if (field !== undefined) throw createRemovalError(safeMessage`This PUT removes ${field} of ${path}`, reason);
}

/** Reads a field from its resource, because some releases show a field only there. Errors: `LIMIT` if that read fails too. */
async function readOwnedField(path: string, body: JsonObject, call: OperationContext, reason: SafeMessage): Promise<JsonObject> {
  const [key = '', second] = Object.keys(body);
  const isField = second === undefined && path.endsWith(`/${encodePathSegment(key)}`);
  const owner = isField ? await readItem(path.slice(0, path.lastIndexOf('/')), call, reason) : undefined;
  if (owner) return Object.hasOwn(owner, key) ? { [key]: owner[key] } : {};
  throw createUnreadableError(path, reason);
}

/** Reads an item; undefined if there is none. */
async function readItem(path: string, call: OperationContext, reason: SafeMessage): Promise<JsonObject | undefined> {
  try {
    return await readIfExists(path, call, true);
  } catch (thrown) {
    // A request that the appliance calls invalid leads to nothing.
    if (['INVALID_REQUEST', 'REJECTED'].includes(asGatewayError(thrown).code)) return undefined;
    throw createUnreadableError(path, reason);
  }
}

function createUnreadableError(path: string, reason: SafeMessage): GatewayError {
  return createRemovalError(safeMessage`The present state of ${path} cannot be read, so this PUT may remove something`, reason);
}

function createRemovalError(subject: SafeMessage, reason: SafeMessage): GatewayError {
  const message = safeMessage`${subject}. ${reason} Nothing was sent.`;
  return new GatewayError('LIMIT', message, { sent: false, statusReason: 'not-permitted' });
}

/**
 * Returns the JSON pointer of the first value that is present in `current` and gone in `desired`. Links and secrets that are left out do
 * not count.
 */
export function findRemovedField(current: JsonObject, desired: JsonObject, pointer: string): string | undefined {
  for (const [key, value] of Object.entries(current)) {
    if (isEmpty(value)) continue;
    const field = `${pointer}${toPointerSegment(key)}`;
    const next = Object.hasOwn(desired, key) ? desired[key] : undefined;
    // A resource keeps its linked parts and its secrets when a body does not name them.
    if (next === undefined && (containsOnlyLinks(value) || isHiddenValue(key, value, current))) continue;
    const removed = isHiddenValue(key, value, current) ? findRemovedSecret(value, next, field) : findRemovedValue(value, next, field);
    if (removed !== undefined) return removed;
  }
  return undefined;
}

/** A text or a list of texts under a secret name. An object under such a name has fields of its own. */
function isHiddenValue(key: string, value: unknown, owner: JsonObject): boolean {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return isSecretKey(key, owner) && values.every((item) => typeof item !== 'object');
}

/** Finds a removed secret. Secrets cannot be compared, so they are counted. */
function findRemovedSecret(value: unknown, next: unknown, field: string): string | undefined {
  const isFewer = Array.isArray(value) && Array.isArray(next) && next.length < value.length;
  return isFewer || isEmpty(next) ? field : undefined;
}

function findRemovedValue(value: unknown, next: unknown, field: string): string | undefined {
  if (next === undefined || next === null) return field;
  if (isHyperlink(value)) return isObject(next) ? undefined : field;
  if (isObject(value)) return isObject(next) ? findRemovedField(value, next, field) : field;
  if (!Array.isArray(value)) return next !== '' && isEmpty(next) ? field : undefined;
  const counterparts = new Counterparts(Array.isArray(next) ? (next as unknown[]) : [next]);
  for (const [index, item] of (value as unknown[]).entries()) {
    const itemField = `${field}/${index}`;
    const counterpart = counterparts.take(item, index);
    const removed =
      counterpart === undefined || isObject(item) || Array.isArray(item) ? findRemovedValue(item, counterpart, itemField) : undefined;
    if (removed !== undefined) return removed;
  }
  return undefined;
}

/** The given items of a list. Each stands for one present item: with the same name or text, or without a name at the same index. */
class Counterparts {
  readonly #items: unknown[];
  readonly #indexesByKey = new Map<string, number[]>();

  constructor(items: readonly unknown[]) {
    this.#items = [...items];
    for (const [index, item] of items.entries()) {
      for (const key of listItemKeys(item)) {
        const indexes = this.#indexesByKey.get(key);
        if (indexes) indexes.push(index);
        else this.#indexesByKey.set(key, [index]);
      }
    }
  }

  /** Finds the given item for a present one; undefined if none is left. */
  take(present: unknown, index: number): unknown {
    const [key] = listItemKeys(present);
    const place = key === undefined || listItemKeys(this.#items[index]).includes(key) ? index : this.#findUnused(key);
    const item = this.#items[place];
    this.#items[place] = undefined;
    return item;
  }

  #findUnused(key: string): number {
    const indexes = this.#indexesByKey.get(key) ?? [];
    while (indexes[0] !== undefined && this.#items[indexes[0]] === undefined) indexes.shift();
    return indexes[0] ?? -1;
  }
}

/** Returns what identifies an item: its text, or its name, user name or address. */
function listItemKeys(item: unknown): string[] {
  if (item === undefined || Array.isArray(item)) return [];
  if (!isObject(item)) return [`text ${readText(item)}`];
  return ITEM_NAME_KEYS.flatMap((name) => (readText(item[name]) === '' ? [] : [`${name} ${readText(item[name])}`]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

/** Why the permission `no-destroy` forbids the removal. */
export const NO_DESTROY_REASON = safeMessage`${trusted('The appliance node allows nothing that ends, removes or replaces something: its permissions are no-destroy.')}`;
