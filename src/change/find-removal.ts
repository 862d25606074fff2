import { GatewayError } from '../model/error';
import { isObject, type JsonObject } from '../model/json';
import type { OperationContext } from '../model/operation';
import { encodeSegment } from '../model/path';
import type { Request } from '../model/request';
import { isSecretKey } from '../model/secrets';
import { safeMessage, trusted, type SafeMessage } from '../model/safe-message';
import { toPointerSegment } from './compare';
import { containsOnlyLinks, isHyperlink } from './hyperlinks';
import { expandLinkedParts } from './linked-parts';
import { findMatchingItem } from './merge-for-put';
import { isConfigurationWrite, readStateBefore } from './resource-state';

/**
 * Refuses a PUT that removes something present: a field that the body leaves out or empties, or an item of an array. `reason` says who forbids
 * it. Errors: `LIMIT`, also if the present state cannot be read.
 */
export async function assertRemovesNothing(request: Request, call: OperationContext, reason: SafeMessage): Promise<void> {
  const { method, path, body = {} } = request;
  if (method !== 'PUT' || !isConfigurationWrite(request)) return;
  const baseline = await readStateBefore(request, call, true);
  const [subject = path] = baseline?.subject.paths ?? [];
  const present = baseline?.before[subject];
  if (baseline && !present) return;
  if (!present) {
    // A single value of a field can only be changed.
    const [field = '', second] = Object.keys(body);
    if (second === undefined && path.endsWith(`/${encodeSegment(field)}`) && body[field] !== null && typeof body[field] !== 'object')
      return;
    throw createRemovalError(safeMessage`The present state of ${path} cannot be read, so this PUT may remove something`, reason);
  }
  const { resource } = await expandLinkedParts(present, body, call, true);
  const field = findRemovedField(resource, body, '');
  if (field !== undefined) throw createRemovalError(safeMessage`This PUT removes ${field} of ${subject}`, reason);
}

function createRemovalError(subject: SafeMessage, reason: SafeMessage): GatewayError {
  const message = safeMessage`${subject}. ${reason} Nothing was sent.`;
  return new GatewayError('LIMIT', message, { sent: false, statusReason: 'not-permitted' });
}

/** Returns the JSON pointer of the first value that is present in `current` and gone in `desired`. Links alone and secrets do not count. */
export function findRemovedField(current: JsonObject, desired: JsonObject, pointer: string): string | undefined {
  for (const [key, value] of Object.entries(current)) {
    if (isEmpty(value) || isHyperlink(value) || isSecretKey(key, current)) continue;
    const field = `${pointer}${toPointerSegment(key)}`;
    const next = Object.hasOwn(desired, key) ? desired[key] : undefined;
    // A resource keeps its linked parts when a body does not name them.
    if (next === undefined && containsOnlyLinks(value)) continue;
    const removed = findRemovedValue(value, next, field);
    if (removed !== undefined) return removed;
  }
  return undefined;
}

function findRemovedValue(value: unknown, next: unknown, field: string): string | undefined {
  if (next === undefined || next === null) return field;
  if (isObject(value)) return isObject(next) ? findRemovedField(value, next, field) : field;
  if (!Array.isArray(value)) return undefined;
  const items: unknown[] = Array.isArray(next) ? next : [next];
  const texts = new Set(items.filter((item) => !isObject(item)).map(String));
  for (const [index, item] of (value as unknown[]).entries()) {
    if (!isObject(item)) {
      if (!texts.has(String(item))) return `${field}/${index}`;
      continue;
    }
    const counterpart = findMatchingItem(items, item, index);
    if (!isObject(counterpart)) return `${field}/${index}`;
    const removed = isHyperlink(item) ? undefined : findRemovedField(item, counterpart, `${field}/${index}`);
    if (removed !== undefined) return removed;
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

/** The reason for the permission `no-destroy`. */
export const NO_DESTROY_REASON = safeMessage`${trusted('The appliance node allows nothing that ends, removes or replaces something: its permissions are no-destroy.')}`;
