import { badInput } from '../../src/model/error';
import { isObject } from '../../src/model/json';

/** Maximum nesting of a message. Deeper values overflow the stack in Node-RED or in this package. */
export const MAX_DEPTH = 200;

/** Checks the nesting of input values. Errors: `BAD_INPUT`, also for a value that contains itself. */
export function assertMessageDepth(values: object): void {
  if (isTooDeep(values))
    throw badInput(`The input is nested more than ${MAX_DEPTH} levels deep. Nothing was sent. Send a flatter payload.`, {
      sent: false,
      statusReason: 'too-deep',
    });
}

/** Whether a value has more levels than allowed. Uses no recursion, so that no value overflows the stack. */
function isTooDeep(root: object): boolean {
  let level: Iterable<object> | undefined = findInnerObjects(root, undefined);
  for (let depth = 1; level; depth++) {
    if (depth > MAX_DEPTH) return true;
    let next: Set<object> | undefined;
    for (const value of level) next = findInnerObjects(value, next);
    level = next;
  }
  return false;
}

/** Adds the objects in a value to `found`. The list is created with the first object, because most messages contain none. */
function findInnerObjects(value: object, found: Set<object> | undefined): Set<object> | undefined {
  if (ArrayBuffer.isView(value)) return found;
  let all = found;
  for (const name in value) {
    const inner = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    if (typeof inner === 'object' && inner !== null) (all ??= new Set()).add(inner);
  }
  return all;
}

/** Removes properties that are nested too deeply. Node-RED could not clone the message, so a Catch node would not get it. */
export function removeDeeplyNestedProperties(message: object): void {
  for (const [name, value] of Object.entries(message)) {
    const isPlain = Array.isArray(value) || isObject(value);
    if (isPlain && name !== 'req' && name !== 'res' && isTooDeep(value as object)) (message as Record<string, unknown>)[name] = null;
  }
}
